"""Certificates: accepted for the files they are of, rejected for others and after tampering."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from backedge.convert import convert
from backedge.convert.check import Rejected, check
from backedge.convert.cli import main
from backedge.convert.files import load, to_hub
from backedge.convert.proof import matched
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph
from backedge.passes.limits import allow_calls
from backedge.passes.match.certificate import certificate
from control_flow.cases import CASES
from proofs import certificates
from proofs.share import sources

from .test_loops import DIFFERENT, EQUAL, HEAD, graphs

SAMPLES = Path(__file__).parents[2] / "samples"


def written(folder: Path, a: Graph, b: Graph) -> Path:
    path = folder / "proof.json"
    path.write_text(json.dumps(certificate(matched(a, b))))
    return path


@pytest.mark.parametrize("name", EQUAL)
def test_accepted(name: str, tmp_path: Path) -> None:
    a, b = graphs(tmp_path, EQUAL[name])
    assert check(written(tmp_path, a, b), a, b).outputs == [value.name for value in a.outputs]


@pytest.mark.parametrize("name", DIFFERENT)
def test_rejected_for_other_files(name: str, tmp_path: Path) -> None:
    """The proof that a model equals itself, held against one that doesn't equal it."""
    a, b = graphs(tmp_path, DIFFERENT[name])
    path = written(tmp_path, a, a)
    assert check(path, a, a).outputs
    for one, other in ((a, b), (b, a)):
        with pytest.raises(Rejected):
            check(path, one, other)


def test_inputs_that_change_places(tmp_path: Path) -> None:
    text = "(float[2] x, float[2] k) => (float[2] y) {{ y = Sub ({}) }}"
    a, b = graphs(tmp_path, (text.format("x, k"), text.format("k, x")))
    path = written(tmp_path, a, a)
    found = json.loads(path.read_text())
    found["b"]["inputs"].reverse()  # now every operator of B has A's term
    path.write_text(json.dumps(found))
    with pytest.raises(Rejected, match="isn't one and the same in both"):
        check(path, a, b)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: next(iter(c["groups"].values()))["classes"][0].update(initial=0),
        lambda c: next(iter(c["groups"].values()))["classes"][0].update(next=0),
        lambda c: next(iter(c["groups"].values())).update(passes=2),
        lambda c: c["a"]["nodes"][-1].update(outputs=c["a"]["nodes"][-1]["outputs"][::-1]),
        lambda c: c["b"]["nodes"].pop(),
        lambda c: c["b"].update(inputs=c["b"]["inputs"][::-1]),
        lambda c: c.pop("groups"),
    ],
    ids=["initial value", "next value", "passes", "results", "an operator gone", "inputs", "groups gone"],
)
def test_rejected_after_tampering(change: Callable[[dict[str, Any]], object], tmp_path: Path) -> None:
    a, b = graphs(tmp_path, EQUAL["names and order of nodes"])
    path = written(tmp_path, a, b)
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    with pytest.raises(Rejected):
        check(path, a, b)


@pytest.fixture
def deep_calls() -> Iterator[None]:
    """Python's limit on calls as it is after a deep graph was read."""
    before = sys.getrecursionlimit()
    allow_calls()
    yield
    sys.setrecursionlimit(before)


def as_second_index(found: dict[str, Any]) -> None:
    graph = found["b"]
    graph["nodes"][-1]["outputs"] = [one - len(found["terms"]) for one in graph["nodes"][-1]["outputs"]]


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["terms"][c["a"]["inputs"][0]]["shape"][0][0].__setitem__(0, 3),
        lambda c: c["terms"][c["a"]["inputs"][0]]["shape"].__setitem__(0, [[2, []]]),
        as_second_index,
    ],
    ids=["some sizes only", "one size only", "terms by a second index"],
)
def test_rejected_for_open_sizes_and_indices(
    change: Callable[[dict[str, Any]], object], tmp_path: Path, deep_calls: None
) -> None:
    """A size of itself has no end, and must have none of the machine's stack."""
    text = "(float[N, 3] x, int64[2] s) => (float[p, q] y) { y = Reshape <allowzero = 1> (x, s) }"
    onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "a.onnx")
    a = to_hub(load(tmp_path / "a.onnx"))
    path = written(tmp_path, a, a)
    found = json.loads(path.read_text())
    assert check(path, a, a).outputs == ["y"]
    change(found)
    path.write_text(json.dumps(found))
    with pytest.raises(Rejected):
        check(path, a, a)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"certificate": 2}'])
def test_what_is_no_certificate(text: str, tmp_path: Path) -> None:
    a, _ = graphs(tmp_path, EQUAL["commuted"])
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InvalidModel, match="no certificate"):
        check(tmp_path / "c.json", a, a)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof, target = tmp_path / "proof.json", tmp_path / "b.xml"
    source = SAMPLES / "bouncing_ball.onnx"
    assert convert(source, target, certificate=str(proof)).verdict == "proved"
    other = onnx.load(source)
    next(node for node in other.graph.node if node.op_type == "Neg").op_type = "Abs"
    onnx.save(other, tmp_path / "other.onnx")
    for b, code in ((target, 0), (tmp_path / "other.onnx", 1), (tmp_path / "none.xml", 2)):
        with pytest.raises(SystemExit) as ended:
            main(["check", str(proof), str(source), str(b)])
        assert ended.value.code == code
    captured = capsys.readouterr()
    *lines, last = captured.out.splitlines()
    assert lines == ["output 'heights': proved equal", "output 'bounces': proved equal"]
    assert re.fullmatch(r"\d+ steps derived, \d+ tested on random values", last)
    assert "is rejected: Neg-13" in captured.err or "is rejected: Abs-13" in captured.err


def test_steps_of_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model against itself needs no test of an operator; a rule does."""
    text = "(float[2,3] x) => (float[2,3] y) { %s }"
    for name, written_as in (
        ("a", "t = Transpose <perm = [1, 0]> (x)  y = Transpose <perm = [1, 0]> (t)"),
        ("b", "y = Identity (x)"),
    ):
        onnx.save(onnx.parser.parse_model(HEAD + text % written_as), tmp_path / f"{name}.onnx")
    a, b = (to_hub(load(tmp_path / f"{name}.onnx")) for name in "ab")
    proof = written(tmp_path, b, b)
    assert check(proof, b, b).tested == 0
    written(tmp_path, a, b)
    files = [str(proof), str(tmp_path / "a.onnx")]
    with pytest.raises(SystemExit) as ended:
        main(["check", *files, str(tmp_path / "b.onnx"), "--json", "-"])
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"accepted": True, "outputs": ["y"], "derived": 2, "tested": 1}
    onnx.save(onnx.parser.parse_model(HEAD + text % "y = Neg (x)"), tmp_path / "c.onnx")
    with pytest.raises(SystemExit) as ended:
        main(["check", *files, str(tmp_path / "c.onnx"), "--json", "-"])
    assert ended.value.code == 1 and json.loads(capsys.readouterr().out)["accepted"] is False


def test_no_certificate_without_a_proof(tmp_path: Path) -> None:
    text = "(float[2] x) => (float[2] y) { r = RandomNormalLike (x)  y = Add (x, r) }"
    onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "r.onnx")
    report = convert(tmp_path / "r.onnx", tmp_path / "s.onnx", opset=13, verify=2, certificate=tmp_path / "c.json")
    assert report.verdict == "incomparable" and not (tmp_path / "c.json").exists()
    assert report.verification is not None
    assert "there is no proof, and so no certificate" in report.verification.reasons


@pytest.mark.parametrize("name", ["seq_insert_concat", "seq_optional_branch"])
def test_no_certificate_that_is_not_accepted(name: str, tmp_path: Path) -> None:
    """The checker computes no sequences and optionals."""
    (case,) = (one for one in CASES if one.name == name)
    onnx.save(case.model(), tmp_path / "a.onnx")
    report = convert(tmp_path / "a.onnx", tmp_path / "b.onnx", opset=13, certificate=tmp_path / "c.json")
    assert report.verification is not None
    if name == "seq_insert_concat":
        assert report.verdict == "proved"
        assert "there is no certificate: check can't follow" in report.verification.reasons[-1]
    assert not (tmp_path / "c.json").exists()


def test_a_cast_of_what_is_stacked(tmp_path: Path) -> None:
    """What a loop stacks in float64, each a cast of a float32, and casts back outside."""
    (case,) = (one for one in CASES if one.name == "type_loop_double")
    onnx.save(case.model(), tmp_path / "a.onnx")
    report = convert(tmp_path / "a.onnx", tmp_path / "b.onnx", opset=13, certificate=tmp_path / "c.json")
    assert report.verdict == "proved"
    graphs = [to_hub(load(tmp_path / name)) for name in ("a.onnx", "b.onnx")]
    assert set(check(tmp_path / "c.json", *graphs).outputs) == {"y", "all"}
    found = json.loads((tmp_path / "c.json").read_text())
    (stack,) = (one for one in found["terms"] if one["op"] == "$stack" and one["dtype"] == "float32")
    stack["element"] = next(at for at, one in enumerate(found["terms"]) if one["op"] == "$variable")
    (tmp_path / "d.json").write_text(json.dumps(found))
    with pytest.raises(Rejected):
        check(tmp_path / "d.json", *graphs)


def test_passes_without_end(tmp_path: Path) -> None:
    """What passes add to a tensor is computed pass by pass; of a million, nothing is."""
    text = """(float[2,3] x, float[n,3] y) => (float[m,3] z) { k = Constant <value_int = 3> ()
        z = Loop (k, , y) <body = b (int64 i, bool c, float[l,3] s) => (bool d, float[o,3] t) {
            d = Identity (c)  t = Concat <axis = 0> (s, x) }> }"""
    a, b = graphs(tmp_path, (text, text))
    found = certificate(matched(a, b))
    path = tmp_path / "c.json"
    path.write_text(json.dumps(found))
    assert check(path, a, b).outputs == ["z"]
    for group in found["groups"].values():
        group["passes"] = 10**6
    path.write_text(json.dumps(found))
    with pytest.raises(Rejected):
        check(path, a, b)


@pytest.mark.parametrize(
    "name", ["greedy_nms", *(pytest.param(one, marks=pytest.mark.full) for one in ("newton_sqrt", "rnn_scan_both"))]
)
def test_samples(name: str) -> None:
    count = certificates.judged((name, SAMPLES / f"{name}.onnx"), ["13", "ir"], 6)
    assert count["accepted"] >= 1 and not count["not accepted"] and not count["false"] and not count["failed"]


@pytest.mark.full
def test_catalogue(tmp_path: Path) -> None:
    for source in [*sources("catalogue", tmp_path)][::5]:
        count = certificates.judged(source, ["13", "ir"], 10)
        assert not count["false"] and not count["failed"], source


def test_the_sources_agree(tmp_path: Path) -> None:
    """A certificate is the same each time that it is written."""
    path = SAMPLES / "gru_decoder.onnx"
    found = [json.dumps(certificate(matched(to_hub(load(path)), to_hub(load(path))))) for _ in range(2)]
    assert found[0] == found[1]
