"""Random numbers: the same distribution; the numbers themselves are each runtime's own, also with a seed."""

from __future__ import annotations

from ....passes.build import Expr, cast, concat, expr
from ....passes.graph import Node
from ....passes.preconditions import input_of
from ....passes.protos import ENUMS
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, element_type, integers, operand, scalar, vector


def _seed(op: Builder, node: Node) -> float | None:
    """The seed, None for another one each time; and a note that the numbers will be others."""
    op.rewriter.notes.append(f"{node!r}: random numbers differ between runtimes, also with a seed")
    seed = int(node.attributes.get("op_seed", 0)) or int(node.attributes.get("global_seed", 0))
    return float(seed) if seed else None


def _units(op: Builder, shape: Expr, dtype: DType, seed: float | None) -> Expr:
    """Evenly distributed numbers from 0 to 1, without 1."""
    return expr(op, op.RandomUniformLike(expr(op, 0.0, dtype).broadcast_to(shape), seed=seed))


@rule(DOMAIN, "RandomUniform")
def random_uniform(op: Builder, node: Node) -> Results:
    """RandomUniform-8: between two bounds, the upper one excluded. `alignment` only says which numbers they are."""
    shape, low, high = (input_of(node, index) for index in range(3))
    dtype = element_type(node, "output_type") or DType.FLOAT32
    made = dtype if dtype.is_float else DType.FLOAT64
    unit = _units(op, vector(op, shape), made, _seed(op, node))
    least, most = (scalar(op, value, made) for value in (low, high))
    found = unit * (most - least) + least
    return (found if dtype.is_float else found.floor().cast(dtype)).value()


@rule(DOMAIN, "Multinomial")
def multinomial(op: Builder, node: Node) -> Results:
    """Multinomial-13: classes drawn by their probabilities [batch, classes], which need not add up to 1.

    A number of samples that isn't constant, or drawing without replacement, goes by Gumbel's noise: the class with
    the highest sum of log-probability and noise is drawn, and the highest ones in order are drawn one after another.
    """
    weights, count = operand(op, node), input_of(node, 1)
    dtype = element_type(node, "convert_type") or DType.INT32
    seed, again = _seed(op, node), bool(node.attributes.get("with_replacement", False))
    chances = weights if node.attributes.get("log_probs", False) else weights.log()
    known = integers(count)
    if known and again:
        return cast(op, op.Multinomial(chances, sample_size=known[0], dtype=ENUMS[DType.INT64], seed=seed), dtype)
    lines, classes, number = chances.size(0), chances.size(1), vector(op, count)
    shape = concat(op, [lines, number, classes] if again else [lines, classes])
    noise = -(-_units(op, shape, chances.dtype, seed).log()).log()
    if again:
        return (chances[:, None] + noise).call("ArgMax", axis=2, keepdims=0).cast(dtype).value()
    return cast(op, op.TopK(chances + noise, number, _outputs=2, axis=1, largest=1, sorted=1)[1], dtype)


RULES = collect(globals())
