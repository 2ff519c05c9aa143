"""Loops of OpenVINO put together: body Parameters and Results with the port map beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset8 as opset

from .building import constant, parameters

Slice = tuple[int, int, int, int]  # start, stride, part_size, end
FORWARD: Slice = (0, 1, 1, -1)
BACKWARD: Slice = (-1, -1, 1, 0)


class Looping:
    """One Loop (or TensorIterator, for `trip` None) being built."""

    def __init__(self, trip: Any = None, condition: Any = True) -> None:
        self.is_loop = trip is not None
        self._node = (
            opset.loop(_outside(trip), _outside(np.array(condition) if isinstance(condition, bool) else condition))
            if self.is_loop
            else opset.tensor_iterator()
        )
        self._parameters: list[Any] = []
        self._results: list[Any] = []
        self._ports: list[Callable[[], Any]] = []
        self._iteration = -1
        self._condition = -1

    def _parameter(self, dtype: Any, shape: Any) -> Any:
        made = opset.parameter(ov.PartialShape(list(shape)), dtype)
        self._parameters.append(made)
        return made

    def _result(self, value: Any) -> Any:
        made = opset.result(value)
        self._results.append(made)
        return made

    def iteration(self, dtype: Any = np.int64, shape: Any = ()) -> Any:
        self._iteration = len(self._parameters)
        return self._parameter(dtype, shape)

    def sliced(self, value: Any, shape: Any, axis: int = 0, part: Slice = FORWARD) -> Any:
        made = self._parameter(np.float32, shape)
        start, stride, size, end = part
        self._ports.append(lambda: self._node.set_sliced_input(made, _port(value), start, stride, size, end, axis))
        return made

    def invariant(self, value: Any, dtype: Any = np.float32) -> Any:
        value = _port(_outside(value))
        made = self._parameter(dtype, value.get_partial_shape())
        self._ports.append(lambda: self._node.set_invariant_input(made, value))
        return made

    def carried(self, initial: Any, shape: Any = None, dtype: Any = np.float32) -> Any:
        """A Parameter that `back` leads to."""
        value = _port(_outside(initial))
        made = self._parameter(dtype, value.get_partial_shape() if shape is None else shape)
        made.initial = value
        return made

    def back(self, parameter: Any, result: Any) -> None:
        self._ports.append(lambda: self._node.set_merged_input(parameter, parameter.initial, result.input_value(0)))

    def result(self, value: Any) -> Any:
        return self._result(value)

    def condition(self, value: Any) -> Any:
        self._condition = len(self._results)
        return self._result(_outside(value))

    def close(self, *outputs: tuple[Any, ...]) -> list[Any]:
        """The outputs: (result,) for the last value, (result, axis[, slice]) for all of them."""
        if self.is_loop and self._condition < 0:
            self.condition(np.array(True))
        body = ov.Model(self._results, self._parameters, "body")
        if self.is_loop:
            self._node.set_function(body)
            self._node.set_special_body_ports([self._iteration, self._condition])
        else:
            self._node.set_body(body)
        for connect in self._ports:
            connect()
        made = []
        for result, *how in outputs:
            value = result.input_value(0)
            if not how:
                made.append(self._node.get_iter_value(value, -1))
                continue
            start, stride, size, end = how[1] if len(how) > 1 else FORWARD
            made.append(self._node.get_concatenated_slices(value, start, stride, size, end, how[0]))
        return made


def _outside(value: Any) -> Any:
    return value if isinstance(value, ov.Node | ov.Output) else constant(value)


def _port(value: Any) -> Any:
    return value if isinstance(value, ov.Output) else value.output(0)


def branch(
    condition: Any, captured: Sequence[Any], then: Callable[..., Sequence[Any]], other: Callable[..., Sequence[Any]]
) -> list[Any]:
    """An If: each branch gets Parameters for all captured values and gives its results."""
    node = opset.if_op(_port(condition))
    bodies = []
    for build in (then, other):
        given = [
            opset.parameter(_port(value).get_partial_shape(), _port(value).get_element_type()) for value in captured
        ]
        results = [opset.result(_outside(value)) for value in build(*given)]
        bodies.append((given, results, ov.Model(results, given, "branch")))
    node.set_then_body(bodies[0][2])
    node.set_else_body(bodies[1][2])
    for place, value in enumerate(captured):
        node.set_input(_port(value), bodies[0][0][place], bodies[1][0][place])
    return [node.set_output(a, b) for a, b in zip(bodies[0][1], bodies[1][1], strict=True)]


def model(
    arrays: Sequence[np.ndarray], build: Callable[..., Sequence[Any]], shapes: Sequence[Any] | None = None
) -> ov.Model:
    given = parameters(arrays, shapes)
    return ov.Model([opset.result(value) for value in build(*given)], given, "case")
