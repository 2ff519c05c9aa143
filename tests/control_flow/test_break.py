"""`break` as ONNX Script writes it, Loop(n, "", ...) whose body's condition ends it: every target breaks, too.

ONNX's text calls the body's condition ignored where no other is given; ONNX Runtime and OpenVINO's importer obey it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert, load, to_hub
from backedge.passes.loop import Loop, is_loop
from backedge.runtime.oracles import run_file, why_unavailable
from onnx import parser
from onnxscript import FLOAT, INT64, script
from onnxscript import opset18 as op

Arrays = dict[str, np.ndarray]


@script()
def sums(x: FLOAT["N"], limit: FLOAT, rounds: INT64):  # noqa: F821, UP037
    """Adds x up, `rounds` times, each time until the sum is above the limit."""
    total = op.Constant(value_float=0.0)
    passes = op.Constant(value_int=0)
    size = op.Squeeze(op.Shape(x))
    for _r in range(rounds):
        s = op.Constant(value_float=0.0)
        for i in range(size):
            s = s + op.Gather(x, i)
            passes = passes + 1
            stop = s > limit
            if stop:
                break
        total = total + s
        enough = total > 4.0 * limit
        if enough:
            break
    return total, passes


def by_hand(x: np.ndarray, limit: np.ndarray, rounds: np.ndarray) -> list[np.ndarray]:
    total, passes = np.float32(0), 0
    for _ in range(int(rounds)):
        s = np.float32(0)
        for item in x:
            s, passes = s + item, passes + 1
            if s > limit:
                break
        total += s
        if total > np.float32(4) * limit:
            break
    return [np.array(total, np.float32), np.array(passes, np.int64)]


def given(limit: float, rounds: int, x: list[float]) -> Arrays:
    return {"x": np.array(x, np.float32), "limit": np.array(limit, np.float32), "rounds": np.array(rounds, np.int64)}


X = [0.5, 1.0, 0.25, 2.0]
FEEDS = [given(limit, rounds, X) for limit, rounds in ((-1, 3), (1, 2), (1, 9), (2, 9), (9, 2), (0.25, 0), (1, -1))]
"""Ended at once, at some pass, by either loop or neither; no rounds."""
OTHER_SIZES = [given(1, 5, []), given(2, 5, [3.0]), given(2, 5, [1.0] * 9)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("break") / "m.onnx"
    model = sums.to_model_proto()
    model.ir_version = 10
    onnx.save(model, path)
    return path


def test_it_is_written_so_and_runs_so(source: Path) -> None:
    model = onnx.load(source)
    assert [node.input[1] for node in model.graph.node if node.op_type == "Loop"] == [""]
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    for feeds in FEEDS + OTHER_SIZES:
        for found, wanted in zip(session.run(None, feeds), by_hand(**feeds), strict=True):
            np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize(
    ("runtime", "suffix", "opset"),
    [
        *(("onnxruntime", ".onnx", opset) for opset in (25, 21, 13, 11, 9)),
        ("openvino", ".xml", None),
        ("xla", ".hlo", None),
        ("mdf", ".json", None),
    ],
)
def test_every_target_breaks(runtime: str, suffix: str, opset: int | None, source: Path, tmp_path: Path) -> None:
    if reason := why_unavailable(runtime):
        pytest.skip(reason)
    fixed = runtime in ("xla", "mdf")
    target = tmp_path / f"m{suffix}"
    report = convert(
        source,
        target,
        opset=opset,
        shapes={"x": (len(X),)} if fixed else None,
        mdf_style="stateful" if runtime == "mdf" else None,
        verify=0,
    )
    assert sum("the one that its body gives is obeyed" in note for note in report.notes) == 2
    all_feeds = FEEDS if fixed else FEEDS + OTHER_SIZES
    for feeds, outcome in zip(all_feeds, run_file(runtime, target, all_feeds), strict=True):
        assert outcome.outputs is not None, outcome.error
        for found, wanted in zip(outcome.outputs.values(), by_hand(**feeds), strict=True):
            np.testing.assert_array_equal(found, wanted)


CERTAIN = """<ir_version: 8, opset_import: ["" : {opset}]>
g (int64 m, float x) => (float y) <bool yes = {{1}}, bool no = {{0}}> {{
  y = Loop(m, "", x) <body = b (int64 i, bool c, float a) => (bool d, float e) {{ {d} e = Add(a, a) }}>
}}"""


@pytest.mark.parametrize(
    ("d", "certain"),
    [
        ("d = Identity(c)", True),
        ("d = Identity(yes)", True),
        ("one = Constant<value = float {1}>() d = Cast<to = 9>(one)", True),
        ("d = Identity(no)", False),
        ("nought = Constant<value = float {0}>() d = Cast<to = 9>(nought)", False),
        ("d = Not(c)", False),
    ],
)
def test_only_a_condition_that_is_certainly_true_is_let_go(d: str, certain: bool, tmp_path: Path) -> None:
    onnx.save(parser.parse_model(CERTAIN.format(opset=13, d=d)), tmp_path / "m.onnx")
    hub = to_hub(load(tmp_path / "m.onnx"))
    [loop] = [Loop(node) for node in hub.nodes if is_loop(node)]
    assert (loop.condition is None) == certain
    assert bool(hub.meta.get("notes")) != certain


def test_a_default_is_no_constant(tmp_path: Path) -> None:
    """Whoever runs the model may feed another condition than the input's default."""
    text = CERTAIN.format(opset=13, d="d = Identity(yes)").replace("(int64 m,", "(int64 m, bool yes,")
    model = parser.parse_model(text)
    onnx.save(model, tmp_path / "m.onnx")
    for target in ("low.onnx", "high.onnx"):
        convert(tmp_path / "m.onnx", tmp_path / target, opset=11 if target == "low.onnx" else 21, verify=0)
        session = onnxruntime.InferenceSession(tmp_path / target, providers=["CPUExecutionProvider"])
        x, m = np.array(1, np.float32), np.array(3)
        assert [session.run(None, {"x": x, "m": m, "yes": np.array(yes)})[0] for yes in (True, False)] == [8, 2]
        assert session.run(None, {"x": x, "m": m})[0] == 8


def test_a_default_trip_count_is_not_unrolled(tmp_path: Path) -> None:
    text = CERTAIN.format(opset=21, d="d = Identity(c)").replace("<bool yes", "<int64 m = {3}, bool yes")
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    report = convert(tmp_path / "m.onnx", tmp_path / "out.onnx", unroll=8, verify=0)
    assert report.operators["Loop"] == 1
    session = onnxruntime.InferenceSession(tmp_path / "out.onnx", providers=["CPUExecutionProvider"])
    x = np.array(1, np.float32)
    assert [session.run(None, feeds)[0] for feeds in ({"x": x}, {"x": x, "m": np.array(5)})] == [8, 32]
