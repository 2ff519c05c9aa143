"""Expressions of MDF, which are Python and NumPy, as graphs of the hub.

(`runtime.oracles.mdf_syntax` parses and checks them)
evaluate, operators, subscripts     what a tree comes to
values                      numbers with NumPy's element types, Python's own among them
calls, arguments            which functions there are; how their arguments are taken, which are expressions over others
ufuncs                      NumPy's universal functions
shapes, reductions, numpy_functions     all other functions
"""
