"""An MDF model of a neuron that fires becomes ONNX, and then MDF again.

The FitzHugh-Nagumo equations, until the voltage reaches a threshold. A loop in Python computes the same.
"""

import backedge
import onnxruntime
from modeci_mdf.execution_engine import EvaluableGraph
from modeci_mdf.mdf import Condition, ConditionSet, Graph, Model, Node, OutputPort, Parameter
from modeci_mdf.utils import load_mdf

cell = Node(id="cell")
cell.parameters.append(Parameter(id="drive", value=0.5))
cell.parameters.append(Parameter(id="n", default_initial_value=0, value="n + 1"))
cell.parameters.append(Parameter(id="v", default_initial_value=-1.0, value="v + 0.25 * (v - v ** 3 / 3 - w + drive)"))
cell.parameters.append(Parameter(id="w", default_initial_value=0.0, value="w + 0.02 * (v + 0.7 - 0.8 * w)"))
cell.output_ports.append(OutputPort(id="voltage", value="v"))
cell.output_ports.append(OutputPort(id="passes", value="n"))
fired = Condition(type="Threshold", dependency="cell", parameter="v", threshold=1.5, comparator=">=")
graph = Graph(id="neuron", nodes=[cell], conditions=ConditionSet(termination={"environment_state_update": fired}))
Model(id="fitzhugh_nagumo", graphs=[graph]).to_json_file("neuron.json")

report = backedge.convert("neuron.json", "neuron.onnx")
print(report)
back = backedge.convert("neuron.onnx", "back.yaml", mdf_style="stateful")
print(back)
assert {report.verdict, back.verdict} <= {"proved", "equal"}

v, w, n = -1.0, 0.0, 0
while v < 1.5:
    v = v + 0.25 * (v - v**3 / 3 - w + 0.5)
    w = w + 0.02 * (v + 0.7 - 0.8 * w)
    n = n + 1
voltage, passes, recovery = onnxruntime.InferenceSession("neuron.onnx").run(None, {})
assert passes == n and abs(voltage - v) < 1e-9 and abs(recovery - w) < 1e-9

engine = EvaluableGraph(load_mdf("back.yaml").graphs[0], verbose=False)
engine.evaluate()
ports = {name: port for node in engine.enodes.values() for name, port in node.evaluable_outputs.items()}
assert ports["passes"].curr_value == n and abs(ports["voltage"].curr_value - v) < 1e-9
print("passes", n)
