"""Sets of inputs with several extraordinary things at once, as many as there is time for.

One extraordinary thing at a time (`edge_trials`) doesn't meet a fault that shows only behind a branch and for an empty
tensor. Such sets are too many to ask runtimes about each: our executor runs them on both files (`are_apart`), and where
it sees a difference the runtimes are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..oracles import Values
from .edge_trials import arrays, bases_of, cases_of, edge_trials
from .inputs import Draft
from .proposals import Base
from .signature import Designed, Signature
from .tolerance import measure_values

_MOST = 3  # extraordinary things in one set
_SPECIAL = 0.3  # share of sets with special numbers
_PASSES = 64  # in a combination; more are tried one thing at a time
_NO_PASSES = 0.25  # share of trip counts that are one of those below
_NONE = (0, 0, 0, -1, -2, -3, -7, -10)  # a loop without a pass hands on its initial values, which may be trip counts
_BEYOND = 1 << 20  # drafts from here on are nobody else's


class Combined:
    """A numbered list of sets: those that `edge_trials` has beyond the first ones, then endless combinations.

    Args:
        signature, seed, also: as `edge_trials` has them.
        first, most: how many edge trials are tried elsewhere, and how many are listed here in all.
    """

    def __init__(self, signature: Signature, seed: int, also: Sequence[int], first: int, most: int) -> None:
        self._signature, self._seed = signature, seed
        self._trips = {
            spec.name
            for spec in signature.inputs
            if spec.role == "trip" or any(edge.kind == "trip" for edge in spec.edges)
        }
        listed = edge_trials(signature, most, seed, also)
        self._listed = [one for one in listed if one.kind == "edge"][first:]
        bases = bases_of(signature, seed, also)
        self._cases = [[list(cases) for _, cases in cases_of(signature, bases, special)] for special in (False, True)]

    def set(self, number: int) -> Designed:
        """The set of this number; the same one in every process."""
        if number < len(self._listed):
            return self._listed[number]
        random = np.random.default_rng([self._seed & 0xFFFFFFFF, 17, number])
        draft = Draft(self._signature, _BEYOND + number, self._seed)
        designed = Designed(self._without_passes(arrays(draft.values()), random), "edge")
        groups = [group for group in self._cases[random.random() < _SPECIAL] if group]
        for _ in range(int(random.integers(_MOST + 1)) if groups else 0):
            group = groups[int(random.integers(len(groups)))]
            changed = group[int(random.integers(len(group)))](Base(draft, designed.inputs))
            if changed is not None:
                kind = "special" if "special" in (designed.kind, changed.kind) else "edge"
                why = f"{designed.why}; {changed.why}" if designed.why else changed.why
                designed = Designed(changed.inputs, kind, why, designed.tags | changed.tags)
        return replace(designed, inputs={name: self._soon(name, value) for name, value in designed.inputs.items()})

    def _without_passes(self, values: dict[str, Values], random: np.random.Generator) -> dict[str, Values]:
        """The values with some trip counts of 0 or less, each on its own."""
        for name in self._trips:
            old = values.get(name)
            if isinstance(old, np.ndarray) and old.dtype.kind == "i" and random.random() < _NO_PASSES:
                values[name] = np.full_like(old, random.choice(_NONE))
        return values

    def _soon(self, name: str, value: Values) -> Values:
        """A trip count that ends soon: long loops would leave no time for the other sets."""
        if name not in self._trips or not isinstance(value, np.ndarray | np.number):
            return value
        return np.minimum(value, value.dtype.type(_PASSES))


def are_apart(one: Mapping[str, Values], other: Mapping[str, Values]) -> str:
    """Which results of the same name differ by more than their types' tolerances, and how; "" where none does."""
    found: list[str] = []
    for name in one.keys() & other.keys():
        difference = None if _is_same(one[name], other[name]) else measure_values(one[name], other[name]).difference
        if difference is not None:
            found.append(f"{name} {difference.kind}")
    return ", ".join(sorted(found))


def _is_same(a: Any, b: Any) -> bool:
    """Whether two tensors are the same in every bit, which is soon told."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.dtype.kind == "O":
        return False
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
