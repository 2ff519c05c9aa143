"""The command with MDF files: the published examples to their listed values, both styles, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert import convert, load
from backedge.convert.cli import main
from backedge.convert.files import objection
from backedge.convert.format import FORMATS
from backedge.passes.errors import InvalidModel
from backedge.runtime import run as run_graph
from backedge.runtime.oracles import run_file
from onnx.parser import parse_model

from .examples import EXAMPLES, graph_of, node_of

# ABCD takes the sine of about 2000: the last bit of what is inside counts a thousand times more
OPENVINO = {"ABCD": 1e-2}
ONES = np.ones((2, 3))
# file, inputs, outputs, as MDF's own engine gives them
LISTED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("Simple", {}, {"output_1": 0.6016871801828567}),
    ("ABCD", {}, {"out_port": -1.7737500239216302}),
    ("Arrays", {}, {"output_1": [[0.5, 1], [2, 4]]}),
    ("threshold", {}, {"output_1": 5}),
    ("everyncalls", {}, {"param_A": 6, "param_B": 3, "param_C": 1}),
    (
        "NewtonCoolingModel",
        {"steps": np.int64(100), "time_increment": np.float64(0.1)},
        {"out_port": 45.62226388912605, "out_port2": -2.5622263889126056},
    ),
    (
        "States",
        {"steps": np.int64(200), "time_increment": np.float64(0.01)},
        {"counter_node.out_port": 201, "sine_node.out_port": 0.09744396935877586},
    ),
    ("ab", {}, {"_4": np.full((2, 3), 5)}),
    ("ab", {"input": ONES}, {"_4": np.full((2, 3), 10)}),
]
per_case = pytest.mark.parametrize(
    ("name", "inputs", "listed"), LISTED, ids=[name + "-fed" * bool(inputs) for name, inputs, _ in LISTED]
)


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0), capsys.readouterr().err


def save(folder: Path, tree: dict[str, Any], name: str = "m.json") -> Path:
    (folder / name).write_text(json.dumps(tree))
    return folder / name


def assert_listed(found: Any, listed: dict[str, Any], rtol: float) -> None:
    for name, value in listed.items():
        assert np.shape(found[name]) == np.shape(value)
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=rtol)


def as_declared(path: Path, inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs in the element types of a file."""
    types = {value.name: value.tensor.dtype for value in load(path).inputs}
    return {name: np.asarray(value, types[name].numpy) for name, value in inputs.items()}


@per_case
def test_listed_values(tmp_path: Path, name: str, inputs: dict[str, Any], listed: dict[str, Any]) -> None:
    """On the executor, as ONNX under ONNX Runtime, and as IR under OpenVINO, which computes float64 in float32."""
    source = save(tmp_path, EXAMPLES[name])
    graph = load(source)
    assert_listed(run_graph(graph, as_declared(source, inputs)), listed, 1e-11)
    for target, runtime, rtol in (("m.onnx", "onnxruntime", 1e-11), ("m.xml", "openvino", OPENVINO.get(name, 1e-5))):
        convert(source, tmp_path / target, verify=0)
        given = as_declared(tmp_path / target, inputs)
        if runtime == "openvino":  # it has no defaults
            given = {
                value.name: given.get(value.name, np.zeros(value.tensor.shape or (), value.tensor.dtype.numpy))
                for value in load(tmp_path / target).inputs
            }
        (outcome,) = run_file(runtime, tmp_path / target, [given])
        assert outcome.outputs is not None, outcome.error
        assert_listed(outcome.outputs, listed, rtol)


def counting(path: Path) -> Path:
    text = """
        <ir_version: 8, opset_import: ["" : 15]>
        g (int64 m, float[2] x) => (float[2] y, float[T, 2] all) {
            y, all = Loop (m, , x) <body = b (int64 i, bool c, float[2] v) => (bool co, float[2] vo, float[2] s) {
                co = Identity(c)  vo = Add (v, x)  s = Identity(vo)
            }>
        }"""
    onnx.save(parse_model(text), path)
    return path


def function_form(path: Path, text: str) -> dict[str, Any]:
    """What is in the file of a model in function form."""
    onnx.save(parse_model(text), path.with_suffix(".onnx"))
    convert(path.with_suffix(".onnx"), path, verify=0)
    return json.loads(path.read_text())


@pytest.mark.parametrize("in_function", [False, True], ids=["in a graph", "in a function"])
def test_an_operator_of_another_opset_than_the_models(tmp_path: Path, in_function: bool) -> None:
    """Softmax-13, as a person or the engine takes it, in a model of opset 11, where it is along all later axes."""
    text = """<ir_version: 8, opset_import: ["" : 11]> g (float[2, 3] x) => (float[2, 3] y) {
        [y] y = Softmax <axis = 0> (x)
    }"""
    if in_function:
        text = """<ir_version: 8, opset_import: ["" : 11, "mine" : 1]> g (float[2, 3] x) => (float[2, 3] y) {
            y = mine.F (x)
        } <domain: "mine", opset_import: ["" : 11]> F (p) => (q) { [y] q = Softmax <axis = 0> (p) }"""
    tree = function_form(tmp_path / "m.json", text)
    (model,) = tree.values()
    holder = model["metadata"]["backedge"]["functions"][0]["body"] if in_function else model["graphs"]
    (graph,) = holder.values()
    (softmax,) = (one for one in graph["nodes"]["y"]["parameters"].values() if "function" in one)
    assert softmax["function"] == "onnx::Softmax-11"
    softmax["function"] = "onnx::Softmax"
    convert(save(tmp_path, tree), tmp_path / "made.onnx", verify=0)
    made = onnx.load(tmp_path / "made.onnx")
    assert {(entry.domain, entry.version) for entry in made.opset_import if not entry.domain} == {("", 11)}
    onnx.checker.check_model(made, full_check=True)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (outcome,) = run_file("onnxruntime", tmp_path / "made.onnx", [{"x": x}])
    assert outcome.outputs is not None, outcome.error
    assert outcome.outputs["y"].dtype == np.float32 and outcome.outputs["y"].shape == (2, 3)
    np.testing.assert_allclose(outcome.outputs["y"], np.exp(x) / np.exp(x).sum(0, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("g (float[2] x) => (float[3] y) { y = Neg (x) }", "differ in dimension 0: (2) vs (3)"),
        ("g (bool[2] a, int64[2] b) => (bool[2] y) { y = Xor (a, b) }", "unsupported type: tensor(int64)"),
    ],
    ids=["a declared size", "an element type"],
)
def test_what_onnx_objects_to_in_a_function_form_is_a_note(tmp_path: Path, text: str, told: str) -> None:
    """As where the source is that ONNX model."""
    function_form(tmp_path / "m.json", f'<ir_version: 8, opset_import: ["" : 15]> {text}')
    report = convert(tmp_path / "m.json", tmp_path / "made.onnx", opset=13, verify=1)
    assert report.written and not report.refusal
    (note,) = (note for note in report.notes if "objects as to the source" in note)
    assert told in note


def test_onnx_is_asked_about_function_forms_alone(tmp_path: Path) -> None:
    mdf = FORMATS["mdf"]
    text = "g (bool[2] a, int64[2] b) => (bool[2] y) { y = Xor (a, b) }"
    function_form(tmp_path / "m.json", f'<ir_version: 8, opset_import: ["" : 15]> {text}')
    found = objection(tmp_path / "m.json", mdf)
    assert found.startswith("ONNX's checker refuses it: ") and "unsupported type: tensor(int64)" in found
    assert objection(counting(tmp_path / "good.onnx"), FORMATS["onnx"]) == ""
    convert(tmp_path / "good.onnx", tmp_path / "good.json", verify=0)
    assert objection(tmp_path / "good.json", mdf) == ""
    assert objection(save(tmp_path, EXAMPLES["threshold"], "native.json"), mdf) == ""


def test_windows_that_dont_fit_in_a_function_form_are_the_files_fault(tmp_path: Path) -> None:
    """MDF's engine doesn't know these operators, and adapters rely on their lists."""
    text = """<ir_version: 10, opset_import: ["" : 22]> g (float[1, 1, 4, 4] x) => (y) {
        y = AveragePool <ceil_mode = 1, dilations = [1, 1], kernel_shape = [2, 2], strides = [2, 2]> (x)
    }"""
    tree = function_form(tmp_path / "m.json", text)
    (graph,) = tree["g"]["graphs"].values()
    (node,) = (node for node in graph["nodes"].values() if "strides" in node.get("parameters", {}))
    node["parameters"]["strides"]["value"] = [2]
    with pytest.raises(InvalidModel, match="'y': strides has 1 entries; 2 are needed"):
        convert(save(tmp_path, tree), tmp_path / "made.onnx", opset=18, verify=0)


@pytest.mark.parametrize("suffix", ["json", "yaml", "yml", "bson"])
def test_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    source = counting(tmp_path / "m.onnx")
    trials = 4 if suffix == "json" else 0
    code = 4 if trials else 0  # MDF's engine has no Loop: nobody but our executor reads the file
    assert command(capsys, "convert", source, tmp_path / f"f.{suffix}", "--verify", trials)[0] == code
    assert command(capsys, "convert", tmp_path / f"f.{suffix}", tmp_path / "back.onnx", "--verify", trials)[0] == code
    model, back = onnx.load(source), onnx.load(tmp_path / "back.onnx")
    onnx.checker.check_model(back, full_check=True)
    assert onnx.printer.to_text(back.graph) == onnx.printer.to_text(model.graph)
    assert back.opset_import == model.opset_import and back.ir_version == model.ir_version


def test_a_native_model_stays_native_in_another_container(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = save(tmp_path, EXAMPLES["threshold"])
    assert command(capsys, "convert", source, tmp_path / "m.yaml", "--verify", 0)[0] == 0
    assert "Threshold" in (tmp_path / "m.yaml").read_text() and "onnx::" not in (tmp_path / "m.yaml").read_text()
    assert command(capsys, "convert", source, tmp_path / "f.yaml", "--mdf-style", "function", "--verify", 0)[0] == 0
    assert "onnx::Loop" in (tmp_path / "f.yaml").read_text()
    code, _ = command(capsys, "verify", tmp_path / "m.yaml", tmp_path / "f.yaml", "--trials", 4)
    assert code == 4  # MDF's engine has no Loop


def test_styles_are_for_mdf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = command(
        capsys, "convert", counting(tmp_path / "m.onnx"), tmp_path / "m.xml", "--mdf-style", "stateful"
    )
    assert code == 2 and "--mdf-style is for MDF" in said and not (tmp_path / "m.xml").exists()


def test_a_loop_as_states(tmp_path: Path) -> None:
    """With a trip count that is known, since MDF's buffers have a size."""
    model = onnx.load(counting(tmp_path / "m.onnx"))
    del model.graph.input[0]
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(3), "m"))
    onnx.save(model, tmp_path / "m.onnx")
    report = convert(tmp_path / "m.onnx", tmp_path / "m.json", mdf_style="stateful")
    assert report.verdict == "equal" and report.verification is not None
    assert "onnx::Loop" not in (tmp_path / "m.json").read_text()
    (outcome,) = run_file("mdf", tmp_path / "m.json", [{"x": np.array([1, 2], np.float32)}])
    assert outcome.outputs is not None, outcome.error
    np.testing.assert_array_equal(outcome.outputs["y"], np.array([4, 8], np.float32), strict=True)
    np.testing.assert_array_equal(outcome.outputs["all"], np.array([[2, 4], [3, 6], [4, 8]], np.float32), strict=True)


def expression(text: str) -> dict[str, Any]:
    return node_of(parameters={"p": {"value": text}}, output_ports={"out": {"value": "p"}})


TOUCH = "open('{}', 'w').write('x')"
HOSTILE = [
    "__import__('os').system('touch {}')",
    "().__class__.__base__.__subclasses__()",
    "numpy.__builtins__['open']('{}', 'w')",
    "numpy.fromfile('{}')",
    "math.__loader__",
    "[x for x in ()]",
    "(lambda: 1)()",
    "eval('1')",
    "globals()",
    TOUCH,
]


@pytest.mark.parametrize(
    ("verb", "text"),
    [("convert", text) for text in HOSTILE]
    + [(verb, text) for verb in ("run", "verify") for text in HOSTILE[:1] + HOSTILE[-1:]],
)
def test_hostile_expressions(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str, text: str) -> None:
    trap = tmp_path / "trap"
    source = save(tmp_path, expression(text.replace("{}", str(trap))))
    rest = {"convert": [tmp_path / "m.onnx"], "run": ["--on", "mdf"], "verify": [source]}[verb]
    code, said = command(capsys, verb, source, *rest)
    assert code == (4 if verb == "verify" else 2) and (verb == "verify" or said.count("\n") <= 2)
    assert "Traceback" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json"]


DOCUMENTS = {
    "deep.json": b"[" * 200_000,
    "deep.yaml": b"[" * 200_000,
    "tag.yaml": b"m: !!python/object/apply:os.system ['touch trap']\n",
    "twice.json": b'{"m": {"graphs": {"g": {"nodes": {"A": {}, "A": {}}}}}}',
    "twice.yaml": b"m:\n  graphs:\n    g:\n      nodes:\n        A: {}\n        A: {}\n",
    "cut.bson": b"\xff\x00\x00\x00\x03m\x00",
    "huge.json": json.dumps(
        node_of(input_ports={"i": {"shape": [10**9, 10**9]}}, output_ports={"o": {"value": "i"}})
    ).encode(),
    "huge-state.json": json.dumps(
        graph_of(
            nodes={
                "A": {"parameters": {"p": {"value": 1}}, "output_ports": {"o": {"value": "p"}}},
                "B": {"input_ports": {"i": {"shape": [10**10]}}, "output_ports": {"o": {"value": "i"}}},
            },
            edges={"e": {"sender": "A", "sender_port": "o", "receiver": "B", "receiver_port": "i"}},
        )
    ).encode(),
    "no-size.json": json.dumps(
        {
            "m": {
                **node_of(input_ports={"i": {}}, output_ports={"o": {"value": "numpy.float32(i)"}})["m"],
                "metadata": {
                    "backedge": {
                        "inputs": [{"name": "i", "node": "A", "port": "i", "shape": [3.4e38]}],
                        "outputs": [{"name": "o", "node": "A", "port": "o"}],
                    }
                },
            }
        }
    ).encode(),
    "empty.json": b"",
    "text.json": b'"m"',
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / name).write_bytes(DOCUMENTS[name])
    code, said = command(capsys, "convert", tmp_path / name, tmp_path / "m.onnx")
    assert code == 2 and "Traceback" not in said and said
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ({"type": "WhenFinished", "kwargs": {"dependency": "A"}}, "WhenFinished"),
        ({"type": "TimeInterval", "kwargs": {"start": "1 ms"}}, "TimeInterval"),
    ],
)
def test_what_is_not_well_defined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], condition: dict[str, Any], named: str
) -> None:
    tree = graph_of(
        nodes={"A": {"parameters": {"p": {"value": "p + 1"}}, "output_ports": {"o": {"value": "p"}}}},
        conditions={"termination": {"environment_state_update": condition}},
    )
    code, said = command(capsys, "convert", save(tmp_path, tree), tmp_path / "m.onnx")
    assert code == 3 and named in said and not (tmp_path / "m.onnx").exists()


def test_random_numbers_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = command(capsys, "convert", save(tmp_path, expression("numpy.random.normal()")), tmp_path / "m.onnx")
    assert code == 3 and "random" in said and "'A'" in said
