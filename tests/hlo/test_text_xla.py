"""XLA's own parser as the judge: it reads what we print, as what we printed; we read what it and jax print."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from backedge.convert.hlo.text import parse, print_module
from backedge.convert.hlo.text.dtypes import DTYPES
from backedge.convert.hlo.text.tree import ArrayShape, Computation, Instruction, Module, Raw
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType

from hlo.text_cases import CASES, NOT_READ_BY_XLA, module
from hlo.text_compare import assert_same, same_literal

pytest.importorskip("jaxlib")

CHILD = """
import json, sys
from jaxlib import _hlo

def options(style):
    chosen = _hlo.HloPrintOptions.canonical() if style == "canonical" else _hlo.HloPrintOptions()
    if style == "plain":
        chosen = _hlo.HloPrintOptions.short_parsable()
    chosen.print_large_constants = True
    chosen.print_operand_shape = style in ("typed", "canonical")
    return chosen

for line in sys.stdin:
    text, style = json.loads(line)
    try:
        print(json.dumps([True, _hlo.hlo_module_from_text(text).to_string(options(style))]), flush=True)
    except Exception as error:
        print(json.dumps([False, str(error)]), flush=True)
"""


def xla_reads(texts: list[str], style: str = "plain") -> list[tuple[bool, str]]:
    """Whether XLA reads each text, and what it prints then (or why not), in a process of its own: it may abort."""
    lines = "".join(json.dumps([text, style]) + "\n" for text in texts)
    run = subprocess.run([sys.executable, "-c", CHILD], input=lines, capture_output=True, text=True, timeout=200)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(texts), f"XLA died of {texts[len(answers)]}: {run.stderr[-500:]}"
    return [(read, text) for read, text in answers]


def assert_xla_agrees(modules: list[Module]) -> None:
    """XLA reads what we print, and what it prints is the same to us."""
    for made, (read, text) in zip(modules, xla_reads(list(map(print_module, modules))), strict=True):
        assert read, text
        found = parse(text)
        found.name = made.name
        assert_same(found, made, header=False)


@functools.cache
def programs() -> dict[str, str]:
    """Names of JAX programs -> what jax prints: some of the many, a different theme each few."""
    pytest.importorskip("jax")
    from hlo.programs import PROGRAMS, hlo_text

    every = list(PROGRAMS.values()) if isinstance(PROGRAMS, dict) else list(PROGRAMS)
    return {program.name: hlo_text(program) for program in every[::20]}


def test_xla_reads_every_attribute_as_we_print_it() -> None:
    read = [parse(module(instruction)) for instruction, _ in CASES if instruction not in NOT_READ_BY_XLA]
    kept = ("sharding", "frontend_attributes", "backend_config", "metadata", "control-predecessors", "window")
    for made, (accepted, text) in zip(read, xla_reads(list(map(print_module, read))), strict=True):
        assert accepted, text
        before = made.computations[-1].instructions[-1].attributes
        main = parse(text).computations[-1]
        after = main.instructions[main.root].attributes
        for name, value in before.items():
            if name not in kept and not isinstance(value, Raw) and value not in (False, "default"):
                assert after[name] == value


def test_what_jax_prints_comes_back_from_xla() -> None:
    read = [parse(text) for text in programs().values()]
    assert len(read) > 20
    assert_xla_agrees(read)


@pytest.mark.parametrize("style", ["default", "typed"])
def test_what_xla_prints_is_what_jax_printed(style: str) -> None:
    texts = list(programs().values())
    for source, (accepted, text) in zip(texts, xla_reads(texts, style), strict=True):
        assert accepted
        assert_same(parse(text), parse(source), header=False)


def test_xla_reads_computations_that_stood_where_they_are_applied() -> None:
    texts = [text for text in programs().values() if "to_apply=" in text or "body=" in text]
    canonical = [parse(text) for _, text in xla_reads(texts, "canonical")]
    assert any(found.name.startswith("inner") for made in canonical for found in made.computations)
    for accepted, text in xla_reads(list(map(print_module, canonical))):
        assert accepted, text


def test_dumps_after_optimization() -> None:
    jax = pytest.importorskip("jax")
    jnp, lax = jax.numpy, jax.lax

    def f(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            return jnp.tanh(carry + row), lax.cond(carry[0] > 0, jnp.sin, jnp.cos, row)

        return lax.scan(step, x[0], x), jnp.sort(x, axis=1), x @ x.T, jax.random.normal(jax.random.key(0), (3,))

    compiled = jax.jit(f).lower(jnp.ones((4, 3))).compile()
    read = parse(compiled.as_text())
    opcodes = {found.opcode for computation in read.computations for found in computation.instructions}
    assert {"while", "fusion", "conditional"} <= opcodes
    text = print_module(read)
    assert_same(parse(text), read)
    ((accepted, why),) = xla_reads([text])
    assert accepted, why


def _bits(dtype: DType, generator: np.random.Generator) -> np.ndarray:
    """Any values of the type; finite ones for complex types, where XLA's own reader mixes up NaNs."""
    kind = dtype.numpy
    if dtype.is_complex:
        parts = generator.standard_normal(120) * 10.0 ** generator.integers(-30, 30, 120)
        return parts.astype(np.float32 if kind.itemsize == 8 else np.float64).view(kind)
    if dtype is DType.BOOL or dtype.is_integer:
        high = 2 if dtype is DType.BOOL else 1 << min(dtype.bits, 8)
        raw = generator.integers(0, high, 60 * kind.itemsize, dtype=np.uint8)
        return raw.view(kind) if dtype.bits >= 8 else raw.astype(kind)
    if dtype.bits < 8:
        return np.arange(60, dtype=np.uint8).__and__(15).view(kind)
    raw = generator.integers(0, 256, 60 * kind.itemsize, dtype=np.uint8)
    if dtype is DType.FLOAT8E8M0:
        raw = np.maximum(raw, 1)  # XLA prints the smallest value as a number that it reads as the next one
    return raw.view(kind)


def test_xla_reads_the_same_numbers() -> None:
    generator = np.random.default_rng(11)
    modules: list[Module] = []
    for dtype in DTYPES.values():
        for shape in ((3, 4, 5), (60,), (), (2, 0, 3), (0,)):
            array = np.ascontiguousarray(_bits(dtype, generator)[: int(np.prod(shape))]).reshape(shape)
            layout = "{" + ",".join(map(str, reversed(range(len(shape))))) + "}" if shape else ""
            data = TensorData(dtype, shape, array)
            constant = Instruction("c", ArrayShape(dtype, shape, layout), "constant", literal=data)
            modules.append(Module("m", [Computation("e", [constant], 0)], "e"))
    assert_xla_agrees(modules)


def test_minus_zero_stays() -> None:
    """XLA reads its own `-0` as 0, so ours has a point."""
    made = parse("HloModule m\n\nENTRY e { c = f32[2]{0} constant({-0.0, 0}) }")
    assert_xla_agrees([made])
    ((_, text),) = xla_reads(["e { c = f32[2]{0} constant({-0, 0}) }"])
    assert same_literal(parse(text).computations[0].instructions[0].literal, TensorData.of(np.zeros(2, np.float32)))


REFUSED_BY_BOTH = [
    "e { a=f32[] parameter(0) }",
    "e { a = f32[2,] parameter(0) }",
    "e { a = f32[2,3]{0} parameter(0) }",
    "e { a = f32[-2] parameter(0) }",
    "e { a = (f32[],) parameter(0) }",
    "e { ROOT a = f32[] parameter(0) ROOT b = f32[] abs(a) }",
    "e { a = f32[] parameter(0) a = f32[] abs(a) }",
    "e { a = f32[] parameter(0), }",
    "e { a = f32[] parameter(0) b = f32[] abs(a), dimensions={0} }",
    "e { a = f32[] parameter(0) b = pred[] compare(a, a) }",
    "e { a = f32[] parameter(0) b = f32[2] broadcast(a), dimensions ={} }",
    "e (a: f32[]) -> f32[2] { a = f32[] parameter(0) }",
    "e { a = f32[] parameter(0) } e { a = f32[] parameter(0) }",
    "e { }",
    "HloModule m",
    "e { a = f32[] parameter(0) } junk",
    "e { true = f32[] parameter(0) }",
    "e { a = f32[2] constant({1}) }",
    "e { a = f32[2] constant({{1,2}}) }",
    "e { a = f32[2,2] constant({{1,2,3},{4}}) }",
    "e { a = s32[] constant(1.5) }",
    "e { a = s8[] constant(200) }",
    "e { a = u32[] constant(-1) }",
    "e { a = f32[] constant(1e39) }",
    "e { a = f32[] constant(+1) }",
    "e { a = f32[] constant(nan(0x0)) }",
    "e { a = c64[] constant(1) }",
    "e { a = f32[] constant({...}) }",
]
READ_BY_BOTH = [
    "e { %a=f32[] parameter(0) }",
    "e { a = f32 [2] { 0 } parameter ( 0 ) }",
    "e { a = f32[<=3,?] parameter(0) }",
    "e { a = f32[/*x*/3] parameter(0) // c\n }",
    "a { x = f32[] parameter(0) } b { x = f32[] parameter(0) }",
    "ENTRY e (q: f32[7]) -> f32[2] { p = f32[2] parameter(0) }",
    'e { a = f32[] parameter(0) }, execution_thread="x"',
    "e { a = f32[] parameter(0) b = f32[] add(a, a,) }",
    "e { a = f32[2] parameter(0) b = f32[2] add(f32[2] multiply(a, a), negate(a)) }",
    "e { a = f32[2] parameter(0) b = negate(a) }",
    "e { a = s32[3] constant({1 2,,3,}) }",
    "e { a = s32[1,1,2] constant({{/*}}}*/{1,2}}}) }",
    "e { a = f32[2,0,4] constant({{}, { }}) }",
    "e { a = (f32[2], ()) constant(({1,2}, ())) }",
    "e { a = pred[3] constant({true, 0, 2}) }",
    "e { a = f32[] constant(3.40282347e+38) }",
    "e { a = f32[] constant(-.5) }",
]


def test_who_reads_what() -> None:
    texts = [*REFUSED_BY_BOTH, *READ_BY_BOTH]
    answers = xla_reads(texts)
    assert [read for read, _ in answers] == [text in READ_BY_BOTH for text in texts]
    for text in READ_BY_BOTH:
        parse(text)
    for text in REFUSED_BY_BOTH:
        with pytest.raises(Exception, match=r"^line 1, column \d+: "):
            parse(text)
