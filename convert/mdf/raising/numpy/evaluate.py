"""What an expression, a number or a list of a document comes to, by the rules of MDF's engine."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from .....passes.errors import InvalidModel, Unsupported
from .....passes.graph import Value
from .....passes.protos import enum_of
from .....passes.rewrite import Builder
from .....passes.structure.guard import assertion
from .....passes.types import DType, TensorType
from .....runtime.oracles import mdf_syntax as syntax
from ...model import Plain
from ..conditional import Conditional
from ..regions import branch, has_open_sizes
from . import calls
from .arguments import PYTHON_TYPES, Call
from .operators import binary, is_whole, logical, unary
from .subscripts import IndexPart, subscript
from .values import (
    Item,
    Number,
    OpenSize,
    as_number,
    cast,
    chosen_kind,
    constant,
    scalar,
    select,
    static_scalar,
    truth_value,
)

Made = TypeVar("Made")
Scope = Mapping[str, "Number | tuple[Number, ...]"]

WORD = "constant"
"""The one text that MDF's engine takes for what it says: a mode of `onnx::Pad`."""


def evaluate(op: Builder, plain: Plain, scope: Scope, where: str) -> Number | tuple[Number, ...]:
    """A value of a document in the graph that is built.

    Args:
        plain: a number; a list, which is an array; or a text: a name of `scope` (which need be no identifier), a
            number as Python reads it, or else an expression.
        scope: what the names stand for.
        where: names the position for messages.

    Returns:
        A number, or several (a tuple).

    Raises:
        InvalidModel: it isn't an expression, or names something unknown.
        Unsupported: it is one, and can't be expressed in the hub.
    """
    if isinstance(plain, str):
        return _of_text(op, plain, scope, where)
    if isinstance(plain, bool | int | float):
        return scalar(op, plain, where)
    if isinstance(plain, list):
        return _of_list(op, plain, where)
    if isinstance(plain, dict):
        raise Unsupported(where, "its value is a table of names, not numbers")
    raise InvalidModel(f"{where}: {'nothing' if plain is None else type(plain).__name__} instead of a value")


def _of_text(op: Builder, text: str, scope: Scope, where: str) -> Number | tuple[Number, ...]:
    if text in scope:
        found = scope[text]
        return found.array if isinstance(found, Number) and found.listed else found
    number = syntax.number_in(text)
    if number is not None:
        return scalar(op, number, where)
    if text == WORD:
        return Number(op.const(np.asarray(WORD, object), DType.STRING), python=True)
    try:
        return resolved(op, _Evaluation(op, scope, where).of(syntax.parse(text, where)), where)
    except OpenSize as error:
        raise Unsupported(where, error.reason) from None


def _of_list(op: Builder, plain: Sequence[Plain], where: str) -> Number:
    """A list of numbers as `numpy.array` makes an array of it."""
    try:
        array = np.array(plain)
    except (ValueError, OverflowError):
        raise InvalidModel(f"{where}: a list whose rows have different lengths") from None
    if array.dtype.kind not in "bif":
        if array.dtype.kind == "u" or _holds_large(array):
            raise Unsupported(where, "integers of more than 64 bits")
        raise InvalidModel(f"{where}: a list of something other than numbers")
    return constant(op, array)


def _holds_large(array: np.ndarray) -> bool:
    return array.dtype.kind == "O" and all(isinstance(item, int | float) for item in array.flat)


def resolved(op: Builder, item: Item, where: str) -> Number | tuple[Number, ...]:
    """What the engine keeps of an expression's value: a Python float that is certainly whole as an integer.

    Raises:
        InvalidModel: it isn't made of numbers.
    """
    if isinstance(item, tuple):
        return tuple(as_number(op, part, where) for part in item)
    if isinstance(item, list) and _is_uneven(item):
        raise Unsupported(where, "a list of lists and of arrays")
    number = as_number(op, item, where)
    plain = static_scalar(number)
    if isinstance(plain, float) and is_whole(plain):
        return scalar(op, int(plain), where)
    return number


def _is_uneven(items: list[Item]) -> bool:
    return len({isinstance(item, list) or (isinstance(item, Number) and item.listed) for item in items}) > 1


def _large(node: ast.expr) -> object:
    """Integers that an expression writes, one of them too large for int64; None where it is no such thing."""
    if not all(isinstance(one, ast.Constant | ast.Tuple | ast.List | ast.Load) for one in ast.walk(node)):
        return None
    numbers = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
    whole = [number for number in numbers if isinstance(number, int) and not isinstance(number, bool)]
    if len(whole) < len(numbers) or max(whole, default=0) < 2**63:
        return None
    return ast.literal_eval(node)


class _ConditionalFault(Unsupported):
    """What is only computed on a condition can't be computed at all."""


def _conditional_fault(error: InvalidModel) -> str:
    return f"a fault in what is only computed on a condition ({error})"


@dataclass
class _Evaluation:
    """One expression on its way into the graph."""

    op: Builder
    scope: Mapping[str, Item]
    where: str

    def of(self, node: ast.expr) -> Item:
        op, where = self.op, self.where
        match node:
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)) if not isinstance(number, bool):
                return scalar(op, -number, where)
            case ast.Constant():
                return self._constant(node.value)
            case ast.Name():
                return self._named(node.id)
            case ast.UnaryOp():
                return unary(op, syntax.UNARY[type(node.op)], self.of(node.operand), where)
            case ast.BinOp():
                return self._chain(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp():
                return self._logic("and" if isinstance(node.op, ast.And) else "or", node.values)
            case ast.IfExp():
                return self._choice(node)
            case ast.Subscript():
                indices = [self._index_part(index) for index in syntax.index_items(node)]
                return subscript(op, self.of(node.value), indices, where)
            case ast.Tuple():
                return tuple(self.of(item) for item in node.elts)
            case ast.List():
                return [self.of(item) for item in node.elts]
            case ast.Attribute():
                member = syntax.module_member(node)
                if member is not None:
                    return calls.attribute(op, *member, where)
                return self._called(syntax.ARRAY, node.attr, [self.of(node.value)], {})
            case ast.Call():
                return self._call(node)
        raise AssertionError(f"{where}: {node}")

    def _constant(self, value: object) -> Item:
        if value is ...:
            raise InvalidModel(f"{self.where}: ... has no meaning outside of an index")
        if value is None or isinstance(value, str):
            return value
        assert isinstance(value, bool | int | float)
        return scalar(self.op, value, self.where)

    def _named(self, name: str) -> Item:
        if name in self.scope:
            return self.scope[name]
        if name in PYTHON_TYPES:
            return PYTHON_TYPES[name]
        raise InvalidModel(f"{self.where}: {name!r:.60} is unknown")

    def _chain(self, node: ast.BinOp) -> Item:
        first, rest = syntax.chain(node)
        item = self.of(first)
        for symbol, right in rest:
            item = binary(self.op, symbol, item, self.of(right), self.where)
        return item

    def _comparison(self, node: ast.Compare) -> Item:
        """`a < b < c` is `a < b and b < c`, b computed once."""
        found: Item = None
        left = self.of(node.left)
        for index, (operator, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            compute = partial(_Evaluation._compared, symbol=syntax.COMPARE[type(operator)], left=left, right=right)
            condition = truth_value(self.op, found, self.where) if index else True
            if condition is False:
                return found
            left, holds = self._perhaps(condition, True, compute)
            if not index:
                found = holds
            else:
                found = logical(self.op, "and", found, lambda holds=holds: holds, self.where)
        return found

    def _compared(self, symbol: str, left: Item, right: ast.expr) -> tuple[Item, Item]:
        item = self.of(right)
        return item, binary(self.op, symbol, left, item, self.where)

    def _logic(self, symbol: str, parts: Sequence[ast.expr]) -> Item:
        """From the left: `a and b and c` is `(a and b) and c`."""
        found = self.of(parts[0])
        for part in parts[1:]:
            condition = truth_value(self.op, found, self.where)
            right = partial(self._perhaps, condition, symbol == "and", partial(_Evaluation.of, node=part))
            found = logical(self.op, symbol, found, right, self.where)
        return found

    def _choice(self, node: ast.IfExp) -> Item:
        condition = truth_value(self.op, self.of(node.test), self.where)
        if isinstance(condition, bool):
            return self.of(node.body if condition else node.orelse)
        try:
            then = self._perhaps(condition, True, partial(_Evaluation.of, node=node.body))
            otherwise = self._perhaps(condition, False, partial(_Evaluation.of, node=node.orelse))
        except OpenSize:
            return self._apart(condition, node.body, node.orelse)
        except _ConditionalFault:
            return self._other(condition, node.body, node.orelse)
        return select(self.op, condition, then, otherwise, self.where)

    def _other(self, condition: Value, *parts: ast.expr) -> Number:
        """The one part that can be computed at all: where the other one is wanted, the run fails.

        Raises:
            Unsupported: there is no such part.
        """
        items: dict[int, Item] = {}
        faults: list[InvalidModel] = []
        for index, part in enumerate(parts):
            try:
                items[index] = self.of(part)
            except InvalidModel as error:
                faults.append(error)
        ((index, item),) = items.items() if len(items) == 1 else ((0, None),)
        if not isinstance(item, Number) or item.listed:
            raise Unsupported(self.where, _conditional_fault(faults[0]))
        holds = assertion(self.op, condition, index == 0)
        one = self.op.Cast(holds, to=enum_of(item.dtype, self.where))
        value = self.op.And(item.value, one) if item.dtype is DType.BOOL else self.op.Mul(item.value, one)
        return replace(item, value=value, single=None)

    def _apart(self, condition: Value, *parts: ast.expr) -> Number:
        """One of two parts, each in a branch of its own: it may fail where it isn't wanted."""
        regions, numbers = list[Builder](), list[Number]()
        for name, part in zip(("then", "else"), parts, strict=True):
            region = self.op.region(name)
            try:
                item = _Evaluation(region, self.scope, self.where).of(part)
            except InvalidModel as error:
                raise _ConditionalFault(self.where, _conditional_fault(error)) from None
            if isinstance(item, tuple):
                raise Unsupported(self.where, "a tuple of sizes that are known only at run time")
            regions.append(region)
            numbers.append(as_number(region, item, self.where))
        kind = chosen_kind(numbers[0], numbers[1], self.where)
        for region, number in zip(regions, numbers, strict=True):
            region.graph.outputs = [cast(region, number, kind.dtype, self.where)]
        (made,) = branch(self.op, condition, regions[0], regions[1], [TensorType(kind.dtype, kind.sizes)])
        return kind.number(made)

    def _perhaps(self, condition: Value | bool, wanted: bool, compute: Callable[[_Evaluation], Made]) -> Made:
        """What Python computes only if a condition is as it should be, or at once where that is known.

        Raises:
            Unsupported: it can't be computed at all, which is a fault only where the condition holds.
            OpenSize: it may fail for sizes that are known only at run time.
        """
        if isinstance(condition, bool):
            return compute(self)
        built = len(self.op.graph)
        try:
            made = compute(replace(self, op=Conditional(self.op, condition, wanted)))
        except InvalidModel as error:
            raise _ConditionalFault(self.where, _conditional_fault(error)) from None
        if any(map(has_open_sizes, self.op.graph.behind(built))):
            raise OpenSize("what is only computed on a condition has a size that is known only at run time")
        return made

    def _index_part(self, node: ast.expr) -> IndexPart:
        if isinstance(node, ast.Slice):
            bounds = (node.lower, node.upper, node.step)
            return slice(*(None if bound is None else self.of(bound) for bound in bounds))
        if isinstance(node, ast.Constant) and node.value is ...:
            return ...
        return self.of(node)

    def _call(self, node: ast.Call) -> Item:
        module, name = syntax.callee(node)
        if not module and name in self.scope:
            raise InvalidModel(f"{self.where}: {name!r} is a value, no function")
        if (module, name) == ("numpy", "uint64") and len(node.args) == 1 and (large := _large(node.args[0])):
            return constant(self.op, self._numbers(large))
        own = [node.func.value] if module == syntax.ARRAY and isinstance(node.func, ast.Attribute) else []
        arguments = [self.of(argument) for argument in (*own, *node.args)]
        keywords = {keyword.arg or "": self.of(keyword.value) for keyword in node.keywords}
        return self._called(module, name, arguments, keywords)

    def _numbers(self, plain: object) -> np.ndarray:
        try:
            return np.array(plain, np.uint64)
        except (ValueError, OverflowError) as error:
            raise InvalidModel(f"{self.where}: {error}") from None

    def _called(self, module: str, name: str, arguments: Sequence[Item], keywords: Mapping[str, Item]) -> Item:
        call = Call(self.op, self.where, self._formula)
        return calls.call(call, module, name, arguments, keywords)

    def _formula(self, tree: ast.expr, scope: Mapping[str, Item], where: str) -> Item:
        """What stands for a function, by the names of its parameters."""
        return _Evaluation(self.op, scope, where).of(tree)
