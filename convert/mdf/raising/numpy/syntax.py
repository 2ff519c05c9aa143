"""The text of MDF's expressions: Python's own tree of it, checked by an allow-list; nothing is ever evaluated here.

MDF's engine hands such a text to Python's `eval`. Here `ast` parses it, and what isn't arithmetic on numbers, names,
lists and the functions of `numpy.` and `math.` is no expression.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from .....passes.errors import InvalidModel, Unsupported
from .....passes.infer import words

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
"""Stands for the module of an array's methods and members."""
_HARMLESS = words("complex divmod enumerate filter list map range reversed set sorted str tuple zip")

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


def parse(text: str, where: str) -> ast.expr:
    """The tree of an expression, which has nothing in it that no expression may have.

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
            tree = ast.parse(text.lstrip(" \t"), mode="eval").body
    except (RecursionError, MemoryError):
        raise InvalidModel(f"{where}: {shown} is nested too deeply") from None
    except (SyntaxError, ValueError, OverflowError) as error:
        reason = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
        raise InvalidModel(f"{where}: {shown} is no expression ({reason:.80})") from None
    _Check(where, shown).check(tree, 1)
    return tree


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
    where: str
    shown: str

    def refuse(self, what: str) -> InvalidModel:
        return InvalidModel(f"{self.where}: {self.shown} has {what} in it, which no expression may have")

    def check(self, node: ast.expr, depth: int) -> None:
        """An expression and all in it; of a chain only operands count as nesting."""
        if depth > _DEEPEST:
            raise InvalidModel(f"{self.where}: {self.shown} is nested too deeply")
        match node:
            case ast.Constant():
                self._constant(node.value)
            case ast.Name():
                if node.id.startswith("__") and node.id.endswith("__"):
                    raise self.refuse(f"the name {node.id!r:.40}")
            case ast.Compare():
                for operator in node.ops:
                    if type(operator) not in COMPARE:
                        raise self.refuse("is" if isinstance(operator, ast.Is | ast.IsNot) else "in")
            case ast.Attribute():
                self._public(node)
                if module_member(node) is None and node.attr not in MEMBERS:
                    raise self.refuse(f"the attribute {node.attr!r:.40}")
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

    def _public(self, node: ast.Attribute) -> None:
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            if inner.attr.startswith("_"):
                raise self.refuse(f"the attribute {inner.attr!r:.40}")
            inner = inner.value

    def _call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Attribute():
                self._public(node.func)
                if module_member(node.func) is None and node.func.attr not in METHODS:
                    raise self.refuse(f"the method {node.func.attr!r:.40}")
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
