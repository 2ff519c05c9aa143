"""Mutated files through reading, conversion and the executor: `python -m fuzz.mutants --format onnx --count 1000 --seed 0`.

(From the folder tests.) Mutant N of a seed is always the same. They are tried one after the other in a fork of this
process with limits of time and memory; where a mutant ends the fork, the next ones go on in another. What ends otherwise
than well or with an error of `passes.errors` is a finding: one of each kind is made smaller and stored in `--into`.
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

from . import messages, texts, trees
from .sample import Sample
from .seeds import SUFFIXES, seeds
from .trial import Outcome, Plan, trial, warm

FORMATS = (*SUFFIXES,)
_HANG = 30.0  # seconds without an answer
_MEMORY = 3 << 30
_REDUCING_SECONDS = 20.0
Mutate = Callable[[Sample, Random, list[Sample]], Sample]
MUTATE: dict[str, Mutate] = {
    ".onnx": messages.mutated,
    ".xml": trees.mutated_xml,
    ".hlo": texts.mutated,
    ".mlir": texts.mutated,
    ".mlirbc": lambda sample, random, others: sample.but(texts.scrambled(sample.data, random)),
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

    def add(self, outcome: Outcome, sample: Sample, plan: Plan) -> None:
        self.outcomes[outcome.status] += 1
        if outcome.status == "finding":
            self.counts[outcome.key] += 1
            self.first.setdefault(outcome.key, (sample, plan, outcome.text))


@dataclass(frozen=True)
class Mutants:
    """The mutants of a format and a seed, by number."""

    format: str
    seed: int
    corpus: list[Sample]

    def one(self, number: int) -> tuple[Sample, Plan]:
        random = Random(f"{self.format}/{self.seed}/{number}")
        sample = random.choice(self.corpus)
        alike = [
            other for other in random.sample(self.corpus, min(12, len(self.corpus))) if other.suffix == sample.suffix
        ]
        with contextlib.suppress(RecursionError):
            sample = MUTATE[sample.suffix](sample, random, alike or [sample])
        return sample, Plan.drawn(random)


def tried(mutants: Mutants, numbers: range, until: float = float("inf")) -> Findings:
    """Try mutants in forks."""
    findings = Findings()
    at = numbers.start
    while at < numbers.stop and time.monotonic() < until:
        at = _forked(mutants, range(at, numbers.stop), findings, until)
    return findings


def _forked(mutants: Mutants, numbers: range, findings: Findings, until: float) -> int:
    """Try mutants in one fork until it ends; the number of the next one."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _limit()
        for number in numbers:
            outcome = trial(*mutants.one(number))
            pickled = pickle.dumps(outcome)
            os.write(writing, len(pickled).to_bytes(4, "little") + pickled)
            if time.monotonic() > until:
                break
        os._exit(0)
    os.close(writing)
    done, ended = 0, False
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while done < len(numbers):
            ready, _, _ = select.select([pipe], [], [], _HANG)
            if not ready:
                os.kill(pid, signal.SIGKILL)
                break
            head = pipe.read(4) or b""
            if len(head) < 4:
                ended = True
                break
            outcome = pickle.loads(_exactly(pipe, int.from_bytes(head, "little")))
            if outcome.status == "finding" and outcome.key not in findings.first:
                findings.add(outcome, *mutants.one(numbers[done]))
            else:
                findings.outcomes[outcome.status] += 1
                findings.counts.update([outcome.key] if outcome.status == "finding" else [])
                findings.judged.update([outcome.key] if outcome.status == "judged" else [])
            done += 1
    _, status = os.waitpid(pid, 0)
    if done == len(numbers) or (ended and os.waitstatus_to_exitcode(status) == 0):
        return numbers[done] if done < len(numbers) else numbers.stop
    what = f"died: status {os.waitstatus_to_exitcode(status)}" if ended else "hang: no answer"
    findings.add(Outcome("finding", what), *mutants.one(numbers[done]))
    return numbers[done] + 1


def _exactly(pipe: object, length: int) -> bytes:
    found = b""
    while len(found) < length:
        part = pipe.read(length - len(found))  # type: ignore[attr-defined]
        if not part:
            return pickle.dumps(Outcome("finding", "died: cut off"))
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
    with os.fdopen(reading, "rb") as pipe:
        while len(head := pipe.read(4)) == 4:
            with contextlib.suppress(Exception):
                sample = pickle.loads(pipe.read(int.from_bytes(head, "little")))
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
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--into", type=Path, default=Path("findings"))
    given = parser.parse_args()
    warm()
    start = time.monotonic()
    mutants = Mutants(given.format, given.seed, seeds(given.format, given.seeds, Random(given.seed)))
    gc.freeze()
    print(f"{len(mutants.corpus)} files to begin with ({time.monotonic() - start:.0f} s)", flush=True)
    start = time.monotonic()
    findings = tried(mutants, range(given.count), start + 60 * given.minutes)
    seconds = time.monotonic() - start
    stored(findings, given.into, given.format, set())
    print(json.dumps({"format": given.format, "seed": given.seed, "seconds": round(seconds), **findings.outcomes}))
    for key, count in findings.counts.most_common():
        print(f"{count:5} {key}")
    for key, count in findings.judged.most_common():
        print(f"{count:5} refused by the format's own checker: {key}")
    return 1 if findings.counts else 0


if __name__ == "__main__":
    sys.exit(main())
