"""A JAX program as a case that another process, without jax, can judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
from jax.extend import core

from .programs import Program, arguments, compiled_text, expected, hlo_text
from .stages import Case, Shape


def case_of(program: Program, compiled: bool = False) -> Case:
    """The case of a program: as jax writes it, or (`compiled`) as XLA's compiler leaves it."""
    scans, stacks, carries = 0, set(), set()
    with jax.enable_x64(program.x64):
        jaxpr = jax.make_jaxpr(program.function)(*program.trees())
    for equation in _equations(jaxpr.jaxpr):
        if equation.primitive.name == "scan":
            constants, carried = equation.params["num_consts"], equation.params["num_carry"]
            sequences = [*equation.invars[constants + carried :], *equation.outvars[carried:]]
            scans += bool(sequences) and equation.params["length"] > 0
            stacks.update(_shape(variable) for variable in sequences)
            carries.update(_shape(variable) for variable in equation.outvars[:carried])
        elif equation.primitive.name == "while":
            carries.update(_shape(variable) for variable in equation.outvars)
    return Case(
        program.name,
        program.families,
        compiled_text(program) if compiled else hlo_text(program),
        arguments(program),
        expected(program),
        program.drawn,
        program.refused,
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
