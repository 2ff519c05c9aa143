"""All version steps: where each operator's way up and down is found."""

from __future__ import annotations

from . import (
    arithmetic,
    bits,
    cumulative,
    elementwise,
    experimental,
    functions,
    indices,
    indices_scatter,
    ml,
    moments,
    norm,
    optionals,
    others,
    padding,
    pool,
    products,
    quant,
    quant_arithmetic,
    ranges,
    recurrent,
    reduce,
    resize,
    sampling,
    scans,
    selection,
    sequences,
    shapes,
    slicing,
    softmax,
    spectral,
    strings,
    type_widening,
    windows,
)
from .steps import Key, Rows, Step

_FAMILIES: tuple[Rows, ...] = (
    type_widening.ROWS,
    scans.ROWS,
    elementwise.ROWS,
    arithmetic.ROWS,
    bits.ROWS,
    functions.ROWS,
    products.ROWS,
    shapes.ROWS,
    slicing.ROWS,
    ranges.ROWS,
    cumulative.ROWS,
    padding.ROWS,
    indices.ROWS,
    indices_scatter.ROWS,
    selection.ROWS,
    softmax.ROWS,
    spectral.ROWS,
    reduce.ROWS,
    pool.ROWS,
    windows.ROWS,
    moments.ROWS,
    norm.ROWS,
    recurrent.ROWS,
    resize.ROWS,
    sampling.ROWS,
    quant.ROWS,
    quant_arithmetic.ROWS,
    others.ROWS,
    ml.ROWS,
    sequences.ROWS,
    optionals.ROWS,
    strings.ROWS,
    experimental.ROWS,
)


def _joined(families: tuple[Rows, ...]) -> dict[Key, Step]:
    found: dict[Key, Step] = {}
    for family in families:
        twice = found.keys() & family.keys()
        assert not twice, f"two rows for {sorted(twice)}"
        found.update(family)
    return found


STEPS = _joined(_FAMILIES)


def find(domain: str, op_type: str, version: int, *, first: bool = False) -> Step:
    """The step of an operator to or from its version `version`; without a row, one that refuses both ways."""
    name = f"{domain}.{op_type}" if domain else op_type
    if (name, version) in STEPS:
        return STEPS[name, version]
    if first:
        reason = f"{op_type} came with version {version}"
        return Step(reason, reason)
    return Step(f"no adapter to {op_type}-{version} is known", f"no adapter from {op_type}-{version} down is known")


def is_experimental(domain: str, op_type: str, first: int) -> bool:
    """Whether an operator was used before its first version (0: it never got one), and is still understood."""
    return not isinstance(find(domain, op_type, first, first=True).up, str)
