"""Faults of OpenVINO's CPU, each shown by a model built with its own operators: where one is gone, its test fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from .worker import Worker


def infinity_as_float64() -> Any:
    """Whether infinity stays infinite as float64."""
    import openvino as ov
    from openvino import opset13 as op

    x = op.parameter([1], ov.Type.f32)
    return _run([op.convert(x, "f64")], x, np.array([np.inf], np.float32))


def halfway_quotient() -> Any:
    """-2.5 by 5/255, which float32 has a little nearer to 0 than -127.5."""
    import openvino as ov
    from openvino import opset13 as op

    x = op.parameter([2], ov.Type.f32)
    first, second = (op.gather(x, op.constant(np.array(at)), op.constant(np.array(0))) for at in (0, 1))
    scale = op.divide(second, op.constant(np.float32(255)))
    return _run([op.divide(first, scale)], x, np.array([-2.5, 5], np.float32))


def greater_than_nan() -> Any:
    """Whether NaN is greater than 0, and than itself."""
    import openvino as ov
    from openvino import opset13 as op

    x = op.parameter([2], ov.Type.f32)
    return _run([op.greater(x, op.constant(np.float32(0)))], x, np.array([np.nan, 1], np.float32))


def sums_and_two() -> Any:
    """The sums of rows of two ones, and 2 more, all of which are 4."""
    import openvino as ov
    from openvino import opset13 as op

    x = op.parameter([7, 4, 2], ov.Type.i32)
    sums = op.reduce_sum(x, op.constant(np.array([2])))
    return _run([op.add(sums, op.constant(np.array(2, np.int32)))], x, np.ones((7, 4, 2), np.int32))


def columns_and_ten() -> Any:
    """The sums of rows of ones, 4 each, and 10, 20, 30 more in the columns."""
    import openvino as ov
    from openvino import opset13 as op

    x = op.parameter([2, 3, 4], ov.Type.f32)
    sums = op.reduce_sum(x, op.constant(np.array([2])))
    return _run([op.add(sums, op.constant(np.float32([[10, 20, 30]])))], x, np.ones((2, 3, 4), np.float32))


def _run(results: list[Any], x: Any, value: np.ndarray) -> np.ndarray:
    import openvino as ov

    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    return np.array(ov.Core().compile_model(ov.Model(results, [x], "m"), "CPU", settings)([value])[0])


def _asked(question: Any) -> np.ndarray:
    worker = Worker(question)
    try:
        return worker.ask()
    finally:
        worker.stop()


def test_float64_has_no_infinity() -> None:
    assert _asked(infinity_as_float64) == np.finfo(np.float32).max


def test_quotients_are_rounded_twice() -> None:
    right = np.float32(-2.5) / (np.float32(5) / np.float32(255))
    assert _asked(halfway_quotient) != right


def test_nan_is_greater() -> None:
    """On processors with AVX-512 than both; others have one of them right."""
    assert _asked(greater_than_nan).tolist() in ([True, True], [False, True])


def test_sums_of_integers_with_what_follows() -> None:
    """Only on processors with AVX-512; others may have it right."""
    assert set(_asked(sums_and_two).ravel().tolist()) in ({4}, {2, 4})


def test_columns_of_sums_get_others_constants() -> None:
    assert _asked(columns_and_ten).tolist() != [[14, 24, 34], [14, 24, 34]]
