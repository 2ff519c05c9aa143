"""Values made of values, and array expressions, against NumPy: what is known is computed at once, the rest built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backedge.passes.build import (
    Expr,
    arange,
    broadcast_to,
    cast,
    concat,
    constant_like,
    expr,
    length_of,
    loop,
    pad,
    product,
    reshape,
    shape_of,
    shape_vector,
    size_of,
    slice_axes,
    stack,
    transpose,
    where,
)
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph, Value
from backedge.passes.hub import HUB
from backedge.passes.loop import Captured, Carried, Iteration, Sliced, Stacked
from backedge.passes.opset.offsets import flattened, remainder, unravelled
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.types import DType, TensorType
from backedge.runtime.executor import Executor, never_compile

X = np.arange(-4, 20, dtype=np.float32).reshape(2, 3, 4) / 3
FLOATS = TensorType(DType.FLOAT32, ("n", 3, 4))
INTS = TensorType(DType.INT64, (None,))


def builder() -> Builder:
    return Builder(Rewriter(HUB, {}), Graph("hub", "g"))


def computed(op: Builder, made: Value | Expr, **inputs: Any) -> np.ndarray:
    """What the graph built so far gives for a value."""
    op.graph.outputs = [op.Identity(made)]
    (found,) = Executor(op.graph, never_compile).run(inputs).values()
    return found


def operators(op: Builder) -> list[str]:
    return [node.op_type for node in op.graph.topological()]


FORMULAS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (2 - x) * 3 + (1 / (x + 0.25)) - x / 2,
    "arrays": lambda x: np.float32([1, 2, 3, 4]) * x + np.ones((3, 1), np.float32),
    "negative": lambda x: -x,
    "first": lambda x: x[0],
    "last column": lambda x: x[..., -1],
    "new axes": lambda x: x[:, None, 1, ..., None],
    "slices": lambda x: x[0:2, ..., 1:3],
    "backwards": lambda x: x[:, ::-1, ::2],
    "tail": lambda x: x[..., -2:],
}


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_a_formula_is_numpys_built_or_computed_at_once(formula: Callable[[Any], Any]) -> None:
    op = builder()
    x = op.input("x", FLOATS)
    np.testing.assert_allclose(computed(op, formula(expr(op, x)), x=X), formula(X), rtol=1e-6)
    known = formula(expr(builder(), X))
    np.testing.assert_array_equal(known.array, formula(X))
    assert known.dtype is DType.FLOAT32 and operators(known.op) == []


METHODS: dict[str, tuple[Callable[[Expr], Expr], Callable[[np.ndarray], Any]]] = {
    "clip": (lambda x: x.clip(0, 2.5), lambda x: np.clip(x, 0, 2.5)),
    "comparison": (lambda x: (x > 1) & (x <= 3) | ~(x >= 0) | (x < -9), lambda x: (x > 1) & (x <= 3) | ~(x >= 0)),
    "equals": (lambda x: x.equals(-1), lambda x: x == -1),
    "rounding": (lambda x: x.floor() + x.ceil() * x.rint(), lambda x: np.floor(x) + np.ceil(x) * np.rint(x)),
    "functions": (lambda x: (x.abs() + 1).log().exp().sqrt(), lambda x: np.sqrt(np.abs(x) + 1)),
    "angles": (lambda x: x.cos() + x.sin() * x.sign(), lambda x: np.cos(x) + np.sin(x) * np.sign(x)),
    "sum": (lambda x: x.sum(1), lambda x: x.sum(1)),
    "all": (lambda x: x.max() - x.min(), lambda x: x.max() - x.min()),
    "kept": (lambda x: x.mean(0, 2, keepdims=True), lambda x: x.mean((0, 2), keepdims=True)),
    "prod": (lambda x: x.prod(-1), lambda x: x.prod(-1)),
    "gather": (lambda x: x.gather([2, 0], axis=1), lambda x: x[:, [2, 0]]),
    "where": (lambda x: where(x > 0, x, 0), lambda x: np.where(x > 0, x, 0)),
    "cast": (lambda x: x.cast(DType.INT64) // 2, lambda x: np.trunc(np.trunc(x) / 2).astype(np.int64)),
    "views": (
        lambda x: x.transpose(2, 0, 1).reshape(None, -1).unsqueeze(0),
        lambda x: x.transpose(2, 0, 1).reshape(1, 4, -1),
    ),
    "squeeze": (lambda x: x[:1].squeeze(0), lambda x: x[0]),
    "concat": (lambda x: concat(x.op, [x, x * 2], 1), lambda x: np.concatenate([x, x * 2], 1)),
}


@pytest.mark.parametrize(("method", "expected"), METHODS.values(), ids=METHODS)
def test_a_method_is_numpys(method: Callable[[Expr], Expr], expected: Callable[[np.ndarray], Any]) -> None:
    op = builder()
    x = op.input("x", FLOATS)
    np.testing.assert_allclose(computed(op, method(expr(op, x)), x=X), expected(X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(method(expr(builder(), X)).array, expected(X), rtol=1e-5, atol=1e-6)


def test_what_changes_nothing_is_not_built() -> None:
    op = builder()
    x = op.input("x", FLOATS)
    made = expr(op, x)
    assert (made - 0.0) is made and (made / 1) is made and (1 * made) is made
    assert cast(op, x, DType.FLOAT32) is x and transpose(op, x, [0, 1, 2]) is x
    assert pad(op, x, [0, 0], [0, 0], axes=[1, 2]) is x and slice_axes(op, x, [], [], []) is x
    whole = expr(op, op.input("y", TensorType(DType.FLOAT32, (3, 4))))
    assert reshape(op, whole.value(), [3, 4]) is whole.value() is broadcast_to(op, whole.value(), [3, 4])
    assert concat(op, [x]).value() is x and operators(op) == []


def test_adding_zero_to_floats_is_built_since_it_changes_a_sign() -> None:
    op = builder()
    made = expr(op, op.input("x", FLOATS))
    assert (made + 0.0) is not made and operators(op) == ["Add"]


def test_adding_an_array_of_zeros_keeps_the_sign_that_it_changes() -> None:
    """-0 + 0 is 0."""
    op = builder()
    x = op.input("x", TensorType(DType.FLOAT32, (1,)))
    made = computed(op, expr(op, x) + np.zeros(1, np.float32), x=np.float32([-0.0]))
    assert not np.signbit(made).any()


def test_a_whole_number_that_is_known_takes_no_part() -> None:
    op = builder()
    x = op.input("x", INTS)
    one = expr(op, [1])
    assert (expr(op, x) * one).value() is x and (one * expr(op, x)).value() is x and operators(op) == []
    assert (expr(op, x) + np.zeros((1, 1))).rank == 2


def test_sizes_are_known_or_read() -> None:
    op = builder()
    x = op.input("x", FLOATS)
    assert size_of(op, x, -1).item() == 4 and size_of(op, x, 1).item() == 3
    batch = size_of(op, x, 0)
    assert batch.array is None and batch.shape == (1,)
    assert size_of(op, x, -3).array is None and shape_of(op, x, 1).array.tolist() == [3, 4]
    assert length_of(op, x, -1).known.shape == () and length_of(op, x, 1).item() == 3
    assert computed(op, length_of(op, x, 0), x=X).tolist() == 2
    vector = shape_vector(op, [batch, 2, product([size_of(op, x, 1), size_of(op, x, 2)])])
    assert computed(op, vector, x=X).tolist() == [2, 2, 12]
    assert operators(op).count("Shape") == 3 and operators(op).count("Concat") == 1


def test_numbers_and_scalars_make_a_shape() -> None:
    op = builder()
    n = op.input("n", TensorType(DType.INT32, ()))
    assert computed(op, shape_vector(op, [n, 1, 5]), n=np.int32(7)).tolist() == [7, 1, 5]
    assert shape_vector(op, [2, op.const([3, 4]), expr(op, 5)]).data.numpy().tolist() == [2, 3, 4, 5]
    assert shape_vector(op, []).data.numpy().shape == (0,)


@pytest.mark.parametrize(
    ("dims", "expected"),
    [([None, -1], (2, 12)), ([None, 12], (2, 12)), ([6, 4], (6, 4)), (["batch", 2, 6], (2, 2, 6)), ([-1], (24,))],
)
def test_reshape(dims: list[Any], expected: tuple[int, ...]) -> None:
    op = builder()
    x = op.input("x", FLOATS)
    sizes = [size_of(op, x, 0) if dim == "batch" else dim for dim in dims]
    np.testing.assert_array_equal(computed(op, reshape(op, x, sizes), x=X), X.reshape(expected))


def test_reshape_takes_zero_for_a_size() -> None:
    op = builder()
    x = op.input("x", TensorType(DType.FLOAT32, (None, 3)))
    for dims in ([0, 5], [None, 0], [size_of(op, x, 0), 7]):
        made = computed(op, reshape(op, x, dims), x=np.zeros((0, 3), np.float32))
        assert made.size == 0 and made.ndim == 2


@pytest.mark.parametrize(
    ("sizes", "dims", "expected"),
    [
        (("n", 6, 4), [None, 3, -1], (0, 3, 8)),
        (("n", "c", "l"), [None, 3, -1], (0, 3, 8)),
        (("n", "c", "l"), [None, -1, "l"], (0, 6, 4)),
        (("n", "c", "l"), [None, None, -1, 2], (0, 6, 2, 2)),
        ((0, 6, 4), [None, -1], (0, 24)),
    ],
)
def test_what_is_left_beside_none(sizes: tuple[Any, ...], dims: list[Any], expected: tuple[int, ...]) -> None:
    op = builder()
    x = op.input("x", TensorType(DType.FLOAT32, sizes))
    made = reshape(op, x, [size_of(op, x, 2) if dim == "l" else dim for dim in dims])
    assert computed(op, made, x=np.zeros((0, 6, 4), np.float32)).shape == expected


def test_a_constant_is_reshaped_at_once_and_must_fit() -> None:
    op = builder()
    constant = op.const(X)
    assert reshape(op, constant, [4, -1]).data.numpy().shape == (4, 6)
    with pytest.raises(InvalidModel, match=r"has the shape \[2, 3, 4\], not \[5, -1\]"):
        reshape(op, constant, [5, -1])
    with pytest.raises(InvalidModel, match="would have to be written"):
        constant_like(op, 0, constant, [1 << 20, 1 << 20])


def test_counting() -> None:
    op = builder()
    n = op.input("n", TensorType(DType.INT64, (1,)))
    assert arange(op, 4).array.tolist() == [0, 1, 2, 3] == arange(op, op.const(4)).array.tolist()
    assert computed(op, arange(op, n), n=np.int64([5])).tolist() == [0, 1, 2, 3, 4]
    assert arange(op, 5000).array is None


def test_slices_end_where_a_run_tells() -> None:
    op = builder()
    x, n = op.input("x", FLOATS), op.input("n", TensorType(DType.INT64, (1,)))
    made = expr(op, x)[:, : expr(op, n)]
    np.testing.assert_array_equal(computed(op, made, x=X, n=np.int64([2])), X[:, :2])
    assert expr(op, X)[:, : expr(op, 2)].array.shape == (2, 2, 4)


def test_padding() -> None:
    op = builder()
    x = op.input("x", FLOATS)
    made = computed(op, pad(op, x, [1], [expr(op, 2)], 7, [1]), x=X)
    np.testing.assert_array_equal(made, np.pad(X, ((0, 0), (1, 2), (0, 0)), constant_values=7))


def test_casting_small_constants_only() -> None:
    op = builder()
    assert cast(op, op.const([1.5, -2.5]), DType.INT8).data.numpy().tolist() == [1, -2]
    assert cast(op, op.const(np.zeros(100, np.float32)), DType.INT8).data is None
    assert cast(op, op.const([1e9]), DType.FLOAT8E4M3FN).data is None  # which saturates or not


def test_known_arrays_stand_in_a_region_too() -> None:
    op = builder()
    two, region = expr(op, [2.0]), op.region("body")
    two.value()
    x = region.input("x", TensorType(DType.FLOAT32, (1,)))
    made = two * expr(region, x)
    region.graph.outputs = [made.value()]
    assert (
        made.op is region and Executor(region.graph, never_compile).run({"x": np.float32([3])})[made.value().name] == 6
    )


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_stack_is_numpys(axis: int) -> None:
    op = builder()
    x, y = (op.input(name, FLOATS) for name in "xy")
    found = computed(op, stack(op, [x, y], axis), x=X, y=-X)
    np.testing.assert_array_equal(found, np.stack([X, -X], axis), strict=True)


def test_where_of_a_known_condition_is_one_side() -> None:
    op = builder()
    x = op.input("x", FLOATS)
    assert where(expr(op, True), x, 0).value() is x
    y = op.input("y", FLOATS)
    assert where(expr(op, [False]), x, y).value() is y
    found = computed(op, where(expr(op, [False]), x, 0), x=X, y=X)
    np.testing.assert_array_equal(found, np.zeros_like(X), strict=True)


def test_places_counted_row_by_row() -> None:
    op, sizes = builder(), (2, 3, 4)
    lengths = [expr(op, [size]) for size in sizes]
    index = expr(op, np.arange(24))
    places = unravelled(index, lengths)
    for found, expected in zip(places, np.unravel_index(np.arange(24), sizes), strict=True):
        assert found.known.tolist() == expected.tolist()
    assert flattened(places, lengths).known.tolist() == list(range(24))
    assert remainder(index, 5).known.tolist() == (np.arange(24) % 5).tolist()
    assert [place.known.size for place in unravelled(expr(op, np.arange(0)), [expr(op, [0])] * 2)] == [0, 0]


@pytest.mark.parametrize("sizes", [(2, 3, 4), ("n", 3, 4), (2, "n", 4)])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_what_is_known_of_flattened_indices_is_added_up_at_once(sizes: tuple[int | str, ...], axis: int) -> None:
    op, indices = builder(), np.ascontiguousarray(np.indices(X.shape)[axis][::-1])
    x, given = op.input("x", TensorType(DType.FLOAT32, sizes)), op.input("i", TensorType(DType.INT64, X.shape))
    lines = list(np.ix_(*map(np.arange, X.shape)))
    positions = [expr(op, given if index == axis else line) for index, line in enumerate(lines)]
    made = flattened(positions, [size_of(op, x, index) for index in range(3)])
    if sizes[1] == 3:
        assert [name for name in operators(op) if name != "Shape"] == ["Mul"] * (axis < 2) + ["Add"]
    lines[axis] = indices
    expected = np.ravel_multi_index(np.broadcast_arrays(*lines), X.shape)
    np.testing.assert_array_equal(computed(op, made, x=X, i=indices), expected)


FAULTS: dict[str, Callable[[Expr], Any]] = {
    "shapes": lambda x: x + np.zeros(3),
    "place": lambda x: x.gather([9]),
    "element": lambda x: x[7],
    "axis": lambda x: x.sum(3),
    "elements": lambda x: x.reshape(3, -1),
    "parts": lambda x: concat(x.op, [x, x.reshape(2, 2)]),
    "division": lambda x: x.cast(DType.INT64) // 0,
    "counts": lambda x: arange(x.op, x),
}


@pytest.mark.parametrize("formula", FAULTS.values(), ids=FAULTS)
def test_known_arrays_that_do_not_go_together_are_the_models_fault(formula: Callable[[Expr], Any]) -> None:
    with pytest.raises(InvalidModel):
        formula(expr(builder(), np.float32([1, 2, 3, 4])))


def test_a_loop_is_a_function_of_what_a_pass_sees() -> None:
    """Elements of a sequence along its last axis, weighed with a captured number and the pass's own."""

    def step(turn: Expr, total: Expr, column: Expr, weight: Expr) -> list[Expr]:
        after = total + column * weight * (turn + 1).cast(DType.FLOAT32)
        return [after, total]

    op = builder()
    start, x = op.input("start", TensorType(DType.FLOAT32, (3,))), op.input("x", TensorType(DType.FLOAT32, (3, 4)))
    slots = [Iteration(), Carried(), Sliced(axis=-1), Captured(), Stacked(axis=1)]
    last, before = loop(op, slots, [start, x, expr(op, np.float32(0.5))], step)
    assert (last.shape, before.shape) == ((3,), (3, 4))
    values = np.float32([1, 2, 3])
    totals = values[:, None] + np.cumsum(X[0] * 0.5 * np.arange(1, 5), axis=1)
    made = computed(op, concat(op, [before, last[:, None]], 1), start=values, x=X[0])
    np.testing.assert_allclose(made, np.concatenate([values[:, None], totals], axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x[0, 0, 0, 0],
        lambda x: x[..., 0, 0, 0, 0],
        lambda x: x[:, :, :, 1:],
        lambda x: slice_axes(x.op, x.value(), [3], [0], [1]),
        lambda x: pad(x.op, x.value(), [1], [1], 0, [-4]),
    ],
)
def test_axes_that_a_value_does_not_have(formula: Callable[[Expr], Any]) -> None:
    op = builder()
    with pytest.raises(InvalidModel, match="of rank 3"):
        formula(expr(op, op.input("x", FLOATS)))
