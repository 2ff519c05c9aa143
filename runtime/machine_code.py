"""When a loop's machine code is asked for."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..passes.core import CORE
from ..passes.graph import Node
from ..passes.loop import DOMAIN
from ..passes.threads import ForkableLock


class Compiled(Protocol):
    """A loop compiled as a whole: the node's inputs -> its outputs, or None where these inputs are none for it."""

    def __call__(self, inputs: list[Any], /) -> list[Any] | None: ...

    def is_ready(self, inputs: list[Any], /) -> bool:
        """Whether a call with such inputs needs no compiling: machine code is loaded or on disk."""
        ...


Compiler = Callable[[Node], Compiled | None]

COMPILE_AFTER = 300_000
"""How much work makes up for compiling a short body, Numba's import among it: about half a second's."""

LOAD_AFTER = 100_000, 5_000
"""The same for a loop whose machine code is on disk: before Numba is imported, which takes a third of a second, and
after."""

_LONG = 150
"""So many operators in a body take twice as long to compile as a few."""

_ELEMENTS = 4096
"""Computing so many elements takes as long as calling an operator, or two of them where they are weights."""

_HEAVY = 16
"""As much work is an operator whose kernel makes dozens of NumPy's calls: normalizations, windows, quantizers."""

_LIGHT = frozenset(
    [
        "Relu",
        "LeakyRelu",
        "Sigmoid",
        "HardSigmoid",
        "Clip",
        "Sum",
        "Mean",
        "Reciprocal",
        "Sign",
        "Gemm",
        "Softplus",
        "Softsign",
        "GreaterOrEqual",
        "LessOrEqual",
        "Xor",
        "Size",
        "Range",
        "Flatten",
        "Split",
        "Tile",
        "Trilu",
        "Swish",
        "ReduceMean",
        "ReduceL1",
        "ReduceL2",
        "ReduceSumSquare",
        "Softmax",
        "Sinh",
        "Cosh",
        "IsInf",
    ]
)
"""Operators that aren't core, and take a few of them."""

_HEAVY_FAMILIES = frozenset(("order", "window"))
_HEAVY_CORE = frozenset(("Conv", "ConvTranspose"))

_CALL = 10
"""The work of calling machine code."""

_MOST_DECLINED = 3
_MOST_KINDS = 1000


def worth_loading(before: int, after: int) -> int:
    """How much work makes up for loading machine code: `before` Numba is imported, and `after`."""
    return after if "numba" in sys.modules else before


def work(node: Node) -> int:
    """What one call of an operator on few numbers is worth."""
    if node.domain:
        return 1 if node.domain == DOMAIN else _HEAVY
    core = CORE.get(node.op_type)
    if core is None:
        return 1 if node.op_type in _LIGHT else _HEAVY
    return _HEAVY if core.family in _HEAVY_FAMILIES or node.op_type in _HEAVY_CORE else 1


class MachineCode:
    """A loop's machine code, asked for once the work of its passes makes up for getting it.

    The unit of work is a call of an operator on few numbers: a clock would make the last bits of results differ from
    run to run, since compiled sums and products are computed in another order.

    A loop around others counts what they do as its own work, and they wait twice as long for machine code of their
    own, so that a nest is compiled as a whole at the next of its outer passes.

    Args:
        node: the loop.
        compiler: makes the machine code when it is first asked for.
        around: of the loop in whose body it is.

    Attributes:
        operators: in its body, by their work.
        done: the work of all passes that were interpreted.
    """

    def __init__(self, node: Node, compiler: Compiler, around: MachineCode | None = None) -> None:
        self.operators = 1
        self.done = 0
        self._node = node
        self._around = around
        self._compiler: Compiler | None = compiler
        self._compiled: Compiled | None = None
        self._called: set[Any] = set()  # kinds of inputs that it took
        self._declined = 0
        self._look_after = 0
        self._lock = ForkableLock()

    def work_of(self, carried: Sequence[Any], captured: Sequence[Any]) -> int:
        """The work of one pass with such values."""
        largest = max((value.size for value in carried if isinstance(value, np.ndarray)), default=1)
        weights = sum(value.size for value in captured if isinstance(value, np.ndarray))
        return max(self.operators, 1) * (1 + largest // _ELEMENTS) + weights // (2 * _ELEMENTS)

    def outputs(self, inputs: Sequence[Any], certain: int = 0) -> tuple[Any, ...] | None:
        """The loop's outputs from its machine code; None where it isn't worth it yet, or there is none for these
        inputs.

        Args:
            certain: the work that will be done for these inputs.
        """
        if self._called and _kinds(inputs) in self._called:
            return self._call(inputs)
        total = self.done + certain
        if total < min(self._enough, self._next_look):
            return None
        self._ask_compiler()
        if self._compiled is None:
            return None
        if total >= self._enough or self._compiled.is_ready(list(inputs)):
            return self._call(inputs)
        self._look_after = 2 * total  # looking takes a millisecond: not at each call
        return None

    def tell_around(self, interpreted: int) -> None:
        """Count the work of a call for the loop around."""
        if self._around is not None:
            self._around.done += interpreted

    @property
    def is_used(self) -> bool:
        """Whether passes may have been run by machine code."""
        return bool(self._called)

    @property
    def next_question(self) -> float:
        """How much work may make `outputs` answer otherwise than it does now."""
        if not self._may_come:
            return math.inf
        return min((limit for limit in (self._next_look, self._enough) if limit > self.done), default=math.inf)

    @property
    def _may_come(self) -> bool:
        return self._compiled is not None or self._compiler is not None

    @property
    def _patience(self) -> int:
        return 1 if self._around is None or not self._around._may_come else 2

    @property
    def _enough(self) -> int:
        """How much work makes up for compiling."""
        return int(self._patience * COMPILE_AFTER * (1 + self.operators / _LONG))

    @property
    def _next_look(self) -> int:
        """From how much work on it is worth looking for machine code on disk."""
        return max(self._look_after, self._patience * worth_loading(*LOAD_AFTER))

    def _ask_compiler(self) -> None:
        with self._lock:
            if self._compiler is not None:
                self._compiled, self._compiler = self._compiler(self._node), None

    def _call(self, inputs: Sequence[Any]) -> tuple[Any, ...] | None:
        compiled = self._compiled
        if compiled is None:
            return None
        results = compiled(list(inputs))
        if results is not None:
            if len(self._called) == _MOST_KINDS:
                self._called.clear()
            self._called.add(_kinds(inputs))
            self.tell_around(_CALL)
            return tuple(results)
        self._declined += 1
        if self._declined == _MOST_DECLINED:
            self._compiled = None
        return None


def _kinds(inputs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([None if array is None else (array.dtype, array.shape) for array in inputs])
