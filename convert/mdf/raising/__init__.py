"""MDF models -> hub graphs.

raise_model                 the graph, its inputs and outputs
runs, loops, state          passes of the model, one after the other or in a Loop; what a Loop carries
nodes, functions            what a node does when it runs; MDF's own functions and `onnx::` ones
scheduler, conditions       which nodes run when
numpy                       expressions
"""
