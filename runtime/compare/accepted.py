"""What a model takes, found by asking it: sizes, rows of categories, and integers that lead to the declared sizes.

Networks of many strides take no small images, recognizers lines of one height only, speech models windows of one
length. Where a model refuses most of the designed sizes, sizes are drawn for each open dimension until some are
accepted, and from then on half of the draws change one dimension of an accepted set. Encoders refuse what isn't among
the categories of a column: rows are drawn from all categories until some are accepted. Where integers decide of which
size a result is that a model declares with fixed ones (of Resize, Slice, Pad), such integers are drawn.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from ...passes.types import Dim, DType, Interval, OptionalType, SequenceType, TensorType, Type
from ..oracles import Values
from .inputs import Draft, design, elements_of, symbols_of, tensor_types
from .signature import InputSpec, Signature

_PROBES = 12
_ENOUGH = 9  # of the probes
_PROBE_SECONDS = 10.0
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
_AFFORDABLE = 1.0  # seconds for one set
_RARE = 7  # sets of affordable sizes for one of larger ones
_MOST_INTEGERS = 16  # of one input
_INTEGER_SECONDS = 5.0
_AS_DECLARED = 0.7  # share of draws that are a result's own sizes, where there are as many


Accepts = Callable[[dict[str, Values]], bool]


def accepted(signature: Signature, accepts: Accepts, seed: int, shapes: Sequence[Sequence[int]] = ()) -> Signature:
    """The signature itself where `accepts` takes most of what is designed for it, else one with `sizings`, `rows` or
    `integers`.

    Args:
        accepts: runs the model on a set of inputs; whether it gives results.
        shapes: of the results for which the model declares fixed ones.
    """
    is_open = has_open_sizes(signature)
    deciding = [] if is_open or not shapes else [spec.name for spec in signature.inputs if _decides(spec)]
    if not is_open and not deciding:
        return signature
    taken: list[dict[str, Values]] = []
    end = time.monotonic() + _PROBE_SECONDS
    probed = 0
    for batch in design(signature, _PROBES, seed):
        taken += [batch] if accepts(batch) else []
        probed += 1
        if time.monotonic() > end:
            break
    if len(taken) * _PROBES >= _ENOUGH * probed:
        return signature
    if deciding:
        found = islice(_integers(signature, deciding, accepts, seed, shapes), _WANTED)
        return replace(signature, integers=tuple(found))
    rows = _rows(signature, accepts, seed)
    if rows:
        return replace(signature, rows=rows)
    found = _Search(signature, accepts, seed).run(taken)
    return found if found.sizings else signature


def affordable(
    signature: Signature, runs: Sequence[tuple[Mapping[str, Values], float]], accepts: Accepts, seed: int
) -> Signature:
    """The signature itself where most of its sets keep the model for a second at most, else one with `sizings`.

    Those are the sizes that were soon done with, and for every eighth set the next larger ones: what goes wrong along a
    batch doesn't show in a batch of one.

    Args:
        runs: sets of inputs and how many seconds the model ran on them, infinity where it was broken off.
        accepts: see `accepted`.
    """
    if not has_open_sizes(signature) or sum(spent > _AFFORDABLE for _, spent in runs) <= len(runs) // 4:
        return signature
    search = _Search(signature, accepts, seed)
    symbols = symbols_of(search.signature)
    fastest: dict[tuple[int, ...], float] = {}
    for batch, spent in runs:
        key = tuple(search.sizes_of(batch, symbols).values())
        fastest[key] = min(spent, fastest.get(key, math.inf))
    least = tuple(search.clamped(symbol, 1) for symbol in symbols)
    if min(fastest.values()) > _AFFORDABLE and search.takes(dict(zip(symbols, least, strict=True)), 0):
        fastest[least] = 0.0
    ranked = sorted(fastest, key=lambda key: fastest[key])
    cheap = [key for key in ranked if fastest[key] <= _AFFORDABLE][:_WANTED] or ranked[:1]
    others = [key for key in ranked if key not in cheap and math.isfinite(fastest[key])][:1]
    turns = [*(cheap * _RARE)[: max(len(cheap), _RARE)], *others] if others else cheap
    return replace(search.signature, sizings=tuple(dict(zip(symbols, key, strict=True)) for key in turns))


def has_open_sizes(signature: Signature) -> bool:
    """Whether the size of some dimension isn't fixed."""
    return not all(isinstance(dim, int) for spec in signature.inputs for dim in _dims(spec.type))


def _decides(spec: InputSpec) -> bool:
    """Whether it is a few integers that may decide of which size a result is."""
    kind = spec.type
    if not isinstance(kind, TensorType) or kind.dtype is None or not kind.dtype.is_integer or not spec.edges:
        return False
    count = math.prod(dim for dim in kind.shape or () if isinstance(dim, int))
    return 0 < count <= _MOST_INTEGERS and all(edge.kind not in ("trip", "condition") for edge in spec.edges)


def _integers(
    signature: Signature, names: Sequence[str], accepts: Accepts, seed: int, shapes: Sequence[Sequence[int]]
) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
    """Values of these inputs with which the model gives what it declares."""
    random = np.random.default_rng([seed & 0xFFFFFFFF, len(names), len(shapes)])
    sizes = {size for shape in shapes for size in shape}
    sizes |= {dim for spec in signature.inputs for dim in _dims(spec.type) if isinstance(dim, int)}
    pool = sorted({-1, 0, 1, 2, *sizes, *(size - 1 for size in sizes)})
    end = time.monotonic() + _INTEGER_SECONDS
    for number in range(_DRAWS):
        if time.monotonic() > end:
            break
        batch = Draft(signature, 4 * number, seed).values()
        drawn: dict[str, np.ndarray[Any, Any]] = {}
        for name in names:
            old = np.asarray(batch[name])
            fitting = [shape for shape in shapes if len(shape) == old.size]
            own = bool(fitting) and random.random() < _AS_DECLARED
            values = fitting[int(random.integers(len(fitting)))] if own else random.choice(pool, old.size)
            drawn[name] = np.maximum(values, np.iinfo(old.dtype).min).astype(old.dtype).reshape(old.shape)
        if accepts({**batch, **drawn}):
            yield drawn


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
        known = {tuple(self.sizes_of(batch, symbols).values()) for batch in taken}
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
            if self.takes(drawn, 4 * len(accepted)):
                accepted.append(drawn)
        return replace(self.signature, sizings=tuple(accepted))

    def takes(self, sizes: dict[str, int], number: int) -> bool:
        return self.accepts(Draft(replace(self.signature, sizings=(sizes,)), number, self.seed).values())

    def _is_taken_again(self, sizes: dict[str, int]) -> bool:
        """Whether other sets of these sizes are taken, too: of many rows one is often refused."""
        return any(self.takes(sizes, _PROBES + number) for number in range(_AGAIN))

    def sizes_of(self, batch: Mapping[str, Values], symbols: Sequence[str]) -> dict[str, int]:
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
            found[symbol] = self._size(symbol, least, largest) if chosen is None else self.clamped(symbol, chosen)
        return found

    def _size(self, symbol: str, least: int, largest: int) -> int:
        is_batch = symbol in self.leading and self.random.random() < 0.8
        sizes = _BATCH if is_batch else [size for size in self.sizes if least <= size <= largest]
        return self.clamped(symbol, int(self.random.choice(sizes)))

    def clamped(self, symbol: str, size: int) -> int:
        lower, upper = self.bounds.get(symbol, (0, None))
        return max(lower, size if upper is None else min(size, upper))
