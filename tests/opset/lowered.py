"""A lowered model on ONNX Runtime, for what ONNX's reference doesn't run (Scatter) or runs wrong (Loop)."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from backedge.convert.files import to_hub
from backedge.runtime.executor import Executor
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

from .harness import checked, converted, parse

onnxruntime.set_default_logger_severity(4)


def lowered(text: str, opset: int, target: int, *inputs: Any) -> list[Any]:
    """The outputs of a model lowered to an old opset.

    For element types that ONNX Runtime has no kernel for at that opset, those of the executor.
    """
    graph = converted(parse(text, opset), target)
    model = checked(graph)
    feeds = {value.name: np.asarray(array) for value, array in zip(graph.inputs, inputs, strict=True)}
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except NoKernel:
        made = Executor(to_hub(graph)).run(feeds)
        return [made[value.name] for value in graph.outputs]
    return list(session.run(None, feeds))
