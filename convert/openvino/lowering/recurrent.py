"""Hub -> OpenVINO: LSTM, GRU and RNN to their sequences.

OpenVINO wants the batch first, adds the two biases up beforehand and orders LSTM's gates f, i, c, o. Its CPU runtime
leaves the last states of a sequence without steps unwritten, and disregards the lengths of sequences where the batch
or the number of steps is open: these are written out as a loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, flag, required, size_of_axis
from ....passes.rewrite import Builder, collect, rule, view
from ....passes.structure.recurrent import Found
from .functions import by_function
from .tools import concat, i64, number, size_of, slice_axis, transpose

_ACTIVATIONS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_KNOWN = ("relu", "sigmoid", "tanh")


def _hidden(node: Node, recurrence: Value) -> int:
    hidden = size_of_axis(recurrence, 2) or node.attributes.get("hidden_size")
    if not hidden:
        raise Unsupported(node, "the hidden size isn't known")
    return int(hidden)


def _attributes(node: Node, hidden: int) -> dict[str, Any] | None:
    """The attributes of OpenVINO's sequence; None where it can't express it."""
    direction = node.attributes.get("direction", "forward")
    directions = 2 if direction == "bidirectional" else 1
    names = [name.lower() for name in node.attributes.get("activations") or _ACTIVATIONS[node.op_type] * directions]
    each = len(names) // directions
    peepholes = node.input(7)
    if peepholes is not None and (peepholes.data is None or peepholes.data.numpy().any()):
        return None
    if names[:each] * directions != names or not set(names) <= set(_KNOWN) or flag(node, "input_forget"):
        return None
    return {
        "direction": direction,
        "hidden_size": hidden,
        "activations": names[:each],
        "activations_alpha": [],
        "activations_beta": [],
        "clip": float(node.attributes.get("clip", 0.0)),
    }


def _gates(op: Builder, weights: Value, hidden: int, chosen: list[int], count: int = 0) -> Value:
    """The blocks of `hidden` rows along axis 1 in an order; `count`: how many there are, all of them chosen as they
    stand being the weights themselves."""
    if chosen == list(range(count)):
        return weights
    return concat(op, [slice_axis(op, weights, at * hidden, (at + 1) * hidden, axis=1) for at in chosen], 1)


def _biases(op: Builder, node: Node, recurrence: Value, hidden: int, order: list[int], apart: int | None) -> Value:
    """The sums of the two biases; those of gate `apart` one after the other at the end."""
    bias, count = node.input(3), len(order)
    if bias is None:
        rows = count + (apart is not None)
        zeros = np.zeros((size_of_axis(recurrence, 0) or 1, rows * hidden))
        return op.const(zeros, dtype_of(node, recurrence))
    ours, theirs = (
        slice_axis(op, bias, 0, count * hidden, axis=1),
        slice_axis(op, bias, count * hidden, 2 * count * hidden, axis=1),
    )
    if apart is None:
        return _gates(op, op.Add(ours, theirs), hidden, order, count)
    summed = [gate for gate in order if gate != apart]
    both = _gates(op, op.Add(ours, theirs), hidden, summed)
    return concat(op, [both, _gates(op, ours, hidden, [apart]), _gates(op, theirs, hidden, [apart])], 1)


def _of_sizes(op: Builder, weights: Value, sizes: list[int]) -> Value:
    """Weights with the sizes that they must have: OpenVINO's CPU doesn't load sequences with weights of open ones."""
    known = weights.tensor.static_shape is not None
    return weights if known else op.Reshape(weights, i64(op, sizes), special_zero=False)


def _by_loop(op: Builder, node: Node, hidden: int) -> list[Value] | None:
    """What the operator is made of, with the sizes that its weights must have; None where they are known anyway."""
    directions = 2 if node.attributes.get("direction") == "bidirectional" else 1
    rows = _GATES[node.op_type] * hidden
    width = size_of_axis(required(node, 0), 2) or -1
    sizes = {1: [rows, width], 2: [rows, hidden], 3: [2 * rows], 7: [3 * hidden]}
    told = list(node.inputs)
    for index, each in sizes.items():
        weights = node.input(index)
        if weights is not None:
            told[index] = _of_sizes(op, weights, [directions, *each])
    return None if told == node.inputs else by_function(op, view(node, told))


def _of_nothing(op: Builder, node: Node, hidden: int) -> list[Value]:
    """What sequences are that have no step, or of which there are none: zeros, or nothing. OpenVINO's CPU doesn't load
    or run them."""
    x, first = required(node, 0), flag(node, "layout")
    length, batch = (size_of(op, node, x, axis) for axis in ((1, 0) if first else (0, 1)))
    directions = i64(op, [2 if node.attributes.get("direction") == "bidirectional" else 1])
    width, zero = i64(op, [hidden]), number(op, node, 0, x)
    every = [batch, length, directions, width] if first else [length, directions, batch, width]
    last = [batch, directions, width] if first else [directions, batch, width]
    return [op.Broadcast(zero, concat(op, sizes)) for sizes in (every, last, last)][: len(node.outputs)]


@rule("", "LSTM", "GRU", "RNN")
def recurrent(op: Builder, node: Node) -> list[Value] | None:
    x, weights, recurrence = (required(node, index) for index in range(3))
    kind = node.op_type
    hidden = _hidden(node, recurrence)
    if 0 in (size_of_axis(x, 0), size_of_axis(x, 1)):
        return _of_nothing(op, node, hidden)
    attributes = _attributes(node, hidden)
    disregarded = node.input(4) is not None and x.tensor.static_shape is None  # by OpenVINO's CPU: the lengths
    if attributes is None or disregarded:
        return _by_loop(op, node, hidden)
    batch_first = flag(node, "layout")
    swap = [0, 1, 2] if batch_first else [1, 0, 2]
    linear = kind == "GRU" and flag(node, "linear_before_reset")
    if kind == "GRU":
        attributes["linear_before_reset"] = linear

    data = transpose(op, x, swap)
    batch, length = size_of(op, node, data, 0), size_of(op, node, data, 1)
    directions = 2 if attributes["direction"] == "bidirectional" else 1
    empty, zero = op.Concat(batch, i64(op, [directions, hidden]), axis=0), number(op, node, 0, x)
    states = []
    for index in (5, 6) if kind == "LSTM" else (5,):
        state = node.input(index)
        if state is None:
            states.append(op.Broadcast(zero, empty))
        else:
            states.append(transpose(op, state, swap))
    lengths = node.input(4)
    if lengths is None:
        lengths = op.Broadcast(length, batch)

    rows = _GATES[kind] * hidden
    weights = _of_sizes(op, weights, [directions, rows, size_of_axis(x, 2) or -1])
    recurrence = _of_sizes(op, recurrence, [directions, rows, hidden])
    order = [2, 0, 3, 1] if kind == "LSTM" else list(range(_GATES[kind]))
    made = op.call(
        f"{kind}Sequence",
        data,
        *states,
        lengths,
        _gates(op, weights, hidden, order, len(order)),
        _gates(op, recurrence, hidden, order, len(order)),
        _biases(op, node, recurrence, hidden, order, 2 if linear else None),
        _outputs=1 + len(states),
        **attributes,
    )
    every = transpose(op, made[0], [0, 2, 1, 3] if batch_first else [2, 1, 0, 3])
    lasts = made[1:]
    if size_of_axis(data, 1) is None:
        # without a step OpenVINO's CPU leaves them as memory was; ONNX Runtime gives 0
        some = op.Greater(length, i64(op, [0]))
        lasts = [op.Select(some, last, zero) for last in lasts]
    return [every, *(transpose(op, last, swap) for last in lasts)][: len(node.outputs)]


def objection(found: Found) -> str | None:
    """Why a loop that is a recurrence had better stay one: OpenVINO has no sequence for it."""
    cell = found.cell
    if not {name.lower() for name, _ in cell.functions} <= set(_KNOWN):
        return "OpenVINO's sequences have Relu, Sigmoid and Tanh only"
    if any(gate.peephole is not None for gate in cell.gates):
        return "OpenVINO's sequences have no peepholes"
    if found.lengths is not None and not found.is_fixed:
        return "OpenVINO's CPU ignores the lengths of sequences where the batch or the number of steps is dynamic"
    return None


RULES = collect(globals())
