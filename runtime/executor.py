"""Runs a hub graph.

    >>> Executor(graph).run({"x": np.ones(3, np.float32)})
    {"y": array(...)}

Tier 0 is NumPy, a kernel for each operator. A loop that turns out to be long is handed to the compiler, which makes
one machine-coded function of it; Numba is imported only then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..passes.defaults import default_of
from ..passes.depth import admit
from ..passes.errors import InvalidModel
from ..passes.graph import Graph, Node, Value
from ..passes.tensor import typed_array
from ..passes.types import DType, Interval, OptionalType, SequenceType, TensorType, Type
from .control_flow import LoopCall, if_call
from .kernels.base import ExecutionError
from .machine_code import Compiled, Compiler
from .native import Native
from .plan import Arithmetic, Context, Plan, Watch, normal
from .whole_graph import WholeGraph

KEPT_BYTES = 256 << 20
"""Of a graph with so large constants kernels keep what they make of them, which may be four times as much."""


def compile_when_long(node: Node) -> Compiled | None:
    """The project's own loop compiler, imported when it is first asked for."""
    from .compiled import compile_loop

    return compile_loop(node)


def never_compile(_: Node) -> Compiled | None:
    """A compiler for those who want NumPy alone."""
    return None


class Executor:
    """A graph made ready to run.

    Args:
        graph: a hub graph, or an ONNX one without control flow (operators at the versions they have there).
        compiler: makes one function of a whole Loop node, or declines (None); by default the project's own, and then
            convolutions and pooling that add up to much work are compiled, too.
        arithmetic: how numbers are held and computed, if not as declared; then no loop is compiled.
        watch: from the call of each node to the one that is made instead, for those who want to see what runs.

    Raises:
        Unsupported: a node for which there is no kernel.
        InvalidModel: the graph isn't consistent, or more regions stand in each other than may.
    """

    def __init__(
        self,
        graph: Graph,
        compiler: Compiler | None = None,
        arithmetic: Arithmetic | None = None,
        watch: Watch | None = None,
    ) -> None:
        admit(graph)
        chosen = compiler or compile_when_long if arithmetic is None else never_compile
        context = Context(
            lambda node, shared: LoopCall(node, shared, chosen),
            if_call,
            arithmetic,
            watch,
            native=Native() if compiler is None and arithmetic is None else None,
            keeps=arithmetic is None and _constant_bytes(graph) <= KEPT_BYTES,
            given=frozenset(graph.inputs),
        )
        self.graph = graph
        self._arithmetic = arithmetic
        self._plan = Plan(graph, context)
        self._constants = frozenset(map(id, self._plan.constants))
        may_compile = compiler is None and arithmetic is None and watch is None and WholeGraph.may_be(graph)
        self._whole = WholeGraph(graph) if may_compile else None

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name.

        Args:
            inputs: name -> array (anything `np.asarray` takes for a tensor, a list for a sequence, None for
                an empty optional). Inputs with a default may be left out.

        Returns:
            Arrays of exactly the declared dtype, lists for sequences, None for an empty optional.

        Raises:
            InvalidModel: a name, dtype, rank or size that isn't the graph's.
            ExecutionError: a node failed.
        """
        arguments = self._arguments(inputs)
        if self._arithmetic is not None:
            arguments = [self._arithmetic.value(argument) for argument in arguments]
        results = None if self._whole is None else self._whole.outputs(arguments)
        if results is None:
            with np.errstate(all="ignore"):
                results = self._plan.run(arguments)
        taken = {*self._constants, *map(id, arguments)}
        return {value.name: _owned(result, taken) for value, result in zip(self.graph.outputs, results, strict=True)}

    def prepare(self, inputs: Mapping[str, Any]) -> bool:
        """Compile the whole graph for inputs of such element types and shapes, once on a machine: it is kept on disk.

        That takes about 0.2 s an operator, and gives small networks two to five times the speed. Without it a graph
        is compiled after so many runs that they took as long.

        Returns:
            Whether there is machine code now: not for sequences and strings, sizes that only a run tells, and operators
            without code.

        Raises:
            InvalidModel: as `run` does.
        """
        return self._whole is not None and self._whole.prepare(self._arguments(inputs))

    def _arguments(self, inputs: Mapping[str, Any]) -> list[Any]:
        known = {value.name for value in self.graph.inputs}
        unknown = [name for name in inputs if name not in known]
        if unknown:
            raise InvalidModel(f"no input is called {unknown[0]!r} (there are: {', '.join(sorted(known)) or 'none'})")
        arguments: list[Any] = []
        for value in self.graph.inputs:
            if value.name in inputs:
                arguments.append(_checked(value, inputs[value.name]))
            elif (data := default_of(value)) is not None:
                arguments.append(data.numpy())
            else:
                raise InvalidModel(f"input {value.name!r} ({value.type}) is missing")
        return arguments


def _constant_bytes(graph: Graph) -> int:
    values = {value for inner in graph.graphs() for node in inner.nodes for value in node.inputs if value is not None}
    return sum(value.data.nbytes for value in values if value.data is not None)


def _checked(value: Value, given: Any) -> Any:
    return _conformed(given, value.type, f"input {value.name!r}")


def _conformed(given: Any, type: Type | None, where: str) -> Any:
    """`given` in the executor's form of a value of this type."""
    if isinstance(type, OptionalType):
        return None if given is None else _conformed(given, type.element, where)
    if isinstance(type, SequenceType):
        if not isinstance(given, list | tuple):
            raise InvalidModel(f"{where}: a sequence is expected, not {given.__class__.__name__}")
        return [_conformed(item, type.element, f"{where}[{index}]") for index, item in enumerate(given)]
    if not isinstance(type, TensorType):
        return given if isinstance(given, list | tuple | dict) or given is None else normal(given)
    return _array(given, type, where)


def _array(given: Any, type: TensorType, where: str) -> np.ndarray[Any, Any]:
    wanted = type.dtype.numpy if type.dtype else None
    array = np.asarray(given) if type.dtype is None or hasattr(given, "dtype") else typed_array(given, type, where)
    if array.dtype.kind in "US" and (wanted is None or type.dtype is DType.STRING):
        array = np.char.decode(array).astype(object) if array.dtype.kind == "S" else array.astype(object)
    if wanted is not None and array.dtype != wanted:
        raise InvalidModel(f"{where}: {type} is expected, not {array.dtype}")
    if type.shape is not None:
        fits = len(type.shape) == array.ndim and all(map(_fits, array.shape, type.shape))
        if not fits:
            raise InvalidModel(f"{where}: {type} is expected, not shape {list(array.shape)}")
    return array


def _fits(size: int, dim: Any) -> bool:
    if isinstance(dim, int):
        return size == dim
    if isinstance(dim, Interval):
        return dim.lower <= size and (dim.upper is None or size <= dim.upper)
    return True


def _owned(value: Any, taken: set[int]) -> Any:
    """A value that the caller may keep and write to: a copy where it is a view, or an array that others have."""
    if isinstance(value, list):
        return [_owned(item, taken) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    if id(value) in taken or not value.flags.owndata or not value.flags.writeable:
        return value.copy()
    taken.add(id(value))
    return value


__all__ = ["ExecutionError", "Executor", "compile_when_long", "never_compile"]
