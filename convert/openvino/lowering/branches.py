"""Hub -> OpenVINO: the canonical If to If-8."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.constant_analysis import static_branch
from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.loop import DOMAIN as HUB
from ....passes.preconditions import required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import merge
from ..dialect import BODY_MAPS, InputMap, OutputMap
from .context import context_of
from .tools import i64, scalar


def _branch(
    op: Builder, node: Node, name: str, region: Graph, inputs: list[Value]
) -> tuple[Graph, tuple[InputMap, ...]]:
    """A branch with a Parameter for each captured value that it uses; `inputs` grows by what feeds them."""
    body = op.region(name)
    arguments: list[Value] = []
    fed: list[tuple[Value, Value]] = []
    for old, operand in zip(region.inputs, node.captures, strict=True):
        assert operand is not None
        if operand.data is not None:
            arguments.append(body.const(operand.data, name=operand.name or "const"))
            continue
        value = Value(body.claim(old.name), merge(old.type, operand.type))
        context_of(op).note(value, operand)
        arguments.append(value)
        fed.append((value, operand))
    graph = body.graph
    graph.outputs = body.inline(region, arguments)
    fed = [(value, operand) for value, operand in fed if graph.uses(value) or value in graph.outputs]
    graph.inputs = [value for value, _ in fed]
    maps = tuple(InputMap(len(inputs) + index, index) for index in range(len(fed)))
    inputs.extend(operand for _, operand in fed)
    return graph, maps


@rule(HUB, "If")
def branch(op: Builder, node: Node) -> Sequence[Value]:
    """One If-8, with a port for each captured value of each branch; a known condition leaves only its branch."""
    condition, taken = required(node, 0), static_branch(node)
    if taken is not None:
        return op.inline(taken, [value for value in node.captures if value is not None])
    domain, version = op.rewriter.dialect.resolve("If")
    twin = Node(domain, "If", version)
    inputs = [scalar(op, condition)]
    results = tuple(OutputMap(index, index) for index in range(len(node.outputs)))
    attributes: dict[str, tuple[InputMap, ...] | tuple[OutputMap, ...]] = {}
    for name in ("then", "else"):
        body, (taken, given) = f"{name}_body", BODY_MAPS[f"{name}_body"]
        twin.regions[body], attributes[taken] = _branch(op, node, body, node.regions[name], inputs)
        attributes[given] = results
    given = list(zip(*(region.outputs for region in twin.regions.values()), strict=True))
    for old, both in zip(node.outputs, given, strict=True):
        if both[0].rank is None or both[0].rank != both[1].rank:
            raise Unsupported(node, f"the branches give {old.name!r} different ranks, or unknown ones")
    made = op.insert(twin, inputs, attributes, len(node.outputs), [value.type for value in node.outputs])
    hides = context_of(op).hides_sizes
    return [
        _settled(op, value, any(map(hides, both)))
        for value, both in zip([made] if len(node.outputs) == 1 else made, given, strict=True)
    ]


def _settled(op: Builder, value: Value, hidden: bool) -> Value:
    """What an If gives, in memory that OpenVINO's CPU gives to nothing else while it is needed.

    It plans the memory of what comes behind an If as if the sizes were known before the If has run, and takes that of
    the results for larger arrays. A layer whose result's sizes depend on values, as those of this Slice of everything,
    parts the plan in two, and what such a layer takes is safe.

    Args:
        hidden: OpenVINO may know less of its sizes than its type tells.
    """
    shape = value.tensor.shape or ()
    axis = next((index for index, size in enumerate(shape) if hidden or not isinstance(size, int)), None)
    if axis is None:
        return value
    end = op.Gather(op.ShapeOf(value), i64(op, [axis]), i64(op, 0))
    return op.Slice(value, i64(op, [0]), end, i64(op, [1]), i64(op, [axis]), _types=[value.type])


RULES = collect(globals())
