"""The tables of NumPy's functions: their parameters are NumPy's, formulas are read step by step, views stay views."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backedge.convert.mdf.raising.numpy import calls
from backedge.convert.mdf.raising.numpy.arguments import FORMULAS, Call, formula, signature
from backedge.convert.mdf.raising.numpy.evaluate import evaluate
from backedge.convert.mdf.raising.numpy.shapes import SHAPES
from backedge.convert.mdf.raising.numpy.values import Number
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.types import DType, TensorType

from mdf.evaluated import built, ours


def _numpys(name: str) -> inspect.Signature | None:
    """NumPy's own parameters, where it tells them."""
    module, _, function = name.rpartition(".")
    try:
        return inspect.signature(getattr(getattr(np, module) if module else np, function))
    except ValueError:
        return None


@pytest.mark.parametrize("name", sorted(calls.TABLES["numpy"].keys() - {*calls.UFUNCS, *calls.TYPES}))
def test_parameters_are_numpys(name: str) -> None:
    """By their names, and those without a keyword in its order."""
    theirs = _numpys(name)
    own = list(inspect.signature(calls.TABLES["numpy"][name]).parameters.values())[1:]
    if theirs is None or name == "arange":  # whose first parameter is the start or the end
        return
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(parameter.kind in several for parameter in (*own, *theirs.parameters.values())):
        return
    known = list(theirs.parameters)
    for place, parameter in enumerate(own):
        assert parameter.name in known, (name, parameter, theirs)
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            assert known[place] == parameter.name, (name, parameter, theirs)


def test_a_signature_as_it_is_written() -> None:
    made = signature("name(a, axis=None, *, keepdims=False, k=-1)", "Number", "Known")
    assert str(made) == "(call, /, a: 'Number', axis: 'Known' = None, *, keepdims: 'Known' = False, k: 'Known' = -1)"


def test_formulas_have_steps() -> None:
    twice = formula("twice(a, k=2)", "b = a + 0.5\nc = b * k\nc - 1")

    def build(op: Builder, scope: Any) -> Number:
        def compute(tree: Any, names: Any, where: str) -> Any:
            from backedge.convert.mdf.raising.numpy.evaluate import _Evaluation

            return _Evaluation(op, names, where).of(tree)

        call = Call(op, "here", compute)
        made = call.bound(twice, [scope["a"]], {})
        assert isinstance(made, Number)
        return made

    assert built(build, {"a": np.array([1.0, 2.0])}).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_refuse_what_they_do_not_take(name: str) -> None:
    with pytest.raises(Unsupported, match="'order'"):
        ours(f"numpy.{name}(1, order=2)")
    with pytest.raises(InvalidModel, match="argument"):
        ours(f"numpy.{name}()")


def _nodes(text: str, shape: tuple[int, ...]) -> list[str]:
    """The operators that an expression over an input `x` is built of."""
    graph = Graph("hub")
    op = Builder(Rewriter(HUB, {}), graph)
    x = Number(graph.add_input("x", TensorType(DType.FLOAT64, shape)))
    evaluate(op, text, {"x": x}, "here")
    return [node.op_type for node in graph.nodes]


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("numpy.reshape(x, (3, -1))", (2, 3, 4), ["Reshape"]),
        ("numpy.ravel(x)", (2, 3), ["Reshape"]),
        ("numpy.reshape(x, (2, 3))", (2, 3), []),
        ("numpy.expand_dims(x, 1)", (2, 3), ["Reshape"]),
        ("numpy.transpose(x, (1, 0, 2))", (2, 3, 4), ["Transpose"]),
        ("numpy.moveaxis(x, 0, -1)", (1, 3, 1), ["Transpose"]),
        ("numpy.swapaxes(x, 0, 0)", (2, 3), []),
        ("numpy.flip(x, (0, 2))", (2, 3, 4), ["Slice", "Slice"]),
        ("numpy.broadcast_to(x, (4, 3))", (3,), ["Expand"]),
        ("numpy.broadcast_to(x, (1, 3))", (3,), ["Reshape"]),
        ("numpy.roll(x, 1, axis=1)", (2, 3), ["Gather"]),
        ("numpy.roll(x, 1)", (2, 3), ["Reshape", "Gather"]),
        ("numpy.roll(x, 2, axis=0)", (2, 3), []),
        ("numpy.repeat(x, 2, axis=1)", (2, 3), ["Gather"]),
        ("numpy.pad(x, ((0, 0), (1, 1)), 'edge')", (2, 3), ["Gather"]),
        ("numpy.concatenate([x, x], axis=1)", (2, 3), ["Concat"]),
    ],
)
def test_rearranged_elements_are_one_operator(text: str, shape: tuple[int, ...], expected: list[str]) -> None:
    assert _nodes(text, shape) == expected


@pytest.mark.timeout(10)
def test_views_of_large_arrays_take_no_memory() -> None:
    assert _nodes("numpy.transpose(numpy.reshape(x, (2 ** 13, 2 ** 13)))", (2**26,)) == ["Reshape", "Transpose"]


def test_every_function_declares_how_its_arguments_are_taken() -> None:
    tables: list[dict[str, Callable[..., Any]]] = [dict(table) for table in calls.TABLES.values()]
    for table in tables:
        for name, function in table.items():
            for parameter in list(inspect.signature(function).parameters.values())[1:]:
                kind = str(parameter.annotation).partition(" | ")[0]
                assert kind in {"Item", "Number", "Operand", "Known", "int", "bool", "Axes", "DType"}, (name, parameter)
    assert SHAPES.keys() <= calls.TABLES["numpy"].keys()
