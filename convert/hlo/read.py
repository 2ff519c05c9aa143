"""HLO text -> Graph of dialect "hlo" (see `dialect.py`): tuples become their leaves, applied computations regions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...passes.errors import InvalidModel
from ...passes.garbage import bulk
from ...passes.graph import Graph, Node, Value
from ...passes.limits import DEEPEST, allow_calls
from ...passes.names import Names
from ...passes.node import ORIGIN
from ...passes.tensor import TensorData
from ...passes.types import DType, TensorType, Type
from ...runtime.oracles.hlo_names import input_names, output_names, unescape
from .dialect import CALLED, DOMAIN, META, Form, Origin
from .infer import NOT_OF_HLO, infer_node
from .infer_tools import fits
from .items import Item, element, error_at, finished, is_done, is_start, leaves, started, type_of, usable
from .text import parse
from .text.tree import ArrayShape, Computation, HloShape, Instruction, Module, Operand, Raw, TokenShape, TupleShape

_RIDING = frozenset(
    [
        "backend_config",
        "control-predecessors",
        "frontend_attributes",
        "metadata",
        "origin",
        "parameter_replication",
        "result_accuracy",
        "sharding",
        "statistics",
    ]
)
"""Attributes that any instruction may have and that change nothing of what it computes."""

_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
"""What XLA's metadata says an instruction was made of."""

_REGIONS = ("to_apply", "select", "scatter", "condition", "body")
_CALLS = ("calls", "to_apply")
CALLING = frozenset(["call", "fusion"])
_ROOM, _TIMES = 100_000, 20
"""A model may have so many nodes more, and so many times as many, as its text has instructions: a computation is read
anew for each instruction that applies it, and a small text can say very many of those."""


def read(path: Path) -> Graph:
    """The model in `path`.

    Raises:
        InvalidModel: the file can't be read, isn't HLO text, or contradicts itself.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise InvalidModel(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidModel(f"{path}: it isn't text") from None
    try:
        return from_text(text)
    except InvalidModel as error:
        raise InvalidModel(f"{path}: {error}") from None


def from_text(text: str) -> Graph:
    """The model in a text.

    Raises:
        InvalidModel: it isn't HLO, or contradicts itself; line and column are in the message.
    """
    with bulk():
        return _Reader(parse(text)).read()


@dataclass(slots=True)
class _Reader:
    module: Module
    computations: dict[str, Computation] = field(default_factory=dict)
    functions: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    open: list[str] = field(default_factory=list)  # computations being read, from the outside in
    nodes: int = 0
    most: int = 0

    def read(self) -> Graph:
        self.most = _ROOM + _TIMES * sum(len(one.instructions) for one in self.module.computations)
        for computation in self.module.computations:
            if computation.name in self.computations:
                raise error_at(computation, f"there are two computations {computation.name!r}")
            self.computations[computation.name] = computation
        entry = self.computations[self.module.entry]
        graph = self.graph(entry, root=True)
        graph.name = self.module.name or entry.name
        graph.functions = self.functions
        graph.meta[META].attributes = dict(self.module.attributes)
        return graph

    def graph(self, computation: Computation, root: bool = False) -> Graph:
        """A graph of a computation, anew for each instruction that applies it."""
        if computation.name in self.open:
            raise error_at(computation, f"computation {computation.name!r} calls itself")
        if len(self.open) > DEEPEST:
            raise error_at(computation, f"computations are nested more than {DEEPEST} deep")
        self.open.append(computation.name)
        allow_calls(len(self.open))
        try:
            return _GraphReader(self, computation, root).read()
        finally:
            self.open.pop()

    def named(self, where: Instruction, name: Any) -> Computation:
        found = self.computations.get(name) if isinstance(name, str) else None
        if found is None:
            raise error_at(where, f"there is no computation {name!r}")
        return found

    def function(self, where: Instruction, name: Any) -> Graph:
        computation = self.named(where, name)
        key = (DOMAIN, computation.name, "")
        if key not in self.functions:
            self.functions[key] = self.graph(computation)
        return self.functions[key]

    def fresh(self, name: str) -> str:
        """`name`, or another like it where it is taken: HLO's names are unique in a computation only."""
        return self.names.fresh(name)


@dataclass(slots=True)
class _GraphReader:
    """One computation."""

    reader: _Reader
    computation: Computation
    root: bool
    graph: Graph = field(default_factory=lambda: Graph(DOMAIN))
    items: dict[str, Item] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)

    def read(self) -> Graph:
        computation, graph = self.computation, self.graph
        graph.name = computation.name
        parameters = self._parameters()
        form = Form(computation.name, tuple(_shape(one) for one in parameters))
        for one in computation.instructions:
            if one.name in self.items and one.opcode != "parameter":
                raise error_at(one, f"there are two instructions {one.name!r}")
            if one.opcode != "parameter":
                self.items[one.name] = self._item(one)
        result = self.items[computation.instructions[computation.root].name]
        form.result = result.shape
        graph.outputs = usable(computation.instructions[computation.root], result)
        graph.meta[META] = form
        graph.add_nodes(self.nodes)
        if self.root:
            self._name_interface(parameters, form)
        return graph

    def _parameters(self) -> list[Instruction]:
        found = [one for one in self.computation.instructions if one.opcode == "parameter"]
        found.sort(key=lambda one: one.number)
        for position, one in enumerate(found):
            if one.number != position:
                what = "there are two parameters" if one.number < position else "there is no parameter"
                raise error_at(one, f"{what} {min(position, one.number)}")
            if one.name in self.items:
                raise error_at(one, f"there are two instructions {one.name!r}")
            shape = _shape(one)
            values = [self.graph.add_input(self._leaf_name(one, shape, index), type) for index, type in _types(shape)]
            for value in values:
                value.meta = {META: _origin(one)}
            self.items[one.name] = Item(shape, list(values))
        return found

    def _name_interface(self, parameters: Sequence[Instruction], form: Form) -> None:
        """The names that users see, for the inputs and outputs of the model."""
        header = self.reader.module.attributes.get("frontend_attributes", Raw("")).text
        counts = [
            (one.name, sum(isinstance(leaf, ArrayShape) for leaf in leaves(shape)))
            for one, shape in zip(parameters, form.parameters or (), strict=True)
        ]
        inputs = [value for value in self.graph.inputs if value.type is not None]
        outputs = [value for value in self.graph.outputs if value.type is not None]
        taken, results = input_names(counts, header), output_names(len(outputs), header)
        others = {*taken, *results}
        for inner in self.graph.graphs():
            for value in inner.values():
                if value.name in others:
                    value.name = self.reader.fresh(value.name)
        for value, name in zip(inputs, taken, strict=True):
            value.name = name
        form.outputs = tuple(results)

    def _leaf_name(self, one: Instruction, shape: HloShape, index: int) -> str:
        return self.reader.fresh(f"{one.name}.{index}" if isinstance(shape, TupleShape) else one.name)

    # instructions ------------------------------------------------------------------------------------

    def _item(self, one: Instruction) -> Item:
        if one.opcode == "constant":
            return self._constant(one)
        operands = [self._operand(one, operand) for operand in one.operands]
        if one.opcode == "tuple":
            return Item(
                TupleShape(tuple(item.shape for item in operands)), [v for item in operands for v in item.values]
            )
        if one.opcode == "get-tuple-element":
            index = one.attributes.get("index")
            if len(operands) != 1 or not isinstance(index, int):
                raise error_at(one, "it needs one operand and an index")
            return element(one, operands[0], (index,))
        if is_done(one.opcode):
            return finished(one, operands)
        if is_start(one.opcode):
            return started(one, operands, self._node)
        return self._node(one, operands)

    def _operand(self, one: Instruction, operand: Operand) -> Item:
        item = self.items.get(operand.name)
        if item is None:
            raise error_at(one, f"there is no instruction {operand.name!r} before this one")
        return element(one, item, operand.path) if operand.path else item

    def _constant(self, one: Instruction) -> Item:
        shape = _shape(one)
        values: list[Value | None] = []
        found = list(_literals(one.literal))
        if len(found) != len(leaves(shape)):
            raise error_at(one, "the constant has another shape than its value")
        for index, data in enumerate(found):
            value = self.graph.add_constant(data, self._leaf_name(one, shape, index))
            value.meta = {META: _origin(one)}
            values.append(value)
        return Item(shape, values)

    def _node(self, one: Instruction, operands: list[Item], result: HloShape | None = None) -> Item:
        """The node of an instruction; `result` is its shape where that isn't the instruction's own."""
        self.reader.nodes += 1
        if self.reader.nodes > self.reader.most:
            raise error_at(one, f"written out, the model has more than {self.reader.most} instructions")
        node = Node(DOMAIN, one.opcode, 0, one.name)
        origin = _origin(one)
        node.meta = {META: origin}
        named = _OP_NAME.search(origin.attributes["metadata"].text) if "metadata" in origin.attributes else None
        if named:
            node.meta[ORIGIN] = unescape(named[1])
        node.attributes = {name: value for name, value in one.attributes.items() if name not in _RIDING}
        node.inputs = [value for item in operands for value in usable(one, item)]
        given: Sequence[Type | None] | None = None
        if one.opcode in CALLING:
            given = self._call(one, node)
        elif one.opcode == "conditional":
            self._branches(one, node, operands)
        else:
            for name in _REGIONS:
                if isinstance(node.attributes.get(name), str):
                    node.regions[name] = self._region(one, node.attributes.pop(name))
            for index, name in enumerate(node.attributes.pop(CALLED, ())):
                node.regions[f"{CALLED}_{index}"] = self._region(one, name)
        shape = result or one.shape
        if shape is not None:
            node.outputs = self._results(one, shape, node)  # what is stated is what inference can't tell
        found = _inferred(one, node) if given is None else given
        if shape is None:
            parts = tuple(_shape_of(type) for type in found)
            shape = parts[0] if len(parts) == 1 else TupleShape(parts)
            node.outputs = self._results(one, shape, node)
        origin.shape = shape
        if one.opcode == "bitcast" or any(isinstance(item.shape, TupleShape) for item in operands):
            origin.operands = tuple(item.shape for item in operands)
        if len(found) != len(node.outputs):
            raise error_at(one, f"it declares {len(node.outputs)} results, its operands give {len(found)}")
        for value, type in zip(node.outputs, found, strict=False):
            if not fits(value.type, type):
                raise error_at(one, f"it is declared as {value.type}, its operands give {type}")
        self.nodes.append(node)
        return Item(shape, list(node.outputs))

    def _results(self, one: Instruction, shape: HloShape, node: Node) -> list[Value]:
        return [Value(self._leaf_name(one, shape, index), type, node, index) for index, type in _types(shape)]

    def _region(self, one: Instruction, name: Any) -> Graph:
        return self.reader.graph(self.reader.named(one, name))

    def _call(self, one: Instruction, node: Node) -> Sequence[Type | None]:
        """The types of what is called."""
        name = next((node.attributes.pop(key) for key in _CALLS if isinstance(node.attributes.get(key), str)), None)
        function = self.reader.function(one, name)
        node.attributes["computation"] = name
        _same_types(one, f"computation {name!r}", function.inputs, node.inputs)
        return [value.type for value in function.outputs]

    def _branches(self, one: Instruction, node: Node, operands: list[Item]) -> None:
        attributes = node.attributes
        pair = [attributes.pop(name, None) for name in ("true_computation", "false_computation")]
        names = attributes.pop("branch_computations", None) or pair
        names = [names] if isinstance(names, str) else list(names)
        if len(operands) != len(names) + 1 or not operands[0].values:
            raise error_at(one, f"it has {len(names)} branches and {len(operands)} operands")
        branches = [(self._region(one, name), item) for name, item in zip(names, operands[1:], strict=True)]
        chooser = usable(one, operands[0])[0]
        if chooser.tensor.dtype is DType.BOOL:
            if len(branches) != 2:
                raise error_at(one, f"a pred chooses between two branches, not {len(branches)}")
            branches.reverse()  # the first is what true takes
        node.inputs = [chooser]
        for index, (region, item) in enumerate(branches):
            values = usable(one, item)
            _same_types(one, f"branch {index}", region.inputs, values)
            node.inputs += values
            node.regions[f"branch_{index}"] = region


def _origin(one: Instruction) -> Origin:
    riding = {name: value for name, value in one.attributes.items() if name in _RIDING and isinstance(value, Raw)}
    return Origin(one.name, riding, one.shape)


def _shape(one: Instruction) -> HloShape:
    if one.shape is None:
        raise error_at(one, f"the {one.opcode} has no shape")
    return one.shape


def _types(shape: HloShape) -> list[tuple[int, Type | None]]:
    return list(enumerate(type_of(leaf) for leaf in leaves(shape)))


def _inferred(one: Instruction, node: Node) -> Sequence[Type | None]:
    if one.opcode in NOT_OF_HLO:
        raise error_at(one, f"there is no opcode {one.opcode}")
    try:
        return infer_node(node)
    except InvalidModel as error:
        raise error_at(one, str(error)) from None


def _shape_of(type: Type | None) -> HloShape:
    if not isinstance(type, TensorType):
        return TokenShape()
    if type.dtype is None or type.shape is None:
        raise InvalidModel("an instruction without a shape")
    return ArrayShape(type.dtype, type.shape)


def _literals(literal: Any) -> list[TensorData]:
    if isinstance(literal, tuple):
        return [data for part in literal for data in _literals(part)]
    return [literal]


def _same_types(one: Instruction, what: str, wanted: Sequence[Value], found: Sequence[Value | None]) -> None:
    if len(wanted) != len(found):
        raise error_at(one, f"{what} takes {len(wanted)} values and gets {len(found)}")
    for number, (into, value) in enumerate(zip(wanted, found, strict=True)):
        if value is None or into.type != value.type:
            raise error_at(one, f"{what} takes {into.type} at {number} and gets {value and value.type}")
