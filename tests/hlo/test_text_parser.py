"""HLO text to a syntax tree: every feature of the grammar."""

from __future__ import annotations

from typing import Any

import pytest
from backedge.convert.hlo.raising.collectives import replica_groups
from backedge.convert.hlo.text import parse
from backedge.convert.hlo.text.tree import (
    ArrayShape,
    Computation,
    HloShape,
    Instruction,
    Operand,
    Raw,
    TokenShape,
    TupleShape,
)
from backedge.passes.errors import InvalidModel
from backedge.passes.types import DType, Interval

from hlo.text_cases import CASES, module

F32 = DType.FLOAT32


def only(text: str) -> Computation:
    (computation,) = parse(text).computations
    return computation


def root(text: str) -> Instruction:
    computation = parse(text).computations[-1]
    return computation.instructions[computation.root]


@pytest.mark.parametrize(("instruction", "attributes"), CASES, ids=[case[0][:60] for case in CASES])
def test_attributes_of(instruction: str, attributes: dict[str, Any]) -> None:
    found = root(module(instruction))
    assert found.attributes == attributes
    assert list(map(type, found.attributes.values())) == list(map(type, attributes.values()))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("f32[]", ArrayShape(F32)),
        ("f32[2,3]{1,0}", ArrayShape(F32, (2, 3), "{1,0}")),
        ("f32[2,3] { 1 , 0 }", ArrayShape(F32, (2, 3), "{ 1 , 0 }")),
        ("f32 [2]", ArrayShape(F32, (2,))),
        ("f32[ 2, /*two*/ 3 ]", ArrayShape(F32, (2, 3))),
        ("f32[0]", ArrayShape(F32, (0,))),
        ("bf16[<=3,?]", ArrayShape(DType.BFLOAT16, (Interval(0, 3), None))),
        (
            "s4[8,128]{1,0:T(8,128)(2,1)E(4)S(1)}",
            ArrayShape(DType.INT4, (8, 128), "{1,0:T(8,128)(2,1)E(4)S(1)}"),
        ),
        ("f32[]{:T(256)}", ArrayShape(F32, (), "{:T(256)}")),
        ("f32[2]{0:D(D)P(f32[2]{0})}", ArrayShape(F32, (2,), "{0:D(D)P(f32[2]{0})}")),
        ("f32[2]{0:T(8)L(4)#(u32)*(u32)SC(0:100)M(1)}", ArrayShape(F32, (2,), "{0:T(8)L(4)#(u32)*(u32)SC(0:100)M(1)}")),
        ("token[]", TokenShape()),
        ("()", TupleShape()),
        (
            "( f32[2] , /*index=1*/(pred[], token[]))",
            TupleShape((ArrayShape(F32, (2,)), TupleShape((ArrayShape(DType.BOOL), TokenShape())))),
        ),
        ("f32[1073741824,0]", ArrayShape(F32, (1073741824, 0))),
    ],
)
def test_shapes(text: str, shape: HloShape) -> None:
    assert root(f"e {{ r = {text} parameter(0) }}").shape == shape


def test_what_jax_prints() -> None:
    parsed = parse(
        """HloModule jit_f, entry_computation_layout={(f32[3]{0})->(f32[3]{0}, s32[])}

region_0.1 {
  a.1 = f32[3]{0} parameter(0)
  ROOT n.2 = f32[3]{0} negate(a.1)
}

ENTRY main.3 {
  x.1 = f32[3]{0} parameter(0)
  ROOT t.2 = (f32[3]{0}, s32[]) tuple(call.3, constant.4)
  call.3 = f32[3]{0} call(x.1), to_apply=region_0.1
  constant.4 = s32[] constant(-7)
}

"""
    )
    assert (parsed.name, parsed.entry) == ("jit_f", "main.3")
    assert parsed.attributes == {"entry_computation_layout": Raw("{(f32[3]{0})->(f32[3]{0}, s32[])}")}
    region, main = parsed.computations
    assert (region.name, region.root, region.line, region.column) == ("region_0.1", 1, 3, 1)
    assert (main.name, main.root, main.line, main.column) == ("main.3", 1, 8, 7)
    names = [(found.name, found.opcode, found.line, found.column) for found in main.instructions]
    assert names == [
        ("x.1", "parameter", 9, 3),
        ("t.2", "tuple", 10, 8),
        ("call.3", "call", 11, 3),
        ("constant.4", "constant", 12, 3),
    ]
    assert main.instructions[1].operands == [Operand("call.3"), Operand("constant.4")]
    assert main.instructions[0].number == 0
    assert main.instructions[3].literal.numpy() == -7


def test_a_dump_after_optimization() -> None:
    parsed = parse(
        """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[3]{0})->f32[3]{0}}, """
        """input_output_alias={ {}: (0, {}, may-alias) }, frontend_attributes={fingerprint="a}b"}, num_partitions=2

FileNames
1 "/tmp/x \\"y\\".py"

FunctionNames
1 "f.<locals>.body"
2 "g"

FileLocations
1 {file_name_id=1 function_name_id=1 line=6 end_line=6 column=12 end_column=35}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%fused_computation (p.0: f32[3], p.1: (f32[], s32[3])) -> f32[3] {
  %p.0 = f32[3]{0} parameter(0)
  %p.1 = (f32[], s32[3]{0}) parameter(1)
  ROOT %add.1 = f32[3]{0} add(f32[3]{0} %p.0, f32[3]{0} %p.0), metadata={op_name="jit(f)/add" stack_frame_id=1}
}, execution_thread="main"

ENTRY %main (x: f32[3]) -> f32[3] {
  %x = f32[3]{0} parameter(0), sharding={replicated}
  ROOT %fusion = f32[3]{0} fusion(%x, (f32[], s32[3]{0}) %x), kind=kLoop, calls=%fused_computation
}
"""
    )
    assert list(parsed.attributes) == [
        "is_scheduled",
        "entry_computation_layout",
        "input_output_alias",
        "frontend_attributes",
        "num_partitions",
        "FileNames",
        "FunctionNames",
        "FileLocations",
        "StackFrames",
    ]
    assert parsed.attributes["input_output_alias"] == Raw("{ {}: (0, {}, may-alias) }")
    assert parsed.attributes["FunctionNames"] == Raw('1 "f.<locals>.body"\n2 "g"')
    fused, main = parsed.computations
    assert (fused.name, fused.attributes) == ("fused_computation", {"execution_thread": Raw('"main"')})
    assert fused.instructions[2].operands == [Operand("p.0"), Operand("p.0")]
    assert main.instructions[1].operands == [Operand("x"), Operand("x")]
    assert main.instructions[1].attributes["calls"] == "fused_computation"
    assert main.instructions[0].attributes == {"sharding": Raw("{replicated}")}


def test_blanks_and_comments_stand_anywhere() -> None:
    computation = only(
        "/* a */ENTRY// b\n e{p = f32[2]/**/parameter/* c */( 0 )q = f32[2] add ( p,/*}*/p )\t"
        "ROOT/* */r = f32[] slice(q), slice = ".replace("slice = ", "slice=\r\n")
        + '{ [ 0 : 2 : 1 ] }, metadata=/* d */{ op_name = "/*" /* } */ } // end'
        "\n}//"
    )
    assert [found.opcode for found in computation.instructions] == ["parameter", "add", "slice"]
    assert computation.root == 2
    assert computation.instructions[2].attributes["metadata"] == Raw('{ op_name = "/*" /* } */ }')


def test_without_a_root_the_last_instruction_is_it() -> None:
    assert only("e { a = f32[] parameter(0) b = f32[] negate(a) }").root == 1


def test_without_an_entry_the_last_computation_is_it() -> None:
    text = "a { x = f32[] parameter(0) } b { x = f32[] parameter(0) }"
    assert parse(text).entry == "b"
    assert parse("ENTRY " + text).entry == "a"


def test_names_are_those_of_one_computation() -> None:
    first, second = parse("a { x = f32[] parameter(0) } ENTRY x { x = f32[] parameter(0) }").computations
    assert first.instructions[0].name == second.instructions[0].name == "x"


@pytest.mark.parametrize("name", ["add", "parameter", "constant", "b", "metadata", "a-b.c_d", "_", "ROOTS", "ENTRY.1"])
def test_names_that_look_like_something_else(name: str) -> None:
    computation = only(f"{name} {{ {name} = f32[] parameter(0) ROOT q = f32[] negate({name}) }}")
    assert computation.instructions[0].name == name
    assert computation.instructions[1].operands == [Operand(name)]


@pytest.mark.parametrize("name", ["true", "inf", "f32", "token", "ENTRY", "manual"])
def test_reserved_words_are_names_after_a_percent_sign(name: str) -> None:
    assert only(f"e {{ %{name} = f32[] parameter(0) }}").instructions[0].name == name
    with pytest.raises(InvalidModel, match=rf"^line 1, column 5: {name} is reserved$"):
        parse(f"e {{ {name} = f32[] parameter(0) }}")


def test_shapes_may_be_missing() -> None:
    computation = only("e { a = f32[2] parameter(0) b = negate(a) }")
    assert computation.instructions[1].shape is None


def test_paths_after_an_operand() -> None:
    computation = only("e { a = (f32[], (s32[], f32[2])) parameter(0) b = f32[2] negate(f32[2] a#1#1) c = abs(%a#0) }")
    assert computation.instructions[1].operands == [Operand("a", (1, 1))]
    assert computation.instructions[2].operands == [Operand("a", (0,))]


def test_instructions_in_operands_come_first() -> None:
    text = (
        "e { inner.1 = f32[2] parameter(0) "
        "ROOT r = f32[2] add(f32[2] multiply(inner.1, f32[2] constant({1,2})), negate(inner.1)) }"
    )
    computation = only(text)
    assert [(found.name, found.opcode) for found in computation.instructions] == [
        ("inner.1", "parameter"),
        ("inner_.2", "constant"),
        ("inner_.1", "multiply"),
        ("inner_.3", "negate"),
        ("r", "add"),
    ]
    assert computation.instructions[2].operands == [Operand("inner.1"), Operand("inner_.2")]
    assert computation.instructions[4].operands == [Operand("inner_.1"), Operand("inner_.3")]
    assert computation.root == 4
    assert (computation.instructions[3].shape, computation.instructions[3].column) == (None, text.index("negate") + 1)


def test_computations_where_they_are_applied_come_first() -> None:
    parsed = parse(
        """ENTRY e {
  x = f32[] parameter(0)
  ROOT w = f32[] while(x), condition=
  {
    t = f32[] parameter(0)
    ROOT c = pred[] compare(t, t), direction=LT
  }, body={ t = f32[] parameter(0) i = s32[] constant(0)
    ROOT n = f32[] conditional(i, t), branch_computations={ { u = f32[] parameter(0) }, other }
  }, metadata={op_name="w"}
}
other { u = f32[] parameter(0) }
"""
    )
    assert [found.name for found in parsed.computations] == ["inner.1", "inner.3", "inner.2", "e", "other"]
    assert parsed.entry == "e"
    attributes = parsed.computations[3].instructions[1].attributes
    assert attributes == {"condition": "inner.1", "body": "inner.2", "metadata": Raw('{op_name="w"}')}
    assert parsed.computations[2].instructions[2].attributes == {"branch_computations": ("inner.3", "other")}


def test_wrapped_instructions_take_what_they_wrap_takes() -> None:
    text = (
        "c { a = f32[4] parameter(0) } ENTRY e { a = f32[4] parameter(0) "
        's = ((f32[4]), f32[4], s32[]) call-start(a), to_apply=c, async_execution_thread="t" '
        "ROOT d = f32[4] call-done(s), to_apply=c }"
    )
    start, done = parse(text).computations[1].instructions[1:]
    assert start.attributes == {"to_apply": "c", "async_execution_thread": "t"}
    assert (done.opcode, done.attributes) == ("call-done", {"to_apply": "c"})


def test_attributes_nobody_knows_are_carried() -> None:
    text = 'e { a = f32[] parameter(0), new_thing={[(1,"}"),{}]}, other=<=x->y, third=7, last="z" b = f32[] abs(a) }'
    first, second = only(text).instructions
    assert first.attributes == {
        "new_thing": Raw('{[(1,"}"),{}]}'),
        "other": Raw("<=x->y"),
        "third": Raw("7"),
        "last": Raw('"z"'),
    }
    assert second.opcode == "abs"


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("{}", ()),
        ("{{0}}", ((0,),)),
        ("{{0,1},{2, 3}}", ((0, 1), (2, 3))),
        ("{{}}", ((),)),
        ("[2,4]<=[8]", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("[4,2]<=[2,4]T(1,0)", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("[1,1]<=[1]", ((0,),)),
        ("[2,4]<=[9]", None),
        ("[2,4]<=[8]T(1)", None),
        ("[1,4611686018427387904]<=[4611686018427387904]", None),
        ("mesh['x'=2]", None),
        ("{{0,1},{2", None),
        ("", None),
    ],
)
def test_replica_groups(text: str, groups: tuple[tuple[int, ...], ...] | None) -> None:
    assert replica_groups(text) == groups
