"""Hub -> HLO: what loops and branches share. Their computations capture nothing, so constants go in with them."""

from __future__ import annotations

from ....passes.graph import Value
from ....passes.rewrite import Builder

_COPIED = 64  # elements of a constant that every computation that uses it has for itself


def is_copied(outside: Value) -> bool:
    """Whether a captured value is a constant that is so small that it is repeated inside."""
    return outside.data is not None and outside.data.size <= _COPIED


def copied(body: Builder, outside: Value) -> Value:
    """A constant from outside as a constant of the body."""
    assert outside.data is not None
    return body.graph.add_constant(outside.data, body.rewriter.names.fresh(outside.name or "const"))
