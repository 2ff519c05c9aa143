"""Small texts that say very large models, or none: one line each."""

from __future__ import annotations

import pytest
from backedge.convert.files import to_hub
from backedge.convert.hlo.read import from_text
from backedge.passes.errors import InvalidModel

_LEAF = "c0 {\n  a = f32[] parameter(0)\n  ROOT b = f32[] add(a, a)\n}\n"
_TEST = "k {\n  a = f32[] parameter(0)\n  z = f32[] constant(9)\n  ROOT b = pred[] compare(a, z), direction=LT\n}\n"


def doubling(levels: int, twice: str) -> str:
    """Each computation does the one before twice: `twice` says how, with X for the operand."""
    parts = ["HloModule m\n", _LEAF, _TEST]
    for level in range(levels):
        first, second = (twice.format(level).replace("X", operand) for operand in "ab")
        parts.append(f"c{level + 1} {{\n  a = f32[] parameter(0)\n  b = f32[] {first}\n  ROOT d = f32[] {second}\n}}\n")
    last = twice.format(levels).replace("X", "a")
    return "\n".join([*parts, f"ENTRY e {{\n  a = f32[] parameter(0)\n  ROOT b = f32[] {last}\n}}\n"])


@pytest.mark.parametrize("twice", ["call(X), to_apply=c{}", "while(X), condition=k, body=c{}"])
def test_what_doubles_is_refused(twice: str) -> None:
    to_hub(from_text(doubling(3, twice)))
    with pytest.raises(InvalidModel, match=r"written out, .* more than") as caught:
        to_hub(from_text(doubling(40, twice)))
    assert "\n" not in str(caught.value)


def test_what_applies_itself_is_refused() -> None:
    text = "HloModule m\nc {\n  a = f32[] parameter(0)\n  ROOT b = f32[] call(a), to_apply=c\n}\n"
    with pytest.raises(InvalidModel, match="calls itself"):
        from_text(text + "ENTRY e {\n  a = f32[] parameter(0)\n  ROOT b = f32[] call(a), to_apply=c\n}\n")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ROOT b = f32[] add(a, c)", "line 4, column 8: b: there is no instruction 'c'"),
        ("ROOT b = f32[2] add(a, a)", "line 4, column 8: b: it is declared"),
        ("ROOT b = f32[] call(a), to_apply=nowhere", "line 4, column 8: b: there is no computation 'nowhere'"),
        ("ROOT b = f32[] get-tuple-element(a), index=0", "line 4, column 8: b: its operand has no element 0"),
        ("ROOT a = f32[] negate(a)", "line 4, column 8: a second instruction"),
        ("ROOT b = f32[] parameter(2)", "line 4, column 8: b: there is no parameter 1"),
    ],
)
def test_what_contradicts_itself_is_told_by_its_place(line: str, reason: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        from_text(f"HloModule m\nENTRY e {{\n  a = f32[] parameter(0)\n  {line}\n}}\n")
    assert str(caught.value).startswith(reason)
