"""What an expression, a number or a list of a document comes to, by the rules of MDF's engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.rewrite import Builder
from ....passes.types import DType
from .. import expressions as ex
from ..model import Plain
from . import calls
from .arguments import Call
from .numpy_values import Item, Listing, Number, chosen, constant, known_scalar, scalar, stacked, truth
from .operators import binary, both, is_whole, unary
from .subscripts import Part, Place, Rest, subscript

Made = TypeVar("Made")
Scope = Mapping[str, "Number | tuple[Number, ...]"]

_TYPES = {"float": DType.FLOAT64, "int": DType.INT64, "bool": DType.BOOL}
WORD = "constant"
"""The one text that MDF's engine takes for what it says: a mode of `onnx::Pad`."""


def evaluate(op: Builder, plain: Plain, scope: Scope, where: str) -> Number | tuple[Number, ...]:
    """A value of a document in the graph that is built.

    Args:
        plain: a number; a list, which is an array; or a text: a name of `scope` (which need be no identifier), a
            number as Python reads it, or else an expression.
        scope: what the names stand for.
        where: names the place for messages.

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
        raise Unsupported(where, "what it holds is a table of names, no numbers")
    raise InvalidModel(f"{where}: {'nothing' if plain is None else type(plain).__name__} instead of a value")


def _of_text(op: Builder, text: str, scope: Scope, where: str) -> Number | tuple[Number, ...]:
    if text in scope:
        found = scope[text]
        return found.array if isinstance(found, Number) and found.listed else found
    number = read_number(text)
    if number is not None:
        return scalar(op, number, where)
    if text == WORD:
        return Number(op.const(np.asarray(WORD, object), DType.STRING), python=True)
    return resolved(op, _Evaluation(op, scope, where).of(ex.parse(text, where)), where)


def read_number(text: str) -> int | float | None:
    """A text as Python reads an integer or else a float; None where it is neither."""
    if len(text) > ex.MOST_DIGITS:
        return None
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def _of_list(op: Builder, plain: Sequence[Plain], where: str) -> Number:
    """A list of numbers as `numpy.array` makes an array of it."""
    try:
        array = np.array(plain)
    except (ValueError, OverflowError):
        raise InvalidModel(f"{where}: a list whose rows have different lengths") from None
    if array.dtype.kind not in "bif":
        if array.dtype.kind == "u" or _holds_large(array):
            raise Unsupported(where, "integers of more than 64 bits")
        raise InvalidModel(f"{where}: a list of something else than numbers")
    return constant(op, array)


def _holds_large(array: np.ndarray) -> bool:
    return array.dtype.kind == "O" and all(isinstance(item, int | float) for item in array.flat)


def resolved(op: Builder, item: Item, where: str) -> Number | tuple[Number, ...]:
    """What the engine keeps of an expression's value: a Python float that is certainly whole as an integer.

    Raises:
        InvalidModel: it isn't made of numbers.
    """
    if isinstance(item, tuple):
        return tuple(stacked(op, part, where) for part in item)
    if isinstance(item, Listing) and _is_uneven(item):
        raise Unsupported(where, "a list of lists and of arrays")
    number = stacked(op, item, where)
    plain = known_scalar(number)
    if isinstance(plain, float) and is_whole(plain):
        return scalar(op, int(plain), where)
    return number


def _is_uneven(listing: Listing) -> bool:
    return len({isinstance(item, Listing) or (isinstance(item, Number) and item.listed) for item in listing.items}) > 1


@dataclass
class _Evaluation:
    """One expression on its way into the graph.

    `unsure` counts the conditions around, of which it isn't known whether they hold: what is built in there is
    computed all the same.
    """

    op: Builder
    scope: Scope
    where: str
    unsure: int = 0

    def of(self, expression: ex.Expression) -> Item:
        op, where = self.op, self.where
        match expression:
            case ex.Constant(value):
                return value if value is None or isinstance(value, str) else scalar(op, value, where)
            case ex.Name(id):
                return self._named(id)
            case ex.Attribute(module, name):
                return calls.attribute(op, module, name, where)
            case ex.Unary(symbol, operand):
                return unary(op, symbol, self.of(operand), where)
            case ex.Binary(first, rest):
                return self._chain(first, rest)
            case ex.Compare(first, rest):
                return self._comparison(first, rest)
            case ex.Logic(symbol, parts):
                return self._logic(symbol, parts)
            case ex.Choice():
                return self._choice(expression)
            case ex.Subscript():
                places = [self._place(place) for place in expression.places]
                return subscript(op, self.of(expression.base), places, self.unsure > 0, where)
            case ex.Row(items, is_tuple):
                made = tuple(self.of(item) for item in items)
                return made if is_tuple else Listing(made)
            case ex.Call():
                return self._call(expression)
        raise InvalidModel(f"{where}: ... stands for nothing outside of an index")

    def _named(self, name: str) -> Item:
        if name in self.scope:
            return self.scope[name]
        if name in _TYPES:
            return _TYPES[name]
        raise InvalidModel(f"{self.where}: {name!r:.60} is unknown")

    def _chain(self, first: ex.Expression, rest: Sequence[tuple[str, ex.Expression]]) -> Item:
        item = self.of(first)
        for symbol, right in rest:
            item = binary(self.op, symbol, item, self.of(right), self.where)
        return item

    def _comparison(self, first: ex.Expression, rest: Sequence[tuple[str, ex.Expression]]) -> Item:
        """`a < b < c` is `a < b and b < c`, b computed once."""
        (symbol, right), *more = rest
        left = self.of(right)
        found = binary(self.op, symbol, self.of(first), left, self.where)
        for symbol, right in more:
            if truth(self.op, found, self.where) is False:
                return found
            left, holds = self._perhaps(partial(self._compared, symbol, left, right))
            found = both(self.op, "and", found, lambda holds=holds: holds, self.where)
        return found

    def _compared(self, symbol: str, left: Item, right: ex.Expression) -> tuple[Item, Item]:
        item = self.of(right)
        return item, binary(self.op, symbol, left, item, self.where)

    def _logic(self, symbol: str, parts: Sequence[ex.Expression]) -> Item:
        """From the left: `a and b and c` is `(a and b) and c`."""
        found = self.of(parts[0])
        for part in parts[1:]:
            right = partial(self.of, part)
            if not isinstance(truth(self.op, found, self.where), bool):
                right = partial(self._perhaps, right)
            found = both(self.op, symbol, found, right, self.where)
        return found

    def _choice(self, choice: ex.Choice) -> Item:
        condition = truth(self.op, self.of(choice.condition), self.where)
        if isinstance(condition, bool):
            return self.of(choice.then if condition else choice.otherwise)
        then, otherwise = (self._perhaps(partial(self.of, part)) for part in (choice.then, choice.otherwise))
        return chosen(self.op, condition, then, otherwise, self.where)

    def _perhaps(self, compute: Callable[[], Made]) -> Made:
        """What Python computes only if a condition holds.

        Raises:
            Unsupported: it can't be computed at all, which is a fault only where the condition holds.
        """
        self.unsure += 1
        try:
            return compute()
        except InvalidModel as error:
            raise Unsupported(self.where, f"a fault in what is only computed on a condition ({error})") from None
        finally:
            self.unsure -= 1

    def _place(self, place: ex.Expression | ex.Slice) -> Place:
        if isinstance(place, ex.Slice):
            return Part(*(None if bound is None else self.of(bound) for bound in (place.start, place.stop, place.step)))
        return Rest() if isinstance(place, ex.Ellipsis) else self.of(place)

    def _call(self, call: ex.Call) -> Item:
        if not call.module and call.name in self.scope:
            raise InvalidModel(f"{self.where}: {call.name!r} is a value, no function")
        arguments = [self.of(argument) for argument in call.arguments]
        keywords = {name: self.of(argument) for name, argument in call.keywords}
        return calls.call(Call(self.op, self.where, self.unsure > 0), call.module, call.name, arguments, keywords)
