"""StableHLO as backedge writes it: every operation and every element type comes back, and XLA computes the same."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest
from backedge.convert import load, save
from backedge.convert.hlo.dialect import DOMAIN, META, Form, form_of
from backedge.convert.hlo.mlir.spelling import string
from backedge.convert.hlo.mlir.writer import to_module
from backedge.convert.hlo.read import from_text
from backedge.convert.hlo.stablehlo import from_bytes, to_bytes
from backedge.convert.hlo.write import to_text
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.types import DType, TensorType
from backedge.runtime.oracles import run_file

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib isn't installed")

OPERATIONS = """HloModule operations
plus { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
more { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GE }
total { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=GT, type=TOTALORDER }
twice { x = f32[2,6] parameter(0) ROOT y = f32[2,6] add(x, x) }
low { i = s32[] parameter(0) n = s32[] parameter(1) ROOT c = pred[] compare(i, n), direction=LT }
go { p = (s32[], f32[2,6], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=2 ROOT c = pred[] compare(i, n), direction=LT }
step { p = (s32[], f32[2,6], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=0
  x = f32[2,6] get-tuple-element(p), index=1 n = s32[] get-tuple-element(p), index=2
  one = s32[] constant(1) j = s32[] add(i, one) y = f32[2,6] multiply(x, x)
  ROOT t = (s32[], f32[2,6], s32[]) tuple(j, y, n) }
left { x = f32[2,6] parameter(0) ROOT y = f32[2,6] negate(x) }
right { x = f32[2,6] parameter(0) ROOT y = f32[2,6] sine(x) }
ENTRY main { x = f32[2,6] parameter(0) i = s32[] parameter(1) m = f32[3,3] parameter(2)
  zero = f32[] constant(0) least = f32[] constant(-inf) k = s32[2,1] constant({{4},{1}}) n = s32[] constant(2)
  called = f32[2,6] call(x), to_apply=twice
  image = f32[1,2,2,3] reshape(x) kernel = f32[2,1,2,2] constant({{{{1,2},{3,4}}},{{{-1,0},{2,1}}}})
  conv = f32[1,2,2,2] convolution(image, kernel), window={size=2x2 stride=1x2 pad=1_0x0_1 rhs_reversal=1x1},
    dim_labels=bf01_oi01->bf01, feature_group_count=2
  wide = f32[2,11] pad(x, zero), padding=0_0x-1_1_1
  part = f32[2,2] slice(x), slice={[0:2],[1:6:4]}
  moved = f32[1,3] dynamic-slice(x, i, i), dynamic_slice_sizes={1,3}
  written = f32[2,6] dynamic-update-slice(x, moved, i, n)
  picked = f32[2,2] gather(x, k), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1,
    slice_sizes={2,1}
  put = f32[2,6] scatter(x, k, picked), update_window_dims={0}, inserted_window_dims={1},
    scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=plus
  sums = f32[2] reduce(x, zero), dimensions={1}, to_apply=plus
  windows = f32[2,3] reduce-window(x, zero), window={size=1x3 stride=1x2 pad=0_0x1_0}, to_apply=plus
  chosen = f32[2,6] select-and-scatter(x, windows, zero), window={size=1x3 stride=1x2 pad=0_0x1_0}, select=more,
    scatter=plus
  sorted = f32[2,6] sort(x), dimensions={1}, is_stable=true, to_apply=total
  moved2 = f32[2,3] slice(x), slice={[0:2],[0:3]}
  product = f32[2,3] dot(part, moved2), lhs_contracting_dims={1}, rhs_contracting_dims={0},
    operand_precision={highest,default}
  spectrum = c64[2,4] fft(x), fft_type=RFFT, fft_length={6} size = f32[2,4] abs(spectrum)
  mt = f32[3,3] transpose(m), dimensions={1,0} square = f32[3,3] dot(m, mt), lhs_contracting_dims={1},
    rhs_contracting_dims={0}
  factor = f32[3,3] cholesky(square), lower=true
  solved = f32[3,3] triangular-solve(factor, m), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
  back = f32[2,6] reverse(x), dimensions={0,1}
  index = s64[2,6] iota(), iota_dimension=1
  low8 = f32[2,6] reduce-precision(x), exponent_bits=5, mantissa_bits=3
  mapped = f32[2,6] map(x, x), dimensions={0,1}, to_apply=plus
  start = (s32[], f32[2,6], s32[]) tuple(i, x, n)
  loop = (s32[], f32[2,6], s32[]) while(start), condition=go, body=step
  looped = f32[2,6] get-tuple-element(loop), index=1
  either = pred[] compare(i, n), direction=NE
  branched = f32[2,6] conditional(either, x, back), true_computation=left, false_computation=right
  switched = f32[2,6] conditional(i, x, back), branch_computations={left,right}
  reduced = f32[2,6] all-reduce(x), replica_groups={{0}}, to_apply=plus
  scale = f32[6] constant({1,2,3,4,5,6}) norm = f32[2,6] batch-norm-inference(x, scale, scale, scale, scale),
    epsilon=0.1, feature_index=1
  bits = u32[2,6] bitcast-convert(x) short = bf16[2,6] convert(x) half = f32[] constant(0.5)
  clamped = f32[2,6] clamp(zero, x, half) joined = f32[4,6] concatenate(x, back), dimensions={0}
  copied = f32[2,6] copy(x) bar = (f32[2,6]) tuple(copied) pair = (f32[2,6]) opt-barrier(bar)
  behind = f32[2,6] get-tuple-element(pair), index=0
  state = u64[2] constant({1,2}) drawn = (u64[2], u32[3]) rng-bit-generator(state), algorithm=rng_three_fry
  random = u32[3] get-tuple-element(drawn), index=1 swept = f32[2,6] atan2(x, back)
  ROOT all = (f32[2,6], f32[1,2,2,2], f32[2,11], f32[2,2], f32[2,6], f32[2,6], f32[2], f32[2,6], f32[2,6], f32[2,3],
    f32[2,4], f32[3,3], s64[2,6], f32[2,6], f32[2,6], f32[2,6], f32[2,6], f32[2,6], f32[2,6], f32[2,6], u32[2,6],
    bf16[2,6], f32[2,6], f32[4,6], f32[2,6], u32[3], f32[2,6])
    tuple(called, conv, wide, part, written, put, sums, chosen, sorted, product, size, solved, index, low8, mapped,
    looped, branched, switched, reduced, norm, bits, short, clamped, joined, behind, random, swept) }
"""
FEEDS = {
    "x": np.array([[0.5, -1, 3, -0.25, 2, 7], [1, 0, -4, np.nan, 0.125, -2]], np.float32),
    "i": np.int32(1),
    "m": np.array([[2, 0, 1], [0, 3, -1], [1, 1, 4]], np.float32),
}


def _outputs(path: Path) -> dict[str, np.ndarray]:
    (outcome,) = run_file("xla", path, [FEEDS])
    assert outcome.outputs is not None, outcome.error
    return {name: np.asarray(value) for name, value in outcome.outputs.items()}


def _kinds(graph: Graph) -> list[str]:
    return sorted(node.op_type for inner in graph.graphs() for node in inner.nodes)


@pytest.mark.parametrize("kind", ["mlir", "mlirbc"])
def test_operations(kind: Literal["mlir", "mlirbc"], tmp_path: Path) -> None:
    """XLA has the same bits for the text of HLO, for what is written of it, and for what is read of that again."""
    graph = from_text(OPERATIONS)
    data = to_bytes(graph, kind)
    assert b"mhlo." not in data
    back = from_bytes(data)
    files = {"m.hlo": OPERATIONS.encode(), f"m.{kind}": data, "back.hlo": to_text(back).encode()}
    found: list[dict[str, np.ndarray]] = []
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        found.append(_outputs(tmp_path / name))
    for other in found[1:]:
        assert list(other) == list(found[0])
        for one, two in zip(found[0].values(), other.values(), strict=True):
            assert one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
    assert [value.type for value in back.outputs] == [value.type for value in graph.outputs]
    assert {"while", "conditional", "scatter", "select-and-scatter", "call", "all-reduce"} <= {*_kinds(back)}


CONSTANTS: list[np.ndarray[Any, Any]] = [
    np.float32(1.5),
    np.array([1, -0.0, np.inf], np.float32),
    np.frombuffer(np.uint32([0x7FC00001, 0xFFA00000]).tobytes(), np.float32),  # NaNs with bits of their own
    np.full((3, 2), np.nan, np.float64),
    np.arange(100, dtype=np.float64).reshape(4, 25) / 3,
    np.array([6e-8, -2], np.float16),
    np.arange(70).astype(ml_dtypes.bfloat16),
    np.array([1, -448], ml_dtypes.float8_e4m3fn),
    np.array([[True, False, True]]),
    np.ones((2, 2), np.bool_),
    np.arange(200).reshape(2, 100) % 3 == 0,
    np.array([-128, 127], np.int8),
    np.array([2**64 - 1, 0], np.uint64),
    np.array([-8, 7, -1], ml_dtypes.int4),
    np.arange(130).astype(np.int8).astype(ml_dtypes.int4),
    np.array([15, 1], ml_dtypes.uint4),
    np.array([1 + 2j, np.inf - 1j], np.complex64),
    np.full(20, 1 - 1j, np.complex128),
    np.zeros((0, 3), np.float32),
    np.array(-7, np.int32),
]


@pytest.mark.parametrize("kind", ["mlir", "mlirbc"])
def test_constants(kind: Literal["mlir", "mlirbc"]) -> None:
    """Bit for bit; those of one element through and through are one."""
    graph = Graph(DOMAIN, "constants")
    graph.outputs = [graph.add_constant(array, f"c{at}") for at, array in enumerate(CONSTANTS)]
    back = from_bytes(to_bytes(graph, kind))
    for wanted, value in zip(CONSTANTS, back.outputs, strict=True):
        source = value if value.data is not None else value.producer and value.producer.inputs[0]
        assert source and source.data is not None
        array = np.broadcast_to(source.data.numpy(), value.tensor.static_shape or ())
        assert array.dtype == wanted.dtype and array.shape == wanted.shape
        assert np.ascontiguousarray(array).tobytes() == np.ascontiguousarray(wanted).tobytes()


def _identity(inputs: list[str], outputs: list[str]) -> Graph:
    graph = Graph(DOMAIN, "m")
    graph.outputs = [graph.add_input(name, TensorType(DType.FLOAT32, (2,))) for name in inputs]
    graph.meta[META] = Form("main", outputs=tuple(outputs))
    return graph


@pytest.mark.parametrize(
    ("inputs", "outputs", "stated"),
    [
        (["x", "params.dense.kernel"], ["loss", "aux.x"], False),
        (["image", "stop at"], ["output_0", "output_1"], False),
        (["x[0]", "y"], ["0", "1"], True),
        (["grün", 'a"b\\c'], ["it's", "ü"], True),
        (["x", "y"], ["x", "y_1"], True),
    ],
)
def test_names(inputs: list[str], outputs: list[str], stated: bool) -> None:
    """Whatever they are; where MLIR's own places for names can't hold them, an attribute of the module does."""
    data = to_bytes(_identity(inputs, outputs))
    assert (b"backedge.inputs" in data) == stated
    back = from_bytes(data)
    assert [value.name for value in back.inputs] == inputs and list(form_of(back).outputs) == outputs


def test_a_computation_that_is_called_main() -> None:
    """The module starts with the entry computation, whatever the names."""
    text = """HloModule m
    main { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }
    ENTRY e { x = f32[2] parameter(0) y = f32[2] call(x), to_apply=main ROOT z = f32[2] exponential(y) }"""
    back = from_bytes(to_bytes(from_text(text)))
    assert [node.op_type for node in back.nodes] == ["call", "exponential"]


def test_origins() -> None:
    text = 'HloModule m\nENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x), metadata={op_name="layer/neg"} }'
    (node,) = from_bytes(to_bytes(from_text(text))).nodes
    assert node.origin == "layer/neg"


def test_strings() -> None:
    assert string('a"b\\ü\n') == '"a\\22b\\5C\\C3\\BC\\0A"'


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("x = f32[2] parameter(0) ROOT y = s32[2] bitcast(x)", "'y': StableHLO has no such operation"),
        ("x = f32[5] parameter(0) ROOT y = (f32[2], s32[2]) topk(x), k=2, largest=false", "no topk of the smallest"),
        (
            "x = f32[2,2] parameter(0) ROOT y = f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0},"
            " algorithm=dot_tf32_tf32_f32",
            "'y': StableHLO has no algorithm dot_tf32_tf32_f32",
        ),
        ("x = u32[2] parameter(0) ROOT y = f32[1] bitcast-convert(x)", "y"),
    ],
)
def test_refused(body: str, reason: str) -> None:
    with pytest.raises((Unsupported, InvalidModel), match=reason) as caught:
        to_bytes(from_text(f"HloModule m\nENTRY e {{ {body} }}"))
    assert "\n" not in str(caught.value)


def test_what_the_bindings_refuse_names_the_node() -> None:
    """An element type that HLO has for it, and StableHLO hasn't."""
    text = "HloModule m\nENTRY e { x = pred[2] parameter(0) ROOT wrong = pred[2] maximum(x, x) }"
    graph = from_text(text)
    graph.nodes[0].op_type = "negate"
    graph.nodes[0].inputs = graph.nodes[0].inputs[:1]
    with pytest.raises(Unsupported, match=r"wrong: 'stablehlo\.negate' op"):
        to_bytes(graph)


def test_long_constants_stand_beside_the_text() -> None:
    graph = Graph(DOMAIN, "m")
    graph.outputs = [graph.add_constant(np.arange(1000, dtype=np.float32), "c")]
    module = to_module(graph)
    assert len(module.text) < 1000 and [one.size for one in module.constants] == [4000]


def test_files(tmp_path: Path) -> None:
    graph = from_text(OPERATIONS)
    save(graph, tmp_path / "m.mlirbc")
    assert (tmp_path / "m.mlirbc").read_bytes().startswith(b"ML\xefR")
    assert [value.name for value in load(tmp_path / "m.mlirbc").inputs] == ["x", "i", "m"]
    with pytest.raises(InvalidModel, match=r"nowhere.m\.mlir: no such folder"):
        save(graph, tmp_path / "nowhere" / "m.mlir")
