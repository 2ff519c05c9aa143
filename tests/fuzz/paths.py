"""What becomes of one model on the ways to other formats and back, run in each format's own runtime."""

from __future__ import annotations

import importlib
import os
import random
import re
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from backedge.convert import convert
from backedge.convert.conversion_report import ConversionReport
from backedge.convert.files import load, to_hub
from backedge.convert.format import format_of
from backedge.convert.hlo.lowering.unentered import LOADED_ONLY
from backedge.passes.errors import BackedgeError, InvalidModel, Unsupported
from backedge.passes.graph import Graph
from onnx.reference import ReferenceEvaluator

from .judging import (
    DIFFERENT,
    EXECUTOR,
    EXPLAINED,
    FINDINGS,
    FINE,
    REFUSED,
    UNKNOWN,
    UNLOADED,
    UNREAD,
    WRONG,
    Cases,
    Event,
    is_demanded,
    judged,
    told,
    unwrapped,
)
from .maker import OPSETS
from .running import CRASHED, Feed, Ours, Outputs, Run, run_file, run_in, run_made
from .truths import JUDGES, Truth, settle, sharpen, sizes, truth_of

TARGETS: dict[str, dict[str, Any]] = {
    "opset": {"to": "made.onnx"},
    "ir": {"to": "made.xml"},
    "hlo": {"to": "made.hlo"},
    "stablehlo": {"to": "made.mlir"},
    "mdf": {"to": "made.json", "mdf_style": "function"},
    "stateful": {"to": "made.json", "mdf_style": "stateful"},
}
"""What `convert` is told, by the path's name."""

UNREADABLE = {"ir": ("ONNX has no access to the bytes of strings", "ONNX can't make strings of bytes")}
"""Why files that are written in a format aren't read back; a limit that is documented."""

NARROWED = "float64 is computed in float32"
"""A note of files that are only as exact as that."""


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


def _limit() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (6 << 30, 6 << 30))
    os.environ["BACKEDGE_FORK"] = os.environ.get("BACKEDGE_FORK", "1")


def _kind(error: Exception, refused: str = REFUSED) -> str:
    """What can't be expressed is refused; a model that ran isn't invalid, and nothing else may be raised."""
    return refused if isinstance(error, Unsupported) else CRASHED


@dataclass(slots=True)
class Subject:
    """A model that is examined, and what is known of it."""

    job: Job
    source: Path
    names: list[str]
    hub: Graph
    truth: Truth


def examine(job: Job) -> Iterator[Event]:
    """All that is seen, path by path; before each an event of no kind tells what is begun."""
    _limit()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = Path(name) / "source.onnx"
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
            yield Event("source", UNREAD if isinstance(error, BackedgeError) else CRASHED, told(error))
            return
        ours = Ours(hub)
        runs["executor"] = run_in(ours, job.feeds)
        truth, events = truth_of(runs, source, job.feeds, stated)
        truth.ran = ours.ran
        kinds: set[str] = set()
        for event in events:
            settled = settle(event, hub, job.feeds[event.feed], truth, source)
            if event.kind == EXECUTOR and settled.kind == EXPLAINED:
                truth.values[event.feed] = None
            if settled.kind not in kinds or settled.kind not in FINDINGS:  # one of each kind, as of files
                yield settled
            kinds.add(settled.kind)
        if all(one is None for one in truth.values):
            why = {who: run.refused or next(filter(None, run.errors), "other values") for who, run in runs.items()}
            yield Event("source", UNKNOWN, "; ".join(f"{who}: {text[:200]}" for who, text in why.items()))
        sharpen(truth, hub, job.feeds, stated)
        subject = Subject(job, source, names, hub, truth)
        for path in job.paths:
            yield Event(path, "")
            yield from _there(path, subject, source.with_name(path))


def ordered(path: str, opset: int | None, feed: Feed) -> tuple[str, dict[str, Any]]:
    """The name of the file that is made on a path, and what `convert` is told: the sizes of a feed where all must be
    known."""
    options = dict(TARGETS[path])
    name = options.pop("to")
    if path == "opset":
        options["opset"] = opset
    if path in ("hlo", "stateful"):
        options["shapes"] = {given: list(shape) for given, shape in sizes(feed).items()}
    return name, options


def _kind(error: Exception, refused: str = REFUSED) -> str:
    """What can't be expressed is refused; a model that ran isn't invalid, and nothing else may be raised."""
    return refused if isinstance(error, Unsupported) else CRASHED


def _there(path: str, subject: Subject, folder: Path) -> Iterator[Event]:
    """To the format of a path, whose file is run, read and run by the executor, verified, and taken back."""
    job, truth = subject.job, subject.truth
    dice = random.Random(f"{job.seed} {path}")
    opset = (job.opset or dice.choice(OPSETS)) if path == "opset" else None
    asked = dice.random() < job.verdicts
    proof = dice.random() < 0.5
    cases = truth.cases(job.feeds)
    feed = cases.feeds[0] if cases.feeds else job.feeds[0]
    name, options = ordered(path, opset, feed)
    if "shapes" in options:
        cases = cases.only([n for n, one in enumerate(cases.feeds) if sizes(one) == sizes(feed)])
    folder.mkdir()
    made = folder / name
    try:
        report = convert(subject.source, made, verify=0, **options)
    except Exception as error:
        text = told(error)
        ran = set[str]().union(*(truth.ran[k] for k in cases.places))
        never_run = isinstance(error, InvalidModel) and ran.isdisjoint(re.findall(r"'([^']*)'", text))
        yield Event(path, UNKNOWN if never_run else _kind(error), text)
        return
    narrowed = any(NARROWED in note for note in report.notes)
    bad = ""
    if path != "mdf":
        yield Event(path, "")
        run, cases = _run(path, made, subject, cases, report)
        for event in judged(path, run, cases):
            bad = event.kind
            yield event
        cases = cases.only([n for n, error in enumerate(run.errors) if not is_demanded(path, error)])
    try:
        own = Ours(to_hub(load(made)))
    except Exception as error:
        is_limit = path == "stateful" or any(reason in str(error) for reason in UNREADABLE.get(path, ()))
        kind = _kind(error, REFUSED if is_limit else UNLOADED) if cases.feeds else UNKNOWN  # what no feed runs
        yield Event(path, kind, f"our own reader: {told(error)}")
        return
    taken = cases.only([n for n, k in enumerate(cases.places) if truth.ours[k]])
    run = run_in(own, taken.feeds)
    run.coarse |= narrowed
    for event in judged(path, run, taken, "executor on the file: "):
        bad = bad or event.kind
        yield Event(path, EXECUTOR if event.kind != WRONG else event.kind, event.text, event.feed)
    if asked or bad == WRONG:
        yield Event(f"verdict on {path}", "")
        yield from _verdict(path, subject, made, options, bad, proof and bad != WRONG)
    yield Event(f"{path}, back", "")
    yield from _back(path, subject, made, cases, dice.choice((None, 17, 21, 25)), narrowed)
    if not bad:
        yield Event(path, FINE)


def _run(path: str, made: Path, subject: Subject, cases: Cases, report: ConversionReport) -> tuple[Run, Cases]:
    """What the format's runtime gives of a file that was made, and the cases with what that is known for."""
    entry = format_of(made)
    if entry.runtime == "onnxruntime":
        run = run_made(made, subject.source, cases.feeds, subject.names)
        if run.refused and not subject.truth.loads:
            run = Run([None] * len(cases.feeds), ["fault: neither does it load the model"] * len(cases.feeds))
    else:
        more = entry.run_options(subject.hub) if path == "stateful" and entry.run_options is not None else {}
        run = run_file(entry.runtime, made, cases.feeds, subject.names, **more)
        if any(LOADED_ONLY in note for note in report.notes):
            run.errors = ["fault: sizes that it isn't loaded with" if error else "" for error in run.errors]
    return run, cases.with_habits(entry.runtime, subject.hub, made, run)


def _is_slow(report: Any) -> bool:
    """Whether nothing differs, and what is made has no answer only because that takes longer than these few seconds."""
    failing = [trial for trial in report.verification.trials if trial.status == "only-a"]
    ends = {answer.status for trial in failing for answer in trial.b}
    return report.verification.first is None and bool(failing) and ends <= {"ok", "timeout"}


def _verdict(
    path: str, subject: Subject, made: Path, options: dict[str, Any], bad: str, proof: bool
) -> Iterator[Event]:
    """What `convert` itself says of it."""
    again = made.with_stem("again")
    try:
        report = convert(subject.source, again, verify=subject.job.trials, proof=proof, timeout=5, **options)
    except Exception as error:
        yield Event(path, CRASHED, f"verifying: {told(error)}")
        return
    if bad:
        yield Event(path, f"verdict of {bad}", report.verdict, verdict=report.verdict)
    elif report.verdict == "different" and _is_slow(report):
        yield Event(path, "verdict too slow", report.reason, verdict="different")
    elif report.verdict == "different":
        yield Event(path, DIFFERENT, report.reason or report.refusal, verdict="different")
    else:
        yield Event(path, f"verdict {report.verdict}", verdict=report.verdict)


def _back(path: str, subject: Subject, made: Path, cases: Cases, opset: int | None, narrowed: bool) -> Iterator[Event]:
    """From there to ONNX, and run in ONNX Runtime, if that loads the model itself; `narrowed`: see `NARROWED`.

    What is right on the way there is so here, too: what is read of a file does what its runtime does.
    """
    back = made.with_name("back.onnx")
    where = f"{path}, back"
    try:
        convert(made, back, verify=0, opset=opset)
    except Exception as error:
        yield Event(where, _kind(error), told(error))
        return
    run = run_made(back, subject.source, cases.feeds, subject.names)
    run.coarse |= narrowed
    if path == "mdf":  # which has lists, and no optionals
        run.outputs = [one and _without_lists(one, right) for one, right in zip(run.outputs, cases.wanted, strict=True)]
    if run.refused and not subject.truth.loads:
        return
    yield from judged(where, run, cases.with_habits("onnxruntime", subject.hub, back, run))


def _without_lists(outputs: Outputs, wanted: Outputs) -> Outputs:
    """The outputs, and the one element of a list where a tensor is wanted."""
    return [
        one[0] if isinstance(one, list) and len(one) == 1 and not isinstance(unwrapped(right), list) else one
        for one, right in zip(outputs, wanted, strict=True)
    ]
