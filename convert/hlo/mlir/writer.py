"""Graph of dialect "hlo" -> StableHLO, as MLIR's text in generic form with the constants' bytes beside it.

`mlir_written.py` makes a file of both: it has jaxlib's bindings parse the text and check it. Computations that are
called are functions; branches see what they are handed, as regions of StableHLO see the values around them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.names import Names
from ....passes.sizes import OpenSize, dims_of
from ....passes.types import TensorType
from ....runtime.oracles.hlo_names import INPUTS, OUTPUTS, interface_names
from ....runtime.oracles.mlir_module import STATED
from ....runtime.oracles.mlir_written import PLACE
from ..dialect import form_of, result_names
from . import operations, spelling
from .calls import write_call
from .description import DEVICES
from .dynamic import (
    DYNAMIC,
    TOLD,
    WRAPPED,
    Sizes,
    entry_lines,
    floor_function,
    has_open_sizes,
    vector_type,
    write_size,
)
from .spelling import type_of


@dataclass(frozen=True, slots=True)
class Module:
    """A module's text, and the elements of constants that the text has only the first of."""

    text: str
    constants: list[np.ndarray[Any, Any]]

    def parts(self) -> list[Any]:
        """What `mlir_written.py` reads: the length of the text in 8 bytes, the text, the constants' bytes."""
        text = self.text.encode()
        return [len(text).to_bytes(8, "little"), text, *self.constants]


def to_module(graph: Graph) -> Module:
    """A graph of dialect "hlo" as StableHLO, with open sizes as `jax.export` has them.

    Raises:
        Unsupported: an operation or a type that StableHLO hasn't, or a size that isn't a function of the inputs'.
    """
    writer = Writer()
    main, open_ = writer.names.claim("main"), has_open_sizes(graph)
    writer.called = {name: writer.names.fresh(name) for _, name, _ in graph.functions}
    write = writer.entry if open_ else writer.function
    write(graph, main, writer.interface(graph))
    for (_, name, _), one in graph.functions.items():
        writer.function(one, writer.called[name])
    header = {
        **_devices(graph),
        **writer.header,
        "jax.uses_shape_polymorphism": "true" if open_ else None,
        "sym_name": graph.name or None,
    }
    body = "\n".join([*writer.functions, *([floor_function(writer.floor)] if writer.floor else [])])
    text = f'"builtin.module"() ({{\n{body}\n}}) {spelling.attributes(header)} : () -> (){_location()}\n'
    return Module(text, writer.constants)


def _location(name: str = "") -> str:
    return f" loc({spelling.string(name) if name else 'unknown'})"


def _is_plain(name: str) -> bool:
    """Whether a name is the same in MLIR's text, and in quotes."""
    return name.isascii() and name.isprintable() and not set(name) & set("\"'\\")


def _devices(graph: Graph) -> dict[str, str]:
    """How many devices run it, where that isn't one."""
    header = form_of(graph).attributes
    return {
        mlir: f"{header[hlo].text} : i32" for mlir, hlo in DEVICES.items() if hlo in header and header[hlo].text != "1"
    }


@dataclass(slots=True)
class Writer:
    constants: list[np.ndarray[Any, Any]] = field(default_factory=list)
    header: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    names: Names = field(default_factory=Names)
    called: dict[str, str] = field(default_factory=dict)  # the name in the graph -> the name in the text
    length: int = 0
    count: int = 0
    floor: str = ""  # the function that divides sizes and rounds down, where one is needed

    def fresh(self) -> str:
        """A name for a value."""
        self.count += 1
        return f"%{self.count}"

    def interface(self, graph: Graph) -> dict[str, Any]:
        """What a function says of its results, so that its inputs and outputs have their names where it is read; what
        it can't say stands in the header."""
        inputs, outputs = [value.name for value in graph.inputs], result_names(graph)
        told = [f"result['{name}']" if _is_plain(name) else "" for name in outputs]
        if not all(map(_is_plain, inputs)) or interface_names(inputs, told, {}) != (inputs, outputs):
            for key, listed in ((INPUTS, inputs), (OUTPUTS, outputs)):
                self.header[STATED[key]] = spelling.string(json.dumps(listed))
        results = ", ".join(f"{{jax.result_info = {spelling.string(name)}}}" if name else "{}" for name in told)
        return {"res_attrs": f"[{results}]" if any(told) else None, "sym_visibility": "public"}

    def entry(self, graph: Graph, name: str, attributes: Mapping[str, Any]) -> None:
        """The function that a program with open sizes starts with, and the one that it hands them to."""
        wrapped = self.names.fresh(WRAPPED)
        block = Block(self)
        inputs = [(block.argument(value), type_of(value), value.name, "{}") for value in graph.inputs]
        symbols = entry_lines(block, graph, wrapped)
        results = list(map(type_of, graph.outputs))
        self.functions.append(_function(name, inputs, results, block.lines, attributes))
        self.function(graph, wrapped, {"res_attrs": attributes["res_attrs"]}, symbols)

    def function(
        self, graph: Graph, name: str, attributes: Mapping[str, Any] | None = None, symbols: Sequence[str] = ()
    ) -> None:
        """A function of a graph, which is private if nothing else is said; it may be handed open sizes."""
        beginning = Block(self)
        sizes = beginning.sizes
        inputs: list[Argument] = []
        for symbol in symbols:
            sizes.given[symbol] = self.fresh()
            told = f"{{jax.global_constant = {spelling.string(symbol)}}}"
            inputs.append((sizes.given[symbol], TOLD, "", told))
        inputs += [(beginning.argument(value), type_of(value), value.name, "{}") for value in graph.inputs]
        if not symbols:
            sizes.symbols_of(graph)
        block = Block(self, beginning, dict(beginning.values))
        block.write(graph, "func.return")
        results = list(map(type_of, graph.outputs))
        lines = [*beginning.lines, *block.lines]
        self.functions.append(_function(name, inputs, results, lines, attributes or {}))

    def named_function(self, graph: Graph, wanted: str) -> str:
        """The name of a function made of a graph."""
        name = self.names.fresh(wanted)
        self.function(graph, name)
        return name


Argument = tuple[str, str, str, str]
"""Of a function: the value, its type, what it is called, attributes."""


def _function(
    name: str,
    arguments: Sequence[Argument],
    results: Sequence[str],
    lines: Sequence[str],
    attributes: Mapping[str, Any],
) -> str:
    found = {
        "sym_name": name,
        "function_type": f"({', '.join(type for _, type, _, _ in arguments)}) -> ({', '.join(results)})",
        "sym_visibility": "private",
        **attributes,
    }
    if any(told != "{}" for *_, told in arguments):
        found["arg_attrs"] = f"[{', '.join(told for *_, told in arguments)}]"
    given = ", ".join(f"{value}: {type}{_location(called)}" for value, type, called, _ in arguments)
    body = "\n".join(lines)
    told = spelling.attributes(found)
    return f'"func.func"() ({{\n^bb0({given}):\n{body}\n}}) {told} : () -> (){_location()}'


@dataclass(slots=True)
class Block:
    """A block that is being written, and what the values of graphs are called in it."""

    writer: Writer
    outer: Block | None = None
    values: dict[Value, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    sizes: Sizes = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = Sizes(self) if self.outer is None else self.outer.sizes

    def argument(self, value: Value) -> str:
        self.values[value] = self.writer.fresh()
        return self.values[value]

    def write(self, graph: Graph, ending: str) -> None:
        """The operations of a graph, and what returns its results."""
        for value in graph.constants:
            if value.data is not None and value not in self.values:
                self.constant(value)
        for node in graph.topological():
            self.node(node)
        self.emit(ending, graph.outputs, [])

    def constant(self, value: Value) -> None:
        assert value.data is not None
        text, elements = spelling.constant(value.data)
        attributes: dict[str, Any] = {"value": text}
        if elements is not None:
            writer = self.writer
            attributes[PLACE] = f"array<i64: {writer.length}, {writer.length + elements.size}>"
            writer.constants.append(elements)
            writer.length += elements.size
        type = spelling.spelled_type(TensorType(value.data.dtype, value.data.shape), value.name)
        (self.values[value],) = self.line("stablehlo.constant", [], [], [type], attributes)

    def line(
        self,
        name: str,
        operands: Sequence[str],
        operand_types: Sequence[str],
        types: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
        regions: Sequence[str] = (),
        origin: str = "",
    ) -> list[str]:
        """An operation; what its results are called."""
        made = self.writer.fresh() if types else ""
        count = f"{made}:{len(types)} = " if len(types) > 1 else f"{made} = " if types else ""
        inner = f" ({', '.join(regions)})" if regions else ""
        signature = f"({', '.join(operand_types)}) -> ({', '.join(types)})"
        told = spelling.attributes(attributes or {})
        self.lines.append(f'{count}"{name}"({", ".join(operands)}){inner} {told} : {signature}{_location(origin)}')
        return [made] if len(types) == 1 else [f"{made}#{place}" for place in range(len(types))]

    def emit(
        self,
        name: str,
        operands: Sequence[Value | None],
        results: Sequence[Value],
        attributes: Mapping[str, Any] | None = None,
        regions: Sequence[str] = (),
        origin: str = "",
    ) -> None:
        """An operation of values of the graph."""
        given = [value for value in operands if value is not None]
        made = self.line(
            name,
            [self.values[one] for one in given],
            list(map(type_of, given)),
            list(map(type_of, results)),
            attributes,
            regions,
            origin,
        )
        self.values.update(zip(results, made, strict=True))

    def node(self, node: Node) -> None:
        try:
            self._node(node)
        except Unsupported as error:
            if error.node == "size":  # whoever computes with sizes doesn't know for whom
                raise Unsupported(node, error.reason) from None
            raise

    def _node(self, node: Node) -> None:
        dynamic, special = DYNAMIC.get(node.op_type), SPECIAL.get(node.op_type)
        if dynamic is not None and dynamic(self, node):
            return
        if special is not None:
            special(self, node)
            return
        said = operations.in_stablehlo(node)
        if said is None:
            raise operations.refuse(node, "such operation")
        for attribute, stated in node.attributes.items():
            if isinstance(stated, tuple | list) and any(isinstance(item, OpenSize) for item in stated):
                raise Unsupported(node, f"{attribute}={stated} has an open size, and StableHLO takes numbers only")
        name, attributes = said
        regions = [self.region(node.regions[one]) for one in operations.REGIONS.get(name, ())]
        self.emit(dialect_name(name), node.inputs, node.outputs, attributes, regions, node.origin)

    def region(self, graph: Graph, given: Mapping[Value, str] | None = None) -> str:
        """A graph as a region: with arguments of its own, or with values that it is handed."""
        inner = Block(self.writer, self)
        if given is None:
            arguments = [f"{inner.argument(value)}: {type_of(value)}" for value in graph.inputs]
        else:
            arguments = []
            inner.values.update(given)
        inner.write(graph, "stablehlo.return")
        body = "\n".join(inner.lines)
        return f"{{\n^bb0({', '.join(arguments)}):\n{body}\n}}" if arguments else f"{{\n{body}\n}}"


def dialect_name(name: str) -> str:
    return name if name.startswith("chlo.") else f"stablehlo.{name}"


# operations that aren't one row ------------------------------------------------------------------------


def _copy(block: Block, node: Node) -> None:
    """Values have no places here that one could be copied to."""
    for value, made in zip(node.inputs, node.outputs, strict=True):
        assert value is not None
        block.values[made] = block.values[value]


def _call(block: Block, node: Node) -> None:
    attributes = {"callee": block.writer.called[node.attributes["computation"]]}
    block.emit("func.call", node.inputs, node.outputs, attributes, origin=node.origin)


def _while(block: Block, node: Node) -> None:
    regions = [block.region(node.regions[name]) for name in ("condition", "body")]
    block.emit("stablehlo.while", node.inputs, node.outputs, {}, regions, node.origin)


def _conditional(block: Block, node: Node) -> None:
    chooser, *rest = node.inputs
    assert chooser is not None
    regions: list[str] = []
    for index in range(len(node.regions)):
        graph = node.regions[f"branch_{index}"]
        handed, rest = rest[: len(graph.inputs)], rest[len(graph.inputs) :]
        given = {inner: block.values[value] for inner, value in zip(graph.inputs, handed, strict=True) if value}
        regions.append(block.region(graph, given))
    if chooser.tensor.dtype is not None and not chooser.tensor.dtype.is_integer:
        name, regions = "stablehlo.if", regions[::-1]  # branch 0 is what false takes
    else:
        name = "stablehlo.case"
    block.emit(name, [chooser], node.outputs, {}, regions, node.origin)


def _rng(block: Block, node: Node) -> None:
    """The sizes of the result are an operand."""
    sizes = dims_of(node.output.tensor.shape)
    assert sizes is not None
    given = [value for value in node.inputs if value is not None]
    names = [*(block.values[value] for value in given), block.sizes.vector(sizes)]
    types = [*map(type_of, given), vector_type(len(sizes))]
    attributes = operations.OPERATIONS["rng"].write(node)
    made = block.line("stablehlo.rng", names, types, [type_of(node.output)], attributes, origin=node.origin)
    block.values[node.output] = made[0]


def _custom_call(block: Block, node: Node) -> None:
    """What CHLO has and HLO calls by name is an operation again."""
    target = node.attributes["custom_call_target"]
    if target.startswith("chlo."):
        block.emit(target, node.inputs, node.outputs, {}, origin=node.origin)
    else:
        block.emit("stablehlo.custom_call", node.inputs, node.outputs, write_call(node), origin=node.origin)


def _dynamic_reshape(block: Block, node: Node) -> None:
    """The sizes are one vector."""
    x, *sizes = (value for value in node.inputs if value is not None)
    parts: list[str] = []
    for size in sizes:
        one = spelling.spelled_type(TensorType(size.tensor.dtype, (1,)))
        parts += block.line("stablehlo.reshape", [block.values[size]], [type_of(size)], [one])
    one, whole = (spelling.spelled_type(TensorType(sizes[0].tensor.dtype, (n,))) for n in (1, len(sizes)))
    (vector,) = block.line("stablehlo.concatenate", parts, [one] * len(parts), [whole], {"dimension": 0})
    made = block.line(
        "stablehlo.dynamic_reshape",
        [block.values[x], vector],
        [type_of(x), whole],
        [type_of(node.output)],
        origin=node.origin,
    )
    block.values[node.output] = made[0]


SPECIAL: Mapping[str, Callable[[Block, Node], None]] = {
    "call": _call,
    "conditional": _conditional,
    "copy": _copy,
    "custom-call": _custom_call,
    "dynamic-reshape": _dynamic_reshape,
    "fusion": _call,
    "rng": _rng,
    "size": write_size,
    "while": _while,
}
