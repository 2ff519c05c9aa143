"""Connectionist temporal classification (CTC): decoding and loss; and beams followed back (GatherTree)."""

from __future__ import annotations

import math

from ....passes.graph import Node, Value
from ....passes.loop import Captured, Carried, Sliced, Stacked
from ....passes.preconditions import dtype_of, given
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from .support import (
    Results,
    cast,
    concatenated,
    dimension,
    element_type,
    number,
    reckoned,
    scalar,
    shape_of,
    steps,
    vector,
    widened,
)


def _before(op: Builder, x: Value, first: int) -> Value:
    """[batch, time] one step later, beginning with `first`."""
    later = op.Pad(x, op.const([0, 1, 0, 0]), op.const(first))
    return op.Slice(later, op.const([0]), op.const([-1]), op.const([1]))


def _unlike_before(op: Builder, x: Value) -> Value:
    """Where [batch, time] isn't what it was one step before; numbers from 0 on."""
    return op.Not(op.Equal(x, _before(op, x, -1)))


def _within(op: Builder, x: Value, lengths: Value) -> Value:
    """Where the time of [batch, time] is less than the length."""
    return op.Less(steps(op, dimension(op, x, 1)), op.Unsqueeze(vector(op, lengths), op.const([1])))


def _compacted(op: Builder, x: Value, keep: Value, fill: Value) -> tuple[Value, Value]:
    """What is kept of each line of [batch, time] moved to its front, `fill` behind it; how many there are [batch]."""
    kept = cast(op, keep, DType.INT64)
    time = dimension(op, x, 1)
    places = op.Where(keep, op.Sub(op.CumSum(kept, op.const(1)), op.const(1)), time)  # the rest goes behind the end
    lines = op.Expand(fill, concatenated(op, [dimension(op, x, 0), reckoned(op, "Add", time, op.const([1]))]))
    moved = op.Slice(op.ScatterElements(lines, places, x, axis=1), op.const([0]), op.const([-1]), op.const([1]))
    return moved, op.ReduceSum(kept, op.const([1]), keepdims=0)


def _last_class(op: Builder, x: Value) -> Value:
    return scalar(op, reckoned(op, "Sub", dimension(op, x, 2), op.const([1])))


def _decoded(op: Builder, best: Value, inside: Value, blank: Value, merge: bool) -> tuple[Value, Value]:
    """The classes that are no blanks and, with `merge`, no repetitions, in front; how many there are."""
    keep = op.And(inside, op.Not(op.Equal(best, blank)))
    if merge:
        keep = op.And(keep, _unlike_before(op, best))
    return _compacted(op, best, keep, op.const(-1))


@rule(DOMAIN, "CTCGreedyDecoder")
def greedy_decoder(op: Builder, node: Node) -> Results:
    """CTCGreedyDecoder-1: [time, batch, classes]; a line ends where its mask is 0, the last class is the blank."""
    x, mask = given(node, 0), given(node, 1)
    best = op.Transpose(op.ArgMax(widened(op, x), axis=2, keepdims=0), perm=[1, 0])
    ended = cast(op, op.Equal(op.Transpose(mask, perm=[1, 0]), number(op, 0, mask)), DType.INT64)
    inside = op.Equal(op.CumSum(ended, op.const(1)), op.const(0))
    merge = bool(node.attributes.get("ctc_merge_repeated", True))
    found, _ = _decoded(op, best, inside, _last_class(op, x), merge)
    return cast(op, op.Unsqueeze(found, op.const([2, 3])), dtype_of(node, x))


@rule(DOMAIN, "CTCGreedyDecoderSeqLen")
def greedy_decoder_lengths(op: Builder, node: Node) -> Results:
    """CTCGreedyDecoderSeqLen-6: [batch, time, classes] and the length of each line."""
    x, lengths, blank = given(node, 0), given(node, 1), node.input(2)
    best = op.ArgMax(widened(op, x), axis=2, keepdims=0)
    blank = _last_class(op, x) if blank is None else scalar(op, blank, DType.INT64)
    merge = bool(node.attributes.get("merge_repeated", True))
    found, count = _decoded(op, best, _within(op, best, lengths), blank, merge)
    types = (element_type(node, name, "i32") for name in ("classes_index_type", "sequence_length_type"))
    return [cast(op, value, dtype or DType.INT32) for value, dtype in zip((found, count), types, strict=True)]


# the loss ------------------------------------------------------------------------------------------


def _target(op: Builder, node: Node, labels: Value, lengths: Value, blank: Value) -> tuple[Value, Value]:
    """The labels that count, blanks behind them; how many there are."""
    inside = _within(op, labels, lengths)
    if node.attributes.get("unique", False):
        places = steps(op, dimension(op, labels, 1))
        earlier = op.Less(places, op.Unsqueeze(places, op.const([1])))
        same = op.Equal(op.Unsqueeze(labels, op.const([1])), op.Unsqueeze(labels, op.const([2])))
        seen = op.ReduceMax(cast(op, op.And(same, earlier), DType.INT64), op.const([2]), keepdims=0)
        keep = op.And(inside, op.Equal(seen, op.const(0)))
    elif node.attributes.get("preprocess_collapse_repeated", False):
        keep = op.And(inside, _unlike_before(op, labels))
    else:
        keep = inside
    return _compacted(op, labels, keep, blank)


def _log_sum(op: Builder, parts: Value, axis: int) -> Value:
    """log(sum(exp(parts))) along an axis, also where all of them are -inf."""
    most = op.ReduceMax(parts, op.const([axis]), keepdims=1)
    most = op.Where(op.IsInf(most), number(op, 0, parts), most)
    total = op.ReduceSum(op.Exp(op.Sub(parts, most)), op.const([axis]), keepdims=1)
    return op.Squeeze(op.Add(op.Log(total), most), op.const([axis]))


@rule(DOMAIN, "CTCLoss")
def loss(op: Builder, node: Node) -> Results:
    """CTCLoss-4: minus the logarithm of the probability of all paths that give the labels.

    The states are the labels with a blank before, between and behind them. A loop over time has the logarithm of the
    probability of each state: reached from itself, from the one before, or past a blank from the one before that.
    """
    logits, times, labels, lengths = (given(node, index) for index in range(4))
    dtype, blank = dtype_of(node, logits), node.input(4)
    logits = widened(op, logits)
    blank = _last_class(op, logits) if blank is None else scalar(op, blank, DType.INT64)
    labels, counts = _target(op, node, cast(op, labels, DType.INT64), lengths, blank)
    column = op.Unsqueeze(labels, op.const([2]))
    blanks = op.Expand(blank, shape_of(op, column))
    length = reckoned(op, "Mul", dimension(op, labels, 1), op.const([2]))
    pairs = op.Reshape(
        op.Concat(blanks, column, axis=2), concatenated(op, [dimension(op, labels, 0), length]), allowzero=1
    )
    states = op.Pad(pairs, op.const([0, 0, 0, 1]), blank)  # blank, label, blank, label ... blank
    merge = bool(node.attributes.get("ctc_merge_repeated", True))
    stays = None if merge else op.Equal(states, blank)  # None: in any state
    # past the state between: not from a blank, and not to the same label if repetitions are merged
    two_before = _before(op, _before(op, states, -1), -1)
    leaps = op.Not(op.Or(op.Equal(two_before, blank), op.Equal(two_before, op.const(-1))))
    if merge:
        leaps = op.And(leaps, op.Not(op.Equal(two_before, states)))
    final = _walked(op, logits, times, states, leaps, stays)
    last = op.Unsqueeze(op.Mul(counts, op.const(2)), op.const([1]))
    places = steps(op, dimension(op, states, 1))
    ends = op.And(op.LessOrEqual(places, last), op.GreaterOrEqual(places, op.Sub(last, op.const(1))))
    return cast(op, op.Neg(_log_sum(op, op.Where(ends, final, number(op, -math.inf, final)), 1)), dtype)


def _walked(op: Builder, logits: Value, times: Value, states: Value, leaps: Value, stays: Value | None) -> Value:
    """The logarithm of the probability of being in each state [batch, states] when a line's time is over."""
    chances = op.LogSoftmax(logits, axis=2)
    classes = concatenated(op, [dimension(op, states, 0), dimension(op, logits, 1), dimension(op, states, 1)])
    chances = op.GatherElements(chances, op.Expand(op.Unsqueeze(states, op.const([1])), classes), axis=2)
    none = number(op, -math.inf, logits)
    first = op.Equal(steps(op, dimension(op, states, 1)), op.const(0))
    start = op.Expand(op.Where(first, number(op, 0, logits), none), shape_of(op, states))
    going = op.Unsqueeze(vector(op, times), op.const([1]))
    running = op.Less(steps(op, dimension(op, logits, 1)), going)  # [batch, time]
    body = op.region("time")
    now = body.input("reached", start.type)
    chance = body.input("chance", TensorType(logits.tensor.dtype, states.tensor.shape))
    runs = body.input("runs", TensorType(DType.BOOL, (running.tensor.shape or (None,))[:1]))
    rules = [leaps] if stays is None else [leaps, stays]
    may = [body.input(name, value.type) for name, value in zip(("leaps", "stays"), rules, strict=False)]
    nowhere = number(body, -math.inf, logits)
    behind = body.Pad(now, body.const([0, 2, 0, 0]), nowhere)
    one, two = (body.Slice(behind, body.const([2 - by]), body.const([-by]), body.const([1])) for by in (1, 2))
    ways = [now if stays is None else body.Where(may[1], now, nowhere), one, body.Where(may[0], two, nowhere)]
    reached = _log_sum(body, body.Concat(*(body.Unsqueeze(way, body.const([0])) for way in ways), axis=0), 0)
    onward = body.Where(body.Unsqueeze(runs, body.const([1])), body.Add(reached, chance), now)
    body.graph.outputs = [onward]
    slots = [Carried(), Sliced(axis=1), Sliced(axis=1), *(Captured() for _ in rules)]
    return op.loop(None, None, slots, [start, chances, running, *rules], body.graph, [start.type])[0]


# beams ---------------------------------------------------------------------------------------------


@rule(DOMAIN, "GatherTree")
def gather_tree(op: Builder, node: Node) -> Results:
    """GatherTree-1: [time, batch, beams] followed back from the last step to the first, parent by parent.

    Behind a line's length, and behind its first end token, stand end tokens.
    """
    ids, parents, lengths, end = (given(node, index) for index in range(4))
    dtype = dtype_of(node, ids)
    end = scalar(op, end, dtype)
    times = steps(op, dimension(op, ids, 0))
    inside = op.Less(op.Unsqueeze(times, op.const([1])), vector(op, lengths))  # [time, batch]
    beams = concatenated(op, [dimension(op, ids, 1), dimension(op, ids, 2)])
    start = op.Expand(steps(op, dimension(op, ids, 2)), beams)
    shape = ids.tensor.shape or (None, None, None)
    body = op.region("time")
    beam = body.input("beam", start.type)
    each = [body.input("id", TensorType(dtype, shape[1:])), body.input("parent", TensorType(DType.INT64, shape[1:]))]
    counts = body.input("inside", TensorType(DType.BOOL, shape[1:2]))
    token = body.input("end", end.type)
    here = body.Unsqueeze(counts, body.const([1]))
    found, above = (body.GatherElements(value, beam, axis=1) for value in each)
    body.graph.outputs = [body.Where(here, above, beam), body.Where(here, found, token)]
    backwards = Sliced(start=-1, end=0, stride=-1)
    slots = (Carried(), backwards, backwards, backwards, Captured(), Stacked(reverse=True))
    outside = [start, ids, cast(op, parents, DType.INT64), inside, end]
    _, path = op.loop(None, None, slots, outside, body.graph, [start.type, ids.type])
    ended = op.CumSum(cast(op, op.Equal(path, end), DType.INT32), op.const(0), exclusive=1)
    return op.Where(op.Greater(ended, op.const(0, DType.INT32)), end, path)


RULES = collect(globals())
