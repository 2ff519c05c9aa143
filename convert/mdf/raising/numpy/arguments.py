"""Calls: what a function's arguments are taken for, by the types that it declares for them; formulas."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .....passes.errors import InvalidModel, Unsupported
from .....passes.rewrite import Builder
from .....passes.types import DType
from .operators import is_whole
from .ufuncs import UFUNCS, apply_ufunc
from .values import Array, Item, Number, as_number, known, scalar

TYPES = {
    name: DType.of(np.dtype(getattr(np, name)))
    for name in (
        *("bool", "bool_", "double", "float16", "float32", "float64", "half", "int_", "single"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
}
"""Element types by their names in NumPy."""
PYTHON_TYPES = {"float": DType.FLOAT64, "int": DType.INT64, "bool": DType.BOOL}
_SPELLED = {**TYPES, **PYTHON_TYPES}
_MOST_ELEMENTS = 1 << 24
"""Of an array that an expression makes out of nothing."""

Function = Callable[..., Item]
"""(call, argument ...) -> what it gives; the types of its parameters say what arguments are taken for."""
Operand = Annotated[Number, "Python's numbers stay weak"]
Known = Annotated[Any, "numbers, lists and texts that NumPy is called with at once"]
Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a function of a table.

    Attributes:
        where: names the position and the function for messages.
        evaluate: (tree, scope, where) -> what an expression comes to.
    """

    op: Builder
    where: str
    evaluate: Callable[[ast.expr, Mapping[str, Item], str], Item]

    def bound(self, function: Function, items: Sequence[Item], keywords: Mapping[str, Item]) -> Item:
        """What a function of a table gives; it gets all its parameters, those that are left out as their defaults.

        Raises:
            InvalidModel: it takes no such arguments.
            Unsupported: it takes an argument of this name nowhere but in NumPy.
        """
        signature = _signature(function)
        some = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in signature.parameters.values())
        odd = next((name for name in keywords if name not in signature.parameters), None)
        if odd is not None and not some:
            raise Unsupported(self.where, f"its argument {odd!r:.40}")
        try:
            arguments = signature.bind(self, *items, **keywords)
        except TypeError as error:
            raise InvalidModel(f"{self.where}: {error}") from None
        for name in list(arguments.arguments)[1:]:
            parameter, item = signature.parameters[name], arguments.arguments[name]
            several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
            take = partial(self._taken, parameter.annotation)
            arguments.arguments[name] = tuple(map(take, item)) if several else take(item)
        arguments.apply_defaults()
        return function(*arguments.args, **arguments.kwargs)

    def _taken(self, annotation: str, item: Item) -> Any:
        kind, *others = annotation.split(" | ")
        return None if item is None and "None" in others else _TAKEN[kind](self, item)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of NumPy makes of known arguments.

        Raises:
            InvalidModel: it refuses them.
        """
        try:
            return function(*arguments)
        except (ValueError, TypeError, IndexError, ArithmeticError) as error:
            raise InvalidModel(f"{self.where}: {' '.join(str(error).split()):.200}") from None

    def compute(self, formula: str, **given: Any) -> Item:
        """What a formula over these items and Python numbers comes to: an expression, and before it perhaps names for
        parts of it, `name = expression`."""
        scope = {
            name: scalar(self.op, item, self.where) if isinstance(item, bool | int | float) else item
            for name, item in given.items()
        }
        *steps, last = _steps(formula)
        for name, tree in steps:
            scope[name] = self.evaluate(tree, scope, self.where)
        return self.evaluate(last[1], scope, self.where)

    def universal(self, *operands: Number, name: str) -> Number:
        """A universal function of NumPy."""
        return apply_ufunc(self.op, UFUNCS[name], operands, self.where, self.compute)

    def operand(self, item: Item) -> Number:
        """What a universal function takes: Python numbers stay weak."""
        number = as_number(self.op, item, self.where)
        return number.array if number.listed else number

    def array(self, item: Item) -> Number:
        """What `numpy.asarray` makes of it."""
        return as_number(self.op, item, self.where).array

    def known(self, item: Item) -> Any:
        """What NumPy is called with at once: numbers, arrays as lists, types, texts. Whole floats, which the engine
        turns into integers from node to node, are integers."""
        if isinstance(item, DType):
            return item.numpy
        if isinstance(item, list):
            return [self.known(part) for part in item]
        if isinstance(item, tuple):
            return tuple(self.known(part) for part in item)
        if not isinstance(item, Number):
            return item
        plain = self.elements(item).tolist()
        return int(plain) if isinstance(plain, float) and is_whole(plain) else plain

    def elements(self, number: Number) -> Array:
        """What a number is, which has to be known."""
        array = known(as_number(self.op, number, self.where))
        if array is None:
            raise Unsupported(self.where, "a number that must be known, but is known only at run time")
        return array

    def integer(self, item: Item) -> int:
        """An integer that has to be known."""
        found = self.known(item)
        if not isinstance(found, int):
            raise InvalidModel(f"{self.where}: an integer is expected")
        return int(found)

    def integers(self, item: Item) -> tuple[int, ...]:
        """One integer or several."""
        found = self.known(item)
        found = found if isinstance(found, list | tuple) else [found]
        if not all(isinstance(entry, int) for entry in found):
            raise InvalidModel(f"{self.where}: integers are expected")
        return tuple(map(int, found))

    def shape(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The shape of a new array."""
        if min(sizes, default=0) < 0:
            raise InvalidModel(f"{self.where}: the shape {tuple(sizes)}")
        self.check_shape(sizes)
        return tuple(sizes)

    def check_shape(self, sizes: Sequence[int]) -> None:
        """Refuse an array that is far larger than what it is made of."""
        count = math.prod(sizes)
        if len(sizes) > 32 or count > _MOST_ELEMENTS:
            raise Unsupported(self.where, f"an array of {count} elements in {len(sizes)} axes")

    def axis(self, axis: int, rank: int) -> int:
        """An axis, counted from the front."""
        return self.run(normalize_axis_index, axis, rank)

    def axes(self, given: Axes | None, rank: int, scalar: bool = False) -> Axes:
        """Axes of a reduction, each once; None is all of them. `scalar`: one number has an axis 0 as well."""
        if given is None or (scalar and not rank and given in ((0,), (-1,))):
            return tuple(range(rank))
        return self.run(normalize_axis_tuple, given, rank)

    def dtype(self, item: Item) -> DType:
        """An element type."""
        if isinstance(item, DType):
            return item
        if isinstance(item, str) and item in _SPELLED:
            return _SPELLED[item]
        raise Unsupported(self.where, "an element type that isn't float, int, bool or one of numpy.")


_TAKEN: dict[str, Callable[[Call, Item], Any]] = {
    "Item": lambda call, item: item,
    "Number": Call.array,
    "Operand": Call.operand,
    "Known": Call.known,
    "int": Call.integer,
    "bool": lambda call, item: bool(call.integer(item)),
    "Axes": Call.integers,
    "DType": Call.dtype,
}
"""What an argument is taken for, by the type of the parameter; None stays where the type has it."""


def of_operands(count: int, apply: Callable[..., Item]) -> Function:
    """A function of one operand or of two, `apply(call, operand ...)`."""

    def one(call: Call, x1: Operand) -> Item:
        return apply(call, x1)

    def two(call: Call, x1: Operand, x2: Operand) -> Item:
        return apply(call, x1, x2)

    return one if count == 1 else two


@cache
def _steps(code: str) -> list[tuple[str, ast.expr]]:
    """The names and the trees of a formula's steps; the last one has no name."""
    lines = ast.parse(textwrap.dedent(code)).body
    named = [(ast.unparse(line.targets[0]), line.value) for line in lines if isinstance(line, ast.Assign)]
    return [*named, *(("", line.value) for line in lines if isinstance(line, ast.Expr))]


_signature = cache(inspect.signature)


def signature(text: str, *annotations: str) -> inspect.Signature:
    """The signature that `name(a, axis=None, *, k=0)` writes, the call in front; the last type is that of the rest."""
    (tree,) = ast.parse(f"def {text}: ...").body
    assert isinstance(tree, ast.FunctionDef)
    own = [*tree.args.args, *tree.args.kwonlyargs]
    defaults = [None] * (len(tree.args.args) - len(tree.args.defaults)) + tree.args.defaults + tree.args.kw_defaults
    types = [*annotations, *[annotations[-1]] * len(own)]
    made = [inspect.Parameter("call", inspect.Parameter.POSITIONAL_ONLY)]
    for argument, default, annotation in zip(own, defaults, types, strict=False):
        keyword = argument in tree.args.kwonlyargs
        kind = inspect.Parameter.KEYWORD_ONLY if keyword else inspect.Parameter.POSITIONAL_OR_KEYWORD
        value = inspect.Parameter.empty if default is None else ast.literal_eval(default)
        made.append(inspect.Parameter(argument.arg, kind, default=value, annotation=annotation))
    return inspect.Signature(made)


_FORMULAS = {
    # statistics
    "all(a, axis=None, *, keepdims=False)": "numpy.bool(numpy.prod(numpy.bool(a), axis, keepdims=keepdims))",
    "any(a, axis=None, *, keepdims=False)": "numpy.bool(numpy.count_nonzero(a, axis, keepdims=keepdims))",
    "count_nonzero(a, axis=None, *, keepdims=False)": "numpy.sum(numpy.bool(a), axis, keepdims=keepdims)",
    "nanprod(a, axis=None, *, keepdims=False)": (
        "numpy.prod(numpy.where(numpy.isnan(a), 1, a), axis, keepdims=keepdims)"
    ),
    "nansum(a, axis=None, *, keepdims=False)": "numpy.sum(numpy.where(numpy.isnan(a), 0, a), axis, keepdims=keepdims)",
    "ptp(a, axis=None, *, keepdims=False)": (
        "numpy.subtract(numpy.max(a, axis, keepdims=keepdims), numpy.min(a, axis, keepdims=keepdims))"
    ),
    "std(a, axis=None, dtype=None, *, ddof=0, keepdims=False)": (
        "numpy.sqrt(numpy.var(a, axis, dtype, ddof=ddof, keepdims=keepdims))"
    ),
    "trace(a)": "numpy.sum(numpy.diagonal(a), -1)",
    # rounding
    "around(a, decimals=0)": "numpy.round(a, decimals)",
    "fix(x)": "numpy.trunc(x)",
    # comparisons
    "allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False)": (
        "bool(numpy.all(numpy.isclose(a, b, rtol, atol, equal_nan)))"
    ),
    # products
    "inner(a, b)": "numpy.dot(a, numpy.swapaxes(b, -1, -2) if numpy.ndim(a) and numpy.ndim(b) > 1 else b)",
    "matmul(x1, x2)": "numpy.asarray(x1) @ numpy.asarray(x2)",
    "outer(a, b)": "numpy.multiply(numpy.ravel(a)[:, None], numpy.ravel(b))",
    "vdot(a, b)": "numpy.ravel(a) @ numpy.ravel(b)",
    # new arrays
    "asarray(a, dtype=None)": "numpy.array(a, dtype)",
    "astype(x, dtype)": "numpy.array(x, dtype)",
    "copy(a)": "numpy.array(a)",
    "identity(n, dtype=None)": "numpy.eye(n, dtype=dtype)",
    "logspace(start, stop, num=50, endpoint=True, base=10.0)": (
        "numpy.power(numpy.array(base), numpy.linspace(start, stop, num, endpoint))"
    ),
    "ones(shape, dtype=None)": "numpy.full(shape, 1.0, dtype)",
    "ones_like(a, dtype=None, *, shape=None)": "numpy.full_like(a, 1, dtype, shape=shape)",
    "zeros(shape, dtype=None)": "numpy.full(shape, 0.0, dtype)",
    "zeros_like(a, dtype=None, *, shape=None)": "numpy.full_like(a, 0, dtype, shape=shape)",
    # other shapes
    "append(arr, values, axis=None)": "numpy.concatenate([arr, values], axis)",
    "concat(arrays, axis=0)": "numpy.concatenate(arrays, axis)",
}


@dataclass(frozen=True, eq=False)
class Formula:
    """A function that an expression over its parameters stands for."""

    __signature__: inspect.Signature
    expression: str

    def __call__(self, call: Call, *items: Item, **keywords: Item) -> Item:
        names = list(self.__signature__.parameters)[1:]
        return call.compute(self.expression, **dict(zip(names, items, strict=False)), **keywords)


def formula(text: str, expression: str) -> Formula:
    """The function `name(parameters)` whose value is an expression."""
    return Formula(signature(text, "Item"), expression)


FORMULAS: dict[str, Function] = {text.partition("(")[0]: formula(text, body) for text, body in _FORMULAS.items()}
