"""Hub -> HLO: the canonical If to `conditional` over a pred; each branch takes what it uses."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.loop import DOMAIN as HUB
from ....passes.preconditions import required
from ....passes.rewrite import Builder, collect, rule
from ..infer import agree
from .regions import copied, is_copied
from .tools import reshape


def _branch(op: Builder, name: str, node: Node, region: Graph) -> tuple[Graph, list[Value]]:
    """A branch, and what is handed to it."""
    body = op.region(name)
    arguments: list[Value] = []
    handed: list[tuple[Value, Value]] = []
    for old, outside in zip(region.inputs, node.captures, strict=True):
        assert outside is not None
        if is_copied(outside):
            arguments.append(copied(body, outside))
            continue
        value = body.input(old.name, outside.type)
        arguments.append(value)
        handed.append((value, outside))
    graph = body.graph
    try:
        graph.outputs = body.inline(region, arguments)
    except InvalidModel as error:  # for these shapes it can't be taken, which HLO has no way to say
        raise Unsupported(node, f"its branch {name} contradicts the shapes that it would be given: {error}") from None
    handed = [(value, outside) for value, outside in handed if graph.uses(value) or value in graph.outputs]
    graph.inputs = [value for value, _ in handed]
    return graph, [outside for _, outside in handed]


@rule(HUB, "If")
def branch(op: Builder, node: Node) -> Sequence[Value]:
    """branch_0 is what false takes; a known condition leaves only its branch."""
    condition = required(node, 0)
    known = condition.array()
    if known is not None:
        region = node.regions["then" if known.reshape(-1)[0] else "else"]
        return op.inline(region, [value for value in node.captures if value is not None])
    if not node.outputs:
        return []
    inputs = [reshape(op, condition, ())]
    domain, version = op.rewriter.dialect.resolve("conditional")
    twin = Node(domain, "conditional", version)
    for place, name in enumerate(("else", "then")):
        twin.regions[f"branch_{place}"], handed = _branch(op, name, node, node.regions[name])
        inputs += handed
    for old, *both in zip(node.outputs, *(region.outputs for region in twin.regions.values()), strict=True):
        if not agree(both[0].type, both[1].type):
            raise Unsupported(node, f"its branches give {old.name!r} different types: {both[0].type}, {both[1].type}")
    made = op.place(twin, inputs, {}, len(node.outputs))
    return [made] if len(node.outputs) == 1 else list(made)


RULES = collect(globals())
