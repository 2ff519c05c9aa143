"""MDF models -> hub graphs.

raise_model                 the graph, its inputs and outputs
runs, loops, state          passes of the model, one after the other or in a Loop; what a Loop carries
nodes, functions            what a node does when it runs; MDF's own functions and `onnx::` ones
regions                     branches and bodies of loops, built of values from around them
list_ports                  where a list of Python's is as good as an array
scheduler, conditions       which nodes run when
numpy                       expressions
"""
