"""The runtimes as processes: what they answer, and what happens when an input kills or hangs them."""

import math
import os
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from backedge.convert.asked import executor_on
from backedge.passes.errors import InvalidModel
from backedge.runtime.oracles import run_file, state_output_name, stream_file
from backedge.runtime.oracles.driver import drive
from onnx import parser

INT64_MIN = -(2**63)


def model(folder: Path, graph: str, opset: int = 21, ir: int = 10) -> Path:
    proto = parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}]>\n{graph}')
    path = folder / "m.onnx"
    onnx.save(proto, path)
    return path


def one(oracle: str, path: Path, feeds, **settings):
    [outcome] = run_file(oracle, path, [feeds], **settings)
    assert not outcome.error, outcome.error
    return outcome.outputs


@pytest.fixture(params=["forked", "started"])
def process(request, monkeypatch):
    """Both ways to get a session's process."""
    monkeypatch.setenv("BACKEDGE_FORK", "1" if request.param == "forked" else "0")


# crashes, hangs, refusals ------------------------------------------------------------------------------


def test_an_input_that_kills_the_process_loses_no_other(tmp_path, process):
    path = model(tmp_path, "g (int64[N] x, int64[N] y) => (int64[N] z) { z = Div(x, y) }")
    pairs = [(7, 2), (INT64_MIN, -1), (9, -3), (1, 0), (INT64_MIN, -1), (8, 8)]
    found = run_file("onnxruntime", path, [{"x": np.array([a]), "y": np.array([b])} for a, b in pairs])
    assert [o.stage for o in found] == ["", "crash", "", "run", "crash", ""]
    assert [o.outputs["z"].tolist() for o in found if o.outputs] == [[3], [-3], [1]]
    assert found[1].error == "the process died of SIGFPE" and found[1].fault == found[1].error
    assert "division by zero" in found[3].error and not found[3].fault


def test_a_process_that_dies_after_an_error_is_started_anew_and_asked_once_more(tmp_path, monkeypatch):
    """A child that refuses "bad", and dies of whatever comes next unless it is new."""
    (tmp_path / "fragile").mkdir()
    (tmp_path / "fragile" / "session.py").write_text(FRAGILE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    feeds = [{"x": np.array(text)} for text in ("good", "bad", "good", "fatal")]
    found = list(drive("fragile.session", tmp_path / "m", feeds, 20.0, 100.0, {}))
    assert [one.stage for one in found] == ["", "run", "", "crash"]


FRAGILE = """
import os

class Session:
    coarse = False
    failed = False

    def run(self, feeds):
        text = str(feeds["x"])
        if self.failed or text == "fatal":
            os._exit(3)
        if text == "bad":
            self.failed = True
            raise ValueError("bad")
        return {"y": feeds["x"]}, ""

def open_session(path, options):
    return Session()
"""


def test_a_session_that_an_error_has_spent_is_opened_anew(tmp_path, monkeypatch):
    (tmp_path / "spent").mkdir()
    (tmp_path / "spent" / "session.py").write_text(SPENT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    feeds = [{"x": np.array(text)} for text in ("good", "wrong", "good", "bad", "good", "bad")]
    found = list(drive("spent.session", tmp_path / "m", feeds, 20.0, 100.0, {}))
    assert [one.stage for one in found] == ["", "run", "", "run", "", "run"]
    assert [one.outputs["y"].tolist() for one in found if one.outputs] == [1, 3, 1]


SPENT = """
import numpy as np

class Session:
    coarse = is_spent = False
    runs = 0

    def run(self, feeds):
        self.runs += 1
        self.is_spent = str(feeds["x"]) == "bad"
        if str(feeds["x"]) != "good":
            raise ValueError(str(feeds["x"]))
        return {"y": np.array(self.runs)}, ""

def open_session(path, options):
    return Session()
"""


def test_openvino_computes_right_after_inputs_that_it_refuses(tmp_path):
    """Its own next run of earlier sizes reads memory that is freed: mostly other numbers, sometimes its end."""
    import openvino as ov
    import openvino.opset1 as layers

    path = tmp_path / "m.xml"
    x = layers.parameter([-1, 1, -1, -1], np.float32)
    pool = layers.avg_pool(x, [1, 1], [0, 0], [0, 0], [1, 1], True, "floor")
    ov.serialize(ov.Model([pool], [x]), path)
    images = np.random.default_rng(0).random((8, 1, 1, 16, 16), np.float32)
    feeds = [{"x": given} for image in images for given in (image, image[:0])]
    found = run_file("openvino", path, feeds)
    assert [one.stage for one in found] == ["", "run"] * len(images)
    for image, one in zip(images, found[::2], strict=True):
        (result,) = one.outputs.values()
        np.testing.assert_array_equal(result, image)


def test_openvino_tells_what_it_does_not_resize(tmp_path):
    """With one thread it hands out what stands in memory."""
    import openvino as ov
    import openvino.opset11 as layers

    path, sizes = tmp_path / "m.xml", [1, 1, 1, 3]
    x = layers.parameter([-1, 1, -1, -1], np.float32)
    made = layers.interpolate(x, np.array(sizes), "nearest", "sizes", axes=np.arange(4))
    ov.serialize(ov.Model([made], [x]), path)
    found = run_file("openvino", path, [{"x": np.ones((batch, 1, 2, 4), np.float32)} for batch in (1, 2, 1)])
    assert [one.stage for one in found] == ["", "run", ""]
    assert "spatial dimensions" in found[1].error


def test_too_many_crashes_end_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("backedge.runtime.oracles.driver.MAX_CRASHES", 2)
    path = model(tmp_path, "g (int64[N] x, int64[N] y) => (int64[N] z) { z = Div(x, y) }")
    found = run_file("onnxruntime", path, [{"x": np.array([INT64_MIN]), "y": np.array([-1])}] * 4)
    assert [o.stage for o in found] == ["crash", "crash", "skipped", "skipped"]


ENDLESS = """g (float[1] x, bool go) => (float[1] y) {
  y = Loop(, go, x) <body = b (int64 i, bool c, float[1] a) => (bool d, float[1] e) {
    d = Identity(c) e = Neg(a) }>
}"""


def test_an_endless_loop_is_ended_and_the_next_input_runs(tmp_path, process):
    path = model(tmp_path, ENDLESS)
    x = np.ones(1, np.float32)
    found = run_file("onnxruntime", path, [{"x": x, "go": np.array(go)} for go in (False, True, False)], timeout=2)
    assert [o.stage for o in found] == ["", "timeout", ""]
    assert "2 s" in found[1].error
    assert found[2].outputs["y"].tolist() == [1.0]


def test_the_limit_for_all_inputs_skips_the_rest(tmp_path):
    path = model(tmp_path, ENDLESS)
    feeds = {"x": np.ones(1, np.float32), "go": np.array(True)}
    found = run_file("onnxruntime", path, [feeds] * 3, timeout=1, total=0.5)
    assert [o.stage for o in found] == ["timeout", "skipped", "skipped"]


def test_no_process_outlives_its_iterator(tmp_path, process):
    path = model(tmp_path, "g (float[1] x) => (float[1] y) { y = Neg(x) }")
    run_file("onnxruntime", path, [{"x": np.ones(1, np.float32)}])  # what sessions are forked from stays
    others = _descendants()
    outcomes = stream_file("onnxruntime", path, ({"x": np.ones(1, np.float32)} for _ in range(9)))
    assert next(outcomes).outputs["y"].tolist() == [-1.0]
    before = _descendants() - others
    outcomes.close()
    assert len(before) >= 1
    assert not _descendants() & before


def _descendants() -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


@pytest.mark.parametrize("oracle", ["onnxruntime", "reference"])
def test_a_broken_file_is_refused_once_for_all_inputs(tmp_path, process, oracle):
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x99 not a model")
    found = run_file(oracle, tmp_path / "bad.onnx", [{}, {}])
    assert [o.stage for o in found] == ["load", "load"]
    assert all(o.error and "\n" not in o.error for o in found)


def test_unknown_runtime_and_wrong_file():
    with pytest.raises(InvalidModel, match="no runtime 'tvm'"):
        run_file("tvm", Path("m.onnx"), [{}])
    [found] = run_file("onnxruntime", Path("m.xml"), [{}])
    assert found.stage == "load" and found.error == "onnxruntime takes .onnx files, not m.xml"


def test_feeds_that_belong_to_no_input(tmp_path):
    path = model(tmp_path, "g (float[1] x, float[1] y) => (float[1] z) { z = Sub(x, y) }")
    a, b = np.array([5], np.float32), np.array([3], np.float32)
    found = run_file("onnxruntime", path, [{"y": b, "x": a}, {"first": a, "second": b}, {"first": a}])
    assert [o.outputs["z"].tolist() for o in found[:2]] == [[2.0], [2.0]]  # by name, then by position
    assert "no input 'first'" in found[2].error


# values through ONNX Runtime ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float16], ids=str
)
@pytest.mark.parametrize("values", [[1.5, -2.0, 0.25], []], ids=["three", "empty"])
def test_narrow_floats_in_and_out(tmp_path, dtype, values):
    name = {np.float16: "float16"}.get(dtype, np.dtype(dtype).name.replace("_", ""))
    path = model(tmp_path, f"g ({name}[N] x, bool b) => ({name}[N] y, bool c) {{ y = Identity(x) c = Not(b) }}")
    found = one("onnxruntime", path, {"x": np.array(values, np.float32).astype(dtype), "b": np.array(True)})
    assert found["y"].dtype == dtype
    assert found["y"].astype(np.float32).tolist() == values
    assert not found["c"]


def test_int4_is_packed_as_the_runtime_wants(tmp_path):
    path = model(tmp_path, "g (int4[N] x) => (float[N] y, int4[N] z) { y = Cast<to=1>(x) z = Cast<to=22>(y) }")
    found = one("onnxruntime", path, {"x": np.array([7, -8, -1]).astype(ml_dtypes.int4)})
    assert found["y"].tolist() == [7.0, -8.0, -1.0]
    assert found["z"].dtype == ml_dtypes.int4 and found["z"].astype(int).tolist() == [7, -8, -1]


def test_strings_and_sequences(tmp_path):
    graph = """g (string[N] x, seq(float[M]) s) => (string[N] y, seq(float[M]) t, int64 n) {
      y = Identity(x)
      v = Constant<value=float[1] {4}>()
      t = SequenceInsert(s, v)
      n = SequenceLength(t)
    }"""
    path = model(tmp_path, graph)
    feeds = {"x": np.array(["ü", b"b", ""], object), "s": [np.zeros(2, np.float32)]}
    found = one("onnxruntime", path, feeds)
    assert found["y"].tolist() == ["ü", "b", ""]
    assert [item.tolist() for item in found["t"]] == [[0.0, 0.0], [4.0]]
    assert found["n"] == 2
    empty = one("onnxruntime", path, {"x": np.array([], object), "s": []})
    assert empty["y"].shape == (0,) and len(empty["t"]) == 1


def test_an_empty_optional(tmp_path):
    path = model(tmp_path, "g (optional(float[N]) x) => (bool y) { y = OptionalHasElement(x) }")
    assert not one("onnxruntime", path, {"x": None})["y"]
    assert one("onnxruntime", path, {"x": np.ones(2, np.float32)})["y"]


def test_nan_infinity_and_empty_tensors(tmp_path):
    path = model(tmp_path, "g (float[N] x) => (float[N] y, float s) { y = Log(x) s = ReduceMax<keepdims=0>(x) }")
    found = run_file("onnxruntime", path, [{"x": np.array(v, np.float32)} for v in ([-1, 0, np.inf], [])])
    assert np.isnan(found[0].outputs["y"][0])
    assert found[0].outputs["y"][1:].tolist() == [-np.inf, np.inf]
    assert found[1].outputs["y"].shape == (0,)


def test_external_data_is_found_beside_the_file(tmp_path):
    weights = onnx.numpy_helper.from_array(np.array([1, 2, 3], np.float32), "w")
    proto = parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[3] x) => (float[3] y) {y=Mul(x,w)}')
    proto.graph.initializer.append(weights)
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    assert (tmp_path / "w.bin").stat().st_size == 12
    for oracle in ("onnxruntime", "reference"):
        found = one(oracle, tmp_path / "m.onnx", {"x": np.full(3, 2, np.float32)})
        assert found["y"].tolist() == [2.0, 4.0, 6.0]


def test_an_unreleased_operator_set_is_let_in(tmp_path):
    path = model(tmp_path, "g (float[1] x) => (float[1] y) { y = Neg(x) }", opset=27, ir=13)
    assert one("onnxruntime", path, {"x": np.ones(1, np.float32)})["y"].tolist() == [-1.0]


@pytest.mark.parametrize("level", ["disable_all", "all"])
def test_the_optimisation_level_can_be_chosen(tmp_path, level):
    path = model(tmp_path, "g (float[1] x) => (float[1] y) { y = Neg(x) }")
    found = one("onnxruntime", path, {"x": np.ones(1, np.float32)}, options={"level": level, "threads": 2})
    assert found["y"].tolist() == [-1.0]


# known faults ------------------------------------------------------------------------------------------

LOOP = """g (int64 M, float[1] x) => (float[1] y) {{
  t = Constant<value=bool {{1}}>()
  y = Loop(M, {cond}, x) <body = b (int64 i, bool c, float[1] a) => (bool d, float[1] e) {{ {d} e = Add(a, a) }}>
}}"""
STOP = "lim = Constant<value=int64 {1}>() d = Less(i, lim)"


def test_onnxruntime_obeys_the_condition_of_the_body_alone(tmp_path):
    path = model(tmp_path, LOOP.format(cond="", d=STOP))
    [found] = run_file("onnxruntime", path, [{"M": np.array(5), "x": np.ones(1, np.float32)}])
    assert found.usable and found.outputs["y"].tolist() == [4.0]


def test_onnxruntime_is_not_believed_about_a_scan_of_version_8_over_nothing(tmp_path):
    """It gives uninitialised memory then; with elements it is right."""
    graph = """g (float[1,1] h, float[1,n,1] x) => (float[1,1] y) {
  y = Scan("", h, x) <num_scan_inputs = 1, body = b (float[1] a, float[1] e) => (float[1] s) { s = Add(a, e) }>
}"""
    path = model(tmp_path, graph, opset=8, ir=3)
    h = np.full((1, 1), 2, np.float32)
    sizes = [{"h": h, "x": np.ones((1, size, 1), np.float32)} for size in (3, 0)]
    some, none = run_file("onnxruntime", path, sizes)
    assert some.usable and some.outputs["y"].tolist() == [[5.0]]
    assert none.fault == "ONNX Runtime gives uninitialised memory for a Scan of version 8 over no elements"


COUNT = """g (int64 n, int64 x) => (int64 y, int64[k] all) {{
  y, all = Loop(n, "", x) <body = b (int64 i, bool c, int64 a) => (bool d, int64 {state}, int64 {output}) {{
    d = Identity(c) {nodes}
  }}>
}}"""
SUMS = """g (float n, float[3] x) => (float y, float[3] all) {{
  y, all = Scan(n, x) <num_scan_inputs = 1, body = b (float a, float e) => (float {state}, float {output}) {{
    {nodes}
  }}>
}}"""


@pytest.mark.parametrize(
    ("graph", "state", "output", "nodes", "expected"),
    [
        (COUNT, "i", "s", "s = Neg(a)", [3, -7, 0, -1, -2]),
        (COUNT, "s", "i", "s = Add(a, i)", [13, 0, 1, 2, 3]),
        (COUNT, "s", "j", "s = Add(a, i) j = Identity(i)", [13, 0, 1, 2, 3]),
        (COUNT, "s", "a", "s = Add(a, i)", [13, 7, 7, 8, 10]),
        (SUMS, "s", "e", "s = Add(a, e)", [13, 1, 2, 3]),
        (SUMS, "s", "a", "s = Add(a, e)", [13, 7, 8, 10]),
        (SUMS, "e", "s", "s = Add(a, e)", [3, 8, 3, 5]),
        (SUMS, "s", "j", "s = Add(a, e) j = Identity(e)", [13, 1, 2, 3]),
    ],
)
def test_onnxruntime_is_not_believed_where_a_body_returns_its_inputs(tmp_path, graph, state, output, nodes, expected):
    """It is wrong exactly where its answer is called a fault."""
    path = model(tmp_path, graph.format(state=state, output=output, nodes=nodes))
    kind = np.int64 if graph is COUNT else np.float32
    x = np.array(7) if graph is COUNT else np.array([1, 2, 3], np.float32)
    feeds = {"n": np.array(4 if graph is COUNT else 7, kind), "x": x}
    [found] = run_file("onnxruntime", path, [feeds])
    values = np.concatenate([found.outputs["y"].reshape(1), found.outputs["all"]])
    assert (values.tolist() != expected) == bool(found.fault)


@pytest.mark.parametrize(("opset", "kind"), [(7, "float"), (9, "float"), (10, "bool"), (12, "bool")])
def test_onnxruntime_is_not_believed_about_masks_before_version_12(tmp_path, opset, kind):
    """Nothing is dropped: from version 12 on the text says that the mask is all ones then, and onnx's reference gives
    such a mask for all versions."""
    masked = model(tmp_path, f"g (float[2] x) => (float[2] y, {kind}[2] m) {{ y, m = Dropout(x) }}", opset, 8)
    feeds = [{"x": np.float32([1, 2])}]
    [found], [other] = run_file("onnxruntime", masked, feeds), run_file("reference", masked, feeds)
    assert other.outputs["m"].all()
    assert found.outputs["m"].any() != bool(found.fault)
    unused = model(tmp_path, "g (float[2] x) => (float[2] y) { y, m = Dropout(x) }", opset, 8)
    [found] = run_file("onnxruntime", unused, feeds)
    assert found.usable


RECURRENT = """g (float[2,1,1] x, float[1,{rows},1] w, int32[1] n) => (float[2,1,1,1] y) {{
  y = {op}<hidden_size=1{attributes}>(x, w, w{lengths})
}}"""


@pytest.mark.parametrize(
    ("op", "rows", "attributes", "lengths", "spoilt"),
    [
        ("GRU", 3, "", "", False),
        ("GRU", 3, "", ', "", n', True),
        ("RNN", 1, ', direction="reverse"', ', "", n', True),
        ("RNN", 1, ", clip=0.25", "", True),
        ("LSTM", 4, ", input_forget=1", "", True),
        ("LSTM", 4, ', activations=["Sigmoid","Relu","Tanh"]', "", True),
    ],
)
def test_what_the_reference_disregards(tmp_path, op, rows, attributes, lengths, spoilt):
    """ONNX Runtime is the judge of that."""
    path = model(tmp_path, RECURRENT.format(op=op, rows=rows, attributes=attributes, lengths=lengths))
    x, w = np.array([0.75, -0.5], np.float32).reshape(2, 1, 1), np.linspace(0.5, 2, rows, dtype=np.float32)
    feeds = {"x": x, "w": w.reshape(1, rows, 1), "n": np.array([1], np.int32)}
    found, wanted = (run_file(one, path, [feeds])[0] for one in ("reference", "onnxruntime"))
    assert wanted.usable and bool(found.fault) == spoilt
    assert np.allclose(found.outputs["y"], wanted.outputs["y"], atol=1e-6) != spoilt


@pytest.mark.parametrize("shape", ["", ", s"])
def test_onnxruntime_is_not_believed_about_indices_of_another_shape(tmp_path, shape):
    """onnx's reference is the judge, which places what ONNX's own test of it has."""
    node = f"y = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i{shape})"
    text = f"g (float[1,1,1,1] x, int64[1,1,1,1] i, int64[4] s) => (float[a,b,c,d] y) {{ {node} }}"
    feeds = {"x": np.ones((1, 1, 1, 1), np.float32), "i": np.full((1, 1, 1, 1), 3), "s": np.array([1, 1, 3, 4])}
    path = model(tmp_path, text, 17, 8)
    [found], [wanted] = run_file("onnxruntime", path, [feeds]), run_file("reference", path, [feeds])
    assert wanted.usable and bool(found.fault) == bool(shape)
    assert np.array_equal(found.outputs["y"], wanted.outputs["y"]) != bool(shape)


@pytest.mark.parametrize(("opset", "attribute"), [(9, ""), (9, "<momentum = 0.5>"), (13, ""), (14, "")])
def test_the_reference_trains_before_version_14(tmp_path, opset, attribute):
    """ONNX Runtime is the judge: nothing is trained in a model with one output."""
    node = f"y = BatchNormalization{attribute}(x, s, s, s, v)"
    path = model(tmp_path, f"g (float[2,1] x, float[1] s, float[1] v) => (float[2,1] y) {{ {node} }}", opset, 8)
    feeds = [{"x": np.float32([[1], [4]]), "s": np.float32([2]), "v": np.float32([9])}]
    [found], [wanted] = run_file("reference", path, feeds), run_file("onnxruntime", path, feeds)
    assert wanted.usable and bool(found.fault) == (opset < 14)
    same = found.outputs is not None and np.allclose(found.outputs["y"], wanted.outputs["y"], atol=1e-6)
    assert same != bool(found.fault)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 4, 5), (2, 3, 2, 2, 2)])
def test_the_reference_pools_along_two_axes(tmp_path, shape):
    """ONNX Runtime is the judge."""
    sizes = [", ".join(map(str, one)) for one in (shape, (2, 3, *[1] * (len(shape) - 2)))]
    path = model(tmp_path, f"g (float[{sizes[0]}] x) => (float[{sizes[1]}] y) {{ y = GlobalMaxPool (x) }}", 13, 8)
    feeds = [{"x": np.random.default_rng(0).normal(size=shape).astype(np.float32)}]
    [found], [wanted] = run_file("reference", path, feeds), run_file("onnxruntime", path, feeds)
    assert wanted.usable and bool(found.fault) == (len(shape) != 4)
    same = found.outputs is not None and np.array_equal(found.outputs["y"], wanted.outputs["y"])
    assert same != bool(found.fault)


IMAGE, FILTERS = (np.random.default_rng(0).normal(size=size).astype(np.float32) for size in ((1, 4, 5), (4, 1, 2)))

RANKS = {"Unsqueeze": 5, "LinearRegressor": 2, "Shape": 1}


@pytest.mark.parametrize(
    ("call", "operands", "opset", "spoilt"),
    [
        ("r = MaxPool<kernel_shape = [2], pads = [0, 1]>(x)", [IMAGE], 13, True),
        ("r = MaxPool<kernel_shape = [2], strides = [2], auto_pad = \"SAME_LOWER\">(x)", [IMAGE], 13, True),
        ("r = MaxPool<kernel_shape = [3]>(x)", [IMAGE], 13, False),
        ("r = AveragePool<kernel_shape = [3], strides = [3], ceil_mode = 1>(x)", [IMAGE[..., :4]], 13, True),
        ("r = AveragePool<kernel_shape = [3], strides = [3], pads = [1, 0]>(x)", [IMAGE], 13, False),
        ("r = MeanVarianceNormalization<axes = [1, 2]>(x)", [IMAGE / 1e4 + 1], 13, True),
        ("r = MeanVarianceNormalization<axes = [1, 2]>(x)", [IMAGE], 13, False),
        ("r = LpPool<kernel_shape = [2], strides = [2], ceil_mode = 1>(x)", [IMAGE], 18, True),
        ("r = ConvTranspose<group = 4>(x, y, z)", [IMAGE, FILTERS, IMAGE[0, :, 0]], 13, True),
        ("r = ConvTranspose<group = 4>(x, y, z)", [IMAGE, FILTERS, np.ones(4, np.float32)], 13, False),
        ("r = ConvTranspose<group = 4>(x, y)", [IMAGE, FILTERS], 13, False),
        ("r = ConvTranspose<strides = [3], auto_pad = \"SAME_UPPER\">(x, y)", [IMAGE, FILTERS], 13, True),
        ("r = ConvTranspose<strides = [2], auto_pad = \"SAME_UPPER\">(x, y)", [IMAGE, FILTERS], 13, False),
        ("r = Unsqueeze<axes = [2, 0]>(x)", [IMAGE], 11, True),
        ("r = Unsqueeze<axes = [0, 2]>(x)", [IMAGE], 11, False),
        ("r = Unsqueeze(x, y)", [IMAGE, np.array([2, 0])], 13, False),
        ("r = Slice(x, y, y, z, z)", [IMAGE, np.array([-6]), np.array([-1])], 13, True),
        ("r = Slice(x, y, y, z, z)", [IMAGE, np.array([-5]), np.array([-1])], 13, False),
        ("s = Shape<start = -4, end = -4>(x) r = Cast<to = 1>(s)", [IMAGE], 15, True),
        ("s = Shape<start = -3, end = -1>(x) r = Cast<to = 1>(s)", [IMAGE], 15, False),
        ("s = Shape(x) r = Cast<to = 1>(s)", [IMAGE], 13, False),
        ("r = ai.onnx.ml.LinearRegressor<coefficients = [1.0, 2.0]>(x)", [IMAGE[0, :, :2]], 13, True),
        ("r = ai.onnx.ml.LinearRegressor<coefficients=[1.0, 2.0], intercepts=[6.0]>(x)", [IMAGE[0, :, :2]], 13, False),
    ],
)  # fmt: skip
def test_what_the_reference_mistakes(tmp_path, call, operands, opset, spoilt):
    """ONNX Runtime is the judge: the answers are others exactly where they aren't to be believed."""
    feeds = dict(zip("xyz", operands, strict=False))
    kinds = {name: "int64" if value.dtype == np.int64 else "float" for name, value in feeds.items()}
    given = ", ".join(f"{kinds[name]}[{','.join(map(str, value.shape))}] {name}" for name, value in feeds.items())
    rank = next((rank for name, rank in RANKS.items() if name in call), 3)
    result = ", ".join("abcde"[:rank])
    imports = f'"" : {opset}, "ai.onnx.ml" : 3'
    text = f"<ir_version: 8, opset_import: [{imports}]> g ({given}) => (float[{result}] r) {{ {call} }}"
    onnx.save(parser.parse_model(text), path := tmp_path / "m.onnx")
    [found], [wanted] = run_file("reference", path, [feeds]), run_file("onnxruntime", path, [feeds])
    assert wanted.usable and bool(found.fault) == spoilt
    same = found.outputs is not None and found.outputs["r"].shape == wanted.outputs["r"].shape
    assert (same and np.allclose(found.outputs["r"], wanted.outputs["r"], atol=1e-5)) != spoilt


SCALED = "s = ai.onnx.ml.Scaler<offset = [0.5], scale = [1.0]>(x) r = Cast<to = 1>(s)"
BRANCHES = f"then_branch = t() => (float[1] r) {{ {SCALED} }}, else_branch = e() => (float[1] r) {{ {SCALED} }}"


@pytest.mark.parametrize("body", [SCALED, f"r = If<{BRANCHES}>(c)"])
@pytest.mark.parametrize("kind", ["int64", "float"])
def test_the_reference_is_not_believed_where_types_are_wrong_on_the_way(tmp_path, body, kind):
    """It takes an offset off integers as an integer, and a Cast hides the type."""
    imports = '"" : 18, "ai.onnx.ml" : 3'
    text = f"<ir_version: 8, opset_import: [{imports}]> g (bool c, {kind}[1] x) => (float[1] r) {{ {body} }}"
    onnx.save(parser.parse_model(text), path := tmp_path / "m.onnx")
    feeds = {"c": np.array(True), "x": np.array([3], np.int64 if kind == "int64" else np.float32)}
    [found], [wanted] = run_file("reference", path, [feeds]), run_file("onnxruntime", path, [feeds])
    assert wanted.outputs["r"].tolist() == [2.5]
    assert bool(found.fault) == (found.outputs["r"].tolist() != [2.5]) == (kind == "int64")


@pytest.mark.parametrize("opset", [10, 15, 16, 21])
def test_the_reference_takes_half_a_pixel_off_before_version_16(tmp_path, opset):
    """ONNX Runtime is the judge."""
    node = "y = RoiAlign <sampling_ratio = 2> (x, r, i)"
    path = model(
        tmp_path, f"g (float[1,1,4,4] x, float[1,4] r, int64[1] i) => (float[1,1,1,1] y) {{ {node} }}", opset, 8
    )
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    feeds = [{"x": x, "r": np.float32([[0, 0, 2, 2]]), "i": np.array([0])}]
    [found], [wanted] = run_file("reference", path, feeds), run_file("onnxruntime", path, feeds)
    assert wanted.usable and bool(found.fault) == (opset < 16)
    same = found.outputs is not None and np.array_equal(found.outputs["y"], wanted.outputs["y"])
    assert same != bool(found.fault)


def test_the_reference_is_not_believed_where_its_types_are_wrong(tmp_path):
    """It computes Adam in the types that NumPy makes of its operands: with T above 0 float64, at 0 float32."""
    path = tmp_path / "adam.onnx"
    text = """<ir_version: 10, opset_import: ["ai.onnx.preview.training": 1]>
        g (float r, int64 t, float[1] x, float[1] g, float[1] v, float[1] h) => (float[1] x1, float[1] v1, float[1] h1)
        { x1, v1, h1 = ai.onnx.preview.training.Adam(r, t, x, g, v, h) }"""
    onnx.save(parser.parse_model(text), path)
    feeds = {name: np.full(1, 0.5, np.float32) for name in "xgvh"} | {"r": np.array(0.5, np.float32)}
    later, first = run_file("reference", path, [{**feeds, "t": np.array(1)}, {**feeds, "t": np.array(0)}])
    assert later.fault == "it gives 'x1' as float64, which is declared as float32"
    assert first.usable


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize(("opset", "axes"), [(11, ("", "<axis=0>", "<axis=1>", "<axis=-1>", "<axis=-2>")), (13, ("",))])
def test_the_reference_knows_one_axis_only(tmp_path, op, opset, axes):
    """It is wrong exactly where its answer is called a fault; ONNX Runtime is the judge."""
    random = np.random.default_rng(0)
    for axis in axes:
        path = model(tmp_path, f"g (float[a,b,c] x) => (float[a,b,c] y) {{ y = {op}{axis}(x) }}", opset, 8)
        feeds = [{"x": random.normal(size=shape).astype("f")} for shape in ((2, 3, 4), (2, 1, 4), (2, 3, 1), (1, 1, 3))]
        pairs = zip(run_file("reference", path, feeds), run_file("onnxruntime", path, feeds), strict=True)
        for found, wanted in pairs:
            assert wanted.usable
            assert np.allclose(found.outputs["y"], wanted.outputs["y"], atol=1e-6) != bool(found.fault)


@pytest.mark.parametrize("call", ["y = LogSoftmax (x)", "z, y = SoftmaxCrossEntropyLoss (x, t)"])
@pytest.mark.parametrize(("x", "spoilt"), [([0, -80], False), ([0, -200], True), ([0, -np.inf], False)])
def test_the_reference_takes_logarithms_of_zeros(tmp_path, call, x, spoilt):
    """ONNX Runtime is the judge."""
    path = model(tmp_path, f"g (float[1,2] x) => (float[1,2] y) <int64[1] t = {{0}}> {{ {call} }}", 17, 8)
    [found], [wanted] = (run_file(one, path, [{"x": np.float32([x])}]) for one in ("reference", "onnxruntime"))
    assert wanted.usable and bool(found.fault) == spoilt
    assert np.allclose(found.outputs["y"], wanted.outputs["y"], atol=1e-6) != spoilt


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(("shape", "names"), [((1, 1, 4), "y, i"), ((2, 3, 4), "y, i"), ((1, 1, 3, 4), "y, i"),
                                              ((2, 1, 3, 4), "y, i"), ((2, 1, 3, 4), "y")])  # fmt: skip
def test_the_reference_counts_places_from_each_channel(tmp_path, order, shape, names):
    """It is wrong where its answer is called a fault, of images in some windows only; ONNX Runtime is the judge."""
    dims, kernel = ",".join("abcd"[: len(shape)]), [2] * (len(shape) - 2)
    results = f"float[{dims}] y" + (f", int64[{dims}] i" if "i" in names else "")
    call = f"MaxPool <kernel_shape = {kernel}, storage_order = {order}> (x)"
    path = model(tmp_path, f"g (float[{dims}] x) => ({results}) {{ {names} = {call} }}", 12, 8)
    feeds = {"x": np.random.default_rng(1).normal(size=shape).astype(np.float32)}
    [found], [wanted] = (run_file(one, path, [feeds]) for one in ("reference", "onnxruntime"))
    same = all(np.array_equal(found.outputs[name], wanted.outputs[name]) for name in wanted.outputs)
    assert wanted.usable and (same or found.fault)
    assert bool(found.fault) == (("i" in names) and shape != (1, 1, 4))


@pytest.mark.parametrize(("x", "spoilt"), [([1, 2, -1], False), ([1, 2, -3], True), ([-1, -2, -3], True)])
def test_the_reference_divides_by_the_largest_magnitude(tmp_path, x, spoilt):
    """It is wrong exactly where its answer is called a fault; ONNX Runtime is the judge."""
    path = tmp_path / "m.onnx"
    text = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]>
        g (float[1,3] x) => (float[1,3] y) { y = ai.onnx.ml.Normalizer <norm = "MAX"> (x) }"""
    onnx.save(parser.parse_model(text), path)
    [found], [wanted] = (run_file(one, path, [{"x": np.float32([x])}]) for one in ("reference", "onnxruntime"))
    assert wanted.usable and bool(found.fault) == spoilt
    assert np.allclose(found.outputs["y"], wanted.outputs["y"], atol=1e-6) != spoilt


@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("weights", ["", ", w"])
@pytest.mark.parametrize("labels", [(0, 2), (0, -1), (-3, -3)])
def test_the_reference_weighs_labels_below_0_as_0(tmp_path, op, weights, labels):
    path = model(
        tmp_path,
        f'g (float[2,3] x, int64[2] t, float[3] w) => (float[2] y) {{ y = {op} <reduction="none"> (x, t{weights}) }}',
        13,
        8,
    )
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    feeds = {"x": x, "t": np.array(labels), "w": np.float32([1, 2, 3])}
    found, wanted = (run_file(one, path, [feeds])[0] for one in ("reference", "onnxruntime"))
    spoilt = not np.allclose(found.outputs["y"], wanted.outputs["y"], atol=1e-6)
    assert spoilt == (bool(weights) and -1 in labels)  # -3 is class 0
    assert wanted.usable and bool(found.fault) == (bool(weights) and min(labels) < 0)


@pytest.mark.parametrize("zero", [0, 3, 4])
def test_the_reference_rounds_ties_behind_the_zero_point(tmp_path, zero):
    """It is wrong exactly where its answer is called a fault; ONNX Runtime is the judge: ties go to the even number."""
    text = f"""g (uint8[1,3] x) => (uint8[1,3] y) <uint8[3,3] w = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}, float s = {{1.0}},
        float half = {{0.5}}, uint8 z = {{0}}, uint8 end = {{{zero}}}> {{
        y = QLinearMatMul (x, half, z, w, s, z, s, end) }}"""
    path = model(tmp_path, text, 13, 8)
    feeds = [{"x": np.array([row], np.uint8)} for row in ([5, 7, 8], [4, 6, 8])]
    pairs = zip(run_file("reference", path, feeds), run_file("onnxruntime", path, feeds), strict=True)
    for number, (found, wanted) in enumerate(pairs):
        assert wanted.usable
        assert np.array_equal(found.outputs["y"], wanted.outputs["y"]) != bool(found.fault)
        assert bool(found.fault) == (zero == 3 and number == 0)


@pytest.mark.parametrize("images", [1, 2])
def test_the_reference_makes_a_grid_for_each_matrix(tmp_path, images):
    """ONNX Runtime is the judge: it refuses another number of images."""
    path = model(tmp_path, "g (float[2,2,3] x, int64[4] s) => (float[a,b,c,2] y) { y = AffineGrid(x, s) }")
    feeds = [{"x": np.ones((2, 2, 3), np.float32), "s": np.array([images, 1, 2, 2])}]
    [found], [wanted] = (run_file(oracle, path, feeds) for oracle in ("reference", "onnxruntime"))
    assert found.outputs is not None and bool(found.fault) == (not wanted.usable) == (images == 1)


def test_the_reference_keeps_an_optional_in_a_list(tmp_path):
    """ONNX Runtime is the judge."""
    path = model(tmp_path, "g (float[2] x) => (float[2] y) { o = Optional(x) y = OptionalGetElement(o) }")
    x = np.array([1, 2], np.float32)
    [found], [wanted] = (run_file(oracle, path, [{"x": x}]) for oracle in ("reference", "onnxruntime"))
    assert found.fault and wanted.usable
    assert np.shape(found.outputs["y"]) == (1, 2) and np.array_equal(wanted.outputs["y"], x)


@pytest.mark.parametrize(("kind", "outputs"), [("2", "y"), ("2", "y, i"), ("2, 1", "y")])
@pytest.mark.parametrize("ordered", [0, 1])
def test_the_reference_sorts_what_is_unique(tmp_path, kind, outputs, ordered):
    """ONNX Runtime is the judge."""
    results = ", ".join(
        f"{one} {name}" for one, name in zip(("float[n]", "int64[n]"), outputs.split(", "), strict=False)
    )
    path = model(tmp_path, f"g (float[{kind}] x) => ({results}) {{ {outputs} = Unique<sorted = {ordered}>(x) }}")
    feeds = [{"x": np.array([2, 1], np.float32).reshape(tuple(map(int, kind.split(", "))))}]
    [found], [wanted] = (run_file(oracle, path, feeds) for oracle in ("reference", "onnxruntime"))
    assert wanted.usable and bool(found.fault) == (not ordered and (kind, outputs) != ("2", "y, i"))
    assert np.array_equal(found.outputs["y"], wanted.outputs["y"]) != bool(found.fault)


@pytest.mark.parametrize("delimiter", ["", ","])
def test_the_reference_makes_a_part_of_an_empty_text(tmp_path, delimiter):
    """It gives another number of parts than ONNX Runtime exactly where that is told."""
    text = f'g (string[2] x) => (string[2,n] y, int64[2] z) {{ y, z = StringSplit<delimiter = "{delimiter}">(x) }}'
    path = model(tmp_path, text)
    feeds = [{"x": np.array(one, object)} for one in (["a,b", ","], ["a", ""], ["", ""])]
    pairs = list(zip(run_file("reference", path, feeds), run_file("onnxruntime", path, feeds), strict=True))
    assert all(wanted.usable for _, wanted in pairs)
    assert [bool(found.fault) for found, _ in pairs] == [False, bool(delimiter), bool(delimiter)]
    for found, wanted in pairs:
        assert np.array_equal(found.outputs["z"], wanted.outputs["z"]) != bool(found.fault)


@pytest.mark.parametrize(
    ("most", "text", "is_told"),
    [
        ("", " a  b ", False),
        ("", "a\u3000b", True),
        ("", "a\nb", True),
        ("<maxsplit = 1>", " a  b  c ", True),
        ("<maxsplit = 1>", " a  b  c", False),
        ("<maxsplit = 2>", " a  b  c", False),
        ("<maxsplit = 0>", "a ", True),
    ],
)
def test_the_reference_splits_text_as_python_does(tmp_path, most, text, is_told):
    """It gives other parts than ONNX Runtime exactly where that is told."""
    node = f"g (string[1] x) => (string[1,n] y, int64[1] z) {{ y, z = StringSplit{most}(x) }}"
    path, feeds = model(tmp_path, node), [{"x": np.array([text], object)}]
    [found], [wanted] = (run_file(oracle, path, feeds) for oracle in ("reference", "onnxruntime"))
    assert wanted.usable and bool(found.fault) == is_told
    assert np.array_equal(found.outputs["y"], wanted.outputs["y"]) != is_told


@pytest.mark.parametrize(("x", "is_told"), [([2.5, -1.0], True), ([-0.5, 7.0], True), ([2.0, -0.0], False)])
def test_the_reference_looks_for_fractions_in_one_hot_encoder(tmp_path, x, is_told):
    """It gives something else than ONNX Runtime exactly where that is told."""
    node = "g (float[2] x) => (float[2,3] y) { y = ai.onnx.ml.OneHotEncoder<cats_int64s = [0, 1, 2]>(x) }"
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>\n{node}')
    onnx.save(proto, path := tmp_path / "m.onnx")
    [found], [wanted] = (run_file(oracle, path, [{"x": np.float32(x)}]) for oracle in ("reference", "onnxruntime"))
    assert wanted.usable and bool(found.fault) == is_told
    assert np.array_equal(found.outputs["y"], wanted.outputs["y"]) != is_told


@pytest.mark.parametrize("channels", [2, 3])
def test_the_reference_normalizes_as_many_channels_as_there_are_images(tmp_path, channels):
    """ONNX Runtime is the judge."""
    text = f"g (float[2,{channels},1,2] x) => (float[2,{channels},1,2] y) {{ y = LRN<size = 3, alpha = 1.0>(x) }}"
    path, x = model(tmp_path, text), np.arange(1, 4 * channels + 1, dtype=np.float32).reshape(2, channels, 1, 2)
    [found], [wanted] = (run_file(oracle, path, [{"x": x}]) for oracle in ("reference", "onnxruntime"))
    assert wanted.usable and bool(found.fault) == (channels == 3)
    assert np.allclose(found.outputs["y"], wanted.outputs["y"], rtol=1e-5) != bool(found.fault)


@pytest.mark.parametrize("place", ["", ", n"])
def test_the_reference_puts_before_the_first_what_comes_behind_the_last(tmp_path, place):
    """ONNX Runtime is the judge."""
    text = f"""g (float x, float y, float z, int64 n) => (seq(float) s) {{
        p = SequenceConstruct (x, y) s = SequenceInsert (p, z{place}) }}"""
    path = model(tmp_path, text)
    numbers = {"x": np.float32(1), "y": np.float32(2), "z": np.float32(3)}
    feeds = [{**numbers, "n": np.array(n)} for n in (-2, -1, 0, 1, 2)]
    pairs = list(zip(run_file("reference", path, feeds), run_file("onnxruntime", path, feeds), strict=True))
    assert all(wanted.usable for _, wanted in pairs)
    assert [bool(found.fault) for found, _ in pairs] == [False] * 4 + [bool(place)]
    for found, wanted in pairs:
        assert np.array_equal(found.outputs["s"], wanted.outputs["s"]) != bool(found.fault)


@pytest.mark.parametrize("dtype", ["float", "double"])
def test_the_reference_computes_erf_in_float32(tmp_path, dtype):
    path = model(tmp_path, f"g ({dtype}[1] x) => ({dtype}[1] y) {{ y = Erf(x) }}")
    x = np.array([0.3425533488079533], np.float32 if dtype == "float" else np.float64)
    [found] = run_file("reference", path, [{"x": x}])
    assert found.outputs["y"] == np.float32(math.erf(x.item()))
    assert bool(found.fault) == (dtype == "double")


@pytest.mark.parametrize("number", [0.0, -0.0, 2.0])
def test_the_reference_has_a_scale_of_its_own_for_zeros(tmp_path, number):
    """ONNX Runtime's is 1; what the definition says, a quotient of 0 by 0, is none."""
    path = model(tmp_path, "g (float[2] x) => (uint8[2] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }")
    feeds = {"x": np.full(2, number, np.float32)}
    found, wanted = (run_file(one, path, [feeds])[0] for one in ("reference", "onnxruntime"))
    assert wanted.outputs["s"] == (np.float32(number) / np.float32(255) if number else 1)
    assert bool(found.fault) == (found.outputs["s"] != wanted.outputs["s"]) == (number == 0)


def test_the_reference_makes_1_of_integers_whose_erf_is_less(tmp_path):
    path = tmp_path / "m.onnx"
    text = '<ir_version: 8, opset_import: ["" : 9]> g (int32[2] x) => (int32[2] y) { y = Erf(x) }'
    onnx.save(parser.parse_model(text), path)
    [found] = run_file("reference", path, [{"x": np.array([3, 5], np.int32)}])
    assert found.outputs["y"].tolist() == [0, 1] and math.erf(5) < 1
    assert found.fault


def test_operators_of_functions_and_branches_are_watched_too(tmp_path):
    branch = "{} = b () => (float[2,3,1] {}) {{ {} = local.f(x) }}"
    branches = ", ".join(branch.format(f"{name}_branch", name, name) for name in ("then", "else"))
    text = f"""<ir_version: 8, opset_import: ["" : 12, "local" : 1]>
        g (bool c, float[2,3,1] x) => (float[2,3,1] y) {{ y = If (c) <{branches}> }}
        <domain: "local", opset_import: ["" : 12]> f (x) => (y) {{ y = Softmax(x) }}"""
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(text), path)
    [found] = run_file("reference", path, [{"c": np.array(True), "x": np.zeros((2, 3, 1), np.float32)}])
    assert found.fault == "onnx's reference evaluator takes Softmax before version 13 along one axis only"


def test_the_reference_is_not_believed_about_loops(tmp_path):
    path = model(tmp_path, LOOP.format(cond="t", d="d = Identity(c)"))
    [found] = run_file("reference", path, [{"M": np.array(3), "x": np.ones(1, np.float32)}])
    assert found.fault == "onnx's reference evaluator is wrong for Loop"
    path = model(tmp_path, "g (float[1] x) => (float[1] y) { y = Neg(x) }")
    [found] = run_file("reference", path, [{"x": np.ones(1, np.float32)}])
    assert found.usable and found.outputs["y"].tolist() == [-1.0]


# OpenVINO ----------------------------------------------------------------------------------------------


def openvino_file(folder: Path, build) -> Path:
    """Write the model that `build(openvino, opset)` makes; it is only run in a child process."""
    ov = pytest.importorskip("openvino")
    from openvino import opset13

    path = folder / "m.xml"
    ov.save_model(build(ov, opset13), path, compress_to_fp16=False)
    return path


def counting_loop(ov, op):
    """y, ys = M times x + x, every step stacked."""
    body_x = op.parameter([1], ov.Type.f32)
    twice = op.add(body_x, body_x)
    body = ov.Model([op.constant(True), twice, op.unsqueeze(twice, op.constant([0]))], [body_x], "body")
    trip, x = op.parameter([], ov.Type.i64, name="M"), op.parameter([1], ov.Type.f32, name="x")
    loop = op.loop(trip, op.constant(True))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(body_x, x.output(0), body.results[1].output(0))
    last = loop.get_iter_value(body.results[1].output(0), -1)
    steps = loop.get_concatenated_slices(body.results[2].output(0), 0, 1, 1, -1, 0)
    return ov.Model([op.result(last, name="y"), op.result(steps, name="ys")], [trip, x], "counting")


def test_openvino_forgets_earlier_shapes_between_inputs(tmp_path):
    path = openvino_file(tmp_path, counting_loop)
    x = np.ones(1, np.float32)
    found = run_file("openvino", path, [{"M": np.array(m), "x": x} for m in (3, 0, 2)])
    assert [o.error for o in found] == ["", "", ""]
    values = [list(o.outputs.values()) for o in found]
    assert [last.tolist() for last, _ in values] == [[8.0], [1.0], [4.0]]
    assert [len(steps) for _, steps in values] == [3, 0, 2]


def test_openvino_state_goes_in_and_comes_out(tmp_path):
    def build(ov, op):
        x = op.parameter([2], ov.Type.f32, name="x")
        state = op.read_value(op.constant(np.full(2, 10, np.float32)), "memory")
        total = op.add(state, x)
        return ov.Model([op.result(total)], [op.assign(total, "memory")], [x], "state")

    path = openvino_file(tmp_path, build)
    x = np.ones(2, np.float32)
    found = run_file("openvino", path, [{"x": x}, {"x": x, "memory": np.full(2, 5, np.float32)}, {"x": x}])
    assert [o.outputs[state_output_name("memory")].tolist() for o in found] == [[11, 11], [6, 6], [11, 11]]


def test_openvino_runs_branches_of_open_sizes_in_memory_that_is_large_enough(tmp_path):
    """Its first run of larger inputs would compute with what the product has put into the branch's memory."""
    weights = np.linspace(-1, 1, 28, dtype=np.float32).reshape(4, 7)

    def build(ov, op):
        go, x = op.parameter([], ov.Type.boolean, name="go"), op.parameter([-1], ov.Type.f32, name="x")
        y, one, two = (op.parameter(shape, ov.Type.f32, name="y") for shape in ([-1, 4], [-1], [-1]))
        branch = op.if_op(go)
        branch.set_then_body(ov.Model([op.result(op.negative(one))], [one], "negative"))
        branch.set_else_body(ov.Model([op.result(op.abs(two))], [two], "positive"))
        branch.set_input(x.output(0), one, two)
        chosen = branch.set_output(*(branch.get_function(index).results[0] for index in (0, 1)))
        product = op.matmul(op.add(y, chosen), op.constant(weights), False, False)
        return ov.Model([op.result(op.softmax(product, 1))], [go, x, y], "branches")

    path = openvino_file(tmp_path, build)
    y = np.linspace(0, 1, 800, dtype=np.float32).reshape(200, 4)
    feeds = [{"go": np.array(True), "x": np.float32([0.5]), "y": y[:rows]} for rows in (30, 200)]
    for fed, outcome in zip(feeds, run_file("openvino", path, feeds), strict=True):
        scores = np.exp((fed["y"] - 0.5) @ weights)
        [found] = outcome.outputs.values()
        np.testing.assert_allclose(found, scores / scores.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("both", [False, True])
def test_openvino_is_not_believed_about_absolute_values_of_what_is_joined(tmp_path, both):
    """It is wrong exactly where its answer is called a fault: where something else reads what is joined, too."""

    def build(ov, op):
        x = op.parameter([2], ov.Type.f32, name="x")
        joined = op.concat([x, x], 0)
        return ov.Model([op.result(op.abs(joined)), *([op.result(joined)] if both else [])], [x], "joined")

    [found] = run_file("openvino", openvino_file(tmp_path, build), [{"x": np.float32([-1, 2])}])
    first, *others = [value.tolist() for value in found.outputs.values()]
    assert first == [1, 2, 1, 2]
    assert (others != [[-1, 2, -1, 2]] * both) == both == bool(found.fault)


@pytest.mark.parametrize("type_name", ["bf16", "f16", "f8e4m3", "i4", "f64", "boolean", "string", "u8"])
@pytest.mark.parametrize("size", [3, 0])
def test_openvino_element_types(tmp_path, type_name, size):
    def build(ov, op):
        x = op.parameter([-1], getattr(ov.Type, type_name), name="x")
        return ov.Model([op.result(x)], [x], "identity")

    dtypes = {
        "bf16": ml_dtypes.bfloat16,
        "f16": np.float16,
        "f8e4m3": ml_dtypes.float8_e4m3fn,
        "i4": ml_dtypes.int4,
        "f64": np.float64,
        "boolean": np.bool_,
        "string": object,
        "u8": np.uint8,
    }
    values = {"string": ["a", "", "ü"], "boolean": [True, False, True]}.get(type_name, [1, 0, 2])[:size]
    array = np.array(values).astype(dtypes[type_name])
    path = openvino_file(tmp_path, build)
    [outcome] = run_file("openvino", path, [{"x": array}])
    assert not outcome.error, outcome.error
    [found] = outcome.outputs.values()
    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()
    assert outcome.coarse


def test_openvino_integers_beyond_int32_are_its_fault(tmp_path):
    def build(ov, op):
        x = op.parameter([1], ov.Type.i64, name="x")
        return ov.Model([op.result(op.add(x, op.constant(np.array([1]))))], [x], "add")

    path = openvino_file(tmp_path, build)
    small, big = run_file("openvino", path, [{"x": np.array([5])}, {"x": np.array([2**40])}])
    assert small.usable and next(iter(small.outputs.values())).tolist() == [6]
    assert "int32" in big.fault


def test_openvino_wrong_kinds_of_input(tmp_path):
    path = openvino_file(tmp_path, counting_loop)
    x = np.ones(1, np.float32)
    found = run_file("openvino", path, [{"M": np.array(1), "x": [x]}, {"M": np.array(1.0), "x": x}])
    assert "no sequences" in found[0].error
    assert found[1].error == "the model wants int64, not float64"


def test_a_loop_that_nothing_ends_is_no_error_of_the_run(tmp_path: Path) -> None:
    """Our executor sees it without running: as if it hadn't ended in time."""
    text = """<ir_version: 10, opset_import: ["" : 21]> g (bool p, float x) => (float y) {
      y = If (p) <then_branch = t () => (float a) {
                    a = Loop (, , x) <body = b (int64 i, bool c, float v) => (bool d, float w) {
                      d = Identity (c) w = Add (v, v) }> },
                  else_branch = e () => (float n) { n = Neg (x) }> }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    feeds = [{"p": np.array(p), "x": np.array(2, np.float32)} for p in (True, False, True, True, True, True, False)]
    found = list(executor_on(tmp_path / "m.onnx", None, 60.0)(feeds))
    assert [one.stage for one in found] == ["timeout", "", *["timeout"] * 4, ""]
    assert found[-1].outputs is not None and found[-1].outputs["y"] == -2
