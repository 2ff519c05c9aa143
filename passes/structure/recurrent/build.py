"""A recognised recurrence as the operator, with what its inputs and outputs need around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...graph import Value
from ...loop import Entry, Stacked
from ...protos import ENUMS
from ...rewrite import Builder
from ...types import DType, Type
from .algebra import NotRecurrent, Source
from .cells import Gate
from .loop_invariants import LoopInvariants, Size
from .match import Found
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
class _Given:
    """The values an `_Operator` is made of, in the graph where it stands or in a region of that.

    Attributes:
        x: [time, batch, inputs].
        initial: the first states, [1, batch, hidden]; None: zeros.
        firsts: what each wanted last state is where there are no steps, like `initial`.
        lengths: [batch], as the loop has them.
    """

    x: Value
    initial: list[Value | None]
    firsts: list[Value | None]
    lengths: Value | None

    @property
    def all(self) -> list[Value]:
        values = (self.x, *self.initial, *self.firsts, self.lengths)
        return list(dict.fromkeys(value for value in values if value is not None))

    def inside(self, op: Builder) -> _Given:
        """The same as inputs of a region."""
        twins: dict[Value | None, Value | None] = {value: op.input(value.name, value.type) for value in self.all}
        twins[None] = None
        x = twins[self.x]
        assert x is not None
        return _Given(
            x, [twins[value] for value in self.initial], [twins[value] for value in self.firsts], twins[self.lengths]
        )


@dataclass
class _Operator:
    """The operator of a recurrence."""

    found: Found
    weights: Weights
    dtype: DType

    def built(self, op: Builder, given: _Given) -> list[Value]:
        """Y [time, 1, batch, hidden] and the wanted last states [1, batch, hidden], whatever the sizes."""
        sizes = given.x.tensor.shape or (None, None, None)
        if all(isinstance(size, int) and size > 0 for size in sizes[:2]):
            return self._results(op, given)
        then, otherwise = op.region("some"), op.region("none")
        then.graph.outputs = self._results(then, given.inside(then))
        types = [value.type for value in then.graph.outputs]
        otherwise.graph.outputs = self._empty(otherwise, given.inside(otherwise), types)
        some = op.Greater(op.Size(given.x), op.const(0, DType.INT64))
        return list(op.branch(some, given.all, then.graph, otherwise.graph, types))

    def _results(self, op: Builder, given: _Given) -> list[Value]:
        if given.lengths is None:
            every, *states = self._call(op, given, None)
            return [every, *(states[last.index] for last in self.found.lasts)]
        lengths = given.lengths if given.lengths.rank == 1 else op.Reshape(given.lengths, op.const([-1]))
        if lengths.tensor.shape != (given.x.tensor.shape or ())[1:2] or None in (lengths.tensor.shape or ()):
            lengths = op.Expand(lengths, op.Shape(given.x, start=1, end=2))
        if lengths.tensor.dtype is not DType.INT64:
            lengths = op.Cast(lengths, to=ENUMS[DType.INT64])
        zero, steps = op.const(0), op.Shape(given.x, start=0, end=1)
        bounded = op.Max(op.Min(lengths, steps), zero)  # runtimes refuse any other
        every, *states = self._call(op, given, op.Cast(bounded, to=ENUMS[DType.INT32]))
        made = [every]
        for last, first in zip(self.found.lasts, given.firsts, strict=True):
            # runtimes give zeros for sequences of no steps
            some = op.Equal(lengths, bounded) if last.kept else op.Greater(lengths, zero)
            if last.kept:
                some = op.And(some, op.Greater(lengths, zero))
            before = op.const(0.0, self.dtype) if first is None else first
            made.append(op.Where(op.Unsqueeze(some, op.const([0, 2])), states[last.index], before))
        return made

    def _call(self, op: Builder, given: _Given, lengths: Value | None) -> list[Value]:
        cell, found = self.found.cell, self.found
        constants = [op.const(array, self.dtype) for array in (self.weights.w, self.weights.r)]
        bias = op.const(self.weights.b, self.dtype) if self.weights.b.any() else None
        peepholes = None if self.weights.p is None else op.const(self.weights.p, self.dtype)
        parameters = [parameters for _, parameters in cell.functions]
        made = op.call(
            cell.kind,
            given.x,
            *constants,
            bias,
            lengths,
            *given.initial,
            *([] if peepholes is None else [peepholes]),
            _outputs=1 + len(found.states),
            hidden_size=found.states[0].width,
            direction="reverse" if found.reverse else "forward",
            activations=[name for name, _ in cell.functions],
            activation_alpha=[given[0] for given in parameters if given] or None,
            activation_beta=[given[1] for given in parameters if len(given) > 1] or None,
            clip=cell.clip,
            linear_before_reset=1 if cell.linear_before_reset else None,
        )
        return list(made)

    def _empty(self, op: Builder, given: _Given, types: Sequence[Type | None]) -> list[Value]:
        """The results where there are no steps, or there is no batch, which runtimes' operators don't stand."""
        zero, hidden = op.const(0.0, self.dtype), op.const([self.found.states[0].width])
        one = op.Concat(op.const([1]), op.Shape(given.x, start=1, end=2), hidden, axis=0)
        every = op.Concat(op.Shape(given.x, start=0, end=1), one, axis=0)
        results: list[tuple[Value | None, Value]] = [(None, every), *((first, one) for first in given.firsts)]
        return [
            op.Expand(zero if value is None else value, shape, _types=[type])
            for (value, shape), type in zip(results, types, strict=True)
        ]


@dataclass
class Plan:
    """All that can be wrong about an operator is known: what to build.

    `firsts`, `kept`: the first values of the states, and of those kept aside, None for zeros; and whether they may have
    to be made as large as the batch.
    """

    found: Found
    weights: Weights
    firsts: list[tuple[Value | None, bool]]
    kept: list[tuple[Value | None, bool]]


def planned(found: Found, invariants: LoopInvariants) -> Plan:
    """How to build the operator.

    Raises:
        NotRecurrent: the batches aren't certain to be the same.
    """
    widths: dict[str, int] = {}
    batches: set[Size] = set()
    for name, taken in found.sequences.items():
        shape, feature = taken.value.tensor.shape, taken.axes.index("feature")
        width = shape[feature] if shape is not None else None
        assert isinstance(width, int)
        widths[name] = width
        batches.add(invariants.size(taken.value, taken.axes.index("batch")) if "batch" in taken.axes else 1)
    if len(batches) > 1:
        raise NotRecurrent("it isn't certain that its inputs have one batch")
    (batch,) = batches
    firsts = [_first(state.entry, state.axes, batch, invariants) for state in found.states]
    kept = [_first(last.entry, last.axes, batch, invariants) for last in found.lasts]
    return Plan(found, weights(found, widths), firsts, kept)


def built(op: Builder, plan: Plan) -> dict[Value, Value]:
    """What stands for each result of the loop that is wanted."""
    found = plan.found
    parts = [arranged(op, taken.value, taken.axes, _X) for taken in found.sequences.values()]
    x = parts[0] if len(parts) == 1 else op.Concat(*parts, axis=2)

    def initial_state(value: Value | None, widened: bool, axes: Axes) -> Value | None:
        if value is None:
            return None
        value = arranged(op, value, axes, _STATE)
        if not widened:
            return value
        shape = op.Concat(op.const([1]), op.Shape(x, start=1, end=2), op.const([1]), axis=0)
        return op.Expand(value, shape)

    initial = [initial_state(*first, state.axes) for state, first in zip(found.states, plan.firsts, strict=True)]
    lasts = [
        initial_state(*first, last.axes) if last.kept else initial[last.index]
        for last, first in zip(found.lasts, plan.kept, strict=True)
    ]
    operator = _Operator(found, plan.weights, x.tensor.dtype or DType.FLOAT32)
    return _results(op, found, operator.built(op, _Given(x, initial, lasts, found.lengths)))


def _first(entry: Entry, axes: Axes, batch: Size, invariants: LoopInvariants) -> tuple[Value | None, bool]:
    """The first value of a state, None for zeros, and whether it may have to be made as large as the batch.

    Raises:
        NotRecurrent: it is of another batch.
    """
    value = entry.operand
    assert value is not None
    if ("batch" in axes) != (batch != 1):
        raise NotRecurrent("it isn't certain that its input and its state have one batch")
    own = invariants.size(value, axes.index("batch")) if "batch" in axes else 1
    if isinstance(own, int) and isinstance(batch, int) and own not in (1, batch):
        raise NotRecurrent("its input and its state have different batches")
    if own in (1, batch) and invariants.is_zero(value):
        return None, False
    return value, own != batch


def _results(op: Builder, found: Found, made: Sequence[Value]) -> dict[Value, Value]:
    results: dict[Value, Value] = {}
    for last, value in zip(found.lasts, made[1:], strict=True):
        assert last.entry.result is not None
        results[last.entry.result] = arranged(op, value, _STATE, last.axes)
    for entry, axes in found.every:
        slot = entry.slot
        assert isinstance(slot, Stacked) and entry.result is not None
        index = slot.axis % (len(axes) + 1)
        every = made[0]
        if slot.reverse != found.reverse:  # the operator gives steps in the order of its input
            every = op.Slice(every, op.const([-1]), op.const([_LAST]), op.const([0]), op.const([-1]))
        results[entry.result] = arranged(op, every, _Y, (*axes[:index], "time", *axes[index:]))
    return results
