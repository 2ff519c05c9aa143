"""Rules of one's own: patterns of several operators, in regions too, and by the command."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert
from backedge.passes.errors import InvalidModel
from backedge.passes.patterns import pattern_rule
from backedge.passes.pipeline import PassResult
from backedge.passes.rewrite import rule
from onnx.parser import parse_model

RULES = Path(__file__).parents[2] / "samples" / "my_rules.py"
GELU = """
<ir_version: 8, opset_import: ["": 17]>
g (float[N, 4] x, bool c) => (float[N, 4] y, float[N, 4] seen)
<float root = {1.4142135}, float one = {1}, float half = {0.5}>
{
  d = Div (x, root)
  e = Erf (d)
  a = Add (one, e)
  m = Mul (x, a)
  seen = Mul (half, m)
  drop = Dropout (seen)
  y = If (c) <
    then_branch = t () => (float[N, 4] p) { i = Div (drop, root)  j = Erf (i)  k = Add (j, one)  l = Mul (k, drop)
                                            p = Mul (l, half) },
    else_branch = f () => (float[N, 4] q) { q = Abs (e) }
  >
}
"""


def saved(text: str, folder: Path) -> Path:
    onnx.save(parse_model(text), folder / "a.onnx")
    return folder / "a.onnx"


def operators(path: Path) -> Counter[str]:
    def walk(nodes: Any) -> Counter[str]:
        found: Counter[str] = Counter()
        for node in nodes:
            found[f"{node.domain}.{node.op_type}" if node.domain else node.op_type] += 1
            for attribute in node.attribute:
                found += walk(attribute.g.node)
        return found

    return walk(onnx.load(path).graph.node)


def test_a_spelled_out_gelu_is_found_in_both_orders_and_in_a_branch(tmp_path: Path) -> None:
    """Erf stays where it is used otherwise, too."""
    report = convert(saved(GELU, tmp_path), tmp_path / "b.onnx", opset=20, passes=[f"{RULES}:fuse_gelu"])
    assert report.verdict == "equal"
    found = operators(tmp_path / "b.onnx")
    assert (found["Gelu"], found["Erf"], found["Add"]) == (2, 1, 0)
    assert "fuse_gelu applied 2 times" in report.notes


def test_one_after_the_other(tmp_path: Path) -> None:
    names = ("fuse_gelu", "use_vendors_gelu", "delete_dropout")
    source = saved(GELU, tmp_path)
    report = convert(source, tmp_path / "b.onnx", passes=[f"{RULES}:{name}" for name in names])
    assert report.verdict == "equal"
    found = operators(tmp_path / "b.onnx")
    assert (found["com.microsoft.Gelu"], found["Gelu"], found["Dropout"]) == (2, 0, 0)
    feeds = {"x": np.array([[0, -1, 3, 0.5]], np.float32), "c": np.array(True)}
    runs = [onnxruntime.InferenceSession(path).run(None, feeds) for path in (source, tmp_path / "b.onnx")]
    for mine, theirs in zip(*runs, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_an_operator_of_ones_own_is_replaced_with_its_attributes(tmp_path: Path) -> None:
    """The runtime doesn't know it, so that NumPy has to say what is right."""
    source = saved(
        """<ir_version: 8, opset_import: ["": 17, "my": 1]> g (float[2] x, bool c) => (float[2] y) {
          a = my.Swish2 <alpha = 1.5> (x)
          y = If (c) <then_branch = t () => (float[2] p) { p = my.Swish2 (a) },
                      else_branch = f () => (float[2] q) { q = Neg (a) }> }""",
        tmp_path,
    )
    convert(source, tmp_path / "b.onnx", passes=[f"{RULES}:swish2"], verify=0)
    x = np.array([-1, 2], np.float32)
    a = x / (1 + np.exp(-1.5 * x))
    for c, wanted in ((True, a / (1 + np.exp(-2 * a))), (False, -a)):
        (found,) = onnxruntime.InferenceSession(tmp_path / "b.onnx").run(None, {"x": x, "c": np.array(c)})
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_patterns_name_operators_of_other_domains_as_replacements_do(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17, "my": 1]> g (float[4] x) => (float[4] y) {
      y = my.Cube <power = 3> (x) }"""

    def cube(op: Any, x: Any) -> Any:
        return op.call("Cube", x, _domain="my", _version=1, power=3)

    convert(saved(text, tmp_path), tmp_path / "b.onnx", passes=[pattern_rule(cube, lambda op, x: op.Relu(x))], verify=0)
    assert operators(tmp_path / "b.onnx") == Counter({"Relu": 1})


def test_what_a_rule_gets_wrong_is_not_written(tmp_path: Path) -> None:
    def gelu(op: Any, x: Any) -> Any:
        return op.Erf(x)

    def other(op: Any, x: Any) -> Any:
        return op.Tanh(x)

    report = convert(saved(GELU, tmp_path), tmp_path / "b.onnx", passes=[pattern_rule(gelu, other)])
    assert report.verdict == "different" and not (tmp_path / "b.onnx").exists()


def test_numbers_attributes_and_equal_variables_must_fit(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[4] x, float[4] z) => (float[4] y) <float two = {2}> {
      a = Add (x, z)  b = Add (x, x)  c = Mul (b, two)  s = Softmax <axis = 0> (c)  y = Sub (a, s)
    }"""

    def twice(op: Any, v: Any) -> Any:
        return op.Add(v, v)

    def product(op: Any, v: Any) -> Any:
        return op.Mul(v, op.const(np.float32(2)))

    def by_three(op: Any, v: Any) -> Any:
        return op.Mul(v, 3.0)

    def last(op: Any, v: Any) -> Any:
        return op.Softmax(v, axis=-1)

    source = saved(text, tmp_path)
    report = convert(source, tmp_path / "b.onnx", passes=[pattern_rule(twice, product)])
    assert report.verdict == "equal" and operators(tmp_path / "b.onnx")["Add"] == 1
    for pattern in (by_three, last):
        report = convert(source, tmp_path / "c.onnx", passes=[pattern_rule(pattern, lambda op, v: op.Neg(v))], verify=0)
        assert any("applied 0 times" in note for note in report.notes)


def test_rules_and_passes_as_they_are(tmp_path: Path) -> None:
    @rule("", "Dropout")
    def gone(op: Any, node: Any) -> Any:
        return op.Identity(node.inputs[0])

    def untouched(graph: Any) -> PassResult:
        return PassResult(graph, False)

    convert(saved(GELU, tmp_path), tmp_path / "b.onnx", passes=[untouched, gone], verify=0)
    assert operators(tmp_path / "b.onnx")["Dropout"] == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nowhere.py:x", "no such Python file"),
        ("nothing", "not of the form FILE:NAME"),
        (f"{RULES}:fuse", "has no fuse"),
        (f"{RULES}:__doc__", "neither rules nor a pass"),
    ],
)
def test_bad_names(given: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidModel, match=said):
        convert(saved(GELU, tmp_path), tmp_path / "b.onnx", passes=[given])
    assert not (tmp_path / "b.onnx").exists()


def test_a_file_that_fails_is_told_by_its_error(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("1 / 0\n")
    with pytest.raises(InvalidModel, match="ZeroDivisionError: division by zero"):
        convert(saved(GELU, tmp_path), tmp_path / "b.onnx", passes=[f"{tmp_path}/bad.py:x"])


def test_a_rule_that_fails_is_told_by_its_name_and_the_node(tmp_path: Path) -> None:
    def erf(op: Any, x: Any) -> Any:
        return op.Erf(x)

    def wrong(op: Any, x: Any) -> Any:
        return op.Tanh(x.nothing)

    with pytest.raises(InvalidModel, match=r"rules at Erf-13 .*: AttributeError: 'Value' object has no attribute"):
        convert(saved(GELU, tmp_path), tmp_path / "b.onnx", passes=[pattern_rule(erf, wrong)])

    def broken(graph: Any) -> Any:
        raise KeyError("x")

    with pytest.raises(InvalidModel, match="broken: KeyError"):
        convert(saved(GELU, tmp_path), tmp_path / "b.onnx", passes=[broken])
    assert not (tmp_path / "b.onnx").exists()


def test_functions_of_other_parameters_are_refused() -> None:
    with pytest.raises(InvalidModel, match="doesn't take what"):
        pattern_rule(lambda op, x: op.Erf(x), lambda op, y: op.Tanh(y))
    with pytest.raises(InvalidModel, match="gives no operator"):
        pattern_rule(lambda op, x: x, lambda op, x: x)
