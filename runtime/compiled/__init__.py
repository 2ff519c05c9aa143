"""Whole loops, and whole graphs, as one function of machine code: tier 2 of the executor.

    run = compile_loop(node)          # None: some operator or type in the nest has no compiled form, or no Numba
    outputs = run(inputs)             # None: not for these inputs; the NumPy tier has to answer

The first call with a new kind of inputs (element types, ranks, which sizes are 1) writes a function for
them and has Numba compile it, or takes the machine code from disk; Numba isn't imported before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...passes.errors import BackedgeError
from ...passes.graph import Graph, Node, Value
from ...passes.loop import is_loop
from .cache import can_compile, compiled, on_hand
from .call import AT_RUN_TIME, Ready
from .function import Argument, Array, Function, describe, fixed_operands, generate, generate_graph
from .operators import graphs_in, nests_too_deeply, refusal, type_refusal
from .tensors import Decline

if TYPE_CHECKING:
    from .halves import Widened

log = logging.getLogger(__name__)

_MOST_SHAPES = 1000
"""For how many shapes of inputs a loop remembers its function at once."""

Key = tuple[Argument | None, ...]

__all__ = ["CompiledCode", "CompiledLoop", "compile_graph", "compile_loop"]


def compile_loop(node: Node) -> CompiledLoop | WidenedLoop | None:
    """A compiled form of a canonical Loop with everything inside it, or None where there is none.

    Cheap: nothing is compiled and Numba isn't imported before the first call.
    """
    if not is_loop(node) or not can_compile():
        return None
    if nests_too_deeply(node.regions.values()):
        log.debug("%r is not compiled: too many regions stand in each other", node)
        return None
    why = type_refusal(graphs_in(node))
    if why is not None:
        from .halves import in_float32

        widened = in_float32(node)
        why = why if widened is None else type_refusal(graphs_in(widened.node))
        if widened is None or why is not None:
            log.debug("%r is not compiled: %s", node, why)
            return None
        loop = _of_code(widened.node)
        return None if loop is None else WidenedLoop(loop, widened)
    return _of_code(node)


def _of_code(node: Node) -> CompiledLoop | None:
    """A loop of types that have code."""
    if refusal(graphs_in(node)) is None:
        return CompiledLoop(node)
    from .legal import legal  # with all decompositions, which few loops need

    made = legal(node)
    return None if made is None else CompiledLoop(*made)


def compile_graph(graph: Graph) -> CompiledCode | None:
    """A compiled form of a whole hub graph whose sizes are known (`passes.structure.fixed_shapes`), or None."""
    if not can_compile() or nests_too_deeply([graph]):
        return None
    from .legal import legal_graph

    made = legal_graph(graph)
    return None if made is None else CompiledCode(graph.name, made.inputs, lambda key: generate_graph(made, key))


class CompiledCode:
    """A callable on input arrays (None where left out).

    Args:
        name: of what is compiled, for messages.
        declared: the values that the inputs are for.
        write: the function for inputs of a kind.
        fixed: inputs that are taken for constants with these values.

    Gives the list of output arrays, with the dtypes and shapes that the NumPy tier would give, or None:
    these inputs can't be handled (a type that changes from pass to pass, an index out of range ...).

    Attributes:
        seconds: time spent on compiling and loading so far.
        reason: why the last call was declined, else "".
    """

    def __init__(
        self,
        name: str,
        declared: Sequence[Value | None],
        write: Callable[[Key], Function],
        fixed: Mapping[int, Array] = MappingProxyType({}),
    ) -> None:
        self.seconds = 0.0
        self.reason = ""
        self._name, self._declared, self._write = name, declared, write
        self._fixed = fixed
        self._functions: dict[Key, Function | None] = {}
        self._ready: dict[Key, Ready | None] = {}
        self._by_shape: dict[Any, Ready | None] = {}

    def __call__(self, inputs: Sequence[Array | None]) -> list[Array] | None:
        shapes = tuple([None if array is None else (array.dtype, array.shape) for array in inputs])
        try:
            ready = self._by_shape[shapes]
        except KeyError:
            if len(self._by_shape) == _MOST_SHAPES:
                self._by_shape.clear()
            ready = self._by_shape[shapes] = self._prepared(inputs)
        if ready is None:
            self.reason = self.reason or "declined before"
            return None
        if not self._are_fixed(inputs):
            return None
        self.reason = ""
        try:
            return ready(inputs)
        except AT_RUN_TIME as error:
            self.reason = str(error) or type(error).__name__
            return None

    def _are_fixed(self, inputs: Sequence[Array | None]) -> bool:
        """Whether constants have their values: an input of the model may have one by default."""
        for operand, wanted in self._fixed.items():
            given = inputs[operand]
            if given is None or (given is not wanted and not np.array_equal(given, wanted)):
                self.reason = f"operand {operand} isn't the constant that the function is for"
                return False
        return True

    def prepare(self, inputs: Sequence[Array | None]) -> bool:
        """Compile (or load) what a call with such inputs needs; whether it then won't be declined at once."""
        return self._prepared(inputs) is not None

    def is_ready(self, inputs: Sequence[Array | None]) -> bool:
        """Whether a call with such inputs needs no compiling: machine code is loaded or on disk."""
        key = self._key(inputs)
        if key is None or (function := self._written(key)) is None:
            return False
        return self._ready.get(key) is not None or on_hand(function)

    def source(self, inputs: Sequence[Array | None]) -> str | None:
        """The Python function that stands for the loop with such inputs."""
        key = self._key(inputs)
        function = None if key is None else self._written(key)
        return None if function is None else function.source

    def _key(self, inputs: Sequence[Array | None]) -> Key | None:
        try:
            return describe(inputs, self._declared)
        except Decline as error:
            self.reason = str(error)
            return None

    def _written(self, key: Key) -> Function | None:
        if key not in self._functions:
            self._functions[key] = self._attempt(lambda: self._write(key))
        return self._functions[key]

    def _prepared(self, inputs: Sequence[Array | None]) -> Ready | None:
        key = self._key(inputs)
        function = None if key is None else self._written(key)
        if key is None or function is None:
            return None
        if key not in self._ready:
            code = self._attempt(lambda: compiled(function))
            self._ready[key] = None if code is None else Ready(function, code.call)
            if code is not None:
                self.seconds += code.seconds
                log.info("%s: %s in %.3f s", self._name, "loaded" if code.from_disk else "compiled", code.seconds)
        return self._ready[key]

    def _attempt(self, make: Callable[[], Any]) -> Any:
        """The result of `make`, or None with the reason why there is none."""
        try:
            return make()
        except (Decline, BackedgeError) as error:
            self.reason = str(error)
        except Exception as error:  # a gap in this package must not cost an answer that the NumPy tier has
            self.reason = f"{type(error).__name__}: {error}"
            log.warning("%s is left to the NumPy tier: %s", self._name, self.reason)
        return None


class CompiledLoop(CompiledCode):
    """A Loop node's code.

    Args:
        fixed: operands that the node takes for constants with these values, beside `fixed_operands`.
    """

    def __init__(self, node: Node, fixed: Mapping[int, Array] = MappingProxyType({})) -> None:
        self.node = node
        super().__init__(repr(node), node.inputs, lambda key: generate(node, key), {**fixed_operands(node), **fixed})


class WidenedLoop:
    """A loop of float16 or bfloat16 that is compiled in float32, see `halves` and `CompiledLoop`."""

    def __init__(self, loop: CompiledLoop, widened: Widened) -> None:
        self.loop = loop
        self._widened = widened

    def __call__(self, inputs: Sequence[Array | None]) -> list[Array] | None:
        given = self._widened.given(inputs)
        found = None if given is None else self.loop(given)
        return None if found is None else self._widened.made(found)

    def is_ready(self, inputs: Sequence[Array | None]) -> bool:
        """See `CompiledLoop.is_ready`."""
        given = self._widened.given(inputs)
        return given is not None and self.loop.is_ready(given)

    @property
    def reason(self) -> str:
        """Why the last call was declined, else ""."""
        return self.loop.reason
