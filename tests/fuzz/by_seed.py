"""The command of programs that examine something random by its seed, each in a process of its own."""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from trust.judge import in_child

from .judging import Event

_SILENCE = 60.0
"""Seconds until a stage counts as hanging."""

_TOLD = ("wrong", "crashed", "not run", "refused", "inputs")


def main(
    description: str | None, what: str, examine: Callable[[int, Sequence[str]], Iterator[Event]], targets: Iterable[str]
) -> None:
    """Examine what the seeds make on the ways to targets; print what is wrong, and how often everything was seen.

    Args:
        what: is counted, in the plural.
        examine: all that is seen of a seed; an event of no kind tells what is begun.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", default=",".join(targets))
    parser.add_argument("--minutes", type=float, default=math.inf)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    start = time.monotonic()
    for seed in range(given.seed, given.seed + given.count):
        if time.monotonic() > start + 60 * given.minutes:
            break
        counts[what] += 1
        last = "source"
        try:
            for event in in_child(partial(examine, seed, given.targets.split(",")), _SILENCE, "fork"):
                last = event.path
                if not event.kind:
                    continue
                counts[f"{event.path}: {event.kind}"] += 1
                if event.kind in _TOLD:
                    print(f"{seed} {event.path}: {event.kind}: {event.text[:300]}", flush=True)
        except ChildProcessError as error:
            print(f"{seed} {last}: {' '.join(map(str, error.args))}", flush=True)
            counts[f"{last}: {error.args[0]}"] += 1
    for key, count in sorted(counts.items()):
        print(f"{count:5} {key}")
