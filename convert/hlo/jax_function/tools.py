"""What the functions of opcodes share: types of results, indices, and what a computation of two scalars is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import jax
import numpy as np
from jax import lax

from ....passes.graph import Graph, Node, Value

Array = jax.Array | np.ndarray[Any, Any]
Arrays = Sequence[Array]

_FAR = np.iinfo(np.int32)


class Run(Protocol):
    """What computes the regions of a node."""

    def __call__(self, graph: Graph, arguments: Sequence[Any]) -> list[Any]:
        """The outputs of a graph."""
        ...

    def draws(self, graph: Graph) -> bool:
        """Whether random numbers are drawn in a graph."""
        ...

    def at(self, number: Any) -> Run:
        """For a pass of a loop, or a branch: it draws other numbers than every other one."""
        ...


def value_type(value: Value) -> jax.ShapeDtypeStruct:
    """The type of a value of a lowered graph, in which all are known."""
    dtype, shape = value.tensor.dtype, value.tensor.static_shape
    assert dtype is not None and shape is not None, value
    return jax.ShapeDtypeStruct(shape, dtype.numpy)


def result_type(node: Node, index: int = 0) -> jax.ShapeDtypeStruct:
    """The type of a result."""
    return value_type(node.outputs[index])


def short(indices: Array) -> Array:
    """Indices in 32 bits: what is out of bounds stays so. Arrays of more than 2^31 elements along an axis aren't meant.

    JAX differentiates in reverse outside of where we compute, with the types of integers that its user has chosen, and
    then has none of 64 bits to build on.
    """
    if np.dtype(indices.dtype).itemsize < 4 or indices.dtype == np.int32:
        return indices
    low = 0 if np.dtype(indices.dtype).kind == "u" else _FAR.min
    near = lax.clamp(np.array(low, indices.dtype), indices, np.array(_FAR.max, indices.dtype))
    return lax.convert_element_type(near, np.int32)


def kind_of(region: Graph) -> str:
    """The opcode that a computation of two parameters is; "second" where it gives the second; else ""."""
    if len(region.inputs) != 2 or len(region.outputs) != 1:
        return ""
    if region.outputs[0] is region.inputs[1]:
        return "second"
    maker = region.outputs[0].producer
    return maker.op_type if maker is not None and maker.inputs == region.inputs and not maker.regions else ""
