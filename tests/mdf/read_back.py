"""Models as native MDF with stateful parameters, read back by our own reader: how far each case comes.

python -m mdf.read_back [--cases catalogue|nodes|random|modules] [part of a name ...]

(from the folder tests). The cases and their expected values are those of `mdf.stateful_sweep`; what comes back runs in
ONNX Runtime, on all inputs of the shapes that the file was written for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from backedge.convert.mdf.structure import tree_from_model
from backedge.passes.errors import BackedgeError
from backedge.runtime.executor import Executor, never_compile
from openvino_lowering.sweep import difference

from .engine import Tree, fed, on_onnxruntime, raised
from .stateful_sweep import FAILED, REFUSED, RIGHT, WRONG, Arrays, Case, Verdict, lowered, report

NOT_WRITTEN = "not written"


def judge(case: Case) -> Verdict:
    """Write a case for the shapes of each of its inputs, read each file back, and run what was read."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _judged(case)


def _judged(case: Case) -> Verdict:
    for shapes in dict.fromkeys(_shapes(feeds) for feeds, _ in case.runs):
        runs = [(feeds, wanted) for feeds, wanted in case.runs if _shapes(feeds) == shapes]
        try:
            tree = tree_from_model(lowered(case.graph(), runs[0][0]))
        except BackedgeError as refusal:
            return Verdict(case.name, NOT_WRITTEN, str(refusal))
        stage, reason = of_tree(tree, runs, case)
        if stage != RIGHT:
            return Verdict(case.name, stage, reason)
    return Verdict(case.name, RIGHT)


def of_tree(tree: Tree, runs: Sequence[tuple[Arrays, Sequence[object]]], case: Case) -> tuple[str, str]:
    """How far a file comes, and why not further."""
    try:
        graph = raised(tree)
    except BackedgeError as refusal:
        return REFUSED, str(refusal)
    for number, (feeds, wanted) in enumerate(runs):
        try:
            found = on_onnxruntime(graph, feeds)
        except Exception as error:
            if "NOT_IMPLEMENTED" not in str(error):
                return FAILED, f"run {number}: {type(error).__name__}: {error}"
            found = Executor(graph, never_compile).run(fed(graph, feeds))
        for (name, one), other in zip(found.items(), wanted, strict=True):
            if not case.exact and np.size(one) == np.size(other) == 0:
                continue
            wrong = difference(np.asarray(one), other, case.rtol, case.atol)
            if wrong:
                return WRONG, f"run {number}, output {name!r}: {wrong}"
    return RIGHT, ""


def _shapes(feeds: Arrays) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, np.shape(value)) for name, value in feeds.items())


def sweep(cases: Iterable[Case], parts: Sequence[str] = ()) -> Iterator[Verdict]:
    """The verdict on each case whose name has one of the parts and of which there is a file."""
    for case in cases:
        if not parts or any(part in case.name for part in parts):
            verdict = judge(case)
            if verdict.stage != NOT_WRITTEN:
                yield verdict


if __name__ == "__main__":
    report(sweep)
