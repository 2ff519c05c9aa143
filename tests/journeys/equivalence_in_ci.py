"""A CI job compares exported models with reference models: by the command with JUnit XML, and in a pytest suite.

The exported models are what onnxscript's optimizer makes of the reference. Then one of them is broken: its loop adds
where it should subtract. The job must find that one, and no other.
"""

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import onnx
from onnxscript import FLOAT, INT64, optimizer, script
from onnxscript import opset18 as op

TESTS = """
def test_decay(assert_equivalent):
    assert_equivalent("reference/decay.onnx", "exported/decay.onnx")

def test_swish(assert_equivalent):
    assert_equivalent("reference/swish.onnx", "exported/swish.onnx")
"""


@script(default_opset=op)
def decay(x: FLOAT["n"], rate: FLOAT, steps: INT64) -> FLOAT["n"]:  # noqa: F821
    y = x
    for _ in range(steps):
        y = y - rate * y
    return y


@script(default_opset=op)
def swish(x: FLOAT["n"]) -> FLOAT["n"]:  # noqa: F821
    return op.Clip(x + 3.0, op.Constant(value_float=0.0), op.Constant(value_float=6.0)) * x / 6.0


for folder in ("reference", "exported"):
    Path(folder).mkdir()
for function in (decay, swish):
    onnx.save(function.to_model_proto(), f"reference/{function.name}.onnx")
    onnx.save(optimizer.optimize(function.to_model_proto()), f"exported/{function.name}.onnx")
job = ["backedge", "verify", "--pairs", "reference", "exported", "--junit", "report.xml"]
assert subprocess.run(job).returncode == 0

broken = onnx.load("exported/decay.onnx")
body = next(node for node in broken.graph.node if node.op_type == "Loop").attribute[0].g
next(node for node in body.node if node.op_type == "Sub").op_type = "Add"
onnx.save(broken, "exported/decay.onnx")
assert subprocess.run(job).returncode == 1
cases = {case.get("name"): [child.tag for child in case] for case in ElementTree.parse("report.xml").iter("testcase")}
assert cases == {
    "reference/decay.onnx | exported/decay.onnx": ["failure"],
    "reference/swish.onnx | exported/swish.onnx": [],
}

Path("test_export.py").write_text(TESTS)
tested = subprocess.run(["pytest", "-q"], capture_output=True, text=True)
print(tested.stdout)
assert tested.returncode == 1
assert "in A it is Sub" in tested.stdout and "iteration 0 of Loop" in tested.stdout
print("pytest:", tested.stdout.splitlines()[-1].split(" in ")[0])
