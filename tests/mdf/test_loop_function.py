"""`loop` against ONNX Runtime on the same Loop, in every mode, with bodies that are graphs and Python functions."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import load, save, to_hub
from backedge.passes.errors import BackedgeError, InvalidModel
from backedge.runtime import loop
from backedge.runtime.kernels.base import ExecutionError
from onnx import parser

KINDS = ("float[2]", "int64", "bool[3]")
X = np.array([1.5, -2.0], np.float32)
INITIAL: tuple[Any, ...] = (X, np.array(3), np.array([True, False, True]))


def body_text(carries: int, scans: int, stop: int, scale: float) -> str:
    """x' = scale * x + i, n' = n - i, b' = not b; the scan outputs are x, i + i and what is said of going on."""
    names = ("x", "n", "b")[:carries]
    takes = "".join(f", {kind} {name}" for kind, name in zip(KINDS, names, strict=False))
    gives = "".join(f", {kind} {name}_out" for kind, name in zip(KINDS, names, strict=False))
    gives += "".join(f", {one}" for one in ("float[2] s", "int64 t", "bool u")[:scans])
    lines = [
        f"stop = Constant<value_int={stop}>()",
        "more = Less(i, stop)",
        "go = And(more, c)",
        f"scale = Constant<value_float={scale}>()",
        "step = Cast<to=1>(i)",
        "scaled = Mul(x, scale)",
        "x_out = Add(scaled, step)",
        *["n_out = Sub(n, i)"][: carries > 1],
        *["b_out = Not(b)"][: carries > 2],
        *["s = Identity(x)", "t = Add(i, i)", "u = Identity(more)"][:scans],
    ]
    return f"body (int64 i, bool c{takes}) => (bool go{gives}) {{ {' '.join(lines)} }}"


def python_body(carries: int, scans: int, stop: int, scale: float) -> Callable[..., Any]:
    def body(i: Any, c: Any, x: Any, n: Any = 0, b: Any = False) -> Any:
        more = i < stop
        after = (x * np.float32(scale) + i.astype(np.float32), n - i, np.logical_not(b))
        return (more & c, *after[:carries], *(x, i + i, more)[:scans])

    return body


def expected(text: str, M: int | None, cond: bool | None, carries: int, scans: int) -> list[Any]:
    """What ONNX Runtime gives for a model of one Loop."""
    names = ("x0", "n0", "b0")[:carries]
    inputs = ["int64 M"][: M is not None] + ["bool cond"][: cond is not None]
    inputs += [f"{kind} {name}" for kind, name in zip(KINDS, names, strict=False)]
    first = ", ".join(['""' if M is None else "M", '""' if cond is None else "cond", *names])
    results = [f"{kind} y{place}" for place, kind in enumerate(KINDS[:carries])]
    results += ["float[k, 2] z0", "int64[k] z1", "bool[k] z2"][:scans]
    made = ", ".join(one.split()[-1] for one in results)
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 15]> g ({", ".join(inputs)}) => ({", ".join(results)}) '
        f"{{ {made} = Loop <body = {text}> ({first}) }}"
    )
    feeds = dict(zip(names, INITIAL, strict=False)) | {"M": np.array(M), "cond": np.array(cond)}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {one.name: feeds[one.name] for one in session.get_inputs()})


def check(found: Any, wanted: list[Any]) -> None:
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


MODES = [(M, cond) for M in (None, 0, 1, 7) for cond in (None, False, True) if (M, cond) != (None, None)]
SCAN_TYPES = [(np.float32, (2,)), (np.int64, ()), (bool, ())]


@pytest.mark.parametrize("scans", [0, 1, 2, 3])
@pytest.mark.parametrize("carries", [1, 2, 3])
def test_as_onnx_runtime(carries: int, scans: int) -> None:
    chance = random.Random(carries * 10 + scans)
    for M, cond in MODES:
        for stop in (-1, chance.randrange(1, 6)) if cond is not None else (100,):  # ONNX Runtime obeys it anyway
            scale = chance.choice([0.5, -1.25, 3.0])
            text = body_text(carries, scans, stop, scale)
            wanted = expected(text, M, cond, carries, scans)
            graph, initial = parser.parse_graph(text), INITIAL[:carries]
            check(loop(M, cond, *initial, body=graph), wanted)
            function = python_body(carries, scans, stop, scale)
            check(loop(M, cond, *initial, body=function, scan_outputs=SCAN_TYPES[:scans]), wanted)


def test_without_a_condition_the_body_is_not_asked() -> None:
    """The published text says so; ONNX Runtime stops after one pass here. The body sees what it said before."""
    text = """
    b (int64 i, bool c, int64 n) => (bool go, int64 m, bool seen) {
        no = Not(c)  go = Identity(no)  m = Add(n, i)  seen = Identity(c)
    }"""
    graph = parser.parse_graph(text)
    wanted = [np.array(10 + 0 + 1 + 2 + 3), np.array([True, False, True, False])]
    check(loop(4, "", 10, body=graph), wanted)
    check(loop(4, None, 10, body=lambda i, c, n: (not c, n + i, c)), wanted)


def test_the_loop_of_the_published_text() -> None:
    """Its iteration number and values are of 32 bits; a is 3, b 6, at most 10 passes."""
    text = """
    net (int32 i, bool going_in, int32 b_in) => (bool going, int32 b_out, int32 vals) {
        local = Add(a, b_in)  b_out = Sub(a, b_in)  going = Greater(local, b_out)  vals = Add(b_in, b_in)
    }"""
    a, b = np.array(3, np.int32), np.array(6, np.int32)
    found = loop(np.array(10), 1, b, body=parser.parse_graph(text), captured={"a": a})
    check(found, [np.array(6, np.int32), np.array([12, -6], np.int32)])


COUNT = """
b (int64 i, bool c, int64 n) => (bool go, int64 m) {
    one = Constant<value_int=1>()  go = Identity(c)  m = Add(n, one)
}"""


@pytest.mark.parametrize("M", [3, np.int64(3), np.array(3, np.int32), np.array([3]), [3], np.uint8(3)])
@pytest.mark.parametrize("cond", ["", None, True, 1, np.True_, np.array(True), np.array([True]), [1]])
def test_forms_of_m_and_cond(M: Any, cond: Any) -> None:
    graph = parser.parse_graph(COUNT)
    for found in (
        loop(M, cond, 10, body=graph),
        loop(M=M, cond=cond, v_initial=[10], body=graph),
        loop(M, cond, v_initial=np.array(10), body=graph),
        loop(M, cond, 10, body=lambda i, c, n: [c, n + 1]),
    ):
        check(found, [np.array(13)])


@pytest.mark.parametrize("shape", ["", "[1]", "[k]"])
def test_bodies_with_vectors_for_scalars(shape: str) -> None:
    text = f"""
    b (int64{shape} i, bool{shape} c, int64[k] n) => (bool{shape} go, int64[j] m, int64{shape} at) {{
        two = Constant<{"value_ints=[2]" if shape else "value_int=2"}>()
        less = Less(i, two)  go = And(less, c)  m = Concat<axis=0>(n, n)  at = Identity(i)
    }}"""
    graph = parser.parse_graph(text)
    grown = np.array([4, 5] * 8)
    check(loop("", True, [4, 5], body=graph), [grown, np.arange(3).reshape([3, 1] if shape else [3])])


def test_no_values_at_all() -> None:
    assert loop(3, True, body=lambda i, c: c) == ()
    assert loop(3, True, body=parser.parse_graph("b (int64 i, bool c) => (bool go) { go = Identity(c) }")) == ()
    check(loop(3, "", body=lambda i, c: (True, i)), [np.arange(3)])


def test_limit() -> None:
    graph = parser.parse_graph(COUNT)
    for M, cond, limit, passes in (("", "", 4, 4), (9, "", 4, 4), (2, "", 4, 2), ("", True, 0, 0), (-5, True, 4, 0)):
        check(loop(M, cond, 0, body=graph, limit=limit), [np.array(passes)])
        found = loop(M, cond, 0, body=lambda i, c, n: (c, n + 1), limit=limit, scan_outputs=[])
        check(found, [np.array(passes)])


def test_a_pass_may_not_change_what_was_handed_out() -> None:
    def body(i: Any, c: Any, x: Any) -> Any:
        x += 1
        return c, x, x

    start = np.array([0, 10])
    check(loop(3, True, start, body=body), [np.array([3, 13]), np.array([[1, 11], [2, 12], [3, 13]])])
    assert start.tolist() == [0, 10]


def test_captured_values() -> None:
    """Also where they are used in a branch of the body; one that the body doesn't use is none of its business."""
    text = """
    b (int64 i, bool c, float[2] x) => (bool go, float[2] y) {
        zero = Constant<value_int=0>()
        first = Equal(i, zero)
        y = If <then_branch = t () => (float[2] p) { p = Add(x, k) },
                else_branch = e () => (float[2] q) { q = Mul(x, k) }> (first)
        go = Identity(c)
    }"""
    captured = {"k": np.array([2.0, 3.0], np.float32), "y": np.float32(0), "other": np.array(1)}
    wanted = [np.array([(1.5 + 2) * 2 * 2, (-2.0 + 3) * 3 * 3], np.float32)]
    check(loop(3, True, X, body=parser.parse_graph(text), captured=captured), wanted)
    check(loop(2, True, 1, body=lambda i, c, n, k: (c, n * k), captured={"k": 5}), [np.array(25)])


def test_a_model_says_its_opset_itself() -> None:
    text = """
    b (int64 i, bool c, float[2] x) => (bool go, float[2] y) {
        axes = Constant<value_ints=[0]>()  w = Unsqueeze(x, axes)
        y = ReduceMax<keepdims=0>(w, axes)  go = Identity(c)
    }"""
    model = onnx.helper.make_model(parser.parse_graph(text), opset_imports=[onnx.helper.make_opsetid("", 18)])
    check(loop(2, True, X, body=model), [X])
    check(loop(2, True, X, body=model.graph, opset=18), [X])
    with pytest.raises(BackedgeError):  # no input `axes` at 15
        loop(2, True, X, body=model.graph)


@pytest.mark.parametrize("suffix", [".onnx", ".xml", ".hlo", "hub", "meta"])
def test_loaded_graphs(tmp_path: Path, suffix: str) -> None:
    text = body_text(2, 2, 3, 0.5)
    opset = onnx.helper.make_opsetid("", 15)
    onnx.save(onnx.helper.make_model(parser.parse_graph(text), opset_imports=[opset]), tmp_path / "b.onnx")
    body = load(tmp_path / "b.onnx")
    if suffix.startswith("."):
        save(body, tmp_path / f"c{suffix}")
        body = load(tmp_path / f"c{suffix}")
    elif suffix == "hub":
        body = to_hub(body)
    before = str(body)
    if suffix == "meta":
        body.meta.clear()
        with pytest.raises(InvalidModel, match="must be raised to the hub"):
            loop(5, True, *INITIAL[:2], body=body)
        return
    check(loop(5, True, *INITIAL[:2], body=body), expected(text, 5, True, 2, 2))
    assert str(body) == before


def test_captured_inputs_of_a_loaded_graph(tmp_path: Path) -> None:
    text = "b (int64 i, int64 k, bool c, int64 n) => (bool go, int64 m) { go = Identity(c) m = Mul(n, k) }"
    onnx.save(onnx.helper.make_model(parser.parse_graph(text)), tmp_path / "b.onnx")
    body = load(tmp_path / "b.onnx")
    check(loop(3, True, 2, body=body, captured={"k": 5}), [np.array(250)])
    with pytest.raises(InvalidModel, match="no input 'q'"):
        loop(3, True, 2, body=body, captured={"k": 5, "q": 1})
    with pytest.raises(InvalidModel, match="takes 4 inputs, and 3 are given"):
        loop(3, True, 2, body=body)


SHAPES = "b (int64 i, bool c, {0} x) => (bool go, {0} y, {1} s) {{ go = Identity(c) y = Identity(x) s = Identity(x) }}"


@pytest.mark.parametrize(
    ("declared", "shape"),
    [("float[2]", (0, 2)), ("float", (0,)), ("float[1, 2]", (0, 1, 2)), ("float[n, 2]", (0, 1, 2))],
)
def test_what_no_pass_stacks(declared: str, shape: tuple[int, ...]) -> None:
    graph = parser.parse_graph(SHAPES.format(declared, declared))
    x = np.ones(shape[1:], np.float32)
    check(loop(0, True, x, body=graph), [x, np.empty(shape, np.float32)])


GRAPH = parser.parse_graph(COUNT)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: loop("", "", 1, body=GRAPH), "nothing ends this loop"),
        (lambda: loop(body=lambda i, c: c), "nothing ends this loop"),
        (lambda: loop(1.0, "", 1, body=GRAPH), "M is a number of passes"),
        (lambda: loop(2**63, "", 1, body=GRAPH), "M is a number of passes"),
        (lambda: loop("", "", 1, body=GRAPH, limit=2.5), "limit is a number of passes"),
        (lambda: loop("3", "", 1, body=GRAPH), "M is a number of passes"),
        (lambda: loop([1, 2], "", 1, body=GRAPH), "M is a scalar"),
        (lambda: loop(1, 2, 1, body=GRAPH), "cond is true or false"),
        (lambda: loop(1, 1.0, 1, body=GRAPH), "cond is true or false"),
        (lambda: loop(1, [[True]], 1, body=GRAPH), "cond is a scalar"),
        (lambda: loop(1, True, 1, v_initial=[1], body=GRAPH), "given twice"),
        (lambda: loop(1, True, body=GRAPH), "takes 3 inputs, and 2 are given"),
        (lambda: loop(1, True, 1, 2, body=GRAPH), "takes 3 inputs, and 4 are given"),
        (lambda: loop(1, True, 1.5, body=GRAPH), r"the value for 'n' is float64\[\] where int64 is wanted"),
        (lambda: loop(1, True, 2**63, body=GRAPH), "the value for 'n'"),
        (lambda: loop(1, True, np.float32(1), body=GRAPH), "the value for 'n' is float32"),
        (lambda: loop(1, True, [1], body=GRAPH), r"the value for 'n' is int64\[1\]; the body takes int64\[\]"),
        (lambda: loop(1, True, [[1], [2, 3]], body=GRAPH), "'n'"),
        (lambda: loop(1, True, 1, body=GRAPH, captured={"n": 1}), "hides the captured value"),
        (lambda: loop(1, True, 1, body=GRAPH, scan_outputs=[]), "for a Python function"),
        (lambda: loop(1, True, 1, body=3), "a body is a graph or a function, not int"),
        (lambda: loop(0, True, 1, body=lambda i, c, n: (c, n)), "no pass was made"),
        (lambda: loop(2, True, 1, body=lambda i, c, n: c), "returns 1 values where at least 2"),
        (lambda: loop(2, True, 1, body=lambda i, c, n: (c, n, n)[: 3 - i]), "returns 2 values where 3"),
        (lambda: loop(2, True, 1, body=lambda i, c, n: (c, n), scan_outputs=[(int, ())]), "returns 2 values where 3"),
        (lambda: loop(2, True, 1, body=lambda i, c, n: (n, n)), "must be a bool scalar, not int64"),
        (lambda: loop(2, True, 1, body=lambda i, c, n: ([True, True], n)), r"must be a bool scalar, not bool\[2\]"),
        (
            lambda: loop(2, True, 1, body=lambda i, c, n: (c, n / 2)),
            "carried value 0 is float64 after a pass, and int64",
        ),
        (
            lambda: loop(2, True, 1, body=lambda i, c, n: (c, 2.5)),
            r"carried value 0 is float64\[\] where int64 is wanted",
        ),
        (lambda: loop(2, "", 1, body=says("n")), "must be a bool scalar, not int64"),
        (lambda: loop(2, "", 1, body=says("pair")), r"must be a bool scalar, not bool\[2\]"),
    ],
)
def test_errors(call: Callable[[], Any], reason: str) -> None:
    with pytest.raises(InvalidModel, match=reason):
        call()


def says(what: str) -> Any:
    kind = {"n": "int64", "pair": "bool[2]"}[what]
    text = f"""
    b (int64 i, bool c, int64 n) => ({kind} go, int64 m) {{
        two = Constant<value_ints=[2]>()  pair = Expand(c, two)  m = Identity(n)  go = Identity({what})
    }}"""
    return parser.parse_graph(text)


def test_scan_outputs_that_change() -> None:
    with pytest.raises(ExecutionError, match="can't be stacked"):
        loop(2, True, body=lambda i, c: (c, np.zeros(int(i))))
    with pytest.raises(ExecutionError, match="can't be stacked"):
        loop(2, True, body=lambda i, c: (c, np.zeros(2, [np.float32, np.int64][int(i)])))


def test_pythons_own_numbers_take_the_type_of_what_they_follow() -> None:
    check(loop(2, True, np.float32(1), body=lambda i, c, x: (c, 3)), [np.array(3, np.float32)])
    check(loop(2, True, np.float16(1), body=lambda i, c, x: (c, x * 2.5)), [np.array(6.25, np.float16)])


def test_long_loops_end_soon() -> None:
    check(loop(2_000_000, True, 0, body=GRAPH), [np.array(2_000_000)])
