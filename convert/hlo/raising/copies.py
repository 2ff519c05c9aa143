"""Copies that give a value a name of its own, and tokens; `canonical.py` has taken away the others."""

from __future__ import annotations

from ....passes.graph import Node
from ....passes.preconditions import given
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results


@rule(DOMAIN, "copy", "copy-done")
def copy(op: Builder, node: Node) -> Results:
    """copy, copy-done (of what its copy-start hands on): the same values."""
    return [given(node, place) for place in range(len(node.outputs))]


@rule(DOMAIN, "copy-start")
def copy_start(op: Builder, node: Node) -> Results:
    """copy-start: the copy, the source, and a context that says nothing."""
    x = given(node, 0)
    return [x, x, op.const(0, DType.UINT32)][: len(node.outputs)]


@rule(DOMAIN, "after-all")
def after_all(op: Builder, node: Node) -> Results:
    """after-all: a token, which nothing reads."""
    return op.const(False, DType.BOOL, "token")


RULES = collect(globals())
