"""A model as a function of JAX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Value
from ....passes.infer import infer
from ....passes.types import TensorType, merge
from ...specialize import set_shapes, set_values
from ..dialect import NAMES
from .arguments import argument, is_known, parameter
from .interpreter import Interpreter, draws
from .lowering import lowered
from .parameters import parameters_of

Arrays = Mapping[str, Any]

_HELD = 1024
"""Elements of a constant beyond which it is handed to compiled code as an array: XLA takes long over literals."""

_ROUNDED = {"float64": np.float32, "complex128": np.complex64}
"""What results of 64 bits are rounded to for who has JAX compute with 32."""


@dataclass(frozen=True, slots=True)
class _Program:
    """A model lowered for certain sizes.

    Attributes:
        compiled: (random key, held arrays, inputs and parameters by name) -> outputs; jitted.
        held: constants that are handed to it.
        draws: whether it draws random numbers.
    """

    compiled: Any
    held: list[jax.Array]
    draws: bool


class JaxFunction:
    """A model as a function of JAX; `backedge.to_jax` makes it.

    Call it with the model's inputs, in order or by name. It gives the output, or a tuple of all where the model has
    several. `jax.jit`, `jax.vmap`, `jax.grad`, `jax.jvp` and the others take it as they take any function; called
    without them it is compiled once for each set of sizes.

    Numbers of Python, and lists of them, that are given for integers or bools are known before anything runs: a loop
    of which the number of passes is given as `5` can be differentiated in reverse, and what it stacks has a size. The
    model is compiled for each of them. Arrays are data.

    Element types are the model's, whatever `jax_enable_x64` says: integers of 64 bits are computed with 64 bits, and
    come out so. Inputs of 64 bits may be given as JAX arrays of 32. Without `jax_enable_x64` results in float64 are
    rounded to float32, which is what JAX's users then compute with; derivatives are rounded likewise.

    Attributes:
        input_names, output_names: the model's, in order.
        parameters: the model's weights by name: its constants of floats, without those that decide a shape and whole
            exponents.

    Args (of a call):
        parameters: weights to compute with instead, all or some, in a dictionary as `parameters` is: derivatives with
            respect to it are those with respect to the weights.
        random_key: `jax.random.key(...)`, for models that draw random numbers.

    Raises (in a call):
        TypeError: an input is missing, unknown, or of another element type.
        ValueError: an input or a weight has another rank or size than the model says; a key is missing.
        Unsupported: JAX can't express an operation, or a size depends on the data.
    """

    def __init__(self, graph: Graph, named: Iterable[str]) -> None:
        """
        Args:
            graph: a hub graph, which isn't changed.
            named: the names of the constants that the model's file has; those that raising made aren't weights.

        Raises:
            Unsupported: an input is no tensor, or of an element type that HLO hasn't.
        """
        self._graph = graph
        self._inputs = [value for value in graph.inputs if value.data is None]
        for value in self._inputs:
            if not isinstance(value.type, TensorType) or value.type.dtype not in NAMES:
                raise Unsupported(f"{value.name!r}", f"the input is {value.type}, and JAX has no such arrays")
        self._parameters = parameters_of(graph, frozenset(named))
        self._programs: dict[Any, _Program] = {}
        self.input_names = [value.name for value in self._inputs]
        self.output_names = [value.name for value in graph.outputs]
        self.__name__ = graph.name

    def __repr__(self) -> str:
        inputs = ", ".join(f"{value.name}: {value.type}" for value in self._inputs)
        return f"<JaxFunction ({inputs}) -> ({', '.join(self.output_names)})>"

    @property
    def parameters(self) -> dict[str, np.ndarray[Any, Any]]:
        """The model's weights by name, in its order."""
        return {name: value.array() for name, value in self._parameters.items() if value.data is not None}  # type: ignore[misc]

    def __call__(
        self, *inputs: Any, parameters: Mapping[str, Any] | None = None, random_key: Any = None, **named: Any
    ) -> Any:
        """The output, or a tuple of the outputs; see the class."""
        rounds = jax.dtypes.canonicalize_dtype(np.float64) != np.float64
        with jax.enable_x64(True):
            sizes: dict[str, tuple[int, str]] = {}
            given = {
                value.name: argument(array, value, sizes)
                for value, array in zip(self._inputs, self._ordered(inputs, named), strict=True)
            }
            weights = {name: self._weight(name, array) for name, array in (parameters or {}).items()}
            known = {name: array for name, array in given.items() if is_known(array)}
            program = self._program(given, known, frozenset(weights))
            if program.draws and random_key is None:
                raise ValueError("the model draws random numbers: give it random_key=jax.random.key(...)")
            fed = {name: array for name, array in given.items() if name not in known} | weights
            outputs = program.compiled(random_key if program.draws else None, program.held, fed)
            if rounds:
                outputs = list(map(_rounded, outputs))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _ordered(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """What is given for each input, in order."""
        names = self.input_names
        if len(inputs) > len(names):
            raise TypeError(f"{len(inputs)} inputs are given, and the model takes {len(names)}: {', '.join(names)}")
        found = dict(zip(names, inputs, strict=False))
        for name, array in named.items():
            if name not in names:
                raise TypeError(f"no input {name!r}; there are {', '.join(names) or 'none'}")
            if name in found:
                raise TypeError(f"input {name!r} is given twice")
            found[name] = array
        missing = [name for name in names if name not in found]
        if missing:
            raise TypeError(f"these inputs are missing: {', '.join(missing)}")
        return [found[name] for name in names]

    def _weight(self, name: str, array: Any) -> Any:
        if name not in self._parameters:
            raise ValueError(f"no parameter {name!r}; there are {', '.join(self._parameters) or 'none'}")
        return parameter(array, self._parameters[name])

    def _program(self, given: Arrays, known: Arrays, weights: frozenset[str]) -> _Program:
        """The model for inputs of these shapes, of which some are known, and parameters of these names."""
        shapes = tuple(array.shape for array in given.values())
        key = shapes, tuple((name, array.tobytes()) for name, array in known.items()), weights
        if key not in self._programs:
            self._programs[key] = self._made(given, known, weights)
        return self._programs[key]

    def _made(self, given: Arrays, known: Arrays, weights: frozenset[str]) -> _Program:
        try:
            graph = self._lowered(given, known, weights)
        except (InvalidModel, Unsupported) as error:
            if not weights:
                raise
            self._lowered(given, known, frozenset())  # where this is refused as well, parameters have no part in it
            raise ValueError(f"a parameter decides a shape; leave it out of `parameters`: {error}") from error
        held = [value for value in graph.constants if value.data is not None and value.data.size > _HELD]

        def computed(random: Any, constants: Sequence[Any], fed: Mapping[str, Any]) -> Any:
            run = Interpreter(dict(zip(held, constants, strict=True)), random)
            return [jax.numpy.asarray(value) for value in run(graph, [fed[value.name] for value in graph.inputs])]

        computed.__name__ = self.__name__
        with jax.ensure_compile_time_eval():
            arrays = [jax.numpy.asarray(value.array()) for value in held]
        return _Program(jax.jit(computed), arrays, draws(graph))

    def _lowered(self, given: Arrays, known: Arrays, weights: frozenset[str]) -> Graph:
        """The model in HLO, its parameters of these names inputs behind the others."""
        mapping: dict[Value, Value] = {}
        graph = self._graph.copy(mapping)
        set_shapes(graph, {name: array.shape for name, array in given.items()})
        set_values(graph, known)
        for name, value in self._parameters.items():
            if name in weights:
                twin = mapping[value]
                twin.data = None
                graph.constants.remove(twin)
                if twin not in graph.inputs:
                    graph.inputs.append(twin)
        _infer_outputs(graph)
        return lowered(graph)


def _infer_outputs(graph: Graph) -> None:
    """Sizes of outputs as they follow from the inputs'; what the file declares of them, which runtimes don't obey, only
    where none follow."""
    declared = [value.type for value in graph.outputs]
    for value in graph.outputs:
        if value.producer is not None:
            value.type = TensorType(value.tensor.dtype)
    infer(graph)
    for value, type in zip(graph.outputs, declared, strict=True):
        value.type = merge(value.type, type)


def _rounded(array: Any) -> Any:
    dtype = _ROUNDED.get(str(array.dtype))
    return array if dtype is None else jax.lax.convert_element_type(array, dtype)
