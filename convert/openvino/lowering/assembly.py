"""An OpenVINO Loop while it is being put together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ....passes.graph import Node, Value
from ....passes.rewrite import Builder
from ....passes.types import DType, Type, tensor
from ..dialect import BACK_EDGES, INPUT_MAPS, OUTPUT_MAPS, BackEdge, InputMap, OutputMap
from .context import context_of
from .tools import i64
from .trips import Parts


@dataclass
class Port:
    """A Parameter of the body, and the operand that feeds it (None: the iteration number)."""

    parameter: Value
    operand: Value | None
    slices: dict[str, Any] = field(default_factory=dict)
    carried: bool = False
    result: int | None = None  # what is fed back to it


@dataclass
class Assembly:
    op: Builder
    body: Builder
    trip: Value
    start: Value
    ports: list[Port] = field(default_factory=list)
    output_maps: list[OutputMap] = field(default_factory=list)
    types: list[Type | None] = field(default_factory=list)
    count: Value | None = None  # the body's own iteration number

    def parameter(self, name: str, type: Type | None, operand: Value | None, carried: bool = False) -> Value:
        value = Value(self.body.claim(name), type)
        context_of(self.op).note(value, operand, carried)
        return value

    def port(self, operand: Value, type: Type | None, name: str, carried: bool, parts: Parts | None = None) -> Value:
        """A Parameter and the input port that feeds it."""
        value = self.parameter(name, type, operand, carried)
        self.ports.append(Port(value, operand, {} if parts is None else parts.attributes, carried))
        return value

    def iteration(self, name: str = "iteration") -> Value:
        """The Parameter that counts the passes; a body has at most one."""
        if self.count is None:
            self.count = self.parameter(name, tensor(DType.INT64), None)
            self.ports.append(Port(self.count, None))
        return self.count

    def counting(self) -> Value:
        """True in every pass, but nothing that OpenVINO could know while compiling."""
        return self.body.GreaterEqual(self.iteration(), i64(self.body, 0))

    def nought(self) -> Value:
        """0 in every pass, i64 [], but nothing that OpenVINO could know while compiling."""
        return self.body.Minimum(self.iteration(), i64(self.body, 0))

    def result(self, value: Value) -> int:
        self.body.graph.outputs.append(value)
        return len(self.body.graph.outputs) - 1

    def output(self, value: Value, type: Type | None, axis: int | None = None, part: int = 1) -> int:
        """A Result and the output port it leaves through."""
        slices: dict[str, int] = {} if axis is None else {"axis": axis, "stride": part, "part_size": part}
        self.output_maps.append(replace(OutputMap(len(self.types), self.result(value)), **slices))
        self.types.append(type)
        return len(self.types) - 1

    def feed_back(self, parameter: Value, result: int) -> None:
        next(port for port in self.ports if port.parameter is parameter).result = result

    def build(self) -> list[Value]:
        """The Loop node; Parameters that nothing uses are left out."""
        body = self.body.graph
        used = [
            port
            for port in self.ports
            if port.result is not None or body.uses(port.parameter) or port.parameter in body.outputs
        ]
        # OpenVINO takes Parameters of constants away, and then looks for the number of the pass at its old place
        used.sort(key=lambda port: port.operand is not None)
        body.inputs = [port.parameter for port in used]
        inputs, maps = [self.trip, self.start], []
        for index, port in enumerate(used):
            if port.operand is None:
                maps.append(InputMap(-1, index, purpose="current_iteration"))
            else:
                maps.append(InputMap(len(inputs), index, **port.slices))
                inputs.append(port.operand)
        domain, version = self.op.rewriter.dialect.resolve("Loop")
        node = Node(domain, "Loop", version)
        node.regions["body"] = body
        attributes = {
            INPUT_MAPS: tuple(maps),
            OUTPUT_MAPS: tuple(self.output_maps),
            BACK_EDGES: tuple(BackEdge(port.result, at) for at, port in enumerate(used) if port.result is not None),
        }
        made = self.op.insert(node, inputs, attributes, len(self.types), self.types)
        return [made] if len(self.types) == 1 else list(made)
