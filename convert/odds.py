"""Why a runtime and our executor part over one file: which operator it is, asked of the runtime itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..passes.errors import BackedgeError
from ..passes.graph import Graph
from ..passes.scratch import scratch
from ..runtime.compare.runnables import TimeIsUp, alarm
from ..runtime.compare.tolerance import measure_values
from ..runtime.executor import Executor, never_compile
from ..runtime.locate.odds import exactly, search
from ..runtime.locate.telling import number
from ..runtime.oracles import ORACLES, run_file, why_unavailable
from ..runtime.wide import WideModel
from .files import load, to_dialect, to_hub
from .format import format_of

SECONDS = 20.0
"""For all models that are cut and run."""


def at_odds(
    path: Path, format: str | None, runtime: str, inputs: Mapping[str, Any], timeout: float
) -> dict[str, Any] | None:
    """Where a runtime parts with our executor over a file on these inputs: "cause" in `compare.record`.

    None where that can't be told: the difference is gone once the model is cut, or time is up.
    """
    found = format_of(path, format)
    suffix = found.suffixes[0]
    end = time.monotonic() + SECONDS
    with scratch() as folder:
        try:
            graph = load(path, format)
            hub = to_hub(graph)
        except BackedgeError:
            return None
        opset = graph.opsets.get("")

        def written(cut: Graph) -> Path:
            file = folder / f"cut{suffix}"
            found.write(to_dialect(cut.copy(), found, opset, given=True), file)
            return file

        def theirs(name: str, cut: Graph) -> dict[str, Any] | None:
            (outcome,) = run_file(name, written(cut), [dict(inputs)], timeout)
            return None if outcome.outputs is None or outcome.fault else dict(outcome.outputs)

        def ask(cut: Graph) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
            if time.monotonic() > end:
                return None
            try:
                with alarm(timeout):
                    ours = Executor(cut, never_compile).run(_given(cut, inputs))
                answer = theirs(runtime, cut)
            except (BackedgeError, TimeIsUp):
                return None
            return None if answer is None else (ours, _in_order(cut, answer))

        odds = search(hub, ask)
        if odds is None:
            return None
        name = odds.difference.output
        cut, index = odds.graph, odds.difference.index
        try:
            exact = exactly(WideModel(cut).exact(_given(cut, inputs))[0], name, index)
        except BackedgeError:
            exact = None
        others: dict[str, Any] = {}
        agreeing: list[str] = []
        ours = Executor(cut, never_compile).run(_given(cut, inputs))
        for other, oracle in ORACLES.items():
            if other == runtime or not oracle.suffixes or why_unavailable(other) or suffix not in oracle.suffixes:
                continue
            try:
                answer = theirs(other, cut)
            except BackedgeError:
                answer = None
            if answer is not None:
                values = _in_order(cut, answer)
                others[other] = exactly(values, name, index)
                if measure_values(ours[name], values.get(name)).difference is None:
                    agreeing.append(other)
    return {
        "place": odds.place.to_json(),
        "runtime": runtime,
        "expected": odds.difference.expected,
        "actual": odds.difference.actual,
        "exact": exact,
        "index": None if index is None else list(index),
        "iteration": odds.difference.iteration,
        "others": others,
        "runs": odds.runs,
        "text": _text(odds.place.to_json(), runtime, odds.difference, exact, others, agreeing),
    }


def _given(cut: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    known = {value.name for value in cut.inputs}
    return {name: value for name, value in inputs.items() if name in known}


def _in_order(cut: Graph, answer: Mapping[str, Any]) -> dict[str, Any]:
    """A runtime's outputs under the graph's names: by these, else by position."""
    names = [value.name for value in cut.outputs]
    return dict(answer) if set(names) <= set(answer) else dict(zip(names, answer.values(), strict=False))


def _text(
    where: Mapping[str, Any], runtime: str, difference: Any, exact: Any, others: Mapping[str, Any], agreeing: list[str]
) -> str:
    inside = "".join(
        f", in iteration {step['pass']} of {step['op']} {step['name']!r}"
        for step in where["steps"]
        if step["pass"] is not None
    )
    text = f"{runtime} differs from the executor at {where['op']} {where['steps'][-1]['name']!r}{inside}"
    text += f": {number(difference.actual)} against {number(difference.expected)}"
    if exact is not None:
        text += f", in float64 {number(exact)}"
    if agreeing:
        text += f"; {' and '.join(agreeing)} agree{'s' if len(agreeing) == 1 else ''} with the executor"
    alone = [name for name in others if name not in agreeing and others[name] is not None]
    if alone:
        text += f"; {' and '.join(f'{name} has {number(others[name])}' for name in alone)}"
    return text
