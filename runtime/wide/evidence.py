"""What one set of inputs says of two models: their exact outputs, and how far rounding carries those of the first.

Quantized models are run once more, the second one and the noisy runs of the first forced to the steps of the first
one's exact run: rounding can't turn a step there, so that what is computed before each step can be held against it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...passes.errors import BackedgeError
from ...passes.graph import Graph
from ..kernels.base import Array
from .arithmetic import element_type
from .model import WIDEST, WideModel, computes_double
from .noise import Noise
from .spread import alike, distance, flat, is_real, precision_of, scatter, spread
from .steps import Forced, Step

RUNS = 4
"""Noisy runs. The largest distance of right answers was 21 spreads with one run, 11 with two, 5.4 with four."""

STRONG_RUNS, STRONG = 8, 6.0
"""Runs with errors so many times as large, to see whether rounding turns something: a comparison, a quantizer."""

OF_A_RUNTIME = 5.0
"""A runtime's result lies up to 6 spreads off; the files themselves may lie one apart."""

CHAOTIC = 0.5
"""What rounding moves by this share of its size is noise."""

PATIENT_RUNS = 48
"""As many where the files agree in float64 and a runtime's answers don't: of a quantized network's many ties each turns
in few runs."""


@dataclass(slots=True)
class Output:
    """One output, tensor by tensor.

    Attributes:
        exact: of the first model.
        spread: of each element of real tensors; of others, which of them turned in a noisy run.
        apart: how far the second model's is, absolute; of other than real ones, which of them are not the same.
        units: the same in spreads, infinite where other than real ones aren't the same.
        same_shape: the second model's has the same shapes.
        loose: in some noisy run the shapes were others.
    """

    exact: list[Array]
    spread: list[Array]
    apart: list[Array] = field(default_factory=list)
    units: list[Array] = field(default_factory=list)
    same_shape: bool = False
    loose: bool = False

    def allow(self, mine: Sequence[Array] | None, theirs: Sequence[Array] | None) -> None:
        """The spread is that of both models' constants, too, and the models may lie as far apart as a runtime's result
        does because of them."""
        for place, exact in enumerate(self.exact):
            if not (is_real(exact) and self.units):
                continue
            a, b = (0.0 if moved is None else moved[place] for moved in (mine, theirs))
            with np.errstate(all="ignore"):
                units = self.apart[place] / (self.spread[place] + OF_A_RUNTIME * (a + b))
            self.units[place] = np.where(np.isfinite(self.units[place]), units, self.units[place])
            self.spread[place] = self.spread[place] + b


_TENSORS = ("exact", "spread", "apart", "units")


@dataclass(slots=True)
class Evidence:
    """All outputs.

    Attributes:
        steps: how many times something was rounded to steps.
        forced: both models have the same of them.
        steps_apart: how many spreads the numbers before them lie apart, at most.
        is_wider: the exact runs are more exact than the model.
        ends_by_chance: rounding carries the margin of a comparison of scalars by half of its size or more. When a loop
            ends is a matter of chance then, also where the comparison came out the same in each noisy run: a float32
            that has become noise cancels to 0 or overflows in places where wider numbers don't.
    """

    outputs: dict[str, Output]
    steps: int = 0
    forced: bool = False
    steps_apart: float = 0.0
    is_wider: bool = True
    ends_by_chance: bool = False

    def named(self) -> dict[str, Any]:
        """As tensors that another process can be handed, longdoubles as float64: for each output NAME lists of one
        tensor for each tensor in it, `exact/NAME`, `spread/NAME`, `apart/NAME`, `units/NAME`; `shape/NAME`: [same
        shapes, loose]; and `steps`: all else."""
        steps = np.array([self.steps, self.forced, self.steps_apart, self.is_wider, self.ends_by_chance])
        found: dict[str, Any] = {"steps": steps}
        for name, output in self.outputs.items():
            found |= {f"{part}/{name}": [_narrow(leaf) for leaf in getattr(output, part)] for part in _TENSORS}
            found[f"shape/{name}"] = np.array([output.same_shape, output.loose])
        return found

    @staticmethod
    def read(found: Mapping[str, Any]) -> Evidence:
        """What `named` made."""
        outputs = {
            name: Output(*(found[f"{part}/{name}"] for part in _TENSORS), *map(bool, found[f"shape/{name}"]))
            for name in (key.removeprefix("exact/") for key in found if key.startswith("exact/"))
        }
        steps, forced, apart, is_wider, ends_by_chance = found["steps"]
        return Evidence(outputs, int(steps), bool(forced), float(apart), bool(is_wider), bool(ends_by_chance))


def _narrow(leaf: Array) -> Array:
    if leaf.dtype == np.longdouble:
        return leaf.astype(np.float64)
    return leaf.astype(np.complex128) if leaf.dtype == np.clongdouble else leaf


class Pair:
    """Two models and how their inputs and outputs belong together.

    Args:
        a, b: hub graphs.
        inputs, outputs: names of `a` -> names of `b`.
    """

    def __init__(self, a: Graph, b: Graph, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> None:
        self._double = computes_double(a)
        self._graphs = a, b
        self._inputs, self._outputs = inputs, outputs
        self._types = {value.name: element_type(value.type) for value in a.outputs}
        self.real = WIDEST if self._double else np.dtype(np.float64)
        self._make()

    def _make(self) -> None:
        self._a, self._b = (WideModel(graph, self.real) for graph in self._graphs)

    def evidence(self, inputs: Mapping[str, Any], seed: int, coarse: bool) -> Evidence:
        """What a set of inputs says.

        Raises:
            BackedgeError: the first model doesn't run.
        """
        try:
            exact, steps = self._a.exact(inputs)
        except BackedgeError:
            if self.real == np.float64:
                raise
            self.real = np.dtype(np.float64)  # a kernel that has no wider numbers
            self._make()
            exact, steps = self._a.exact(inputs)
        margins, others = self._a.margins, list[Sequence[float]]()
        fed = {self._inputs[name]: value for name, value in inputs.items() if name in self._inputs}
        carried: list[dict[str, list[Array]]] = [{}, {}]
        noises = [Noise(seed * RUNS + run, coarse=coarse) for run in range(RUNS)]
        runs: list[dict[str, Any]] = []
        for noise in noises:
            runs.append(self._a.noisy(inputs, noise))
            others.append(self._a.margins)
        outputs = {name: self._output(name, value, runs, coarse) for name, value in exact.items()}
        evidence = Evidence(outputs, sum(step.between for step in steps))
        evidence.ends_by_chance = any(_are_noise(margins, other) for other in others)
        evidence.is_wider = not self._double or bool(np.finfo(self.real).eps < np.finfo(np.float64).eps)
        with contextlib.suppress(BackedgeError):
            other, _ = self._b.exact(fed)
            for name, output in outputs.items():
                self._compare(output, other.get(self._outputs.get(name, "")))
            if any((units > 1).any() for output in outputs.values() for units in output.units):
                carried = self._carried((inputs, fed), (exact, other), seed, coarse)
                for name, output in outputs.items():
                    output.allow(*(one.get(name) for one in carried))
        if evidence.steps:
            with contextlib.suppress(BackedgeError):
                self._force(evidence, inputs, fed, exact, steps, seed, coarse, carried)
        return evidence

    def strong(
        self,
        inputs: Mapping[str, Any],
        seed: int,
        coarse: bool,
        count: int = STRONG_RUNS,
        seconds: float = math.inf,
    ) -> dict[str, Output]:
        """How far errors a few times as large as rounding's carry the first model's outputs: the largest distance in
        so many runs, or in as many as there is time for, one at least; and in one that rounds to the nearest numbers,
        where what isn't equal may become so."""
        start = time.monotonic()
        exact, _ = self._a.exact(inputs)
        runs = [self._a.noisy(inputs, Noise(0, coarse=coarse, is_drawn=False))]
        for run in range(count):
            noise = Noise(seed * count + run + 1_000_003, STRONG, coarse)
            runs.append(self._a.noisy(inputs, noise))
            if (time.monotonic() - start) * (run + 4) / (run + 3) > seconds:
                break
        found: dict[str, Output] = {}
        for name, value in exact.items():
            leaves, others = flat(value), [flat(run[name]) for run in runs]
            kept = [other for other in others if alike(leaves, other)]
            moved = [_farthest(leaf, [run[place] for run in kept]) for place, leaf in enumerate(leaves)]
            found[name] = Output(leaves, moved, loose=len(kept) < len(others))
        return found

    def _output(self, name: str, value: Any, runs: list[dict[str, Any]], coarse: bool) -> Output:
        leaves, others = flat(value), [flat(run[name]) for run in runs]
        kept = [other for other in others if alike(leaves, other)]
        dtype = precision_of(self._types.get(name), coarse)
        spreads = [
            spread(leaf, [run[place] for run in kept], dtype) if is_real(leaf) else _turned(leaf, kept, place)
            for place, leaf in enumerate(leaves)
        ]
        return Output(leaves, spreads, loose=len(kept) < len(others))

    def _carried(
        self, inputs: tuple[Mapping[str, Any], ...], exact: tuple[Mapping[str, Any], ...], seed: int, coarse: bool
    ) -> list[dict[str, list[Array]]]:
        """Of both models, how far rounding what is computed from constants alone carries the outputs, which have the
        first model's names: another file may hold that, rounded once."""
        names = {name: name for name in exact[0]}, {name: self._outputs.get(name, "") for name in exact[0]}
        moved: list[dict[str, list[Array]]] = []
        for model, feeds, values, outputs in zip((self._a, self._b), inputs, exact, names, strict=True):
            moved.append({})
            if not model.rounds_constants:
                continue
            noises = [Noise(seed * RUNS + run + 3_000_003, coarse=coarse, in_constants=True) for run in range(RUNS)]
            runs = [model.noisy(feeds, noise) for noise in noises]
            for name, own in outputs.items():
                leaves, others = flat(values.get(own)), [flat(run.get(own)) for run in runs]
                if all(alike(flat(exact[0][name]), one) for one in (leaves, *others)):
                    moved[-1][name] = [
                        _finite(scatter(leaf, [run[place] for run in others])) if is_real(leaf) else np.zeros(())
                        for place, leaf in enumerate(leaves)
                    ]
        return moved

    def _compare(self, output: Output, value: Any) -> None:
        others = flat(value)
        output.same_shape = alike(output.exact, others)
        output.apart, output.units = [], []
        if not output.same_shape:
            return
        for leaf, other, spreads in zip(output.exact, others, output.spread, strict=True):
            if is_real(leaf) and is_real(other):
                with np.errstate(all="ignore"):
                    output.apart.append(np.abs(other - leaf))
                output.units.append(distance(leaf, other, spreads))
            else:
                wrong = np.asarray(leaf != other, bool)
                output.apart.append(wrong)
                output.units.append(np.where(wrong, np.inf, 0.0))

    def _force(
        self,
        evidence: Evidence,
        inputs: Mapping[str, Any],
        fed: Mapping[str, Any],
        exact: dict[str, Any],
        steps: list[Step],
        seed: int,
        coarse: bool,
        carried: Sequence[Mapping[str, list[Array]]],
    ) -> None:
        other, forced = self._b.forced(fed, steps)
        if not forced.complete:
            return
        noises = [Noise(seed * RUNS + run + 2_000_003, coarse=coarse) for run in range(RUNS)]
        runs = [self._a.forced(inputs, steps, noise) for noise in noises]
        if not all(run[1].complete for run in runs):
            return
        evidence.forced, evidence.steps_apart = True, _steps_apart(forced, [run[1] for run in runs])
        for name, output in evidence.outputs.items():
            quiet = self._output(name, exact[name], [run[0] for run in runs], coarse)
            self._compare(quiet, other.get(self._outputs.get(name, "")))
            quiet.allow(*(one.get(name) for one in carried))
            output.apart, output.units, output.same_shape = quiet.apart, quiet.units, quiet.same_shape


def _steps_apart(forced: Forced, runs: list[Forced]) -> float:
    """How many spreads the numbers before each step lie apart, at most."""
    noisy = [{id(match.known): match.other for match in run.pairs} for run in runs]
    return max(
        (
            match.distance([match.before(run[id(match.known)]) for run in noisy if id(match.known) in run])
            for match in forced.pairs
        ),
        default=0.0,
    )


def _are_noise(margins: Sequence[float], noisy: Sequence[float]) -> bool:
    """Whether rounding carries one of the margins by half of its size; what follows where a run ended isn't looked
    at."""
    count = min(len(margins), len(noisy))
    exact, moved = np.array(margins[:count]), np.array(noisy[:count])
    with np.errstate(all="ignore"):
        return bool((np.abs(moved - exact) >= CHAOTIC * np.abs(exact))[exact != moved].any())


def _finite(moved: Array) -> Array:
    return np.where(np.isfinite(moved), moved, 0.0)


def _turned(leaf: Array, runs: list[list[Array]], place: int) -> Array:
    turned = np.zeros(leaf.shape, bool)
    for run in runs:
        turned |= np.asarray(leaf != run[place], bool)
    return turned


def _farthest(leaf: Array, runs: list[Array]) -> Array:
    if not is_real(leaf):
        return _turned(leaf, [[run] for run in runs], 0)
    with np.errstate(all="ignore"):
        far = np.max([np.abs(run - leaf) for run in runs], axis=0) if runs else np.zeros(leaf.shape)
    return np.where(np.isnan(far), np.inf, far)
