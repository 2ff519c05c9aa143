"""What a model takes, found by asking it: sizes, and rows of categories.

Networks of many strides take no small images, recognizers lines of one height only, speech models windows of one
length. Where a model refuses most of the designed sizes, sizes are drawn for each open dimension until some are
accepted, and from then on half of the draws change one dimension of an accepted set. Encoders refuse what isn't among
the categories of a column: rows are drawn from all categories until some are accepted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from ...passes.types import Dim, DType, Interval, OptionalType, SequenceType, TensorType, Type
from ..oracles import Values
from .inputs import Draft, design, elements_of, symbols_of, tensor_types
from .signature import Signature

_PROBES = 12
_ENOUGH = 9  # of the probes
_DRAWS = 300
_SECONDS = 20.0
_WANTED = 8
_MOST_TAKEN = 2  # of them from the probes
_AGAIN = 4  # so many more sets of a probe's sizes are tried until one is taken
_MOST_ROWS = 24
_SAME = 0.3
_BATCH = (1, 2, 3, 1, 2, 4, 5)
_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 416)
_SIZES += (512, 576, 640)
_SCALES = ((8, 64), (8, 200), (1, 64), (8, 640), (1, 640))
"""Least and largest size, in turn: neither images of a few pixels, most of them border, nor large ones at first."""

_MOST_ELEMENTS = 1 << 19  # of all inputs


Accepts = Callable[[dict[str, Values]], bool]


def accepted(signature: Signature, accepts: Accepts, seed: int) -> Signature:
    """The signature itself where `accepts` takes most of what is designed for it, else one with `sizings` or `rows`.

    Args:
        accepts: runs the model on a set of inputs; whether it gives results.
    """
    if not has_open_sizes(signature):
        return signature
    taken = [batch for batch in design(signature, _PROBES, seed) if accepts(batch)]
    if len(taken) >= _ENOUGH:
        return signature
    rows = _rows(signature, accepts, seed)
    if rows:
        return replace(signature, rows=rows)
    found = _Search(signature, accepts, seed).run(taken)
    return found if found.sizings else signature


def has_open_sizes(signature: Signature) -> bool:
    """Whether the size of some dimension isn't fixed."""
    return not all(isinstance(dim, int) for spec in signature.inputs for dim in _dims(spec.type))


def _rows(signature: Signature, accepts: Accepts, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Rows that the model takes, of the inputs that go into encoders; {} where there are none."""
    encoded = {spec.name: spec.constants for spec in signature.inputs if spec.constants and _is_row(spec.type)}
    if not encoded:
        return {}
    random = np.random.default_rng([seed & 0xFFFFFFFF, len(encoded)])
    one = dict.fromkeys([*symbols_of(signature), ""], 1)
    end = time.monotonic() + _SECONDS
    found: dict[str, list[np.ndarray[Any, Any]]] = {name: [] for name in encoded}
    kept = 0
    for number in range(_DRAWS):
        if kept == _MOST_ROWS or time.monotonic() > end:
            break
        batch = Draft(signature, 4 * number, seed, one).values()
        for name, constants in encoded.items():
            old = batch[name]
            assert isinstance(old, np.ndarray)
            drawn = [constants[int(random.integers(len(constants)))] for _ in range(old.size)]
            batch[name] = np.array(drawn, object).reshape(old.shape).astype(old.dtype)
        if accepts(batch):
            kept += 1
            for name, rows in found.items():
                value = batch[name]
                assert isinstance(value, np.ndarray)
                rows.append(value)
    return {name: np.concatenate(rows) for name, rows in found.items()} if kept else {}


def _is_row(kind: Type | None) -> bool:
    """A tensor of texts or integers whose first dimension is open and no other."""
    if not isinstance(kind, TensorType) or not kind.shape or kind.dtype is None:
        return False
    first, *others = kind.shape
    fits = not isinstance(first, int) and all(isinstance(dim, int) for dim in others)
    return fits and (kind.dtype is DType.STRING or kind.dtype.is_integer)


def _dims(kind: Type | None) -> Iterator[Dim]:
    for tensor in tensor_types(kind):
        yield from tensor.shape or ()


class _Search:
    def __init__(self, signature: Signature, accepts: Accepts, seed: int) -> None:
        self.bounds: dict[str, tuple[int, int | None]] = {}
        inputs = [replace(spec, type=self._named(spec.type, spec.name)) for spec in signature.inputs]
        self.signature = replace(signature, inputs=inputs)
        self.accepts, self.seed = accepts, seed
        self.random = np.random.default_rng([seed & 0xFFFFFFFF, len(inputs)])
        self.leading = {
            dim for spec in inputs for kind in tensor_types(spec.type) for dim in (kind.shape or ())[:1]
        }  # batches, mostly
        self.sizes = sorted({*_SIZES, *signature.sizes})

    def _named(self, kind: Type | None, name: str) -> Type | None:
        """With a symbol for each open dimension of its own."""
        if isinstance(kind, SequenceType | OptionalType):
            element = self._named(kind.element, name)
            return kind if element is None else replace(kind, element=element)
        if not isinstance(kind, TensorType) or kind.shape is None:
            return kind
        shape: list[Dim] = []
        for axis, dim in enumerate(kind.shape):
            if isinstance(dim, int | str):
                shape.append(dim)
                continue
            symbol = f"{name}, axis {axis}"
            if isinstance(dim, Interval):
                self.bounds[symbol] = dim.lower, dim.upper
            shape.append(symbol)
        return replace(kind, shape=tuple(shape))

    def run(self, taken: Sequence[Mapping[str, Values]]) -> Signature:
        """The signature with sizes that the model takes, some of them those of the sets that it took already: what it
        refuses the others for may be their numbers."""
        symbols = symbols_of(self.signature)
        end = time.monotonic() + _SECONDS
        known = {tuple(self._sizes_of(batch, symbols).values()) for batch in taken}
        candidates = (dict(zip(symbols, sizes, strict=True)) for sizes in sorted(known, reverse=True))
        accepted = list(islice(filter(self._is_taken_again, candidates), _MOST_TAKEN))
        tried = {tuple(sizes.values()) for sizes in accepted}
        for number in range(_DRAWS):
            if len(accepted) == _WANTED or time.monotonic() > end:
                break
            scale = _SCALES[number * len(_SCALES) // _DRAWS]
            if accepted and number % 2:
                drawn = dict(accepted[int(self.random.integers(len(accepted)))])
                changed = symbols[int(self.random.integers(len(symbols)))]
                drawn[changed] = self._size(changed, *scale)
            else:
                drawn = self._drawn(symbols, *scale)
            key = tuple(drawn.values())
            if key in tried or elements_of(self.signature, drawn, 1) > _MOST_ELEMENTS:
                continue
            tried.add(key)
            if self._takes(drawn, 4 * len(accepted)):
                accepted.append(drawn)
        return replace(self.signature, sizings=tuple(accepted))

    def _takes(self, sizes: dict[str, int], number: int) -> bool:
        return self.accepts(Draft(replace(self.signature, sizings=(sizes,)), number, self.seed).values())

    def _is_taken_again(self, sizes: dict[str, int]) -> bool:
        """Whether other sets of these sizes are taken, too: of many rows one is often refused."""
        return any(self._takes(sizes, _PROBES + number) for number in range(_AGAIN))

    def _sizes_of(self, batch: Mapping[str, Values], symbols: Sequence[str]) -> dict[str, int]:
        found = dict.fromkeys(symbols, 1)
        for spec in self.signature.inputs:
            value = batch.get(spec.name)
            if isinstance(spec.type, TensorType) and isinstance(value, np.ndarray):
                pairs = zip(spec.type.shape or (), value.shape, strict=False)
                found |= {dim: size for dim, size in pairs if isinstance(dim, str)}
        return found

    def _drawn(self, symbols: Sequence[str], least: int, largest: int) -> dict[str, int]:
        """A size for each; dimensions of other names are often to be the same."""
        found: dict[str, int] = {}
        for symbol in symbols:
            same = bool(found) and self.random.random() < _SAME
            chosen = int(self.random.choice(list(found.values()))) if same else None
            found[symbol] = self._size(symbol, least, largest) if chosen is None else self._clamped(symbol, chosen)
        return found

    def _size(self, symbol: str, least: int, largest: int) -> int:
        is_batch = symbol in self.leading and self.random.random() < 0.8
        sizes = _BATCH if is_batch else [size for size in self.sizes if least <= size <= largest]
        return self._clamped(symbol, int(self.random.choice(sizes)))

    def _clamped(self, symbol: str, size: int) -> int:
        lower, upper = self.bounds.get(symbol, (0, None))
        return max(lower, size if upper is None else min(size, upper))
