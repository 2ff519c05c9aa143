"""Activations as JAX spells them out become ONNX's operators, and ONNX Runtime gives JAX's numbers for them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import pytest
from backedge import convert

X = np.array([[-3.5, -1e-3, 0.0, 1e-3, 0.7, 20.0], [np.nan, -np.inf, np.inf, 100.0, -100.0, -7.0]], np.float32)

ACTIVATIONS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "relu": (jax.nn.relu, ["Max"]),  # whose zeros have no minus, as XLA's
    "relu6": (jax.nn.relu6, ["Max", "Min"]),
    "elu": (jax.nn.elu, ["Elu"]),
    "elu_of_alpha": (lambda x: jax.nn.elu(x, 0.3), ["Elu"]),
    "selu": (jax.nn.selu, ["Selu"]),
    "celu": (jax.nn.celu, ["Celu"]),
    "celu_of_alpha": (lambda x: jax.nn.celu(x, 2.0), ["Celu"]),
    "softplus": (jax.nn.softplus, ["Softplus"]),
    "mish": (jax.nn.mish, ["Mish"]),
    "leaky_relu": (jax.nn.leaky_relu, ["LeakyRelu"]),
    "hard_tanh": (jax.nn.hard_tanh, ["Clip"]),
    "hard_sigmoid": (jax.nn.hard_sigmoid, ["HardSigmoid"]),
    "hard_swish": (jax.nn.hard_swish, ["HardSwish"]),
    "soft_sign": (jax.nn.soft_sign, ["Softsign"]),
    "sigmoid": (jax.nn.sigmoid, ["Sigmoid"]),
    "silu": (jax.nn.silu, ["Sigmoid", "Mul"]),
    "gelu": (jax.nn.gelu, ["Gelu"]),
    "gelu_by_erfc": (lambda x: jax.nn.gelu(x, approximate=False), ["Gelu"]),
    "softmax": (lambda x: jax.nn.softmax(x[:1], axis=1), ["Slice", "Softmax"]),
    "softmax_of_the_first": (lambda x: jax.nn.softmax(x[:1].T, axis=0), ["Slice", "Reshape", "Softmax"]),
    "log_softmax": (lambda x: jax.nn.log_softmax(x[:1]), ["Slice", "LogSoftmax"]),
    "layer_norm": (lambda x: jax.nn.standardize(x[:1]), ["Slice", "LayerNormalization"]),
}


def _converted(function: Callable[..., Any], *specs: Any) -> onnx.ModelProto:
    return convert(function, "onnx", args=specs, verify=0).model


def _run(model: onnx.ModelProto, *inputs: np.ndarray) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip((value.name for value in session.get_inputs()), inputs, strict=True)))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_operators_and_numbers(name: str) -> None:
    function, operators = ACTIVATIONS[name]
    model = _converted(function, X)
    assert [node.op_type for node in model.graph.node] == operators
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = np.asarray(function(X))
    (found,) = _run(model, X)
    np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_types(dtype: str) -> None:
    x = X[:1].astype(dtype)
    with jax.enable_x64(dtype == "float64"):
        for function in (jax.nn.elu, jax.nn.softplus, lambda x: jax.nn.gelu(x, approximate=False)):
            wanted = np.asarray(function(x))
            (found,) = _run(_converted(function, x), x)
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=2e-3 if dtype == "float16" else 1e-7, atol=1e-3)


def test_the_complementary_error_function_alone_keeps_its_tail() -> None:
    x = np.array([-4.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 9.0], np.float32)
    (found,) = _run(_converted(jax.lax.erfc, x), x)
    np.testing.assert_allclose(found, np.asarray(jax.lax.erfc(x)), rtol=2e-5)
    assert 0 < found[-1] < 1e-30


def test_open_sizes() -> None:
    def function(x: Any) -> Any:
        return jax.nn.softmax(jax.nn.gelu(jax.nn.elu(x), approximate=False))

    model = _converted(function, jax.ShapeDtypeStruct(("batch", 6), np.float32))
    assert [node.op_type for node in model.graph.node] == ["Elu", "Gelu", "Softmax"]
    for count in (0, 1, 5):
        x = np.linspace(-2, 2, count * 6, dtype=np.float32).reshape(count, 6)
        (found,) = _run(model, x)
        np.testing.assert_allclose(found, np.asarray(function(x)), rtol=3e-6, atol=2e-7)


def test_a_normalization_of_an_open_batch() -> None:
    def function(x: Any, scale: Any, bias: Any) -> Any:
        return jax.nn.standardize(x) * scale + bias

    specs = [jax.ShapeDtypeStruct(shape, np.float32) for shape in (("batch", 3, 4), (4,), (4,))]
    model = _converted(function, *specs)
    assert [node.op_type for node in model.graph.node] == ["LayerNormalization"]
    ones = _converted(lambda x: function(x, jnp.ones(4), jnp.zeros(4)), specs[0])
    assert [node.op_type for node in ones.graph.node] == ["LayerNormalization"]
    for count in (0, 1, 5):
        x = np.random.default_rng(count).standard_normal((count, 3, 4)).astype(np.float32)
        scale, bias = np.float32([1, -2, 0.5, 3]), np.float32([0, 1, -1, 2])
        (found,) = _run(model, x, scale, bias)
        np.testing.assert_allclose(found, np.asarray(function(x, scale, bias)), rtol=1e-5, atol=2e-6)


def test_inside_a_loop() -> None:
    def function(x: Any) -> Any:
        return jax.lax.scan(lambda c, row: (jax.nn.elu(c + row), jax.nn.softmax(c)), jnp.zeros(6), x)

    model = _converted(function, X[:1].repeat(3, 0))
    (loop,) = [node for node in model.graph.node if node.op_type in ("Loop", "Scan")]
    body = next(attribute.g for attribute in loop.attribute if attribute.HasField("g"))
    assert sorted(node.op_type for node in body.node if node.op_type != "Identity") == ["Add", "Elu", "Softmax"]
    x = np.linspace(-2, 2, 18, dtype=np.float32).reshape(3, 6)
    for found, wanted in zip(_run(model, x), jax.tree.leaves(function(x)), strict=True):
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=3e-6, atol=2e-7)


def test_the_graph_that_was_given_stays_as_it_was(tmp_path: Path) -> None:
    from backedge import load
    from backedge.convert.hlo.raising import raise_graph

    path = tmp_path / "m.mlir"
    path.write_text(str(jax.jit(lambda x: jax.nn.gelu(x, approximate=False) + jax.lax.erfc(x)).lower(X).compiler_ir()))
    graph = load(path)
    before = str(graph)
    assert "Gelu" in str(raise_graph(graph))
    assert str(graph) == before
