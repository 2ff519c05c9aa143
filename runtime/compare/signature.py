"""What is known about a model's inputs, for designing values that exercise it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ...passes.types import Dim, Type
from ..oracles import Values

Role = Literal["data", "condition", "trip", "shape", "index"]
"""What an input is used for: numbers; an If's or a loop's condition; a trip count or another size; a shape, pads or
slice bounds; positions along an axis. Where one input is several, the later of these counts."""

ROLES: tuple[Role, ...] = ("data", "condition", "trip", "shape", "index")

Kind = Literal[
    "trip",
    "condition",
    "position",
    "length",
    "count",
    "depth",
    "size",
    "repeat",
    "shape",
    "partition",
    "pad",
    "axes",
    "start",
    "end",
    "step",
    "first",
    "limit",
    "delta",
    "shift",
    "window",
    "divisor",
    "exponent",
    "scale",
    "level",
]
"""What an operand of an operator is, as far as its extraordinary values go; `edges` has those of each."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An operand that an input ends in.

    Attributes:
        kind: what the operand is.
        where: the operator, for people.
        size: of the axis that it counts along, where there is one.
        shape: of the operator's data, None where the rank isn't known.
        data: the input of the model that the data are, "" if they are computed.
        group: equal for operands of one node, whose values go together (start, end and step).
        undo: the arithmetic between input and operand, the operand's end first: operator, place of what is followed,
            the other operand.
    """

    kind: Kind
    where: str
    size: Dim = None
    shape: tuple[Dim, ...] | None = None
    data: str = ""
    group: int = 0
    undo: tuple[tuple[str, int, float], ...] = ()


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
        optional: it may be left out of a set of inputs.
        edges: the operands that it ends in.
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
    optional: bool = False
    edges: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class Signature:
    """All inputs, in order.

    Attributes:
        allow_empty: dynamic dimensions may also be 0.
        sizes: integers that the models hold, which a dimension may be compared with.
        sizings: sets of sizes, symbol -> size, that the model is known to take; each set of inputs has one of them.
        rows: input -> rows [R, ...] that the model is known to take; row k of all of them go together.
        integers: sets of integers, input -> value, with which the model is known to give results of the sizes that it
            declares; most sets of inputs have one of them.
    """

    inputs: list[InputSpec] = field(default_factory=list)
    allow_empty: bool = False
    sizes: tuple[int, ...] = ()
    sizings: tuple[Mapping[str, int], ...] = ()
    rows: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    integers: tuple[Mapping[str, np.ndarray[Any, Any]], ...] = ()


def numeric(constants: Iterable[float | str]) -> list[float]:
    """Those that are no text."""
    return [constant for constant in constants if not isinstance(constant, str)]


WIDE = frozenset(["wide"])
"""The tags of a set of inputs whose only special numbers are integers beyond 2^24."""


@dataclass(frozen=True, slots=True)
class Designed:
    """One set of inputs.

    Attributes:
        inputs: name -> value; an optional input that is left out isn't in it, each model then uses its own default.
        kind: "plain"; "edge": ordinary numbers in an extraordinary place; "special": numbers on which runtimes that
            are right about everything else may part.
        why: what is extraordinary about it, "" if nothing is.
        tags: which special numbers it has: "nan", "inf", "denormal", "huge" (floats beyond 1e9), "wide" (integers
            beyond 2^24), "nul" (text with a zero byte).
        sparing: our executor takes long and is asked only where the files' own runtimes leave something open.
    """

    inputs: dict[str, Values]
    kind: Literal["plain", "edge", "special"] = "plain"
    why: str = ""
    tags: frozenset[str] = frozenset()
    sparing: bool = False
