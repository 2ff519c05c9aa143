"""Random numbers: the same distribution; the numbers themselves are each runtime's own, also with a seed."""

from __future__ import annotations

from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given
from ....passes.protos import ENUMS
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, cast, concatenated, dimension, element_type, integers, scalar, vector


def _seed(op: Builder, node: Node) -> float | None:
    """The seed, None for another one each time; and a note that the numbers will be others."""
    op.rewriter.notes.append(f"{node!r}: random numbers differ between runtimes, also with a seed")
    seed = int(node.attributes.get("op_seed", 0)) or int(node.attributes.get("global_seed", 0))
    return float(seed) if seed else None


def _units(op: Builder, shape: Value, dtype: DType, seed: float | None) -> Value:
    """Evenly distributed numbers from 0 to 1, without 1."""
    return op.RandomUniformLike(op.Expand(op.const(0.0, dtype), shape), seed=seed)


@rule(DOMAIN, "RandomUniform")
def random_uniform(op: Builder, node: Node) -> Results:
    """RandomUniform-8: between two bounds, the upper one excluded. `alignment` only says which numbers they are."""
    shape, low, high = (given(node, index) for index in range(3))
    dtype = element_type(node, "output_type") or DType.FLOAT32
    made = dtype if dtype.is_float else DType.FLOAT64
    unit = _units(op, vector(op, shape), made, _seed(op, node))
    least, most = (scalar(op, value, made) for value in (low, high))
    spread = op.Add(op.Mul(unit, op.Sub(most, least)), least)
    return spread if dtype.is_float else cast(op, op.Floor(spread), dtype)


@rule(DOMAIN, "Multinomial")
def multinomial(op: Builder, node: Node) -> Results:
    """Multinomial-13: classes drawn by their probabilities [batch, classes], which need not add up to 1.

    A number of samples that isn't constant, or drawing without replacement, goes by Gumbel's noise: the class with
    the highest sum of log-probability and noise is drawn, and the highest ones in order are drawn one after another.
    """
    weights, count = given(node, 0), given(node, 1)
    dtype = element_type(node, "convert_type") or DType.INT32
    seed, again = _seed(op, node), bool(node.attributes.get("with_replacement", False))
    chances = weights if node.attributes.get("log_probs", False) else op.Log(weights)
    known = integers(count)
    if known and again:
        return cast(op, op.Multinomial(chances, sample_size=known[0], dtype=ENUMS[DType.INT64], seed=seed), dtype)
    lines, classes, count = dimension(op, chances, 0), dimension(op, chances, 1), vector(op, count)
    shape = concatenated(op, [lines, count, classes] if again else [lines, classes])
    noise = op.Neg(op.Log(op.Neg(op.Log(_units(op, shape, dtype_of(node, chances), seed)))))
    if again:
        return cast(op, op.ArgMax(op.Add(op.Unsqueeze(chances, op.const([1])), noise), axis=2, keepdims=0), dtype)
    _, drawn = op.TopK(op.Add(chances, noise), count, _outputs=2, axis=1, largest=1, sorted=1)
    return cast(op, drawn, dtype)


RULES = collect(globals())
