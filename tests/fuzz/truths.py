"""What a model gives: results that runtimes agree on, how far rounding may carry them, and whose fault others are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.passes.graph import Graph
from backedge.passes.protos import type_from_proto
from backedge.runtime.compare.interface import fits
from trust.judge import ROUNDING, nudged

from .inexact import MOST, largest, noises
from .judging import DOUBT, EXECUTOR, EXPLAINED, THEIRS, Cases, Event, Noisy, apart, shown
from .running import SECONDS, Feed, Outputs, Run, TooSlow, run_file, time_limit
from .settle import ROUNDS, TooLong, opset_of, settled

JUDGES: dict[str, dict[str, Any]] = {"onnxruntime": {"level": "disable_all", "seconds": 3}, "reference": {}}
"""The runtimes that say what a model gives, beside our executor, and how they are asked."""


@dataclass(slots=True)
class Truth:
    """What the model gives on each feed, None where nobody knows; how far rounding may carry."""

    values: list[Outputs | None]
    slack: list[float]
    theirs: list[Outputs | None]
    """What ONNX Runtime gives, which then is right for ONNX files, too."""
    ours: list[bool]
    """Whether our executor takes the feed: what it refuses of the model it refuses of every file."""
    loads: bool
    """Whether ONNX Runtime loads the model: what it refuses of that it may refuse of every other ONNX file."""
    ran: list[set[str]] = field(default_factory=list)
    """The first results of the nodes that each feed comes to."""

    def cases(self, feeds: Sequence[Feed]) -> Cases:
        """The feeds, which are those of the model, of which it is known."""
        known = [k for k, one in enumerate(self.values) if one is not None]
        return Cases(list(feeds), [*range(len(feeds))], self.values, self.slack, self.theirs).only(known)  # type: ignore[arg-type]


def truth_of(
    runs: Mapping[str, Run], path: Path, feeds: Sequence[Feed], stated: Sequence[onnx.ValueInfoProto]
) -> tuple[Truth, list[Event]]:
    """What two of ONNX Runtime, onnx's reference and our executor agree on, if the sizes are those that are stated."""
    found = [_of_feed(k, runs, path, feeds, stated) for k in range(len(feeds))]
    theirs, ours = runs["onnxruntime"], runs["executor"]
    taken = [outputs is not None for outputs in ours.outputs]
    truth = Truth([one[0] for one in found], [one[1] for one in found], theirs.outputs, taken, not theirs.refused)
    return truth, [event for one in found for event in one[2]]


def _of_feed(
    k: int, runs: Mapping[str, Run], path: Path, feeds: Sequence[Feed], stated: Sequence[onnx.ValueInfoProto]
) -> tuple[Outputs | None, float, list[Event]]:
    """What is right of one feed, if that is known, how far rounding may carry it, and what speaks against it."""
    theirs, reference, ours = runs["onnxruntime"], runs["reference"], runs["executor"]
    given = {name: outputs for name, run in runs.items() if (outputs := run.outputs[k]) is not None}
    if not theirs.refused and theirs.errors[k] and not theirs.errors[k].startswith("fault"):
        given = {}  # inputs that the model isn't for
    if ours.errors[k].startswith("fault: "):
        given = {}  # what it gives isn't defined, or takes too long
    if "onnxruntime" in given and not as_declared(stated, given["onnxruntime"]):
        given = {}
    noise = _noise(path, feeds[k], [value.name for value in stated], given.get("onnxruntime")) if given else 0.0
    limit = max(ROUNDING, 4 * noise)
    order = [given[name] for name in ("onnxruntime", "reference", "executor") if name in given]
    agreed = next((one for one, other in combinations(order, 2) if apart(one, other) <= limit), None)
    mine = given.get("executor")
    if agreed is not None and mine is not None and apart(agreed, mine) <= limit:
        agreed = mine  # the most exact of them: runtimes may lie on either side of it
    resized = sizes(feeds[k]) != sizes(feeds[0])  # to such as needn't go together
    events: list[Event] = []
    if ours.outputs[k] is None and "reference" not in given:
        if given and not resized:  # else what ONNX Runtime doesn't check isn't valid yet
            events.append(Event("source", EXECUTOR, ours.errors[k] or ours.refused, k))
        given, agreed = {}, None
    if agreed is None and "onnxruntime" in given and "reference" not in given and np.isfinite(noise):
        refused = reference.errors[k] and not reference.errors[k].startswith("fault:")
        if refused and resized:
            given = {}  # which the two didn't look at
        elif mine is not None:  # one of the two is wrong
            events.append(Event("source", DOUBT, shown(given["onnxruntime"], mine), k))
        elif not refused:
            agreed = given["onnxruntime"]  # else two of three refuse the inputs
    if agreed is None or not np.isfinite(noise):
        return None, limit, events
    if ours.outputs[k] is None:
        if resized:
            return None, limit, events  # what runtimes don't check isn't valid yet
        events.append(Event("source", EXECUTOR, ours.errors[k] or ours.refused, k))
    elif apart(agreed, ours.outputs[k]) > limit:
        events.append(Event("source", EXECUTOR, shown(agreed, ours.outputs[k]), k))
    if "onnxruntime" in given and apart(agreed, given["onnxruntime"]) > limit:
        events.append(Event("source", THEIRS, f"onnxruntime: {shown(agreed, given['onnxruntime'])}", k))
    return agreed, limit, events


def sizes(feed: Feed) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(v) for name, v in feed.items() if not isinstance(v, list) and v is not None}


def _noise(path: Path, feed: Feed, names: list[str], mine: Outputs | None) -> float:
    """How far the neighbours of the inputs carry the outputs."""
    if mine is None or not any(isinstance(v, np.ndarray) and v.dtype.kind == "f" for v in feed.values()):
        return 0.0
    moved = run_file("onnxruntime", path, [nudged(feed, seed) for seed in range(2)], names, **JUDGES["onnxruntime"])
    return max((apart(mine, one) for one in moved.outputs if one is not None), default=0.0)


def as_declared(stated: Sequence[onnx.ValueInfoProto], outputs: Outputs) -> bool:
    """Whether results have the ranks and sizes that the model states of them."""
    return all(fits(type_from_proto(value.type), found) for value, found in zip(stated, outputs, strict=True))


_NARROWER = 2.0**29
"""Units of float64 in the last place that are one of float32."""


def _noisy(noise: float, value: Any) -> Any:
    """The value, with a limit of its own where its `noise` is too large for that of all outputs; none at all beyond
    `MOST`, in units of float32 if it is a float64."""
    if noise <= MOST:
        return value
    is_wide = not isinstance(value, list) and np.asarray(value).dtype == np.float64
    return Noisy(value, 4 * noise if is_wide and noise <= MOST * _NARROWER else np.inf)


def sharpen(truth: Truth, hub: Graph, feeds: Sequence[Feed], stated: Sequence[onnx.ValueInfoProto]) -> None:
    """Give each output the limit that is its own, by the rounding of all operators; and leave out what has other sizes
    than are stated, and where rounding decides."""
    for k, right in enumerate(truth.values):
        if right is None:
            continue
        if not as_declared(stated, right):
            truth.values[k] = None  # a shape that follows from such sizes isn't the one that is stated
            continue
        noise = noises(hub, feeds[k], right, apart, always=truth.theirs[k] is None)
        truth.slack[k] = max(truth.slack[k], 4 * largest(noise))
        own = [_noisy(one, value) for one, value in zip(noise, right, strict=True)]
        truth.values[k] = None if np.isinf(noise).any() else own


def settle(event: Event, hub: Graph, feed: Feed, truth: Truth, source: Path) -> Event:
    """The event with the operators that differ; as explained, if they and what follows of them are all of it.

    What two runtimes give in the same way isn't held to be one's fault: then only rounding explains it.
    """
    theirs = truth.theirs[event.feed]
    if theirs is None:
        return event
    try:
        with time_limit(4 * SECONDS):
            found = settled(hub, feed, opset_of(source))
    except (TooLong, TooSlow):
        return event
    if found.refused:
        return Event(event.path, EXPLAINED, f"refused elsewhere, too, or not defined: {event.text}", event.feed)
    agreed = event.kind == EXECUTOR and truth.values[event.feed] is not None
    known = [line for line in found.known if not line.endswith(ROUNDS)] if agreed else []
    faults, noise = dict.fromkeys([*found.unknown, *known]), max(noises(hub, feed, theirs, apart, always=True))
    if faults and (found.unknown or not np.isinf(noise)):
        return replace(event, text=f"{event.text[:200]}; {'; '.join(faults)}")
    if found.unsized and not agreed:
        return Event(event.path, EXPLAINED, "sizes of what is stacked over no passes", event.feed)
    distance = apart(theirs, found.outputs)
    if distance > truth.slack[event.feed] and distance > 4 * noise:
        return replace(event, text=f"{event.text}; not by operators alone")
    return Event(event.path, EXPLAINED, "; ".join(dict.fromkeys(found.known)) or "rounding", event.feed)
