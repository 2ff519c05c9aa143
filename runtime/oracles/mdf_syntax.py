"""The text of MDF's expressions: Python's own tree of it, checked by an allow-list before anybody evaluates it.

MDF's engine hands such a text to Python's `eval`. Here `ast` parses it, and what isn't arithmetic on numbers, names,
lists and the functions of `numpy.` and `math.` is no expression. What raises MDF takes the tree, and the session of
MDF's engine (`mdf_guard`) lets nothing else be evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from ...passes.errors import InvalidModel, Unsupported
from ...passes.threads import without_warnings

MODULES = ("numpy", "math")
BUILTINS = frozenset("abs all any bool float int len max min pow round sum".split())  # noqa: SIM905
"""Python's own functions that mean something on numbers and arrays."""
METHODS = frozenset(
    """
    all any argmax argmin argsort astype clip copy cumprod cumsum diagonal dot flatten item max mean min nonzero prod
    ravel repeat reshape round squeeze std sum swapaxes take trace transpose var
    """.split()  # noqa: SIM905
)
MEMBERS = frozenset(("T", "dtype", "ndim", "shape", "size"))
"""What may stand behind the dot of an array, called or not."""
ARRAY = "array"
"""Stands for the module of an array's methods and members."""
_HARMLESS = frozenset(
    "complex divmod enumerate filter list map range reversed set sorted str tuple zip".split()  # noqa: SIM905
)
MOST_CHARACTERS = 100_000
MOST_DIGITS = 4300
"""Digits of an integer; Python reads no longer ones."""
_DEEPEST = 200
_MOST_BITS = 1024
_LONGEST = 200


UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
BINARY: dict[type[ast.operator], str] = {
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
COMPARE: dict[type[ast.cmpop], str] = {
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


MemberCheck = Callable[[str, str, bool], bool]
"""(module, name, whether it is called) -> whether an expression may have it."""


def parse(text: str, where: str) -> ast.expr:
    """The tree of an expression, which has nothing in it that no expression may have.

    Args:
        where: names the place for messages.

    Raises:
        InvalidModel: it is none, or has something in it that none may have; nothing of it was evaluated.
        Unsupported: it calls a function of Python's that makes no number.
    """
    try:
        tree = unchecked(text)
    except SyntaxError as error:
        raise InvalidModel(f"{where}: {error.msg}") from None
    check(tree, text, where)
    return tree


def unchecked(text: str) -> ast.expr:
    """The tree of a text that may be an expression.

    Raises:
        SyntaxError: it is none; its message says why.
    """
    if len(text) > MOST_CHARACTERS:
        raise SyntaxError(f"an expression of {len(text)} characters ({MOST_CHARACTERS} are the most)")
    try:
        with without_warnings():  # of odd spellings, which aren't ours to judge
            return ast.parse(text.lstrip(" \t"), mode="eval").body
    except (RecursionError, MemoryError):
        raise SyntaxError(f"{_shown(text)} is nested too deeply") from None
    except (SyntaxError, ValueError, OverflowError) as error:
        reason = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
        raise SyntaxError(f"{_shown(text)} is no expression ({reason:.80})") from None


def check(tree: ast.expr, text: str, where: str, may_have: MemberCheck = lambda module, name, called: True) -> None:
    """Refuse a tree that has something in it that no expression may have.

    Args:
        text: what it is the tree of.
        may_have: looks at what it names of `numpy` and `math`.

    Raises:
        InvalidModel, Unsupported: as `parse`.
    """
    _Check(f"{where}: {_shown(text)}" if where else _shown(text), where, may_have).check(tree, 1)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def number_in(text: str) -> int | float | None:
    """A text as Python reads an integer or else a float; None where it is neither."""
    if len(text) > MOST_DIGITS:
        return None
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None


# the parts of an expression ----------------------------------------------------------------------


def chain(node: ast.BinOp) -> tuple[ast.expr, list[tuple[str, ast.expr]]]:
    """Operators that are done one after the other: the first operand, then each operator with its right operand."""
    rest: list[tuple[str, ast.expr]] = []
    first: ast.expr = node
    while isinstance(first, ast.BinOp):
        rest.append((BINARY[type(first.op)], first.right))
        first = first.left
    return first, rest[::-1]


def index_items(node: ast.Subscript) -> list[ast.expr]:
    """What stands in an index, one for each axis; `ast.Slice` among them."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def module_member(node: ast.Attribute) -> tuple[str, str] | None:
    """The module and the name of `numpy.pi`, `numpy.linalg.norm`; None where that isn't something of a module."""
    names = [node.attr]
    inner = node.value
    while isinstance(inner, ast.Attribute) and len(names) < 3:
        names.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id not in MODULES or len(names) > 2:
        return None
    return inner.id, ".".join(reversed(names))


def callee(node: ast.Call) -> tuple[str, str]:
    """Module and name of what is called; of a builtin the module is "", of an array's method `ARRAY`."""
    if isinstance(node.func, ast.Attribute):
        return module_member(node.func) or (ARRAY, node.func.attr)
    assert isinstance(node.func, ast.Name)
    return "", node.func.id


def subexpressions(node: ast.expr) -> list[ast.expr]:
    """The expressions that an expression is made of."""
    match node:
        case ast.BinOp():
            first, rest = chain(node)
            return [first, *(right for _, right in rest)]
        case ast.Subscript():
            return [node.value, *index_items(node)]
        case ast.Attribute():
            return [] if module_member(node) else [node.value]
        case ast.Call():
            array = [] if isinstance(node.func, ast.Name) else subexpressions(node.func)
            return [*array, *node.args, *(keyword.value for keyword in node.keywords)]
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]


def names(tree: ast.expr) -> tuple[str, ...]:
    """The names of values in an expression, each once, in the order in which they stand there."""
    found: list[ast.Name] = []
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name):
            found.append(part)
        waiting += subexpressions(part)
    return tuple(dict.fromkeys(name.id for name in sorted(found, key=lambda name: (name.lineno, name.col_offset))))


# what an expression may have ---------------------------------------------------------------------


@dataclass
class _Check:
    shown: str
    where: str
    may_have: MemberCheck

    def refuse(self, what: str) -> InvalidModel:
        return InvalidModel(f"{self.shown} has {what} in it, which no expression may have")

    def check(self, node: ast.expr, depth: int) -> None:
        """An expression and all in it; of a chain only operands count as nesting."""
        if depth > _DEEPEST:
            raise InvalidModel(f"{self.shown} is nested too deeply")
        match node:
            case ast.Constant():
                self._constant(node.value)
            case ast.Name():
                if (node.id.startswith("__") and node.id.endswith("__")) or node.id in MODULES:
                    raise self.refuse(f"the name {node.id!r:.40}")
            case ast.Compare():
                for operator in node.ops:
                    if type(operator) not in COMPARE:
                        raise self.refuse("is" if isinstance(operator, ast.Is | ast.IsNot) else "in")
            case ast.Attribute():
                self._member(node, "attribute", MEMBERS)
            case ast.Call():
                self._call(node)
            case ast.UnaryOp() | ast.BinOp() | ast.BoolOp() | ast.IfExp() | ast.Subscript() | ast.Slice():
                pass
            case ast.List() | ast.Tuple():
                pass
            case _:
                raise self.refuse(_FORBIDDEN.get(type(node), type(node).__name__))
        for part in subexpressions(node):
            self.check(part, depth + 1)

    def _constant(self, value: object) -> None:
        if isinstance(value, str) and len(value) > _LONGEST:
            raise self.refuse(f"a text of {len(value)} characters")
        if value is not None and value is not ... and not isinstance(value, bool | int | float | str):
            raise self.refuse("a complex number" if isinstance(value, complex) else "bytes")
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise self.refuse(f"an integer of {value.bit_length()} bits")

    def _member(self, node: ast.Attribute, kind: str, known: frozenset[str]) -> None:
        """What stands behind a dot: of a module, or one of these of an array."""
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            if inner.attr.startswith("_"):
                raise self.refuse(f"the attribute {inner.attr!r:.40}")
            inner = inner.value
        found = module_member(node)
        if not (node.attr in known if found is None else self.may_have(*found, kind == "method")):
            raise self.refuse(f"the {kind} {node.attr if found is None else '.'.join(found)!r:.40}")

    def _call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Attribute():
                self._member(node.func, "method", METHODS)
            case ast.Name(name) if name in _HARMLESS:
                raise Unsupported(self.where, f"Python's function {name!r}")
            case ast.Name(name) if name not in BUILTINS:
                raise self.refuse(f"a call of {name!r:.40}")
            case ast.Name():
                pass
            case _:
                raise self.refuse("a call of something else than a name")
        if any(keyword.arg is None for keyword in node.keywords):
            raise self.refuse("a starred argument")
