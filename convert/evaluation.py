"""Values of a certificate's terms: random ones, and what onnx's reference implementation computes of them."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from ..passes.graph import Graph, Node
from ..passes.loop import Carried, Condition, Entry, Iteration, Loop, Sliced, Stacked, is_if, is_loop, part_range
from ..passes.protos import ENUMS, attribute_to_proto
from ..passes.schemas import HUB_OPSETS
from ..passes.tensor import TensorData
from ..passes.types import DType

Json = dict[str, Any]
_ROUNDING = 1e-4
"""Relative, of operators that are no primitives."""
_LARGEST = 4
"""Of sizes and passes that are drawn."""
_COMPUTED = ("$slice", "$select", "$if", "$constant", "$integers", "$output")


_NONE = np.zeros(0)
_DRAWN = ("$input", "$variable", "$final", "$stack")


class Undefined(Exception):
    """No value in this world: operands that don't go together, or no tensor."""


class World:
    """Random values of the terms that aren't computed from others; `fixed` has those that are set."""

    def __init__(
        self,
        terms: list[Json],
        constants: dict[str, TensorData],
        turns: dict[int, Any],
        seed: int,
        fixed: dict[int, Any],
        numbers: np.ndarray[Any, Any] = _NONE,
    ) -> None:
        """
        Args:
            constants: of the files, by digest.
            turns: term of the number of a pass -> how many passes there are.
            numbers: that are drawn more often than others.
        """
        self.terms, self.constants, self.turns, self.seed, self.fixed = terms, constants, turns, seed, fixed
        self.numbers = numbers
        self.known: dict[int, Any] = dict(fixed)

    def at(self, iteration: int, number: int) -> World:
        """The same world in a certain pass."""
        return self.where({iteration: np.int64(number)})

    def where(self, fixed: dict[int, Any]) -> World:
        """The same world with other values of some terms."""
        return World(self.terms, self.constants, self.turns, self.seed, {**self.fixed, **fixed}, self.numbers)

    def size(self, size: Any) -> int:
        if isinstance(size, int):
            return size
        return sum(factor * math.prod(int(self.value(atom)) for atom in atoms) for factor, atoms in size)

    def value(self, index: Any) -> Any:
        """Of a term, or of a constant operand."""
        if index is None or isinstance(index, TensorData):
            return None if index is None else index.numpy()
        if index not in self.known:
            self.known[index] = self._value(index, self.terms[index])
        return self.known[index]

    def _value(self, index: int, term: Json) -> Any:
        op, attributes, operands = term["op"], term["attributes"], term["operands"]
        random = np.random.default_rng([self.seed, index])
        match op:
            case "$constant":
                return self._constant(term)
            case "$integers":
                low, high = DType(term["dtype"]).integer_limits
                numbers = [(self.size(one) - low) % (high - low + 1) + low for one in term["elements"]]
                return np.array(numbers, DType(term["dtype"]).numpy).reshape(term["shape"])
            case "$size" if operands[0] not in self.fixed and (
                self.terms[operands[0]]["op"].startswith("$") and self.terms[operands[0]]["op"] not in _COMPUTED
            ):
                return np.int64(random.integers(1, _LARGEST))
            case "$size":
                return np.int64(np.shape(self.value(operands[0]))[attributes["axis"]])
            case "$element":
                return np.asarray(self.value(operands[0])).reshape(-1)[attributes["index"]]
            case "$count":
                return np.maximum(self.value(operands[0]), 0)
            case "$broadcast":
                sizes = {self.size(one) for one in term["elements"]} - {1}
                return np.int64(defined(len(sizes) < 2) and max(sizes, default=1))
            case "$pass":
                most = self.size(self.turns[index])
                return np.int64(defined(most > 0) and random.integers(0, most))
            case "$passes":
                most = min([_LARGEST, *(self.size(one) for one in term["most"])])
                return np.int64(defined(most >= 0) and random.integers(0, most + 1))
            case "$if":
                return self.value(operands[1 if bool(np.all(self.value(operands[0]))) else 2])
            case "$slice":
                x, starts, sizes = map(self.value, operands)
                for axis, start, size, step in zip(attributes["axes"], starts, sizes, attributes["steps"], strict=True):
                    x = _taken(x, axis, int(start) + step * np.arange(max(int(size), 0)))
                return x
            case "$select":
                x, at = self.value(operands[0]), int(self.value(operands[1]))
                length = x.shape[attributes["axis"]]
                return _taken(x, attributes["axis"], np.asarray(at + length if -length <= at < 0 else at))
            case "$output":
                return self._applied(self.terms[operands[0]], attributes["index"])
        return self._drawn(term, random) if op.startswith("$") else self._applied(term, 0)

    def _applied(self, term: Json, index: int) -> Any:
        domain, _, name = term["op"].rpartition(".")
        attributes = {key: attribute_of(one) for key, one in term["attributes"].items()}
        return applied(domain, name, attributes, [self.value(one) for one in term["operands"]], index + 1)[index]

    def _constant(self, term: Json) -> Any:
        data = term.get("data")
        if data is None:
            return self.constants[term["attributes"]["content"]].numpy()
        if "texts" in data:
            return np.array(data["texts"], object).reshape(data["shape"])
        return np.frombuffer(base64.b64decode(data["bytes"]), DType(term["dtype"]).numpy).reshape(data["shape"])

    def _drawn(self, term: Json, random: np.random.Generator) -> Any:
        sizes: list[Any] | None = term.get("shape")
        if term["op"] not in _DRAWN or sizes is None or term["dtype"] in (None, "string"):
            raise Undefined
        shape = [self.size(one) for one in sizes]
        defined(min(shape, default=0) >= 0 and math.prod(shape) <= 1 << 20)
        return drawn(DType(term["dtype"]), shape, random, self.numbers, 0.2)


def drawn(
    kind: DType,
    shape: Sequence[int],
    random: np.random.Generator,
    numbers: np.ndarray[Any, Any],
    share: float,
    exactly: bool = False,
) -> np.ndarray[Any, Any]:
    """Random values of a type, a share of them at, beside and between `numbers`, where comparisons turn; `exactly`: all
    of them at these."""
    if kind is DType.BOOL:
        return np.asarray(random.random(shape) < 0.5)
    if kind.is_integer:
        plain = random.integers(-_LARGEST if kind.is_signed else 0, 2 * _LARGEST, shape).astype(np.float64)
    else:
        special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan], shape)
        plain = np.where(random.random(shape) < 0.1, special, random.normal(0, 2, shape))
    if numbers.size:
        one, other = random.choice(numbers, shape), random.choice(numbers, shape)
        single = one.astype(np.float32)
        beside = np.nextafter(single, random.choice(np.array([-np.inf, np.inf], np.float32), shape)).astype(np.float64)
        turn = np.choose(random.integers(0, 4, shape), [one, beside, (one + other) / 2, np.sqrt(np.abs(one * other))])
        plain = one if exactly else np.where(random.random(shape) < share, turn, plain)
    if kind.is_integer:
        low, high = kind.integer_limits
        plain = np.clip(np.nan_to_num(plain), float(low), float(high) / 2)
    with np.errstate(all="ignore"):
        return np.asarray(plain).astype(kind.numpy)


def numbers_of(arrays: Sequence[Any]) -> np.ndarray[Any, Any]:
    """The finite numbers of small arrays."""
    few = [np.asarray(one) for one in arrays if np.asarray(one).dtype.kind in "fiuV" and np.asarray(one).size <= 64]
    found = np.concatenate([np.zeros(0), *(one.astype(np.float64).reshape(-1) for one in few)])
    return np.unique(found[np.isfinite(found)])


def defined(holds: bool) -> bool:
    if not holds:
        raise Undefined
    return True


def _taken(x: Any, axis: int, positions: np.ndarray[Any, Any]) -> Any:
    defined(not positions.size or bool(positions.min() >= 0 and positions.max() < x.shape[axis]))
    return x.take(positions, axis)


def attribute_of(value: Any) -> Any:
    if isinstance(value, dict):
        return ENUMS[DType(value["dtype"])] if "dtype" in value else base64.b64decode(value["bytes"])
    return [attribute_of(one) for one in value] if isinstance(value, list) else value


def attributes_with_defaults(node: Node) -> Json:
    """A node's attributes with the defaults of its schema."""
    found: Json = {}
    for name, attribute in onnx.defs.get_schema(node.op_type, HUB_OPSETS[node.domain], node.domain).attributes.items():
        if attribute.default_value.name:
            found[name] = onnx.helper.get_attribute_value(attribute.default_value)
    found |= {name: value for name, value in node.attributes.items() if value is not None}
    return {name: comparable(value) for name, value in found.items()}


def comparable(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return [comparable(one) for one in value] if isinstance(value, list | tuple) else value


def applied(domain: str, op: str, attributes: Json, values: Sequence[Any], outputs: int) -> list[Any]:
    """The results of an operator of the hub, by onnx's reference implementation."""
    feed = {f"x{index}": np.asarray(value) for index, value in enumerate(values) if value is not None}
    names = [f"x{index}" if value is not None else "" for index, value in enumerate(values)]
    node = onnx.NodeProto(op_type=op, domain=domain, input=names, output=[f"y{index}" for index in range(outputs)])
    node.attribute.extend(attribute_to_proto(name, value) for name, value in attributes.items() if value is not None)
    given, wanted = ([onnx.ValueInfoProto(name=name) for name in some] for some in (feed, node.output))
    opsets = [onnx.helper.make_opsetid(name, version) for name, version in HUB_OPSETS.items() if name in ("", domain)]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], op, given, wanted), opset_imports=opsets)
    try:
        with np.errstate(all="ignore"):
            return list(ReferenceEvaluator(model).run(None, feed))
    except Exception as error:  # operands that don't go together, or none that it implements
        raise Undefined from error


def run_loop(node: Node, values: Sequence[Any]) -> list[Any]:
    """The results of a loop, run by its definition."""
    loop, count = Loop(node), 0
    limits = limits_of(loop, values)
    carried = {entry.indices: values[entry.indices.operand] for entry in loop.of(Carried)}
    stacks: dict[Any, list[Any]] = {entry.indices: [] for entry in loop.of(Stacked)}
    goes_on = values[1] is None or bool(np.all(values[1]))
    while goes_on and count < min([_LARGEST * _LARGEST, *limits]):
        inputs: list[Any] = []
        for entry in loop.entries:
            if entry.body_input is not None:
                state = carried.get(entry.indices)
                operand = values[entry.indices.operand] if entry.indices.operand >= 0 else None
                inputs.append(state if isinstance(entry.slot, Carried) else seen(entry, operand, count))
        results = run_graph(loop.body, inputs)
        for entry in loop.entries:
            if entry.body_output is not None:
                value = results[entry.indices.body_output]
                if isinstance(entry.slot, Condition):
                    goes_on = bool(np.all(value))
                elif isinstance(entry.slot, Carried):
                    carried[entry.indices] = value
                else:
                    stacks[entry.indices].append(value)
        count += 1
    defined(count < _LARGEST * _LARGEST and (count > 0 or not stacks))
    found = {**carried, **{key: laid_out(parts, key.slot) for key, parts in stacks.items()}}
    return [value for _, value in sorted((key.result, value) for key, value in found.items())]


def run_graph(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of a hub graph, by onnx's reference implementation."""
    known = {value: value.data.numpy() for value in graph.constants if value.data is not None}
    known |= dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.topological():
        values = [None if value is None else known[value] for value in node.inputs]
        if is_loop(node):
            results = run_loop(node, values)
        elif is_if(node):
            results = run_graph(node.regions["then" if bool(np.all(values[0])) else "else"], values[1:])
        else:
            results = applied(node.domain, node.op_type, node.attributes, values, len(node.outputs))
        known.update(zip(node.outputs, results, strict=True))
    return [known[value] for value in graph.outputs]


def limits_of(loop: Loop, values: Sequence[Any]) -> list[int]:
    found = [] if values[0] is None else [max(0, int(np.asarray(values[0]).reshape(-1)[0]))]
    for entry in loop.of(Sliced):
        assert isinstance(entry.slot, Sliced)
        found.append(part_range(entry.slot, values[entry.indices.operand].shape[entry.slot.axis])[1])
    return found


def seen(entry: Entry, operand: Any, number: int) -> Any:
    """What a body sees in a pass of what isn't carried."""
    slot = entry.slot
    if not isinstance(slot, Sliced):
        return (
            np.int64(number)
            if isinstance(slot, Iteration)
            else np.bool_(True)
            if isinstance(slot, Condition)
            else operand
        )
    first, count = part_range(slot, operand.shape[slot.axis])
    at = first + slot.stride * number
    defined(number < count)
    if slot.part is None:
        return operand.take(at, slot.axis)
    return operand.take(np.arange(slot.part) + (at - slot.part + 1 if slot.reversed else at), slot.axis)


def laid_out(parts: Sequence[Any], slot: Any) -> Any:
    """Elements of all passes, as a Stacked slot collects them."""
    ordered = list(parts)[::-1] if slot.reverse else list(parts)
    return np.stack(ordered, slot.axis) if slot.part is None else np.concatenate(ordered, slot.axis)


def equal(one: Any, other: Any, near: bool = False) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype == object or one.dtype.kind in "biu":
        return bool(np.array_equal(one, other))
    left, right = (array if array.dtype.kind == "c" else array.astype(np.float64) for array in (one, other))
    share = _ROUNDING if near else 0.0
    return bool(np.allclose(left, right, share, share, equal_nan=True))
