"""HLO's control flow by `jax.lax`. Values that a loop hands on unchanged are captured, so that JAX carries no
derivatives along for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax

from ....passes.graph import Graph, Node
from .tools import Arrays, Run


def _varying(before: Sequence[Any], after: Sequence[Any]) -> list[int]:
    """The positions in a loop's state that its body changes."""
    return [at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old is not new]


def _in_place(whole: Arrays, positions: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """A state with other values at these positions."""
    found = list(whole)
    for at, value in zip(positions, values, strict=True):
        found[at] = value
    return found


def _passes() -> np.ndarray[Any, Any]:
    """How many passes are done before the first: 0."""
    return np.zeros((), np.uint32)


def _while(node: Node, operands: Arrays, run: Run) -> list[Any]:
    """`lax.while_loop`, which counts passes only where random numbers depend on them."""
    body, condition = node.regions["body"], node.regions["condition"]
    varying = _varying(body.inputs, body.outputs)
    draws = run.draws(body) or run.draws(condition)

    def whole(state: Any) -> tuple[Run, list[Any]]:
        inner = run.at(state[0]) if draws else run
        return inner, _in_place(operands, varying, state[1:])

    def test(state: Any) -> Any:
        inner, values = whole(state)
        return inner(condition, values)[0]

    def step(state: Any) -> Any:
        inner, values = whole(state)
        made = inner(body, values)
        return (state[0] + np.uint32(1) if draws else state[0], *(made[at] for at in varying))

    start = (_passes(), *(operands[at] for at in varying))
    _, *last = lax.while_loop(test, step, start)
    return _in_place(operands, varying, last)


def _scan(node: Node, operands: Arrays, run: Run) -> list[Any]:
    """`lax.scan` along axis 0; HLO's operands and results begin with what is taken apart and put together."""
    body, carries = node.regions["to_apply"], node.attributes["num_carries"]
    split, stacked = len(operands) - carries, len(node.outputs) - carries
    whole = operands[split:]
    varying = _varying(body.inputs[split:], body.outputs[stacked:])
    draws = run.draws(body)

    def step(state: Any, parts: Any) -> Any:
        inner = run.at(state[0]) if draws else run
        made = inner(body, [*parts, *_in_place(whole, varying, state[1:])])
        passes = state[0] + np.uint32(1) if draws else state[0]
        return (passes, *(made[stacked + at] for at in varying)), made[:stacked]

    start = (_passes(), *(whole[at] for at in varying))
    (_, *last), elements = lax.scan(step, start, list(operands[:split]))
    return [*elements, *_in_place(whole, varying, last)]


def _conditional(node: Node, operands: Arrays, run: Run) -> list[Any]:
    """`lax.cond` and `lax.switch`; an index out of bounds takes the last branch, as in HLO."""
    chosen, rest = operands[0], list(operands[1:])
    branches: list[Callable[[], Any]] = []
    for at in range(len(node.regions)):
        region = node.regions[f"branch_{at}"]
        mine, rest = rest[: len(region.inputs)], rest[len(region.inputs) :]
        branches.append(_branch(run.at(at), region, mine))
    if np.dtype(chosen.dtype) == np.bool_:
        return lax.cond(chosen, branches[1], branches[0])
    last = np.int32(len(branches) - 1)
    inside = lax.bitwise_and(lax.ge(chosen, np.int32(0)), lax.le(chosen, last))
    return lax.switch(lax.select(inside, jax.numpy.asarray(chosen), last), branches)


def _branch(run: Run, region: Graph, arguments: Sequence[Any]) -> Callable[[], Any]:
    return lambda: [jax.numpy.asarray(value) for value in run(region, arguments)]


APPLYING: dict[str, Callable[[Node, Arrays, Run], Any]] = {
    "conditional": _conditional,
    "scan": _scan,
    "while": _while,
}
