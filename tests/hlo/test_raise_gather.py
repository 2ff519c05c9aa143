"""gather raised: every combination of dimension numbers as XLA computes it, the plain forms as a person has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.hlo.infer import infer_node
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph
from backedge.passes.types import DType, TensorType

from .indexing import gathers
from .single_op import check, entry, operators

X = np.arange(20, dtype=np.float32).reshape(4, 5)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_gathers(seed: int) -> None:
    case = gathers(seed, 12)
    check(case.text(), case.feeds)


def one(operand: str, indices: str, result: str, numbers: str) -> str:
    return entry({"x": operand, "i": indices}, [f"r = {result} gather(x, i), {numbers}"])


ROWS = "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}"
COLUMNS = "offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, slice_sizes={4,1}"
PAIRS = "offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}"
SWAPPED = PAIRS.replace("start_index_map={0,1}", "start_index_map={1,0}")
ALONG = (
    "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
    "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}"
)
BATCHED = (
    "offset_dims={1}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
    "start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1,3}"
)
PLAIN = [
    ("f32[4,5]", "s32[3,1]", "f32[3,5]", ROWS, ["Squeeze", "Clip", "Cast", "Gather"]),
    ("f32[4,5]", "s64[3]", "f32[3,5]", ROWS, ["Clip", "Gather"]),
    ("f32[4,5]", "s32[3]", "f32[4,3]", COLUMNS, ["Clip", "Cast", "Gather"]),
    ("f32[4,5]", "s32[3,2]", "f32[3]", PAIRS, ["Max", "Min", "Cast", "GatherND"]),
    ("f32[4,5]", "s32[3,2]", "f32[3]", SWAPPED, ["Gather", "Max", "Min", "Cast", "GatherND"]),
    ("f32[4,5]", "s32[4,2]", "f32[4,2]", ALONG, ["Clip", "Cast", "GatherElements"]),
    ("f32[2,5,3]", "s32[2]", "f32[2,3]", BATCHED, ["Unsqueeze", "Clip", "Cast", "GatherND"]),
]


@pytest.mark.parametrize(("operand", "indices", "result", "numbers", "expected"), PLAIN)
def test_as_a_person_would(operand: str, indices: str, result: str, numbers: str, expected: list[str]) -> None:
    sizes = [int(part) for part in operand[4:-1].split(",")]
    where = [int(part) for part in indices[4:-1].split(",")]
    x = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    i = np.resize([0, 2, -1, 3, 9], where).astype(np.int64 if indices.startswith("s64") else np.int32)
    assert sorted(operators(check(one(operand, indices, result, numbers), [x, i]))) == sorted(expected)


def test_nothing_to_gather() -> None:
    lines = [
        "none = f32[0] gather(x, i0), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
        "index_vector_dim=1, slice_sizes={1}",
        "empty = f32[2,0] gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, "
        "index_vector_dim=1, slice_sizes={0}",
        "rows = f32[2,0] gather(z, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
        "index_vector_dim=1, slice_sizes={1,0}",
        "scalar = f32[] gather(s, e), offset_dims={}, collapsed_slice_dims={}, start_index_map={}, "
        "index_vector_dim=0, slice_sizes={}",
    ]
    parameters = {
        "x": "f32[4]", "i0": "s32[0,1]", "i": "s32[2,1]", "z": "f32[4,0]", "s": "f32[]", "e": "s32[0]"
    }  # fmt: skip
    i32 = np.int32
    feeds = [X[0, :4], np.zeros((0, 1), i32), np.zeros((2, 1), i32), X[:, :0], np.float32(3), np.zeros(0, i32)]
    check(entry(parameters, lines), feeds)


def test_known_indices_are_constants() -> None:
    lines = [
        "i = s32[3,2] constant({{0,9},{-1,1},{3,4}})",
        f"r = f32[3] gather(x, i), {PAIRS}",
        "n = s32[] constant(0)",
        "zero = s32[3,2] broadcast(n), dimensions={}",
        "below = pred[3,2] compare(i, zero), direction=LT",
        "ends = s32[2] constant({4,5})",
        "end = s32[3,2] broadcast(ends), dimensions={1}",
        "wrapped = s32[3,2] add(i, end)",
        "chosen = s32[3,2] select(below, wrapped, i)",
        f"ROOT q = f32[3] gather(x, chosen), {PAIRS}",
    ]
    text = "HloModule m ENTRY e { x = f32[4,5] parameter(0) " + " ".join(lines) + " }"
    assert operators(check(text, [X])) == ["GatherND"]


def test_narrow_elements() -> None:
    lines = [
        "n = s4[4,5] convert(x)",
        f"r = s4[3,5] gather(n, i), {ROWS}",
        f"s = s4[3] gather(n, j), {PAIRS}",
    ]
    check(
        entry({"x": "s32[4,5]", "i": "s32[3]", "j": "s32[3,2]"}, lines),
        [np.arange(-8, 12, dtype=np.int32).reshape(4, 5) % 8, np.int32([0, 3, 9]), np.int32([[0, 1], [-1, 9], [3, 3]])],
    )


def test_many_windows() -> None:
    """Windows of more elements than a constant of coordinates should have."""
    numbers = (
        "offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={250,251}"
    )
    x = np.arange(260 * 260, dtype=np.float32).reshape(260, 260)
    hub = check(one("f32[260,260]", "s32[2,2]", "f32[2,250,251]", numbers), [x, np.int32([[0, 3], [20, 5]])])
    assert max(value.data.size for value in hub.constants if value.data is not None) < 1000


# contradictions --------------------------------------------------------------------------------------


Sizes = tuple[int, ...]


def _built(attributes: dict[str, Any], indices: Sizes, result: Sizes) -> Graph:
    """A graph that no reader has looked at."""
    graph = Graph("hlo")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (4, 5)))
    i = graph.add_input("i", TensorType(DType.INT32, indices))
    node = graph.add_node("gather", [x, i], [("r", TensorType(DType.FLOAT32, result))], attributes, domain="hlo")
    graph.outputs.append(node.output)
    return graph


_ROWS = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "index_vector_dim": 1}


@pytest.mark.parametrize(
    ("changed", "indices", "result"),
    [
        ({"start_index_map": (2,)}, (3,), (3, 5)),
        ({"start_index_map": (0, 0)}, (3, 2), (3, 5)),
        ({"offset_dims": (0, 1)}, (3,), (3, 5)),
        ({"offset_dims": (5,)}, (3,), (3, 5)),
        ({"index_vector_dim": 3}, (3,), (3, 5)),
        ({"operand_batching_dims": (0,), "start_indices_batching_dims": (0,)}, (3,), (3, 5)),
        ({"slice_sizes": (2, 5)}, (3,), (3, 5)),
        ({"slice_sizes": (1, 6)}, (3,), (3, 6)),
        ({"slice_sizes": (1,)}, (3,), (3, 5)),
    ],
)
def test_contradictions_get_one_line(
    changed: dict[str, Any], indices: tuple[int, ...], result: tuple[int, ...]
) -> None:
    plain = {**_ROWS, "slice_sizes": (1, 5)}
    assert infer_node(_built(plain, (3,), (3, 5)).nodes[0]) == [TensorType(DType.FLOAT32, (3, 5))]
    with pytest.raises(InvalidModel, match="gather") as caught:
        infer_node(_built({**plain, **changed}, indices, result).nodes[0])
    assert "\n" not in str(caught.value)
