"""The text of expressions: what is one, what is none, and that nothing of it is ever evaluated."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from backedge.convert.mdf.raising.numpy import calls
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.runtime.oracles import mdf_syntax as syntax

from mdf.evaluated import ours

GOOD = [
    "1",
    " -2.5",
    "True",
    "-True",
    "1_000",
    "x",
    "not x",
    "a + b - c",
    "a - (b - c)",
    "-a ** 2",
    "0 < a <= 1",
    "a and b and c",
    "a if b else c",
    "x[0]",
    "x[1:, ::2]",
    "x[None, ...]",
    "[a, (b,)]",
    "numpy.pi",
    "numpy.sum(x, axis=0)",
    "numpy.linalg.norm(x)",
    "math.exp(x)",
    "abs(x)",
    "x.T",
    "x.sum(1)",
    "\uff4e\uff55\uff4d\uff50\uff59.exp(x)",
]


@pytest.mark.parametrize("text", GOOD)
def test_trees(text: str) -> None:
    """What an expression may have is left as Python reads it."""
    assert ast.dump(syntax.parse(text, "here")) == ast.dump(ast.parse(text.strip(), mode="eval").body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("numpy.sum(x)", ("numpy", "sum")),
        ("numpy.linalg.norm(x)", ("numpy", "linalg.norm")),
        ("\uff4e\uff55\uff4d\uff50\uff59.exp(x)", ("numpy", "exp")),
        ("math.exp(x)", ("math", "exp")),
        ("abs(x)", ("", "abs")),
        ("x.sum(1)", ("array", "sum")),
    ],
)
def test_what_is_called(text: str, expected: tuple[str, str]) -> None:
    tree = syntax.parse(text, "here")
    assert isinstance(tree, ast.Call) and syntax.callee(tree) == expected


def test_chains() -> None:
    tree = syntax.parse("a + b * 2 - (c - d)", "here")
    assert isinstance(tree, ast.BinOp)
    first, rest = syntax.chain(tree)
    assert ast.unparse(first) == "a"
    assert [(symbol, ast.unparse(right)) for symbol, right in rest] == [("+", "b * 2"), ("-", "c - d")]


HOSTILE = [
    "__import__('os').system('touch was-here')",
    "__import__('os')",
    "().__class__",
    "().__class__.__bases__[0].__subclasses__()",
    "[].__class__.__mro__",
    "x.__class__",
    "x.__array_interface__",
    "numpy.__builtins__",
    "numpy.__dict__['load']",
    "numpy.__loader__",
    "math.__doc__",
    "math.__loader__.load_module('os')",
    "numpy.core",
    "numpy.lib.npyio.load('x')",
    "numpy.ctypeslib.load_library('x', 'y')",
    "numpy.testing.measure('1')",
    "numpy.f2py.compile('x')",
    "numpy.os",
    "numpy.sys.exit()",
    "numpy.load('/etc/passwd')",
    "numpy.loadtxt('/etc/passwd')",
    "numpy.genfromtxt('/etc/passwd')",
    "numpy.fromfile('/etc/passwd')",
    "numpy.memmap('was-here')",
    "numpy.save('was-here', x)",
    "numpy.savetxt('was-here', x)",
    "numpy.frompyfunc(abs, 1, 1)",
    "numpy.vectorize(abs)(x)",
    "numpy.fromfunction(abs, 3)",
    "numpy.apply_along_axis(abs, 0, x)",
    "numpy.seterr(3)",
    "numpy.exp.reduce(x)",
    "numpy.add.at(x, 0, 1)",
    "numpy.ndarray(3)",
    "numpy.dtype('O')",
    "numpy",
    "math",
    "open('/etc/passwd')",
    "open('was-here', 'w')",
    "eval('1')",
    "exec('1')",
    "compile('1', '', 'eval')",
    "globals()",
    "locals()",
    "vars()",
    "dir()",
    "getattr(x, 'T')",
    "setattr(x, 'T', 1)",
    "type(x)",
    "input()",
    "print(x)",
    "exit()",
    "breakpoint()",
    "help(x)",
    "super()",
    "object()",
    "memoryview(x)",
    "abs.__self__",
    "abs",
    "lambda: 1",
    "(lambda: 1)()",
    "[y for y in x]",
    "{y for y in x}",
    "{y: y for y in x}",
    "(y for y in x)",
    "sum(y for y in x)",
    "{1: 2}",
    "{1, 2}",
    "(y := 5)",
    "f'{x}'",
    "f'{open(1)}'",
    "await x",
    "yield x",
    "(yield)",
    "*x",
    "[*x]",
    "abs(*x)",
    "abs(**x)",
    "numpy.sum(x, **x)",
    "a.b",
    "x.data",
    "x.tofile('was-here')",
    "x.dump('was-here')",
    "x.ctypes",
    "x.base",
    "x.sum",
    "x.T()",
    "x()",
    "x[0]()",
    "(1)(2)",
    "'text'",
    "b'bytes'",
    "x is x",
    "x in x",
    "1j",
    "...",
    "None",
    "import os",
    "x = 1",
    "x; x",
    "x\nx",
    "del x",
    "",
    " ",
    "# x",
    "x\0",
    "1 +",
    ")",
    "x..y",
    "0x",
    "\u202ex",
    "x\u200b",
    "\uff3f\uff3fimport\uff3f\uff3f('os')",
    "numpy.\uff4c\uff4f\uff41\uff44('x')",
    "x.\uff3f\uff3fclass\uff3f\uff3f",
    "\ud800",
    "10 ** 10 ** 10",
    "-10 ** 100000",
    "9 ** 9 ** 9 ** 9",
    "0 ** -1",
    "1 // 0",
    "'a' * 10 ** 9",
]
LONG = {
    "minus": "-" * 99_000 + "1",
    "tilde": "~" * 99_000 + "1",
    "not": "not " * 24_000 + "1",
    "open": "(" * 99_000,
    "brackets": "(" * 49_000 + ")" * 49_000,
    "lists": "[" * 49_000 + "]" * 49_000,
    "dictionaries": "{" * 49_000 + "}" * 49_000,
    "calls": "abs(" * 20_000 + "1" + ")" * 20_000,
    "subscripts": "x" + "[0]" * 30_000,
    "nested subscripts": "x[" * 30_000 + "0" + "]" * 30_000,
    "attributes": "x" + ".T" * 49_000,
    "sum": "a" + "+a" * 49_000,
    "longer sum": "a" + "+a" * 100_000,
    "powers": "a" + "**a" * 33_000,
    "choices": "1 if 1 else " * 8_000 + "1",
    "lambdas": "lambda:" * 14_000 + "1",
    "digits": "9" * 100_000,
    "more digits": "9" * 5_000 + "+1",
    "hexadecimal": "0x" + "f" * 90_000,
    "fraction": "." + "9" * 99_999 + "+",
    "name": "a" * 99_000 + "b",
    "words": "a " * 49_000,
    "unclosed text": "'" + "a" * 99_000,
    "text": "'" + "a" * 90_000 + "'",
    "signs in brackets": "(" * 190 + "x" + ")" * 190 + "+" * 300 + "1",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", [*HOSTILE, *(pytest.param(text, id=name) for name, text in LONG.items())])
def test_hostile(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One clear line, soon, and nothing happens."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidModel) as caught:
        ours(text, x=[1.0, 2.0])
    message = str(caught.value)
    assert message.startswith("here") and "\n" not in message and len(message) < 300
    assert not list(tmp_path.iterdir())


def test_long_but_flat() -> None:
    """Chains aren't nesting."""
    assert ours("+".join(["a"] * 700), a=1) == 700
    assert ours("-".join(["a"] * 700), True, a=1) == -698
    assert ours(" and ".join(["a"] * 300), True, a=1) == 1
    assert ours(" < ".join(map(str, range(300)))) == 1
    assert ours("sum([" + ", ".join(["1"] * 1000) + "])") == 1000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("numpy.random.rand(3)", "random"),
        ("numpy.random.normal(0, 1)", "random"),
        ("numpy.fft.fft(x)", "numpy.fft.fft"),
        ("numpy.linalg.inv(x)", "numpy.linalg.inv"),
        ("numpy.kron(x, x)", "numpy.kron"),
        ("numpy.gcd(1, 2)", "numpy.gcd"),
        ("math.gamma(2)", "math.gamma"),
        ("math.factorial(5)", "math.factorial"),
        ("sorted(x)", "sorted"),
        ("list(x)", "list"),
        ("numpy.sum(x, where=x)", "where"),
        ("numpy.exp(x, out=x)", "out"),
        ("1 << 2", "<<"),
        ("2 ** 64", "65 bits"),
        ("3 ** 64", "64 are the most"),
        ("3 ** 100", "more than 64 bits"),
        ("-(2 ** 63) - 1", "64 bits"),
        ("18446744073709551615 + 1", "64 are the most"),
        ("numpy.exp(True)", "float16"),
        ("True if x else False", "neither true nor false"),
    ],
)
def test_said_to_be_missing(text: str, reason: str) -> None:
    """What MDF has and we haven't is told from what is wrong."""
    with pytest.raises(Unsupported, match="here") as caught:
        ours(text, x=[1.0, 2.0])
    assert reason in str(caught.value)


def test_names() -> None:
    assert syntax.names(syntax.parse("b + a[c:d, e] * numpy.exp(f, axis=g) if h else not (b, i.T)[0] < j", "here")) == (
        "b",
        "a",
        "c",
        "d",
        "e",
        "f",
        "g",
        "h",
        "i",
        "j",
    )
    assert syntax.names(syntax.parse("numpy.pi * math.e + abs(1)", "here")) == ()


def test_the_methods_that_are_read_are_those_that_are_known() -> None:
    assert set(calls.TABLES[syntax.ARRAY]) == (syntax.METHODS | syntax.MEMBERS) - {"dtype", "nonzero"}
    assert set(calls.TABLES[""]) == syntax.BUILTINS


@pytest.mark.parametrize("text", ["x.argsort()", "x.nonzero()", "x.dtype", "numpy.argsort(x)"])
def test_what_only_the_engine_has_is_unsupported(text: str) -> None:
    with pytest.raises(Unsupported):
        ours(text, x=[1.0, 2.0])
