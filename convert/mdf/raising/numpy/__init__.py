"""Expressions of MDF, which are Python and NumPy, as graphs of the hub.

syntax                      Python's tree of a text, checked by an allow-list
evaluate, operators, subscripts     what a tree comes to
values                      numbers with NumPy's element types, Python's own among them
calls, arguments            which functions there are; how their arguments are taken
ufuncs                      NumPy's universal functions
formulas                    functions that are expressions over others
shapes, creation, reductions, numpy_functions, python_functions     all other functions
"""
