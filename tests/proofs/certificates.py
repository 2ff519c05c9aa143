"""Certificates: written for every conversion that is proved, checked, and checked again after tampering with them.

python -m proofs.certificates [catalogue|cases|samples] [--to 13,ir] [--every N] [--match TEXT] [--tampered 20]
                              (from the folder tests)

Each is also shown for mutants of the original that give other results, where it must be rejected. Tampered with is what
the proof rests on: a term in the place of another, an operator, an attribute, a number, a class, an operand. A change
that leaves a valid certificate behind (it concerns nothing that the outputs depend on, or gives the same values, or a
step that is derived without it) is counted as "harmless", by what was changed: the files are equal all the same. "By
luck" are those that 16 times as many random worlds reject; the checker should have had enough of them.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import multiprocessing
import random
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import onnx
from backedge.convert import trials
from backedge.convert.check import Rejected, check
from backedge.convert.files import load, to_hub
from backedge.convert.proof import matched
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph
from backedge.passes.loop import Loop, Sliced, is_loop
from backedge.passes.match.certificate import certificate
from backedge.runtime.compare.runnables import TimeIsUp, alarm

from .mutants import mutants
from .refuting import refuted
from .share import converted, sources

Place = tuple[Any, Any]
_PATIENCE = 5.0  # seconds for a mutant, which need not end


def places(found: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every number, text and null of a JSON value with the way to it."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from places(value, (*way, key))
    elif isinstance(found, list):
        for index, value in enumerate(found):
            yield from places(value, (*way, index))
    else:
        yield way, found


def tampered(found: dict[str, Any], chosen: random.Random) -> tuple[str, dict[str, Any]]:
    """A copy with one thing changed, and what."""
    copy = json.loads(json.dumps(found))
    options = [(way, value) for way, value in places(copy) if way[0] != "certificate" and not isinstance(value, bool)]
    way, value = chosen.choice(options)
    inner = copy
    for key in way[:-1]:
        inner = inner[key]
    if isinstance(value, int):
        inner[way[-1]] = chosen.choice([value + 1, value - 1, chosen.randrange(len(found["terms"]))])
    elif isinstance(value, str):
        inner[way[-1]] = chosen.choice([value[::-1], *(term["op"] for term in found["terms"])])
    elif value is None:
        inner[way[-1]] = 0
    else:
        inner[way[-1]] = value + 1
    shown = f" of {found['terms'][way[1]]['op']}" if way[0] == "terms" else ""
    return "/".join(map(str, way)) + shown, copy


def changed(what: str) -> str:
    """What was changed, whichever term or node it was of."""
    way, _, of = what.partition(" of ")
    return "/".join(part for part in way.split("/") if not part.isdigit()) + (f" of {of}" if of.startswith("$") else "")


@contextlib.contextmanager
def more_worlds(factor: int) -> Iterator[None]:
    before = trials.TRIES, trials.MANY
    trials.TRIES, trials.MANY = (count * factor for count in before)
    yield
    trials.TRIES, trials.MANY = before


def ends(graph: Graph) -> bool:
    """Whether something besides conditions bounds every loop, so that mutants of it can be run."""
    loops = [Loop(node) for _, node in graph.walk() if is_loop(node)]
    return all(loop.trip is not None or loop.of(Sliced) for loop in loops)


def shown(path: Path, a: Graph, b: Graph) -> str:
    """ "accepted", or why not."""
    try:
        names = set(check(path, a, b).outputs)
    except Rejected as error:
        return str(error)
    return "accepted" if names == {value.name for value in a.outputs} else "not all outputs"


def judged(source: tuple[str, Path], targets: list[str], changes: int) -> Counter[str]:
    name, path = source
    count: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    chosen = random.Random(name)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            a = to_hub(load(path))
        except BackedgeError:
            return count
        for target in targets:
            try:
                b = to_hub(load(converted(path, target, Path(scratch))))
            except BackedgeError:
                continue
            matching = matched(a, b)
            if not matching.proved or matching.lemmas:
                continue
            count["proved"] += 1
            found = certificate(matching)
            file = Path(scratch) / "c.json"
            file.write_text(json.dumps(found))
            began = time.perf_counter()
            outcome = shown(file, a, b)
            count["seconds"] += round(time.perf_counter() - began, 3)  # pyright: ignore[reportArgumentType]
            if outcome != "accepted":
                count["not accepted"] += 1
                print(f"NOT ACCEPTED {name} to {target}: {outcome}", flush=True)
                continue
            count["accepted"] += 1
            for kind, mutant in itertools.islice(mutants(onnx.load(path), 0, 1), changes):
                other = Path(scratch) / "other.onnx"
                onnx.save(mutant, other)
                try:
                    m = to_hub(load(other))
                except BackedgeError:
                    continue
                why = ""
                if ends(a) and ends(m):
                    with contextlib.suppress(TimeIsUp), alarm(_PATIENCE):
                        why = refuted(a, m, 20)
                if not why or "only the mutant fails" in why:  # onnx's reference implementation runs more than is valid
                    continue
                count["shown for other files"] += 1
                if shown(file, a, m) == "accepted":
                    count["false"] += 1
                    print(f"FALSE {name} to {target}: {kind}", flush=True)
            for _ in range(changes):
                what, other = tampered(found, chosen)
                if other == found:
                    continue
                file.write_text(json.dumps(other))
                count["tampered"] += 1
                try:
                    outcome = shown(file, a, b)
                except Exception as error:
                    count["failed"] += 1
                    print(f"FAILED {name} to {target}: {what}: {type(error).__name__}: {error}", flush=True)
                    continue
                count[f"tampered: {changed(what)}"] += 1
                if outcome == "accepted":
                    count["harmless"] += 1
                    count[f"harmless: {changed(what)}"] += 1
                    with more_worlds(16):
                        outcome = shown(file, a, b)
                    if outcome != "accepted":
                        count["by luck"] += 1
                        print(f"BY LUCK {name} to {target}: {what}", flush=True)
                    print(f"    accepted all the same: {name} to {target}: {what}", flush=True)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", nargs="?", default="catalogue", choices=["catalogue", "cases", "samples"])
    parser.add_argument("--to", default="13,ir")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--match", default="")
    parser.add_argument("--tampered", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        chosen = [one for one in sources(options.group, Path(scratch)) if options.match in one[0]][:: options.every]
        work = partial(judged, targets=options.to.split(","), changes=options.tampered)
        with multiprocessing.Pool(options.jobs) as pool:
            for number, count in enumerate(pool.imap_unordered(work, chosen), 1):
                total.update(count)
                if number % 20 == 0:
                    print(f"{number} of {len(chosen)} models: {dict(total)}", flush=True)
    print(dict(total.most_common()))


if __name__ == "__main__":
    main()
