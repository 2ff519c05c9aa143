"""Making terms: the type of each from its operands, and the equalities that bring it to its normal form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core import CORE
from ..graph import Node, Value
from ..infer import infer_node
from ..protos import DTYPES
from ..schema_check import problem
from ..schemas import HUB_OPSETS, hub_version
from ..tensor import TensorData
from ..types import DType, TensorType, Type
from .polynomials import Polynomial, Size, variable
from .terms import (
    BROADCAST,
    CONSTANT,
    INTEGERS,
    OUTPUT,
    Attributes,
    Contradiction,
    Shape,
    Table,
    Term,
    Typed,
    container_type,
)

Operands = Sequence[Term | None]
Apply = Callable[["Maker", "Application"], "Term | None"]
Evaluate = Callable[[Node], "list[Any] | None"]
"""The outputs of a node whose inputs are constants, as arrays; None where it can't be computed."""


@dataclass(frozen=True, slots=True)
class Application:
    """An operator with one output on operands, of which a rule makes something simpler."""

    op: str
    operands: tuple[Term | None, ...]
    attributes: Attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        return next((value for key, value in self.attributes if key == name), default)

    def operand(self, index: int) -> Term:
        found = self.operands[index]
        assert found is not None, self
        return found


@dataclass(frozen=True, slots=True)
class Rule:
    """An equality that holds to the bit, from left to right.

    Attributes:
        operator: the outermost one on the left.
        statement: what it says, and under which conditions.
        apply: the right side; None where the rule doesn't apply.
    """

    operator: str
    statement: str
    apply: Apply


def rule(statement: str, *operators: str) -> Callable[[Apply], Apply]:
    """Mark a function as a rule for operators; `rules_of` finds it."""

    def mark(function: Apply) -> Apply:
        function.rules = [Rule(operator, statement, function) for operator in operators]  # type: ignore[attr-defined]
        return function

    return mark


def rules_of(namespace: Mapping[str, Any]) -> dict[str, list[Rule]]:
    """The rules among a module's functions, in order: `RULES = rules_of(globals())` at its end."""
    found: dict[str, list[Rule]] = {}
    for function in list(namespace.values()):
        for one in getattr(function, "rules", ()) if callable(function) else ():
            found.setdefault(one.operator, []).append(one)
    return found


@dataclass
class Maker:
    """Makes terms of one table.

    Attributes:
        rules: operator -> its rules, tried in order; the result of one is in normal form.
        types: operator -> what tells the type of a term in normal form, where ONNX's inference doesn't know it.
        evaluate: computes operators that are exact of constants.
        is_strict: equalities must hold where the left side has no result, too, as of what is asked whether it may stand
            for something else; where they were used before, that has none there either.
        applied: called with each application, the rule and its result (tests, statistics).
    """

    table: Table
    rules: Mapping[str, Sequence[Rule]]
    types: Mapping[str, Callable[[Maker, Application], Typed | None]]
    evaluate: Evaluate = lambda node: None
    applied: Callable[[Application, Rule, Term], None] | None = None
    is_strict: bool = False
    _symbols: dict[Polynomial, str] = field(default_factory=dict[Polynomial, str])
    _sizes: dict[str, Polynomial] = field(default_factory=dict[str, Polynomial])
    _made: dict[Application, Term] = field(default_factory=dict[Application, Term])

    def make(self, op: str, *operands: Term | None, **attributes: Any) -> Term:
        """The normal form of an operator with one output."""
        return self.apply(op, operands, tuple(sorted(attributes.items())))

    def apply(self, op: str, operands: Operands, attributes: Attributes = ()) -> Term:
        application = Application(op, tuple(operands), attributes)
        found = self._made.get(application)
        if found is None:
            found = self._made[application] = self._normal(application)
        return found

    def _normal(self, application: Application) -> Term:
        for one in self.rules.get(application.op, ()):
            result = one.apply(self, application)
            if result is not None:
                if self.applied is not None:
                    self.applied(application, one, result)
                return result
        folded = self._folded(application)
        if folded is not None:
            return folded
        return self.plain(application.op, application.operands, application.attributes)

    def plain(self, op: str, operands: Operands, attributes: Attributes = ()) -> Term:
        """The term as it stands, with its type inferred."""
        types = self.types.get(op)
        known = None if types is None else types(self, Application(op, tuple(operands), attributes))
        made = self.table.made
        term = self.table.term(op, operands, attributes, known)
        if self.table.made > made and known is None:
            self._give_type(term, self.infer(op, operands, attributes, 1)[0])
        return term

    def outputs(self, op: str, operands: Operands, attributes: Attributes, count: int) -> list[Term]:
        """The outputs of an operator that has several, no rule applied."""
        whole = self.table.term(op, operands, attributes, key=count if op == "Split" else "several")
        found: list[Term] = []
        types: Sequence[Type | None] | None = None
        for index in range(count):
            made = self.table.made
            output = self.table.term(OUTPUT, (whole,), (("index", index),))
            if self.table.made > made:
                types = types if types is not None else self.infer(op, operands, attributes, count)
                self._give_type(output, types[index])
            found.append(output)
        return found

    def _give_type(self, term: Term, found: Type | None) -> None:
        if not isinstance(found, TensorType):
            term.container = container_type(found)
            return
        term.dtype = found.dtype
        if found.shape is not None:
            known = [self._sizes.get(dim) if isinstance(dim, str) else dim for dim in found.shape]
            term.shape = self.table.open_shape(
                term, [one if isinstance(one, int | Polynomial) else None for one in known]
            )

    # types ----------------------------------------------------------------------------------------

    def infer(self, op: str, operands: Operands, attributes: Attributes, count: int) -> Sequence[Type | None]:
        """The types of the outputs; sizes that aren't known are symbols of `symbol`."""
        if op.startswith("$"):
            return [None] * count
        core = CORE.get(op)
        if core is not None and "elementwise" in core.properties:
            self.check_element_types(op, operands)
            shape = self.broadcast([operand.shape if operand is not None else None for operand in operands])
            return [TensorType(self._element_type(op, operands, attributes), self._dims(shape))]
        node = self.node(op, operands, attributes, count)
        if problem(node):
            raise Contradiction
        found = self.infer_node(node)
        return [*found, *[None] * (count - len(found))][:count]

    def infer_node(self, node: Node) -> Sequence[Type | None]:
        """The types of a node's outputs as far as ONNX's inference knows them."""
        try:
            return infer_node(node)
        except (AssertionError, LookupError, TypeError, ValueError):  # operands that no model would have
            return [None] * len(node.outputs)

    def check_element_types(self, op: str, operands: Operands) -> None:
        """Refuse operands of several element types where an elementwise operator wants one. That is asked of each node
        that is read: what an equality makes of it may not need all of them.

        Raises:
            Contradiction: they have several.
        """
        core = CORE.get(op)
        if core is None or "elementwise" not in core.properties or op in ("Pow", "BitShift"):
            return
        known = {operand.dtype for operand in operands[op == "Where" :] if operand is not None} - {None}
        if len(known) > 1:
            raise Contradiction

    def _element_type(self, op: str, operands: Operands, attributes: Attributes) -> DType | None:
        family = CORE[op].family
        if family == "comparison":
            return DType.BOOL
        if family == "type" or op == "BitCast":
            to = dict(attributes)["to"]
            return to if isinstance(to, DType) else DTYPES[to]  # BitCast's is read as it stands
        chosen = operands[1] if op == "Where" else operands[0]
        return None if chosen is None else chosen.dtype

    def broadcast(self, shapes: Sequence[Shape | None]) -> Shape | None:
        """The shape of the result of an elementwise operator; None where it isn't known.

        Raises:
            Contradiction: there is none.
        """
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes) or not known:
            return None
        rank = max(map(len, known))
        found: list[Size] = []
        for axis in range(-rank, 0):
            size: Size = 1
            for shape in known:
                if len(shape) >= -axis:
                    size = self._broadcast_size(size, shape[axis])
            found.append(size)
        return tuple(found)

    def _broadcast_size(self, left: Size, right: Size) -> Size:
        if left == right or right == 1:
            return left
        if left == 1:
            return right
        if isinstance(left, int) and isinstance(right, int):
            raise Contradiction
        for size in (left, right):
            if (self.table.least(size) or 0) >= 2:  # the other is the same or 1, or there is no result
                return size
        pair = frozenset((left, right))
        atom = self.table.term(BROADCAST, (), (), Typed(DType.INT64, ()), key=pair)
        atom.elements = (left, right)
        self.table.bound(atom, 0)
        atom.open = frozenset().union(*(a.open for one in pair if not isinstance(one, int) for a in one.atoms))
        return variable(atom)

    def _dims(self, shape: Shape | None) -> tuple[int | str, ...] | None:
        return None if shape is None else tuple(size if isinstance(size, int) else self.symbol(size) for size in shape)

    def symbol(self, size: Polynomial) -> str:
        """The name under which inference sees a size."""
        found = self._symbols.get(size)
        if found is None:
            found = self._symbols[size] = f"s{len(self._symbols)}"
            self._sizes[found] = size
        return found

    def type_of(self, term: Term) -> Type:
        return term.container if term.container is not None else TensorType(term.dtype, self._dims(term.shape))

    def node(self, op: str, operands: Operands, attributes: Attributes, count: int = 1) -> Node:
        """A hub node of the operator on values of the operands' types, constants among them known."""
        domain, _, name = op.rpartition(".")
        node = Node(domain, name, hub_version(domain, name) or HUB_OPSETS.get(domain, 1))
        node.attributes = {key: _listed(value) for key, value in attributes if value is not None}
        for operand in operands:
            if operand is None:
                node.inputs.append(None)
                continue
            value = Value(f"x{len(node.inputs)}", self.type_of(operand))
            value.data = self.data(operand)
            node.inputs.append(value)
        node.outputs = [Value(f"y{index}", None, node, index) for index in range(count)]
        return node

    def data(self, term: Term) -> TensorData | None:
        """The data of a constant term."""
        if term.op == CONSTANT:
            return term.data
        if term.op == INTEGERS and term.data is None and all(isinstance(one, int) for one in term.elements):
            assert term.dtype is not None and term.static_shape is not None
            array = np.array(term.elements, term.dtype.numpy).reshape(term.static_shape)
            term.data = TensorData.of(array, term.dtype)
        return term.data

    # constants ------------------------------------------------------------------------------------

    def _folded(self, application: Application) -> Term | None:
        """The constant that an operator gives of constants, where every implementation gives the same bits."""
        core = CORE.get(application.op)
        if core is None or not application.operands:
            return None
        if "exact" not in core.properties and not _rounds_once(application):
            return None
        data = [None if operand is None else self.data(operand) for operand in application.operands]
        if any(one is None for one, operand in zip(data, application.operands, strict=True) if operand is not None):
            return None
        if any(one is not None and (one.dtype is DType.STRING or one.size > _LARGEST) for one in data):
            return None
        node = self.node(application.op, application.operands, _with_enums(application.attributes))
        for value, found in zip(node.outputs, infer_node(node), strict=False):
            value.type = found
        shape = node.output.tensor.static_shape
        if shape is not None and math.prod(shape) > _LARGEST:
            return None
        arrays = self.evaluate(node)
        if not arrays or arrays[0] is None:
            return None
        return self.array(arrays[0], node.output.tensor.dtype)

    def array(self, array: Any, dtype: DType | None = None) -> Term:
        """A constant, in its normal form."""
        return self.table.constant(TensorData.of(array, dtype))


_LARGEST = 1 << 24  # elements of a constant that is computed, or computed with
IEEE = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)
"""Floats whose arithmetic IEEE 754 decides to the bit."""
_ROUNDED_ONCE = frozenset(["Add", "Sub", "Mul", "Div", "Sqrt"])


def _rounds_once(application: Application) -> bool:
    """Whether IEEE 754 decides every bit of the result: the basic operations; casts; integer arithmetic."""
    first = application.operands[0]
    dtype = None if first is None else first.dtype
    if dtype is None:
        return False
    if application.op == "Cast":
        to = application.attribute("to")
        return not (dtype.is_float and to.is_integer) and all(
            one.bits >= (8 if one.is_integer else 16) or one is DType.BOOL for one in (dtype, to)
        )
    if application.op in _ROUNDED_ONCE and dtype.is_float:
        return dtype in IEEE
    return application.op in ("Add", "Sub", "Mul", "CumSum", "ReduceSum", "ReduceProd") and dtype.is_integer


def _with_enums(attributes: Attributes) -> Attributes:
    return tuple((name, enum_of(value) if isinstance(value, DType) else value) for name, value in attributes)


def enum_of(dtype: DType) -> int:
    from ..protos import ENUMS

    return ENUMS[dtype]


def _listed(value: Any) -> Any:
    if isinstance(value, DType):
        return enum_of(value)
    return list(value) if isinstance(value, tuple) else value
