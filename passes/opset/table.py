"""All version steps: where each operator's way up and down is found."""

from __future__ import annotations

from collections.abc import Iterable

from . import (
    arithmetic,
    bits,
    containers,
    elementwise,
    experimental,
    indices,
    indices_scatter,
    miscellaneous,
    ml,
    normalization,
    padding,
    pooling,
    products,
    quantization,
    ranges,
    recurrent,
    reduce,
    resize,
    sampling,
    scans,
    selection,
    shapes,
    slicing,
    spectral,
    strings,
    type_widening,
)
from .steps import Key, Rows, Step

_FAMILIES = (
    *(type_widening, scans, elementwise, arithmetic, bits, products, shapes, slicing, ranges, padding),
    *(indices, indices_scatter, selection, spectral, reduce, pooling, normalization, recurrent, resize, sampling),
    *(quantization, miscellaneous, ml, containers, strings, experimental),
)


def _merged(families: Iterable[Rows]) -> dict[Key, Step]:
    found: dict[Key, Step] = {}
    for family in families:
        twice = found.keys() & family.keys()
        assert not twice, f"two rows for {sorted(twice)}"
        found.update(family)
    return found


STEPS = _merged(family.ROWS for family in _FAMILIES)


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
