"""A syntax tree to HLO text: what it looks like, and that it comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.hlo.text import parse, print_module
from backedge.convert.hlo.text.tree import (
    ArrayShape,
    Computation,
    Instruction,
    Labels,
    Module,
    Operand,
    PadDim,
    Raw,
    SliceDim,
    TokenShape,
    TupleShape,
    WindowDim,
)
from backedge.passes.errors import InvalidModel
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType, Interval

from hlo.text_cases import CASES, module
from hlo.text_compare import assert_same

F32 = ArrayShape(DType.FLOAT32)


def one(instruction: Instruction, name: str = "m") -> str:
    """The line of a module that has just this instruction."""
    lines = print_module(Module(name, [Computation("e", [instruction], 0)], "e")).splitlines()
    return lines[-3].removeprefix("  ROOT ")


def test_a_module() -> None:
    x = Instruction("x.1", ArrayShape(DType.FLOAT32, (2, Interval(0, 3)), "{1,0}"), "parameter", number=0)
    c = Instruction("c", TupleShape((F32, TokenShape())), "custom-call", [Operand("x.1"), Operand("x.1", (1, 0))])
    c.attributes = {"custom_call_target": 'a "b"\n', "metadata": Raw('{op_name="n"}')}
    body = Instruction("true", F32, "constant", literal=TensorData.of(np.float32(0.5)))
    made = Module(
        "jit_f",
        [
            Computation("body", [body], 0, {"execution_thread": Raw('"main"')}),
            Computation("main", [c, x], 0),
        ],
        "main",
        {"is_scheduled": Raw("true"), "FileNames": Raw('1 "a.py"')},
    )
    text = print_module(made)
    assert (
        text
        == """HloModule jit_f, is_scheduled=true

FileNames
1 "a.py"

body {
  ROOT %true = f32[] constant(0.5)
}, execution_thread="main"

ENTRY main {
  ROOT c = (f32[], token[]) custom-call(x.1, x.1#1#0), custom_call_target="a \\"b\\"\\n", metadata={op_name="n"}
  x.1 = f32[2,<=3]{1,0} parameter(0)
}

"""
    )
    assert_same(parse(text), made)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("dimensions", (), "{}"),
        ("dimensions", (1, 0), "{1,0}"),
        ("iota_dimension", 0, "0"),
        ("is_stable", False, "false"),
        ("epsilon", 0.001, "0.001"),
        ("direction", "LT", "LT"),
        ("operand_precision", ("highest", "default"), "{highest, default}"),
        ("custom_call_target", "LT", '"LT"'),
        ("to_apply", "add.1", "add.1"),
        ("to_apply", "nan", "%nan"),
        ("branch_computations", ("a", "true"), "{a, %true}"),
        ("slice", (), "{}"),
        ("slice", (SliceDim(0, 4), SliceDim(1, 9, 3)), "{[0:4], [1:9:3]}"),
        ("padding", (PadDim(1, -2), PadDim(0, 0, 3)), "1_-2x0_0_3"),
        ("padding", (), ""),
        ("window", (WindowDim(3), WindowDim(1)), "{size=3x1}"),
        (
            "window",
            (WindowDim(3, 2, -1, 1, 4, 5, True), WindowDim(1)),
            "{size=3x1 stride=2x1 pad=-1_1x0_0 lhs_dilate=4x1 rhs_dilate=5x1 rhs_reversal=1x0}",
        ),
        ("dim_labels", Labels("b01f", "01io", "b01f"), "b01f_01io->b01f"),
        ("sharding", Raw("{replicated}"), "{replicated}"),
        ("something_new", Raw("[1]"), "[1]"),
    ],
)
def test_attributes(name: str, value: Any, text: str) -> None:
    assert one(Instruction("r", None, "f", attributes={name: value})) == f"r = f(), {name}={text}"


@pytest.mark.parametrize("name", ["a b", "", "1a", "a=", "a,b", "é", "a\n", "%a", "a/b:0"])
def test_names_without_a_spelling_are_refused(name: str) -> None:
    for made in (
        Instruction(name, F32, "parameter", number=0),
        Instruction("a", F32, "abs", [Operand(name)]),
        Instruction("a", F32, "call", attributes={"to_apply": name}),
    ):
        with pytest.raises(InvalidModel, match="can't be a name in HLO text"):
            one(made)


@pytest.mark.parametrize("instruction", [instruction for instruction, _ in CASES])
def test_what_was_read_comes_back(instruction: str) -> None:
    read = parse(module(instruction, 'HloModule m, is_scheduled=true, x={(a)}\n\nFileNames\n1 "a"\n\n'))
    text = print_module(read)
    again = parse(text)
    assert_same(again, read)
    assert print_module(again) == text
