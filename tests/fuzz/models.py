"""Random ONNX models on the ways to all formats and back: what differs, crashes, isn't loaded, is refused.

python -m fuzz.models --count N [--seed S] [--paths opset,ir,hlo,stablehlo,mdf,stateful] [--minutes M] [--keep DIR]
                      [--verdicts SHARE] [--opset N] [--views SHARE]

(from the folder tests). What is a finding goes to DIR as a model with its inputs, made small, and one line that says
what it shows.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import pickle
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import onnx
from trust.feeds import feeds as random_feeds
from trust.judge import in_child

from .judging import DIFFERENT, EXPLAINED, FINDINGS, UNKNOWN, Event
from .maker import VIEW_SHARE, Maker
from .paths import TARGETS, Job, examine, prepare
from .reduce import reduced
from .running import CRASHED

_PARTICULAR = re.compile(r"\b\w*_\d+\b|'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^()]*\)|-?\d+(\.\d+)?(e[-+]?\d+)?|nan|inf")
"""Names and numbers in a message."""

SILENCE = 90.0
"""Seconds until a stage counts as hanging."""

BATCH = 16
"""Models that one child process makes and examines: runtimes are set up once for them."""


@dataclass
class Found:
    """What was seen of one model."""

    seed: int
    job: Job
    events: list[Event] = field(default_factory=list)

    @property
    def findings(self) -> list[Event]:
        return [event for event in self.events if event.kind in FINDINGS]


def make(seed: int, opset: int | None = None, views: float = VIEW_SHARE) -> Job:
    """The model of a seed and its inputs: the example, and others of the same and of other sizes."""
    maker = Maker(seed, opset, views)
    model = maker.model()
    feeds = [maker.feeds(), *random_feeds([model], seed, 2, 4)]
    return Job(model.SerializeToString(), feeds, seed)


def is_valid(model: bytes) -> bool:
    """Whether ONNX's checker takes a model: what the examples say of one result needn't be what inference does."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError):
        return False
    return True


def _made(seed: int) -> Iterator[Job]:
    job = make(seed)
    if is_valid(job.model):
        yield job


def made_apart(seed: int) -> Job | None:
    """The same, made in a child process; None where that is its end, or the model isn't valid."""
    try:
        (job,) = in_child(partial(_made, seed), SILENCE, "fork")
    except (ChildProcessError, ValueError):
        return None
    return job


def examined(job: Job) -> list[Event]:
    """All events of a job, run in a child process; its death is one, too."""
    events: list[Event] = []
    last = "source"
    try:
        for event in in_child(partial(examine, job), SILENCE, "fork"):
            last = event.path
            if event.kind:
                events.append(event)
    except ChildProcessError as error:
        events.append(_death(last, error))
    return events


def _death(path: str, error: ChildProcessError) -> Event:
    ours = not path.startswith(("source in ", "verdict on "))  # these have runtimes, and limits, of their own
    return Event(path, CRASHED if ours else UNKNOWN, " ".join(map(str, error.args)))


def _in_turn(seeds: Sequence[int], drawn: Callable[[int], Job]) -> Iterator[int | Job | Event]:
    """Each seed before its model is made, its job, and then its events; of models that are valid."""
    for seed in seeds:
        yield seed
        job = drawn(seed)
        if is_valid(job.model):
            yield job
            yield from examine(job)


def _batch(seeds: list[int], drawn: Callable[[int], Job]) -> Iterator[Found]:
    """What is seen of models that one child process makes and examines; takes those that it comes to out of `seeds`.

    The one at which the child dies is examined again by itself, since others before it may be the reason.
    """
    found: Found | None = None
    try:
        for one in in_child(partial(_in_turn, tuple(seeds), drawn), SILENCE, "fork"):
            if isinstance(one, int):
                if found is not None:
                    yield found
                seeds.pop(0)
                found = None
            elif isinstance(one, Job):
                found = Found(one.seed, one)
            elif one.kind and found is not None:
                found.events.append(one)
    except ChildProcessError:
        if found is None:
            return  # the model's maker died
        found.events = examined(found.job)
    if found is not None:
        yield found


def signature(event: Event) -> str:
    """What events of one cause have in common."""
    text = _PARTICULAR.sub("#", event.text)
    return f"{event.path}: {event.kind}: {text[:160]}"


def sweep(
    seeds: Sequence[int],
    paths: Sequence[str],
    each: int = len(TARGETS),
    verdicts: float = 0.15,
    end: float = math.inf,
    opset: int | None = None,
    views: float = VIEW_SHARE,
) -> Iterator[Found]:
    prepare()

    def drawn(seed: int) -> Job:
        job = make(seed, opset, views)
        job.verdicts = verdicts
        job.paths = random.Random(seed).sample(list(paths), min(each, len(paths)))
        return job

    left = list(seeds)
    while left and time.monotonic() < end:
        batch = left[:BATCH]
        taken = len(batch)
        yield from _batch(batch, drawn)
        del left[: taken - len(batch)]


def shows(event: Event) -> Callable[[Job], bool]:
    """Whether a job, of a valid model, shows the same as an event."""

    def same(job: Job) -> bool:
        found = examined(job) if is_valid(job.model) else []
        return any((one.path, one.kind) == (event.path, event.kind) for one in found)

    return same


def keep(folder: Path, found: Found, event: Event, seconds: float = 60.0) -> None:
    """The model, made small, its inputs and a line of what they show; once for each kind of finding."""
    where = folder / re.sub(r"[^\w]+", "-", signature(event))[:80].strip("-")
    if where.exists():
        return
    where.mkdir(parents=True)
    path = event.path.partition(",")[0]
    job = replace(found.job, paths=(path,) if path in TARGETS else (), verdicts=float(event.kind == DIFFERENT))
    job = reduced(job, shows(event), seconds)
    same = [one for one in examined(job) if (one.path, one.kind) == (event.path, event.kind)]
    (where / "model.onnx").write_bytes(job.model)
    (where / "job.pickle").write_bytes(pickle.dumps(job))
    text = onnx.printer.to_text(onnx.load_model_from_string(job.model))
    feed = {name: np.asarray(v).tolist() if not isinstance(v, list) else v for name, v in job.feeds[0].items()}
    line = f"seed {found.seed}: {event.path}: {event.kind}: {(same or [event])[0].text}"
    (where / "shows.txt").write_text(f"{line}\n{text}\n{feed}\n")


def tell(found: Found, folder: Path | None) -> None:
    """A line for each finding, which goes to the folder, if there is one."""
    for event in found.findings:
        print(f"{found.seed} {event.path}: {event.kind}: {event.text[:300]}", flush=True)
        if folder:
            keep(folder, found, event)


@contextlib.contextmanager
def counted() -> Iterator[Counter[str]]:
    """Counts, which are told at the end, with how long it took; Ctrl-C is one, too."""
    counts: Counter[str] = Counter()
    start = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        yield counts
    print(f"{time.monotonic() - start:.0f} s")
    for key, count in sorted(counts.items()):
        print(f"{count:5} {key}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--paths", default=",".join(TARGETS))
    parser.add_argument("--each", type=int, default=len(TARGETS), help="so many of the paths for each model, by chance")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--verdicts", type=float, default=0.15)
    parser.add_argument("--opset", type=int)
    parser.add_argument(
        "--views", type=float, default=VIEW_SHARE, help="the share of models of views and reductions only"
    )
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    refusals: Counter[str] = Counter()
    first: dict[str, int] = {}
    end = time.monotonic() + 60 * given.minutes
    seeds = range(given.seed, given.seed + given.count)
    paths = given.paths.split(",")
    with counted() as counts:
        for found in sweep(seeds, paths, given.each, given.verdicts, end, given.opset, given.views):
            counts["models"] += 1
            for event in found.events:
                counts[f"{event.path}: {event.kind}"] += 1
                if event.kind in ("refused", UNKNOWN, EXPLAINED):
                    refusals[signature(event)] += 1
                    first.setdefault(signature(event), found.seed)
            tell(found, given.keep)
    for key, count in refusals.most_common(80):
        print(f"{count:5} {key} (first: seed {first[key]})")


if __name__ == "__main__":
    main()
