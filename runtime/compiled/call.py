"""Calling machine code: inputs as it takes them, results as arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .function import Array, Function

AT_RUN_TIME = (ValueError, IndexError, MemoryError, OverflowError)
"""How a compiled function says that it can't go on."""


class Ready:
    """A function with its machine code, on the inputs of the Loop node.

    Raises:
        ValueError (or another of `AT_RUN_TIME`): the function can't go on with these inputs.
    """

    __slots__ = ("_arguments", "_code", "_constants", "_outputs")

    def __init__(self, function: Function, code: Callable[..., tuple[Any, ...]]) -> None:
        self._code = code
        self._constants = [writable(array) for array in function.constants]
        self._arguments: list[tuple[int, Callable[[Any], Any]]] = []
        for place, argument in enumerate(function.arguments):
            if argument is not None:
                form = _number if argument.is_scalar else _vector if argument.is_small else writable
                self._arguments.append((place, form))
        self._outputs = [
            (output, math.prod(output.shape) if output.shape is not None else 0) for output in function.outputs
        ]

    def __call__(self, inputs: Sequence[Array | None]) -> list[Array]:
        found = self._code(*[form(inputs[place]) for place, form in self._arguments], *self._constants)
        outputs: list[Any] = []
        for output, count in self._outputs:
            if output.given >= 0:
                outputs.append(inputs[output.given])
            elif output.shape is None:
                outputs.append(found[output.first])
            else:
                outputs.append(np.array(found[output.first : output.first + count], output.kind).reshape(output.shape))
        return outputs


def _number(array: Array) -> Any:
    return array[()] if array.ndim == 0 else array.reshape(-1)[0]


def _vector(array: Array) -> Array:
    return writable(array.reshape(-1))


class _Writable:
    """An array's memory under another flag."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def writable(array: Array) -> Array:
    """The array, contiguous and aligned, and never marked read-only.

    For Numba read-only arrays are another type, so that each helper would be compiled for every mixture. No
    generated code writes to what it was handed.
    """
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned):
        array = np.require(array, requirements=("C", "A"))
    return array if array.flags.writeable else np.asarray(_Writable(array))
