"""One kernel per operator, by family; the tables are put together here and nowhere else."""

from __future__ import annotations

from ...passes.errors import Unsupported
from . import (
    activation,
    attention,
    cast,
    conv,
    elementwise,
    generate,
    index,
    linalg,
    loss,
    ml,
    norm,
    pool,
    quant,
    random,
    recurrent,
    reduce,
    resize,
    sequence,
    shape,
    signal,
    string,
    svm,
    training,
    trees,
    vision,
)
from .base import Attributes, ExecutionError, Kernel

_FAMILIES = (
    elementwise,
    activation,
    cast,
    reduce,
    shape,
    index,
    generate,
    linalg,
    conv,
    pool,
    norm,
    attention,
    recurrent,
    resize,
    vision,
    quant,
    random,
    sequence,
    string,
    signal,
    loss,
)
_DOMAINS = (
    ("ai.onnx.ml", ml.TABLE),
    ("ai.onnx.ml", svm.TABLE),
    ("ai.onnx.ml", trees.TABLE),
    ("ai.onnx.ml", index.ML_TABLE),
    ("ai.onnx.preview", attention.PREVIEW_TABLE),
    ("ai.onnx.preview.training", training.TABLE),
)


def _merged() -> dict[tuple[str, str], Kernel]:
    rows = [(("", name), kernel) for family in _FAMILIES for name, kernel in family.TABLE.items()]
    rows += [((domain, name), kernel) for domain, table in _DOMAINS for name, kernel in table.items()]
    merged = dict(rows)
    if len(merged) != len(rows):
        names = [op for op, _ in rows]
        raise RuntimeError(f"two kernels for {sorted({op for op in names if names.count(op) > 1})}")
    return merged


KERNELS: dict[tuple[str, str], Kernel] = _merged()
"""(domain, operator) -> kernel, for every version of the operator."""


def lookup(domain: str, op_type: str, version: int = 0) -> Kernel:
    """The kernel of an operator.

    Raises:
        Unsupported: there is none.
    """
    kernel = KERNELS.get((domain, op_type))
    if kernel is None:
        name = f"{domain}.{op_type}" if domain else op_type
        raise Unsupported(f"{name}-{version}" if version else name, "the executor has no kernel for this operator")
    return kernel


__all__ = ["KERNELS", "Attributes", "ExecutionError", "Kernel", "lookup"]
