"""One function for one Loop and one kind of inputs: its source, and what its arguments and results mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...passes.graph import Graph, Node, Value
from ...passes.loop import Captured, Loop
from .branches import Environment, Writer
from .emitter import Emitter
from .loop_writer import write_loop
from .operators import OPERATORS
from .tensors import KINDS, SMALL, Atom, Decline, Dim, Small, Stored, Sym, Tensor, fixed_size, literal

Array = np.ndarray[Any, Any]

_KIND_OF = {np.dtype("bool" if kind == "bool" else kind): kind for kind in KINDS}
_NUMBER = re.compile(r"\bnp\.(?:float|u?int)\d+\(-?(?:[\d.]+(?:e[+-]?\d+)?|np\.inf|np\.nan)\)")
_LONGEST = 20_000
"""Lines of source up to which a function is compiled: that takes about 2.5 ms a line."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What a function relies on in one of its arguments: the kind of its elements, and for each dimension
    its size, or the name that equal sizes share."""

    kind: str
    dims: tuple[int | str, ...]

    @property
    def is_scalar(self) -> bool:
        """Handed over as one number."""
        return all(dim == 1 for dim in self.dims)

    @property
    def is_small(self) -> bool:
        """Handed over as a vector, of which the function loads all elements at once."""
        size = fixed_size(tuple(0 if isinstance(dim, str) else dim for dim in self.dims))
        return not any(isinstance(dim, str) for dim in self.dims) and size is not None and size <= SMALL

    @property
    def rank(self) -> int:
        """The rank in which it is handed over."""
        return 0 if self.is_scalar else 1 if self.is_small else len(self.dims)


@dataclass(frozen=True, slots=True)
class Output:
    """Where a result is found: input `given`, or `count` numbers of the returned tuple from `first` on
    (to be given the shape `shape`), or the array at `first`."""

    kind: str
    first: int = -1
    given: int = -1
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """Source of `loop(...)`, whose arguments are those that aren't None, then the constants."""

    source: str
    arguments: tuple[Argument | None, ...]
    constants: tuple[Array, ...]
    outputs: tuple[Output, ...]


def describe(inputs: Sequence[Array | None], declared: Sequence[Value | None]) -> tuple[Argument | None, ...]:
    """What to rely on for these inputs: sizes of 1, and what the graph declares; not other sizes.

    Raises:
        Decline: an element type that can't be compiled, or a size that isn't the declared one.
    """
    sizes: dict[str, set[int]] = {}
    for array, value in zip(inputs, declared, strict=True):
        shape = None if value is None else value.tensor.shape
        if array is not None and shape is not None and len(shape) == array.ndim:
            for dim, size in zip(shape, array.shape, strict=True):
                if isinstance(dim, str):
                    sizes.setdefault(dim, set()).add(size)
    names: dict[str, str] = {}
    arguments: list[Argument | None] = []
    for number, (array, value) in enumerate(zip(inputs, declared, strict=True)):
        if array is None:
            arguments.append(None)
            continue
        kind = _KIND_OF.get(array.dtype)
        if kind is None:
            raise Decline(f"elements of type {array.dtype}")
        shape = (None if value is None else value.tensor.shape) or (None,) * array.ndim
        if len(shape) != array.ndim:
            raise Decline("the rank isn't the declared one")
        dims: list[int | str] = []
        for axis, (dim, size) in enumerate(zip(shape, array.shape, strict=True)):
            if isinstance(dim, int) and dim != size:
                raise Decline("a size isn't the declared one")
            own = f"n{number}_{axis}"
            if size == 1 or isinstance(dim, int):
                dims.append(size)
            elif isinstance(dim, str) and len(sizes[dim]) == 1:
                dims.append(names.setdefault(dim, own))
            else:
                dims.append(own)
        arguments.append(Argument(kind, tuple(dims)))
    return tuple(arguments)


def fixed_operands(node: Node) -> dict[int, Array]:
    """The few integers that a loop captures as constants, by operand: axes and sizes, which its function is for."""
    found: dict[int, Array] = {}
    for indices in Loop(node).indices:
        value = node.inputs[indices.operand] if isinstance(indices.slot, Captured) else None
        if value is not None and value.data is not None and value.data.size <= SMALL and value.data.dtype.is_integer:
            array = value.data.numpy()
            if array.dtype in _KIND_OF:
                found[indices.operand] = array
    return found


def generate(node: Node, arguments: Sequence[Argument | None]) -> Function:
    """Write the function for a Loop node and inputs as described, and as `fixed_operands` has them.

    Raises:
        Decline: it can't be written.
    """
    em = Emitter()
    inputs = [None if argument is None else _argument(em, f"a{k}", argument) for k, argument in enumerate(arguments)]
    for k, array in fixed_operands(node).items():
        kind = _KIND_OF[array.dtype]
        inputs[k] = Small(kind, array.shape, tuple(literal(kind, number) for number in array.reshape(-1).tolist()))
    return _finished(em, arguments, inputs, write_loop(Writer(em, OPERATORS, write_loop), node, inputs))


def generate_graph(graph: Graph, arguments: Sequence[Argument | None]) -> Function:
    """Write the function for a graph and inputs as described.

    Raises:
        Decline: it can't be written.
    """
    em = Emitter()
    writer = Writer(em, OPERATORS, write_loop)
    environment: Environment = {}
    inputs: list[Tensor | None] = []
    for k, (value, argument) in enumerate(zip(graph.inputs, arguments, strict=True)):
        if argument is None:
            raise Decline("an input is left out")
        tensor = _argument(em, f"a{k}", argument)
        writer.bind(graph, environment, value, tensor)
        inputs.append(tensor)
    return _finished(em, arguments, inputs, writer.graph(graph, environment))


def _finished(
    em: Emitter, arguments: Sequence[Argument | None], inputs: Sequence[Tensor | None], results: Sequence[Tensor]
) -> Function:
    """The function that gives these results."""
    outputs: list[Output] = []
    returned: list[str] = []
    for tensor in results:
        if tensor in inputs:
            outputs.append(Output(tensor.kind, given=inputs.index(tensor)))
        elif isinstance(tensor, Small):
            outputs.append(Output(tensor.kind, first=len(returned), shape=tensor.dims))
            returned += [atom.code for atom in tensor.atoms]
        else:
            outputs.append(Output(tensor.kind, first=len(returned)))
            array = em.stored(tensor)
            returned.append(array.name if array.owned or array.level else f"{array.name}.copy()")
    names = [f"a{k}" for k, argument in enumerate(arguments) if argument is not None]
    names += [name for name, _ in em.constants]
    lines = [f"def loop({', '.join(names)}):", *em.root.lines("    "), f"    return ({', '.join(returned) or '0'},)"]
    if len(lines) > _LONGEST:
        raise Decline(f"{len(lines)} lines take too long to compile")
    constants = tuple(data.numpy() for _, data in em.constants)
    return Function(_named_numbers("\n".join(lines) + "\n"), tuple(arguments), constants, tuple(outputs))


def _named_numbers(source: str) -> str:
    """The source with its typed numbers as constants of the module: Numba takes each of them in the function for a
    call, which takes as long to compile as an operator."""
    names: dict[str, str] = {}
    source = _NUMBER.sub(lambda found: names.setdefault(found[0], f"K{len(names)}"), source)
    return "".join(f"{name} = {number}\n" for number, name in names.items()) + source


def _argument(em: Emitter, name: str, argument: Argument) -> Tensor:
    """The tensor that an argument is."""
    if argument.is_scalar or argument.is_small:
        shape = tuple(dim for dim in argument.dims if isinstance(dim, int))
        if argument.is_scalar:
            return Small(argument.kind, shape, (Atom(name, argument.kind),))
        count = fixed_size(shape) or 0
        return Small(argument.kind, shape, tuple(em.let(f"{name}[{k}]", argument.kind) for k in range(count)))
    dims: list[Dim] = []
    for axis, dim in enumerate(argument.dims):
        if isinstance(dim, str) and not em.known(dim):
            em.block.line(f"{dim} = {name}.shape[{axis}]")
            em.keep(dim, True)
        dims.append(Sym(dim, 0) if isinstance(dim, str) else dim)
    return Stored(argument.kind, tuple(dims), name, 0)
