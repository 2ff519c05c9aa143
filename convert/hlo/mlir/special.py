"""Operations of StableHLO that aren't one opcode of HLO: dynamic ones, implicit broadcasts, calls by name.

Dynamic operations take sizes as operands. Where those follow from the sizes of the inputs they become HLO's own, with
sizes as text (`passes/sizes.py`) where HLO has numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Value
from ....passes.sizes import Size, at_least, computed, dims_of, open_size, size_of
from ....passes.types import Dim, DType, Shape, TensorType
from ..dialect import DOMAIN, META, Origin
from ..infer_open import padded
from ..text.tree import WindowDim
from . import operations
from .calls import read_call

if TYPE_CHECKING:
    from .reader import Reader
    from .scope import Scope


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a description; `results` are numbers with types, `blocks` its regions'."""

    name: str
    operands: list[int]
    attributes: dict[str, Any]
    results: list[Any]
    blocks: list[Any]
    location: str


Operands = Sequence[Value | None]
Special = Callable[["Reader", "Scope", Operation, Operands, Sequence[TensorType | None]], Sequence[Value | None]]


def _one(operands: Operands, index: int = 0) -> Value:
    value = operands[index] if index < len(operands) else None
    assert value is not None
    return value


def _stated(types: Sequence[TensorType | None], index: int = 0) -> TensorType:
    found = types[index]
    assert found is not None
    return found


# what is known of integers -----------------------------------------------------------------------------


def _items(reader: Reader, value: Value) -> list[Size | None]:
    """The elements of a vector, as far as they follow from the inputs' sizes."""
    known = reader.known.get(value)
    if known is None:
        return [None] * ((value.tensor.static_shape or (0,))[0])
    return [None if isinstance(item, bool) else item for item in known.reshape(-1)]


def _dims(reader: Reader, one: Operation, value: Value, stated: Shape) -> list[Dim]:
    """The sizes that an operand lists; those that the type states come first."""
    found: list[Dim] = [
        dim if isinstance(dim, int) else None if size is None else open_size(size)
        for dim, size in zip(stated, _items(reader, value), strict=True)
    ]
    if None in found:
        raise Unsupported(one.name, "a size of its result isn't a function of the inputs' sizes")
    return found


# broadcasts --------------------------------------------------------------------------------------------


def _spread(reader: Reader, scope: Scope, one: Operation, x: Value, dims: Sequence[int], result: TensorType) -> Value:
    """broadcast_in_dim: HLO's broadcast repeats along new dimensions only, so that sizes of 1 that grow are dropped.

    A known size other than 1 is the result's, too, since nothing else is valid.
    """
    shape, wanted = x.tensor.shape or (), list(result.shape or ())
    kept = [index for index, size in enumerate(shape) if size != 1 or wanted[dims[index]] == 1]
    for index in kept:
        size, stated = shape[index], wanted[dims[index]]
        if isinstance(size, int) and not isinstance(stated, int):
            wanted[dims[index]] = size
        elif size != stated:
            raise Unsupported(one.name, f"that the sizes {size} and {stated} are equal isn't certain")
    if result.shape is not None:
        result = TensorType(result.dtype, tuple(wanted))
    if len(kept) < len(shape):
        type = TensorType(x.tensor.dtype, tuple(shape[index] for index in kept))
        x = reader.node(scope, "reshape", [x], [type], {}, one.location).output
    places = tuple(dims[index] for index in kept)
    return reader.node(scope, "broadcast", [x], [result], {"dimensions": places}, one.location).output


def _broadcast_in_dim(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value]:
    result = _stated(types)
    if one.name.endswith("dynamic_broadcast_in_dim"):
        sizes = _dims(reader, one, _one(operands, 1), result.shape or ())
        result = TensorType(result.dtype, tuple(sizes))
    return [_spread(reader, scope, one, _one(operands), one.attributes["broadcast_dimensions"], result)]


def _broadcast(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value]:
    x, result = _one(operands), _stated(types)
    rank, more = x.rank or 0, len(result.shape or ())
    return [_spread(reader, scope, one, x, range(more - rank, more), result)]


def _select(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value | None]:
    """A predicate that is a scalar is that of all elements; HLO has it in full."""
    predicate, chosen = _one(operands), _one(operands, 1)
    if predicate.rank == 0 and chosen.rank:
        type = TensorType(predicate.tensor.dtype, chosen.tensor.shape)
        operands = [_spread(reader, scope, one, predicate, [], type), *operands[1:]]
    return reader.made(scope, one, "select", operands, types, {})


# dynamic operations ------------------------------------------------------------------------------------


def _dynamic_reshape(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value]:
    result = _stated(types)
    sizes = _dims(reader, one, _one(operands, 1), result.shape or ())
    return [
        reader.node(scope, "reshape", [operands[0]], [TensorType(result.dtype, tuple(sizes))], {}, one.location).output
    ]


def _dynamic_iota(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value]:
    result = _stated(types)
    sizes = tuple(_dims(reader, one, _one(operands), result.shape or ()))
    attributes = {"iota_dimension": one.attributes["iota_dimension"]}
    return [reader.node(scope, "iota", [], [TensorType(result.dtype, sizes)], attributes, one.location).output]


def _real_dynamic_slice(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value]:
    """A slice where starts and ends follow from sizes; else a part of known sizes at computed starts."""
    x, result = _one(operands), _stated(types)
    shape = x.tensor.shape or ()
    starts, limits, strides = (_items(reader, _one(operands, index)) for index in (1, 2, 3))
    if any(not isinstance(stride, int) for stride in strides):
        raise Unsupported(one.name, "its strides aren't known")
    rows = [row for row in zip(starts, limits, strides, strict=True) if _known(row)]
    if len(rows) == len(shape):
        columns = [[open_size(row[place]) for row in rows] for place in range(3)]
        attributes = operations.slice_dims(columns[0], columns[1], columns[2])
        sizes = [computed("floordiv", end - start + (stride - 1), stride) for start, end, stride in rows]
        type = TensorType(result.dtype, tuple(_checked(one, size) for size in sizes))
        return [reader.node(scope, "slice", [x], [type], attributes, one.location).output]
    if any(stride != 1 for stride in strides):
        raise Unsupported(one.name, "its strides aren't 1 and its starts are computed")
    part = _moving(reader, one, _one(operands, 1), _one(operands, 2), result.shape or ())
    at = [_start(reader, scope, one, _one(operands, 1), axis, shape[axis], part[axis]) for axis in range(len(shape))]
    attributes = {"dynamic_slice_sizes": tuple(part)}
    type = TensorType(result.dtype, tuple(part))
    return [reader.node(scope, "dynamic-slice", [x, *at], [type], attributes, one.location).output]


def _known(row: Sequence[Size | None]) -> TypeGuard[tuple[Size, Size, Size]]:
    return None not in row


def _checked(one: Operation, size: Size) -> Dim:
    low = at_least(size)
    if low is None or low < 0:
        raise Unsupported(one.name, f"its result's size {open_size(size)} may be negative")
    return open_size(size)


def _moving(reader: Reader, one: Operation, starts: Value, limits: Value, stated: Shape) -> list[Dim]:
    """The sizes of a part whose ends are its starts and its sizes, as JAX writes them."""
    maker = limits.producer
    if maker is not None and maker.op == (DOMAIN, "add") and starts in maker.inputs:
        other = maker.inputs[1 - maker.inputs.index(starts)]
        if other is not None:
            return _dims(reader, one, other, stated)
    if all(isinstance(dim, int) for dim in stated):
        return list(stated)
    raise Unsupported(one.name, "the sizes of its result aren't functions of the inputs' sizes")


def _start(reader: Reader, scope: Scope, one: Operation, vector: Value, axis: int, dim: Dim, size: Dim) -> Value:
    """One element of the starts. A dynamic slice clamps them by itself: a vector that is clamped so isn't clamped."""
    maker = vector.producer
    if maker is not None and maker.op == (DOMAIN, "clamp"):
        low, x, high = (_one(maker.inputs, index) for index in range(3))
        whole, part = size_of(dim), size_of(size)
        lowest, highest = (_element(reader, bound, axis) for bound in (low, high))
        if whole is not None and part is not None and lowest == 0 and highest == whole - part:
            vector, maker = x, x.producer
    if maker is not None and maker.op == (DOMAIN, "broadcast") and maker.inputs[0] is not None:
        source = maker.inputs[0]
        if source.rank == 0:
            return source
    if maker is not None and maker.op == (DOMAIN, "concatenate"):
        at = axis
        for value in maker.inputs:
            assert value is not None
            count = (value.tensor.static_shape or (0,))[0]
            if at < count:
                return _scalar(reader, scope, one, value, at)
            at -= count
    return _scalar(reader, scope, one, vector, axis)


def _element(reader: Reader, vector: Value, axis: int) -> Size | None:
    items = _items(reader, vector)
    return items[axis if len(items) > 1 else 0]


def _scalar(reader: Reader, scope: Scope, one: Operation, vector: Value, index: int) -> Value:
    maker = vector.producer
    if (
        maker is not None
        and maker.op == (DOMAIN, "reshape")
        and maker.inputs[0] is not None
        and not maker.inputs[0].rank
    ):
        return maker.inputs[0]
    dtype, count = vector.tensor.dtype, (vector.tensor.static_shape or (0,))[0]
    if count > 1:
        attributes = operations.slice_dims([index], [index + 1], [1])
        vector = reader.node(scope, "slice", [vector], [TensorType(dtype, (1,))], attributes, one.location).output
    return reader.node(scope, "reshape", [vector], [TensorType(dtype, ())], {}, one.location).output


def _dynamic_pad(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value]:
    result = _stated(types)
    parts = [_items(reader, _one(operands, index)) for index in (2, 3, 4)]
    if any(item is None for part in parts for item in part):
        raise Unsupported(one.name, "how much it pads isn't a function of the inputs' sizes")
    low, high, interior = ([None if item is None else open_size(item) for item in part] for part in parts)
    attributes = operations.pad_dims(low, high, interior)
    node = reader.node(scope, "pad", operands[:2], [result], attributes, one.location)
    node.output.type = TensorType(result.dtype, padded(node))
    return [node.output]


def _dynamic_gather(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value | None]:
    x = _one(operands)
    sizes = _dims(reader, one, _one(operands, 2), (None,) * (x.rank or 0))
    attributes = operations.gather({**one.attributes, "slice_sizes": sizes}, ())
    return reader.made(scope, one, "gather", operands[:2], types, attributes)


def _dynamic_conv(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value | None]:
    padding = reader.known.get(_one(operands, 2))
    if padding is None or any(item is None for item in padding.reshape(-1)):
        raise Unsupported(one.name, "its padding isn't a function of the inputs' sizes")
    pads = [[open_size(item) for item in row] for row in padding.reshape(-1, 2)]
    tensors = [_one(operands, index).tensor for index in range(2)]
    attributes = operations.convolution({**one.attributes, "padding": pads}, tensors)
    return reader.made(scope, one, "convolution", operands[:2], types, attributes)


# calls by name -----------------------------------------------------------------------------------------


def _custom_call(
    reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any
) -> Sequence[Value | None]:
    target = str(one.attributes.get("call_target_name", ""))
    if target == "ApproxTopK" and isinstance(one.attributes.get("mhlo.backend_config"), dict):
        return _approximate_top_k(reader, scope, one, operands, types)
    if target.startswith("chlo."):  # which stood aside while the bindings expanded others
        return reader.plain(scope, replace(one, name=target), operands)
    dynamic = _DYNAMIC_CALLS.get(target.removeprefix("stablehlo.").removeprefix("mhlo."))
    if dynamic is not None:
        return dynamic(reader, scope, one, operands, types)
    shaped = one.attributes.get("indices_of_shape_operands")
    stated = list(types)
    if isinstance(shaped, list) and shaped:
        shaped = [int(item) for item in np.array(shaped).reshape(-1)]
        for place, index in enumerate(shaped):
            type = _stated(types, place)
            stated[place] = TensorType(type.dtype, tuple(_dims(reader, one, _one(operands, index), type.shape or ())))
        operands = [value for index, value in enumerate(operands) if index not in shaped]
    attributes, origin = read_call(one.attributes, operands, stated)
    node = reader.node(scope, "custom-call", operands, stated, attributes, one.location)
    if origin != Origin():
        node.meta = {**(node.meta or {}), META: replace(origin, name=node.name)}
    return node.outputs


def _dynamic_reduce_window(
    reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any
) -> list[Value | None]:
    """jax.export's: operands, initial values, then window, strides, dilations and padding; the computation is a
    function that it calls."""
    count = len(types)
    lists = [reader.known.get(_one(operands, 2 * count + index)) for index in range(5)]
    if any(found is None or any(item is None for item in found.reshape(-1)) for found in lists):
        raise Unsupported(one.name, "its window isn't a function of the inputs' sizes")
    sizes, strides, base, dilations, padding = (found for found in lists if found is not None)
    windows = tuple(
        WindowDim(*map(open_size, (size, stride, low, high, left, right)))  # type: ignore[arg-type]
        for size, stride, left, right, (low, high) in zip(
            sizes, strides, base, dilations, padding.reshape(-1, 2), strict=True
        )
    )
    callee = (one.attributes.get("called_computations") or [""])[0]
    function = reader.description["functions"].get(callee)
    if function is None or function["block"] is None:
        raise Unsupported(one.name, "its computation isn't known")
    block = function["block"]
    called = replace(one, name="stablehlo.reduce_window", blocks=[block])
    return reader.made(scope, called, "reduce-window", operands[: 2 * count], types, {"window": windows})


def _dynamic_top_k(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value | None]:
    known = reader.known.get(_one(operands, 1))
    k = None if known is None else known.reshape(-1)[0]
    if k is None:
        raise Unsupported(one.name, "k isn't a function of the inputs' sizes")
    attributes = {"k": open_size(k), "largest": True}
    return reader.made(scope, one, "topk", operands[:1], types, attributes)


def _dynamic_random_bits(
    reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any
) -> list[Value | None]:
    state, bits = _stated(types), _stated(types, 1)
    sizes = tuple(_dims(reader, one, _one(operands, 1), bits.shape or ()))
    names = ("rng_default", "rng_three_fry", "rng_philox")
    algorithm = one.attributes.get("rng_algorithm", 0)
    algorithm = names[algorithm] if isinstance(algorithm, int) else f"rng_{str(algorithm).lower()}"
    stated = [state, TensorType(bits.dtype, sizes)]
    return reader.made(scope, one, "rng-bit-generator", operands[:1], stated, {"algorithm": algorithm})


def _random(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value | None]:
    """HLO states the sizes, which are an operand here."""
    stated = _stated(types)
    sizes = tuple(_dims(reader, one, _one(operands, 2), stated.shape or ()))
    attributes = operations.OPERATIONS["rng"].read(one.attributes, [])
    return reader.made(scope, one, "rng", operands[:2], [TensorType(stated.dtype, sizes)], attributes)


_DYNAMIC_CALLS: Mapping[str, Special] = {
    "dynamic_reduce_window": _dynamic_reduce_window,
    "dynamic_rng_bit_generator": _dynamic_random_bits,
    "dynamic_top_k": _dynamic_top_k,
}
"""Custom calls of jax.export that stand for operations with open sizes."""


# CHLO --------------------------------------------------------------------------------------------------


def _square(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value | None]:
    return reader.made(scope, one, "multiply", [operands[0], operands[0]], types, {})


def _conj(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value | None]:
    x = _one(operands)
    dtype = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}.get(x.tensor.dtype or DType.BOOL)
    if dtype is None:
        return [x]
    part = TensorType(dtype, x.tensor.shape)
    real, imaginary = (reader.node(scope, name, [x], [part], {}, one.location).output for name in ("real", "imag"))
    negated = reader.node(scope, "negate", [imaginary], [part], {}, one.location).output
    return reader.made(scope, one, "complex", [real, negated], types, {})


def _atan(reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any) -> list[Value | None]:
    """HLO has no opcode for it."""
    return reader.made(scope, one, "custom-call", operands, types, {"custom_call_target": one.name})


def _approximate_top_k(
    reader: Reader, scope: Scope, one: Operation, operands: Operands, types: Any
) -> list[Value | None]:
    """ApproxTopK: the first of what is sorted by a comparison, exactly, as XLA has it on the CPU."""
    config, count = one.attributes["mhlo.backend_config"], len(types)
    block = reader.description["functions"][one.attributes["called_computations"][0]]["block"]
    axis, k = config["reduction_dim"], config["top_k"]
    called = replace(one, name="stablehlo.sort", blocks=[block])
    stated = [_one(operands, index).tensor for index in range(count)]
    attributes = {"dimensions": (axis % (stated[0].rank or 1),), "is_stable": True}
    whole = reader.made(scope, called, "sort", operands[:count], stated, attributes)
    found: list[Value | None] = []
    for value in whole:
        assert value is not None
        shape = dims_of(value.tensor.shape)
        assert shape is not None
        limits = [k if index == attributes["dimensions"][0] else size for index, size in enumerate(shape)]
        type = TensorType(value.tensor.dtype, tuple(limits))
        part = operations.slice_dims([0] * len(shape), limits, [1] * len(shape))
        found += reader.node(scope, "slice", [value], [type], part, one.location).outputs
    return found


SPECIAL: Mapping[str, Special] = {
    "chlo.atan": _atan,
    "broadcast": _broadcast,
    "broadcast_in_dim": _broadcast_in_dim,
    "chlo.conj": _conj,
    "chlo.square": _square,
    "custom_call": _custom_call,
    "dynamic_broadcast_in_dim": _broadcast_in_dim,
    "dynamic_conv": _dynamic_conv,
    "dynamic_gather": _dynamic_gather,
    "dynamic_iota": _dynamic_iota,
    "dynamic_pad": _dynamic_pad,
    "dynamic_reshape": _dynamic_reshape,
    "real_dynamic_slice": _real_dynamic_slice,
    "rng": _random,
    "select": _select,
}
