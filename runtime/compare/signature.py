"""What is known about a model's inputs, for designing values that exercise it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...passes.types import Dim, Type
from ..oracles import Values

Role = Literal["data", "condition", "trip", "shape", "index"]
"""What an input is used for: numbers; an If's or a loop's condition; a trip count or another size; a shape, pads or
slice bounds; positions along an axis. Where one input is several, the later of these counts."""

ROLES: tuple[Role, ...] = ("data", "condition", "trip", "shape", "index")


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input.

    Attributes:
        name, type: as in the model. Equal symbolic dimensions of all inputs get equal sizes.
        role: what it is used for.
        gate: a condition that is false keeps a whole loop from running, so that it is true more often.
        lower, upper: bounds of its values, both included.
        bound: an index is smaller than this dimension (a size, or a symbol of the inputs); with `lower` 1 it is a
            length instead, from 1 to the whole dimension.
        wrap: a negative index is allowed and counts from the end.
        nonzero: no integer 0, the model divides by it.
        constants: what the model compares it with.
        default: the value the model uses when it isn't given; a share of the trials leaves it at that.
    """

    name: str
    type: Type | None
    role: Role = "data"
    gate: bool = False
    lower: float | None = None
    upper: float | None = None
    bound: Dim = None
    wrap: bool = False
    nonzero: bool = False
    constants: tuple[float | str, ...] = ()
    default: Values = None


@dataclass(frozen=True, slots=True)
class Signature:
    """All inputs, in order.

    Attributes:
        allow_empty: dynamic dimensions may also be 0.
    """

    inputs: list[InputSpec] = field(default_factory=list)
    allow_empty: bool = False
