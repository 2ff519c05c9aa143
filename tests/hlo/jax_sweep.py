"""Recorded cases as functions of JAX: their results, jitted, and those of a batch of two by vmap.

python -m hlo.jax_sweep [--cases nodes|releases|open|fixed|loops] [--step N] [--slopes] [part of a name ...]

(from the folder tests) With --slopes the derivatives of one case for each operator, against differences in float64.

Integers that decide a size are given as numbers of Python where the model is refused otherwise.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import backedge
import jax
import numpy as np
from backedge.passes.errors import BackedgeError, Unsupported
from openvino_lowering.corpus import Case
from openvino_lowering.sweep import difference

from .jax_nets import known, slopes
from .lowering_sweep import CASES, CRASHED, DRAWN, LOWERED, RAISED, RIGHT, WRONG, Verdict, is_drawn, summary

_ENDLESS = "loop_neither_limit"
"""In a batch JAX computes both branches of an If, of which one never ends here."""

UNMAPPED = "right, but not in batches"
_OFF = 1e-4  # share of a derivative that differences may be off


def judge(case: Case) -> tuple[str, str]:
    """(stage, reason) of a case."""
    try:
        function = backedge.to_jax(case.model)
    except BackedgeError as error:
        return RAISED, str(error)
    names = [value.name for value in case.model.graph.input]
    for inputs, outputs in case.sets:
        feeds = {name: value for name, value in zip(names, inputs, strict=False) if name in function.input_names}
        try:
            alone, batched = results(function, feeds)
        except BackedgeError as error:
            return LOWERED, str(error)
        except Exception as error:
            return CRASHED, f"{type(error).__name__}: {error}"
        if len(alone) != len(outputs):
            return WRONG, f"{len(alone)} outputs, not {len(outputs)}"
        for found, wanted in zip(alone, outputs, strict=True):
            wrong = difference(found, wanted, case.rtol, case.atol)
            if wrong:
                return (DRAWN if is_drawn(case) and not wrong.startswith(("shape", "type")) else WRONG), wrong
        for found, wanted in zip(batched, alone, strict=True):
            wrong = difference(found, np.stack([wanted, wanted]), 1e-5, 1e-6)
            if wrong:
                return UNMAPPED, wrong
    return RIGHT, ""


def results(function: Any, feeds: dict[str, Any]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The outputs of a jitted function, and those of the inputs twice, by vmap; 64 bits as the model says."""
    try:
        return _results(function, feeds, {})
    except Unsupported:
        settled = {name: made for name, value in feeds.items() if (made := known(value)) is not value}
        if not settled:
            raise
        return _results(function, {name: value for name, value in feeds.items() if name not in settled}, settled)


def _results(
    function: Any, feeds: dict[str, Any], settled: dict[str, Any]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    def call(fed: dict[str, Any]) -> tuple[Any, ...]:
        made = function(**fed, **settled, random_key=jax.random.key(0))
        return made if isinstance(made, tuple) else (made,)

    batch = {name: np.stack([value, value]) for name, value in feeds.items()}

    def both(fed: dict[str, Any], twice: dict[str, Any]) -> Any:
        alone = call(fed)
        return alone, jax.vmap(call)(twice) if twice else [jax.numpy.stack([one, one]) for one in alone]

    with jax.enable_x64(True):
        alone, batched = jax.jit(both)(feeds, batch)
        return [np.asarray(one) for one in alone], [np.asarray(one) for one in batched]


def sweep(cases: Iterable[Case], parts: Iterable[str] = (), derived: bool = False) -> Iterator[Verdict]:
    """The verdict on each case whose name has one of the parts, or on its derivatives."""
    parts = tuple(parts)
    for case in cases:
        if case.name.startswith(_ENDLESS):
            continue
        if not parts or any(part in case.name for part in parts):
            yield Verdict(case.name, *(steepness(case) if derived else judge(case)))


def one_each(cases: Iterable[Case]) -> Iterator[Case]:
    """The first case of each operator that has inputs of floats."""
    seen: set[str] = set()
    for case in cases:
        nodes = case.model.graph.node
        floats = any(isinstance(value, np.ndarray) and value.dtype == np.float32 for value in case.sets[0][0])
        if len(nodes) == 1 and floats and nodes[0].op_type not in seen and not is_drawn(case):
            seen.add(nodes[0].op_type)
            yield case


def _moved(value: Any) -> Any:
    """Floats a little larger: many cases stand where functions have no derivative."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float32:
        return value
    return value + np.random.default_rng(1).uniform(0.003, 0.01, value.shape).astype(np.float32)


def steepness(case: Case) -> tuple[str, str]:
    """(stage, reason) of a case's derivatives."""
    names = [value.name for value in case.model.graph.input]
    feeds = {name: value for name, value in zip(names, case.sets[0][0], strict=False) if value is not None}
    try:
        shares = slopes(case.model, {name: _moved(value) for name, value in feeds.items()})
    except BackedgeError as error:
        return LOWERED, str(error)
    except Exception as error:
        return CRASHED, f"{type(error).__name__}: {error}"
    off = {name: share for name, share in shares.items() if not share <= _OFF}
    return (WRONG, str(off)) if off else (RIGHT, "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", choices=[*CASES], default="nodes")
    parser.add_argument("--step", type=int, default=1, help="one in so many cases")
    parser.add_argument("--slopes", action="store_true")
    parser.add_argument("parts", nargs="*")
    chosen = parser.parse_args()
    verdicts = []
    cases = islice(CASES[chosen.cases](), 0, None, chosen.step)
    for verdict in sweep(one_each(cases) if chosen.slopes else cases, chosen.parts, chosen.slopes):
        verdicts.append(verdict)
        if verdict.stage != RIGHT:
            print(f"{verdict.stage:11} {verdict.name}: {verdict.reason[:300]}", flush=True)
    print(summary(verdicts))


if __name__ == "__main__":
    main()
