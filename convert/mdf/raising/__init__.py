"""MDF models -> hub graphs.

raise_model                 the graph, its inputs and outputs
runs, state                 passes of the model, one after the other or in a Loop; what a Loop carries
nodes, functions            what a node does when it runs; MDF's own functions
onnx_functions              `onnx::` functions
scheduler, conditions       which nodes run when; thresholds: where that hangs on what they compute
timetable, logic            where it is known beforehand; flags and counters
numpy                       expressions
"""
