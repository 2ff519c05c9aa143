"""Values with one term, evaluated: both files of a pair run, and every two values that matching calls one are compared.

python -m proofs.classes [catalogue|cases|wheels|samples] [--to 21,13,9,ir,hlo] [--every N] [--match TEXT] [--inputs 3]
                         (from the folder tests)

Values in bodies of outermost loops are compared pass by pass. Of the executor's rounding 4 units in the last place are
counted as "nearly": NumPy's matrix products depend on where an array lies in memory. Where matching takes operators for
what they are made of, which rounds, the executor's own ways with them may be further apart ("by definition").
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.files import load, to_hub
from backedge.convert.proof import matched
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph, Node, Value
from backedge.passes.match.matching import Matching
from backedge.passes.match.terms import Term
from backedge.runtime.compare.input_roles import signature_of
from backedge.runtime.compare.inputs import design
from backedge.runtime.executor import Executor, never_compile

from .refuting import same
from .share import converted, sources

Recorded = dict[Node, list[Any]]
"""What a node gave each time it ran."""


def recorded(graph: Graph, feed: dict[str, Any]) -> Recorded:
    """Run a graph and keep the results of every node, those in bodies and branches included."""
    found: Recorded = {}

    def watch(node: Node, call: Any) -> Any:
        def run(*operands: Any) -> Any:
            results = call(*operands)
            found.setdefault(node, []).append(results)
            return results

        return run

    Executor(graph, never_compile, watch=watch).run(feed)
    return found


def classes(found: Matching, side: int) -> list[tuple[Term, Value, Node]]:
    """The values of a side that nodes give, with their terms; of bodies those of outermost loops."""
    assert found.graphs is not None
    listed: list[tuple[Term, Value, Node]] = []
    for node in found.graphs[side].nodes:
        listed += [(found.terms[side][value], value, node) for value in node.outputs if value in found.terms[side]]
        terms = found.bodies.get(node)
        if terms is not None:
            for inner in node.regions["body"].nodes:
                listed += [(terms[value], value, inner) for value in inner.outputs if value in terms]
    return listed


def compared(found: Matching, runs: tuple[Recorded, Recorded]) -> Counter[str]:
    """How many pairs of values with one term there are, and how many of them differ."""
    count: Counter[str] = Counter()
    first: dict[Term, list[Any]] = {}
    for side in (0, 1):
        for term, value, node in classes(found, side):
            history = runs[side].get(node)
            if history is None:  # not run: a constant, or in a loop without a pass
                continue
            values = [results[value.index] if isinstance(results, tuple) else results for results in history]
            known = first.setdefault(term, values)
            if known is values:
                continue
            count["pairs"] += 1
            if not term.open:  # the same in every pass
                longest = max(len(known), len(values))
                known, values = (
                    known + known[:1] * (longest - len(known)),
                    values + values[:1] * (longest - len(values)),
                )
            if len(known) != len(values):
                count["run differently often"] += 1
            elif all(map(same, known, values)):
                count["equal"] += 1
            elif all(same(*pair, units=True) for pair in zip(known, values, strict=True)):
                count["nearly"] += 1
            elif found.lemmas and all(_close(*pair) for pair in zip(known, values, strict=True)):
                count["by definition"] += 1
            else:
                count["different"] += 1
                print(f"DIFFERENT {term} {term.op} of {node}", flush=True)
    return count


def _close(one: Any, other: Any) -> bool:
    if not all(isinstance(value, np.ndarray | np.generic) for value in (one, other)):
        return False
    if one.dtype != other.dtype or one.shape != other.shape or one.dtype.kind in "biuO":
        return False
    wide = [np.asarray(value).astype(np.float64) for value in (one, other)]
    share = 1e-4 if one.dtype.itemsize >= 4 else 0.05
    return bool(np.allclose(*wide, share, share, equal_nan=True))


def judged(source: tuple[str, Path], targets: list[str], inputs: int) -> Counter[str]:
    name, path = source
    count: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    try:
        a = to_hub(load(path))
    except BackedgeError:
        return count
    with tempfile.TemporaryDirectory() as scratch, np.errstate(all="ignore"):
        for target in targets:
            try:
                b = to_hub(load(converted(path, target, Path(scratch))))
                feeds = list(design(signature_of(a, b), inputs))
            except BackedgeError:
                continue
            found = matched(a, b)
            names = [value.name for value in b.inputs]
            for feed in feeds:
                try:
                    values = [feed[value.name] for value in a.inputs]
                    runs = recorded(a, feed), recorded(b, dict(zip(names, values, strict=True)))
                except (BackedgeError, KeyError, ValueError):
                    count["not run"] += 1
                    continue
                outcome = compared(found, runs)
                if outcome["different"] or outcome["run differently often"]:
                    print(f"    in {name} to {target}: {dict(outcome)}", flush=True)
                count.update(outcome)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", nargs="?", default="catalogue", choices=["catalogue", "cases", "wheels", "samples"])
    parser.add_argument("--to", default="21,13,9,ir,hlo")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--match", default="")
    parser.add_argument("--inputs", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        chosen = [one for one in sources(options.group, Path(scratch)) if options.match in one[0]][:: options.every]
        work = partial(judged, targets=options.to.split(","), inputs=options.inputs)
        with multiprocessing.Pool(options.jobs) as pool:
            for count in pool.imap_unordered(work, chosen, 4):
                total.update(count)
    print(dict(total.most_common()))


if __name__ == "__main__":
    main()
