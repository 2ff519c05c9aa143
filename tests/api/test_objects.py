"""Models that aren't files: what is taken, what comes back, and that other libraries run it alike."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import backedge
import numpy as np
import onnx
import onnx_ir
import onnxruntime
import onnxscript
import openvino
import pytest
from onnxscript import FLOAT, INT64
from onnxscript import opset21 as op

SAMPLES = Path(__file__).parents[2] / "samples"
LCG = SAMPLES / "lcg.onnx"


@onnxscript.script(default_opset=op)
def powers(x: FLOAT[3], count: INT64) -> FLOAT[3]:
    """x to the power of count + 1, or the sum of both where count is odd."""
    product = op.Identity(x)
    for _ in range(count):
        product = product * x
    if op.Mod(count, 2) == 1:
        total = product + x
    else:
        total = op.Identity(product)
    return total


def expected(x: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    product = x.copy()
    for _ in range(count):
        product = product * x
    return product + x if count % 2 else product


def answers(model: onnx.ModelProto, feed: dict[str, Any]) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feed)


def lcg_feed() -> dict[str, Any]:
    model = onnx.load(LCG)
    kinds = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 13: np.uint64}
    return {
        one.name: np.array(3, kinds[one.type.tensor_type.elem_type])
        for one in model.graph.input
        if not one.type.tensor_type.shape.dim
    }


def forms() -> dict[str, Any]:
    """One model in all forms that need no other library's installation."""
    data = LCG.read_bytes()
    return {
        "text of a path": str(LCG),
        "a path": LCG,
        "bytes": data,
        "bytearray": bytearray(data),
        "memoryview": memoryview(data),
        "file object": io.BytesIO(data),
        "ModelProto": onnx.load(LCG),
        "onnx_ir.Model": onnx_ir.load(LCG),
        "graph": backedge.load(LCG),
        "hub graph": backedge.convert.to_hub(backedge.load(LCG)),
        "ONNX text": io.StringIO(onnx.printer.to_text(onnx.load(LCG))),
    }


@pytest.mark.parametrize("name", forms())
def test_one_model_in_many_forms(name: str) -> None:
    """Each form gives ONNX Runtime's numbers, and is found equal to the file."""
    feed = lcg_feed()
    for form, wanted in zip(backedge.run(forms()[name], feed).values(), answers(onnx.load(LCG), feed), strict=True):
        np.testing.assert_array_equal(form, wanted)
    assert backedge.verify(LCG, forms()[name], trials=4).verdict == "proved"


def test_a_function_of_onnx_script() -> None:
    x = np.array([0.5, -2, 3], np.float32)
    for count in (0, 1, 4):
        feed = {"x": x, "count": np.array(count)}
        (found,) = backedge.run(powers, feed).values()
        np.testing.assert_array_equal(found, expected(x, count))
    report = backedge.convert(powers, to="openvino", verify=8)
    assert report.verdict in ("proved", "equal") and report.source == "<onnxscript.OnnxFunction>"
    compiled = openvino.Core().compile_model(report.model, "CPU")
    np.testing.assert_array_equal(compiled([x, np.array(3)])[0], expected(x, 3))


def test_to_onnx_and_back() -> None:
    """IR in memory becomes a ModelProto at the opset that is asked for, and the ModelProto IR in memory."""
    report = backedge.convert(LCG, to="openvino", verify=0)
    assert isinstance(report.model, openvino.Model) and report.written
    back = backedge.convert(report.model, to="onnx", opset=13, verify=4)
    assert isinstance(back.model, onnx.ModelProto)
    assert [one.version for one in back.model.opset_import if one.domain == ""] == [13]
    assert back.verdict in ("proved", "equal", "unconfirmed") and back.source == "<openvino.Model>"


def test_a_path_is_written(tmp_path: Path) -> None:
    report = backedge.convert(onnx.load(LCG), tmp_path / "m.xml", verify=0)
    assert report.model is None and (tmp_path / "m.xml").is_file()
    assert report.target == str(tmp_path / "m.xml") and report.source == "<onnx.ModelProto>"


def test_text_of_hlo_and_mdf() -> None:
    text = backedge.convert(SAMPLES / "newton_sqrt.onnx", to="hlo", verify=0).model
    assert text.startswith("HloModule") and " while(" in text
    assert backedge.verify(SAMPLES / "newton_sqrt.onnx", text.encode(), trials=4)
    modeci = pytest.importorskip("modeci_mdf.mdf", reason="modeci-mdf isn't installed")
    made = backedge.convert(SAMPLES / "leaky_accumulators.json", to="mdf", verify=0).model
    assert isinstance(made, modeci.Model)
    assert backedge.verify(SAMPLES / "leaky_accumulators.json", made, trials=4)


def test_jax(tmp_path: Path) -> None:
    """A function, lowered, compiled and exported: names out of the trees of arguments, JAX's own numbers."""
    jax = pytest.importorskip("jax", reason="jax isn't installed")
    jax_export = pytest.importorskip("jax.export", reason="jax isn't installed")

    def cell(weights: dict[str, Any], x: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda _, h: jax.numpy.tanh(h @ weights["kernel"] + weights["bias"]), x)

    kernel, bias = np.eye(2, dtype=np.float32) / 2, np.array([0.25, -1], np.float32)
    x = np.array([[1, 2]], np.float32)
    given = ({"kernel": kernel, "bias": bias}, x)
    lowered = jax.jit(cell).lower(*given)
    wanted = np.asarray(cell(*given))
    specs = jax.tree.map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype), given)
    graphs = [
        backedge.from_jax(cell, *specs),
        backedge.from_jax(jax.jit(cell), *given),
        backedge.load(lowered),
        backedge.load(jax_export.export(jax.jit(cell))(*specs)),
    ]
    for graph in graphs:
        names = [value.name for value in graph.inputs]
        assert len(names) == 3 and "kernel" in names[1] and "bias" in names[0] and names[2] == "x"
        (found,) = backedge.run(graph, dict(zip(names, (bias, kernel, x), strict=True))).values()
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    compiled = backedge.load(lowered.compile())
    assert len(compiled.inputs) == 3
    report = backedge.convert(cell, tmp_path / "m.onnx", args=specs, verify=4)
    assert str(report).startswith("<function cell> (stablehlo, ")
    assert report and report.source_format == "stablehlo"
    made = backedge.convert(cell, to="onnx", args=specs, verify=0).model
    (found,) = answers(made, {one.name: value for one, value in zip(made.graph.input, (bias, kernel, x), strict=True)})
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


class Unknown:
    """No model."""


@pytest.mark.parametrize("source", [3, None, Unknown(), [1], {"a": 1}, len])
def test_what_is_no_model(source: Any, tmp_path: Path) -> None:
    """One error that lists what is taken, before anything is written."""
    for call in (
        lambda: backedge.load(source),
        lambda: backedge.convert(source, tmp_path / "m.xml"),
        lambda: backedge.verify(LCG, source),
        lambda: backedge.run(source, {}),
    ):
        with pytest.raises(TypeError, match=r"takes no .* for a model; it takes a path, .*ModelProto.*jax\.stages"):
            call()
    assert not list(tmp_path.iterdir())


def test_what_is_said_of_bad_content() -> None:
    """Messages name what was given, not the temporary file."""
    with pytest.raises(backedge.InvalidModel, match=r"^<bytes>: of no known format; name one of onnx, "):
        backedge.load(b"\xff\xfenothing")
    with pytest.raises(backedge.InvalidModel, match=r"^<BytesIO>: empty; "):
        backedge.load(io.BytesIO())
    with pytest.raises(backedge.InvalidModel, match=r"^<bytes>: truncated, or no ONNX model$"):
        backedge.load(LCG.read_bytes()[:-3])
    with pytest.raises(backedge.InvalidModel, match=r"onnx\.ModelProto is of format onnx, not mdf"):
        backedge.load(onnx.load(LCG), "mdf")
    with pytest.raises(backedge.InvalidModel, match="no format 'nosuch'"):
        backedge.load(LCG.read_bytes(), "nosuch")
    with pytest.raises(TypeError, match=r"args=\.\.\. go with a Python function"):
        backedge.convert(LCG, to="onnx", args=(1,))
    with pytest.raises(TypeError, match=r"write args=\(x,\)"):
        backedge.convert(abs, to="onnx", args=np.zeros(3))


@pytest.mark.parametrize(
    ("file", "format"),
    [
        ("lcg.onnx", "onnx"),
        ("lstm_tensor_iterator.xml", "openvino"),
        ("viterbi.hlo", "hlo"),
        ("leaky_accumulators.json", "mdf"),
    ],
)
def test_content_tells_the_format(file: str, format: str) -> None:
    from backedge.convert.objects import format_of_content

    assert format_of_content((SAMPLES / file).read_bytes(), None, file)[0].name == format


def test_on_another_runtime(tmp_path: Path) -> None:
    """A runtime that doesn't read a file gets a conversion of it."""
    feed = {"x": np.array(2, np.float32)}
    model = SAMPLES / "newton_sqrt.onnx"
    for runtime in ("onnxruntime", "openvino", "reference"):
        found = backedge.run(model, feed, on=runtime)
        np.testing.assert_allclose(found["root"], np.sqrt(2), rtol=1e-6)
    pytest.importorskip("jax", reason="jax isn't installed")
    np.testing.assert_allclose(backedge.run(onnx.load(model), feed, on="xla")["root"], np.sqrt(2), rtol=1e-6)


def test_on_a_runtime_that_cannot_load_the_file() -> None:
    """OpenVINO's reader of ONNX has no Scan whose body captures a value, XLA no open sizes: both get a conversion."""
    text = """<ir_version: 8, opset_import: ["" : 18]>
    g (float[t, 2] x, float[2] start, float gain) => (float[2] last, float[t, 2] all) {
        last, all = Scan <num_scan_inputs = 1, body = r (float[2] a, float[2] row) => (float[2] m, float[2] n) {
            scaled = Mul (a, gain)
            m = Add (scaled, row)
            n = Identity (m)
        }> (start, x)
    }"""
    model = onnx.parser.parse_model(text)
    feed = {
        "x": np.array([[1, 2], [3, 4], [5, 6]], np.float32),
        "start": np.array([1, -1], np.float32),
        "gain": np.array(2, np.float32),
    }
    last, rows = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
    for runtime in ("openvino", "xla"):
        if runtime == "xla":
            pytest.importorskip("jax", reason="jax isn't installed")
        found = backedge.run(model, feed, on=runtime)
        np.testing.assert_array_equal(found["last"], last)
        np.testing.assert_array_equal(found["all"], rows)


BALL = {"height": 2, "velocity": 0, "step": 0.1, "restitution": 0.8, "steps": 30}


@pytest.mark.parametrize("on", ["executor", "onnxruntime", "openvino"])
def test_numbers_of_python_have_the_declared_types(on: str) -> None:
    model = SAMPLES / "bouncing_ball.onnx"
    kinds = {"steps": np.int64}
    feed = {name: np.array(value, kinds.get(name, np.float32)) for name, value in BALL.items()}
    wanted = onnxruntime.InferenceSession(model).run(["bounces"], feed)[0]
    assert backedge.run(model, BALL, on=on)["bounces"] == wanted == 3
    with pytest.raises(backedge.InvalidModel, match=r"input 'steps': int64\[\] is expected \(1.5 has other numbers\)"):
        backedge.run(model, {**BALL, "steps": 1.5}, on=on)
    with pytest.raises(backedge.InvalidModel, match=r"input 'steps': int64\[\] is expected"):
        backedge.run(model, {**BALL, "steps": 2**70}, on=on)
