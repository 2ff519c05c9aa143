"""Whole loops as one function of machine code: tier 2 of the executor.

    run = compile_loop(node)          # None: some operator or type in the nest has no compiled form
    outputs = run(inputs)             # None: not for these inputs; the NumPy tier has to answer

The first call with a new kind of inputs (element types, ranks, which sizes are 1) writes a function for
them and has Numba compile it, or takes the machine code from disk; Numba isn't imported before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...passes.errors import BackedgeError
from ...passes.graph import Node
from ...passes.loop import is_loop
from .cache import Compiled, compiled, on_hand
from .function import Argument, Array, Function, describe, generate
from .operators import refusal
from .tensors import Decline

log = logging.getLogger(__name__)

_AT_RUN_TIME = (ValueError, IndexError, MemoryError, OverflowError)
"""How a compiled function says that it can't go on."""

__all__ = ["CompiledLoop", "compile_loop"]


def compile_loop(node: Node) -> CompiledLoop | None:
    """A compiled form of a canonical Loop with everything inside it, or None where there is none.

    Cheap: nothing is compiled and Numba isn't imported before the first call.
    """
    if not is_loop(node):
        return None
    why = refusal(node)
    if why is not None:
        log.debug("%r is not compiled: %s", node, why)
        return None
    return CompiledLoop(node)


class CompiledLoop:
    """A callable on the node's input arrays (None where left out).

    Gives the list of output arrays, with the dtypes and shapes that the NumPy tier would give, or None:
    these inputs can't be handled (a type that changes from pass to pass, an index out of range ...).

    Attributes:
        seconds: time spent on writing, compiling and loading so far.
        reason: why the last call was declined, else "".
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.seconds = 0.0
        self.reason = ""
        self._functions: dict[tuple[Argument | None, ...], Function | None] = {}
        self._code: dict[tuple[Argument | None, ...], Compiled | None] = {}

    def __call__(self, inputs: Sequence[Array | None]) -> list[Array] | None:
        self.reason = ""
        key = self._key(inputs)
        if key is None:
            return None
        function, code = self._written(key), self._machine_code(key)
        if function is None or code is None:
            self.reason = self.reason or "declined before"
            return None
        arguments = [
            _handed(array, argument)
            for array, argument in zip(inputs, key, strict=True)
            if array is not None and argument is not None
        ]
        try:
            found = code.call(*arguments, *map(_lent, function.constants))
        except _AT_RUN_TIME as error:
            self.reason = str(error)
            return None
        outputs: list[Array] = []
        for output in function.outputs:
            if output.given >= 0:
                given = inputs[output.given]
                assert given is not None
                outputs.append(given)
            elif output.shape is None:
                outputs.append(found[output.first])
            else:
                count = int(np.prod(output.shape, dtype=np.int64))
                numbers = found[output.first : output.first + count]
                outputs.append(np.array(numbers, output.kind).reshape(output.shape))
        return outputs

    def prepare(self, inputs: Sequence[Array | None]) -> bool:
        """Compile (or load) what a call with such inputs needs; whether it then won't be declined at once."""
        key = self._key(inputs)
        return key is not None and self._machine_code(key) is not None

    def is_ready(self, inputs: Sequence[Array | None]) -> bool:
        """Whether a call with such inputs needs no compiling: machine code is loaded or on disk."""
        key = self._key(inputs)
        if key is None or (function := self._written(key)) is None:
            return False
        return self._code.get(key) is not None or on_hand(function)

    def source(self, inputs: Sequence[Array | None]) -> str | None:
        """The Python function that stands for the loop with such inputs."""
        key = self._key(inputs)
        function = None if key is None else self._written(key)
        return None if function is None else function.source

    def _key(self, inputs: Sequence[Array | None]) -> tuple[Argument | None, ...] | None:
        try:
            return describe(inputs, self.node.inputs)
        except Decline as error:
            self.reason = str(error)
            return None

    def _written(self, key: tuple[Argument | None, ...]) -> Function | None:
        if key not in self._functions:
            self._functions[key] = self._attempt(lambda: generate(self.node, key))
        return self._functions[key]

    def _machine_code(self, key: tuple[Argument | None, ...]) -> Compiled | None:
        function = self._written(key)
        if function is None:
            return None
        if key not in self._code:
            found = self._code[key] = self._attempt(lambda: compiled(function))
            if found is not None:
                self.seconds += found.seconds
                log.info("%r: %s in %.3f s", self.node, "loaded" if found.from_disk else "compiled", found.seconds)
        return self._code[key]

    def _attempt(self, make: Callable[[], Any]) -> Any:
        """The result of `make`, or None with the reason why there is none."""
        try:
            return make()
        except (Decline, BackedgeError) as error:
            self.reason = str(error)
        except Exception as error:  # a gap in this module must not cost an answer that the NumPy tier has
            self.reason = f"{type(error).__name__}: {error}"
            log.warning("%r is left to the NumPy tier: %s", self.node, self.reason)
        return None


def _handed(array: Array, argument: Argument) -> Any:
    """An input as the function takes it: a number, or a contiguous array."""
    if argument.is_scalar:
        return array.reshape(-1)[0]
    return _lent(array.reshape(-1) if argument.is_small else array)


class _Loan:
    """An array's memory under another flag."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def _lent(array: Array) -> Array:
    """The array, contiguous and aligned, and never marked read-only.

    For Numba read-only arrays are another type, so that each helper would be compiled for every mixture. No
    generated code writes to what it was handed.
    """
    array = np.require(array, requirements=("C", "A"))
    return array if array.flags.writeable else np.asarray(_Loan(array))
