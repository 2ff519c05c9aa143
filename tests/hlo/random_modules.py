"""Random HLO modules, valid by construction, with their inputs: `module(seed)`.

Each value is drawn with what is known of its numbers, so that a difference between two runtimes is a difference: floats
are dyadic fractions whose sums are exact, as long as `error` is 0, and only such are compared, rounded, sorted or made
integers. Integers wrap round as they like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from .random_values import DTYPES, Value, array_of, literal

Shape = tuple[int, ...]
FLOATS = ("f32", "f32", "f32", "f64", "f16", "bf16")
INTS = ("s32", "s32", "s32", "s64", "s8", "u8", "u32")
_MAGNITUDE = 4096.0


@dataclass
class Module:
    """`computations`: name -> lines, the entry last; `inputs` in the order of the parameters."""

    computations: dict[str, list[str]]
    inputs: list[np.ndarray[Any, Any]]
    errors: list[float]  # of each result: how far it may be away, 0 for integers and exact floats

    @property
    def text(self) -> str:
        last = list(self.computations)[-1]
        blocks = [
            "\n".join([f"{'ENTRY ' if name == last else ''}{name} {{", *(f"  {line}" for line in lines), "}"])
            for name, lines in self.computations.items()
        ]
        return "\n\n".join(["HloModule random", *blocks, ""])


@dataclass
class Maker:
    """What all computations of a module share."""

    random: Random
    special: bool = False  # inputs may be NaN, infinite, -0
    count: int = 0
    computations: dict[str, list[str]] = field(default_factory=dict)
    inputs: list[np.ndarray[Any, Any]] = field(default_factory=list)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def add(self, scope: Scope, root: str = "") -> str:
        """A finished computation, whose root is its last line, or another."""
        name = f"c{len(self.computations)}"
        lines = list(scope.lines)
        place = next((k for k, line in enumerate(lines) if line.startswith(f"{root} = ")), len(lines) - 1)
        lines[place] = f"ROOT {lines[place]}"
        self.computations[name] = lines
        return name


@dataclass
class Scope:
    """A computation that is being made."""

    maker: Maker
    depth: int = 0
    lines: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    @property
    def random(self) -> Random:
        return self.maker.random

    # instructions ------------------------------------------------------------------------------------

    def emit(self, like: Value, opcode: str, operands: Sequence[Value | str], attributes: str = "") -> Value:
        """A new instruction of the type, and with the bounds, of `like`."""
        name = self.maker.name()
        names = ", ".join(one if isinstance(one, str) else one.name for one in operands)
        more = f", {attributes}" if attributes else ""
        self.lines.append(f"{name} = {like.type} {opcode}({names}){more}")
        value = replace(like, name=name).settled()
        self.values.append(value)
        return value

    def emit_tuple(self, like: Sequence[Value], opcode: str, operands: Sequence[Value], attributes: str) -> list[Value]:
        """An instruction of several results (of one too, where it is a tuple all the same)."""
        name = self.maker.name()
        types = f"({', '.join(one.type for one in like)})"
        names = ", ".join(one.name for one in operands)
        self.lines.append(f"{name} = {types} {opcode}({names}){', ' if attributes else ''}{attributes}")
        return [self.emit(one, "get-tuple-element", [name], f"index={k}") for k, one in enumerate(like)]

    def constant(self, dtype: str, array: Any) -> Value:
        array = np.asarray(array, DTYPES[dtype])
        made = self.emit(Value.of(dtype, array), "constant", [literal(array, dtype)])
        self.values.pop()
        return made

    def number(self, dtype: str, number: float) -> Value:
        return self.constant(dtype, number)

    # operands ----------------------------------------------------------------------------------------

    def new(self, dtype: str, shape: Shape) -> Value:
        """A value out of nothing: a parameter, a constant, an iota, a number spread out."""
        kind = self.random.random()
        if not self.depth and kind < 0.7:
            array = array_of(self.random, dtype, shape, self.maker.special)
            self.maker.inputs.append(array)
            return self.emit(Value.of(dtype, array), "parameter", [str(len(self.maker.inputs) - 1)])
        if shape and kind < 0.85 and dtype not in ("pred", "c64"):
            axis = self.random.randrange(len(shape))
            bound = float(max(shape[axis] - 1, 1))
            return self.emit(Value("", dtype, shape, bound), "iota", [], f"iota_dimension={axis}")
        if shape and kind < 0.95:
            scalar = self.number(dtype, array_of(self.random, dtype, (), False))
            return self.emit(replace(scalar, shape=shape), "broadcast", [scalar], "dimensions={}")
        made = self.constant(dtype, array_of(self.random, dtype, shape, self.maker.special))
        self.values.append(made)
        return made

    def pick(self, accept: Callable[[Value], bool] = lambda value: True) -> Value:
        """One of the values, rather a late one."""
        found = [value for value in self.values if accept(value)]
        if not found:
            raise Missing
        if self.random.random() < 0.5:
            found = found[-6:]
        return self.random.choice(found)

    def like(self, value: Value, exact: bool = False) -> Value:
        """A value of the same type, often another one."""
        same = [
            one
            for one in self.values
            if one.dtype == value.dtype and one.shape == value.shape and not (exact and one.error)
        ]
        if same and self.random.random() < 0.75:
            return self.random.choice(same)
        return self.new(value.dtype, value.shape)

    def of(self, dtypes: Sequence[str], exact: bool = False, rank: tuple[int, int] = (0, 4)) -> Value:
        """A value of one of the types, of a rank between two."""
        try:
            return self.pick(
                lambda one: one.dtype in dtypes and rank[0] <= len(one.shape) <= rank[1] and not (exact and one.error)
            )
        except Missing:
            sizes = [self.random.choice((1, 2, 2, 3, 3, 4, 5)) for _ in range(self.random.randint(*rank))]
            return self.new(self.random.choice(list(dtypes)), tuple(sizes))

    def index(self) -> Value:
        """An integer scalar, as an index."""
        try:
            return self.pick(lambda one: one.shape == () and one.dtype in ("s32", "s64", "s8", "u8", "u32"))
        except Missing:
            return self.new("s32", ())


class Missing(Exception):
    """There is no such value."""


def module(seed: int) -> Module:
    """The module of a seed."""
    from .random_folds import OPERATORS
    from .random_loops import LOOPS

    random = Random(seed)
    maker = Maker(random, special=random.random() < 0.2)
    scope = Scope(maker)
    for _ in range(random.randint(1, 3)):
        dtype = random.choice((*FLOATS, *INTS, "pred", *(["c64"] if random.random() < 0.2 else [])))
        shape = tuple(random.choice((0, 1, 2, 3, 3, 4, 5)) for _ in range(random.randint(0, 4)))
        while np.prod(shape) > 120:
            shape = shape[1:]
        scope.new(dtype, shape)
    steps, loops = random.randint(3, 16), random.choice((0, 0.15, 0.3))
    while steps > 0:
        step = random.choice(LOOPS if random.random() < loops else OPERATORS)
        steps -= attempt(scope, step)
    return finish(scope)


def attempt(scope: Scope, step: Callable[[Scope], Any]) -> bool:
    """Let a step add instructions; without effect where it finds nothing to work on, or what it makes is too big."""
    lines, values = len(scope.lines), len(scope.values)
    inputs, computations = len(scope.maker.inputs), len(scope.maker.computations)
    try:
        step(scope)
        fits = all(value.modest() for value in scope.values[values:])
    except Missing:
        fits = False
    if not fits:
        del scope.lines[lines:], scope.values[values:], scope.maker.inputs[inputs:]
        for name in list(scope.maker.computations)[computations:]:
            del scope.maker.computations[name]
    return fits


def finish(scope: Scope) -> Module:
    random, maker = scope.random, scope.maker
    chosen = scope.values[-3:]
    chosen = [*chosen, *random.choices(scope.values, k=random.randint(0, 3))]
    types = ", ".join(value.type for value in chosen)
    scope.lines.append(f"ROOT results = ({types}) tuple({', '.join(value.name for value in chosen)})")
    maker.computations["main"] = scope.lines
    return Module(maker.computations, maker.inputs, [value.error for value in chosen])
