"""Floats held wider than the graph declares, with rounding errors put in where one asks for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...passes.graph import Node, Value
from ...passes.loop import captured_by
from ...passes.types import HALVES, DType, OptionalType, SequenceType, TensorType, Type
from ..kernels.base import Array, Attributes, Kernel, is_float
from ..plan import Call
from .noise import UNITS, Noise, growth, is_another_product
from .steps import Step, Watch
from .terms import (
    ABSOLUTE,
    ANGLES,
    ARITHMETIC,
    FIRST_STEPS,
    FUNCTION,
    FUNCTIONS,
    LOGISTIC,
    MEANS,
    MOVES,
    NEVER_EXACT,
    POSITIONS,
    ROUNDED_INSIDE,
    SCALED,
    SHAKEN,
    SHARES,
    STEPPING,
    TERMS,
    WEIGHED,
)

_COMPARISONS = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})

_STORED_BITS = 8
"""Floats of so few bits are for storage: they stay what they are, as integers do."""


class Wide:
    """How the executor holds numbers in a run that is more exact than the graph.

    Attributes:
        real: float64, or longdouble for graphs that compute in float64.
        complex: the complex type of as many bits.
        noise: the rounding errors of this run; None: there are none.
        watch: sees the steps of this run; None: they are rounded as they come.
        margins: how far apart the two floats of each comparison of scalars were in this run, in order: what loops end
            by and branches are taken by.
        rounds_constants: floats are computed from constants alone, by operators that round.
    """

    def __init__(self, real: np.dtype[Any]) -> None:
        self.real = real
        self.complex = np.dtype(np.clongdouble if real == np.longdouble else np.complex128)
        self.noise: Noise | None = None
        self.watch: Watch | None = None
        self.margins: list[float] = []
        self._constants: set[Value] = set()
        self.rounds_constants = False

    def value(self, value: Any) -> Any:
        """A value with its floats widened, which is exact."""
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "c":
                return value.astype(self.complex, copy=False)
            if value.dtype.itemsize * 8 > _STORED_BITS and is_float(value.dtype):
                return value.astype(self.real, copy=False)
            return value
        if isinstance(value, np.floating | float):
            return np.asarray(value, self.real)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        return value

    def enter(self, node: Node) -> None:
        """Take note of the constants around a node that its regions capture: they are such inside, too."""
        for region in node.regions.values():
            pairs = captured_by(node, region).items()
            self._constants.update(inner for inner, outer in pairs if outer is not None and self._is_constant(outer))

    def call(self, node: Node, kernel: Kernel, attributes: Attributes) -> Call:
        """What runs one node."""
        plain = Attributes(node)
        attributes.single = self.real
        types = [element_type(value.type) for value in node.outputs]
        inputs = [None if value is None else element_type(value.type) for value in node.inputs]
        is_constant = bool(node.inputs) and all(value is None or self._is_constant(value) for value in node.inputs)
        if is_constant or _has_fixed_shape(node):
            self._constants.update(node.outputs)
            is_constant = True
        if (is_constant and _is_rounded_once(node)) or _is_of_bits(node, types):
            return lambda *values: self.value(kernel(plain, *_as_declared(values, inputs)))
        if node.op_type in _COMPARISONS and any(dtype is not None and dtype.is_float for dtype in inputs):
            return self._compared(kernel, attributes, inputs)
        operator = _Operator(self, node, kernel, attributes, inputs, types)
        if operator.is_exact:
            return operator
        first = [node.input(position) for position in FIRST_STEPS.get(node.op_type, ())]
        begins_constant = bool(first) and all(value is not None and self._is_constant(value) for value in first)
        self.rounds_constants |= is_constant or begins_constant or node.op_type in WEIGHED
        if is_constant:
            return _ConstantOperator(self, operator)
        if begins_constant:
            return operator.in_all_runs
        return operator

    def _compared(self, kernel: Kernel, attributes: Attributes, inputs: list[DType | None]) -> Call:
        def compare(one: Array, other: Array) -> Any:
            if self.noise is not None and not self.noise.is_drawn:
                one, other = _narrowed(self.noise, (one, other), inputs)
            if one.size == other.size == 1:
                self.margins.append(float(one.item() - other.item()))
            return kernel(attributes, one, other)

        return compare

    def _is_constant(self, value: Value) -> bool:
        return value in self._constants or (value.producer is None and value.data is not None)


class _Operator:
    """One node, run in wide numbers."""

    def __init__(
        self,
        wide: Wide,
        node: Node,
        kernel: Kernel,
        attributes: Attributes,
        inputs: list[DType | None],
        outputs: list[DType | None],
    ) -> None:
        name, self._name = node.op_type, node.outputs[0].name
        self._wide, self._kernel, self._attributes = wide, kernel, attributes
        self._noise: Noise | None = None  # of the call that is running: kernels ask for it
        self._inputs, self._outputs = inputs, outputs
        self._count = TERMS.get(name)
        self._shaken = SHAKEN.get(name, (0,)) if self._count is not None else ()
        is_absolute = name in ABSOLUTE or node.attributes.get("post_transform") in LOGISTIC
        self._least = 1.0 if is_absolute else 0.0  # what its errors are a share of at least
        self._inside, self._never_exact = name in ROUNDED_INSIDE, name in NEVER_EXACT
        self._is_mean = name in MEANS
        self._is_quotient, self._is_share = name == "Div", name in SHARES
        self._size = FUNCTION if name in FUNCTIONS or is_absolute else ARITHMETIC
        self._moves = name in MOVES or name in STEPPING
        self._has_floats = any(dtype is not None and dtype.is_float for dtype in outputs)
        if name in ("Cast", "CastLike"):
            self._size = 1.0
            self._moves = not _narrows(inputs[0] if inputs else None, outputs[0])
        self._terms, self._is_scaled = 1.0, False
        self._scaled = SCALED.get(name)
        self._placed = POSITIONS.get(name, 0)
        floats = (one for one in (*inputs[self._placed :], *outputs) if one is not None and one.is_float)
        self._inner = next(floats, DType.FLOAT32)
        attributes.rounded, attributes.computed, attributes.whole = self._rounded, self._computed, self._whole
        attributes.weights, attributes.operated, attributes.activated = self._weights, self._operated, self._activated
        attributes.between, attributes.turned = self._between, self._turned

    @property
    def is_exact(self) -> bool:
        """Whether nothing is rounded."""
        return self._moves or not self._has_floats

    def __call__(self, *values: Any) -> Any:
        noise = self._wide.noise
        return self.with_noise(None if noise is None or noise.in_constants else noise, values)

    def in_all_runs(self, *values: Any) -> Any:
        """As a call; rounded in runs that round what is computed from constants, too."""
        return self.with_noise(self._wide.noise, values)

    def with_noise(self, noise: Noise | None, values: tuple[Any, ...]) -> Any:
        """The outputs with these rounding errors; None: there are none."""
        self._noise = noise
        if noise is None or (self._moves and noise.is_drawn):
            return self._run(values)
        values = _narrowed(noise, values, self._inputs)
        if self._moves:
            return self._run(values)
        if self._is_share:
            return self._share(noise, self._run(values), values[0])
        if self._is_quotient:
            return self._quotient(noise, self._run(values), values[1])
        if not self._shaken:
            return self._each(noise, self._run(values))
        shaken, rounded = list(values), False
        for position in self._shaken:
            value = shaken[position] if position < len(shaken) else None
            if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
                dtype = self._inputs[position] or DType.FLOAT32
                rounded = rounded or not noise.exact(value, dtype).all()
                shaken[position] = noise.terms(value, dtype, self._terms, self._inside)
        if not (rounded or self._never_exact):
            result = self._run(values)
            if not self._is_mean or math.frexp(self._terms)[0] == 0.5:
                sums = result, self._run(_sizes(values)), self._run(self._some(noise, values))
                return self._each(noise, self._run(tuple(shaken)), sums)
        return self._each(noise, self._run(tuple(shaken)))  # nothing that is computed from it is exact

    def _run(self, values: tuple[Any, ...]) -> Any:
        result = self._wide.value(self._kernel(self._attributes, *values))
        if self._count is not None:
            self._note(values, result)
        return result

    def _rounded(self, value: Array) -> Array:
        """An intermediate result: off whatever it is, a mean of ones as well."""
        noise = self._noise
        return value if noise is None else noise.terms(value, self._inner, 1.0, self._inside)

    def _operated(self, value: Array) -> Array:
        """One operation of a kernel; those of halves are done in float32."""
        noise, kind = self._noise, DType.FLOAT32 if self._inner in HALVES else self._inner
        return value if noise is None else noise.result(value, kind, ARITHMETIC)

    def _between(self, value: Array) -> Array:
        """What one step of a definition hands on to the next: some runtimes round halves there, too."""
        noise = self._noise
        return value if noise is None else noise.result(value, self._inner, ARITHMETIC)

    def _turned(self, value: Array) -> Array:
        noise = self._noise
        if noise is None:
            return value
        return noise.terms(value.astype(self._wide.complex), self._inner, ANGLES * self._terms)

    def _quotient(self, noise: Noise, ratio: Array, divisor: Array) -> Array:
        kind = noise.rounded_type(self._inner)
        rounded = is_another_product(ratio, divisor, kind) if kind in UNITS else None
        made = noise.result(ratio, self._inner, self._size, rounded=rounded)
        if kind in HALVES:  # which some runtimes hand on as they computed them
            rounded = is_another_product(ratio, divisor, DType.FLOAT32)
            made = noise.result(made, DType.FLOAT32, self._size, rounded=rounded)
        return made

    def _share(self, noise: Noise, value: Array, operand: Array) -> Array:
        """A share of an operand: also where it is nothing, or all of it, as runtimes needn't find."""
        rounded = np.isfinite(operand) & (operand != 0)
        return noise.result(value, self._inner, self._size, np.maximum(np.abs(operand), 1), rounded)

    def _activated(self, value: Array, rounded: Array | None = None) -> Array:
        """What a pass hands on to the next: off by a share of 1 where libraries compute the function like that."""
        noise = self._noise
        return value if noise is None else noise.result(value, self._inner, self._size, self._least, rounded)

    def _weights(self, value: Any) -> Any:
        """Numbers that come from sizes or attributes alone: rounded in runs that round what is computed from constants,
        too."""
        noise = self._wide.noise
        return value if noise is None else noise.result(np.asarray(value), self._inner, 1.0)

    def _computed(self, value: Array, units: float, divisor: Array | None = None) -> Array:
        """Numbers on their way to whole ones, as a runtime computes them."""
        noise, dtype = self._noise, self._inputs[self._placed]
        if noise is None:
            return value
        kind = noise.rounded_type(dtype if dtype is not None and dtype.is_float else DType.FLOAT32)
        rounded = None if divisor is None or kind not in UNITS else is_another_product(value, divisor, kind)
        return noise.result(value, kind, units, rounded=rounded)

    def _whole(self, value: Array, function: Callable[[Array], Array] = np.rint, part: str = "", **known: Any) -> Array:
        """Whole numbers, in sight of who watches this run. What is no number stays as it is where nothing cuts it off,
        else NaN counts as 0."""
        kept = np.isnan(value) if "low" in known else ~np.isfinite(value)
        step = Step(self._name + part, np.where(kept, 0, value), function, **known)
        made = step.whole if self._wide.watch is None else self._wide.watch(step)
        return made if "low" in known else np.where(kept, value, made)

    def _some(self, noise: Noise, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands with half of the terms, chosen at random, in place of all."""
        some = list(values)
        for position in self._shaken:
            value = some[position] if position < len(some) else None
            if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
                some[position] = np.where(noise.half_of(value.shape), value, np.zeros((), value.dtype))
        return tuple(some)

    def _each(self, noise: Noise, moved: Any, sums: tuple[Any, ...] = ()) -> Any:
        """Results with their noise. `sums`: of the terms without theirs, of the terms' sizes, and of some terms."""
        if not isinstance(moved, tuple):
            return self._noisy(noise, moved, sums, 0)
        return tuple(self._noisy(noise, one, [made[index] for made in sums], index) for index, one in enumerate(moved))

    def _note(self, values: tuple[Any, ...], result: Any) -> None:
        first = result[0] if isinstance(result, tuple) else result
        if self._count is not None and isinstance(first, np.ndarray):
            self._terms = max(1.0, float(self._count(self._attributes, values, first)))
            self._is_scaled = self._scaled is not None and self._scaled(self._attributes, values, first)

    def _noisy(self, noise: Noise, moved: Any, sums: Sequence[Any], index: int) -> Any:
        """A sum was rounded nowhere where its type holds it, as well as what the terms' sizes and some of the terms add
        up to: all of 64 equal numbers have a sum as short as they are, 61 of them haven't."""
        if not isinstance(moved, np.ndarray) or moved.dtype.kind not in "fc":
            return moved
        dtype = (self._outputs[index] if index < len(self._outputs) else None) or DType.FLOAT32
        moved = noise.scaled(moved) if self._is_scaled else moved
        rounded = np.ones(moved.shape, bool) if self._never_exact and not self._shaken else None
        noisy = noise.result(moved, dtype, self._size * growth(self._terms), self._least, rounded)
        if not sums:
            return noisy
        return np.where(np.all([noise.exact(one, dtype) for one in sums], axis=0), sums[0], noisy)


class _ConstantOperator:
    """A node that has constants only. A file where that is computed already holds it rounded."""

    def __init__(self, wide: Wide, operator: _Operator) -> None:
        self._wide, self._operator = wide, operator
        self._known: tuple[Noise, Any] | None = None

    def __call__(self, *values: Any) -> Any:
        noise = self._wide.noise
        if noise is None or not noise.in_constants:
            return self._operator(*values)
        if self._known is None or self._known[0] is not noise:
            self._known = noise, self._operator.with_noise(noise, values)
        return self._known[1]


def _is_rounded_once(node: Node) -> bool:
    """What every reader computes from constants before it runs: what that is rounded to belongs to the model.

    Of floats that are as fine as this run's own nearly, only where they are stored narrower than they are used. Halves
    that are sums of many are made in several steps elsewhere, each of which rounds.
    """
    stored = node.op_type in ("Cast", "CastLike", "QuantizeLinear") and node.domain == ""
    return stored or (node.op_type not in TERMS and any(element_type(value.type) in HALVES for value in node.outputs))


def _narrowed(noise: Noise, values: tuple[Any, ...], dtypes: list[DType | None]) -> tuple[Any, ...]:
    """Operands as a runtime that computes float64 in float32 takes them."""
    return tuple(
        noise.rounded(value, dtype)
        if isinstance(value, np.ndarray) and dtype is not None and value.dtype.kind in "fc"
        else value
        for value, dtype in _paired(values, dtypes)
    )


def _sizes(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        np.abs(value) if isinstance(value, np.ndarray) and value.dtype.kind in "fc" else value for value in values
    )


def _paired(values: tuple[Any, ...], dtypes: list[DType | None]) -> list[tuple[Any, DType | None]]:
    return [(value, dtypes[index] if index < len(dtypes) else None) for index, value in enumerate(values)]


def element_type(type: Type | None) -> DType | None:
    """The element type of a tensor, or of what a sequence or optional is made of."""
    while isinstance(type, SequenceType | OptionalType):
        type = type.element
    return type.dtype if isinstance(type, TensorType) else None


def _narrows(source: DType | None, to: DType | None) -> bool:
    """A cast to a float that doesn't hold all numbers of the source."""
    return to is not None and to.is_float and (source is None or not to.holds(source))


def _is_of_bits(node: Node, types: list[DType | None]) -> bool:
    """What looks at the digits of a number, which are those of its declared type: BitCast, and casts to text."""
    return not node.domain and (
        node.op_type == "BitCast" or (node.op_type in ("Cast", "CastLike") and types == [DType.STRING])
    )


def _has_fixed_shape(node: Node) -> bool:
    if node.op_type not in ("Shape", "Size") or node.domain or node.inputs[0] is None:
        return False
    type = node.inputs[0].type
    return isinstance(type, TensorType) and type.shape is not None and all(isinstance(x, int) for x in type.shape)


def _as_declared(values: tuple[Any, ...], dtypes: list[DType | None]) -> list[Any]:
    return [
        value.astype(dtype.numpy)
        if isinstance(value, np.ndarray) and dtype is not None and value.dtype.kind == "f"
        else value
        for value, dtype in _paired(values, dtypes)
    ]
