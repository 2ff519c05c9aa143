"""Variables: each case is a step; the steps after the first are the tests' own."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
import openvino.opset6 as op

from .building import constant, f32, floats, parameters


def _model(results: list[Any], sinks: list[Any], given: list[Any]) -> ov.Model:
    return ov.Model([op.result(value) for value in results], sinks, given, "case")


def accumulator() -> Any:
    """s' = s + x from a constant; y = 2 s'."""
    x = floats(1, 2)
    (given,) = parameters([x])
    state = op.read_value(constant(f32([[1.0, 2.0]])), "total", ov.Type.f32, ov.PartialShape([1, 2]))
    total = op.add(state, given)
    return _model([op.multiply(total, f32(2.0))], [op.assign(total, "total")], [given]), [x]


def computed() -> Any:
    """The initial value depends on the input, and its length isn't fixed."""
    x = floats(1, 3)
    (given,) = parameters([x], [(1, -1)])
    state = op.read_value(op.multiply(given, f32(10.0)), "kept", ov.Type.f32, ov.PartialShape([1, -1]))
    total = op.add(state, given)
    return _model([total], [op.assign(total, "kept")], [given]), [x]


def cache() -> Any:
    """A growing cache that starts empty, and a second variable of whole numbers."""
    x = floats(1, 2)
    (given,) = parameters([x])
    past = op.read_value(constant(np.zeros((0, 2), np.float32)), "past", ov.Type.f32, ov.PartialShape([-1, 2]))
    steps = op.read_value(constant(np.array([5], np.int32)), "steps", ov.Type.i32, ov.PartialShape([1]))
    grown, counted = op.concat([past, given], 0), op.add(steps, constant(np.array([1], np.int32)))
    return _model([grown, counted], [op.assign(grown, "past"), op.assign(counted, "steps")], [given]), [x]


CASES = {"accumulator": accumulator, "computed": computed, "cache": cache}
