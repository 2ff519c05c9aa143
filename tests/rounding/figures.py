"""How often the rule is right: right conversions, and seeded faults, of built models and of models out of wheels.

cd tests; python -m rounding.figures [part of a name ...]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert import convert
from backedge.convert.verification import design, signature_of
from backedge.passes.errors import BackedgeError
from real.models import MODELS

from .faults import FAULTS
from .judge import compared, side
from .models import BUILT

TRIALS = 3
SEEDS = int(os.environ.get("BACKEDGE_SEEDS", "3"))  # faults of each kind in each model
TARGETS = {"opset 13": 13, "opset 9": 9, "IR": None}

Subject = tuple[str, Path, list[Any]]


def subjects(folder: Path, parts: list[str]) -> Iterator[Subject]:
    """Each model's name, file and inputs."""
    for name, build in BUILT.items():
        if not parts or any(part in name for part in parts):
            path = folder / f"{name}.onnx"
            onnx.save(build(), path)
            yield name, path, list(design(signature_of(side(path)[1]), TRIALS, 0))
    for model in MODELS:
        if not parts or any(part in model.name for part in parts):
            yield model.name, model.fetch(), model.feeds()[:1]


def right_pairs(subject: Subject, folder: Path) -> Iterator[tuple[str, Path]]:
    """The model converted."""
    name, path, _ = subject
    for target, opset in TARGETS.items():
        made = folder / f"{name} {target}{'.xml' if opset is None else '.onnx'}"
        try:
            convert(path, made, opset=opset, verify=0)
        except BackedgeError:
            continue
        yield target, made


def faulty(subject: Subject, folder: Path) -> Iterator[tuple[str, Path]]:
    """The model with a fault, where that has an effect."""
    name, path, feeds = subject
    model = onnx.load(path)
    wanted = _outputs(path, feeds)
    for kind, fault in FAULTS.items():
        for seed in range(SEEDS):
            made = fault(model, np.random.default_rng(seed))
            if made is None:
                break
            changed = folder / f"{name} {kind} {seed}.onnx"
            onnx.save(made, changed)
            if any((a != b).any() for a, b in zip(wanted, _outputs(changed, feeds), strict=True)):
                yield kind, changed


def _outputs(path: Path, feeds: list[Any]) -> list[np.ndarray]:
    return [
        np.asarray(value)
        for outcome in side(path)[0].runnables[1].run(feeds)
        for value in (outcome.outputs or {}).values()
        if isinstance(value, np.ndarray)
    ]


def measure(subject: Subject, folder: Path) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """(kind, verdict) -> how many, by the rule and by tolerances."""
    rule: Counter[tuple[str, str]] = Counter()
    table: Counter[tuple[str, str]] = Counter()
    _, path, feeds = subject
    for kind, other in (*right_pairs(subject, folder), *faulty(subject, folder)):
        start = time.monotonic()
        report = compared(path, other, feeds)
        rule[kind, report.verdict] += 1
        table[kind, compared(path, other, feeds, by_tolerance=True).verdict] += 1
        wrong = (report.verdict == "equal") != (kind in TARGETS)
        if wrong or kind in TARGETS:
            print(f"    {other.stem}: {report.verdict}, {time.monotonic() - start:.1f} s", flush=True)
            print("".join(f"        {reason}\n" for reason in report.reasons[:3]), end="", flush=True)
    return rule, table


def main() -> None:
    total: dict[str, Counter[tuple[str, str]]] = {"rule": Counter(), "tolerances": Counter()}
    with tempfile.TemporaryDirectory() as name:
        for subject in subjects(Path(name), sys.argv[1:]):
            print(subject[0], flush=True)
            rule, table = measure(subject, Path(name))
            total["rule"] += rule
            total["tolerances"] += table
    for by, counts in total.items():
        print(by)
        for kind in (*TARGETS, *FAULTS):
            verdicts = {verdict: counts[kind, verdict] for verdict in ("equal", "different", "incomparable")}
            print(f"    {kind:12} of {sum(verdicts.values()):3}: {verdicts}")


if __name__ == "__main__":
    main()
