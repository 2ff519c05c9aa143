"""Hub -> HLO: random numbers, alike in their distribution only."""

from __future__ import annotations

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from .tools import convert, scalar, sizes_of

_NOTE = "random numbers have the same distribution, not the same values: {}"


def _drawn(op: Builder, node: Node, kind: str, first: float, second: float, dtype: DType) -> Value:
    """Numbers of a distribution of two parameters; narrow ones are drawn as float32."""
    op.rewriter.notes.append(_NOTE.format(node.name or node.op_type))
    shape = sizes_of(node, required(node, 0))
    wide = dtype if dtype is DType.FLOAT64 else DType.FLOAT32
    bounds = [scalar(op, number, wide) for number in (first, second)]
    return convert(op, op.call("rng", *bounds, distribution=kind, _types=[TensorType(wide, shape)]), dtype)


def _result_type(node: Node) -> DType:
    dtype = node.outputs[0].tensor.dtype
    if dtype is None or not dtype.is_float:
        raise Unsupported(node, "random numbers of this type")
    return dtype


@rule("", "RandomUniformLike")
def random_uniform(op: Builder, node: Node) -> Value:
    """RandomUniformLike-22: from `low`, up to and without `high`."""
    low, high = (float(node.attributes.get(name, value)) for name, value in (("low", 0.0), ("high", 1.0)))
    return _drawn(op, node, "rng_uniform", low, high, _result_type(node))


@rule("", "RandomNormalLike")
def random_normal(op: Builder, node: Node) -> Value:
    """RandomNormalLike-22: of a mean and a standard deviation, `scale`."""
    mean, scale = (float(node.attributes.get(name, value)) for name, value in (("mean", 0.0), ("scale", 1.0)))
    return _drawn(op, node, "rng_normal", mean, scale, _result_type(node))


RULES = collect(globals())
