"""A JAX program as a case that another process can judge: HLO text, inputs, what jax computes, how its loops look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend import core

from .programs import Program, arguments, expected, hlo_text

Shape = tuple[str, tuple[int, ...]]
"""Element type and sizes."""


@dataclass(frozen=True)
class Case:
    """`stacks`: the sequences that its scans read and write, as far as no loop carries anything of such a type."""

    name: str
    families: frozenset[str]
    text: str
    feeds: list[np.ndarray]
    wanted: list[np.ndarray]
    loose: bool  # its values needn't be jax's
    scans: int
    stacks: frozenset[Shape]

    @property
    def has_control_flow(self) -> bool:
        return " while(" in self.text or " conditional(" in self.text


def case_of(program: Program) -> Case:
    scans, stacks, carries = 0, set(), set()
    with jax.enable_x64(program.x64):
        jaxpr = jax.make_jaxpr(program.function)(*program.trees())
    for equation in _equations(jaxpr.jaxpr):
        if equation.primitive.name == "scan":
            constants, carried = equation.params["num_consts"], equation.params["num_carry"]
            sequences = [*equation.invars[constants + carried :], *equation.outvars[carried:]]
            scans += bool(sequences)
            stacks.update(_shape(variable) for variable in sequences)
            carries.update(_shape(variable) for variable in equation.outvars[:carried])
        elif equation.primitive.name == "while":
            carries.update(_shape(variable) for variable in equation.outvars)
    return Case(
        program.name,
        program.families,
        hlo_text(program),
        arguments(program),
        expected(program),
        program.drawn,
        scans,
        frozenset(stacks - carries),
    )


def _shape(variable: Any) -> Shape:
    return str(variable.aval.dtype), tuple(variable.aval.shape)


def _equations(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for value in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda leaf: isinstance(leaf, core.Jaxpr | core.ClosedJaxpr)
        ):
            if isinstance(value, core.ClosedJaxpr):
                yield from _equations(value.jaxpr)
            elif isinstance(value, core.Jaxpr):
                yield from _equations(value)
