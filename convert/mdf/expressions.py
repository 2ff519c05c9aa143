"""Expressions of MDF: text to a small tree of our own, by an allow-list; nothing is ever evaluated here.

MDF's engine hands such a text to Python's `eval`. Here `ast` parses it, and what isn't arithmetic on numbers, names,
lists and the functions of `numpy.` and `math.` is no expression.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from ...passes.errors import InvalidModel, Unsupported
from ...passes.infer import words

MODULES = ("numpy", "math")
BUILTINS = words("abs all any bool float int len max min pow round sum")
"""Python's own functions that mean something on numbers and arrays."""
METHODS = words(
    "all any argmax argmin astype clip copy cumprod cumsum diagonal dot flatten item max mean min prod ravel repeat "
    "reshape round squeeze std sum swapaxes take trace transpose var"
)
MEMBERS = words("T ndim shape size")
"""What may stand behind the dot of an array, called or not."""
ARRAY = "array"
"""The module of a `Call` that is a method of its first argument, or a member of it."""
_HARMLESS = words("complex divmod enumerate filter list map range reversed set sorted str tuple zip")

MOST_CHARACTERS = 100_000
MOST_DIGITS = 4300
"""Digits of an integer; Python reads no longer ones."""
_DEEPEST = 200
_MOST_BITS = 1024
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Constant:
    """A number; None is an index for a new axis, or an argument that is left open; a text is an argument."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Ellipsis:
    """`...` in an index."""


@dataclass(frozen=True, slots=True)
class Name:
    id: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """`numpy.pi`: something of a module that isn't called. `name` may have a dot in it."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    """`operator` is one of - + ~ not."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """A chain of operators that are done one after the other: `first`, then each operator with its right operand."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """`first < a <= b`: each comparison holds."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` or `or` of two and more."""

    operator: str
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """`then if condition else otherwise`"""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Slice:
    start: Expression | None
    stop: Expression | None
    step: Expression | None


@dataclass(frozen=True, slots=True)
class Subscript:
    """`base[places]`, one place for each axis; `single` where no tuple was written."""

    base: Expression
    places: tuple[Expression | Slice, ...]
    single: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A list or a tuple."""

    items: tuple[Expression, ...]
    is_tuple: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a module's function, of a builtin (`module` is "") or of a method (`module` is `ARRAY`)."""

    module: str
    name: str
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]


Expression = Constant | Ellipsis | Name | Attribute | Unary | Binary | Compare | Logic | Choice | Subscript | Row | Call

_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FORBIDDEN: dict[type[ast.AST], str] = {
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.NamedExpr: "an assignment",
    ast.JoinedStr: "a formatted string",
    ast.Starred: "a starred argument",
    ast.Dict: "a dictionary",
    ast.Set: "a set",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}


def parse(text: str, where: str) -> Expression:
    """The tree of an expression.

    Args:
        where: names the place for messages.

    Raises:
        InvalidModel: it is none, or has something in it that none may have; nothing of it was evaluated.
        Unsupported: it calls a function of Python's that makes no number.
    """
    shown = repr(text if len(text) <= 60 else text[:57] + "...")
    if len(text) > MOST_CHARACTERS:
        raise InvalidModel(f"{where}: an expression of {len(text)} characters ({MOST_CHARACTERS} are the most)")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd spellings, which aren't ours to judge
            tree = ast.parse(text.lstrip(" \t"), mode="eval")
    except (RecursionError, MemoryError):
        raise InvalidModel(f"{where}: {shown} is nested too deeply") from None
    except (SyntaxError, ValueError, OverflowError) as error:
        reason = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
        raise InvalidModel(f"{where}: {shown} is no expression ({reason:.80})") from None
    return _Reading(where, shown).read(tree.body)


@dataclass
class _Reading:
    where: str
    shown: str
    depth: int = 0

    def refuse(self, what: str) -> InvalidModel:
        return InvalidModel(f"{self.where}: {self.shown} has {what} in it, which no expression may have")

    def read(self, node: ast.expr) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise InvalidModel(f"{self.where}: {self.shown} is nested too deeply")
        made = self._read(node)
        self.depth -= 1
        return made

    def _read(self, node: ast.expr) -> Expression:
        match node:
            case ast.Constant():
                return self._constant(node.value)
            case ast.Name():
                return Name(self._name(node.id))
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.Compare():
                return self._compare(node)
            case ast.BoolOp():
                operator = "and" if isinstance(node.op, ast.And) else "or"
                return Logic(operator, tuple(self.read(part) for part in node.values))
            case ast.IfExp():
                return Choice(self.read(node.test), self.read(node.body), self.read(node.orelse))
            case ast.Subscript():
                return self._subscript(node)
            case ast.List() | ast.Tuple():
                return Row(tuple(self.read(item) for item in node.elts), isinstance(node, ast.Tuple))
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
        raise self.refuse(_FORBIDDEN.get(type(node), type(node).__name__))

    def _constant(self, value: object) -> Expression:
        if value is ...:
            return Ellipsis()
        if isinstance(value, str) and len(value) > _LONGEST:
            raise self.refuse(f"a text of {len(value)} characters")
        if value is not None and not isinstance(value, bool | int | float | str):
            raise self.refuse("a complex number" if isinstance(value, complex) else "bytes")
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise self.refuse(f"an integer of {value.bit_length()} bits")
        return Constant(value)

    def _name(self, name: str) -> str:
        if name.startswith("__") and name.endswith("__"):
            raise self.refuse(f"the name {name!r:.40}")
        return name

    def _unary(self, node: ast.UnaryOp) -> Expression:
        operand = self.read(node.operand)
        value = operand.value if isinstance(operand, Constant) else None
        if isinstance(node.op, ast.USub) and isinstance(value, int | float) and not isinstance(value, bool):
            return Constant(-value)
        return Unary(_UNARY[type(node.op)], operand)

    def _binary(self, node: ast.BinOp) -> Expression:
        """A chain, however long it is: only operands count as nesting."""
        rest: list[tuple[str, Expression]] = []
        first: ast.expr = node
        while isinstance(first, ast.BinOp):
            rest.append((_BINARY[type(first.op)], self.read(first.right)))
            first = first.left
        return Binary(self.read(first), tuple(reversed(rest)))

    def _compare(self, node: ast.Compare) -> Expression:
        rest: list[tuple[str, Expression]] = []
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if type(operator) not in _COMPARE:
                raise self.refuse("is" if isinstance(operator, ast.Is | ast.IsNot) else "in")
            rest.append((_COMPARE[type(operator)], self.read(right)))
        return Compare(self.read(node.left), tuple(rest))

    def _subscript(self, node: ast.Subscript) -> Expression:
        base = self.read(node.value)
        single = not isinstance(node.slice, ast.Tuple)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return Subscript(base, tuple(self._place(place) for place in places), single)

    def _place(self, node: ast.expr) -> Expression | Slice:
        if not isinstance(node, ast.Slice):
            return self.read(node)
        bounds = [None if bound is None else self.read(bound) for bound in (node.lower, node.upper, node.step)]
        return Slice(*bounds)

    def _member(self, node: ast.Attribute) -> tuple[str, str] | None:
        """The module and the name of `numpy.pi`, `numpy.linalg.norm`; None where that isn't something of a module."""
        names = [node.attr]
        inner = node.value
        while isinstance(inner, ast.Attribute) and len(names) < 3:
            names.append(inner.attr)
            inner = inner.value
        if any(name.startswith("_") for name in names):
            raise self.refuse(f"the attribute {node.attr!r:.40}")
        if not isinstance(inner, ast.Name) or inner.id not in MODULES or len(names) > 2:
            return None
        return inner.id, ".".join(reversed(names))

    def _attribute(self, node: ast.Attribute) -> Expression:
        found = self._member(node)
        if found is not None:
            return Attribute(*found)
        if node.attr not in MEMBERS:
            raise self.refuse(f"the attribute {node.attr!r:.40}")
        return Call(ARRAY, node.attr, (self.read(node.value),), ())

    def _call(self, node: ast.Call) -> Expression:
        first: tuple[Expression, ...] = ()
        if isinstance(node.func, ast.Attribute):
            module, name = self._member(node.func) or (ARRAY, node.func.attr)
            if module == ARRAY and name not in METHODS:
                raise self.refuse(f"the method {name!r:.40}")
            if module == ARRAY:
                first = (self.read(node.func.value),)
        elif isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
            module, name = "", node.func.id
        elif isinstance(node.func, ast.Name) and node.func.id in _HARMLESS:
            raise Unsupported(self.where, f"Python's function {node.func.id!r}")
        else:
            what = f"of {node.func.id!r:.40}" if isinstance(node.func, ast.Name) else "of something else than a name"
            raise self.refuse(f"a call {what}")
        arguments = (*first, *(self.read(argument) for argument in node.args))
        keywords: list[tuple[str, Expression]] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refuse("a starred argument")
            keywords.append((keyword.arg, self.read(keyword.value)))
        return Call(module, name, arguments, tuple(keywords))


def names(expression: Expression) -> tuple[str, ...]:
    """The names of values in an expression, each once, in the order in which they stand there."""
    return tuple(dict.fromkeys(part.id for part in _parts(expression) if isinstance(part, Name)))


def _parts(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of, from left to right."""
    waiting: list[Expression | Slice | None] = [expression]
    while waiting:
        part = waiting.pop()
        if part is None:
            continue
        if not isinstance(part, Slice):
            yield part
        waiting.extend(reversed(_inside(part)))


def _inside(part: Expression | Slice) -> list[Expression | Slice | None]:
    match part:
        case Unary():
            return [part.operand]
        case Binary() | Compare():
            return [part.first, *(right for _, right in part.rest)]
        case Logic():
            return list(part.parts)
        case Choice():
            return [part.then, part.condition, part.otherwise]
        case Slice():
            return [part.start, part.stop, part.step]
        case Subscript():
            return [part.base, *part.places]
        case Row():
            return list(part.items)
        case Call():
            return [*part.arguments, *(value for _, value in part.keywords)]
    return []
