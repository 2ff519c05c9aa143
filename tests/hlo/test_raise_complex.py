"""Complex values of HLO as pairs of real ones."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.hlo.raising.complex_pairs import split_complex
from backedge.convert.hlo.raising.from_hlo import raise_graph
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph

from .complex_values import NEAR, NEAR64, check_complex, draw, parts
from .single_op import Tolerance, check, entry, graph_of, operators, single, xla

inf, nan = np.inf, np.nan
UNARY = (
    "abs cosine exponential exponential-minus-one imag log log-plus-one logistic negate real rsqrt sign sine sqrt tan "
    "tanh"
)
REAL_RESULT = ("abs", "imag", "real")


def grid(*values: float) -> np.ndarray:
    """Every pair of these numbers as a complex one."""
    made = np.empty((len(values), len(values)), np.complex64)
    made.real, made.imag = np.meshgrid(np.float32(values), np.float32(values), indexing="ij")
    return made.ravel()


def unary(count: int, dtype: str = "c64") -> str:
    real = {"c64": "f32", "c128": "f64"}[dtype]
    lines = [
        f"r{place} = {real if opcode in REAL_RESULT else dtype}[{count}] {opcode}(z)"
        for place, opcode in enumerate(UNARY.split())
    ]
    return entry({"z": f"{dtype}[{count}]"}, lines)


def binary(count: int, opcodes: str = "add subtract multiply divide power") -> str:
    lines = [f"r{place} = c64[{count}] {opcode}(x, y)" for place, opcode in enumerate(opcodes.split())]
    compared = [f"{way} = pred[{count}] compare(x, y), direction={way}" for way in ("EQ", "NE")]
    return entry({"x": f"c64[{count}]", "y": f"c64[{count}]"}, lines + compared)


def crossed(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(values, len(values)), np.tile(values, len(values))


# functions ---------------------------------------------------------------------------------------


def test_functions_of_special_numbers() -> None:
    check_complex(unary(36), [grid(0.0, -0.0, 1.0, -2.0, inf, -inf)])


def test_functions_of_nan() -> None:
    z = np.array([complex(nan, nan), complex(nan, 1), complex(1, nan), complex(nan, 0), complex(0, nan)], np.complex64)
    check_complex(unary(5), [z])


@pytest.mark.parametrize(("dtype", "tolerance"), [("c64", NEAR), ("c128", NEAR64)])
def test_functions_of_numbers_of_every_size(dtype: str, tolerance: Tolerance) -> None:
    scale = 10.0 ** np.random.default_rng(1).uniform(-6, 1, 400)
    z = (draw([400], "complex128") * scale).astype({"c64": "complex64", "c128": "complex128"}[dtype])
    check_complex(unary(400, dtype), [z], tolerance, onnxruntime=dtype == "c64")  # which has no Atan of doubles


def test_size_and_quotient_of_huge_and_tiny_numbers() -> None:
    scale = np.float32(10.0) ** np.random.default_rng(2).uniform(-15, 15, 200).astype(np.float32)
    x, y = draw([200], seed=1) * scale, draw([200], seed=2) * scale[::-1]
    text = entry({"x": "c64[200]", "y": "c64[200]"}, ["n = f32[200] abs(x)", "q = c64[200] divide(x, y)"])
    check_complex(text, [x, y], Tolerance(rtol=1e-5, zeros=False))


def test_arithmetic_of_special_numbers() -> None:
    x, y = crossed(grid(0.0, -0.0, 1.0, -2.0, inf, -inf))
    usual = ~(np.isinf(x.real) & np.isinf(x.imag))  # both parts infinite: a quotient's sign is anybody's guess
    check_complex(binary(int(usual.sum())), [x[usual], y[usual]])


def test_powers_of_nan_and_one() -> None:
    x, y = crossed(np.array([0, 1, complex(nan, nan), 2 - 1j], np.complex64))
    check_complex(binary(16, "power"), [x, y])


@pytest.mark.parametrize("divisor", ["(2, 0)", "(0, 0)", "(1, -2)", "(inf, 0)"])
def test_division_by_a_constant(divisor: str) -> None:
    text = f"""
        HloModule m
        ENTRY main {{ z = c64[25] parameter(0) c = c64[] constant({divisor}) b = c64[25] broadcast(c), dimensions={{}}
          ROOT q = c64[25] divide(z, b) }}
    """
    made = check_complex(text, [grid(0.0, 1.0, -2.0, inf, -inf)])
    assert len(operators(made)) < 12


# what moves numbers, and what sums them ----------------------------------------------------------

MOVED = """
    c = c64[] constant((1.5, -2))
    reshaped = c64[3,2] reshape(z)
    transposed = c64[3,2] transpose(z), dimensions={1,0}
    reversed = c64[2,3] reverse(z), dimensions={1}
    sliced = c64[1,2] slice(z), slice={[1:2], [0:3:2]}
    padded = c64[4,3] pad(z, c), padding=1_1_0x-1_1_0
    joined = c64[4,3] concatenate(z, w), dimensions={0}
    chosen = c64[2,3] select(p, z, w)
    spread = c64[2,3,2] broadcast(z), dimensions={0,1}
    wide = c128[2,3] convert(z)
    narrow = c64[2,3] convert(wide)
    whole = c64[2,3] convert(f)
    pair = c64[2,3] complex(f, f)
    counted = c64[4] iota(), iota_dimension=0
    cut = c64[1,2] dynamic-slice(z, i, i), dynamic_slice_sizes={1,2}
    put = c64[2,3] dynamic-update-slice(z, cut, i, i)
    taken = c64[2,2] gather(z, n), COLUMNS
    product = c64[2,2] dot(z, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
    kept = c64[2,3] opt-barrier(z)
    same = c64[2,3] copy(z)
"""


GATHERED = "offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, slice_sizes={2,1}"
SCATTERED = "update_window_dims={0}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=1"


def lines_of(text: str, columns: str) -> list[str]:
    return [line.strip().replace("COLUMNS", columns) for line in text.strip().splitlines()]


def test_operators_that_move_numbers() -> None:
    z, w = draw([2, 3]), draw([2, 3], seed=1)
    parameters = {"z": "c64[2,3]", "w": "c64[2,3]", "p": "pred[2,3]", "f": "f32[2,3]", "i": "s32[]", "n": "s32[2]"}
    feeds = [z, w, z.real > 0, z.real, np.int32(1), np.array([2, 0], np.int32)]
    check_complex(entry(parameters, lines_of(MOVED, GATHERED)), feeds)


BODIES = """
sum { a = c64[] parameter(0) b = c64[] parameter(1) ROOT r = c64[] add(a, b) }
product { a = c64[] parameter(0) b = c64[] parameter(1) ROOT r = c64[] multiply(b, a) }
second { a = c64[] parameter(0) b = c64[] parameter(1) ROOT r = c64[] copy(b) }
square { a = c64[] parameter(0) b = f32[] parameter(1) d = c64[] complex(b, b) ROOT r = c64[] multiply(a, d) }
less { a = c64[] parameter(0) b = c64[] parameter(1) k = s32[] parameter(2) l = s32[] parameter(3)
  x = f32[] real(a) y = f32[] real(b) ROOT r = pred[] compare(x, y), direction=LT }
"""
FOLDED = """
    sums = c64[3] reduce(z, c), dimensions={0}, to_apply=sum
    products = c64[] reduce(z, c), dimensions={0,1}, to_apply=product
    windows = c64[2,2] reduce-window(z, c), window={size=1x2}, to_apply=sum
    mapped = c64[2,3] map(z, f), dimensions={0,1}, to_apply=square
    scattered = c64[2,3] scatter(z, n, v), COLUMNS, to_apply=sum
    placed = c64[2,3] scatter(z, n, v), COLUMNS, to_apply=second
    sorted = (c64[2,3], s32[2,3]) sort(z, s), dimensions={1}, is_stable=true, to_apply=less
"""


def test_operators_that_apply_computations() -> None:
    parameters = {
        "z": "c64[2,3]", "c": "c64[]", "f": "f32[2,3]", "n": "s32[2]", "v": "c64[2,2]", "s": "s32[2,3]"
    }  # fmt: skip
    z = draw([2, 3])
    order = np.arange(6, dtype=np.int32).reshape(2, 3)
    feeds = [z, np.complex64(0.5j), z.imag, np.array([2, 0], np.int32), draw([2, 2]), order]
    check_complex(entry(parameters, lines_of(FOLDED, SCATTERED), BODIES), feeds)


def test_scatter_that_multiplies() -> None:
    line = f"y = c64[2,3] scatter(z, n, v), {SCATTERED}, to_apply=product"
    text = entry({"z": "c64[2,3]", "n": "s32[2]", "v": "c64[2,2]"}, [line], BODIES)
    check_complex(text, [draw([2, 3]), np.array([1, 1], np.int32), draw([2, 2])])


def test_convolution() -> None:
    text = single("convolution", ["c64[2,5,3]", "c64[3,3,4]"], "c64[2,3,4]", "window={size=3}, dim_labels=b0f_0io->b0f")
    check_complex(text, [draw([2, 5, 3]), draw([3, 3, 4])])


LOOP = """
HloModule loop
condition { s = (s32[], c64[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(4)
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], c64[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 z = c64[2] get-tuple-element(s), index=1
  one = s32[] constant(1) next = s32[] add(i, one) y = c64[2] multiply(z, z) c = c64[2] constant({(0.1, 0), (0, 0.2)})
  w = c64[2] add(y, c) ROOT r = (s32[], c64[2]) tuple(next, w) }
yes { z = c64[2] parameter(0) ROOT r = c64[2] negate(z) }
no { z = c64[2] parameter(0) ROOT r = c64[2] exponential(z) }
ENTRY main { i = s32[] constant(0) z = c64[2] parameter(0) p = pred[] parameter(1) s = (s32[], c64[2]) tuple(i, z)
  l = (s32[], c64[2]) while(s), condition=condition, body=body w = c64[2] get-tuple-element(l), index=1
  ROOT r = c64[2] conditional(p, w, z), true_computation=yes, false_computation=no }
"""


@pytest.mark.parametrize("chosen", [False, True])
def test_loops_and_branches(chosen: bool) -> None:
    check_complex(LOOP, [draw([2]) * np.float32(0.5), np.bool_(chosen)])


@pytest.mark.parametrize("shape", [(0,), (2, 0), (1,), ()])
def test_sizes_of_nothing_and_one(shape: tuple[int, ...]) -> None:
    text = f"c64[{','.join(map(str, shape))}]"
    check_complex(entry({"z": text}, [f"y = {text} multiply(z, z)", f"w = {text} tanh(y)"]), [draw(shape)])


# the interface, and what is refused --------------------------------------------------------------


def test_a_graph_without_complex_values_is_itself() -> None:
    graph = graph_of(single("negate", ["f32[2]"], "f32[2]"))
    assert split_complex(graph) is graph


def interface(graph: Graph) -> list[tuple[str, str]]:
    return [(value.name, str(value.type)) for value in (*graph.inputs, *graph.outputs)]


def test_names_and_order_of_inputs_and_outputs_stay() -> None:
    text = entry(
        {"a": "f32[2]", "z": "c64[3]", "b": "c128[]"},
        ["u = c64[3] negate(z)", "v = f32[2] negate(a)", "w = f64[] abs(b)"],
    )
    before, after = graph_of(text), split_complex(graph_of(text))
    assert [name for name, _ in interface(after)] == [name for name, _ in interface(before)]
    types = ["float32[2]", "float32[3, 2]", "float64[2]", "float32[3, 2]", "float32[2]", "float64[]"]
    assert [type for _, type in interface(after)] == types


def test_inputs_that_are_outputs() -> None:
    text = """
        HloModule m
        ENTRY main { z = c64[2] parameter(0) x = f32[2] real(z) ROOT r = (c64[2], c64[2], f32[2]) tuple(z, z, x) }
    """
    check_complex(text, [draw([2])])


def test_what_goes_in_and_out_as_it_is_isnt_taken_apart() -> None:
    hub = check_complex(single("copy", ["c64[2]"], "c64[2]"), [draw([2])])
    assert set(operators(hub)) <= {"Identity"}


@pytest.mark.parametrize(
    ("opcode", "operands", "result", "attributes"),
    [
        ("rng", ["c64[]", "c64[]"], "c64[2]", "distribution=rng_uniform"),
        ("custom-call", ["c64[2]"], "c64[2]", 'custom_call_target="mystery"'),
    ],
)
def test_what_isnt_understood_is_refused(opcode: str, operands: list[str], result: str, attributes: str) -> None:
    with pytest.raises(Unsupported, match=r"complex|mystery"):
        raise_graph(graph_of(single(opcode, operands, result, attributes)))


def test_parts_of_real_numbers() -> None:
    lines = ["r = f32[2] real(x)", "i = f32[2] imag(x)"]
    check(entry({"x": "f32[2]"}, lines), [np.float32([-1, 3])], wanted=[np.float32([-1, 3]), np.zeros(2, np.float32)])


def test_the_parts_stand_last() -> None:
    """Held against NumPy, without XLA."""
    z = draw([2, 3])
    text = single("multiply", ["c64[2,3]", "c64[2,3]"], "c64[2,3]")
    check(text, [parts(z), parts(z)], NEAR, wanted=[np.stack([(z * z).real, (z * z).imag], -1)])
    assert np.allclose(xla(text, [z, z])[0], z * z)
