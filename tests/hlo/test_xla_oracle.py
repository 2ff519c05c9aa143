"""XLA as a runtime: hand-written modules, and what they must give, worked out by hand or with NumPy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from backedge.runtime.oracles import Outcome, run_file
from backedge.runtime.oracles.hlo_names import input_names, name_attribute, output_names, unescape
from backedge.runtime.oracles.transport import read_values, write_values
from backedge.runtime.oracles.xla_session import RANDOM
from numpy.testing import assert_array_equal

needs_xla = pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib isn't installed")


def f32(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def s32(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int32)


def narrow(name: str, *values: float) -> np.ndarray[Any, Any]:
    return np.array(values, getattr(ml_dtypes, name))


@dataclass
class Case:
    """A module; `entry` is its entry computation's body, `others` the computations before it."""

    entry: str
    feeds: dict[str, Any]
    expected: dict[str, Any]
    others: str = ""
    header: str = ""
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.text = f"HloModule m{self.header}\n{self.others}\nENTRY e {{\n{self.entry}\n}}\n"


SCALARS = "l = f32[] parameter(0) r = f32[] parameter(1)"
ADD = f"add {{ {SCALARS} ROOT s = f32[] add(l, r) }}"
GREATER = f"gt {{ {SCALARS} ROOT s = pred[] compare(l, r), direction=GT }}"
MINUS = np.iinfo(np.int32).min
COUNT = """
less { p = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(p), index=0 n = s32[] constant(5)
  ROOT r = pred[] compare(i, n), direction=LT }
next { p = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(p), index=0 x = f32[2] get-tuple-element(p), index=1
  one = s32[] constant(1) j = s32[] add(i, one) y = f32[2] add(x, x) ROOT t = (s32[], f32[2]) tuple(j, y) }"""
BRANCHES = """
a { x = f32[] parameter(0) ROOT y = f32[] negate(x) }
b { x = f32[] parameter(0) ROOT y = f32[] add(x, x) }
c { x = f32[] parameter(0) ROOT y = f32[] multiply(x, x) }"""
CONDITIONAL = """i = s32[] parameter(0) x = f32[] parameter(1)
ROOT y = f32[] conditional(i, x, x, x), branch_computations={a, b, c}"""
BOUNDED = "f32[<=4] set-dimension-size(x, k), dimensions={0}"

CASES = {
    "root array": Case(
        "x = f32[3] parameter(0) ROOT y = f32[3] add(x, x)", {"x": f32(1, 2, -3)}, {"output": f32(2, 4, -6)}
    ),
    "no root keyword": Case(
        "x = f32[] parameter(0) y = f32[] negate(x)", {"x": np.float32(2)}, {"output": np.float32(-2)}
    ),
    "unused parameter": Case(
        "x = f32[] parameter(0) z = f32[2] parameter(1) ROOT y = f32[] add(x, x)",
        {"x": np.float32(2), "z": f32(0, 0)},
        {"output": np.float32(4)},
    ),
    "parameters out of order": Case(
        "b = s32[] parameter(1) a = s32[] parameter(0) ROOT y = s32[] subtract(a, b)",
        {"a": np.int32(7), "b": np.int32(2)},
        {"output": np.int32(5)},
    ),
    "no results": Case("x = f32[] parameter(0) ROOT y = () tuple()", {"x": np.float32(2)}, {}),
    "nothing in it": Case(
        "x = f32[0,3] parameter(0) ROOT y = f32[0,3] add(x, x)",
        {"x": np.zeros((0, 3), np.float32)},
        {"output": np.zeros((0, 3), np.float32)},
    ),
    "nested tuples": Case(
        """p = (f32[2], (s32[], pred[])) parameter(0) q = f32[] parameter(1)
a = f32[2] get-tuple-element(p), index=0 b = (s32[], pred[]) get-tuple-element(p), index=1
t = (f32[2], f32[]) tuple(a, q) ROOT r = ((f32[2], f32[]), (s32[], pred[])) tuple(t, b)""",
        {"p.0": f32(1, 2), "p.1": np.int32(-4), "p.2": np.True_, "q": np.float32(9)},
        {"output_0": f32(1, 2), "output_1": np.float32(9), "output_2": np.int32(-4), "output_3": np.True_},
    ),
    "while": Case(
        """x = f32[2] parameter(0) z = s32[] constant(0) t = (s32[], f32[2]) tuple(z, x)
ROOT w = (s32[], f32[2]) while(t), condition=less, body=next""",
        {"x": f32(1, -0.5)},
        {"output_0": np.int32(5), "output_1": f32(32, -16)},
        COUNT,
    ),
    "while that never runs": Case(
        """x = f32[2] parameter(0) z = s32[] constant(5) t = (s32[], f32[2]) tuple(z, x)
w = (s32[], f32[2]) while(t), condition=less, body=next ROOT r = f32[2] get-tuple-element(w), index=1""",
        {"x": f32(1, -0.5)},
        {"output": f32(1, -0.5)},
        COUNT,
    ),
    "conditional": Case(CONDITIONAL, {"i": np.int32(1), "x": np.float32(3)}, {"output": np.float32(6)}, BRANCHES),
    "conditional, index below": Case(
        CONDITIONAL, {"i": np.int32(-7), "x": np.float32(3)}, {"output": np.float32(9)}, BRANCHES
    ),
    "conditional, index above": Case(
        CONDITIONAL, {"i": np.int32(3), "x": np.float32(3)}, {"output": np.float32(9)}, BRANCHES
    ),
    "conditional on a pred": Case(
        """i = pred[] parameter(0) x = f32[] parameter(1)
ROOT y = f32[] conditional(i, x, x), true_computation=a, false_computation=b""",
        {"i": np.True_, "x": np.float32(3)},
        {"output": np.float32(-3)},
        BRANCHES,
    ),
    "reduce": Case(
        "x = f32[2,3] parameter(0) z = f32[] constant(10) ROOT y = f32[2] reduce(x, z), dimensions={1}, to_apply=add",
        {"x": np.arange(6, dtype=np.float32).reshape(2, 3)},
        {"output": f32(13, 22)},
        ADD,
    ),
    "sort": Case(
        """k = f32[4] parameter(0) v = s32[4] parameter(1)
ROOT y = (f32[4], s32[4]) sort(k, v), dimensions={0}, is_stable=true, to_apply=both""",
        {"k": f32(1, 3, 1, 2), "v": s32(10, 11, 12, 13)},
        {"output_0": f32(3, 2, 1, 1), "output_1": s32(11, 13, 10, 12)},
        """both { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
ROOT s = pred[] compare(a, b), direction=GT }""",
    ),
    "dot": Case(
        """x = f32[2,2] parameter(0) y = f32[2] parameter(1)
ROOT d = f32[2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}""",
        {"x": f32(1, 2, 3, 4).reshape(2, 2), "y": f32(10, 1)},
        {"output": f32(12, 34)},
    ),
    "scatter drops what is outside": Case(
        """x = f32[3] parameter(0) i = s32[3,1] parameter(1) u = f32[3] parameter(2)
ROOT y = f32[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
  index_vector_dim=1, to_apply=add""",
        {"x": f32(0, 0, 0), "i": s32(1, 1, 3).reshape(3, 1), "u": f32(1, 2, 4)},
        {"output": f32(0, 3, 0)},
        ADD,
    ),
    "s32 division": Case(
        "x = s32[3] parameter(0) y = s32[3] parameter(1) ROOT d = s32[3] divide(x, y)",
        {"x": s32(7, MINUS, -7), "y": s32(0, -1, 2)},
        {"output": s32(-1, MINUS, -3)},
    ),
    "64 bits": Case(
        """x = f64[] parameter(0) y = s64[] parameter(1) z = u64[] parameter(2) a = f64[] add(x, x) b = s64[] add(y, y)
c = u64[] add(z, z) ROOT t = (f64[], s64[], u64[]) tuple(a, b, c)""",
        {"x": np.float64(0.1), "y": np.int64(2**40 + 1), "z": np.uint64(2**63 + 3)},
        {"output_0": np.float64(0.2), "output_1": np.int64(2**41 + 2), "output_2": np.uint64(6)},
    ),
    "s4 and u4 wrap": Case(
        """x = s4[3] parameter(0) y = u4[3] parameter(1) a = s4[3] add(x, x) b = u4[3] add(y, y)
ROOT t = (s4[3], u4[3]) tuple(a, b)""",
        {"x": narrow("int4", 7, -8, 3), "y": narrow("uint4", 15, 8, 3)},
        {"output_0": narrow("int4", -2, 0, 6), "output_1": narrow("uint4", 14, 0, 6)},
    ),
    "s2 and u2": Case(
        "x = s2[3] parameter(0) y = u2[3] parameter(1) ROOT t = (u2[3], s2[3]) tuple(y, x)",
        {"x": narrow("int2", 1, -2, -1), "y": narrow("uint2", 3, 2, 0)},
        {"output_0": narrow("uint2", 3, 2, 0), "output_1": narrow("int2", 1, -2, -1)},
    ),
    "bf16 has no excess precision": Case(
        "x = bf16[2] parameter(0) y = bf16[2] parameter(1) a = bf16[2] add(x, y) ROOT b = bf16[2] subtract(a, x)",
        {"x": narrow("bfloat16", 256, 1), "y": narrow("bfloat16", 1, 0.5)},
        {"output": narrow("bfloat16", 0, 0.5)},
    ),
    "f16": Case(
        "x = f16[2] parameter(0) ROOT y = f16[2] add(x, x)",
        {"x": np.array([40000, 0.1], np.float16)},
        {"output": np.array([np.inf, np.float16(0.1) * 2], np.float16)},
    ),
    "8-bit floats": Case(
        """x = f32[3] parameter(0) a = f8e4m3fn[3] convert(x) b = f8e5m2[3] convert(x) c = f4e2m1fn[3] convert(x)
ROOT t = (f8e4m3fn[3], f8e5m2[3], f4e2m1fn[3]) tuple(a, b, c)""",
        {"x": f32(1000, 1.5, -0.5)},
        {
            "output_0": narrow("float8_e4m3fn", np.nan, 1.5, -0.5),
            "output_1": narrow("float8_e5m2", 1024, 1.5, -0.5),
            "output_2": narrow("float4_e2m1fn", 6, 1.5, -0.5),
        },
    ),
    "float to integer": Case(
        "x = f32[4] parameter(0) ROOT y = s8[4] convert(x)",
        {"x": f32(300, -300, np.nan, -1.9)},
        {"output": np.array([127, -128, 0, -1], np.int8)},
    ),
    "complex as pairs": Case(
        "x = c64[2] parameter(0) y = c64[] parameter(1) b = c64[2] broadcast(y), dimensions={}"
        " ROOT m = c64[2] multiply(x, b)",
        {"x": f32(1, 2, 0, -1).reshape(2, 2), "y": f32(0, 1)},
        {"output": f32(-2, 1, 1, 0).reshape(2, 2)},
    ),
    "complex as it is": Case(
        "x = c128[2] parameter(0) r = f64[2] real(x) ROOT t = (f64[2], c128[2]) tuple(r, x)",
        {"x": np.array([1 + 2j, -3j])},
        {"output_0": np.array([1.0, 0.0]), "output_1": np.array([[1.0, 2.0], [0.0, -3.0]])},
    ),
    "no contraction to one rounding": Case(
        """x = f32[2] parameter(0) y = f32[2] parameter(1) z = f32[2] parameter(2) m = f32[2] multiply(x, y)
ROOT a = f32[2] add(m, z)""",
        {"x": f32(1 + 2**-12, 3), "y": f32(1 + 2**-12, 5), "z": f32(-1 - 2**-11, -15)},
        {"output": f32(0, 0)},
    ),
    "layouts change nothing": Case(
        "x = f32[2,3]{0,1} parameter(0) ROOT y = f32[2,3]{0,1} add(x, x)",
        {"x": np.arange(6, dtype=np.float32).reshape(2, 3)},
        {"output": 2 * np.arange(6, dtype=np.float32).reshape(2, 3)},
        header=", entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}",
    ),
    "donated parameter": Case(
        "x = f32[2] parameter(0) ROOT y = f32[2] add(x, x)",
        {"x": f32(1, 2)},
        {"output": f32(2, 4)},
        header=", input_output_alias={ {}: (0, {}, must-alias) }",
    ),
    "token among the results": Case(
        "x = f32[] parameter(0) k = token[] after-all() ROOT t = (token[], f32[], f32[]) tuple(k, x, x)",
        {"x": np.float32(2)},
        {"output_0": np.float32(2), "output_1": np.float32(2)},
    ),
    "bounded result, twice": Case(
        f"x = f32[4] parameter(0) k = s32[] parameter(1) b = {BOUNDED}"
        " u = (f32[<=4], s32[]) tuple(b, k) ROOT t = (f32[<=4], (f32[<=4], s32[])) tuple(b, u)",
        {"x": f32(1, 2, 3, 4), "k": np.int32(3)},
        {"output_0": f32(1, 2, 3), "output_1": f32(1, 2, 3), "output_2": np.int32(3)},
    ),
    "bounded parameter": Case(
        """x = f32[<=4] parameter(0) z = f32[] constant(0) s = f32[] reduce(x, z), dimensions={0}, to_apply=add
ROOT t = (f32[], f32[<=4]) tuple(s, x)""",
        {"x": f32(1, 2, 4)},
        {"output_0": np.float32(7), "output_1": f32(1, 2, 4)},
        ADD,
    ),
    "bounded in two dimensions": Case(
        """x = f32[2,3] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2)
a = f32[<=2,3] set-dimension-size(x, i), dimensions={0}
ROOT b = f32[<=2,<=3] set-dimension-size(a, j), dimensions={1}""",
        {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "i": np.int32(2), "j": np.int32(1)},
        {"output": f32(0, 3).reshape(2, 1)},
    ),
    "nothing left of a bounded result": Case(
        f"x = f32[4] parameter(0) k = s32[] parameter(1) ROOT b = {BOUNDED}",
        {"x": f32(1, 2, 3, 4), "k": np.int32(0)},
        {"output": f32()},
    ),
    "names stated": Case(
        "x = f32[] parameter(0) y = f32[] parameter(1) s = f32[] subtract(x, y) ROOT t = (f32[], f32[]) tuple(s, x)",
        {'b "b"\\': np.float32(5), "\u00fc'": np.float32(2)},
        {"diff/1": np.float32(3), "x": np.float32(5)},
        header=', frontend_attributes={other="{}",'
        + name_attribute("backedge_inputs", ['b "b"\\', "\u00fc'"])
        + ","
        + name_attribute("backedge_outputs", ["diff/1", "x"])
        + "}",
    ),
    "numbers that XLA gives anew": Case(
        """x.3 = f32[] parameter(0) x.1 = f32[] parameter(1) add.7 = f32[] parameter(2)
r = f32[] subtract(x.3, x.1) ROOT s = f32[] multiply(r, add.7)""",
        {"x.0": np.float32(5), "x.1": np.float32(2), "add": np.float32(10)},
        {"output": np.float32(30)},
        "x { x.1 = f32[] parameter(0) ROOT x.3 = f32[] negate(x.1) }",
    ),
}


ALL = """
import sys
from pathlib import Path
from backedge.runtime.oracles.transport import read_values, write_values
from backedge.runtime.oracles.xla_session import open_session
for path in sorted(Path(sys.argv[1]).glob("*.hlo")):
    try:
        outputs, fault = open_session(path, {}).run(read_values(path.with_suffix(".in")))
        assert not fault
        write_values(path.with_suffix(".out"), outputs)
    except Exception as error:
        path.with_suffix(".error").write_text(f"{type(error).__name__}: {error}")
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what became of every module, all run in one process, for time's sake."""
    folder = tmp_path_factory.mktemp("modules")
    modules = {
        **{name: (case.text, case.feeds) for name, case in CASES.items()},
        **{n: (t, {}) for n, (t, _) in REFUSED.items()},
    }
    for name, (text, feeds) in modules.items():
        (folder / f"{name}.hlo").write_text(text)
        write_values(folder / f"{name}.in", feeds)
    subprocess.run([sys.executable, "-P", "-c", ALL, str(folder)], check=True, timeout=200)
    return folder


@needs_xla
@pytest.mark.parametrize("name", CASES)
def test_module(name: str, results: Path) -> None:
    error = results / f"{name}.error"
    assert not error.exists(), error.read_text()
    found, expected = read_values(results / f"{name}.out"), CASES[name].expected
    assert list(found) == list(expected)
    for key, wanted in expected.items():
        assert found[key].dtype == wanted.dtype and found[key].shape == wanted.shape
        if wanted.dtype.kind == "V":  # ml_dtypes' own: for assert_array_equal their NaN isn't one
            assert_array_equal(found[key].astype(np.float64), wanted.astype(np.float64))
        else:
            assert_array_equal(found[key], wanted)


ONE = "x = f32[3] parameter(0) ROOT y = f32[3] add(x, x)"
REFUSED = {
    "no module": ("nonsense", "neither HLO nor StableHLO"),
    "no instructions": ("HloModule m\nENTRY e {}\n", "expects"),
    "empty": ("", "neither HLO nor StableHLO"),
    "constants left out": (Case("ROOT x = f32[20] constant({...})", {}, {}).text, "constants are left out"),
    "acos": (Case("x = f32[] parameter(0) ROOT y = f32[] acos(x)", {}, {}).text, "acos"),
    "unknown custom call": (
        Case('x = f32[] parameter(0) ROOT y = f32[] custom-call(x), custom_call_target="nope"', {}, {}).text,
        "nope",
    ),
    "infeed": (
        Case("k = token[] after-all() ROOT y = ((f32[3]), token[]) infeed(k)", {}, {}).text,
        "no host at the other end",
    ),
    "replicas": (Case(ONE, {}, {}, header=", replica_count=2").text, "several replicas"),
    "token parameter": (Case("k = token[] parameter(0) ROOT y = f32[] constant(1)", {}, {}).text, "token"),
    "size without a bound": (Case("ROOT x = f32[?] parameter(0)", {}, {}).text, "without a bound"),
    "a type that NumPy hasn't": (Case("x = s1[4] parameter(0) ROOT y = s32[4] convert(x)", {}, {}).text, "int1"),
}


@needs_xla
@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_reason(name: str, results: Path) -> None:
    assert REFUSED[name][1] in (results / f"{name}.error").read_text()


def run(folder: Path, text: str, *feeds: dict[str, Any], suffix: str = ".hlo", timeout: float = 60) -> list[Outcome]:
    path = folder / f"m{suffix}"
    path.write_text(text)
    return run_file("xla", path, feeds or ({},), timeout=timeout)


@needs_xla
def test_feeds_that_do_not_fit(tmp_path: Path) -> None:
    wrong = [{"x": f32(1, 2)}, {"x": s32(1, 2, 3)}, {}, {"x": f32(1, 2, 3)}]
    shape, dtype, none, right = run(tmp_path, Case(ONE, {}, {}).text, *wrong)
    assert shape.error == "input 'x' is float32[3], not of shape [2]"
    assert dtype.error == "input 'x' is float32, not int32"
    assert none.error == "no value for the input 'x'"
    assert right.outputs is not None


@needs_xla
def test_a_module_that_kills_the_process(tmp_path: Path) -> None:
    """XLA's parser checks this with an abort."""
    text = Case("q = f32[2,2] parameter(0) ROOT t = f32[<=4,2] reshape(q)", {}, {}).text
    (outcome,) = run(tmp_path, text)
    assert outcome.stage == "load" and "died of SIGABRT" in outcome.error


@needs_xla
def test_an_endless_loop(tmp_path: Path) -> None:
    text = Case(
        "x = s32[] parameter(0) ROOT w = s32[] while(x), condition=always, body=same",
        {},
        {},
        """always { x = s32[] parameter(0) z = s32[] constant(0) ROOT r = pred[] compare(x, z), direction=GE }
same { x = s32[] parameter(0) m = s32[] constant(1) ROOT r = s32[] maximum(x, m) }""",
    ).text
    hangs, ends = run(tmp_path, text, {"x": np.int32(3)}, {"x": np.int32(-3)}, timeout=3)
    assert hangs.stage == "timeout"
    assert ends.outputs is not None and ends.outputs["output"] == -3


@needs_xla
def test_hundreds_of_conditionals(tmp_path: Path) -> None:
    """A pair walks 400 steps, each down by 2 or up by 1 as its sum says, and is compiled within the time limit."""
    lines = ["zero = f32[] constant(0)", "x0 = f32[2] parameter(0)"]
    branches: list[str] = []
    wanted = x = np.array([0.5, -4], np.float32)
    for at in range(400):
        both = f"true_computation=down{at}, false_computation=up{at}"
        lines.append(f"sum{at} = f32[] reduce(x{at}, zero), dimensions={{0}}, to_apply=add")
        lines.append(f"p{at} = pred[] compare(sum{at}, zero), direction=GT")
        lines.append(f"x{at + 1} = f32[2] conditional(p{at}, x{at}, x{at}), {both}")
        for name, by in (("down", -2), ("up", 1)):
            parts = f"x = f32[2] parameter(0) c = f32[2] constant({{{by}, {by}}}) ROOT y = f32[2] add(x, c)"
            branches.append(f"{name}{at} {{ {parts} }}")
        wanted = wanted + np.float32(-2 if wanted.sum() > 0 else 1)
    entry = "\n".join([*lines, f"ROOT y = f32[2] copy(x{len(branches) // 2})"])
    (outcome,) = run(tmp_path, Case(entry, {}, {}, "\n".join([ADD, *branches])).text, {"x0": x})
    assert outcome.outputs is not None, outcome
    (found,) = outcome.outputs.values()
    assert_array_equal(found, wanted)


@needs_xla
def test_random_numbers_are_no_answer(tmp_path: Path) -> None:
    entry = "a = f32[] constant(0) b = f32[] constant(1) ROOT y = f32[3] rng(a, b), distribution=rng_uniform"
    (outcome,) = run(tmp_path, Case(entry, {}, {}).text)
    assert outcome.fault == RANDOM


@needs_xla
@pytest.mark.parametrize("text", ["// a comment\nmodule @m {", '#loc1 = loc("x")\nmodule {'])
def test_stablehlo_text(text: str, tmp_path: Path) -> None:
    body = "func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }\n}"
    (outcome,) = run(tmp_path, f"{text}\n{body}", {"any": f32(1, 2)}, suffix=".mlir")
    assert outcome.outputs is not None and np.array_equal(outcome.outputs["output"], f32(1, 2))


def test_names_are_made_from_what_lasts() -> None:
    assert input_names([("Arg_0.1", 1), ("w.2.3", 1), ("t", 2)]) == ["Arg_0", "w", "t.0", "t.1"]
    assert input_names([("x.1", 1), ("x.2", 1), ("x.9", 2), ("y", 0)]) == ["x.0", "x.1", "x.2", "x.3"]
    assert [output_names(count) for count in (0, 1, 2)] == [[], ["output"], ["output_0", "output_1"]]


def test_stated_names_that_do_not_fit_are_ignored() -> None:
    stated = name_attribute("backedge_outputs", ["a", "b"])
    assert output_names(2, f'{{x="1",{stated}}}') == ["a", "b"]
    assert output_names(1, stated) == ["output"]
    assert output_names(2, name_attribute("backedge_outputs", ["a", "a"])) == ["output_0", "output_1"]
    assert output_names(1, 'backedge_outputs="[1]"') == ["output"]
    assert output_names(1, 'backedge_outputs="[\\"a"') == ["output"]
    assert output_names(1, 'x_backedge_outputs="[\\"a\\"]"') == ["output"]


def test_unescape_takes_what_xla_prints() -> None:
    assert unescape(r"\303\274\n\"\'\\x\x41") == "\u00fc\n\"'\\xA"
