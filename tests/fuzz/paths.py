"""What becomes of one model on the ways to other formats and back, run in each format's own runtime."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import random
import re
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.convert.format import format_of
from backedge.convert.hlo.lowering.unentered import LOADED_ONLY
from backedge.passes.errors import BackedgeError, InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.protos import type_from_proto
from backedge.runtime.compare.interface import fits
from backedge.runtime.compare.special import known_habit
from backedge.runtime.special_values import SpecialValues
from onnx.reference import ReferenceEvaluator
from trust.judge import ROUNDING, nudged, units

from .inexact import MOST, largest, noises
from .maker import OPSETS
from .running import (
    CRASHED,
    SECONDS,
    Feed,
    Ours,
    Outputs,
    Run,
    TooSlow,
    run_file,
    run_in,
    run_made,
    time_limit,
)
from .settle import ROUNDS, TooLong, is_narrow, opset_of, plain, settled, shown_value

TARGETS: dict[str, dict[str, Any]] = {
    "opset": {"to": "made.onnx"},
    "ir": {"to": "made.xml"},
    "hlo": {"to": "made.hlo"},
    "stablehlo": {"to": "made.mlir"},
    "mdf": {"to": "made.json", "mdf_style": "function"},
    "stateful": {"to": "made.json", "mdf_style": "stateful"},
}
"""What `convert` is told, by the path's name."""

WRONG, UNLOADED, UNRUN = "wrong", "not loaded", "not run"
EXECUTOR, DIFFERENT, UNREAD, THEIRS = "executor", "falsely different", "source refused", "runtimes disagree"
DOUBT = "executor or onnxruntime"
REFUSED, FINE, UNKNOWN, EXPLAINED = "refused", "fine", "no truth", "explained"
DEMANDED = {"stablehlo": "is 0, and has to be at least 1", "ir": "larger than the data shape after padding"}
"""What a format's files say, rather than run, where inputs aren't what the format takes; a limit that is documented."""

UNREADABLE = {"ir": ("ONNX has no access to the bytes of strings", "ONNX can't make strings of bytes")}
"""Why files that are written in a format aren't read back; a limit that is documented."""

NARROWED = "float64 is computed in float32"
"""A note of files that are only as exact as that."""

FINDINGS = (WRONG, CRASHED, UNLOADED, UNRUN, EXECUTOR, DIFFERENT, UNREAD, DOUBT, THEIRS)
"""What is a fault, of ours or of a runtime's; the most severe first."""


@dataclass(slots=True)
class Event:
    """What was seen on a path."""

    path: str
    kind: str
    text: str = ""
    feed: int = -1
    verdict: str = ""


@dataclass(slots=True)
class Job:
    """A model with its inputs, and the paths to go."""

    model: bytes
    feeds: list[Feed]
    seed: int = 0
    paths: Sequence[str] = tuple(TARGETS)
    verdicts: float = 0.15
    """Share of the paths on which `convert` is asked for its own verdict, whatever the runtimes say."""
    trials: int = 16
    opset: int | None = None
    """Of the path "opset"; drawn where it is left out."""


def prepare() -> None:
    """Import what the children will need."""
    for name in ("onnxruntime", "openvino", "xla", "mdf", "reference"):
        importlib.import_module(f"backedge.runtime.oracles.{name}_session")
    importlib.import_module("modeci_mdf.execution_engine")
    importlib.import_module("skl2onnx.algebra.onnx_ops")
    importlib.import_module("jax")
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    values = [onnx.helper.make_tensor_value_info(name, 1, [2]) for name in "xy"]
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "g", values[:1], values[1:]),
        opset_imports=[onnx.helper.make_opsetid("", 21)],
        ir_version=10,
    )
    ReferenceEvaluator(model)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:  # imports readers, writers and rules, and starts servers
        source = Path(name) / "source.onnx"
        onnx.save(model, source)
        for path, options in TARGETS.items():
            made = Path(name) / options["to"]
            more = {**{k: v for k, v in options.items() if k != "to"}, **({"opset": 13} if path == "opset" else {})}
            convert(source, made, verify=2, proof=False, **more)
            convert(made, Path(name) / "back.onnx", verify=0, force=True)


# comparing -------------------------------------------------------------------------------------------


def _step(value: Any) -> float:
    """How much coarser than float32 a value of this type is, where `units` doesn't know that."""
    array = np.asarray(value) if not isinstance(value, list) else np.zeros(0)
    if not is_narrow(array):
        return 1.0
    return 2.0 ** (16 if "bfloat16" in str(array.dtype) else 21)


_MOST = 1 << 26
"""Elements of results that are compared number by number."""


def _are_equal(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    """Part by part, since a truth value for each element may be more than there is memory for."""
    if x.shape != y.shape:
        return False
    one, other = x.reshape(-1), y.reshape(-1)
    return all(np.array_equal(one[k : k + _PART], other[k : k + _PART]) for k in range(0, x.size, _PART))


_PART = 1 << 22


@dataclass(slots=True, eq=False)
class Noisy:
    """A result so far off by rounding alone that others would be excused with it: it has a limit of its own."""

    value: Any
    limit: float


def apart(a: Outputs, b: Outputs, coarse: bool = False) -> float:
    """How far two results are apart, in units of the last place; those of `a` may be `Noisy`."""
    if len(a) != len(b):
        return np.inf
    found = 0.0
    for x, y in zip(a, b, strict=True):
        if isinstance(x, Noisy):
            distance = apart([x.value], [y], coarse)
            found = max(found, distance if distance > x.limit else 0.0)
            continue
        if isinstance(x, list) and isinstance(y, list):
            found = max(found, apart(x, y, coarse))
            continue
        if isinstance(x, np.ndarray | np.generic) and isinstance(y, np.ndarray | np.generic):
            if np.asarray(x).dtype != np.asarray(y).dtype and np.asarray(x).dtype.kind not in "OUT":
                return np.inf
            if max(np.size(x), np.size(y)) > _MOST:
                found = max(found, 0.0 if _are_equal(np.asarray(x), np.asarray(y)) else np.inf)
                continue
            if not np.size(x) and not np.size(y) and np.ndim(x) == np.ndim(y):
                continue  # what a loop without a pass stacks: nobody says which sizes the others are
            if coarse and np.asarray(x).dtype == np.float64:
                x, y = np.asarray(x).astype(np.float32), np.asarray(y).astype(np.float32)
        found = max(found, units(plain(x), plain(y)) / _step(x))
    return found


def _unwrapped(value: Any) -> Any:
    return value.value if isinstance(value, Noisy) else value


def shown(a: Outputs, b: Outputs) -> str:
    """The first of the outputs that differ, in one line."""
    for k, (x, y) in enumerate(zip(a, b, strict=False)):
        if apart([x], [y]) > ROUNDING:
            return f"output {k}: {shown_value(_unwrapped(x))} against {shown_value(y)}"
    return f"{len(a)} outputs against {len(b)}"


JUDGES: dict[str, dict[str, Any]] = {"onnxruntime": {"level": "disable_all", "seconds": 3}, "reference": {}}
"""The runtimes that say what a model gives, beside our executor, and how they are asked."""


# the truth -------------------------------------------------------------------------------------------


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


def truth_of(
    runs: Mapping[str, Run], path: Path, feeds: Sequence[Feed], stated: Sequence[onnx.ValueInfoProto]
) -> tuple[Truth, list[Event]]:
    """What two of ONNX Runtime, onnx's reference and our executor agree on, if the sizes are those that are stated."""
    names = [value.name for value in stated]
    events: list[Event] = []
    values: list[Outputs | None] = []
    slack: list[float] = []
    for k in range(len(feeds)):
        given = {name: run.outputs[k] for name, run in runs.items() if run.outputs[k] is not None}
        theirs = runs["onnxruntime"]
        if not theirs.refused and theirs.errors[k] and not theirs.errors[k].startswith("fault"):
            given = {}  # inputs that the model isn't for
        if runs["executor"].errors[k].startswith("fault: "):
            given = {}  # what it gives isn't defined, or takes too long
        if "onnxruntime" in given and not _as_declared(stated, given["onnxruntime"]):  # type: ignore[arg-type]
            given = {}
        agreed: Outputs | None = None
        noise = _noise(path, feeds[k], names, given.get("onnxruntime")) if given else 0.0
        limit = max(ROUNDING, 4 * noise)
        order = [name for name in ("onnxruntime", "reference", "executor") if name in given]
        for n, one in enumerate(order):
            for other in order[n + 1 :]:
                if agreed is None and apart(given[one], given[other]) <= limit:  # type: ignore[arg-type]
                    agreed = given[one]
        mine = given.get("executor")
        if agreed is not None and mine is not None and apart(agreed, mine) <= limit:
            agreed = mine  # the most exact of them: runtimes may lie on either side of it
        ours = runs["executor"]
        if ours.outputs[k] is None and "reference" not in given:  # what ONNX Runtime doesn't check isn't valid yet
            if given and _sizes(feeds[k]) == _sizes(feeds[0]):  # else they needn't go together
                events.append(Event("source", EXECUTOR, ours.errors[k] or ours.refused, k))
            given, agreed = {}, None
        if agreed is None and "onnxruntime" in given and "reference" not in given and np.isfinite(noise):
            refused = runs["reference"].errors[k] and not runs["reference"].errors[k].startswith("fault:")
            if refused and _sizes(feeds[k]) != _sizes(feeds[0]):
                given = {}  # sizes that needn't go together, which the two didn't look at
            elif "executor" in given:  # one of the two is wrong
                told = shown(given["onnxruntime"], given["executor"])  # type: ignore[arg-type]
                events.append(Event("source", DOUBT, told, k))
            elif not refused:
                agreed = given["onnxruntime"]  # else two of three refuse the inputs
        values.append(agreed if np.isfinite(noise) else None)
        slack.append(limit)
        if agreed is None or not np.isfinite(noise):
            continue
        if ours.outputs[k] is None and _sizes(feeds[k]) != _sizes(feeds[0]):
            values[-1] = None  # sizes that needn't go together: what runtimes don't check isn't valid yet
            continue
        if ours.outputs[k] is None:
            events.append(Event("source", EXECUTOR, ours.errors[k] or ours.refused, k))
        elif apart(agreed, ours.outputs[k]) > limit:  # type: ignore[arg-type]
            events.append(Event("source", EXECUTOR, shown(agreed, ours.outputs[k]), k))  # type: ignore[arg-type]
        theirs = given.get("onnxruntime")
        if theirs is not None and apart(agreed, theirs) > limit:
            events.append(Event("source", THEIRS, f"onnxruntime: {shown(agreed, theirs)}", k))
    taken = [outputs is not None for outputs in runs["executor"].outputs]
    return Truth(values, slack, runs["onnxruntime"].outputs, taken, not runs["onnxruntime"].refused), events


def _sizes(feed: Feed) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(v) for name, v in feed.items() if not isinstance(v, list) and v is not None}


def _noise(path: Path, feed: Feed, names: list[str], mine: Outputs | None) -> float:
    """How far the neighbours of the inputs carry the outputs."""
    if mine is None or not any(isinstance(v, np.ndarray) and v.dtype.kind == "f" for v in feed.values()):
        return 0.0
    moved = run_file("onnxruntime", path, [nudged(feed, seed) for seed in range(2)], names)
    return max((apart(mine, one) for one in moved.outputs if one is not None), default=0.0)


# the paths -------------------------------------------------------------------------------------------


def examine(job: Job) -> Iterator[Event]:
    """All that is seen, path by path; before each an event of no kind tells what is begun."""
    _limit()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        source = folder / "source.onnx"
        source.write_bytes(job.model)
        stated = onnx.load_model_from_string(job.model).graph.output
        names = [value.name for value in stated]
        runs: dict[str, Run] = {}
        for oracle, options in JUDGES.items():
            yield Event(f"source in {oracle}", "")
            runs[oracle] = run_file(oracle, source, job.feeds, names, **options)
        yield Event("source", "")
        try:
            hub = to_hub(load(source))
        except Exception as error:
            yield Event("source", UNREAD if isinstance(error, BackedgeError) else CRASHED, _told(error))
            return
        ours = Ours(hub)
        runs["executor"] = run_in(ours, job.feeds)
        truth, events = truth_of(runs, source, job.feeds, stated)
        truth.ran = ours.ran
        told_of: set[str] = set()
        for event in events:
            told = settle(event, hub, job.feeds[event.feed], truth, source)
            if event.kind == EXECUTOR and told.kind == EXPLAINED:
                truth.values[event.feed] = None
            if told.kind not in told_of or told.kind not in FINDINGS:  # one of each kind, as of files
                yield told
            told_of.add(told.kind)
        if all(one is None for one in truth.values):
            told = {who: run.refused or next(filter(None, run.errors), "other values") for who, run in runs.items()}
            yield Event("source", UNKNOWN, "; ".join(f"{who}: {why[:200]}" for who, why in told.items()))
        for k, right in enumerate(truth.values):
            if right is not None and not _as_declared(stated, right):
                truth.values[k] = right = None  # a shape that follows from such sizes isn't the one that is stated
            if right is not None:
                noise = noises(hub, job.feeds[k], right, apart, always=truth.theirs[k] is None)
                truth.slack[k] = max(truth.slack[k], 4 * largest(noise))
                own = [_noisy(one, value) for one, value in zip(noise, right, strict=True)]
                truth.values[k] = None if np.isinf(noise).any() else own  # infinite: rounding decides
        for path in job.paths:
            yield Event(path, "")
            yield from _path(path, job, source, folder / path, truth, names, hub)


def _as_declared(stated: Sequence[onnx.ValueInfoProto], outputs: Outputs) -> bool:
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


def _limit() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (6 << 30, 6 << 30))
    os.environ["BACKEDGE_FORK"] = os.environ.get("BACKEDGE_FORK", "1")


def _kind(error: Exception, refused: str = REFUSED) -> str:
    """What can't be expressed is refused; a model that ran isn't invalid, and nothing else may be raised."""
    return refused if isinstance(error, Unsupported) else CRASHED


def _told(error: Exception) -> str:
    if isinstance(error, BackedgeError):
        return f"{type(error).__name__}: {str(error)[:400]}"
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames[-4:]))
    return f"{type(error).__name__}: {str(error)[:200]} at {where}"


def ordered(path: str, opset: int | None, feed: Feed) -> tuple[str, dict[str, Any]]:
    """The name of the file that is made on a path, and what `convert` is told: the sizes of a feed where all must be
    known."""
    options = dict(TARGETS[path])
    name = options.pop("to")
    if path == "opset":
        options["opset"] = opset
    if path in ("hlo", "stateful"):
        options["shapes"] = {given: list(shape) for given, shape in _sizes(feed).items()}
    return name, options


def _path(
    path: str, job: Job, source: Path, folder: Path, truth: Truth, names: list[str], hub: Graph
) -> Iterator[Event]:
    dice = random.Random(f"{job.seed} {path}")
    opset = (job.opset or dice.choice(OPSETS)) if path == "opset" else None
    asked = dice.random() < job.verdicts
    proof = dice.random() < 0.5
    known = [k for k, one in enumerate(truth.values) if one is not None]
    feed = job.feeds[known[0] if known else 0]
    name, options = ordered(path, opset, feed)
    folder.mkdir()
    made = folder / name
    if "shapes" in options:
        known = [k for k in known if _sizes(job.feeds[k]) == _sizes(feed)]
    try:
        report = convert(source, made, verify=0, **options)
    except Exception as error:
        told = _told(error)
        ran = set[str]().union(*(truth.ran[k] for k in known))
        never_run = isinstance(error, InvalidModel) and ran.isdisjoint(re.findall(r"'([^']*)'", told))
        yield Event(path, UNKNOWN if never_run else _kind(error), told)
        return
    narrowed = any(NARROWED in note for note in report.notes)
    feeds, wanted = [job.feeds[k] for k in known], [truth.values[k] for k in known]
    limits, theirs = [truth.slack[k] for k in known], [truth.theirs[k] for k in known]
    entry = format_of(made)
    more = {}
    if path in ("mdf", "stateful") and entry.run_options is not None:
        more = dict(entry.run_options(hub))
    bad = ""
    also = theirs  # is right, too: what ONNX Runtime gives, or what the target's runtime is known to do otherwise
    if path != "mdf":
        yield Event(path, "")
        onnx_file = entry.runtime == "onnxruntime"
        run = run_made(made, source, feeds, names) if onnx_file else run_file(entry.runtime, made, feeds, names, **more)
        habits = _habits(entry.runtime, hub, made, run, feeds, wanted, limits)
        also = [own if habit is None else habit for habit, own in zip(habits, theirs, strict=True)]
        if not onnx_file:
            if any(LOADED_ONLY in note for note in report.notes):
                run.errors = ["fault: sizes that it isn't loaded with" if error else "" for error in run.errors]
        elif run.refused and not truth.loads:
            run = Run([None] * len(feeds), ["fault: neither does it load the model"] * len(feeds))
        for event in judged(path, run, feeds, wanted, limits, known, others=also):
            bad = event.kind
            yield event
        if path in DEMANDED:
            kept = [n for n, error in enumerate(run.errors) if DEMANDED[path] not in error]
            lists: list[Any] = [[one[n] for n in kept] for one in (feeds, wanted, limits, known, also)]
            feeds, wanted, limits, known, also = lists
    try:
        own = Ours(to_hub(load(made)))
    except Exception as error:
        is_limit = path == "stateful" or any(reason in str(error) for reason in UNREADABLE.get(path, ()))
        kind = _kind(error, REFUSED if is_limit else UNLOADED) if known else UNKNOWN  # what no feed runs
        yield Event(path, kind, f"our own reader: {_told(error)}")
        return
    taken = [n for n, k in enumerate(known) if truth.ours[k]]
    of_taken: list[Any] = [[one[n] for n in taken] for one in (feeds, wanted, limits, known)]
    others, run = [also[n] for n in taken], run_in(own, of_taken[0])
    run.coarse |= narrowed
    for event in judged(path, run, *of_taken, who="executor on the file: ", others=others):
        bad = bad or event.kind
        yield Event(path, EXECUTOR if event.kind != WRONG else event.kind, event.text, event.feed)
    if asked or bad == WRONG:
        yield Event(f"verdict on {path}", "")
        yield from _verdict(path, source, folder, made, options, job, bad, proof and bad != WRONG)
    yield from _back(
        path, made, source, folder, feeds, wanted, limits, known, names, dice, also, truth.loads, narrowed, hub
    )
    if not bad:
        yield Event(path, FINE)


def _habits(
    runtime: str,
    hub: Graph,
    made: Path,
    run: Run,
    feeds: Sequence[Feed],
    wanted: Sequence[Any],
    limits: Sequence[float],
) -> list[Outputs | None]:
    """What a runtime gives where it is known to have its own way with what operators are given, of the model or of the
    file that was made of it."""

    @functools.cache
    def watched() -> list[SpecialValues]:
        graphs = [hub]
        with contextlib.suppress(BackedgeError):
            graphs.append(to_hub(load(made)))
        return list(map(SpecialValues, graphs))

    def has_its_way(feed: Feed) -> bool:
        with contextlib.suppress(BackedgeError):
            return any(known_habit(run.by or runtime, seen.run(feed)) for seen in watched())
        return False

    return [
        found if found is not None and apart(right, found) > limit and has_its_way(feed) else None
        for feed, right, limit, found in zip(feeds, wanted, limits, run.outputs, strict=True)
    ]


def judged(
    path: str,
    run: Run,
    feeds: Sequence[Feed],
    wanted: Sequence[Any],
    limits: Sequence[float],
    known: Sequence[int],
    who: str = "",
    others: Sequence[Outputs | None] = (),
) -> Iterator[Event]:
    """At most one event of each kind; what `others` give is right, too."""
    if run.refused:
        if wanted:
            yield Event(path, UNLOADED, who + run.refused)
        return
    seen: set[str] = set()
    for k in range(len(feeds)):
        found = run.outputs[k]
        if found is None:
            kind, text = UNRUN, run.errors[k]
            if text.startswith(CRASHED):
                kind = CRASHED
            elif text.startswith("fault:") or run.coarse or (path in DEMANDED and DEMANDED[path] in text):
                continue
        elif apart(wanted[k], found, run.coarse) > (limits[k] if not run.coarse else 50 * limits[k]):
            kind, text = WRONG, shown(wanted[k], found)
            own = others[k] if others else None
            if own is not None and apart(own, found) <= limits[k]:
                continue
            arrays = [np.asarray(value) for value in map(_unwrapped, wanted[k]) if not isinstance(value, list)]
            long = any(
                array.dtype == np.float64 or (array.dtype.kind in "iu" and array.itemsize > 2) for array in arrays
            )
            if run.coarse and long:  # integers, too, may come of what is as coarse
                continue
        else:
            continue
        if kind not in seen:
            seen.add(kind)
            yield Event(path, kind, who + text, known[k])


def _is_slow(report: Any) -> bool:
    """Whether nothing differs, and what is made has no answer only because that takes longer than these few seconds."""
    failing = [trial for trial in report.verification.trials if trial.status == "only-a"]
    ends = {answer.status for trial in failing for answer in trial.b}
    return report.verification.first is None and bool(failing) and ends <= {"ok", "timeout"}


def _verdict(
    path: str, source: Path, folder: Path, made: Path, options: dict[str, Any], job: Job, bad: str, proof: bool
) -> Iterator[Event]:
    """What `convert` itself says of it."""
    again = folder / f"again{made.suffix}"
    try:
        report = convert(source, again, verify=job.trials, proof=proof, timeout=5, **options)
    except Exception as error:
        yield Event(path, CRASHED, f"verifying: {_told(error)}")
        return
    if bad:
        yield Event(path, f"verdict of {bad}", report.verdict, verdict=report.verdict)
    elif report.verdict == "different" and _is_slow(report):
        yield Event(path, "verdict too slow", report.reason, verdict="different")
    elif report.verdict == "different":
        yield Event(path, DIFFERENT, report.reason or report.refusal, verdict="different")
    else:
        yield Event(path, f"verdict {report.verdict}", verdict=report.verdict)


def _back(
    path: str,
    made: Path,
    source: Path,
    folder: Path,
    feeds: Sequence[Feed],
    wanted: Sequence[Any],
    limits: Sequence[float],
    known: Sequence[int],
    names: list[str],
    dice: random.Random,
    others: Sequence[Outputs | None],
    loads: bool,
    narrowed: bool,
    hub: Graph,
) -> Iterator[Event]:
    """From there to ONNX, and run in ONNX Runtime, if that `loads` the model itself; `narrowed`: see `NARROWED`.

    `others` is right, too, as on the way there: what is read of a file does what its runtime does.
    """
    back = folder / "back.onnx"
    where = f"{path}, back"
    yield Event(where, "")
    try:
        convert(made, back, verify=0, opset=dice.choice((None, 17, 21, 25)))
    except Exception as error:
        yield Event(where, _kind(error), _told(error))
        return
    run = run_made(back, source, feeds, names)
    run.coarse |= narrowed
    if path == "mdf":  # which has lists, and no optionals
        run.outputs = [one and _without_lists(one, right) for one, right in zip(run.outputs, wanted, strict=True)]
    if run.refused and not loads:
        return
    habits = _habits("onnxruntime", hub, back, run, feeds, wanted, limits)
    others = [own if habit is None else habit for habit, own in zip(habits, others, strict=True)]
    yield from judged(where, run, feeds, wanted, limits, known, others=others)


def _without_lists(outputs: Outputs, wanted: Outputs) -> Outputs:
    """The outputs, and the one element of a list where a tensor is wanted."""
    return [
        one[0] if isinstance(one, list) and len(one) == 1 and not isinstance(_unwrapped(right), list) else one
        for one, right in zip(outputs, wanted, strict=True)
    ]


__all__ = ["FINDINGS", "TARGETS", "Event", "InvalidModel", "Job", "Unsupported", "examine", "prepare"]
