"""`constants` and `static_args`: what becomes of the arguments of a JAX function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import backedge
import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.passes.types import DType

jax = pytest.importorskip("jax", reason="jax isn't installed")
export = pytest.importorskip("jax.export", reason="jax isn't installed")
jnp = jax.numpy

KERNEL = np.array([[1, -2, 0.5], [0.25, 3, -1]], np.float32)
PARAMS = {"dense": {"kernel": KERNEL, "bias": np.zeros(3, np.float32)}, "out": {"bias": np.zeros(3, np.float32)}}
X = np.array([[1, 2], [-3, 0.5], [0, 0]], np.float32)
NAMES = ["params.dense.bias", "params.dense.kernel", "params.out.bias"]


def net(params: Any, x: Any, count: int) -> Any:
    """A row through a layer, `count` times with what came of it added."""
    for _ in range(count):
        x = x @ params["dense"]["kernel"] + params["dense"]["bias"]
        x = params.get("activation", jnp.tanh)(x)[:, :2] + params["out"]["bias"][:2]
    return x


def wanted(count: int) -> np.ndarray[Any, Any]:
    """In NumPy: the biases are 0."""
    x = X
    for _ in range(count):
        x = np.tanh(x @ KERNEL)[:, :2]
    return x


def specs(tree: Any) -> Any:
    return jax.tree.map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype), tree)


def forms() -> dict[str, Any]:
    """How a graph comes of `net` with its parameters as constants and two passes."""
    jitted = jax.jit(net, static_argnames="count")
    lowered = jitted.lower(PARAMS, X, 2)
    by_name = {"constants": {"params": PARAMS}}
    return {
        "function": lambda: backedge.from_jax(net, PARAMS, X, 2, constants="params", static_args="count"),
        "positions": lambda: backedge.from_jax(net, PARAMS, X, 2, constants=[0], static_args=[-1]),
        "jitted": lambda: backedge.from_jax(jitted, PARAMS, X, 2, constants="params", static_args=2),
        "shapes": lambda: backedge.from_jax(net, specs(PARAMS), specs(X), 2, static_args=2, **by_name),
        "lowered": lambda: backedge.from_jax(lowered, **by_name),
        "compiled": lambda: backedge.from_jax(lowered.compile(), **by_name),
        "exported": lambda: backedge.from_jax(export.export(jitted)(PARAMS, X, 2), **by_name),
        "no arrays": lambda: backedge.from_jax(
            net, {**PARAMS, "activation": jnp.tanh}, X, 2, constants="params", static_args="count"
        ),
    }


@pytest.mark.parametrize("form", forms())
def test_arguments_become_constants(form: str) -> None:
    """They have the names of the tree, each its own, equal ones too, and the other argument is the only input."""
    graph = forms()[form]()
    assert [value.name for value in graph.inputs] == ["x"]
    assert sorted(value.name for value in graph.constants if value.name.startswith("params.")) == NAMES
    (found,) = backedge.run(graph, {"x": X}).values()
    np.testing.assert_allclose(found, wanted(2), rtol=1e-5)


def initializers(model: onnx.ModelProto) -> dict[str, np.ndarray[Any, Any]]:
    return {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}


def test_initializers_can_be_replaced() -> None:
    """In the ONNX model each parameter is an initializer as it was; another value for one is another network."""
    report = backedge.convert(net, to="onnx", args=(PARAMS, X, 1), constants="params", static_args="count", verify=4)
    assert report.verdict in ("proved", "equal") and report.verification is not None
    assert report.notes[0] == "argument 'params' is constant (arrays: 3)"
    assert {run.runnable for run in report.verification.trials[0].a} == {"executor", "xla"}
    model = report.model
    found = initializers(model)
    assert set(NAMES) <= set(found) and [one.name for one in model.graph.input] == ["x"]
    np.testing.assert_array_equal(found["params.dense.kernel"], KERNEL)
    (bias,) = (one for one in model.graph.initializer if one.name == "params.out.bias")
    bias.CopyFrom(onnx.numpy_helper.from_array(np.full(3, 5, np.float32), bias.name))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": X})[0], wanted(1) + 5, rtol=1e-5)


def test_with_an_open_batch_and_in_a_loop() -> None:
    """A loop's body is handed the parameters: each is there once."""

    def cell(params: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = jnp.tanh(x @ params["k"] + h @ params["h"])
            return h, h

        return jax.lax.scan(step, jnp.zeros((xs.shape[1], 2)), xs)[1]

    params = {"k": KERNEL[:, :2], "h": KERNEL[:, 1:]}
    sizes = jax.ShapeDtypeStruct((4, "batch", 2), jnp.float32)
    report = backedge.convert(cell, to="onnx", args=(params, sizes), constants="params", verify=4)
    assert report.verdict in ("proved", "equal") and report.operators["Scan"] == 1
    found = initializers(report.model)
    np.testing.assert_array_equal(found["params.k"], params["k"])
    np.testing.assert_array_equal(found["params.h"], params["h"])
    (scan,) = (node for node in report.model.graph.node if node.op_type == "Scan")
    assert not [one for at in scan.attribute for one in at.g.initializer if one.dims and one.dims[0] > 1]
    session = onnxruntime.InferenceSession(report.model.SerializeToString(), providers=["CPUExecutionProvider"])
    for batch in (1, 3):
        xs = np.linspace(-1, 1, 8 * batch, dtype=np.float32).reshape(4, batch, 2)
        np.testing.assert_allclose(session.run(None, {"xs": xs})[0], cell(params, xs), rtol=1e-5)


@pytest.mark.parametrize("x64", [False, True])
def test_element_types_are_those_of_jax(x64: bool) -> None:
    """float64 and int64 stay so with x64 only; bfloat16, bool, complex numbers and keys are as they are."""

    def function(values: Any, x: Any) -> Any:
        drawn = jax.random.uniform(values["key"], (2,))
        turned = jnp.abs(values["c"] * x)
        return values["w"] * x + values["n"] + drawn, values["b"] * 3, jnp.where(values["m"], turned, x)

    with jax.enable_x64(x64):
        values = {
            "w": np.array([0.1, 1 / 3]),
            "n": np.array([7, -(2**31)]),
            "b": jnp.array([1.5, -0.1], jnp.bfloat16),
            "m": np.array([True, False]),
            "c": np.array([1 + 2j, 3j], np.complex64),
            "key": jax.random.key(3),
        }
        x = np.array([2, 5], np.float32)
        graph = backedge.from_jax(function, values, x, constants="values")
        expected = [np.asarray(one) for one in function(values, x)]
    wide = {"w": DType.FLOAT64, "n": DType.INT64} if x64 else {"w": DType.FLOAT32, "n": DType.INT32}
    found = {value.name: value.tensor.dtype for value in graph.constants}
    for name, dtype in {**wide, "b": DType.BFLOAT16, "m": DType.BOOL, "key": DType.UINT32}.items():
        assert found[f"values.{name}"] is dtype
    for got, one in zip(backedge.run(graph, {"x": x}).values(), expected, strict=True):
        assert got.dtype == one.dtype
        np.testing.assert_allclose(got.astype(float), one.astype(float), rtol=1e-6)


def test_an_integer_that_jax_would_wrap_is_refused() -> None:
    with pytest.raises(backedge.InvalidModel, match=r"input 'n': int32\[1\] is expected \(.*has other numbers\)"):
        backedge.from_jax(lambda n, x: n + x, np.array([2**40]), np.array([1], np.int32), constants="n")


def test_what_a_function_holds_is_constant() -> None:
    """Arrays that a function captures have no names in JAX; they are in the model all the same."""
    report = backedge.convert(lambda x: x @ KERNEL, to="onnx", args=(X,), verify=0)
    assert [one.name for one in report.model.graph.input] == ["x"]
    np.testing.assert_array_equal(initializers(report.model)["constant"], KERNEL)


def test_values_of_a_file_stay_with_its_runtime(tmp_path: Path) -> None:
    """`values` of StableHLO are constants of StableHLO, which XLA runs, and the opset is as without them."""

    def function(x: Any, steps: Any) -> Any:
        return jax.lax.fori_loop(0, steps, lambda _, y: y * 2, x)

    path = tmp_path / "m.mlir"
    path.write_text(jax.jit(function).lower(jnp.float32(1), 3).as_text(debug_info=True))
    report = backedge.convert(path, to="onnx", values={"steps": 4}, verify=4)
    assert (report.source_format, report.opset) == ("stablehlo", 21) and report.verification is not None
    assert {run.runnable for run in report.verification.trials[0].a} == {"executor", "xla"}
    assert backedge.run(report.model, {"x": 3}) == {"output": 48}
    path.write_text(jax.jit(net, static_argnums=2).lower(PARAMS, X, 1).as_text(debug_info=True))
    model = backedge.convert(path, to="onnx", constants={"params": PARAMS}, verify=0).model
    assert [one.name for one in model.graph.input] == ["x"] and set(NAMES) <= set(initializers(model))


def test_what_is_said() -> None:
    lowered = jax.jit(net, static_argnums=2).lower(PARAMS, X, 1)
    cases: list[tuple[type[Exception], str, Any]] = [
        (TypeError, "there is no argument 'parms'; there are params, x, count", {"constants": "parms"}),
        (TypeError, "there is no argument 3", {"static_args": 3}),
        (TypeError, "'params' is one of constants=... and of static_args=...", {"constants": 0, "static_args": 0}),
    ]
    for error, message, options in cases:
        with pytest.raises(error, match=message):
            backedge.from_jax(net, PARAMS, X, 1, **options)
    with pytest.raises(TypeError, match=r"'params\.dense\.bias' is a ShapeDtypeStruct, which has no values"):
        backedge.from_jax(net, specs(PARAMS), X, 1, constants="params", static_args="count")
    with pytest.raises(TypeError, match="this Lowered is traced already"):
        backedge.from_jax(lowered, static_args="count")
    with pytest.raises(TypeError, match=r"give them by name, constants=\{'params': params\}"):
        backedge.from_jax(lowered, constants="params")
    with pytest.raises(backedge.InvalidModel, match=r"no input is of 'p'; there are params\.dense\.bias, "):
        backedge.from_jax(lowered, constants={"p": PARAMS})
    with pytest.raises(backedge.InvalidModel, match=r"'params' has no array for input params\.out\.bias"):
        backedge.from_jax(lowered, constants={"params": {"dense": PARAMS["dense"]}})
    with pytest.raises(jax.errors.JAXTypeError) as caught:
        backedge.from_jax(jax.jit(net), PARAMS, X, 1, static_args="count")
    assert "jax.jit must be told its static arguments" in caught.value.__notes__[-1]


@pytest.mark.parametrize(
    "function",
    [lambda s, x: s * x, lambda s, x: jax.nn.elu(x, s), lambda s, x: x / (jax.numpy.abs(x) + s)],
    ids=["a factor that changes nothing", "a parameter of an activation", "a number of a pattern"],
)
def test_a_number_that_is_a_parameter_stays_one(function: Any) -> None:
    x = np.array([-1, 0, 2], np.float32)
    model = backedge.convert(function, "onnx", args=(np.float32(1), x), constants={"s": np.float32(1)}, verify=0).model
    assert "s" in [one.name for one in model.graph.initializer]
