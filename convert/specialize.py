"""What specializes a model before a conversion: static shapes, a batch size, inputs that become constants."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..passes.errors import InvalidModel, Unsupported
from ..passes.graph import Graph, Value
from ..passes.infer import infer
from ..passes.refusals import refuse
from ..passes.scratch import scratch
from ..passes.sizes import OpenSize, settled
from ..passes.tensor import TensorData, typed_array
from ..passes.types import Dim, TensorType, merge_dims
from ..runtime.compare.input_roles import signature_of
from ..runtime.compare.inputs import design
from ..runtime.compare.tolerance import measure_values
from ..runtime.oracles import run_file, why_unavailable
from .files import load, to_hub
from .format import format_of, format_of_dialect
from .objects import Stored, store_graph

_CHECKED = 3  # sets of inputs on which a copy with settled values is held against its original


def set_shapes(graph: Graph, shapes: Mapping[str, Sequence[Dim]]) -> None:
    """Give inputs the static shapes that the caller knows.

    Raises:
        InvalidModel: no such input, or the shape contradicts the declared one.
    """
    for name, shape in shapes.items():
        value = _input(graph, name)
        declared = value.tensor
        if declared.shape is not None:
            fits = len(declared.shape) == len(shape) and all(
                merge_dims(old, new) == new for old, new in zip(declared.shape, shape, strict=True)
            )
            if not fits:
                raise InvalidModel(f"input {name!r} is {value.type}, which is not {list(shape)}")
        _specialize(graph, declared.shape or (), shape)
        value.type = TensorType(declared.dtype, tuple(shape))


def _specialize(graph: Graph, declared: Sequence[Dim], shape: Sequence[Dim]) -> None:
    """Everything else with a size of the same name has this size, too."""
    sizes = {
        old: new for old, new in zip(declared, shape, strict=False) if isinstance(old, str) and isinstance(new, int)
    }
    if not sizes:
        return
    for inner in graph.graphs():
        for value in inner.values():
            if isinstance(value.type, TensorType) and any(isinstance(dim, str) for dim in value.type.shape or ()):
                dims = [_dim(dim, sizes) for dim in value.type.shape or ()]
                value.type = TensorType(value.tensor.dtype, tuple(dims))
        for node in inner.nodes:
            node.attributes = {name: _attribute(value, sizes) for name, value in node.attributes.items()}


def _dim(dim: Dim, sizes: Mapping[str, int]) -> Dim:
    """A size with its name, or one that is computed of sizes with names (`"2*b + 1"`)."""
    if not isinstance(dim, str):
        return dim
    return sizes[dim] if dim in sizes else settled(dim, sizes) if isinstance(dim, OpenSize) else dim


def _attribute(value: Any, sizes: Mapping[str, int]) -> Any:
    """What an attribute says in which open sizes stand."""
    if isinstance(value, OpenSize):
        return settled(value, sizes)
    if isinstance(value, tuple):
        items = tuple(_attribute(item, sizes) for item in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        changed = {name: new for name, old in parts.items() if (new := _attribute(old, sizes)) is not old}
        return replace(value, **changed) if changed else value
    return value


def _input(graph: Graph, name: str) -> Value:
    inputs = {value.name: value for value in graph.inputs}
    if name not in inputs:
        raise InvalidModel(f"no input {name!r}; there are {', '.join(inputs) or 'none'}")
    return inputs[name]


def with_batch(graph: Graph, batch: int, shapes: Mapping[str, Sequence[Dim]]) -> dict[str, Sequence[Dim]]:
    """Shapes, and for all inputs whose first size is open those in which it is `batch`.

    Raises:
        InvalidModel: no input's is.
    """
    found = dict(shapes)
    for value in graph.inputs:
        shape = value.type.shape if isinstance(value.type, TensorType) else None
        if shape and not isinstance(shape[0], int) and value.name not in found:
            found[value.name] = (batch, *shape[1:])
    if len(found) == len(shapes):
        raise InvalidModel("no input has an open first size for the batch")
    return found


def check_static_inputs(graph: Graph) -> None:
    """
    Raises:
        InvalidModel: inputs have open sizes.
    """
    still = [value for value in graph.inputs if not _is_static(value)]
    if still:
        named = ", ".join(f"{value.name} is {value.type}" for value in still)
        raise InvalidModel(f"these inputs have open sizes: {named}; settle them with --shape NAME=2,3 or --batch N")


def check_static_outputs(made: Graph) -> None:
    """
    Raises:
        Unsupported: outputs have open sizes, although inputs don't.
    """
    if all(map(_is_static, made.outputs)):
        return
    hub = to_hub(made)
    infer(hub)
    for value in hub.outputs:
        if not _is_static(value):
            producer = value.producer or "main"
            refuse(Unsupported(producer, f"the sizes of output {value.name!r}, {value.type}, depend on the data"))


def _is_static(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.static_shape is not None


def set_values(graph: Graph, values: Mapping[str, Any], named: Collection[str] = ()) -> dict[str, np.ndarray[Any, Any]]:
    """Make inputs constants.

    Args:
        graph: changed in place.
        values: name of an input -> a number or an array, taken to the declared element type and shape.
        named: those that stay in the model under their names, and aren't computed with.

    Returns:
        The arrays, as they would have been fed.

    Raises:
        InvalidModel: no such input, or the value doesn't fit its type.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, given in values.items():
        value = _input(graph, name)
        arrays[name] = array = _typed(value, given)
        graph.settle_input(value, TensorData.of(array, value.tensor.dtype), named=name in named)
    return arrays


def _typed(value: Value, given: Any) -> np.ndarray[Any, Any]:
    declared = value.type if isinstance(value.type, TensorType) else None
    if declared is None or declared.dtype is None:
        raise InvalidModel(f"input {value.name!r} is {value.type}: only tensors can be given a value")
    array = typed_array(given, declared, f"input {value.name!r}")
    shape = declared.shape
    if shape is not None and array.ndim != len(shape) and array.size == 1:
        array = array.reshape((1,) * len(shape))
    fits = shape is None or (
        len(shape) == array.ndim
        and all(old == new or not isinstance(old, int) for old, new in zip(shape, array.shape, strict=True))
    )
    if not fits:
        raise InvalidModel(f"input {value.name!r} is {value.type}, which {given} isn't")
    return array


@contextlib.contextmanager
def with_values(file: Stored, values: Mapping[str, Any]) -> Iterator[Stored]:
    """A copy of a model in which inputs are constants: those of `values`, and those that the file itself says.

    Where the format can't say them by itself, the copy is in the hub's own, and is held against the original in the
    runtimes of both.

    Raises:
        InvalidModel: see `set_values`; or the arrays of an argument aren't those that the model has inputs for.
    """
    if not values and not file.constants:
        yield file
        return
    entry = format_of(file.path, file.format)
    graph = load(file.path, file.format)
    known = _of_arguments(graph, file.constants)
    named = set(known) - set(values)
    known |= values
    if not known:
        yield file
        return
    open_ = not all(_is_static(_input(graph, name)) for name in known)
    with scratch() as folder:
        if not open_ and entry.settle is not None:
            copy = entry.settle(file.path, set_values(graph, known), named, folder)
            if copy is not None:
                yield replace(file, path=copy, format=entry.name)
                return
            graph = load(file.path, file.format)
        if graph.dialect != format_of_dialect("hub").dialect:
            graph = to_hub(graph)
        arrays = set_values(graph, known, named)
        made = store_graph(graph, folder)
        runtimes = [format_of(one.path, one.format).runtime for one in (file, made)]
        if not any(map(why_unavailable, runtimes)):
            _hold_against(file.path, runtimes[0], made.path, runtimes[1], arrays)
        yield replace(made, name=file.name)


def _of_arguments(graph: Graph, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The arrays of arguments for which a graph has inputs: what a function doesn't use is none.

    Raises:
        InvalidModel: it has an input of one of these arguments that no array is for.
    """
    names = {value.name for value in graph.inputs}
    for argument, arrays in arguments.items():
        if arrays and names.isdisjoint(arrays):
            raise InvalidModel(
                f"constants: no input is of {argument!r}; there are {', '.join(sorted(names)) or 'none'}"
            )
        left = sorted(name for name in names - set(arrays) if name == argument or name.startswith(f"{argument}."))
        if left:
            raise InvalidModel(f"constants: {argument!r} has no array for input {', '.join(left)}")
    return {name: array for arrays in arguments.values() for name, array in arrays.items() if name in names}


def _hold_against(path: Path, runtime: str, copy: Path, other: str, values: Mapping[str, Any]) -> None:
    """
    Raises:
        AssertionError: the copy gives something else, which is a fault of ours.
    """
    sets = list(design(signature_of(to_hub(load(copy))), _CHECKED, 0))
    before = run_file(runtime, path, [{**one, **values} for one in sets])
    after = run_file(other, copy, sets)
    for a, b in zip(before, after, strict=True):
        if a.outputs is None or b.outputs is None:
            continue
        for (name, expected), actual in zip(a.outputs.items(), b.outputs.values(), strict=True):
            difference = measure_values(expected, actual, output=name).difference
            assert difference is None, f"with inputs made constants the source gives something else: {difference}"
