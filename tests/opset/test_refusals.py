"""What can't be expressed at an older opset is refused, with the node and the reason."""

from __future__ import annotations

import pytest
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.opset import convert_opset

from .harness import converted, parse

REFUSED = [
    (
        "(bfloat16[2] a) => (bfloat16[2] y) { y = Add (a, a) }",
        13,
        7,
        r"Add-13 'y': Add-7 takes no bfloat16\[2\] \('a'\)",
    ),
    ("(string[2] a) => (bool[2] y) { y = Equal (a, a) }", 19, 10, "strings can't be compared before version 11"),
    (
        "(float8e5m2[2] x) => (int8[2] y) { y = BitCast <to = 3> (x) }",
        26,
        25,
        "the bits of float8e5m2 can't be taken for int8 before version 26",
    ),
    ("(double[2] x) => (double[2] y) { y = Atanh (x) }", 9, 8, "no formula .* is accurate for float64"),
    ("(string[1] a) => (string[1] y) { y = StringConcat (a, a) }", 20, 19, "StringConcat came with version 20"),
    (
        '(bool[2] x, int64[1] i, bool[1] u) => (bool[2] y) { y = ScatterElements <reduction = "max"> (x, i, u) }',
        18,
        17,
        "reduction=max of bool isn't deterministic",
    ),
    ("(float[3] x) => (float[2] y) { y = Slice <starts = [0], ends = [2]> (x) }", 1, 0, "there is no opset 0"),
    (
        "(float[2] x) => (float[2] y, bool[2] m) <float r = {0.5}, bool t = {1}> { y, m = Dropout (x, r, t) }",
        12,
        11,
        "training_mode can't be expressed before version 12",
    ),
    ("(float x) => (int64[n, m] y) { y = NonZero (x) }", 9, 8, "of a scalar it can't be expressed before version 9"),
    (
        "(float[2, 1] a, float[1, 3] b) => (float[2, 3] y) { y = Add (a, b) }",
        7,
        6,
        "is broadcast to",
    ),
]


@pytest.mark.parametrize(("text", "opset", "target", "reason"), REFUSED)
def test_refused_by_name(text: str, opset: int, target: int, reason: str) -> None:
    with pytest.raises((Unsupported, InvalidModel), match=reason):
        converted(parse(text, opset), target)


def test_a_type_that_is_not_known_is_not_guessed() -> None:
    text = "(float[2] x) => (float[2] y) { a = other.Make (x) y = Add (a, a) }"
    with pytest.raises(Unsupported, match="the type of 'a', which Add-7 limits, isn't known"):
        convert_opset(parse(text, 14, {"other": 1}), {"": 7})


def test_an_opset_of_the_future() -> None:
    with pytest.raises(InvalidModel, match="there is no opset 29"):
        converted(parse("(float[2] x) => (float[2] y) { y = Neg (x) }", 13), 29)


def test_a_failing_body_says_both_reasons() -> None:
    text = "(float8e4m3fn[2] t, float[2] x) => (float8e4m3fn[2] y) { y = CastLike (x, t) }"
    with pytest.raises(
        Unsupported, match=r"CastLike came with version 15; of what it is made, Cast-19 .*Cast-13 takes no"
    ):
        converted(parse(text, 19), 13)


@pytest.mark.parametrize("kind", ["float8e5m2", "bfloat16", "int4"])
def test_what_only_names_a_result_takes_no_newer_types(kind: str) -> None:
    """A CastLike to the type that there is already stands for its input, of which an Identity makes the output."""
    text = f"({kind}[2] x, {kind} like) => ({kind}[2] y) {{ y = CastLike (x, like) }}"
    with pytest.raises(Unsupported, match=f"Identity-1 takes no {kind}"):
        converted(parse(text, 25), 8)


def test_indices_along_no_axis() -> None:
    text = "(float[2] x, int64[3, 0] i) => (float[3, 2] y) { y = GatherND (x, i) }"
    with pytest.raises(Unsupported, match="a place along none of the axes"):
        converted(parse(text, 13), 10)
