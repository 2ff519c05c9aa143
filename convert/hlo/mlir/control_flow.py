"""Regions of StableHLO's while, case and if as graphs that are handed what they use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Value
from ....passes.loops.draft import CARRIER
from ....passes.types import TensorType
from ..dialect import DOMAIN
from .description import symbols_in, unchanged
from .scope import Scope, present
from .special import Operation

if TYPE_CHECKING:
    from .reader import Reader


def while_loop(reader: Reader, scope: Scope, one: Operation) -> list[Value | None]:
    state = [reader.value(scope, number) for number in one.operands]
    types = [None if value is None else value.type for value in state]
    inner: list[Scope] = []
    fixed = unchanged(one.blocks[1])
    for name, block in zip(("condition", "body"), one.blocks, strict=True):
        region = Scope(Graph(DOMAIN, name), scope)
        reader.arguments(region, block, types)
        for place, value in enumerate(state):  # what a loop hands on unchanged is known inside of it, too
            twin = region.graph.inputs[place]
            if place in fixed and value is not None and value in reader.known:
                reader.known[twin] = reader.known[value]
        region.graph.outputs = reader.block(region, block["operations"])
        inner.append(region)
    condition, body = inner
    for index, (value, out) in enumerate(zip(body.graph.inputs, body.graph.outputs, strict=False)):
        if value.type is not None and out.type is not None and value.type != out.type:
            raise Unsupported(one.name, f"value {index} of its state is {value.type}, then {out.type}")
    _carriers(reader, scope, inner)
    more = list(dict.fromkeys([*condition.captured, *body.captured]))
    for number in more:
        state.append(reader.value(scope, number))
        for region in inner:
            if number not in region.captured:
                twin = region.graph.add_input(reader.names.fresh("argument"), present(state[-1]).type)
                region.captured[number] = twin
    for region in inner:
        inputs = region.graph.inputs[: len(state) - len(more)]
        region.graph.inputs = [*inputs, *(region.captured[number] for number in more)]
    body.graph.outputs += [body.captured[number] for number in more]
    node = reader.node(scope, "while", state, [None if v is None else v.type for v in state], {}, one.location)
    node.regions = {"condition": condition.graph, "body": body.graph}
    return list(node.outputs[: len(one.results)])


def branches(reader: Reader, scope: Scope, one: Operation) -> list[Value | None]:
    chooser = reader.value(scope, one.operands[0])
    blocks = one.blocks[::-1] if one.name == "stablehlo.if" else one.blocks  # branch 0 is what false takes
    inner: list[Scope] = []
    for index, block in enumerate(blocks):
        region = Scope(Graph(DOMAIN, f"branch_{index}"), scope)
        region.graph.outputs = reader.block(region, block["operations"])
        inner.append(region)
    _carriers(reader, scope, inner)
    inputs = [chooser]
    for region in inner:
        inputs += [reader.value(scope, number) for number in region.captured]
    outputs = [[value.type for value in region.graph.outputs] for region in inner]
    node = reader.node(scope, "conditional", inputs, outputs[0], {}, one.location)
    node.regions = {region.graph.name: region.graph for region in inner}
    for types in outputs[1:]:
        for value, type in zip(node.outputs, types, strict=True):
            if isinstance(type, TensorType) and value.type != type:
                raise Unsupported(one.name, f"its branches give {value.type} and {type}")
    return list(node.outputs)


def _carriers(reader: Reader, scope: Scope, regions: Sequence[Scope]) -> None:
    """Hand regions a value of each open size that they compute with and none of their inputs has."""
    if not reader.dynamic:
        return
    for region in regions:
        for symbol in sorted(symbols_in(region.graph)):
            value = _carrier(reader, scope, symbol)
            number = _given(reader, scope, value)
            if number not in region.captured:
                twin = region.captured[number] = region.graph.add_input(reader.names.fresh(value.name), value.type)
                twin.meta = {CARRIER: True}


def _carrier(reader: Reader, scope: Scope, symbol: str) -> Value:
    """A value of a scope that has an open size."""
    for value in scope.graph.inputs:
        if isinstance(value.type, TensorType) and symbol in (value.type.shape or ()):
            return value
    if scope.outer is None:
        raise Unsupported(scope.graph.name, f"no input has the size {symbol}")
    outer = _carrier(reader, scope.outer, symbol)
    number = _given(reader, scope.outer, outer)
    value = scope.captured[number] = scope.graph.add_input(reader.names.fresh(outer.name), outer.type)
    value.meta = {CARRIER: True}
    scope.values[number] = value
    return value


def _given(reader: Reader, scope: Scope, value: Value) -> int:
    """The number of a value that the module has none for."""
    for number, one in scope.values.items():
        if one is value:
            return number
    reader.given -= 1
    scope.values[reader.given] = value
    return reader.given
