"""Small faults of a converter, put into an ONNX file: each changes one thing, or gives None where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import numpy_helper

Fault = Callable[[onnx.ModelProto, np.random.Generator], onnx.ModelProto | None]


def _floats(model: onnx.ModelProto, kind: int = onnx.TensorProto.FLOAT) -> list[onnx.TensorProto]:
    """The float constants that a computation may go through, wherever they stand."""
    found = [tensor for tensor in model.graph.initializer if tensor.data_type == kind]
    stack = list(model.graph.node)
    while stack:
        node = stack.pop()
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value" and attribute.t.data_type == kind:
                found.append(attribute.t)
            for graph in [attribute.g, *attribute.graphs]:
                stack += graph.node
                found += [tensor for tensor in graph.initializer if tensor.data_type == kind]
    quantized = {name for node in model.graph.node if "Quantize" in node.op_type for name in node.input[1:]}
    return [tensor for tensor in found if tensor.name not in quantized and np.any(numpy_helper.to_array(tensor))]


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _set(tensor: onnx.TensorProto, array: np.ndarray) -> None:
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def scaled(by: float, kind: int = onnx.TensorProto.FLOAT) -> Fault:
    """One constant, all of it, times a number."""

    def fault(model: onnx.ModelProto, random: np.random.Generator) -> onnx.ModelProto | None:
        copy = _copy(model)
        found = _floats(copy, kind)
        if not found:
            return None
        tensor = found[random.integers(len(found))]
        array = numpy_helper.to_array(tensor)
        _set(tensor, (array.astype(np.float64) * by).astype(array.dtype))
        return copy

    return fault


def one_weight(model: onnx.ModelProto, random: np.random.Generator) -> onnx.ModelProto | None:
    """One number of one constant times 1.1."""
    copy = _copy(model)
    found = [tensor for tensor in _floats(copy) if np.prod(tensor.dims) > 1]
    if not found:
        return None
    tensor = found[random.integers(len(found))]
    array = numpy_helper.to_array(tensor).copy()
    places = np.flatnonzero(array)
    array.reshape(-1)[places[random.integers(len(places))]] *= np.float32(1.1)
    _set(tensor, array)
    return copy


def epsilon(model: onnx.ModelProto, random: np.random.Generator) -> onnx.ModelProto | None:
    """The epsilon of a normalization doubled."""
    copy = _copy(model)
    found = [one for node in copy.graph.node for one in node.attribute if one.name == "epsilon"]
    if not found:
        return None
    found[random.integers(len(found))].f *= 2
    return copy


def order(model: onnx.ModelProto, random: np.random.Generator) -> onnx.ModelProto | None:
    """Two neighbours in a constant change places along its last axis."""
    copy = _copy(model)
    found = [tensor for tensor in _floats(copy) if tensor.dims and tensor.dims[-1] > 1]
    if not found:
        return None
    tensor = found[random.integers(len(found))]
    array = numpy_helper.to_array(tensor).copy()
    at = int(random.integers(array.shape[-1] - 1))
    array[..., [at, at + 1]] = array[..., [at + 1, at]]
    _set(tensor, array)
    return copy


def _quantizer(place: int, change: Callable[[np.ndarray], np.ndarray]) -> Fault:
    def fault(model: onnx.ModelProto, random: np.random.Generator) -> onnx.ModelProto | None:
        copy = _copy(model)
        tensors = {tensor.name: tensor for tensor in copy.graph.initializer}
        nodes = [node for node in copy.graph.node if node.op_type == "QuantizeLinear" and len(node.input) > place]
        nodes = [node for node in nodes if node.input[place] in tensors]
        if not nodes:
            return None
        node = nodes[random.integers(len(nodes))]
        tensor = onnx.TensorProto()
        tensor.CopyFrom(tensors[node.input[place]])
        array = numpy_helper.to_array(tensor)
        tensor.name += "_changed"
        _set(tensor, change(array).astype(array.dtype))
        copy.graph.initializer.append(tensor)
        node.input[place] = tensor.name
        return copy

    return fault


FAULTS: dict[str, Fault] = {
    "x(1+1e-3)": scaled(1 + 1e-3),
    "x(1+1e-5)": scaled(1 + 1e-5),
    "x(1+1e-6)": scaled(1 + 1e-6),
    "one weight": one_weight,
    "epsilon": epsilon,
    "order": order,
    "half 1 %": scaled(1.01, onnx.TensorProto.FLOAT16),
    "zero point": _quantizer(2, lambda zero: zero + 1),
    "scale 1e-3": _quantizer(1, lambda scale: scale * 1.001),
}
