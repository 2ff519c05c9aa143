"""Building OpenVINO models for cases: arrays in, layers by name and opset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset1 as opset1
from openvino.utils.node_factory import NodeFactory

Built = tuple[ov.Model, list[np.ndarray]]
Cases = dict[str, Callable[[], Built]]
OPSETS = {number: NodeFactory(f"opset{number}") for number in range(1, 18)}


def constant(value: Any) -> Any:
    """A constant; `opset1.constant` refuses empty ones."""
    array = np.asarray(value)
    return opset1.constant(array) if array.size else ov.op.Constant(ov.Tensor(array))


def node(name: str, opset: int, *inputs: Any, **attributes: Any) -> Any:
    """A layer; arrays and numbers among the inputs become constants. `exclude-pad` is spelled `exclude_pad`."""
    fed = [one if isinstance(one, ov.Node | ov.Output) else constant(one) for one in inputs]
    named = {key.replace("exclude_pad", "exclude-pad"): value for key, value in attributes.items()}
    return OPSETS[opset].create(name, fed, named)


def outs(made: Any) -> list[Any]:
    """All outputs of a layer."""
    return [made.output(place) for place in range(made.get_output_size())]


def parameters(arrays: Sequence[np.ndarray], shapes: Sequence[Any] | None = None) -> list[Any]:
    """A Parameter for each array, of its shape or a dynamic one."""
    wanted = shapes or [array.shape for array in arrays]
    return [
        opset1.parameter(ov.PartialShape(list(shape)), ov.Type(array.dtype), name=f"x{place}")
        for place, (array, shape) in enumerate(zip(arrays, wanted, strict=True))
    ]


def model(arrays: Sequence[np.ndarray], build: Callable[..., Any], shapes: Sequence[Any] | None = None) -> Built:
    """A model of what `build` makes of Parameters like the arrays: one layer (all its outputs), or a list."""
    given = parameters(arrays, shapes)
    made = build(*given)
    outputs = list(made) if isinstance(made, list) else made.outputs()
    return ov.Model(outputs, given, "case"), list(arrays)


def table(rows: Sequence[tuple[Any, ...]]) -> Cases:
    """Cases of rows (name, arrays, build[, dynamic shapes])."""
    cases: Cases = {}
    for name, arrays, build, *shapes in rows:
        assert name not in cases, name
        cases[name] = lambda arrays=arrays, build=build, shapes=shapes: model(
            arrays, build, shapes[0] if shapes else None
        )
    return cases


def floats(*shape: int, seed: int = 0, scale: float = 2.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def positive(*shape: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) + 0.1).astype(np.float32)


def whole(*shape: int, low: int = -9, high: int = 10, dtype: Any = np.int32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def i32(*items: Any) -> np.ndarray:
    return np.array(items if len(items) != 1 else items[0], np.int32)


def i64(*items: Any) -> np.ndarray:
    return np.array(items if len(items) != 1 else items[0], np.int64)


def f32(*items: Any) -> np.ndarray:
    return np.array(items if len(items) != 1 else items[0], np.float32)
