"""All equalities, and the types of the forms that they lead to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..core import REDUCTIONS
from . import choice, containers, elementwise, integers, layout, reductions, selecting, slicing, stacks
from .maker import Application, Maker, Rule
from .terms import Typed

_MODULES = (layout, slicing, selecting, integers, reductions, elementwise, choice, containers, stacks)

RULES: Mapping[str, Sequence[Rule]] = {
    operator: [one for module in _MODULES for one in module.RULES.get(operator, ())]
    for operator in dict.fromkeys(operator for module in _MODULES for operator in module.RULES)
}
"""Operator -> the equalities with it on the left, in the order in which they are tried."""

TYPES: Mapping[str, Callable[[Maker, Application], Typed | None]] = {
    **dict.fromkeys(("Reshape", "Expand", "Transpose", "Gather", "Concat", layout.SLICE, layout.SELECT), layout.types),
    **dict.fromkeys(REDUCTIONS, reductions.types),
    choice.IF: choice.types,
    containers.ELEMENTS: containers.types,
}
