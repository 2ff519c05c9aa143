"""The text form of a graph: what `backedge show` prints, what tests and docstrings compare.

graph main(x: float32[2]) -> (y) {
  y: float32[2] = Neg(x)
}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .graph import Graph, Node, Value
from .loop import Captured, Carried, Condition, Iteration, Loop, Sliced, Stacked, is_loop
from .tensor import TensorData

_MOST_ELEMENTS = 8


def _array(data: TensorData) -> str:
    if data.size > _MOST_ELEMENTS:
        return "{...}"
    return np.array2string(data.numpy(), separator=", ", max_line_width=10_000, threshold=_MOST_ELEMENTS + 1).replace(
        "\n", ""
    )


def _attribute(value: Any) -> str:
    if isinstance(value, TensorData):
        return f"{value.dtype.value}{list(value.shape)} {_array(value)}"
    return repr(value)


class _Names:
    """Readable, unique names: a value's own name where it is free, else name~2."""

    def __init__(self) -> None:
        self.given: dict[Value, str] = {}
        self.taken: dict[str, int] = {}

    def __call__(self, value: Value | None) -> str:
        if value is None:
            return "_"
        if value not in self.given:
            if value.data is not None and not value.data.shape and value.data.dtype.bits and not value.name:
                return _array(value.data)
            name = value.name or "v"
            count = self.taken.get(name, 0) + 1
            self.taken[name] = count
            self.given[value] = name if count == 1 else f"{name}~{count}"
        return self.given[value]


def _typed(value: Value, names: _Names) -> str:
    """A value's name, and its type where that is known."""
    return names(value) if value.type is None else f"{names(value)}: {value.type}"


def _node(node: Node, names: _Names) -> str:
    domain = f"{node.domain}." if node.domain else ""
    version = f"-{node.version}" if node.version else ""
    arguments = [names(value) for value in node.formal_inputs]
    captured = f" capturing ({', '.join(names(value) for value in node.captures)})" if node.captured else ""
    arguments += [f"{name}={_attribute(value)}" for name, value in node.attributes.items() if name != "slots"]
    results = ", ".join(_typed(value, names) for value in node.outputs)
    return f"{results} = {domain}{node.op_type}{version}({', '.join(arguments)}){captured}"


def _loop(node: Node, names: _Names, indent: str) -> Iterator[str]:
    loop = Loop(node)
    results = ", ".join(_typed(value, names) for value in node.outputs)
    head = f"{indent}{results} = " if results else indent
    yield f"{head}Loop(trip={names(loop.trip)}, condition={names(loop.initial_condition)}) {{"
    for entry in loop.entries:
        body_input, body_output = names(entry.body_input), names(entry.body_output)
        operand, type = names(entry.operand), entry.body_input and entry.body_input.type
        match entry.slot:
            case Carried():
                line = f"carried  {body_input}: {type} = {operand} <- {body_output}"
            case Sliced(axis, start, end, stride, part):
                span = "" if (start, end, stride) == (0, -1, 1) else f", start={start}, end={end}, stride={stride}"
                span += "" if part is None else f", part={part}"
                line = f"sliced   {body_input}: {type} = {operand}[axis={axis}{span}]"
            case Captured():
                line = f"captured {body_input} = {operand}"
            case Stacked(axis, reverse, part):
                extra = (", reverse" if reverse else "") + ("" if part is None else f", part={part}")
                line = f"stacked  {names(entry.result)}[axis={axis}{extra}] <- {body_output}"
            case Iteration():
                line = f"iteration {body_input}"
            case Condition():
                line = f"condition {body_input} <- {body_output}" if entry.body_input else f"condition <- {body_output}"
        yield f"{indent}  {line}"
    yield from _body(loop.body, names, indent + "  ")
    yield f"{indent}}}"


def _body(graph: Graph, names: _Names, indent: str) -> Iterator[str]:
    for value in graph.constants:
        if value.data is not None and (value.name or value.data.shape or not value.data.dtype.bits):
            yield f"{indent}{names(value)}: {value.type} = {_array(value.data)}"
    for node in graph.topological():
        if is_loop(node):
            yield from _loop(node, names, indent)
            continue
        yield indent + _node(node, names) + (" {" if node.regions else "")
        for name, region in node.regions.items():
            inputs = ", ".join(_typed(value, names) for value in region.inputs)
            yield f"{indent}  {name}({inputs}) {{"
            yield from _body(region, names, indent + "    ")
            yield f"{indent}  }} -> ({', '.join(names(value) for value in region.outputs)})"
        if node.regions:
            yield f"{indent}}}"


def lines(graph: Graph) -> Iterator[str]:
    """The lines of the text form, made as they are asked for."""
    names = _Names()
    inputs = ", ".join(_typed(value, names) for value in graph.inputs)
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in graph.opsets.items())
    yield f"graph {graph.name}({inputs}) {{" + (f"  # {graph.dialect}: {opsets}" if opsets else f"  # {graph.dialect}")
    yield from _body(graph, names, "  ")
    yield f"}} -> ({', '.join(names(value) for value in graph.outputs)})"


def graph_text(graph: Graph) -> str:
    return "\n".join(lines(graph))
