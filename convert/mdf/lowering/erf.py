"""The error function, for which NumPy has no function, in terms of others."""

from __future__ import annotations

from ....passes.decompose.common import cast
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given
from ....passes.protos import ENUMS
from ....passes.rewrite import Builder, Rule, collect, rule
from ....passes.types import DType
from ....runtime.kernels.activation import ERF_STEP, erf_table


@rule("", "Erf")
def error_function(op: Builder, node: Node) -> Value:
    """A Taylor series around the nearest of many points, in float64."""
    x = given(node)
    values, rows = erf_table()
    wide = cast(op, node, x, DType.FLOAT64)
    known = op.Where(op.IsNaN(wide), op.const(0, DType.FLOAT64), wide)
    size = op.Min(op.Abs(known), op.const(6, DType.FLOAT64))
    step = op.const(ERF_STEP, DType.FLOAT64)
    index = op.Cast(op.Round(op.Div(size, step)), to=ENUMS[DType.INT64])
    h = op.Sub(size, op.Mul(op.Cast(index, to=ENUMS[DType.FLOAT64]), step))
    series = op.Gather(op.const(rows[-1]), index)
    for row in rows[-2::-1]:
        series = op.Add(op.Mul(series, h), op.Gather(op.const(row), index))
    found = op.Mul(op.Sign(wide), op.Add(op.Gather(op.const(values), index), op.Mul(series, h)))
    return cast(op, node, found, dtype_of(node, x))


RULES: dict[tuple[str, str], list[Rule]] = collect(globals())
