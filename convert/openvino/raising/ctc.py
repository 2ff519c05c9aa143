"""Connectionist temporal classification (CTC): decoding and loss; and beams followed back (GatherTree)."""

from __future__ import annotations

import math

import numpy as np

from ....passes.build import Expr, arange, concat, expr, loop, where
from ....passes.build.values import pad
from ....passes.graph import Node, Value
from ....passes.loop import Captured, Carried, Sliced, Stacked
from ....passes.preconditions import input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, element_type, in_wider_type, operand, scalar, vector


def _before(x: Expr, first: int) -> Expr:
    """[batch, time] one step later, beginning with `first`."""
    return expr(x.op, pad(x.op, x.value(), [0, 1], [0, 0], first))[:, :-1]


def _changed(x: Expr) -> Expr:
    """Where [batch, time] isn't what it was one step before; numbers from 0 on."""
    return ~x.equals(_before(x, -1))


def _before_length(x: Expr, lengths: Value) -> Expr:
    """Where the time of [batch, time] is less than the length."""
    return arange(x.op, x.size(1)) < vector(x.op, lengths)[:, None]


def _compacted(x: Expr, keep: Expr, fill: Expr | int) -> tuple[Expr, Expr]:
    """What is kept of each line of [batch, time] moved to its front, `fill` behind it; how many there are [batch]."""
    kept, time = keep.cast(DType.INT64), x.size(1)
    indices = where(keep, kept.cumsum(1) - 1, time)  # the rest goes behind the end
    lines = x.like(fill).broadcast_to(x.size(0), time + 1)
    return lines.call("ScatterElements", indices, x, axis=1)[:, :-1], kept.sum(1)


def _decoded(best: Expr, inside: Expr, blank: Expr, merge: bool) -> tuple[Expr, Expr]:
    """The classes that are no blanks and, with `merge`, no repetitions, in front; how many there are."""
    keep = inside & ~best.equals(blank)
    return _compacted(best, keep & _changed(best) if merge else keep, -1)


def _blank(op: Builder, value: Value | None, x: Expr) -> Expr:
    """The class that stands for nothing: the one named, or the last one."""
    return (x.size(2) - 1).reshape() if value is None else scalar(op, value, DType.INT64)


@rule(DOMAIN, "CTCGreedyDecoder")
def greedy_decoder(op: Builder, node: Node) -> Results:
    """CTCGreedyDecoder-1: [time, batch, classes]; a line ends where its mask is 0, the last class is the blank."""
    x, mask = operand(op, node, 0), operand(op, node, 1)
    best = in_wider_type(x).call("ArgMax", axis=2, keepdims=0).transpose(1, 0)
    inside = mask.transpose(1, 0).equals(0).cast(DType.INT64).cumsum(1).equals(0)
    found, _ = _decoded(best, inside, _blank(op, None, x), bool(node.attributes.get("ctc_merge_repeated", True)))
    return found.unsqueeze(2, 3).cast(x.dtype).value()


@rule(DOMAIN, "CTCGreedyDecoderSeqLen")
def greedy_decoder_lengths(op: Builder, node: Node) -> Results:
    """CTCGreedyDecoderSeqLen-6: [batch, time, classes] and the length of each line."""
    x, lengths = operand(op, node), input_of(node, 1)
    best = in_wider_type(x).call("ArgMax", axis=2, keepdims=0)
    merge = bool(node.attributes.get("merge_repeated", True))
    found = _decoded(best, _before_length(best, lengths), _blank(op, node.input(2), x), merge)
    types = (element_type(node, name, "i32") for name in ("classes_index_type", "sequence_length_type"))
    return [one.cast(dtype or DType.INT32).value() for one, dtype in zip(found, types, strict=True)]


# the loss ------------------------------------------------------------------------------------------


def _target(node: Node, labels: Expr, lengths: Value, blank: Expr) -> tuple[Expr, Expr]:
    """The labels that count, blanks behind them; how many there are."""
    keep = _before_length(labels, lengths)
    if node.attributes.get("unique", False):
        indices = arange(labels.op, labels.size(1))
        same = labels[:, None].equals(labels[:, :, None])
        seen = (same & (indices < indices[:, None])).cast(DType.INT64).max(2)
        keep = keep & seen.equals(0)
    elif node.attributes.get("preprocess_collapse_repeated", False):
        keep = keep & _changed(labels)
    return _compacted(labels, keep, blank)


def _log_sum(parts: Expr, axis: int) -> Expr:
    """log(sum(exp(parts))) along an axis, also where all of them are -inf."""
    most = parts.max(axis, keepdims=True)
    most = where(most.call("IsInf"), 0, most)
    return ((parts - most).exp().sum(axis, keepdims=True).log() + most).squeeze(axis)


@rule(DOMAIN, "CTCLoss")
def loss(op: Builder, node: Node) -> Results:
    """CTCLoss-4: minus the logarithm of the probability of all paths that give the labels.

    The states are the labels with a blank before, between and behind them. A loop over time has the logarithm of the
    probability of each state: reached from itself, from the one before, or past a blank from the one before that.
    """
    logits, times, lengths = operand(op, node), input_of(node, 1), input_of(node, 3)
    dtype, logits = logits.dtype, in_wider_type(logits)
    blank = _blank(op, node.input(4), logits)
    labels, counts = _target(node, operand(op, node, 2, DType.INT64), lengths, blank)
    column = labels[:, :, None]
    pairs = concat(op, [blank.broadcast_to(column.sizes()), column], 2).reshape(labels.size(0), labels.size(1) * 2)
    states = pairs.call("Pad", np.array([0, 0, 0, 1]), blank)  # blank, label, blank, label ... blank
    merge = bool(node.attributes.get("ctc_merge_repeated", True))
    stays = None if merge else states.equals(blank)  # None: in any state
    # past the state between: not from a blank, and not to the same label if repetitions are merged
    two_before = _before(_before(states, -1), -1)
    leaps = ~(two_before.equals(blank) | two_before.equals(-1))
    if merge:
        leaps = leaps & ~two_before.equals(states)
    final = _walked(logits, times, states, leaps, stays)
    last, indices = (counts * 2)[:, None], arange(op, states.size(1))
    ends = (indices <= last) & (indices >= last - 1)
    return (-_log_sum(where(ends, final, -math.inf), 1)).cast(dtype).value()


def _walked(logits: Expr, times: Value, states: Expr, leaps: Expr, stays: Expr | None) -> Expr:
    """The logarithm of the probability of being in each state [batch, states] when a line's time is over."""
    op = logits.op
    index = states[:, None].broadcast_to(states.size(0), logits.size(1), states.size(1))
    chances = logits.call("LogSoftmax", axis=2).call("GatherElements", index, axis=2)
    first = arange(op, states.size(1)).equals(0)
    start = where(first, logits.like(0), -math.inf).broadcast_to(states.sizes())
    running = arange(op, logits.size(1)) < vector(op, times)[:, None]  # [batch, time]

    def step(now: Expr, chance: Expr, runs: Expr, leaps: Expr, stays: Expr | None = None) -> list[Expr]:
        behind = expr(now.op, pad(now.op, now.value(), [0, 2], [0, 0], -math.inf))
        own = now if stays is None else where(stays, now, -math.inf)
        ways = [own, behind[:, 1:-1], where(leaps, behind[:, 0:-2], -math.inf)]
        reached = _log_sum(concat(now.op, [way[None] for way in ways]), 0)
        return [where(runs[:, None], reached + chance, now)]

    rules = [leaps] if stays is None else [leaps, stays]
    slots = [Carried(), Sliced(axis=1), Sliced(axis=1), *(Captured() for _ in rules)]
    return loop(op, slots, [start, chances, running, *rules], step, name="time")[0]


# beams ---------------------------------------------------------------------------------------------


@rule(DOMAIN, "GatherTree")
def gather_tree(op: Builder, node: Node) -> Results:
    """GatherTree-1: [time, batch, beams] followed back from the last step to the first, parent by parent.

    Behind a line's length, and behind its first end token, stand end tokens.
    """
    ids, parents, lengths = operand(op, node), operand(op, node, 1, DType.INT64), input_of(node, 2)
    end = scalar(op, input_of(node, 3), ids.dtype)
    inside = arange(op, ids.size(0))[:, None] < vector(op, lengths)  # [time, batch]
    start = arange(op, ids.size(2)).broadcast_to(ids.size(1), ids.size(2))

    def step(beam: Expr, identity: Expr, parent: Expr, counts: Expr, token: Expr) -> list[Expr]:
        found, above = (each.call("GatherElements", beam, axis=1) for each in (identity, parent))
        here = counts[:, None]
        return [where(here, above, beam), where(here, found, token)]

    backwards = Sliced(start=-1, end=0, stride=-1)
    slots = (Carried(), backwards, backwards, backwards, Captured(), Stacked(reverse=True))
    _, path = loop(op, slots, [start, ids, parents, inside, end], step, name="time")
    ended = path.equals(end).cast(DType.INT32).cumsum(0, exclusive=True) > 0
    return where(ended, end, path).value()


RULES = collect(globals())
