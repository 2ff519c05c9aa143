"""Whether two graphs give the same, on designed inputs, by our executor."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph
from backedge.passes.structure.canonical import canonicalize
from backedge.runtime.compare.input_roles import signature_of
from backedge.runtime.compare.inputs import design
from backedge.runtime.compare.runnables import TimeIsUp, alarm
from backedge.runtime.executor import Executor, never_compile


def same(a: Any, b: Any, units: bool = False) -> bool:
    if isinstance(a, list) or isinstance(b, list):
        return (
            isinstance(a, list)
            and isinstance(b, list)
            and len(a) == len(b)
            and all(same(*pair, units) for pair in zip(a, b, strict=True))
        )
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype == object:
        return bool((a == b).all())
    if a.dtype.kind in "fcV":
        wide = a.astype(np.float64) if a.dtype.kind == "V" else a
        other = b.astype(np.float64) if b.dtype.kind == "V" else b
        close = 4 * np.finfo(wide.dtype).eps if units else 0
        return bool(np.allclose(wide, other, close, 0, equal_nan=True))
    return bool(np.array_equal(a, b))


def _of_outputs(graph: Graph, other: Graph) -> Graph:
    """What the outputs that two graphs have in common need: nothing is said of an additional one."""
    copy, both = graph.copy(), {value.name for value in other.outputs}
    copy.outputs = [value for value in copy.outputs if value.name in both] or copy.outputs
    canonicalize(copy)  # stacks that nobody asks for, too
    return copy


def refuted(a: Graph, b: Graph, inputs: int, patience: float = math.inf) -> str:
    """Where two graphs give different results on designed inputs; "" where they don't.

    Args:
        patience: seconds after which a run of `b` counts as endless; one of `a` isn't followed.
    """
    try:
        feeds = list(design(signature_of(a, b), inputs))
    except BackedgeError:
        return ""
    names = {one.name: other.name for one, other in zip(a.inputs, b.inputs, strict=False)}
    built_in = {one.name for one in a.inputs} - names.keys()
    first, second = (Executor(_of_outputs(*pair), never_compile) for pair in ((a, b), (b, a)))
    for number, feed in enumerate(feeds):
        try:
            with _limit(patience):
                expected = first.run(feed)
        except (BackedgeError, TimeIsUp):
            continue
        try:
            with _limit(patience):
                found = second.run({names[name]: value for name, value in feed.items() if name not in built_in})
        except TimeIsUp:
            return f"input {number}: it doesn't end"
        except BackedgeError as error:
            return f"input {number}: only the mutant fails: {error}"
        for name, one in expected.items():
            other = found.get(name)
            if not same(one, other):
                nearly = "nearly " if same(one, other, units=True) else ""
                return f"{nearly}input {number}: {name} differs"
    return ""


def _limit(patience: float) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if math.isinf(patience) else alarm(patience)
