"""One expression, or one function, by us and by MDF's engine."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from backedge.convert.mdf.raising.functions import call
from backedge.convert.mdf.raising.numpy.evaluate import Scope, evaluate
from backedge.convert.mdf.raising.numpy.values import Number
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.types import DType, TensorType
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor, never_compile
from modeci_mdf.execution_engine import EvaluableParameter, evaluate_expr
from modeci_mdf.mdf import Parameter

Values = Mapping[str, Any]
Results = Any
Made = Number | tuple[Number, ...]


def each(text: str) -> list[str]:
    """The texts between semicolons and on lines of their own."""
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]


def built(build: Callable[[Builder, Scope], Made], values: Values, constant: bool = False) -> Results:
    """What a graph gives that was built over these values: inputs of it, or constants. One array or several."""
    graph = Graph("hub")
    op = Builder(Rewriter(HUB, {}), graph)
    scope: dict[str, Made] = {}
    feeds: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in values.items():
        array = np.asarray(value)
        if constant:
            made = op.const(array)
        else:
            made = graph.add_input(op.rewriter.names.fresh("in"), TensorType(DType.of(array.dtype), array.shape))
            feeds[made.name] = array
        scope[name] = Number(made, python=type(value) in (bool, int, float))
    found = build(op, scope)
    parts = found if isinstance(found, tuple) else (found,)
    graph.outputs = [op.Identity(part.value) for part in parts]
    for index, value in enumerate(graph.outputs):
        value.name = f"out{index}"
    results = Executor(verify(graph), never_compile).run(feeds)
    arrays = tuple(results[f"out{index}"] for index in range(len(parts)))
    for part, array in zip(parts, arrays, strict=True):
        assert part.dtype.numpy == array.dtype and part.rank == array.ndim
        assert all(size in (found, None) for size, found in zip(part.sizes, array.shape, strict=True))
    return arrays if isinstance(found, tuple) else arrays[0]


def ours(text: Any, constant: bool = False, **values: Any) -> Results:
    """An expression (a number, a list) by us."""
    return built(lambda op, scope: evaluate(op, text, scope, "here"), values, constant)


def our_call(function: str, args: Mapping[str, Any], constant: bool = False, **values: Any) -> Results:
    """A function by us."""
    return built(lambda op, scope: call(op, function, args, scope, "here"), values, constant)


def theirs(text: Any, **values: Any) -> Any:
    """An expression by the engine; it raises where that does."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return evaluate_expr(text, dict(values))


def their_call(function: str, args: Mapping[str, Any], **values: Any) -> Any:
    """A function by the engine."""
    parameter = EvaluableParameter(Parameter(id="onnx_own", function=function, args=dict(args)))
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return parameter.evaluate(dict(values))


def assert_same(made: Results, expected: Any, rtol: float = 1e-13, where: object = "", signed: bool = True) -> None:
    """The same numbers of the same types. A Python float that is whole is an int in the engine, and a float here.

    Args:
        signed: zeros have the same signs.
    """
    if isinstance(expected, tuple):
        assert isinstance(made, tuple) and len(made) == len(expected), (where, made, expected)
        for one, other in zip(made, expected, strict=True):
            assert_same(one, other, rtol, where, signed)
        return
    array = np.asarray(float(expected) if type(expected) is int and abs(expected) >= 2**63 else expected)
    assert isinstance(made, np.ndarray), (where, made, expected)
    whole = type(expected) is int and made.dtype == np.float64
    assert made.dtype == array.dtype or whole, (where, made.dtype, array.dtype)
    assert made.shape == array.shape, (where, made.shape, array.shape)
    rtol = max(rtol, 1e-6) if array.dtype == np.float32 else rtol
    np.testing.assert_allclose(made, array, rtol=rtol, atol=0, err_msg=str(where))
    if signed and array.dtype == np.float64:
        zeros = array == 0
        assert np.array_equal(np.signbit(made[zeros]), np.signbit(array[zeros])), (where, made, expected)


EXTREMES = ("fmax", "fmin")
"""Of zeros of both signs C's fmax and IEEE 754-2008's maxNum return either, and NumPy returns one or the other by the
processor and by where in an array they stand: `fmax([0, 0, 0, 0, 0], -0.0)` ends in another zero than it begins with
where vectors have four numbers."""


def agree(text: str, rtol: float = 1e-13, **values: Any) -> None:
    """Inputs or constants, we make of an expression what the engine does; where that fails, we mustn't crash."""
    try:
        expected = theirs(text, **values)
    except Exception:
        refused_by_both(text, **values)
        return
    signed = not text.startswith(tuple(f"numpy.{name}(" for name in EXTREMES))
    for constant in (False, True):
        assert_same(ours(text, constant, **values), expected, rtol, (text, constant), signed)


def refused_by_both(text: str, **values: Any) -> None:
    """The engine fails: we refuse it, or give numbers (NaN where Python's division by zero raises)."""
    for constant in (False, True):
        with contextlib.suppress(BackedgeError):
            assert isinstance(ours(text, constant, **values), np.ndarray | tuple)
