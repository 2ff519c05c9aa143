"""What `verify` and `convert` make of a proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from backedge.convert import convert, guard, proof, verification, verify
from backedge.convert.files import load, to_hub
from backedge.convert.lemmas import tried
from backedge.convert.proof import matched, prove
from backedge.passes import limits
from backedge.passes.graph import Graph, Node, Value
from backedge.passes.match.numbering import Numbering
from backedge.passes.match.picking import Watched
from backedge.passes.schemas import HUB_OPSETS
from backedge.passes.types import DType, TensorType
from backedge.runtime.compare.runnables import Runnable
from backedge.runtime.oracles import Outcome
from proofs import classes, mutants, share

SAMPLES = Path(__file__).parents[2] / "samples"
HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '


def test_a_loop_is_proved_and_run_on_three_inputs(tmp_path: Path) -> None:
    report = convert(SAMPLES / "bouncing_ball.onnx", tmp_path / "b.xml")
    assert report.verdict == "proved" and report.exit_code == 0
    found = report.verification
    assert found is not None and found and len(found.trials) == found.confirmed == 3
    assert found.proof is not None and found.proof["holds"] and all(found.proof["outputs"].values())
    assert "proved equal, bit for bit" in found.reasons[0] and "onnxruntime and openvino" in found.reasons[0]


def test_without_a_proof_inputs_decide(tmp_path: Path) -> None:
    report = convert(SAMPLES / "newton_sqrt.onnx", tmp_path / "b.onnx", opset=13, verify=8, proof=False)
    assert report.verdict == "equal"
    assert report.verification is not None and report.verification.proof is None
    assert len(report.verification.trials) >= 8


def test_what_is_asked_in_numbers_is_answered_in_numbers() -> None:
    path = SAMPLES / "newton_sqrt.onnx"
    assert verify(path, path, trials=2, rtol=1e-5).verdict == "equal"
    assert verify(path, path, trials=2).verdict == "proved"


def model(path: Path, text: str) -> Path:
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    return path


def test_part_of_a_proof_is_told(tmp_path: Path) -> None:
    text = "(float[3] x) => (float[3] y, float[3] z) {{ e = Exp (x)  y = Neg (e)  z = {} (e) }}"
    a, b = model(tmp_path / "a.onnx", text.format("Sin")), model(tmp_path / "b.onnx", text.format("Tanh"))
    report = verify(a, b, trials=4)
    assert report.verdict == "different" and report.proof is not None
    assert report.proof["outputs"] == {"y": True, "z": False} and not report.proof["holds"]
    assert (report.proof["matched"], report.proof["of"]) == (2, 3)
    assert report.proof["stops"] == {"a": ["Sin"], "b": ["Tanh"]}
    told = "1 of 2 outputs (compared in 3 trials only) and 2 of 3 operators are proved equal; the proof stops at Tanh"
    assert told in report.reasons


PARTS = """(float[3] x) => (float[3] y, float[3] z) { e = Exp (x)  y = Neg (e)  z = Sin (e) }"""


def many_nodes(path: Path, last: str = "Neg") -> Path:
    chain = " ".join(f"v{at + 1} = {'Abs' if at % 2 else 'Sin'} (v{at})" for at in range(200))
    return model(path, f"(float[3] v0) => (float[3] y) {{ {chain} y = {last} (v200) }}")


def test_a_proof_that_reaches_its_limit_is_given_up(tmp_path: Path) -> None:
    a = to_hub(load(many_nodes(tmp_path / "a.onnx")))
    looks: list[int] = []

    def excess() -> str:
        looks.append(1)
        return "it takes too long" if len(looks) > 3 else ""

    found = prove(a, a, excess=excess)
    assert not found.holds and found.given_up == found.why == "it takes too long" and not found.proved
    assert len(looks) == 4 and prove(a, a).holds


@pytest.mark.parametrize("limit, last, verdict", [("time", "Tanh", "different"), ("memory", "Neg", "equal")])
def test_what_is_given_up_is_tried(
    limit: str, last: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No share of the time is left for a proof, or all of the time and no memory."""
    monkeypatch.setattr(verification, "PROOF", 0.0 if limit == "time" else 1.0)
    if limit == "memory":
        monkeypatch.setattr(limits, "room", int)
        monkeypatch.setattr(guard, "_private_memory", iter(range(10**6)).__next__)
    report = verify(many_nodes(tmp_path / "a.onnx"), many_nodes(tmp_path / "b.onnx", last), trials=4)
    assert report.verdict == verdict and len(report.trials) >= 4
    assert report.proof is not None and not report.proof["holds"]
    word, option = ("longer", "--timeout") if limit == "time" else ("more memory", "--memory")
    (told,) = [reason for reason in report.reasons if "given up" in reason]
    assert told.startswith(f"the proof was given up, as it takes {word} than") and option in told


@pytest.mark.parametrize(
    "fault, last, verdict",
    [
        (RecursionError("too deep"), "Tanh", "different"),
        (MemoryError(), "Neg", "equal"),
        (KeyError("k"), "Neg", "equal"),
    ],
)
def test_a_fault_in_matching_decides_nothing(
    fault: Exception, last: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Numbering, "of", failing)
    monkeypatch.setattr(Watched, "of", failing)
    report = verify(many_nodes(tmp_path / "a.onnx"), many_nodes(tmp_path / "b.onnx", last), trials=2)
    assert report.verdict == verdict and report.proof is not None and not report.proof["holds"]
    word = "no memory left" if isinstance(fault, MemoryError) else type(fault).__name__
    assert any("the proof was given up" in reason and word in reason for reason in report.reasons)


def test_what_no_runtime_loads_is_not_tried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two files that are proved equal, where B's runtime takes too long to load it: other inputs tell nothing."""
    asked: list[str] = []

    def answering(path: Path, *_: Any) -> list[Runnable]:
        def run(batches: Iterable[Any]) -> Iterator[Outcome]:
            for _ in batches:
                asked.append(path.name)
                yield Outcome(error="not loaded within 1 s", stage="load")

        return [Runnable("onnxruntime", run)] if path.name == "b.onnx" else []

    monkeypatch.setattr(verification, "_runtimes", answering)
    a, b = many_nodes(tmp_path / "a.onnx"), many_nodes(tmp_path / "b.onnx")
    report = verify(a, b, trials=40)
    assert report.verdict == "unconfirmed" and report.proof is not None and report.proof["holds"]
    assert len(report.trials) == asked.count("b.onnx") == 3
    assert any("every output is proved equal" in reason for reason in report.reasons)
    assert any("not loaded within 1 s" in reason for reason in report.reasons)


def test_a_fault_in_a_further_attempt_takes_nothing_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proved without it is: `y` here, whatever lowering operators alone would give."""
    a = model(tmp_path / "a.onnx", PARTS)
    b = model(tmp_path / "b.onnx", PARTS.replace("Sin", "Tanh"))
    strict = proof.matched

    def failing(*arguments: Any, **options: Any) -> Any:
        if len(arguments) > 2 or options.get("reals"):
            raise KeyError("k")
        return strict(*arguments, **options)

    monkeypatch.setattr(proof, "matched", failing)
    report = verify(a, b, trials=2)
    assert report.verdict == "different" and report.proof is not None
    assert report.proof["outputs"] == {"y": True, "z": False} and "KeyError" in report.proof["given_up"]


@pytest.mark.parametrize(
    "text",
    [
        "(float[4] x) => (float[n] y) { s = Constant <value_ints = [0]> ()  e = Constant <value_ints = [3]> ()  "
        "t = Constant <value_ints = [0]> ()  y = Slice (x, s, e, s, t) }",
        "(int64[1] x) => (int64[n, m] y) { t = Constant <value_ints = [-2, 3]> ()  s = Neg (t)  y = Expand (x, s) }",
        "(float[2, 3] x) => (float y) { s = Constant <value_ints = [1, 1]> ()  y = ReduceSum <keepdims = 0> (x, s) }",
    ],
    ids=["a step of 0", "a negative size", "an axis twice"],
)
def test_operands_that_contradict_each_other_are_no_proof(text: str, tmp_path: Path) -> None:
    graph = to_hub(load(model(tmp_path / "a.onnx", text)))
    found = matched(graph, graph)
    assert not found.proved and "contradict each other" in found.why


def test_random_numbers_are_no_proof(tmp_path: Path) -> None:
    text = "(float[3] x) => (float[3] y) { r = RandomNormalLike (x)  y = Add (x, r) }"
    path = model(tmp_path / "a.onnx", text)
    assert verify(path, path, trials=2).verdict == "incomparable"


def test_scales_besides_sizes_are_no_proof(tmp_path: Path) -> None:
    """What the operator is made of doesn't read them."""
    head = '<ir_version: 13, opset_import: ["" : 26]> g (int32[5] x) => (int32[n] y)'
    sizes = "s = Constant <value_ints = [4]> ()"
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    for path, text in zip(
        paths, ("y = Resize (x, , , s)", "f = Cast <to = 1> (x)  y = Resize (x, , f, s)"), strict=True
    ):
        onnx.save(onnx.parser.parse_model(f"{head} {{ {sizes}  {text} }}"), path)
    a, b = (to_hub(load(path)) for path in paths)
    assert matched(a, a).proved
    assert not matched(a, b).proved and not matched(b, a).proved


@pytest.mark.parametrize("group", ["samples"])
def test_classes_are_equal_values(group: str, tmp_path: Path) -> None:
    for source in share.sources(group, tmp_path):
        count = classes.judged(source, ["13", "ir", "hlo"], 2)
        assert not count["different"] and not count["run differently often"], source


@pytest.mark.full
def test_classes_of_the_catalogue_are_equal_values(tmp_path: Path) -> None:
    for source in share.sources("catalogue", tmp_path):
        count = classes.judged(source, ["21", "13", "9", "ir", "hlo"], 2)
        assert not count["different"] and not count["run differently often"], source


@pytest.mark.parametrize(
    "name",
    ["bouncing_ball", "lcg", *(pytest.param(one, marks=pytest.mark.full) for one in ("greedy_nms", "rnn_scan_both"))],
)
def test_mutants_of_samples_are_not_proved(name: str) -> None:
    count = mutants.judged((name, SAMPLES / f"{name}.onnx"), 0, 1, 50, "")
    assert count["mutants"] > 20 and not count["false"] and not count["failed"]


@pytest.mark.full
def test_mutants_are_not_proved(tmp_path: Path) -> None:
    for source in [*share.sources("catalogue", tmp_path)][::4]:
        count = mutants.judged(source, 1, 1, 100, "")
        assert not count["false"] and not count["failed"], source


BIAS = "(float[1,3,8,8] x, float[4,3,3,3] w, float[4] b) => (float[1,4,6,6] y) {{ {} }}"


def test_a_bias_added_apart(tmp_path: Path) -> None:
    """Which may round otherwise: proved modulo that, and tried alone."""
    graphs = []
    for name, text in (
        ("a", "y = Conv (x, w, b)"),
        ("b", "s = Constant <value_ints = [4, 1, 1]> ()  r = Reshape (b, s)  c = Conv (x, w)  y = Add (r, c)"),
    ):
        text = f'<ir_version: 10, opset_import: ["" : 21]> g {BIAS.format(text)}'
        onnx.save(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")
        graphs.append(to_hub(load(tmp_path / f"{name}.onnx")))
    for one, other in (graphs, graphs[::-1]):
        found = prove(one, other)
        assert found.outputs == {"y": True} and found.lemmas == ["Conv"] and not found.holds
        assert found.tried == {"Conv": 8} and not found.refuted


def test_a_lemma_that_is_wrong() -> None:
    node = Node("", "Sigmoid", 13)
    node.inputs = [Value("x0", TensorType(DType.FLOAT32, (3,)))]
    node.outputs = [Value("y0", TensorType(DType.FLOAT32, (3,)), node)]
    for op, holds in (("Sigmoid", True), ("Tanh", False)):
        graph = Graph("hub")
        graph.opsets = dict(HUB_OPSETS)
        x = graph.add_input("x", node.inputs[0].type)
        graph.outputs = [graph.add_node(op, [x], [("y", x.type)], version=13).output]
        assert tried(node, graph)[1] is holds
