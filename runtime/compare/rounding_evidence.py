"""What float64 runs of two models and noisy runs of the first say of one set of inputs, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..oracles import Outcome, Values
from .runnables import Runnable
from .tolerance import Measure

Array = np.ndarray[Any, Any]


class Answer(Protocol):
    """One runnable's outputs in a trial."""

    @property
    def runnable(self) -> Runnable: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def outputs(self) -> dict[str, Values] | None: ...
    @property
    def usable(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be made of a difference.

    Attributes:
        measure: without a difference where it is rounding; `units` are rounding errors over what is allowed.
        inconclusive: nothing follows from it.
        by_runtime: there is a difference in what a runtime computes; in float64 the files agree.
        text: in the words of the report, where there is a difference.
        profile: the largest units of each iteration, where iterations are known.
    """

    measure: Measure
    inconclusive: bool = False
    by_runtime: bool = False
    text: str = ""
    profile: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Output:
    """`runtime.wide.evidence.Output`, as it came from the other process."""

    exact: list[Array]
    spread: list[Array]
    apart: list[Array]
    units: list[Array]
    same_shape: bool
    loose: bool


@dataclass(slots=True)
class Evidence:
    outputs: dict[str, Output]
    is_stepped: bool
    forced: bool
    steps_apart: float
    is_wider: bool


def read_evidence(outputs: Mapping[str, Any]) -> Evidence:
    names = [key.removeprefix("exact/") for key in outputs if key.startswith("exact/")]
    found = {
        name: Output(
            *(outputs[f"{part}/{name}"] for part in ("exact", "spread", "apart", "units")),
            *(bool(flag) for flag in outputs[f"shape/{name}"]),
        )
        for name in names
    }
    steps, forced, apart, is_wider = outputs["steps"]
    return Evidence(found, bool(steps), bool(forced), float(apart), bool(is_wider))
