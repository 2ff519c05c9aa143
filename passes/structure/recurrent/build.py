"""A recognised recurrence as the operator, with what its inputs and outputs need around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...graph import Value
from ...loop import Stacked
from ...protos import ENUMS
from ...rewrite import Builder
from ...types import DType
from .algebra import NotRecurrent, Source
from .cells import Gate
from .match import Found, State
from .outside import Outside, Size
from .vectors import Axes

Array = np.ndarray[Any, Any]

_X: Axes = ("time", "batch", "feature")
_STATE: Axes = ("one", "batch", "feature")
_Y: Axes = ("time", "one", "batch", "feature")
_LAST = -(2**63)


@dataclass
class Weights:
    """The operator's constants: W [1, gates * hidden, inputs], R [1, gates * hidden, hidden], B [1, 2 * gates *
    hidden], LSTM's P [1, 3 * hidden], or None."""

    w: Array
    r: Array
    b: Array
    p: Array | None


def weights(found: Found, widths: dict[str, int]) -> Weights:
    """The constants of the operator; `widths`: the number of features of each sequence, in the order they are joined.

    Raises:
        NotRecurrent: the gates are not as wide as the state.
    """
    cell, hidden = found.cell, found.states[0].width
    if any(len(gate.constant) != hidden for gate in cell.gates) or any(s.width != hidden for s in found.states):
        raise NotRecurrent("its gates are not as wide as its state")
    starts, total = {}, 0
    for name, width in widths.items():
        starts[name], total = total, total + width
    shape = len(cell.gates) * hidden
    w, r, b = np.zeros((1, shape, total)), np.zeros((1, shape, hidden)), np.zeros((1, 2 * shape))
    for index, gate in enumerate(cell.gates):
        rows = slice(index * hidden, (index + 1) * hidden)
        for name, parts in gate.inputs.items():
            _fill(w[0, rows], parts, starts[name])
        _fill(r[0, rows], gate.recurrent, 0)
        b[0, rows] = gate.constant
    if cell.reset_constant is not None:
        b[0, -hidden:] = cell.reset_constant
    return Weights(w, r, b, _peepholes(cell.gates[:3], hidden))


def _fill(into: Array, parts: Sequence[tuple[Source, Array]], start: int) -> None:
    for source, matrix in parts:
        into[:, start + source.start : start + source.stop] += matrix.T


def _peepholes(gates: Sequence[Gate], hidden: int) -> Array | None:
    found = [gate.peephole for gate in gates]
    if all(factors is None for factors in found):
        return None
    return np.concatenate([np.zeros(hidden) if factors is None else factors for factors in found])[None]


def arranged(op: Builder, value: Value, have: Axes, want: Axes) -> Value:
    """A value with other axes: those of 1 put in or taken away (a batch of 1 as well), the others in another order."""
    if have == want:
        return value
    kept = [name for name in have if name in want and name != "one"]
    gone = [axis for axis, name in enumerate(have) if name not in kept]
    if gone:
        value = op.Squeeze(value, op.const(gone))
    order = [name for name in want if name in kept]
    if order != kept:
        value = op.Transpose(value, perm=[kept.index(name) for name in order])
    new = [axis for axis, name in enumerate(want) if name not in kept]
    return op.Unsqueeze(value, op.const(new)) if new else value


@dataclass
class _Operator:
    """The operator's inputs outside of it, and what it takes over from the loop."""

    op: Builder
    found: Found
    outside: Outside
    x: Value
    weights: Weights
    initial: list[Value | None] = field(default_factory=list)
    lengths: Value | None = None

    @property
    def dtype(self) -> DType:
        return self.x.tensor.dtype or DType.FLOAT32

    @property
    def hidden(self) -> int:
        return self.found.states[0].width

    def call(self, op: Builder, x: Value, initial: Sequence[Value | None], lengths: Value | None) -> list[Value]:
        """Y [time, 1, batch, hidden], and the last states [1, batch, hidden]."""
        cell, found = self.found.cell, self.found
        constants = [op.const(array, self.dtype) for array in (self.weights.w, self.weights.r)]
        bias = op.const(self.weights.b, self.dtype) if self.weights.b.any() else None
        peepholes = None if self.weights.p is None else op.const(self.weights.p, self.dtype)
        parameters = [parameters for _, parameters in cell.functions]
        reverse = next(iter(found.sequences.values())).reverse
        made = op.call(
            cell.kind,
            x,
            *constants,
            bias,
            lengths,
            *initial,
            *([peepholes] if peepholes is not None else []),
            _outputs=1 + len(found.states),
            hidden_size=self.hidden,
            direction="reverse" if reverse else "forward",
            activations=[name for name, _ in cell.functions],
            activation_alpha=[given[0] for given in parameters if given] or None,
            activation_beta=[given[1] for given in parameters if len(given) > 1] or None,
            clip=cell.clip,
            linear_before_reset=1 if cell.linear_before_reset else None,
        )
        return list(made)

    def results(self, op: Builder, x: Value, initial: Sequence[Value | None], lengths: Value | None) -> list[Value]:
        """As `call`; but a sequence of no steps leaves its state as it was, where runtimes give zeros."""
        every, *states = self.call(op, x, initial, lengths)
        if lengths is None or all(value is None for value in initial):
            return [every, *states]
        some = op.Unsqueeze(op.Greater(lengths, op.const(0, DType.INT32)), op.const([0, 2]))
        kept = [
            state if before is None else op.Where(some, state, before)
            for state, before in zip(states, initial, strict=True)
        ]
        return [every, *kept]

    def built(self) -> list[Value]:
        """Y and the last states, whatever the sizes."""
        given = [value for value in (self.x, *self.initial, self.lengths) if value is not None]
        sizes = self.x.tensor.shape or (None, None, None)
        if all(isinstance(size, int) and size > 0 for size in sizes[:2]):
            return self.results(self.op, self.x, self.initial, self.lengths)
        then, otherwise = self.op.region("some"), self.op.region("none")
        results: list[list[Value]] = []
        for region in (then, otherwise):
            twins = {value: region.input(value.name, value.type) for value in dict.fromkeys(given)}
            x, *initial, lengths = (
                None if value is None else twins[value] for value in (self.x, *self.initial, self.lengths)
            )
            assert x is not None
            if region is then:
                made = self.results(region, x, initial, lengths)
            else:
                made = self.empty(region, x, initial)
            region.graph.outputs = made
            results.append(made)
        some = self.op.Greater(self.op.Size(self.x), self.op.const(0, DType.INT64))
        types = [value.type for value in results[0]]
        return list(self.op.branch(some, list(dict.fromkeys(given)), then.graph, otherwise.graph, types))

    def empty(self, op: Builder, x: Value, initial: Sequence[Value | None]) -> list[Value]:
        """The results where there are no steps, or there is no batch, which runtimes' operators don't stand."""
        zero, ways, hidden = op.const(0.0, self.dtype), op.const([1]), op.const([self.hidden])
        time, batch = op.Shape(x, start=0, end=1), op.Shape(x, start=1, end=2)
        one = op.Concat(ways, batch, hidden, axis=0)
        y = op.Expand(zero, op.Concat(time, one, axis=0))
        return [y, *(op.Expand(zero if value is None else value, one) for value in initial)]


def built(op: Builder, found: Found, outside: Outside) -> dict[Value, Value]:
    """What stands for each result of the loop that is wanted.

    Raises:
        NotRecurrent: the batches aren't certain to be the same.
    """
    sequences = list(found.sequences.items())
    widths: dict[str, int] = {}
    batches: set[Size] = set()
    for name, taken in sequences:
        shape, feature = taken.value.tensor.shape, taken.axes.index("feature")
        width = shape[feature] if shape is not None else None
        assert isinstance(width, int)
        widths[name] = width
        batches.add(outside.size(taken.value, taken.axes.index("batch")) if "batch" in taken.axes else 1)
    if len(batches) > 1:
        raise NotRecurrent("it isn't certain that its inputs have one batch")
    (batch,) = batches
    states = [_initial(state, batch, outside) for state in found.states]
    constants = weights(found, widths)
    # nothing is built before this line: all that can be wrong is known
    parts = [arranged(op, taken.value, taken.axes, _X) for _, taken in sequences]
    x = parts[0] if len(parts) == 1 else op.Concat(*parts, axis=2)
    operator = _Operator(op, found, outside, x, constants)
    for state, (value, expanded) in zip(found.states, states, strict=True):
        if value is not None:
            value = arranged(op, value, state.axes, _STATE)
        if value is not None and expanded:
            value = op.Expand(value, op.Concat(op.const([1]), op.Shape(x, start=1, end=2), op.const([1]), axis=0))
        operator.initial.append(value)
    if found.lengths is not None:
        operator.lengths = _lengths(op, found.lengths, x)
    made = operator.built()
    return _results(op, found, made)


def _initial(state: State, batch: Size, outside: Outside) -> tuple[Value | None, bool]:
    """The first value of a state, None for zeros, and whether it may have to be made as large as the batch.

    Raises:
        NotRecurrent: it is of another batch.
    """
    value = state.entry.outside
    assert value is not None
    if ("batch" in state.axes) != (batch != 1):
        raise NotRecurrent("it isn't certain that its input and its state have one batch")
    own = outside.size(value, state.axes.index("batch")) if "batch" in state.axes else 1
    if isinstance(own, int) and isinstance(batch, int) and own not in (1, batch):
        raise NotRecurrent("its input and its state have different batches")
    if own in (1, batch) and outside.is_zero(value):
        return None, False
    return value, own != batch


def _lengths(op: Builder, lengths: Value, x: Value) -> Value:
    """[batch], int32, none of them longer than there are steps (nor negative, which runtimes refuse)."""
    if lengths.rank != 1:
        lengths = op.Reshape(lengths, op.const([-1]))
    if lengths.tensor.dtype is not DType.INT64:
        lengths = op.Cast(lengths, to=ENUMS[DType.INT64])
    most = op.Max(op.Min(lengths, op.Shape(x, start=0, end=1)), op.const([0]))
    return op.Cast(most, to=ENUMS[DType.INT32])


def _results(op: Builder, found: Found, made: Sequence[Value]) -> dict[Value, Value]:
    results: dict[Value, Value] = {}
    for state, last in zip(found.states, made[1:], strict=True):
        if state.entry.result is not None:
            results[state.entry.result] = arranged(op, last, _STATE, state.axes)
    reverse = next(iter(found.sequences.values())).reverse
    for entry, axes in found.every:
        slot = entry.slot
        assert isinstance(slot, Stacked) and entry.result is not None
        place = slot.axis % (len(axes) + 1)
        every = made[0]
        if slot.reverse != reverse:  # the operator gives steps in the order of its input
            every = op.Slice(every, op.const([-1]), op.const([_LAST]), op.const([0]), op.const([-1]))
        results[entry.result] = arranged(op, every, _Y, (*axes[:place], "time", *axes[place:]))
    return results
