"""Graph of dialect "hlo" -> HLO text: regions and functions become computations, leaves the tuples that HLO wants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...passes.certain_size import check_text
from ...passes.errors import Unsupported
from ...passes.graph import Graph, Node, Value
from ...passes.outputs import writing
from ...passes.types import DType, TensorType, Type
from ...runtime.oracles.hlo_names import INPUTS, OUTPUTS, input_names, name_attribute, output_names
from .dialect import CALLED, NAMES, Form, form_of, origin_of, result_names
from .items import leaves, parted, type_of
from .text import print_module
from .text.dtypes import WORDS
from .text.lexer import quoted
from .text.shapes import size_fault
from .text.tree import ArrayShape, Computation, HloShape, Instruction, Module, Operand, Raw, TokenShape, TupleShape

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_.-]")
_TIMES = 25
"""Memory that constants take while they are written, by their bytes: every element is a word."""
_OF_TUPLES = frozenset(["add-dependency", "copy", "domain", "opt-barrier"])
_LAYOUT = "entry_computation_layout"
_METADATA = "metadata"
_FRONTEND = "frontend_attributes"


def write(graph: Graph, path: Path) -> None:
    """Write a graph as HLO text.

    Raises:
        InvalidModel: the file can't be written.
        Unsupported: a value has a type that HLO can't express.
        TooLarge: the constants are, for a text.
    """
    check_text(graph, _TIMES)
    text = to_text(graph)
    with writing(path):
        Path(path).write_text(text, encoding="utf-8")


def to_text(graph: Graph) -> str:
    """A graph of dialect "hlo" as text, the entry computation last."""
    return print_module(to_module(graph))


def to_module(graph: Graph) -> Module:
    """The syntax tree of a graph of dialect "hlo"."""
    writer = _Writer()
    for (_, name, _), function in graph.functions.items():
        writer.functions[name] = writer.names.fresh(name)
        writer.bodies[name] = function
    for name, function in writer.bodies.items():
        writer.computation(function, writer.functions[name])
    form = form_of(graph)
    entry = writer.computation(graph, writer.names.fresh(form.name or "main"))
    attributes = dict(form.attributes)
    if not _as_read(graph):
        attributes.pop(_LAYOUT, None)
    _add_names(graph, attributes, writer.computations[-1])
    return Module(_clean(graph.name or "main"), writer.computations, entry, attributes)


def _add_names(graph: Graph, attributes: dict[str, Raw], entry: Computation) -> None:
    """Say in the header what inputs and outputs are called, unless a reader finds just that without it."""
    found = sorted((one for one in entry.instructions if one.opcode == "parameter"), key=lambda one: one.number)
    parameters = [(one.name, len(leaves(one.shape))) for one in found if one.shape is not None]
    inputs, outputs = [value.name for value in graph.inputs], result_names(graph)
    text = attributes.get(_FRONTEND, Raw("{}")).text
    if input_names(parameters, text) == inputs and output_names(len(outputs), text) == outputs:
        return
    for key, names in ((INPUTS, inputs), (OUTPUTS, outputs)):
        text = re.sub(rf'\s*\b{key}\s*=\s*"(?:[^"\\]|\\.)*"\s*,?', "", text)
        inner = text.strip()[1:-1].strip().rstrip(",")
        text = f"{{{inner}{',' if inner else ''}{name_attribute(key, names)}}}"
    attributes[_FRONTEND] = Raw(text)


def _as_read(graph: Graph) -> bool:
    """Whether the interface of a graph is still that of its file."""
    form = form_of(graph)
    return (
        form.parameters is not None
        and form.result is not None
        and _fits(TupleShape(form.parameters), graph.inputs)
        and _fits(form.result, graph.outputs)
    )


def _fits(shape: HloShape | None, values: Sequence[Value]) -> bool:
    return shape is not None and [type_of(leaf) for leaf in leaves(shape)] == [value.type for value in values]


class _Names:
    """Names that HLO takes, each once."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def fresh(self, wanted: str) -> str:
        name = _clean(wanted)
        while name in self._counts:
            self._counts[name] += 1
            name = f"{_clean(wanted)}.{self._counts[name]}"
        self._counts[name] = 0
        return name


def _clean(name: str) -> str:
    """A name that XLA takes: it begins with a letter or one `_`, and is no word of the language."""
    name = _FORBIDDEN.sub("_", name)
    if name.startswith("__"):  # XLA keeps these for itself
        name = f"v{name}"
    return name if name and (name[0].isalpha() or name[0] == "_") and name not in WORDS else f"_{name}"


def shape_of(value: Value) -> HloShape:
    """The shape of a value.

    Raises:
        Unsupported: HLO can't express its type.
    """
    return _shape_of(value.type, value.name)


def _shape_of(type: Type | None, name: str) -> HloShape:
    if type is None:
        return TokenShape()
    where = f"value {name!r}"
    if not isinstance(type, TensorType) or type.dtype is None or type.shape is None:
        raise Unsupported(where, f"HLO can't express the type {type}")
    if type.dtype not in NAMES:
        raise Unsupported(where, f"HLO has no element type {type.dtype.value}")
    if any(isinstance(dim, str) or dim is None for dim in type.shape):
        raise Unsupported(where, f"HLO needs static sizes, not {type}; give them with --shape")
    if fault := size_fault(type.dtype, type.shape):
        raise Unsupported(where, fault)
    return ArrayShape(type.dtype, type.shape)


def _tupled(values: Sequence[Value]) -> HloShape:
    shapes = tuple(shape_of(value) for value in values)
    return shapes[0] if len(shapes) == 1 else TupleShape(shapes)


@dataclass(slots=True)
class _Writer:
    computations: list[Computation] = field(default_factory=list)
    names: _Names = field(default_factory=_Names)
    functions: dict[str, str] = field(default_factory=dict)  # the name in the graph -> the name in the text
    bodies: dict[str, Graph] = field(default_factory=dict)

    def computation(
        self, graph: Graph, name: str, parameters: Sequence[HloShape] | None = None, result: HloShape | None = None
    ) -> str:
        """Write a graph as a computation; its name. Shapes that are left out are those of its file, else plain."""
        form = form_of(graph)
        if parameters is None:
            parameters = form.parameters
            if parameters is None or not _fits(TupleShape(tuple(parameters)), graph.inputs):
                parameters = [shape_of(value) for value in graph.inputs]
        if result is None:
            result = (
                form.result if form.result is not None and _fits(form.result, graph.outputs) else _tupled(graph.outputs)
            )
        made = _ComputationWriter(self, Computation(name))
        made.write(graph, parameters, result)
        self.computations.append(made.made)
        return name


@dataclass(slots=True)
class _ComputationWriter:
    writer: _Writer
    made: Computation
    names: _Names = field(default_factory=_Names)
    where: dict[Value, str] = field(default_factory=dict)
    indices: dict[str, int] = field(default_factory=dict)  # name -> index in `made.instructions`

    def write(self, graph: Graph, parameters: Sequence[HloShape], result: HloShape) -> None:
        for number, (shape, mine) in enumerate(parted(parameters, graph.inputs)):
            name = origin_of(mine[0]).name if mine else ""
            one = self.add(name or (mine[0].name if len(mine) == 1 else "arguments"), shape, "parameter")
            one.number = number
            if mine:
                self.carry(one, mine[0])
            self.unpack(one, shape, mine)
        for value in graph.constants:
            if value.data is not None and value not in self.where:
                origin = origin_of(value)
                shape = origin.shape if origin.shape is not None and _fits(origin.shape, [value]) else shape_of(value)
                one = self.add(origin.name or value.name or "constant", shape, "constant")
                one.literal = value.data
                self.carry(one, value)
                self.where[value] = one.name
        for node in graph.topological():
            self.node(node)
        self.made.root = self.indices[self.tuple(result, graph.outputs, root=True)]

    def add(self, name: str, shape: HloShape | None, opcode: str, operands: Iterable[Operand] = ()) -> Instruction:
        one = Instruction(self.names.fresh(name), shape, opcode, list(operands))
        self.indices[one.name] = len(self.made.instructions)
        self.made.instructions.append(one)
        return one

    @staticmethod
    def carry(one: Instruction, owner: Node | Value) -> None:
        """What only HLO knows of an instruction."""
        one.attributes.update(origin_of(owner).attributes)

    def unpack(self, one: Instruction, shape: HloShape, values: Sequence[Value]) -> None:
        """Let `values` be the leaves of an instruction."""
        if not isinstance(shape, TupleShape):
            self.where[values[0]] = one.name
            return
        for index, (part, mine) in enumerate(parted(shape.elements, values)):
            element = self.add(f"{one.name}.{index}", part, "get-tuple-element", [Operand(one.name)])
            element.attributes["index"] = index
            self.unpack(element, part, mine)

    def tuple(self, shape: HloShape, values: Sequence[Value], root: bool = False) -> str:
        """The name of an instruction whose leaves are `values`."""
        if not isinstance(shape, TupleShape):
            return self.where[values[0]]
        operands = [Operand(self.tuple(part, mine)) for part, mine in parted(shape.elements, values)]
        return self.add("result" if root else "tuple", shape, "tuple", operands).name

    # operations --------------------------------------------------------------------------------------

    def node(self, node: Node) -> None:
        values = [value for value in node.inputs if value is not None]
        form = form_of(node.regions["body"]) if "body" in node.regions else Form()
        if node.op_type == "while":
            state = form.parameters[0] if form.parameters and len(form.parameters) == 1 else None
            if state is None or not _fits(state, values):
                state = _tupled(values)
            operands = [Operand(self.tuple(state, values))]
            regions = {
                "condition": self.region(node.regions["condition"], node, "condition", [state]),
                "body": self.region(node.regions["body"], node, "body", [state], state),
            }
            shape: HloShape = state
        elif node.op_type == "conditional":
            operands, regions, shape = self.conditional(node, values)
        else:
            operands = self.operands(node, values)
            regions = {name: self.region(region, node, name) for name, region in node.regions.items()}
            shape = self.result(node)
        one = self.add(origin_of(node).name or node.name or node.op_type, shape, node.op_type, operands)
        one.attributes = {name: value for name, value in node.attributes.items() if name != "computation"}
        if "computation" in node.attributes:
            key = "calls" if node.op_type == "fusion" else "to_apply"
            one.attributes[key] = self.writer.functions[node.attributes["computation"]]
        one.attributes.update((name, value) for name, value in regions.items() if not name.startswith(CALLED))
        called = tuple(value for name, value in regions.items() if name.startswith(CALLED))
        if called:
            one.attributes[CALLED] = called
        self.carry(one, node)
        if node.origin != one.name:  # instructions are named after their operations
            one.attributes.setdefault(_METADATA, Raw(f"{{op_name={quoted(node.origin)}}}"))
        self.unpack(one, shape, node.outputs)

    def operands(self, node: Node, values: Sequence[Value]) -> list[Operand]:
        """The operands of a node, as tuples where its file has them, or where HLO wants one."""
        shapes = origin_of(node).operands
        if not shapes or not _fits(TupleShape(shapes), values):
            if node.op_type not in _OF_TUPLES:
                return [Operand(self.where[value]) for value in values]
            whole = _tupled(values[: len(node.outputs)])
            shapes = (whole, *map(shape_of, values[len(node.outputs) :]))
        return [Operand(self.tuple(shape, mine)) for shape, mine in parted(shapes, values)]

    def region(
        self,
        region: Graph,
        node: Node,
        what: str,
        parameters: Sequence[HloShape] | None = None,
        result: HloShape | None = None,
    ) -> str:
        name = form_of(region).name or f"{node.name or node.op_type}.{what}"
        return self.writer.computation(region, self.writer.names.fresh(name), parameters, result)

    def conditional(self, node: Node, values: Sequence[Value]) -> tuple[list[Operand], dict[str, object], HloShape]:
        shape = self.result(node)
        operands = [Operand(self.where[values[0]])]
        rest = list(values[1:])
        names: list[str] = []
        for index in range(len(node.regions)):
            region = node.regions[f"branch_{index}"]
            form = form_of(region)
            count = len(region.inputs)
            mine, rest = rest[:count], rest[count:]
            taken = form.parameters[0] if form.parameters and len(form.parameters) == 1 else None
            if taken is None or not _fits(taken, mine):
                taken = _tupled(mine)
            operands.append(Operand(self.tuple(taken, mine)))
            names.append(self.region(region, node, f"branch_{index}", [taken], shape))
        if values[0].tensor.dtype is DType.BOOL:
            return (
                [operands[0], operands[2], operands[1]],
                {"true_computation": names[1], "false_computation": names[0]},
                shape,
            )
        return operands, {"branch_computations": tuple(names)}, shape

    @staticmethod
    def result(node: Node) -> HloShape:
        """The shape of a node's result, as its file said it where that still holds."""
        shape = origin_of(node).shape
        return shape if shape is not None and _fits(shape, node.outputs) else _tupled(node.outputs)
