"""Small ONNX models around one operator, and how far quantized results may lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class Fixed:
    """An input that is a constant of the model."""

    array: np.ndarray


@dataclass(frozen=True)
class Case:
    """A model, its inputs, and by how many steps of the result's grid an answer may be off."""

    name: str
    model: ModelProto
    feeds: dict[str, np.ndarray]
    steps: int = 0
    rtol: float = 1e-5


Given = np.ndarray | Fixed | None


def fixed(value: Any, dtype: Any = np.float32) -> Fixed:
    return Fixed(np.asarray(value, dtype))


def u8(value: Any) -> np.ndarray:
    return np.asarray(value, np.uint8)


def i8(value: Any) -> np.ndarray:
    return np.asarray(value, np.int8)


def f32(value: Any) -> np.ndarray:
    return np.asarray(value, np.float32)


def floats(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def codes(*shape: int, dtype: Any = np.uint8, seed: int = 0, low: int | None = None, high: int | None = None) -> Any:
    info = np.iinfo(dtype)
    made = np.random.default_rng(seed).integers(low or info.min, info.max + 1 if high is None else high, shape)
    return made.astype(dtype)


def model_of(
    op_type: str,
    inputs: Sequence[Given],
    domain: str = MICROSOFT,
    outputs: int = 1,
    opset: int = 21,
    opset_: int | None = None,
    drop: Sequence[int] = (),
    **attributes: Any,
) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """A model of one node, and its inputs. Inputs that are Fixed are initializers, None is left out.

    `opset_` is the attribute of that name; outputs in `drop` aren't wanted.
    """
    attributes |= {} if opset_ is None else {"opset": opset_}
    names = ["" if value is None else f"x{index}" for index, value in enumerate(inputs)]
    made = ["" if index in drop else f"y{index}" for index in range(outputs)]
    node = helper.make_node(op_type, names, made, domain=domain, **attributes)
    constants, feeds, declared = [], {}, []
    for name, value in zip(names, inputs, strict=True):
        if isinstance(value, Fixed):
            constants.append(numpy_helper.from_array(value.array, name))
        elif value is not None:
            feeds[name] = value
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            declared.append(helper.make_tensor_value_info(name, kind, value.shape))
    results = [helper.make_empty_tensor_value_info(name) for name in made if name]
    graph = helper.make_graph([node], op_type, declared, results, constants)
    domains = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=10), feeds


def case(name: str, op_type: str, inputs: Sequence[Given], *, steps: int = 0, rtol: float = 1e-5, **more: Any) -> Case:
    model, feeds = model_of(op_type, inputs, **more)
    return Case(name, model, feeds, steps, rtol)


def chain(text: str, constants: dict[str, np.ndarray], opset: int = 21, ir_version: int = 10) -> ModelProto:
    """A model in ONNX's text form, its initializers beside it."""
    domains = f'"": {opset}, "{MICROSOFT}": 1'
    model = onnx.parser.parse_model(f"<ir_version: {ir_version}, opset_import: [{domains}]>\n{text}")
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return model


def difference(found: np.ndarray, wanted: np.ndarray, steps: int = 0, rtol: float = 1e-5, step: float = 0.0) -> str:
    """What is wrong with a result; "" if nothing is. Integers may be off by so many steps, floats by so many times
    `step`, too."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{list(found.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    scale = np.abs(b[np.isfinite(b)]).max(initial=0)
    allowed = steps if found.dtype.kind in "iu" else rtol * np.maximum(np.abs(b), scale * 0.1) + steps * step
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed)
    if same.all():
        return ""
    return f"{(~same).sum()} of {same.size}: {a[~same][:4]}, not {b[~same][:4]}"


def operators(model: ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


FLOAT = TensorProto.FLOAT
