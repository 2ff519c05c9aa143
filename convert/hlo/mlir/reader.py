"""The description of a StableHLO module (see `mlir_module.py`) -> Graph of dialect "hlo".

Regions of StableHLO see the values around them; in the graph a while's and a conditional's regions are handed what they
use, and the regions of other operations may only use constants. Where a module has open sizes, every dimension gets
the size that it has as a function of the inputs' (`passes/sizes.py`), and an integer that is such a size is a node
"size", which needs no operand and may stand in any region.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.garbage import bulk
from ....passes.graph import NOTES, Graph, Node, Value
from ....passes.limits import DEEPEST, MOST_NODES
from ....passes.names import Names
from ....passes.node import ORIGIN
from ....passes.sizes import OpenSize, Size, computed, is_at_most, open_size, size_of
from ....passes.tensor import TensorData
from ....passes.types import Dim, DType, TensorType, Type
from ....runtime.oracles.hlo_names import unescape
from ....runtime.oracles.mlir_module import main_of, names_of
from ..dialect import DOMAIN, META, Form
from ..infer_open import AT_LEAST_ONE, shapes
from ..text.tree import Raw
from . import integers, operations
from .control_flow import branches, while_loop
from .description import DEVICES, computed_scalar, data_of, has_open_sizes, ordered_effects, type_of
from .integers import Known
from .scope import Scope, present
from .special import SPECIAL, Operation

_ASSERTED = "shape_assertion"
_GLOBAL = "jax.global_constant"


def from_description(description: dict[str, Any], constants: memoryview) -> Graph:
    """The graph of a module's description.

    Args:
        constants: the bytes that it has places of.

    Raises:
        InvalidModel: the module has no function to start with, or calls itself.
        Unsupported: an operation that isn't known, or a size that doesn't follow from the inputs' sizes.
    """
    with bulk():
        return Reader(description, constants).read()


@dataclass(slots=True)
class Reader:
    description: dict[str, Any]
    constants: memoryview
    functions: dict[tuple[str, str, str], Graph] = field(default_factory=dict)
    known: dict[Value, Known] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    open: list[str] = field(default_factory=list)  # functions being read
    notes: dict[str, None] = field(default_factory=dict)
    floored: dict[str, bool] = field(default_factory=dict)
    count: int = 0
    dynamic: bool = False
    given: int = -1  # numbers for values that the module has none for

    def read(self) -> Graph:
        self.dynamic = has_open_sizes(self.description["functions"])
        main = main_of(self.description)
        scope = Scope(Graph(DOMAIN, self.description["name"] or "main"))
        named = self._named_sizes(main)
        block = main["block"]
        inputs, outputs = names_of(self.description)
        for name in (*inputs, *outputs):
            self.names.claim(name, root=True)
        for place, ((number, type), input_name) in enumerate(zip(block["arguments"], inputs, strict=True)):
            found = type_of(type)
            if found is None:
                raise Unsupported("main", f"a token is one of its inputs{ordered_effects(self.description)}")
            dims: list[Dim] = []
            for axis, dim in enumerate(found.shape or ()):
                if dim is None and (place, axis) not in named:
                    named[place, axis] = _new_symbol(f"{input_name}_{axis}", named.values())
                dims.append(named[place, axis] if dim is None else dim)
            value = scope.graph.add_input(input_name, TensorType(found.dtype, tuple(dims)))
            scope.values[number] = value
        settled = [self._settled(scope, *described) for described in main["settled"]]
        scope.graph.outputs = self.block(scope, block["operations"])
        graph = scope.graph
        for value, data in settled:
            graph.settle_input(value, data, named=True)
        graph.functions = self.functions
        if self.dynamic and named:
            self.notes[AT_LEAST_ONE] = None
        form = Form("main", outputs=tuple(outputs))
        form.attributes = self._header()
        form.settled = frozenset(value.name for value, _ in settled)
        graph.meta[META] = form
        if self.notes:
            graph.meta[NOTES] = list(self.notes)
        return graph

    def _settled(
        self, scope: Scope, name: str, number: int, type: Any, stored: Sequence[Any]
    ) -> tuple[Value, TensorData]:
        """An input with a value, which is an input while the module is read: loops are handed it, and don't copy it."""
        found = type_of(type)
        assert found is not None and found.dtype is not None and found.static_shape is not None
        self.names.claim(name, root=True)
        value = scope.values[number] = scope.graph.add_input(name, found)
        start, length = stored
        return value, data_of(self.constants[start : start + length], found.dtype, found.static_shape)

    def _header(self) -> dict[str, Raw]:
        """What HLO's header says of devices."""
        attributes = self.description["attributes"]
        return {hlo: Raw(str(attributes[name])) for name, hlo in DEVICES.items() if attributes.get(name, 1) != 1}

    def _named_sizes(self, main: Mapping[str, Any]) -> dict[tuple[int, int], str]:
        """The symbols of jax.export: (input, axis) -> name, as the functions that main calls call them."""
        places = {number: place for place, (number, _) in enumerate(main["block"]["arguments"])}
        sizes: dict[int, tuple[int, int]] = {}
        pairs: dict[int, tuple[tuple[int, int], tuple[int, int]]] = {}
        same: list[tuple[tuple[int, int], tuple[int, int]]] = []
        found: dict[tuple[int, int], str] = {}
        for name, operands, attributes, results, _, _ in main["block"]["operations"]:
            if name == "stablehlo.get_dimension_size" and operands[0] in places:
                sizes[results[0][0]] = (places[operands[0]], attributes["dimension"])
            elif name == "stablehlo.convert" and operands[0] in sizes:  # with 64-bit types on
                sizes[results[0][0]] = sizes[operands[0]]
            elif name == "stablehlo.compare" and attributes["comparison_direction"] == "EQ":
                if operands[0] in sizes and operands[1] in sizes:
                    pairs[results[0][0]] = sizes[operands[0]], sizes[operands[1]]
            elif name == "stablehlo.custom_call" and attributes.get("call_target_name") == _ASSERTED:
                same += [pairs[operands[0]]] if operands[0] in pairs else []
            elif name == "func.call":
                callee = self.description["functions"].get(attributes["callee"], {"arguments": []})
                for operand, of_argument in zip(operands, callee["arguments"], strict=False):
                    if _GLOBAL in of_argument and operand in sizes:
                        found.setdefault(sizes[operand], of_argument[_GLOBAL])
        for _ in same:
            for one, other in same:
                name = found.get(one) or found.get(other)
                if name is not None:
                    found[one] = found[other] = name
        return found

    # blocks ------------------------------------------------------------------------------------------

    def block(self, scope: Scope, described: Sequence[Any]) -> list[Value]:
        """Read the operations of a block; the values that it returns."""
        for operation in described:
            name = operation[0]
            if name in ("func.return", "stablehlo.return", "chlo.return"):
                returned = [self.value(scope, number) for number in operation[1]]
                self._finish(scope)
                if any(value is None for value in returned):
                    raise Unsupported(scope.graph.name, "a token is returned")
                return [value for value in returned if value is not None]
            self._operation(scope, Operation(*operation))
        raise InvalidModel(f"{scope.graph.name}: a block without a return")

    def _finish(self, scope: Scope) -> None:
        scope.graph.add_nodes(scope.nodes)
        scope.nodes = []

    def value(self, scope: Scope, number: int) -> Value | None:
        """A value of the module in a scope: handed in where it is one of the scopes around."""
        if number in scope.values:
            value = scope.values[number]
            return value if value is None else self._as_size(scope, value)
        if scope.outer is None:
            raise InvalidModel(f"{scope.graph.name}: value {number} isn't defined")
        outer = self.value(scope.outer, number)
        if outer is None:
            return None
        if outer.data is not None:
            value = scope.graph.add_constant(outer.data, self.names.fresh(outer.name))
        elif outer.producer is not None and outer.producer.op == (DOMAIN, "size"):
            return self._size(scope, str(outer.producer.attributes["size"]), outer.tensor.dtype)
        elif not scope.captures:
            raise Unsupported(scope.graph.name, f"it uses {outer.name!r}, which is computed outside of it")
        else:
            value = scope.graph.add_input(self.names.fresh(outer.name), outer.type)
            scope.captured[number] = value
        if outer in self.known:
            self.known[value] = self.known[outer]
        scope.values[number] = value
        return value

    def _as_size(self, scope: Scope, value: Value) -> Value:
        """A scalar that is a size computed of the inputs' sizes as a node that says so."""
        found = self.known.get(value) if self.dynamic and value.rank == 0 else None
        item: Any = None if found is None else found[()]
        if item is None or isinstance(item, int) or (value.producer and value.producer.op == (DOMAIN, "size")):
            return value
        return self._size(scope, str(open_size(item)), value.tensor.dtype)

    def _size(self, scope: Scope, text: str, dtype: DType | None) -> Value:
        key = f"{text} {dtype}"
        if key not in scope.sizes:
            node = self.node(scope, "size", [], [TensorType(dtype, ())], {"size": OpenSize(text)})
            scope.sizes[key] = node.output
            self.known[node.output] = integers.known(size_of(text), ())
        return scope.sizes[key]

    # operations --------------------------------------------------------------------------------------

    def _operation(self, scope: Scope, one: Operation) -> None:
        if one.name == "stablehlo.constant":
            self._constant(scope, one)
            return
        if one.name == "stablehlo.get_dimension_size" and self._dimension_size(scope, one):
            return
        if one.name == "stablehlo.custom_call" and one.attributes.get("call_target_name") == _ASSERTED:
            self._assertion(scope, one)
            return
        one = _recognized(one)
        if one.name in ("func.call", "stablehlo.composite"):
            results = self._call(scope, one)
        elif one.name in ("stablehlo.while", "stablehlo.case", "stablehlo.if"):
            read = while_loop if one.name == "stablehlo.while" else branches
            results = read(self, scope, one)
        else:
            operands = [self.value(scope, number) for number in one.operands]
            results = self.plain(scope, one, operands)
            self._follow(one, operands, results)
        if len(results) != len(one.results):
            raise Unsupported(one.name, f"it has {len(one.results)} results here, {len(results)} in HLO")
        for (number, _), value in zip(one.results, results, strict=True):
            scope.values[number] = value

    def _constant(self, scope: Scope, one: Operation) -> None:
        ((number, type),) = one.results
        found = type_of(type)
        assert found is not None and found.dtype is not None and found.static_shape is not None
        start, length, *splat = one.attributes["value"]
        shape: tuple[int, ...] = () if splat else found.static_shape
        data = data_of(self.constants[start : start + length], found.dtype, shape)
        value = scope.graph.add_constant(data, self.names.fresh("constant"))
        if splat and found.static_shape:
            value = self.node(scope, "broadcast", [value], [found], {"dimensions": ()}).output
        scope.values[number] = value
        known = integers.of_constant(data) if self.dynamic else None
        if known is not None:
            self.known[value] = np.broadcast_to(known, found.static_shape)

    def _dimension_size(self, scope: Scope, one: Operation) -> bool:
        """get_dimension_size of a dimension whose size follows from the inputs'."""
        operand = self.value(scope, one.operands[0])
        axis: int = one.attributes["dimension"]
        dim = None if operand is None or operand.tensor.shape is None else operand.tensor.shape[axis]
        size = size_of(dim)
        if size is None:
            return False
        ((number, _),) = one.results
        if isinstance(size, int):
            data = TensorData.of(np.array(size, np.int32))
            value = scope.values[number] = scope.graph.add_constant(data, self.names.fresh("size"))
            self.known[value] = integers.known(size, ())
        else:
            scope.values[number] = self._size(scope, str(dim), DType.INT32)
        return True

    def _assertion(self, scope: Scope, one: Operation) -> None:
        """What jax.export demands of sizes: proved away, or told."""
        condition = self.value(scope, one.operands[0])
        found = None if condition is None else self.known.get(condition)
        if found is not None and found.size == 1 and found.reshape(-1)[0] is True:
            return
        message = str(one.attributes.get("error_message", "")).split(". ")[0]
        self.notes[f"sizes aren't checked when the model runs: {' '.join(message.split())[:200]}"] = None

    def node(
        self,
        scope: Scope,
        opcode: str,
        inputs: Sequence[Value | None],
        types: Sequence[Type | None],
        attributes: Mapping[str, Any] | None = None,
        location: str = "",
    ) -> Node:
        self.count += 1
        if self.count > MOST_NODES:
            raise InvalidModel(f"written out, the module has more than {MOST_NODES} operations")
        node = Node(DOMAIN, opcode, 0, self.names.fresh(opcode))
        node.inputs, node.attributes = list(inputs), dict(attributes or {})
        if location:
            node.meta = {ORIGIN: unescape(location)}
        many = len(types) > 1
        node.outputs = [
            Value(self.names.fresh(f"{node.name}.{index}") if many else node.name, type, node, index)
            for index, type in enumerate(types)
        ]
        scope.nodes.append(node)
        return node

    def plain(self, scope: Scope, one: Operation, operands: Sequence[Value | None]) -> list[Value | None]:
        """An operation that is one opcode, or made of some."""
        name = one.name.removeprefix("stablehlo.")
        types = [type_of(type) for _, type in one.results]
        made = SPECIAL.get(name)
        if made is not None:
            return list(made(self, scope, one, operands, types))
        opcode = operations.PLAIN.get(name)
        if opcode is not None:
            return self.made(scope, one, opcode, operands, types, {})
        form = operations.OPERATIONS.get(name) or operations.OLD.get(name)
        if form is None:
            raise Unsupported(one.name, "this operation isn't known")
        tensors = [value.tensor if value is not None else TensorType() for value in operands]
        return self.made(scope, one, form.opcode, operands, types, form.read(one.attributes, tensors))

    def made(
        self,
        scope: Scope,
        one: Operation,
        opcode: str,
        operands: Sequence[Value | None],
        types: Sequence[Type | None],
        attributes: Mapping[str, Any],
    ) -> list[Value | None]:
        node = self.node(scope, opcode, operands, types, attributes, one.location)
        names = operations.REGIONS.get(one.name.removeprefix("stablehlo."), ())
        for region, block in zip(names, one.blocks, strict=False):
            node.regions[region] = self._computation(scope, region, block)
        if self.dynamic:
            self._complete(node)
        return list(node.outputs)

    def _computation(self, scope: Scope, name: str, block: Mapping[str, Any]) -> Graph:
        """A computation that an operation applies: it may use constants of the scopes around it, and sizes."""
        inner = Scope(Graph(DOMAIN, name), scope, captures=False)
        self.arguments(inner, block, None)
        inner.graph.outputs = self.block(inner, block["operations"])
        return inner.graph

    def arguments(self, scope: Scope, block: Mapping[str, Any], types: Sequence[Type | None] | None) -> None:
        for place, (number, type) in enumerate(block["arguments"]):
            found = type_of(type) if types is None else types[place]
            name = self.names.fresh("argument" if types is None else "state")
            scope.values[number] = scope.graph.add_input(name, found)

    def _complete(self, node: Node) -> None:
        """Give the results of a node the sizes that follow from its operands'."""
        if all(None not in (value.tensor.shape or ()) for value in node.outputs if value.type is not None):
            return
        for value, shape in zip(node.outputs, shapes(node), strict=True):
            if value.type is None or shape is None or value.tensor.shape is None:
                continue
            dims = [new if old is None else old for old, new in zip(value.tensor.shape, shape, strict=True)]
            value.type = TensorType(value.tensor.dtype, tuple(dims))

    def _follow(self, one: Operation, operands: Sequence[Value | None], results: Sequence[Value | None]) -> None:
        """Note what is known of the integers that an operation gives."""
        if not self.dynamic or len(results) != 1 or results[0] is None or results[0] in self.known:
            return
        given = [
            (None, TensorType()) if operand is None else (self.known.get(operand), operand.tensor)
            for operand in operands
        ]
        found = integers.follow_result(one.name.removeprefix("stablehlo."), one.attributes, given, results[0].tensor)
        if found is not None:
            self.known[results[0]] = found

    # calls and control flow --------------------------------------------------------------------------

    def _call(self, scope: Scope, one: Operation) -> list[Value | None]:
        name = str(one.attributes.get("callee") or one.attributes.get("decomposition"))
        function = self.description["functions"].get(name)
        if function is None or function["block"] is None:
            raise InvalidModel(f"{one.name}: there is no function {name!r}")
        if name in self.open:
            raise InvalidModel(f"function {name!r} calls itself")
        if len(self.open) > DEEPEST:
            raise InvalidModel(f"functions are called more than {DEEPEST} deep")
        operands = [self.value(scope, number) for number in one.operands]
        divided = self._divided(name, function["block"], operands)
        if divided is not None:
            return [self._size(scope, str(open_size(divided)), present(operands[-1]).tensor.dtype)]
        self.open.append(name)
        try:
            if self.dynamic or None in operands:
                return self._inlined(scope, function["block"], operands)
            key = (DOMAIN, name, "")
            if key not in self.functions:
                inner = Scope(Graph(DOMAIN, name))
                self.arguments(inner, function["block"], None)
                inner.graph.outputs = self.block(inner, function["block"]["operations"])
                self.functions[key] = inner.graph
        finally:
            self.open.pop()
        types = [value.type for value in self.functions[key].outputs]
        return list(self.node(scope, "call", operands, types, {"computation": name}, one.location).outputs)

    def _divided(self, name: str, block: Mapping[str, Any], operands: Sequence[Value | None]) -> Size | None:
        """What JAX's own function for floor division, or its rest, gives for two sizes; None where it isn't one."""
        function = next((kind for prefix, kind in integers.FLOORED.items() if name.startswith(prefix)), None)
        if not self.dynamic or function is None or len(operands) < 2:
            return None
        items: list[Any] = [
            self.known[value][()] for value in operands[-2:] if value in self.known and value and not value.rank
        ]
        if len(items) != 2 or None in items or not is_at_most(1, items[1]):
            return None
        if name not in self.floored:
            self.floored[name] = integers.is_floored(function, lambda *pair: self._sampled(block, pair))
        found = computed(function, items[0], items[1]) if self.floored[name] else None
        return None if isinstance(found, int) else found

    def _sampled(self, block: Mapping[str, Any], pair: tuple[int, int]) -> int | None:
        """What a function of integer scalars gives, whose last two arguments are these numbers."""
        numbers = [number for number, _ in block["arguments"]]
        found = {number: integers.known(item, ()) for number, item in zip(numbers[-2:], pair, strict=True)}
        return computed_scalar(self.description["functions"], block, found, self.constants)

    def _inlined(self, scope: Scope, block: Mapping[str, Any], operands: Sequence[Value | None]) -> list[Value | None]:
        """A function's operations in the place of its call."""
        inner = Scope(scope.graph, nodes=scope.nodes, sizes=scope.sizes)
        for (number, _), value in zip(block["arguments"], operands, strict=True):
            inner.values[number] = value
        for operation in block["operations"]:
            if operation[0] == "func.return":
                return [self.value(inner, number) for number in operation[1]]
            self._operation(inner, Operation(*operation))
        raise InvalidModel("a function without a return")


def _recognized(one: Operation) -> Operation:
    """A composite that stands for an operation of CHLO, which is known, as that."""
    name = str(one.attributes.get("name", ""))
    plain = name in operations.PLAIN or (name in operations.OPERATIONS and name not in operations.REGIONS)
    if one.name != "stablehlo.composite" or not name.startswith("chlo.") or not (plain or name in SPECIAL):
        return one
    return replace(one, name=name, attributes=one.attributes.get("composite_attributes") or {})


def _new_symbol(name: str, taken: Collection[str]) -> str:
    """A symbol for a size that has no name: a word that stands for no other size."""
    name = re.sub(r"\W", "_", name)
    while name in taken:
        name += "_"
    return name
