"""Limits on what a file may make of itself."""

MOST_NODES = 2_000_000
"""Nodes of a model whose functions stand where they are called."""
