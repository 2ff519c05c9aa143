"""What every kernel stands on: typed attributes, errors, axes and accumulation types.

A kernel is a function `kernel(attrs, *inputs)` on NumPy values: `np.ndarray` (0-d for scalars, object
arrays of `str` for strings), `list` for a sequence, None for an input left out or an empty optional,
`dict` for a map. It returns one value, or a tuple for several outputs; outputs at the end that nobody
asked for may be missing. Inputs are never written to, and an output may be a view of an input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import ml_dtypes
import numpy as np

from ...passes.attributes import NodeAttributes
from ...passes.errors import BackedgeError
from ...passes.graph import Node
from ...passes.types import DType
from ...passes.windows import Windows, windows

Array = np.ndarray[Any, Any]
Kernel = Callable[..., Any]
Region = Callable[[list[Any]], list[Any]]
Made = TypeVar("Made")
Keep = Callable[[Callable[[], Array]], Array]
"""From a function that makes something of constants to what it made, maybe before."""


_MOST_WINDOWS = 64
"""Sizes whose windows a node remembers at once."""


class ExecutionError(BackedgeError):
    """A node failed while it ran: the shapes or values it met are not ones it can work on. Exit code 2."""


def _as_it_is(value: Array, *_: Any) -> Array:
    return value


def _whole(value: Array, function: Callable[[Array], Array] = np.rint, **_: Any) -> Array:
    return function(value)


class MachineKernels(Protocol):
    """Operators in machine code: their results, or None where NumPy is to compute them."""

    def conv(
        self, x: Array, w: Array, bias: Array | None, view: Windows, group: int, keep: Keep, /
    ) -> Array | None: ...

    def byte_product(self, a: Array, b: Array, a_zero: Array | None, b_zero: Array | None, /) -> Array | None: ...


class Attributes(NodeAttributes):
    """The attributes of one node, with the schema's defaults, and what else a kernel may ask.

    Attributes:
        outputs: how many outputs the node declares.
        wanted: for each of them, whether anybody asked for it.
        captured: how many inputs at the end are there for the regions only.
        constant: for each input, whether it is the same array in each call; none is known to be where it is empty.
        regions: name -> callable on a list of values (formal ones, then the captured ones).
        native: the machine code of operators that the graph's nodes share, if there is any.
        state: whatever the kernel keeps from one call to the next (a random generator).
        single: what float32 is computed in, a wider type where a run is to be more exact than the graph declares.
        rounded: what a kernel hands intermediate results through that a runtime rounds: they come back as they are, or
            with the errors of a run that is to have some.
        operated: the same for one arithmetic operation, which rounds nothing where the type holds what it gives.
        activated: the same for what a function gives in each pass of a recurrent network; `activated(value, rounded)`:
            which elements are only near what they are given as.
        between: the same for what a definition's steps hand on, halves as halves, as some runtimes have it.
        turned: the same for the terms of a Fourier transform, of which the rounding of its factors makes some of an
            imaginary part where there was none.
        computed: the same for numbers on their way to whole ones; `computed(value, units, divisor)`: a runtime is off
            by up to so many units of float32; `divisor`: by what was divided last, if anything was.
        weights: the same for numbers that come from sizes or attributes alone, which a file may hold as constants of
            the operands' type, rounded.
        whole: makes whole numbers, `whole(value, function)` with what rounds (np.rint), in sight of a run that watches
            or forces such steps. It takes what it should know of the step by name: `zero`, `low`, `high` and `part` as
            `runtime.wide.steps.Step` has them.
    """

    __slots__ = (
        "_prepared",
        "_windows",
        "activated",
        "between",
        "captured",
        "computed",
        "constant",
        "native",
        "operated",
        "outputs",
        "regions",
        "rounded",
        "single",
        "state",
        "turned",
        "wanted",
        "weights",
        "whole",
    )

    def __init__(self, node: Node, regions: Mapping[str, Region] | None = None) -> None:
        super().__init__(node)
        self.outputs = len(node.outputs)
        self.wanted = tuple(bool(value.name) for value in node.outputs)
        self.captured = node.captured
        self.constant: tuple[bool, ...] = ()
        self.native: MachineKernels | None = None
        self._windows: dict[tuple[tuple[int, ...], tuple[int, ...]], Windows] = {}
        self._prepared: dict[tuple[str, tuple[int, ...]], Any] = {}
        self.regions = dict(regions or {})
        self.single: np.dtype[Any] = np.dtype(np.float32)
        self.state: Any = None
        self.rounded: Callable[[Array], Array] = _as_it_is
        self.operated: Callable[[Array], Array] = _as_it_is
        self.activated: Callable[[Array, Array | None], Array] = _as_it_is
        self.between: Callable[[Array], Array] = _as_it_is
        self.turned: Callable[[Array], Array] = _as_it_is
        self.computed: Callable[..., Array] = _as_it_is
        self.weights: Callable[[Any], Any] = _as_it_is
        self.whole: Callable[..., Array] = _whole

    def prepared(self, positions: tuple[int, ...], make: Callable[[], Made], name: str = "") -> Made:
        """What `make` makes of the inputs at some positions: once if they are constants, anew in each call if not.

        Args:
            name: says which, where several things are made of them.
        """
        if not self.constant or any(self.constant[position : position + 1] == (False,) for position in positions):
            return make()
        key = name, positions
        if key not in self._prepared:
            self._prepared[key] = make()
        return self._prepared[key]

    def windows(self, spatial: tuple[int, ...], kernel: tuple[int, ...]) -> Windows:
        """The windows over spatial axes of these sizes, see `passes.windows.windows`; remembered."""
        found = self._windows.get((spatial, kernel))
        if found is None:
            if len(self._windows) >= _MOST_WINDOWS:
                self._windows.clear()
            found = self._windows[spatial, kernel] = windows(self, spatial, kernel)
        return found

    def dtype(self, name: str, default: DType | None = None) -> DType:
        """As declared; a run that is more exact than the graph declares computes in float64 instead."""
        found = super().dtype(name, default)
        named = bool(self.get(name)) or default is None
        return DType.FLOAT64 if named and found in COMPUTED and self.single != np.float32 else found

    def dtype_or(self, name: str, default: np.dtype[Any]) -> np.dtype[Any]:
        """As declared, or a type of this run, which needn't be one that models have."""
        return self.dtype(name).numpy if self.has(name) else default

    def precision(self, name: str, default: np.dtype[Any]) -> np.dtype[Any]:
        """The type that an attribute says to compute in; `default` where it is absent. A run that is more exact than
        the graph declares computes in its own."""
        return self.dtype(name, DType.of(default)).numpy if self.single == np.float32 else self.single


def normal_axis(axis: int, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        ValueError: there is no such axis.
    """
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for rank {rank}")
    return axis + rank if axis < 0 else axis


def normal_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, each of them once."""
    found = tuple(normal_axis(int(axis), rank) for axis in axes)
    if len(set(found)) < len(found):
        raise ValueError(f"axes {list(found)} name one axis twice")
    return found


def to_ints(value: Array) -> list[int]:
    """The elements of an integer tensor of any rank."""
    return [int(item) for item in value.reshape(-1).tolist()]


def element(value: Array) -> Any:
    """The one element of a tensor, in the tensor's own type."""
    if value.size != 1:
        raise ValueError(f"expected one element, got shape {list(value.shape)}")
    return value.reshape(-1)[0]


def scalar(value: Array) -> Any:
    """The one element of a tensor as a Python value."""
    if value.size != 1:
        raise ValueError(f"expected one element, got shape {list(value.shape)}")
    return value.item()


COMPUTED = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
"""The types below float64 that are computed in; narrower ones are for storage."""

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def between(x: Array, low: Any, high: Any) -> Array:
    """`x` cut off at scalars of its type, or None; NaN stays. NumPy's `clip` is many times as fast as its maximum."""
    if x.dtype.kind == "f":
        return np.clip(x, -np.inf if low is None else low, np.inf if high is None else high)
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def widened(x: Array) -> Array:
    """`x` in the type sums are made in: float32 for the 16-bit (and narrower) floats, else its own."""
    return x.astype(np.float32) if is_small_float(x.dtype) else x


def single_or_wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float64, or the wider floats of a run that is more exact than that, as they are; float32 for all others."""
    return dtype if dtype.kind == "f" and dtype.itemsize >= 8 else np.dtype(np.float32)


def doubled(x: Array) -> Array:
    """`x` in float64, or in the wider floats that a run more exact than that has."""
    return x if x.dtype.itemsize > 8 else x.astype(np.float64)


def weighted(elements: Array, weights: Array) -> Array:
    """Elements by their weights; what has none has no part, NaN and infinity either."""
    return np.where(weights != 0, elements * weights, 0)


def expect_shape(what: str, value: Array, shape: Sequence[int]) -> None:
    """Refuse an operand of another shape than its operator wants, be it one that NumPy broadcasts.

    Raises:
        ValueError: it is of another shape.
    """
    if value.shape != tuple(shape):
        raise ValueError(f"{what} of the shape {list(value.shape)}, which must be {list(shape)}")


def expect_broadcast(what: str, value: Array, shape: Sequence[int]) -> None:
    """Refuse an operand that isn't broadcast to a shape.

    Raises:
        ValueError: it has more axes, or other sizes than 1 and those of the shape.
    """
    laid = zip(reversed(value.shape), reversed(shape), strict=False)
    if value.ndim > len(shape) or any(size not in (1, other) for size, other in laid):
        raise ValueError(f"{what} {list(value.shape)} doesn't broadcast to {list(shape)}")


def per_channel(values: Array, x: Array) -> Array:
    """One value for each channel of x (N, C, ...), ready to broadcast with it; of x (N) there is one channel.

    Raises:
        ValueError: there are other channels.
    """
    channels = x.shape[1] if x.ndim > 1 else 1
    if values.shape != (channels,):
        raise ValueError(f"values of the shape {list(values.shape)} for {channels} channels")
    return values.reshape((-1,) + (1,) * max(x.ndim - 2, 0))


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or (dtype.kind == "V" and DType.of(dtype).is_float)


def is_small_float(dtype: np.dtype[Any]) -> bool:
    return dtype in HALVES or (dtype.kind in "Vf" and dtype.itemsize < 4 and is_float(dtype))


def in_float32(kernel: Kernel) -> Kernel:
    """Let a kernel over one element type compute 16-bit floats in float32 and round once at the end."""

    def wide(attrs: Attributes, x: Array, *others: Any) -> Any:
        if not is_small_float(x.dtype):
            return kernel(attrs, x, *others)
        result = kernel(attrs, widened(x), *(widened(o) if isinstance(o, np.ndarray) else o for o in others))
        return result.astype(x.dtype)

    wide.__name__, wide.__doc__ = kernel.__name__, kernel.__doc__
    return wide


def filled(shape: Sequence[int], dtype: np.dtype[Any], value: Any = None) -> Array:
    """An array of one value, by default zero (false, the empty string)."""
    if value is None:
        return np.full(shape, "", dtype) if dtype.kind == "O" else np.zeros(shape, dtype)
    return np.full(shape, value, dtype)
