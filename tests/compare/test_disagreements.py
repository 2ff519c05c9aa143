"""What the report says of runnables that read one file and give something else."""

import numpy as np
import onnx
from backedge.convert.verification import verify
from backedge.runtime.compare.runnables import Runnable
from backedge.runtime.compare.sides import Side
from backedge.runtime.compare.signature import Designed
from backedge.runtime.compare.verdict import compare_sides
from backedge.runtime.oracles import Outcome
from onnx import parser

CANCELLED = """(float[512] x) => (float y) <float k = {1000}> {
    large = Mul(x, k) one = ReduceSum<keepdims=0>(large) sum = ReduceSum<keepdims=0>(x) other = Mul(sum, k)
    y = Sub(one, other) }"""


def test_rounding_is_no_contradiction(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> g {CANCELLED}'), path)
    report = verify(path, path, trials=4, proof=False)
    assert report.verdict == "equal" and not report.disagreements
    by_tolerance = verify(path, path, trials=4, rtol=1e-5, atol=1e-6)
    assert {one.side for one in by_tolerance.disagreements} == {"a", "b"}


def side(name, *answers):
    watched = {"ReduceMax": np.array(["nan"], object)}
    watch = Runnable("watch", lambda batches: [Outcome(watched) for _ in batches], own=False)
    runnables = [
        Runnable(who, lambda batches, y=y: [Outcome({"y": np.array(y)}) for _ in batches], who != "executor")
        for who, y in answers
    ]
    return Side(name, runnables, watch=watch)


def test_special_numbers_stand_apart_and_a_known_way_with_them_is_named():
    sides = [side(name, ("executor", 1.0), ("onnxruntime", 2.0)) for name in "AB"]
    plain, special = (Designed({"x": np.array(0.0)}, kind) for kind in ("plain", "special"))
    report = compare_sides(*sides, [plain, special, special])
    found = {(one.side, one.trials, one.first) for one in report.disagreements}
    assert found == {("a", 1, 0), ("a", 2, 1), ("b", 1, 0), ("b", 2, 1)}
    told = [reason for reason in report.reasons if "contradict" in reason]
    assert sum("can't be told" in one for one in told) == 2
    assert sum("ReduceMax is given NaN in this trial: onnxruntime passes over NaN" in one for one in told) == 2
