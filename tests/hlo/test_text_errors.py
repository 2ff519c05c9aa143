"""Malformed HLO text: one clear line that says where, and nothing else, however it is damaged."""

from __future__ import annotations

import random
import re

import pytest
from backedge.convert.hlo.text import parse
from backedge.convert.hlo.text.tree import Module
from backedge.passes.errors import InvalidModel

from hlo.text_cases import CASES, module

P = "p = f32[2,3] parameter(0)"
INLINE = "a = f32[] call(), to_apply={ "


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@", "a computation expected, the end of the text found"),
        ("// nothing\n@", "a computation expected, the end of the text found"),
        ("HloModule@", "the module's name expected, the end of the text found"),
        ("HloModule @, x=1", "the module's name expected, ',' found"),
        ("HloModule m, a={@/*b}", "this comment is never closed"),
        ("HloModule m\n@", "a computation expected, the end of the text found"),
        ("HloModule m, a=1, @a=2", "a appears twice"),
        ("HloModule m, entry_computation_layout=@(f32[]->f32[])", "'{' expected, '(' found"),
        ("HloModule m, entry_computation_layout={@f32[]->f32[]}", "'(' expected, 'f32' found"),
        (
            "HloModule m, entry_computation_layout={(f32[], f32[2]@{1})->f32[]}",
            "the layout '{1}' isn't one of 1 dimensions",
        ),
        ("HloModule m, a={(@}", "')' expected, '}' found"),
        ("HloModule m, a={(\n@}", "')' expected, '}' found"),
        ("HloModule m, a=@{b", "'{' is never closed"),
        ('HloModule m, a={@"b}', "a string expected, '\"b}' found"),
        ('HloModule m\nFileNames\n1 "a"\n@FileNames\n', "FileNames appears twice"),
        ("HloModule m@,\nENTRY e {}", "a computation expected, ',' found"),
        (f"e {{ {P} }} junk@", "'{' expected, the end of the text found"),
        (f"e {{ {P} }} @}}", "a computation expected, '}' found"),
        (f"e {{ {P} }}@\x00", "a computation expected, '\\x00' found"),
        (f"@\ufeffe {{ {P} }}", "a computation expected, '\\ufeff' found"),
        ("@e { }", "e has no instructions"),
        ("e {@", "an instruction, name = ..., or '}' expected, the end of the text found"),
        ("e { @/* never closed", "an instruction, name = ..., or '}' expected, '/' found"),
        (f"e {{ {P}@", "an instruction, name = ..., or '}' expected, the end of the text found"),
        (f"a {{ {P} }}\n@a {{ {P} }}", "a second computation is called a"),
        (f"ENTRY a {{ {P} }}\n @ENTRY b {{ {P} }}", "a is the ENTRY already"),
        (
            "e {\n  a = f32[] parameter(0)\n  @%a = f32[] abs(a)\n}",
            "a second instruction of this computation is called a",
        ),
        ("e {\n  ROOT a = f32[] parameter(0)\n  @ROOT b = f32[] abs(a)\n}", "e has a second ROOT"),
        ("e {\n  @a=f32[] parameter(0)\n}", "a blank is needed between a name and '='"),
        ("e { @0a = f32[] parameter(0) }", "an instruction, name = ..., or '}' expected, '0a' found"),
        ("e { @ROOT = f32[] parameter(0) }", "ROOT is reserved"),
        ("e { @a f32[] parameter(0) }", "an instruction, name = ..., or '}' expected, 'a' found"),
        ("e { a = @parameter }", "an opcode expected, 'parameter' found"),
        ("e { a = f32[] @}", "an opcode expected, '}' found"),
        ("e { a = @F32[] parameter(0) }", "an opcode expected, 'F32' found"),
        ("e { a = f32[] parameter(@) }", "the parameter's number expected, ')' found"),
        ("e { a = f32[] @parameter(-1) }", "a parameter's number is negative"),
        ("e { a = f32[] parameter(@0.5) }", "the parameter's number expected, '0.5' found"),
        ("e { a = f32[] parameter(0@, 1) }", "')' expected, ',' found"),
        (
            "e { a = f32[] parameter(@99999999999999999999999) }",
            "the parameter's number that fits 64 bits expected, 23 digits found",
        ),
        ("e { a = parameter(0)@, }", "an instruction, name = ..., or '}' expected, ',' found"),
        ("e { a = @constant(3) }", "a constant needs a shape"),
        ("e { a = f32[] add(a @b) }", "')' expected, 'b' found"),
        ("e { a = f32[] add(a, @, b) }", "an operand expected, ',' found"),
        ("e { a = f32[] add(a, @1.5) }", "an operand expected, '1.5' found"),
        ("e { a = f32[] add(a, f32[2] @{1}) }", "the layout '{1}' isn't one of 1 dimensions"),
        ("e { a = f32[] add(b @= f32[] abs(a)) }", "')' expected, '=' found"),
        ("e { a = f32[] add(abs(a), @broadcast(a), dimensions={}) }", "broadcast needs dimensions="),
        ("e { a = @f32[2 parameter(0) }", "an opcode expected, 'f32' found"),
        ("e { a = f32[@2,] parameter(0) }", "a dimension expected, '' found"),
        ("e { a = f32[@2,x] parameter(0) }", "a dimension expected, 'x' found"),
        ("e { a = f32[@-2] parameter(0) }", "a dimension expected, '-2' found"),
        ("e { a = f32[@9223372036854775808] parameter(0) }", "a dimension doesn't fit 63 bits"),
        (f"e {{ a = f32[@{'9' * 9999}] parameter(0) }}", "a dimension doesn't fit 63 bits"),
        ("e { a = @f32[4294967296,4294967296] parameter(0) }", "the shape's size in bytes doesn't fit 63 bits"),
        ("e { a = @pred[<=4294967296,<=4294967296] parameter(0) }", "the shape's size in bytes doesn't fit 63 bits"),
        (
            f"e {{ a = @f32[{','.join('1' * 65)}] parameter(0) }}",
            "65 dimensions, more than 64",
        ),
        ("e { a = @f33[2] parameter(0) }", "unknown element type 'f33'"),
        ("e { a = @opaque[] parameter(0) }", "the type opaque isn't read"),
        ("e { a = @s1[3] parameter(0) }", "the type s1 isn't read"),
        ("e { a = @b(f32[2]) parameter(0) }", "buffers, b(...), aren't read"),
        ("e { a = f32[2,3]@{0} parameter(0) }", "the layout '{0}' isn't one of 2 dimensions"),
        ("e { a = f32[2,3]@{1,1} parameter(0) }", "the layout '{1,1}' isn't one of 2 dimensions"),
        ("e { a = f32[2]@{0:T((8)} parameter(0) }", "the layout '{0:T((8)}' isn't one of 1 dimensions"),
        ("e { a = (f32[2],@) parameter(0) }", "a shape expected, ')' found"),
        ("e { a = (f32[2] @s32[]) parameter(0) }", "',' expected, 's32' found"),
        (f"e {{ a = {'(' * 50}@{'(' * 10}{')' * 60} parameter(0) }}", "tuples nested deeper than 50"),
        (f"e {{ a = f32[] {'abs(' * 51}@{'abs(' * 9}a{')' * 60} }}", "instructions nested deeper than 50"),
        (
            f"e {{ {INLINE * 50}a = f32[] call(), to_apply=@{{ {INLINE * 9}",
            "computations nested deeper than 50",
        ),
        (
            "@e (a: f32[]) -> f32[2] { a = f32[] parameter(0) }",
            "e is declared to return f32[2], its root returns f32[]",
        ),
        (
            "@e (a: f32[]) -> (f32[]) { a = f32[] parameter(0) }",
            "e is declared to return (f32[]), its root returns f32[]",
        ),
        ("e (a @f32[]) -> f32[] { a = f32[] parameter(0) }", "':' expected, 'f32' found"),
        ("e (a: f32[]) @f32[] { a = f32[] parameter(0) }", "'->' expected, 'f32' found"),
        (f"e {{ {P} q = f32[6] reshape(p) @dimensions={{0}} }}", "a blank is needed between a name and '='"),
        (f"e {{ {P} @q = f32[] abs(p), dimensions={{0}} }}", "abs doesn't take dimensions="),
        (f"e {{ {P} @q = f32[] fft(p), fft_type=FFT }}", "fft needs fft_length="),
        (f"e {{ {P} q = pred[] compare(p, p), direction=LT, @direction=LT }}", "direction appears twice"),
        (
            f"e {{ {P} q = f32[] iota()@, iota_dimension =0 }}",
            "an attribute, name=value, without a blank before the '=', expected, ',' found",
        ),
        (f"e {{ {P} q = f32[] iota(), iota_dimension=@x }}", "an integer expected, 'x' found"),
        (f"e {{ {P} q = f32[] iota(), iota_dimension=@{{0}} }}", "an integer expected, '{' found"),
        (f"e {{ {P} q = f32[] sort(p), to_apply=c, is_stable=@1 }}", "a word expected, '1' found"),
        (f"e {{ {P} q = f32[] sort(p), to_apply=c, is_stable=@yes }}", "true or false expected, 'yes' found"),
        (
            f"e {{ {P} q = pred[] compare(p, p), direction=@LEQ }}",
            "EQ, NE, GE, GT, LE or LT expected, 'LEQ' found",
        ),
        (f"e {{ {P} q = f32[] reverse(p), dimensions={{0 @1}} }}", "',' expected, '1' found"),
        (f"e {{ {P} q = f32[] reverse(p), dimensions={{0,@,1}} }}", "an integer expected, ',' found"),
        (
            f"e {{ {P} q = f32[] reverse(p), dimensions={{@999999999999999999999999999999}} }}",
            "an integer that fits 64 bits expected, 30 digits found",
        ),
        (f"e {{ {P} q = f32[] slice(p), slice={{[0@]}} }}", "':' expected, ']' found"),
        (f"e {{ {P} q = f32[] slice(p), slice={{[0:1:1@:1]}} }}", "']' expected, ':' found"),
        (f"e {{ {P} q = f32[] pad(p, p), padding=@1x1 }}", "an instruction, name = ..., or '}' expected, '1x1' found"),
        (f"e {{ {P} q = f32[] pad(p, p), padding=@999999999999999999999999999999_0 }}", "a number doesn't fit 64 bits"),
        (
            f"e {{ {P} q = f32[] reduce-window(p), to_apply=c, window=@{{size=2x2 stride=1}} }}",
            "the window's stride doesn't have 2 dimensions as its size has",
        ),
        (
            f"e {{ {P} q = f32[] reduce-window(p), to_apply=c, window=@{{stride=1}} }}",
            "the window's stride doesn't have 0 dimensions as its size has",
        ),
        (
            f"e {{ {P} q = f32[] reduce-window(p), to_apply=c, window=@{{size=2 pad=0_1_0}} }}",
            "the window's pad doesn't have 1 dimensions as its size has",
        ),
        (
            f"e {{ {P} q = f32[] reduce-window(p), to_apply=c, window={{size=2 @size=2}} }}",
            "size appears twice in the window",
        ),
        (
            f"e {{ {P} q = f32[] reduce-window(p), to_apply=c, window={{size=2@, stride=2}} }}",
            "a field of the window or '}' expected, ',' found",
        ),
        (f"e {{ {P} q = f32[] reduce-window(p), to_apply=c, window={{@width=2}} }}", "a window has no 'width'"),
        (
            f"e {{ {P} q = f32[] reduce-window(p), to_apply=c, window={{size=@}} }}",
            "a number for each dimension expected, '}' found",
        ),
        (
            f"e {{ {P} q = f32[] convolution(p, p), dim_labels=@b01f }}",
            "labels as in b01f_01io->b01f expected, 'b01f' found",
        ),
        (f"e {{ {P} q = f32[] custom-call(p), custom_call_target=@name }}", "a string expected, 'name' found"),
        (f"e {{ {P} q = f32[] while(p), condition=@1, body=c }}", "a computation expected, '1' found"),
        (f'e {{ {P} q = f32[] abs(p), metadata={{a=@"b }} }}', "a string expected, '\"b } }' found"),
        (f'e {{ {P} }}, execution_thread="a", @execution_thread="b"', "execution_thread appears twice"),
    ],
)
def test_where_and_why(text: str, reason: str) -> None:
    """An `@` stands in the text where the error is said to be."""
    before, _, after = text.partition("@")
    line, column = before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1
    with pytest.raises(InvalidModel) as refusal:
        parse(before + after)
    assert str(refusal.value) == f"line {line}, column {column}: {reason}"


SOURCE = module("f32[4] reduce(x, s), dimensions={1}, to_apply=add").replace(
    "  ROOT",
    """  c = (f32[2,2]{1,0}, s32[]) constant(({ { 1.5, nan }, { -inf, 1e-3 } }, -7))
  z = c64[2] constant({(1, 2), (nan(0x1), 4)})
  w = f32[] while(s), condition={ t = f32[] parameter(0) ROOT u = pred[] compare(t, t), direction=LT }, body=half
  n = f32[] add(f32[] multiply(s, s), c#0), metadata={op_name="a/b" source_line=3}, sharding={devices=[2,1]0,1}
  ROOT""",
    1,
)
_TOKENS = re.compile(r"\w+|\s+|.", re.DOTALL)
_ODD = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    '"',
    "'",
    "/*",
    "//",
    ",",
    "=",
    "%",
    "#",
    "-",
    "\\",
    "\0",
    "é",
    "ROOT",
    "99" * 400,
]


def mutated(text: str, generator: random.Random) -> str:
    """The text, damaged in one to three ways."""
    tokens = _TOKENS.findall(text)
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        here, there = generator.randrange(len(tokens)), generator.randrange(len(tokens))
        match generator.randrange(9):
            case 0:
                del tokens[here:]
            case 1:
                del tokens[here]
            case 2:
                tokens.insert(here, generator.choice(_ODD))
            case 3:
                tokens[here], tokens[there] = tokens[there], tokens[here]
            case 4:
                tokens[here] = generator.choice(_ODD)
            case 5:
                tokens[min(here, there) : max(here, there)] *= 2
            case 6:
                numbers = [at for at, token in enumerate(tokens) if token.isdigit()]
                if numbers:
                    tokens[generator.choice(numbers)] = generator.choice(
                        ["0", "1", "-1", "2147483648", "9" * 19, "9" * 5000]
                    )
            case 7:
                piece = tokens[here : here + 12]
                generator.shuffle(piece)
                tokens[here : here + 12] = piece
            case 8:
                tokens[here : here + 2] = tokens[here : here + 2][::-1]
        tokens = tokens or ["e"]
    return "".join(tokens)


@pytest.mark.parametrize("seed", range(6))
def test_damaged_texts_are_read_or_refused(seed: int) -> None:
    generator = random.Random(seed)
    sources = [SOURCE, *(module(instruction) for instruction, _ in CASES)]
    refused = 0
    for _ in range(250):
        text = mutated(generator.choice(sources), generator)
        try:
            assert isinstance(parse(text), Module)
        except InvalidModel as refusal:
            refused += 1
            assert re.fullmatch(r"line \d+, column \d+: [ -~]{1,400}", str(refusal)), str(refusal)
    assert 100 < refused < 250


@pytest.mark.parametrize(
    "symbol",
    ["{", "(", "[", '"', "/*", "((", "{{", "a(", "f32[]", "{ { {", "/", "//", "a=", "a = ", ",", "/*a", "{/*a", "/ "],
)
@pytest.mark.parametrize(
    "start",
    [
        "",
        "HloModule m, a=",
        "e { a = ",
        "e { a = f32[",
        "e { a = f32[2]{",
        "e { a = f32[9] constant(",
        "e { a = f32[] add(",
        "e { a = f32[] abs(b), m=",
    ],
)
@pytest.mark.timeout(60)
def test_floods_are_refused(start: str, symbol: str) -> None:
    """Work that grows with the square of a flood's length would not end before the limit."""
    with pytest.raises(InvalidModel):
        parse(start + symbol * 100_000)


@pytest.mark.timeout(120)
def test_many_instructions_on_one_line() -> None:
    """Counting the columns from the line's start each time would not end before the limit."""
    chain = " ".join(f"%a.{n} = f32[8,128]{{1,0}} negate(f32[8,128]{{1,0}} abs(sine(%p)))" for n in range(20_000))
    (computation,) = parse(f"e {{ p = f32[8,128]{{1,0}} parameter(0) {chain} }}").computations
    assert computation.instructions[-1].column > 600_000
