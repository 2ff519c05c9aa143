"""JAX programs with open sizes: as ONNX models and OpenVINO IR they give at every size what jax gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import backedge
import numpy as np
import onnx
import pytest
from backedge.passes.errors import Unsupported
from backedge.runtime.oracles import run_file

jax = pytest.importorskip("jax", reason="jax isn't installed")
jnp, lax = jax.numpy, jax.lax

Shape = Sequence[int | str]
F32, I32 = np.float32, np.int32


def _spec(shape: Shape, dtype: Any = F32) -> Any:
    return jax.ShapeDtypeStruct(tuple(shape), dtype)


def check(
    function: Callable[..., Any],
    specs: Sequence[Any],
    sizes: Sequence[dict[str, int]],
    tmp_path: Path,
    suffix: str = ".onnx",
) -> onnx.ModelProto | None:
    """The model gives what jax gives, in its own runtime, for all sizes of the symbols."""
    path = tmp_path / f"m{suffix}"
    backedge.convert(function, path, args=tuple(specs), verify=0)
    random = np.random.default_rng(5)
    for known in sizes:
        feeds = [
            (random.standard_normal(shape) if spec.dtype == F32 else random.integers(0, 9, shape)).astype(spec.dtype)
            for spec in specs
            for shape in [[known.get(dim, dim) for dim in spec.shape]]
        ]
        wanted = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(function)(*feeds))]
        runtime = "onnxruntime" if suffix == ".onnx" else "openvino"
        (outcome,) = run_file(runtime, path, [{f"#{place}": feed for place, feed in enumerate(feeds)}])
        assert outcome.outputs is not None, outcome.error
        found = list(outcome.outputs.values())
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape, known
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5, err_msg=str(known))
    return onnx.load(path) if suffix == ".onnx" else None


def _shapes(values: Any) -> list[list[int | str]]:
    return [[dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in values]


def _operators(graph: onnx.GraphProto) -> list[str]:
    found: list[str] = []
    for node in graph.node:
        found.append(node.op_type)
        found += [name for item in node.attribute if item.HasField("g") for name in _operators(item.g)]
    return found


# loops ---------------------------------------------------------------------------------------------


def _recurrent(w: Any, u: Any, xs: Any, reverse: bool = False) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(x @ w + h @ u)
        return h, h

    return lax.scan(step, jnp.zeros((xs.shape[1], u.shape[0])), xs, reverse=reverse)


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_over_an_open_size_stays_one(reverse: bool, suffix: str, tmp_path: Path) -> None:
    specs = [_spec((3, 5)), _spec((5, 5)), _spec(("t", "b", 3))]
    sizes = [{"t": 4, "b": 2}, {"t": 1, "b": 1}, {"t": 7, "b": 1}, {"t": 1, "b": 6}]
    model = check(lambda w, u, xs: _recurrent(w, u, xs, reverse), specs, sizes, tmp_path, suffix)
    if model is None:
        return
    assert _shapes(model.graph.input)[-1] == ["t", "b", 3]
    assert _shapes(model.graph.output) == [["b", 5], ["t", "b", 5]]
    operators = _operators(model.graph)
    assert operators.count("Scan") == 1 and "Loop" not in operators
    assert not {"Transpose", "Gather", "ScatterND", "Slice"} & set(operators)


def test_a_loop_that_carries_what_it_writes(tmp_path: Path) -> None:
    def fill(x: Any) -> Any:
        return lax.fori_loop(0, x.shape[0], lambda i, y: y.at[i].set(x[x.shape[0] - 1 - i] * i), jnp.zeros_like(x))

    check(fill, [_spec(("b", 2))], [{"b": 3}, {"b": 1}, {"b": 8}], tmp_path)


def test_gaps_in_what_may_be_empty(tmp_path: Path) -> None:
    """Nothing has no gaps between its elements; one element neither."""

    def gaps(x: Any) -> Any:
        return lax.pad(x[1:], jnp.float32(7), [(1, 2, 1)]), lax.pad(x, jnp.float32(7), [(1, 0, 2)])

    check(gaps, [_spec(("b",))], [{"b": 1}, {"b": 2}, {"b": 5}], tmp_path)


def test_a_loop_whose_body_alone_needs_a_size(tmp_path: Path) -> None:
    """Nothing that the loop carries has the size."""

    def count(x: Any, n: Any) -> Any:
        total = lax.fori_loop(0, n, lambda i, s: s + jnp.arange(x.shape[0], dtype=jnp.float32).sum() + i, 0.0)
        return total + x.sum()

    specs = [_spec(("b",)), _spec((), I32)]
    check(count, specs, [{"b": 3}, {"b": 1}, {"b": 9}], tmp_path)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("shape", [("b", 5), (4, "t"), ("b", "t")])
def test_the_place_of_an_extreme(shape: Shape, axis: int, tmp_path: Path) -> None:
    sizes = [{"b": 3, "t": 7}, {"b": 1, "t": 1}]
    model = check(lambda x: (jnp.argmax(x, axis), jnp.argmin(x, axis)), [_spec(shape)], sizes, tmp_path)
    assert model is not None
    assert {"ArgMax", "ArgMin"} < {*_operators(model.graph)} <= {"ArgMax", "ArgMin", "Cast"}


def test_branches_that_need_a_size(tmp_path: Path) -> None:
    def either(x: Any, which: Any) -> Any:
        return lax.cond(which > 4, lambda: jnp.ones((x.shape[0], 2)) * x.shape[0], lambda: x + 1.0)

    specs = [_spec(("b", 2)), _spec((), I32)]
    check(either, specs, [{"b": size} for size in (1, 2, 3, 4, 5)], tmp_path)


def test_nested_loops(tmp_path: Path) -> None:
    def table(x: Any, y: Any) -> Any:
        def row(previous: Any, one: Any) -> Any:
            _, new = lax.scan(lambda left, pair: (left * 0.5 + pair[0] * one + pair[1],) * 2, 0.0, (y, previous))
            return new, new

        return lax.scan(row, jnp.zeros(y.shape[0]), x)

    check(table, [_spec(("n",)), _spec(("m",))], [{"n": 3, "m": 4}, {"n": 1, "m": 1}, {"n": 1, "m": 6}], tmp_path)


# sizes that are computed -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[1:] - x[:-1],
        lambda x: x[::2],
        lambda x: x[::-1].cumsum(0),
        lambda x: jnp.concatenate([x, x * 2, jnp.zeros((3, 4))]),
        lambda x: jnp.pad(x, ((2, 1), (0, 0)), constant_values=3.0),
        lambda x: x.reshape(-1),
        lambda x: x.reshape(x.shape[0], 2, 2).sum(-1),
        lambda x: jnp.broadcast_to(x[None], (3, *x.shape)),
        lambda x: x[: (x.shape[0] + 1) // 2] + x.shape[0],
        lambda x: x.mean(0) + jnp.arange(x.shape[0])[:, None],
        lambda x: jnp.sort(x, 0),
        lambda x: x.argmax(0),
        lambda x: x @ x.T,
        lambda x: jnp.take(x, jnp.array([0, -1, 5]), axis=0, mode="clip"),
        lambda x: x.at[-1].add(2.0),
        lambda x: jax.nn.softmax(x, 0) + jax.nn.logsumexp(x),
        lambda x: jnp.einsum("bi,cj->bcij", x, x),
        lambda x: jnp.tril(jnp.ones((x.shape[0], x.shape[0]))) @ x,
        lambda x: jax.vmap(lambda row: jnp.outer(row, row))(x),
        lambda x: jnp.roll(x, 2, 0) - jnp.roll(x, -3, 0),
        lambda x: (x > 0).sum(0) + jnp.where(x > 0, x, 0).max(),
    ],
)
def test_sizes_that_follow(function: Callable[..., Any], tmp_path: Path) -> None:
    check(function, [_spec(("b", 4))], [{"b": 5}, {"b": 2}, {"b": 7}], tmp_path)


def test_named_sizes_of_results(tmp_path: Path) -> None:
    model = check(
        lambda x, y: {"both": jnp.concatenate([x, y]), "half": x[: x.shape[0] // 2], "all": x.reshape(-1)},
        [_spec(("b", 4)), _spec(("t", 4))],
        [{"b": 4, "t": 1}],
        tmp_path,
    )
    assert model is not None
    assert [value.name for value in model.graph.output] == ["all", "both", "half"]
    assert _shapes(model.graph.output) == [["4*b"], ["b + t", 4], ["floordiv(b, 2)", 4]]


# windows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_convolutions_of_open_images(padding: str, strides: tuple[int, int], tmp_path: Path) -> None:
    def network(x: Any, w: Any) -> Any:
        y = lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 1, 1), padding)

    sizes = [{"b": 2, "h": 12, "w": 13}, {"b": 1, "h": 13, "w": 12}, {"b": 3, "h": 15, "w": 20}]
    check(network, [_spec(("b", "h", "w", 2)), _spec((3, 3, 2, 4))], sizes, tmp_path)


def test_a_pool_of_less_than_a_window_is_empty(tmp_path: Path) -> None:
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2), (1, 1, 1), "VALID")  # noqa: E731
    check(pool, [_spec(("b", 2, "n"))], [{"b": 2, "n": 5}, {"b": 1, "n": 1}], tmp_path)


@pytest.mark.parametrize("shape", [("b", 3, "n"), (3, "b", 4), (2, 3, "b", 4)])
def test_sums_of_windows_of_any_number_of_channels(shape: Shape, tmp_path: Path) -> None:
    window = (*[1] * (len(shape) - 1), 2)
    summed = lambda x: lax.reduce_window(x, 0.0, lax.add, window, window, "SAME")  # noqa: E731
    check(summed, [_spec(shape)], [{"b": 2, "n": 5}, {"b": 1, "n": 2}], tmp_path)


# what is said, and what is refused -----------------------------------------------------------------------


def test_a_proof_and_the_runtimes(tmp_path: Path) -> None:
    specs = (_spec((3, 5)), _spec((5, 5)), _spec(("t", "b", 3)))
    report = backedge.convert(_recurrent, tmp_path / "m.onnx", args=specs)
    assert report.verdict == "proved", report
    report = backedge.verify(
        jax.export.export(jax.jit(_recurrent))(*_symbolic(specs)), tmp_path / "m.onnx", proof=False
    )
    assert report.verdict == "equal", report  # XLA compiled the program for each set of sizes


def _symbolic(specs: Sequence[Any]) -> list[Any]:
    scope = jax.export.SymbolicScope()
    return [
        _spec(
            [jax.export.symbolic_shape(dim, scope=scope)[0] if isinstance(dim, str) else dim for dim in spec.shape],
            spec.dtype,
        )
        for spec in specs
    ]


def test_bounds_of_slices_are_counted_from_the_end(tmp_path: Path) -> None:
    specs, sizes = [_spec(("b", 2))], [{"b": 1}, {"b": 9}]
    model = check(lambda x: lax.slice_in_dim(x, 0, x.shape[0] - 1), specs, sizes, tmp_path)
    assert model is not None and _operators(model.graph) == ["Slice"]


def test_symbols_keep_their_names_with_64_bits(tmp_path: Path) -> None:
    with jax.enable_x64(True):
        model = check(lambda x, y: x @ x + y, [_spec(("b", "b")), _spec(("b",))], [{"b": 3}, {"b": 1}], tmp_path)
    assert model is not None and _shapes(model.graph.input) == [["b", "b"], ["b"]]


def test_a_graph_with_open_sizes_is_a_source() -> None:
    graph = backedge.from_jax(lambda x: jnp.tanh(x).sum(0), _spec(("batch", 3)))
    report = backedge.convert(graph, to="onnx", verify=2)
    assert report.verdict == "proved", report
    assert _shapes(report.model.graph.input) == [["batch", 3]]


def test_a_demand_on_sizes_is_told(tmp_path: Path) -> None:
    (b,) = jax.export.symbolic_shape("b", constraints=["b >= 3"])
    report = backedge.convert(lambda x: x[2] + 1, tmp_path / "m.onnx", args=(_spec((b,)),), verify=4)
    assert any("Expected 'b >= 3'" in note or "constraint" in note for note in report.notes), report.notes


def test_hlo_has_no_open_sizes(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"float32\[b\]; HLO needs its sizes \(--shape\)"):
        backedge.convert(lambda x: x + 1, tmp_path / "m.hlo", args=(_spec(("b",)),))
    assert not (tmp_path / "m.hlo").exists()


def test_stablehlo_has_open_sizes(tmp_path: Path) -> None:
    specs = _symbolic((_spec((3, 5)), _spec((5, 5)), _spec(("t", "b", 3))))
    exported = jax.export.export(jax.jit(_recurrent))(*specs)
    report = backedge.convert(exported, tmp_path / "m.mlir", verify=3)
    assert report.verdict in ("proved", "equal"), report
    graph = backedge.load(tmp_path / "m.mlir")
    assert [value.tensor.shape for value in graph.outputs] == [("b", 5), ("t", "b", 5)]


@pytest.mark.parametrize("suffix", [".onnx", ".xml", ".hlo", ".mlir"])
def test_sizes_that_are_given(suffix: str, tmp_path: Path) -> None:
    """Everything that follows from them has a size then, in loops and in what slices them, too."""
    specs = _symbolic((_spec((3, 5)), _spec((5, 5)), _spec(("t", "b", 3))))
    exported = jax.export.export(jax.jit(lambda w, u, xs: _recurrent(w, u, jnp.concatenate([xs, xs]), True)))(*specs)
    report = backedge.convert(exported, tmp_path / f"m{suffix}", shapes={"xs": (5, 2, 3)}, verify=4)
    assert report.verdict in ("proved", "equal"), report
    graph = backedge.load(tmp_path / f"m{suffix}")
    assert graph.outputs[-1].tensor.shape == (10, 2, 5)


def test_numbers_of_an_open_count_of_parts_are_refused(tmp_path: Path) -> None:
    """Whether the last axis of a transform's input, of open size, is 1 or 2 isn't known: no fault of the model."""
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 20]>
    m (float[2,5,k] x) => (float[2,5,p] y) <int64 one = {1}> { y = DFT(x, , one) }""")
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(Unsupported, match="whether its input is real or complex isn't known"):
        backedge.convert(tmp_path / "m.onnx", tmp_path / "m.mlir", verify=0)


@pytest.mark.parametrize("indices", [[0, -1, -1], [-1, 0], [-1, -2, -3, 0], [0, 1, -1, -2], [0, -1, 0, -1]])
def test_indices_from_both_ends_of_an_open_size(indices: list[int], tmp_path: Path) -> None:
    listed = ", ".join(map(str, indices))
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 20]>
    m (float[n,2] x) => (float[{len(indices)},2] y) <int64[{len(indices)}] i = {{{listed}}}> {{ y = Gather(x, i) }}""")
    onnx.save(model, tmp_path / "m.onnx")
    backedge.convert(tmp_path / "m.onnx", tmp_path / "m.mlir", verify=0)
    for size in (3, 7):
        x = np.arange(2 * size, dtype=np.float32).reshape(size, 2)
        (outcome,) = run_file("xla", tmp_path / "m.mlir", [{"x": x}])
        assert outcome.outputs is not None
        np.testing.assert_array_equal(outcome.outputs["y"], x[indices])
