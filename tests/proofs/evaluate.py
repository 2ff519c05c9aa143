"""The value of a term for random values of what it is made of: the executor's kernels, NumPy for resolved forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from backedge.convert.folding import computed_arrays
from backedge.passes.match.maker import Application, Maker
from backedge.passes.match.polynomials import Polynomial
from backedge.passes.match.terms import Term
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType, TensorType
from backedge.runtime.kernels.base import Attributes
from backedge.runtime.kernels.sequence import TABLE as CONTAINERS

_FORMS = ("$slice", "$select", "$if", "$elements")
LARGEST = 5
"""Of sizes and passes that are drawn."""


class Unknown(Exception):
    """A term that can't be evaluated: a sequence, a rank that isn't known, an operator that refuses the operands."""


class World:
    """One assignment of values to the terms that aren't computed from others."""

    def __init__(self, m: Maker, seed: int) -> None:
        self.m = m
        self.random = np.random.default_rng(seed)
        self.known: dict[Term, Any] = {}
        self.passes: dict[tuple[int, int], World] = {}

    def size(self, size: int | Polynomial) -> int:
        if isinstance(size, int):
            return size
        return sum(
            factor * math.prod(int(self.value(atom)) for atom in monomial) for monomial, factor in size.monomials
        )

    def value(self, term: Term) -> Any:
        if term not in self.known:
            self.known[term] = self._value(term)
        return self.known[term]

    def _value(self, term: Term) -> Any:
        m = self.m
        match term.op:
            case "$constant":
                assert term.data is not None
                return term.data.numpy()
            case "$integers":
                assert term.dtype is not None and term.static_shape is not None
                numbers = [_wrapped(self.size(one), term.dtype) for one in term.elements]
                return np.array(numbers, term.dtype.numpy).reshape(term.static_shape)
            case "$size":
                return self._size(term)
            case "$element":
                return self.operand(term, 0).reshape(-1)[term.attribute("index")]
            case "$pass" | "$passes" | "$broadcast":
                upper = [self.size(most) for most in m.table.most(term)]
                most = min([LARGEST, *upper])
                if most < 0:
                    raise Unknown
                return np.int64(self.random.integers(0, most + 1))
            case "$count":
                return np.maximum(self.operand(term, 0), 0)
            case "$stack":
                return self._stack(term)
            case "$slice" | "$select" | "$if" | "$elements":
                return self.form(
                    term.op, dict(term.attributes), [self.operand(term, i) for i in range(3) if i < len(term.operands)]
                )
            case _ if term.op.startswith("$"):
                return self.drawn(term)
        return self.applied(Application(term.op, term.operands, term.attributes))

    def operand(self, term: Term, index: int) -> Any:
        found = term.operands[index]
        assert found is not None
        return self.value(found)

    def form(self, op: str, attributes: dict[str, Any], operands: list[Any]) -> Any:
        """A resolved form that is no operator of the hub."""
        if op == "$elements":
            return list(operands[0])
        if op == "$if":
            condition, yes, no = operands
            return yes if bool(np.asarray(condition).all()) else no
        x = operands[0]
        if op == "$select":
            index, size = int(operands[1]), x.shape[attributes["axis"]]
            if not -size <= index < size:
                raise Unknown
            return x.take(index, attributes["axis"])
        for axis, start, count, step in zip(
            attributes["axes"], operands[1], operands[2], attributes["steps"], strict=True
        ):
            positions = int(start) + step * np.arange(int(count))
            if positions.size and not (positions.min() >= 0 and positions.max() < x.shape[axis]):
                raise Unknown
            x = x.take(positions, axis)
        return x

    def applied(self, one: Application) -> Any:
        """An operator on its operands' values."""
        values = [None if operand is None else self.value(operand) for operand in one.operands]
        if one.op in _FORMS:
            return self.form(one.op, dict(one.attributes), [value for value in values if value is not None])
        if one.op.startswith("$"):
            raise Unknown
        node = self.m.node(one.op, one.operands, one.attributes)
        if one.op in CONTAINERS:
            try:
                return CONTAINERS[one.op](Attributes(node), *values)
            except (ValueError, IndexError) as error:
                raise Unknown from error
        for value, operand, array in zip(node.inputs, one.operands, values, strict=True):
            if value is not None and operand is not None:
                if operand.dtype is None or not isinstance(array, np.ndarray | np.generic):
                    raise Unknown
                value.data = TensorData.of(np.asarray(array), operand.dtype)
                value.type = TensorType(operand.dtype, np.shape(array))
        for value, found in zip(node.outputs, self.m.infer_node(node), strict=False):
            value.type = found
        if node.output.tensor.dtype is None:
            raise Unknown
        arrays = computed_arrays(node)
        if arrays is None or arrays[0] is None:
            raise Unknown
        return arrays[0]

    def _stack(self, term: Term) -> Any:
        """The values of its element in all passes: what doesn't depend on the pass is as it is here."""
        assert term.element is not None and term.shape is not None
        count = self.size(term.shape[0])
        if not count:
            sizes = [size for size in term.shape if isinstance(size, Polynomial)]
            if any(atom.operands == (term,) for size in sizes for atom in size.atoms) or term.dtype is None:
                raise Unknown  # a size that only an element would tell
            return np.zeros([self.size(one) for one in term.shape], term.dtype.numpy)
        if not 0 < count <= 4 * LARGEST:
            raise Unknown
        values = [self._pass(term.attribute("group"), number).value(term.element) for number in range(count)]
        if len({np.shape(value) for value in values}) > 1:  # of sizes that were drawn pass by pass
            raise Unknown
        return np.stack(values)

    def _pass(self, group: int, number: int) -> World:
        """This world in a certain pass of the loops of a group."""
        if (group, number) not in self.passes:
            self.passes[group, number] = _Pass(self, group, number)
        return self.passes[group, number]

    def _size(self, atom: Term) -> Any:
        term = atom.operands[0]
        assert term is not None
        if term.op.startswith("$") and term.op not in (*_FORMS, "$stack"):  # a leaf, which is drawn by its sizes
            return np.int64(self.random.integers(1, LARGEST))
        return np.int64(self.value(term).shape[atom.attribute("axis")])

    def drawn(self, term: Term) -> Any:
        """Random values of the type of a term that is computed from nothing here."""
        if term.dtype is None or term.shape is None or term.dtype is DType.STRING:
            raise Unknown
        shape = tuple(self.size(one) for one in term.shape)
        if any(one < 0 for one in shape) or math.prod(shape) > 1 << 16:
            raise Unknown
        if term.dtype is DType.BOOL:
            return self.random.random(shape) < 0.5 if shape else np.bool_(self.random.random() < 0.5)
        if term.dtype.is_integer:
            low = -4 if term.dtype.is_signed else 0
            return np.asarray(self.random.integers(low, 8, shape)).astype(term.dtype.numpy)
        special = self.random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], shape)
        numbers = np.where(self.random.random(shape) < 0.15, special, self.random.normal(0, 3, shape))
        return np.asarray(numbers).astype(term.dtype.numpy)


class _Pass(World):
    def __init__(self, around: World, group: int, number: int) -> None:
        super().__init__(around.m, 0)
        self.random, self.around, self.group, self.number = around.random, around, group, number

    def value(self, term: Term) -> Any:
        if self.group not in term.open:
            return self.around.value(term)
        if term.op == "$pass" and term.attribute("context") == self.group:
            return np.int64(self.number)
        return super().value(term)


def _wrapped(number: int, dtype: DType) -> int:
    low, high = dtype.integer_limits
    return (number - low) % (high - low + 1) + low
