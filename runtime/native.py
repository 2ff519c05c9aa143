"""Convolutions and products of 8-bit numbers by machine code, once a graph has done enough of them with NumPy."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..passes.windows import Windows
from .flat_images import Layout, channel_offsets, flat, layout, lies_flat, packed_filters
from .kernels.base import Array, Keep
from .machine_code import worth_loading

log = logging.getLogger(__name__)

Code = Callable[..., Any]

LOAD_AFTER, COMPILE_AFTER = (10_000_000_000, 4_000_000_000), 50_000_000_000
"""How many products make up for machine code: for loading it, before Numba is imported and after; for making it, which
is done once on a machine."""

_APART = 8
"""So many products of matrices take as long as one of a channel alone."""

_FLOAT = np.dtype(np.float32)

_READ = 16
"""The same of reading a number that is used for one product only."""

_FEW_ROWS = 16
_MOST_CONVOLUTIONS = 1024
"""So many shapes of convolutions are remembered."""

_MOST_TERMS = 2**31 // 255**2
"""So many products of 8-bit numbers without their zero points int32 adds up exactly."""

_ARGUMENTS = {
    "convolve_tiles": "float32 1, int64 0, int64 0, float32 5, float32 1, int64 1, float32 2",
    "convolve_channels": "float32 1, int64 0, float32 1, float32 1, int64 1, float32 2",
    "multiply_bytes int8": "int32 2, int8 2, int32 2",
    "multiply_bytes uint8": "int32 2, uint8 2, int32 2",
}
"""Functions of `compiled.windows` and `compiled.products`, behind some of them what they are for: the element types and
ranks of their arguments."""


@dataclass(frozen=True, slots=True)
class _Convolution:
    """How images of one shape are convolved with filters of one shape.

    Attributes:
        code: `convolve_channels` if each channel `is_alone` with its filter, else `convolve_tiles`.
        layout: how the images lie flat; `is_flat`: they do in memory already.
        steps: elements of an image, and of what a group takes of it.
        offsets: by how far positions are shifted for each element of a filter.
        no_bias: zeros, one for each filter.
    """

    code: Code
    layout: Layout
    is_alone: bool
    is_flat: bool
    steps: tuple[int, int]
    offsets: Array
    no_bias: Array


class Native:
    """The machine code that the operators of one graph share.

    As with loops, work decides when it is asked for, not a clock: sums are made in another order than NumPy's, so that
    results would differ from run to run. What was used once is always used again.

    Attributes:
        done: the work of all that was done by NumPy, in products of matrices.
    """

    def __init__(self) -> None:
        self.done = 0
        self._look_after: dict[str, int] = {}  # by function: looking for it takes a millisecond
        self._codes: dict[str, Code | None] = {}
        self._convolutions: dict[tuple[Any, ...], _Convolution] = {}

    def conv(self, x: Array, w: Array, bias: Array | None, view: Windows, group: int, keep: Keep) -> Array | None:
        """Conv (N, C, *spatial) -> (N, M, *output); None where there is no machine code, or it isn't worth it."""
        if x.dtype != _FLOAT or w.dtype != _FLOAT or (bias is not None and bias.dtype != _FLOAT):
            return None
        if bias is not None and bias.size != w.shape[0]:
            return None
        key = x.shape, w.shape, view, group
        planned = self._convolutions.get(key)
        if planned is None:
            planned = self._plan(*key)
            if planned is None:
                return None
            if len(self._convolutions) >= _MOST_CONVOLUTIONS:
                self._convolutions.clear()
            self._convolutions[key] = planned
        made = planned.layout
        out = np.empty((x.shape[0] * w.shape[0], made.positions), _FLOAT)
        numbers = planned.no_bias if bias is None else bias.reshape(-1)
        whole = x.reshape(-1) if planned.is_flat else flat(x, view, made)
        if planned.is_alone:
            planned.code(whole, made.each, w.reshape(-1), numbers, planned.offsets, out)
        else:
            packed = keep(lambda: packed_filters(w, group))
            planned.code(whole, *planned.steps, packed, numbers, planned.offsets, out)
        return made.cut(out, x.shape[0]).reshape(x.shape[0], w.shape[0], *view.output)

    def _plan(
        self, images: tuple[int, ...], filters: tuple[int, ...], view: Windows, group: int
    ) -> _Convolution | None:
        """How images of one shape are convolved; None where there is no machine code, or it isn't worth it yet."""
        if not math.prod(images) or not math.prod(filters) or not math.prod(view.output):
            return None
        if len(images) not in (3, 4) or len(filters) != len(images):
            return None
        if filters[1] * group != images[1] or filters[0] % group:
            return None
        is_alone = filters[1] == 1 and filters[0] == group
        products = images[0] * math.prod(view.output) * math.prod(filters)
        code = self._code("convolve_channels" if is_alone else "convolve_tiles", products * (_APART if is_alone else 1))
        if code is None:
            return None
        made = layout(view)
        is_flat = not is_alone and lies_flat(view)
        steps = images[1] * made.each, filters[1] * made.each
        offsets = made.offsets if is_alone else channel_offsets(view, filters[1])
        return _Convolution(code, made, is_alone, is_flat, steps, offsets, np.zeros(filters[0], _FLOAT))

    def byte_product(self, a: Array, b: Array, a_zero: Array | None, b_zero: Array | None) -> Array | None:
        """MatMulInteger of few rows (M, K) by 8-bit numbers (K, N) without their zero points: int32, exact; or None."""
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or not 0 < a.shape[0] <= _FEW_ROWS or not b.size:
            return None
        if a.dtype.itemsize > 1 or b.dtype.name not in ("int8", "uint8") or b.shape[0] > _MOST_TERMS:
            return None
        code = self._code(f"multiply_bytes {b.dtype.name}", a.shape[0] * b.size * _READ)
        if code is None:
            return None
        rows = a.astype(np.int32)
        if a_zero is not None:
            rows -= a_zero.astype(np.int32).reshape(-1, 1)
        out = np.empty((a.shape[0], b.shape[1]), np.int32)
        code(rows, b, out)
        if b_zero is not None:
            out -= rows.sum(axis=1, keepdims=True, dtype=np.int32) * b_zero.astype(np.int32)
        return out

    def _code(self, name: str, work: int) -> Code | None:
        """The machine code; None as long as it isn't worth it."""
        if name in self._codes:
            return self._codes[name]
        self.done += work
        if self.done < COMPILE_AFTER:
            if self.done < max(self._look_after.get(name, 0), worth_loading(*LOAD_AFTER)):
                return None
            if not _is_on_hand(name):
                self._look_after[name] = 2 * self.done
                return None
        self._codes[name] = _compiled(name)
        return self._codes[name]


@functools.cache
def _function(name: str) -> Any:
    """What is compiled: a call of one of `_ARGUMENTS`."""
    from .compiled.function import Argument, Function

    kinds = [one.split() for one in _ARGUMENTS[name].split(", ")]
    arguments = tuple(
        Argument(kind, tuple(f"n{place}_{axis}" for axis in range(int(rank))))
        for place, (kind, rank) in enumerate(kinds)
    )
    names = ", ".join(f"a{place}" for place in range(len(kinds)))
    return Function(f"def loop({names}):\n    {name.split()[0]}({names})\n    return (0,)\n", arguments, (), ())


def _is_on_hand(name: str) -> bool:
    from .compiled.cache import on_hand

    return on_hand(_function(name))


def _compiled(name: str) -> Code | None:
    from .compiled.cache import compiled
    from .compiled.call import writable
    from .compiled.tensors import Decline

    try:
        code = compiled(_function(name)).call
    except Decline:  # there is no Numba
        return None
    except Exception as error:  # a fault in making machine code must not cost an answer that NumPy has
        log.warning("%s is left to NumPy: %s: %s", name, type(error).__name__, error)
        return None
    return lambda *given: code(*[writable(one) if isinstance(one, np.ndarray) else one for one in given])
