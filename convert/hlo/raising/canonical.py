"""HLO graph -> HLO graph of fewer opcodes, wherever they stand, before anything asks what an opcode means.

- What is called stands where it is called.
- What hands its operands on is gone: `copy`, `domain`, `add-dependency`, `opt-barrier`, and a `reshape`, `transpose`,
  `broadcast`, `convert`, `bitcast-convert` to what the operand is already.
- A `bitcast` is the `transpose`, `bitcast-convert` and `reshape` that it stands for.

Comparators, the computations of reductions, conditions and bodies of loops are recognized after this, so none of them
has a meaning of its own for these opcodes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import SETTLED, Graph, Node, Value
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, Key, Rewriter, Rule, collect, combine, rule
from ....passes.types import DType, TensorType
from ..build import HLO, HloBuilder
from ..dialect import DOMAIN, origin_of
from ..text.tree import ArrayShape, HloShape
from .support import Results, shape_of

_ROOM, _TIMES = 100_000, 50
"""Written out, a model may have so many nodes more, and so many times as many, as before."""


def calls(graph: Graph) -> dict[Key, list[Rule]]:
    """Rules that write out the `call`s and `fusion`s of a graph; none where it has no functions.

    Raises:
        InvalidModel: written out, the calls would make a model of an absurd size.
    """
    if not graph.functions:
        return {}
    _check_size(graph)

    def call(op: Builder, node: Node) -> Sequence[Value]:
        return op.inline(graph.functions[DOMAIN, node.attributes["computation"], ""], node.inputs)

    return {(DOMAIN, name): [call] for name in ("call", "fusion")}


def _check_size(graph: Graph) -> None:
    """How many nodes there will be; each function is counted once, when those that it calls have been (they stand
    before it: a function is entered when its reading has ended)."""
    sizes: dict[str, int] = {}

    def size(inner: Graph) -> int:
        return len(inner) + sum(
            sizes.get(node.attributes.get("computation", ""), 0) + sum(map(size, node.regions.values()))
            for node in inner.nodes
        )

    for (_, name, _), function in graph.functions.items():
        sizes[name] = size(function)
    most = _ROOM + _TIMES * sum(sum(1 for _ in one.walk()) for one in (graph, *graph.functions.values()))
    if size(graph) > most:
        raise InvalidModel(f"written out, its calls make more than {most} instructions")


def canonical(graph: Graph) -> Graph:
    """A graph without the opcodes that stand for others; the graph itself where it has none.

    Raises:
        Unsupported: bits that are taken for something else aren't told.
        InvalidModel: written out, the calls would make a model of an absurd size.
    """
    if not graph.functions and not any(node.op in RULES for _, node in graph.walk()):
        return graph
    return Rewriter(HLO, combine(calls(graph), RULES), fallback=Builder.copy).run(graph, HloBuilder)


@rule(DOMAIN, "copy", "domain", "opt-barrier", "add-dependency")
def identities(op: Builder, node: Node) -> Results:
    """copy, domain, opt-barrier of any number of values; add-dependency, whose last operand is a token."""
    return [input_of(node, index) for index in range(len(node.outputs))]


@rule(DOMAIN, "reshape", "broadcast", "transpose", "convert", "bitcast-convert")
def unchanged(op: Builder, node: Node) -> Results:
    """What may change a value and doesn't."""
    x = input_of(node, 0)
    indices = node.attributes.get("dimensions", ())
    alike = x.type == node.output.type and list(indices) == sorted(indices)
    return x if alike else None


@rule(DOMAIN, "compare")
def predicate(op: Builder, node: Node) -> Results:
    """A predicate compared with a constant, which is how JAX makes one of a predicate: itself, or its opposite."""
    x, other = input_of(node, 0), input_of(node, 1)
    direction = node.attributes.get("direction")
    if x.tensor.dtype is not DType.BOOL or direction not in ("EQ", "NE"):
        return None
    number = _filled(other)
    if number is None:
        return None
    return x if bool(number) == (direction == "EQ") else op.call("not", x)


@rule(DOMAIN, "size")
def settled_size(op: Builder, node: Node) -> Results:
    """A size that was open and is a number now."""
    size = node.attributes["size"]
    return op.const(size, dtype_of(node, node.output)) if isinstance(size, int) else None


@rule(DOMAIN, "select")
def chosen(op: Builder, node: Node) -> Results:
    """A choice between a value and itself, or one that is made."""
    which, x, other = (input_of(node, index) for index in range(3))
    number = None if x is other else _filled(which)
    return x if x is other or number else other if number is not None else None


def _filled(value: Value) -> Any:
    """The number that a constant, or a broadcast of one, is filled with; None where there is none, or it stays as it
    is."""
    maker = value.producer
    source = maker.inputs[0] if maker is not None and maker.op == (DOMAIN, "broadcast") else value
    data = None if source is None or SETTLED in (source.meta or {}) else source.data
    array = data.numpy().reshape(-1) if data is not None and 0 < data.size <= _MOST_LOOKED_AT else None
    return array[0] if array is not None and bool((array == array[0]).all()) else None


_MOST_LOOKED_AT = 64
_NEUTRAL = {
    **{"divide": 1, "multiply": 1},
    **dict.fromkeys(("add", "or", "shift-left", "shift-right-arithmetic", "shift-right-logical", "subtract", "xor"), 0),
}


@rule(DOMAIN, *_NEUTRAL)
def unchanged_by_number(op: Builder, node: Node) -> Results:
    """Arithmetic that leaves every value as it is: of floats only by 1 (-0 + 0 is 0)."""
    x, other = input_of(node, 0), input_of(node, 1)
    neutral = _NEUTRAL[node.op_type]
    kind = x.tensor.dtype
    if kind is None or not (kind.is_integer or (kind.is_float and neutral)):
        return None
    if _filled(other) == neutral:
        return x
    commutes = node.op_type in ("add", "multiply", "or", "xor")
    return other if commutes and _filled(x) == neutral else None


@rule(DOMAIN, "bitcast")
def bitcast(op: Builder, node: Node) -> Results:
    """bitcast: the same memory as another type, in another shape, its dimensions in another order."""
    x, result = input_of(node, 0), node.output
    before, after = dtype_of(node, x), dtype_of(node, result)
    origin = origin_of(node)
    own = _order(node, origin.shape, result.rank or 0)
    order = _order(node, origin.operands[0] if origin.operands else None, x.rank or 0)
    if x.tensor.shape == result.tensor.shape and own == order and before.bits == after.bits:
        return _as_type(op, node, x, after)
    shape, wanted = shape_of(node, x), shape_of(node, result)
    memory = _as_type(op, node, _transposed(op, x, order), after)
    memory = _reshaped(op, memory, [wanted[axis] for axis in own])
    assert math.prod(shape) * before.bits == math.prod(wanted) * after.bits, node
    return _transposed(op, memory, [own.index(axis) for axis in range(len(own))])


def _as_type(op: Builder, node: Node, x: Value, after: DType) -> Value:
    """Memory in the order of its dimensions as another type; elements of another width in one row."""
    before = dtype_of(node, x)
    if before is after:
        return x
    if before.is_complex or after.is_complex or DType.BOOL in (before, after):
        raise Unsupported(node, f"it reinterprets {before.value} as {after.value}")
    narrow, wide = sorted((before.bits, after.bits))
    if narrow == wide:
        return op.call("bitcast-convert", x, _types=[TensorType(after, x.tensor.shape)])
    if narrow < 8:
        raise Unsupported(node, f"how {before.value} and {after.value} are laid out in memory isn't specified")
    count, parts = math.prod(shape_of(node, x)), wide // narrow
    if before.bits == wide:
        return op.call("bitcast-convert", _reshaped(op, x, [count]), _types=[TensorType(after, (count, parts))])
    row = _reshaped(op, x, [count // parts, parts])
    return op.call("bitcast-convert", row, _types=[TensorType(after, (count // parts,))])


def _reshaped(op: Builder, x: Value, shape: Sequence[int]) -> Value:
    if x.tensor.shape == tuple(shape):
        return x
    return op.call("reshape", x, _types=[TensorType(x.tensor.dtype, tuple(shape))])


def _transposed(op: Builder, x: Value, order: Sequence[int]) -> Value:
    return x if list(order) == sorted(order) else op.call("transpose", x, dimensions=tuple(order))


def _order(node: Node, shape: HloShape | None, rank: int) -> list[int]:
    """The dimensions as they lie in memory, the slowest first."""
    layout = shape.layout if isinstance(shape, ArrayShape) else ""
    if not layout:
        return list(range(rank))
    found = re.fullmatch(r"\{([\d,\s]*)(:.*)?\}", layout.strip(), re.DOTALL)
    if found is None or "T(" in (found[2] or ""):
        raise Unsupported(node, f"the layout {layout}")
    order = [int(item) for item in found[1].split(",") if item.strip()][::-1]
    if sorted(order) != list(range(rank)):
        raise InvalidModel(f"{node!r}: the layout {layout} of {rank} dimensions")
    return order


RULES = collect(globals())
