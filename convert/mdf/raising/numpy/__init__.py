"""Expressions of MDF, which are Python and NumPy: text to a tree, the tree into a graph of the hub."""
