"""Realistic small programs as text, each with faults of its own and other ways to write it: the second generator.

A program is a text with holes (`$name`); its faults, and the pairs that are equal, fill some of the holes in another
way. Sizes and numbers are the seed's. Nothing is shared with the first generator; constants are named as in `edges`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import onnx

from .edges import model_of

Holes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Program:
    """A program of one seed: what stands in its holes, and what stands there instead by a fault or an equal way."""

    name: str
    text: str
    holes: Holes
    faults: Mapping[str, Holes]
    equals: Mapping[str, Holes] = field(default_factory=dict)
    opset: int = 21

    def model(self, other: Holes | None = None) -> onnx.ModelProto:
        """The program with its own fillings, or with some others."""
        other = other or {}
        assert other.keys() <= self.holes.keys(), (self.name, other)
        filled = {**self.holes, **other}
        return model_of(re.sub(r"\$(\w+)", lambda match: filled[match.group(1)], self.text), self.opset)


Maker = Callable[[random.Random], Program]
PROGRAMS: list[Maker] = []


def program(maker: Maker) -> Maker:
    """Put a function into the list."""
    PROGRAMS.append(maker)
    return maker


def make(seed: int) -> Program:
    """The program of a seed: all in turn, each time with other numbers."""
    return PROGRAMS[seed % len(PROGRAMS)](random.Random(f"program {seed}"))


def numbers(r: random.Random, *shape: int, scale: float = 1.0) -> str:
    """A random float tensor as text."""
    count = 1
    for size in shape:
        count *= size
    values = ", ".join(f"{r.gauss(0, scale):.3f}" for _ in range(count))
    return f"float[{', '.join(map(str, shape))}] {{{values}}}"


TRUE = "true = Constant<value=bool {1}>() "


from . import programs_numeric, programs_tensor  # noqa: E402, F401  they fill the list
