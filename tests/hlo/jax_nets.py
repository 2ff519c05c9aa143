"""Real nets as functions of JAX: jitted, against ONNX Runtime; their derivatives against differences, in float64.

python -m hlo.jax_nets [part of a name ...]   (from the folder tests; wheels are fetched)
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import backedge
import jax
import numpy as np
import onnx
import onnxruntime
from real.models import MODELS, Feeds, Real

_NAMES = [
    "rapidocr cls",
    "rapidocr rec",
    "orientation",
    "magika",
    "ddddocr common",
    "silero ifless",
    "silero cells",
    "echo short",
    "loss",
    "pitch",
    "noise mel",
    "asr resample_8_16",
    "asr kaldi_conv",
    "asr whisper80_conv",
    "asr nemo80_conv",
    "asr wespeaker",
    "asr gigaam_v2_conv",
]
NETS = {model.name: model for model in MODELS if model.name in _NAMES}
"""None is quantized: of random inputs, rounding decides where quantizers' ties fall, and steps have no slope."""
_FLOAT, _DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
_STEPS = (1e-5, 1e-7, 1e-9)
"""Of differences: large ones step over corners of functions, small ones are rounded."""
_KNOWN = 16
_STASHING = ("LayerNormalization", "GroupNormalization", "RMSNormalization")


@dataclass(frozen=True)
class Measured:
    """How far a net's results are from ONNX Runtime's, and its derivatives from differences, as shares.

    Attributes:
        numbers: the largest difference, over the largest number of its output, for each set of inputs.
        slopes: of the derivative along a random direction of an input or all weights; its name -> the share.
        seconds: for the first call and for the first derivative, compilation included.
    """

    name: str
    numbers: list[float]
    slopes: dict[str, float]
    seconds: tuple[float, float]

    def __str__(self) -> str:
        numbers = ", ".join(f"{share:.1e}" for share in self.numbers)
        slopes = ", ".join(f"{name} {share:.1e}" for name, share in self.slopes.items())
        return (
            f"{self.name:16} numbers {numbers:20} slopes {slopes}  ({self.seconds[0]:.0f} s, {self.seconds[1]:.0f} s)"
        )


def doubled(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, its float32 become float64."""
    twin = onnx.ModelProto()
    twin.CopyFrom(model)
    _double_graph(twin.graph)
    return twin


def _double_graph(graph: onnx.GraphProto) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.tensor_type.elem_type == _FLOAT:
            info.type.tensor_type.elem_type = _DOUBLE
    for tensor in graph.initializer:
        _double_tensor(tensor)
    for node in graph.node:
        if node.op_type in _STASHING and not any(attribute.name == "stash_type" for attribute in node.attribute):
            node.attribute.append(onnx.helper.make_attribute("stash_type", _DOUBLE))
        if node.op_type == "ConstantOfShape" and not node.attribute:
            zero = onnx.numpy_helper.from_array(np.zeros(1, np.float32))
            node.attribute.append(onnx.helper.make_attribute("value", zero))
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype", "stash_type") and attribute.i == _FLOAT:
                attribute.i = _DOUBLE
            if attribute.HasField("t"):
                _double_tensor(attribute.t)
            if attribute.HasField("g"):
                _double_graph(attribute.g)
            if node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
                numbers = np.array(attribute.f if attribute.name == "value_float" else attribute.floats, np.float64)
                attribute.CopyFrom(onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(numbers)))


def _double_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == _FLOAT:
        array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))


def _outputs(made: Any) -> list[Any]:
    return list(made) if isinstance(made, tuple) else [made]


def _shares(real: Real, function: Any) -> Iterator[float]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(real.fetch(), options, ["CPUExecutionProvider"])
    for feeds in real.feeds():
        settled = {name: made for name, array in feeds.items() if (made := known(array)) is not array}
        data = {name: array for name, array in feeds.items() if name not in settled}
        with jax.enable_x64(True):
            found = _outputs(jax.jit(functools.partial(function, **settled))(**data))
        most = 0.0
        for mine, wanted in zip(found, session.run(None, dict(feeds)), strict=True):
            mine, wanted = np.asarray(mine), np.asarray(wanted)
            assert (mine.dtype, mine.shape) == (wanted.dtype, wanted.shape)
            if wanted.dtype.kind != "f":
                assert (mine == wanted).all()
            elif wanted.size:
                most = max(most, float(np.abs(mine - wanted).max()) / max(float(np.abs(wanted).max()), 1e-6))
        yield most


def known(array: np.ndarray) -> Any:
    """A few integers as numbers of Python, since they may decide sizes."""
    return array.tolist() if array.dtype.kind in "iub" and array.ndim <= 1 and array.size <= _KNOWN else array


def slopes(model: onnx.ModelProto, feeds: Feeds) -> dict[str, float]:
    """For each input of floats, and for all weights together, how far the derivative along a direction is off."""
    function = backedge.to_jax(doubled(model))
    random = np.random.default_rng(3)
    fed = {name: array.astype(np.float64) if array.dtype == np.float32 else array for name, array in feeds.items()}
    point = {name: array for name, array in fed.items() if array.dtype == np.float64}
    data = {name: known(array) for name, array in fed.items() if name not in point}
    weights = function.parameters
    found: dict[str, float] = {}
    with jax.enable_x64(True):
        shapes = jax.eval_shape(lambda p, w: function(**data, **p, parameters=w), point, weights)
        if not any(one.dtype == np.float64 for one in _outputs(shapes)):
            return {}
        by = [random.standard_normal(one.shape) for one in _outputs(shapes) if one.dtype == np.float64]

        def total(p: Any, w: Any) -> Any:
            made = _outputs(function(**data, **p, parameters=w))
            floats = [one for one in made if one.dtype == np.float64]
            return sum((share * one).sum() for share, one in zip(by, floats, strict=True))

        value, gradient = jax.jit(total), jax.jit(jax.grad(total, (0, 1)))(point, weights)
        for name in [*point, *(["weights"] if weights else [])]:
            here = {name: point[name]} if name in point else weights
            slope_by = {name: gradient[0][name]} if name in point else gradient[1]
            along = {key: random.standard_normal(array.shape) * _size(array) for key, array in here.items()}
            slope = sum(float((slope_by[key] * along[key]).sum()) for key in here)
            shares = []
            for step in _STEPS:
                ends = []
                for sign in (1, -1):
                    moved = {key: array + sign * step * along[key] for key, array in here.items()}
                    ends.append(float(value({**point, **moved}, weights) if name in point else value(point, moved)))
                wanted = (ends[0] - ends[1]) / (2 * step)
                shares.append(abs(slope - wanted) / max(abs(wanted), abs(ends[0]) * 1e-6, 1e-12))
            found[name] = min(shares)
    return found


def _size(array: np.ndarray) -> float:
    """How large an array's numbers are; 0 where some are infinite, which aren't moved."""
    if not np.isfinite(array).all():
        return 0.0
    return float(np.sqrt((array * array).mean())) if array.size and array.any() else 1.0


def measured(real: Real) -> Measured:
    """A net's numbers and slopes."""
    model = onnx.load(real.fetch())
    start = time.perf_counter()
    numbers = list(_shares(real, backedge.to_jax(model)))
    between = time.perf_counter()
    found = slopes(model, real.feeds()[0])
    return Measured(real.name, numbers, found, (between - start, time.perf_counter() - between))


def main() -> None:
    for name, real in NETS.items():
        if len(sys.argv) == 1 or any(part in name for part in sys.argv[1:]):
            try:
                print(measured(real), flush=True)
            except Exception as error:
                print(f"{name:16} {type(error).__name__}: {str(error)[:500]}", flush=True)


if __name__ == "__main__":
    main()
