"""while -> canonical Loop, still in HLO's dialect: what JAX's scan and fori_loop became is made what it was.

    state = while(0, c, xs, zeros), condition: i < n, body: (i + 1, f(c, xs[i]), xs, ys with g(c, xs[i]) at i)

    c', ys = Loop(n) carried c, sliced xs, stacked ys

Here a `while` is a Loop that hands on its whole state and asks the condition before it and at the end of each pass;
`passes/loops` finds out what more there is to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.errors import InvalidModel
from ....passes.graph import Graph, Node, Value
from ....passes.loop import DOMAIN as LOOPS
from ....passes.loop import Captured, Carried, Condition, Slot
from ....passes.loops.affine import Lines
from ....passes.loops.ranges import Operation
from ....passes.loops.scans import recovered
from ....passes.loops.vocabulary import Access
from ....passes.rewrite import Builder, Rewriter, collect, rule
from ....passes.sizes import dims_of
from ....passes.types import DType, TensorType
from ..build import HLO, HloBuilder
from ..dialect import DOMAIN
from ..expression import COMPARED, OPCODES

_COMPARED = {"NE": "NotEqual", **{direction: name for name, direction in COMPARED.items()}}
_OPCODES = {
    **{name: OPCODES[name] for name in ("Add", "And", "Max", "Min", "Mul", "Neg", "Sub", "Where")},
    "Cast": "convert",
    "Clip": "clamp",
    "Reshape": "reshape",
}
_COMPUTED = {opcode: name for name, opcode in _OPCODES.items()}


class HloVocabulary:
    """HLO's opcodes for what loops do with integers."""

    def operation(self, node: Node) -> Operation:
        if node.op_type == "compare":
            return _COMPARED.get(node.attributes.get("direction", ""), ""), node.inputs
        if node.op_type == "clamp":
            low, value, high = node.inputs
            return "Clip", [value, low, high]
        return _COMPUTED.get(node.op_type, ""), node.inputs

    def read(self, node: Node, lines: Lines) -> Access | None:
        whole = node.inputs[0] if node.op_type == "dynamic-slice" else None
        sizes = None if whole is None else dims_of(node.attributes["dynamic_slice_sizes"])
        return None if whole is None or sizes is None else Access(whole, sizes, node.inputs[1:])

    def written(self, node: Node) -> tuple[Access, Value] | None:
        if node.op_type != "dynamic-update-slice":
            return None
        whole, update, *starts = node.inputs
        size = None if update is None else dims_of(update.tensor.shape)
        return None if whole is None or update is None or size is None else (Access(whole, size, starts), update)

    def size(self, value: Value) -> int | None:
        maker = value.producer
        dims = dims_of((maker.attributes["size"],)) if maker is not None and maker.op == (DOMAIN, "size") else None
        return None if dims is None else dims[0]

    def sized(self, op: Builder, size: int, dtype: DType) -> Value:
        return op.call("size", _types=[TensorType(dtype, ())], size=str(size))

    def call(self, op: Builder, name: str, *operands: Value) -> Value:
        return op.call(_OPCODES[name], *operands)

    def cast(self, op: Builder, value: Value, dtype: DType) -> Value:
        if value.tensor.dtype is dtype:
            return value
        return op.call("convert", value, _types=[TensorType(dtype, value.tensor.shape)])

    def reshape(self, op: Builder, value: Value, type: TensorType) -> Value:
        return value if value.type == type else op.call("reshape", value, _types=[type])

    def inserted(self, op: Builder, whole: Value, part: Value, axis: int, start: int) -> Value:
        starts = [op.const(start if index == axis else 0) for index in range(whole.rank or 0)]
        return op.call("dynamic-update-slice", whole, part, *starts)


def recover_loops(graph: Graph) -> Graph:
    """A graph whose `while`s are canonical Loops; the old one stays as it was."""
    if not any(node.op_type == "while" for _, node in graph.walk()):
        return graph
    return Rewriter(HLO, RULES, fallback=Builder.copy).run(graph, HloBuilder)


@rule(DOMAIN, "while")
def while_loop(op: Builder, node: Node) -> Sequence[Value]:
    """While: `condition` on the state, then `body`, as long as it is true."""
    state = [value for value in node.inputs if value is not None]
    condition, body = node.regions["condition"], node.regions["body"].copy(regions=False)
    if not len(state) == len(body.inputs) == len(body.outputs) == len(condition.inputs) == len(node.outputs):
        raise InvalidModel(f"{node!r}: its condition and its body take other values than it has")
    first = op.inline(condition, state)[0]
    body.outputs.append(_inlined(condition, body))
    changes = [
        body_input is not body_output for body_input, body_output in zip(body.inputs, body.outputs, strict=False)
    ]
    carried, captured = ([index for index, one in enumerate(changes) if one is so] for so in (True, False))
    slots: list[Slot] = [*(Carried() for _ in carried), *(Captured() for _ in captured), Condition()]
    loop = Node(LOOPS, "Loop", 1, node.name)
    loop.attributes["slots"], loop.meta, loop.regions["body"] = tuple(slots), node.meta, body
    loop.inputs = [None, first, *(state[index] for index in (*carried, *captured))]
    loop.outputs = [node.outputs[index] for index in carried]
    body.inputs = [body.inputs[index] for index in (*carried, *captured)]
    body.outputs = [body.outputs[index] for index in (*carried, -1)]
    results = recovered(op, loop, HloVocabulary())
    made = dict(zip(carried, results, strict=True))
    return [made.get(index, value) for index, value in enumerate(state)]


def _inlined(condition: Graph, body: Graph) -> Value:
    """The condition of the state that a body leaves, computed at its end."""
    tail = condition.copy(regions=False)
    state = dict(zip(tail.inputs, body.outputs, strict=True))
    for node in tail.nodes:
        node.inputs = [None if value is None else state.get(value, value) for value in node.inputs]
    body.constants += tail.constants
    body.add_nodes(tail.nodes)
    return state.get(tail.outputs[0], tail.outputs[0])


RULES = collect(globals())
