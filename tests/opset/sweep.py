"""Every recorded model of onnx's releases at other opsets: how many arrive right, and why the others are refused.

PYTHONPATH=tests python -m opset.sweep [--targets 28,25,21,18,13,9] [--back] [--open] [--match TEXT] [--every N]

With --back every model goes to the newest opset, down to the target, and up again; with --open no sizes are
declared.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from corpus.wheel import Recorded

from .judge import NEWEST, judge
from .reasons import reason_of
from .releases import BUILDS, GENERATED, unique

TARGETS = (28, 25, 21, 18, 13, 9)
_SECONDS = 120
_BYTES = 8 << 30


def _work(connection: Connection, targets: Sequence[int], back: bool, open_sizes: bool) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)  # runtimes write there what they then raise, too
    with tempfile.TemporaryDirectory() as folder:
        while True:
            try:
                case, avoided = connection.recv()
            except EOFError:
                return
            try:
                found = judge(case, targets, Path(folder), avoided, back, open_sizes)
            except Exception as error:
                found = {"by": [], "error": f"{type(error).__name__}: {error}"[:300]}
            connection.send(found)


class _Worker:
    """A process that judges; one that a runtime kills is made anew, and that runtime isn't asked again."""

    def __init__(self, context: Any, *options: Any) -> None:
        self._context, self._options = context, options
        self.where, self.case = "", None
        self.avoided: list[str] = []
        self._start()

    def _start(self) -> None:
        self.connection, other = self._context.Pipe()
        self._process = self._context.Process(target=_work, args=(other, *self._options), daemon=True)
        self._process.start()
        other.close()

    def give(self, where: str, case: Recorded) -> None:
        self.where, self.case, self.avoided = where, case, []
        self.connection.send((case, self.avoided))

    def answer(self) -> dict[str, Any] | None:
        """What it found; None where it died and tries once more."""
        try:
            return self.connection.recv()
        except EOFError:
            return self.again()

    def again(self) -> dict[str, Any] | None:
        self._process.kill()
        self._process.join()
        self._start()
        if self.avoided:
            return {"by": [], "error": "dies whatever runs it"}
        self.avoided = ["onnxruntime"]
        self.connection.send((self.case, self.avoided))
        return None


def sweep(
    cases: Iterator[tuple[str, Recorded]],
    targets: Sequence[int],
    workers: int = 2,
    back: bool = False,
    open_sizes: bool = False,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, what `judge` found) of each model, as they come."""
    context = multiprocessing.get_context("spawn")
    pool = [_Worker(context, targets, back, open_sizes) for _ in range(workers)]
    busy = [worker for worker in pool if _next(worker, cases)]
    while busy:
        ready = wait([worker.connection for worker in busy], _SECONDS)
        for worker in list(busy):
            if worker.connection in ready:
                found = worker.answer()
            elif not ready:
                found = worker.again()
            else:
                continue
            if found is None:
                continue
            yield worker.where, found
            if not _next(worker, cases):
                busy.remove(worker)


def _next(worker: _Worker, cases: Iterator[tuple[str, Recorded]]) -> bool:
    entry = next(cases, None)
    if entry is not None:
        worker.give(*entry)
    return entry is not None


def verifiable(found: dict[str, Any], target: int, back: bool = False) -> bool:
    """Whether a runtime is right about the original, the target is another opset, and has the model's types."""
    opset = NEWEST if back else found.get("opset", target)
    if back and "opset" not in found:
        return False
    if not found["by"] or opset == target:
        return False
    return opset < target or (found["needs"] <= target)


def rows(
    results: dict[str, dict[str, Any]], target: int, direction: str, back: bool = False
) -> dict[str, dict[str, Any]]:
    """The verifiable models that go "up" or "down" to a target (or "back" from there)."""
    return {
        where: found
        for where, found in results.items()
        if verifiable(found, target, back) and (back or (found["opset"] < target) is (direction == "up"))
    }


def tables(results: dict[str, dict[str, Any]], targets: Sequence[int], back: bool = False) -> Iterator[str]:
    """The figures, line by line."""
    for target in targets:
        for direction in ("back",) if back else ("up", "down"):
            chosen = rows(results, target, direction, back)
            if not chosen or (target < 25 and direction == "up"):
                continue
            verdicts = {where: found[str(target)] for where, found in chosen.items()}
            counts = Counter(verdict for verdict, _ in verdicts.values())
            control = Counter(verdicts[where][0] for where, found in chosen.items() if found["control"])
            by = Counter(what for verdict, what in verdicts.values() if verdict == "right")
            share = 100 * counts["right"] / len(chosen)
            yield f"{direction} {target}: {counts['right']} of {len(chosen)} right ({share:.2f} %), {dict(counts)}"
            yield f"    Loop, Scan, If: {dict(control)}; right by {dict(by)}"
            reasons = Counter(reason_of(what) for verdict, what in verdicts.values() if verdict == "refused")
            for reason, count in reasons.most_common():
                yield f"    {count:5} {reason}"
            for where, (verdict, what) in verdicts.items():
                if verdict not in ("right", "refused"):
                    yield f"    {verdict}: {where}: {what}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", default=",".join(map(str, TARGETS)))
    parser.add_argument("--match", default="")
    parser.add_argument("--releases", default=",".join([*BUILDS, GENERATED]))
    parser.add_argument("--back", action="store_true")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    targets = [int(target) for target in options.targets.split(",")]
    chosen = [entry for entry in unique(options.releases.split(",")) if options.match in entry[0]][:: options.every]
    results: dict[str, dict[str, Any]] = {}
    for where, found in sweep(iter(chosen), targets, options.workers, options.back, options.open):
        results[where] = found
        if sys.stderr.isatty() or len(results) % 500 == 0:
            print(f"\r{len(results)} of {len(chosen)}", end="\n" if len(results) % 500 == 0 else "", file=sys.stderr)
    print(f"{len(results)} models, {sum(bool(found['by']) for found in results.values())} verifiable")
    for line in tables(results, targets, options.back):
        print(line)
    if options.out:
        options.out.write_text(json.dumps(results, indent=0))


if __name__ == "__main__":
    main()
