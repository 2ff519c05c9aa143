"""Mutated files through reading, conversion and the executor.

    python -m fuzz.mutants --format onnx --count 1000 --seed 0    (from the folder tests)

Mutant N of a seed is always the same. They are tried one after the other in a fork of this process with limits of time
and memory; where a mutant ends the fork, the next ones go on in another. What ends otherwise than well or with an error
of `passes.errors` is a finding, or judged where the format's own checker refuses the file: one of each kind is made
smaller and stored in `--into`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import pickle
import resource
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from . import bridge, messages, texts, trees
from .bridge import warm
from .lines import Lines
from .sample import Sample
from .seeds import SUFFIXES, seeds
from .trial import Outcome, Plan, trial

FORMATS = (*SUFFIXES,)
_MOST_SEEDS = 3000
_SMALLER = 0.8  # how often the smaller of two files is mutated: the largest take a hundred times as long
_HANG = 100.0  # seconds without an answer
_MEMORY = 3 << 30
_REDUCING_SECONDS = 20.0
_KEPT = ("finding", "judged")
Mutate = Callable[[Sample, Random, list[Sample]], Sample]
MUTATE: dict[str, Mutate] = {
    ".onnx": messages.mutated,
    ".xml": trees.mutated_xml,
    ".hlo": texts.mutated_hlo,
    ".mlir": bridge.mutated,
    ".mlirbc": bridge.mutated,
    **dict.fromkeys(SUFFIXES["mdf"], trees.mutated_mdf),
}
REDUCE: dict[str, Callable[[Sample], Iterator[Sample]]] = {
    ".onnx": messages.reductions,
    ".xml": trees.reductions_xml,
    ".hlo": texts.reductions,
    ".mlir": texts.reductions,
    ".mlirbc": lambda sample: iter(()),
    **dict.fromkeys(SUFFIXES["mdf"], trees.reductions_mdf),
}


@dataclass
class Findings:
    """What was found: each kind with the first mutant that showed it, and how often."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[Sample, Plan, str]] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome, made: tuple[Sample, Plan] | None) -> None:
        """Count an outcome; `made` is the mutant where it is needed."""
        self.outcomes[outcome.status] += 1
        if outcome.status in _KEPT:
            (self.judged if outcome.status == "judged" else self.counts)[outcome.key] += 1
            if made is not None:
                self.first.setdefault(outcome.key, (*made, outcome.text))


@dataclass
class Mutants:
    """The mutants of a format and a seed, by number.

    With `feedback`, one that reaches lines of the package that none before did joins those that are mutated: then a
    mutant depends on all before it.
    """

    format: str
    seed: int
    corpus: list[Sample]
    feedback: bool = False
    lines: Lines = field(default_factory=Lines)

    def one(self, number: int) -> tuple[Sample, Plan]:
        random = Random(f"{self.format}/{self.seed}/{number}")
        sample = random.choice(self.corpus)
        if random.random() < _SMALLER:
            sample = min(sample, random.choice(self.corpus), key=lambda one: one.size)
        others = [random.choice(self.corpus) for _ in range(12)]
        alike = [other for other in others if other.suffix == sample.suffix]
        with contextlib.suppress(RecursionError):
            sample = MUTATE[sample.suffix](sample, random, alike or [sample])
        return sample, Plan.drawn(random)

    def tried(self, sample: Sample, plan: Plan) -> tuple[Outcome, bool]:
        """What comes of a mutant, and whether it is worth mutating further."""
        if not self.feedback:
            return trial(sample, plan), False
        with self.lines.watched():
            outcome = trial(sample, plan)
        is_model = outcome.status == "done" or outcome.key == "3"
        return outcome, bool(self.lines.new) and is_model and len(self.corpus) < _MOST_SEEDS

    def keep(self, sample: Sample) -> None:
        self.corpus.append(sample)


def tried(mutants: Mutants, numbers: range, until: float = float("inf")) -> Findings:
    """Try mutants in forks."""
    findings = Findings()
    at = numbers.start
    while at < numbers.stop and time.monotonic() < until:
        at = _forked(mutants, range(at, numbers.stop), findings, until)
    return findings


def _forked(mutants: Mutants, numbers: range, findings: Findings, until: float, is_last_try: bool = False) -> int:
    """Try mutants in one fork until it ends; the number of the next one. Where no answer comes, the machine may be busy
    with other work: the mutant is tried once more, alone."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        with contextlib.suppress(BaseException):
            _limit()
            _in_fork(mutants, numbers, writing, until)
            os._exit(0)
        os._exit(1)
    os.close(writing)
    done = 0
    hangs = False
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while done < len(numbers):
            hangs = not select.select([pipe], [], [], _HANG)[0]
            if hangs:
                os.kill(pid, signal.SIGKILL)
                break
            head = _exactly(pipe, 4)
            if len(head) < 4:
                break
            outcome, is_kept = pickle.loads(_exactly(pipe, int.from_bytes(head, "little")))
            is_first = outcome.status in _KEPT and outcome.key not in findings.first
            made = mutants.one(numbers[done]) if is_first or is_kept else None
            findings.add(outcome, made)
            if is_kept and made is not None:
                mutants.keep(made[0])
            done += 1
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if done == len(numbers):
        return numbers.stop
    if hangs and not is_last_try:
        return _forked(mutants, numbers[done : done + 1], findings, until, is_last_try=True)
    if status or hangs:
        key = "hang: no answer" if hangs else f"died: status {status}"
        findings.add(Outcome("finding", key), mutants.one(numbers[done]))
        done += 1
    return numbers.start + done


def _in_fork(mutants: Mutants, numbers: range, pipe: int, until: float) -> None:
    for number in numbers:
        sample, plan = mutants.one(number)
        outcome, is_kept = mutants.tried(sample, plan)
        if is_kept:
            mutants.keep(sample)
        pickled = pickle.dumps((outcome, is_kept))
        os.write(pipe, len(pickled).to_bytes(4, "little") + pickled)
        if time.monotonic() > until:
            break


def _exactly(pipe: Any, length: int) -> bytes:
    """So many bytes, or fewer where the other end is closed."""
    found = b""
    while len(found) < length and (part := pipe.read(length - len(found))):
        found += part
    return found


def _limit() -> None:
    """Memory of a fork: so much more than there is mapped already."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + _MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def reduced(sample: Sample, plan: Plan, key: str) -> Sample:
    """A smaller file that shows the same, found in a fork within some seconds."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        _limit()
        until = time.monotonic() + _REDUCING_SECONDS
        smaller = True
        while smaller and time.monotonic() < until:
            smaller = False
            for candidate in REDUCE[sample.suffix](sample):
                if time.monotonic() > until:
                    break
                if candidate.size < sample.size and trial(candidate, plan).key == key:
                    sample, smaller = candidate, True
                    break
            with os.fdopen(os.dup(writing), "wb") as pipe:
                pickled = pickle.dumps(sample)
                pipe.write(len(pickled).to_bytes(4, "little") + pickled)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], 3 * _REDUCING_SECONDS)[0] and len(head := _exactly(pipe, 4)) == 4:
            sample = pickle.loads(_exactly(pipe, int.from_bytes(head, "little")))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return sample


def stored(findings: Findings, into: Path, format: str, known: set[str]) -> None:
    """One folder for each kind that isn't known yet: the file, and what happens."""
    for key, (sample, plan, text) in findings.first.items():
        if key in known:
            continue
        known.add(key)
        died = key.startswith(("died", "hang"))
        small = sample if died else reduced(sample, plan, key)
        folder = into / f"{format}-{len(known):04}"
        folder.mkdir(parents=True, exist_ok=True)
        small.stored(folder)
        (folder / "what.txt").write_text(f"{key}\n{plan}\n\n{text}\n", errors="replace")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=300, help="files that are mutated")
    parser.add_argument("--feedback", action="store_true", help="mutate further what reaches new lines; slower")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--into", type=Path, default=Path("findings"))
    given = parser.parse_args()
    warm()
    start = time.monotonic()
    mutants = Mutants(given.format, given.seed, seeds(given.format, given.seeds, Random(given.seed)), given.feedback)
    gc.freeze()
    print(f"{len(mutants.corpus)} files to begin with ({time.monotonic() - start:.0f} s)", flush=True)
    start = time.monotonic()
    findings = tried(mutants, range(given.count), start + 60 * given.minutes)
    seconds = time.monotonic() - start
    stored(findings, given.into, given.format, set())
    grown = len(mutants.corpus)
    print(
        json.dumps(
            {"format": given.format, "seed": given.seed, "seconds": round(seconds), "files": grown, **findings.outcomes}
        )
    )
    for key, count in findings.counts.most_common():
        print(f"{count:5} {key}")
    for key, count in findings.judged.most_common():
        print(f"{count:5} refused by the format's own checker: {key}")
    return 1 if findings.counts else 0


if __name__ == "__main__":
    sys.exit(main())
