"""Equalities over the reals: random expressions against exact arithmetic in rational numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from backedge.convert import verify
from backedge.convert.files import load, to_hub
from backedge.convert.proof import matched, prove
from backedge.passes.graph import Graph

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
NAMES = "xyz"
Tree = Any
"""A name, a number, or an operator with its operands."""


def graph(folder: Path, text: str) -> Graph:
    onnx.save(onnx.parser.parse_model(HEAD + text), folder / "m.onnx")
    return to_hub(load(folder / "m.onnx"))


def tree(draw: random.Random, depth: int, operators: str) -> Tree:
    if not depth or draw.random() < 0.2:
        return draw.choice([*NAMES, *NAMES, 2, -1, 0.1])
    op = draw.choice(operators.split())
    return (op, *(tree(draw, depth - 1, operators) for _ in range(1 if op == "Neg" else 2)))


def shuffled(draw: random.Random, one: Tree) -> Tree:
    """The same number by other ways: commuted, reassociated, multiplied out, subtracted for added."""
    if not isinstance(one, tuple):
        return one
    op, *rest = (one[0], *(shuffled(draw, part) for part in one[1:]))
    if op == "Sub" and draw.random() < 0.5:
        return ("Add", rest[0], ("Neg", rest[1]))
    if op == "Neg" and draw.random() < 0.5:
        return ("Mul", rest[0], -1)
    if op in ("Add", "Mul"):
        if draw.random() < 0.5:
            rest = rest[::-1]
        left, right = rest
        if isinstance(left, tuple) and left[0] == op and draw.random() < 0.7:
            return (op, left[1], (op, left[2], right))
        if op == "Mul" and isinstance(right, tuple) and right[0] == "Add" and draw.random() < 0.7:
            return ("Add", ("Mul", left, right[1]), ("Mul", left, right[2]))
    return (op, *rest)


def value(one: Tree, given: dict[str, Fraction]) -> Fraction:
    """In exact arithmetic; a float constant is the float32 that the model holds.

    Raises:
        ZeroDivisionError: it has none.
    """
    if isinstance(one, str):
        return given[one]
    if not isinstance(one, tuple):
        return Fraction(13421773, 134217728) if one == 0.1 else Fraction(one)
    parts = [value(part, given) for part in one[1:]]
    ways: dict[str, Callable[..., Fraction]] = {
        "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b,
        "Mul": lambda a, b: a * b,
        "Div": lambda a, b: a / b,
        "Neg": lambda a: -a,
    }
    return ways[one[0]](*parts)


def model(folder: Path, one: Tree, shapes: str) -> Graph:
    lines: list[str] = []

    def written(part: Tree) -> str:
        if isinstance(part, str):
            return part
        if isinstance(part, tuple):
            text = f"{part[0]} ({', '.join(written(inner) for inner in part[1:])})"
        else:
            text = f"Constant <value_float = {float(part)}> ()"
        lines.append(f"v{len(lines)} = {text}")
        return f"v{len(lines) - 1}"

    last = written(one)
    body = "\n".join([*lines, f"o = Identity ({last})"])
    return graph(folder, f"({shapes}) => (float[a, b] o) {{ {body} }}")


SHAPES = "float[2, 3] x, float[3] y, float z"


@pytest.mark.parametrize("seed", range(60))
def test_what_is_equal_over_the_reals_is_found(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    one = ("Add", "x", tree(draw, 4, "Add Sub Mul Neg"))
    a, b = model(tmp_path, one, SHAPES), model(tmp_path, shuffled(draw, shuffled(draw, one)), SHAPES)
    assert matched(a, b, reals=True).proved


def test_what_is_found_is_equal_over_the_reals(tmp_path: Path) -> None:
    """Expressions of which many are near each other, divisions among them."""
    found = apart = 0
    for seed in range(600):
        draw = random.Random(seed)
        one = tree(draw, 3, "Add Sub Mul Div Neg")
        other = shuffled(draw, one)
        if draw.random() < 0.7:
            other = replaced(draw, other)
        a, b = (model(tmp_path, ("Add", "x", part), SHAPES) for part in (one, other))
        equal = all(_agree(one, other, draw) for _ in range(4))
        proved = matched(a, b, reals=True).proved
        assert equal or not proved, (one, other)
        found += proved
        apart += not equal
    assert found > 150 and apart > 150


def replaced(draw: random.Random, one: Tree) -> Tree:
    """An expression with one part of it changed."""
    if not isinstance(one, tuple) or draw.random() < 0.3:
        return draw.choice([*NAMES, 2, -1])
    at = draw.randrange(1, len(one))
    return (*one[:at], replaced(draw, one[at]), *one[at + 1 :])


def _agree(one: Tree, other: Tree, draw: random.Random) -> bool:
    given = {name: Fraction(draw.randrange(-50, 50), draw.randrange(1, 20)) for name in NAMES}
    try:
        return value(one, given) == value(other, given)
    except ZeroDivisionError:
        return True


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ("o = Div (x, x)", "o = Div (y, y)", False),
        ("a = Div (x, y)  o = Mul (a, y)", "o = Identity (x)", False),  # not where y is 0
        ("a = Div (x, y)  o = Div (a, z)", "a = Mul (y, z)  o = Div (x, a)", True),
        ("a = Div (x, y)  o = Div (z, a)", "a = Mul (z, y)  o = Div (a, x)", False),  # not where y is 0
        ("a = Div (y, x)  b = Div (z, x)  o = Add (a, b)", "a = Add (z, y)  o = Div (a, x)", True),
        ("t = Constant <value_float = 3.0> ()  o = Div (x, t)", "t = Constant <value_float = 0.33333334> ()"
         "  o = Mul (x, t)", False),
        ("t = Constant <value_float = 2.0> ()  o = Pow (x, t)", "o = Mul (x, x)", True),
        ("a = Sqrt (x)  o = Mul (a, a)", "o = Identity (x)", False),  # not below 0
        ("t = Constant <value_float = 0.3> ()  a = Mul (x, t)  o = MatMul (a, y)",
         "t = Constant <value_float = 0.3> ()  a = MatMul (x, y)  o = Mul (a, t)", True),
        ("t = Constant <value_float = 0.3> ()  a = Mul (x, t)  o = MatMul (a, y)",
         "t = Constant <value_float = 0.3> ()  a = MatMul (y, x)  o = Mul (a, t)", False),
        ("k = Constant <value_ints = [0]> ()  n = Neg (x)  o = ReduceSum (n, k)",
         "k = Constant <value_ints = [0]> ()  s = ReduceSum (x, k)  o = Neg (s)", True),
        ("o = Sub (x, x)", "a = Neg (y)  o = Add (y, a)", True),
        ("a = Add (x, y)  o = Exp (a)", "a = Add (y, x)  b = Add (a, z)  c = Sub (b, z)  o = Exp (c)", True),
        ("a = Cast <to = 6> (x)  b = Add (a, a)  o = Cast <to = 1> (b)",
         "a = Cast <to = 6> (x)  t = Constant <value_int = 2> ()  i = Cast <to = 6> (t)  b = Mul (a, i)"
         "  o = Cast <to = 1> (b)", True),
    ],
)  # fmt: skip
def test_what_counts_as_equal(a: str, b: str, equal: bool, tmp_path: Path) -> None:
    both = [graph(tmp_path, f"(float[2, 2] x, float[2, 2] y, float[2, 2] z) => (float[m, n] o) {{ {one} }}")
            for one in (a, b)]  # fmt: skip
    assert matched(both[0], both[1], reals=True).proved == equal


def test_loops_are_followed_over_the_reals(tmp_path: Path) -> None:
    text = """(int64 n, float[3] x, float[3] k) => (float[3] y) {{ t = Constant <value = bool {{1}}> ()
        y = Loop (n, t, x) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] r) {{
            on = Identity (go)  {} }}> }}"""
    a = graph(tmp_path, text.format("a = Mul (s, k)  b = Add (a, k)  r = Add (b, s)"))
    b = graph(tmp_path, text.format("a = Add (s, k)  m = Mul (k, s)  r = Add (m, a)"))
    c = graph(tmp_path, text.format("a = Add (s, k)  m = Mul (k, k)  r = Add (m, a)"))
    assert matched(a, b, reals=True).proved and not matched(a, b).proved
    assert not matched(a, c, reals=True).proved


def test_it_is_said_and_sampled_all_the_same(tmp_path: Path) -> None:
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    texts = "a = Add (x, y)  o = Add (a, z)", "a = Add (y, z)  o = Add (x, a)"
    for path, text in zip(paths, texts, strict=True):
        onnx.save(
            onnx.parser.parse_model(f"{HEAD}(float[3] x, float[3] y, float[3] z) => (float[3] o) {{{text}}}"), path
        )
    report = verify(*paths, trials=6)
    assert report.verdict == "equal" and len(report.trials) >= 6
    assert report.proof is not None and report.proof["over_reals"] and not report.proof["holds"]
    assert any("proved equal over the reals" in reason for reason in report.reasons)
    assert not prove(*(to_hub(load(path)) for path in paths)).over_reals  # not asked for
