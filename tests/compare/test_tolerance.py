import math

import ml_dtypes
import numpy as np
import pytest
from backedge.passes.types import DType
from backedge.runtime.compare.iterations import Stacking
from backedge.runtime.compare.tolerance import Tolerance, measure_values

F32 = np.float32


def compare_values(expected, actual, output="", stacking=None, **tolerance):
    return measure_values(expected, actual, Tolerance(**tolerance), output=output, stacking=stacking).difference


def f32(*values):
    return np.array(values, F32)


# exact types ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int8, np.uint32, ml_dtypes.int4, np.bool_])
def test_integers_and_bools_are_exact(dtype):
    a, b = np.array([1, 0, 1]).astype(dtype), np.array([1, 1, 1]).astype(dtype)
    assert compare_values(a, a) is None
    found = compare_values(a, b)
    assert (found.kind, found.index, found.count, found.total) == ("value", (1,), 1, 3)
    assert (found.expected, found.actual) == (0, 1)
    assert found.max_units == math.inf and found.max_abs == 1


def test_big_integers_that_share_a_float():
    a, b = np.array([2**63 - 1]), np.array([2**63 - 2])
    assert float(a[0]) == float(b[0])
    assert compare_values(a, b).count == 1
    assert compare_values(np.array([2**64 - 1], np.uint64), np.array([0], np.uint64)).max_abs == 2.0**64


def test_an_explicit_atol_holds_for_integers_but_not_for_bools():
    assert compare_values(np.array([5], np.uint8), np.array([6], np.uint8), atol=1) is None
    assert compare_values(np.array([5], np.uint8), np.array([3], np.uint8), atol=1) is not None
    assert compare_values(np.array([True]), np.array([False]), atol=1) is not None


def test_strings():
    a = np.array([["x", "ü"]], object)
    assert compare_values(a, np.array([["x", b"\xc3\xbc"]], object)) is None
    found = compare_values(a, np.array([["x", "u"]]))
    assert (found.index, found.expected, found.actual) == ((0, 1), "ü", "u")
    assert compare_values(np.array([], object), np.array([], object)) is None


# floats --------------------------------------------------------------------------------------------------


def test_nan_must_stand_where_nan_stands():
    assert compare_values(f32(math.nan, 1), f32(math.nan, 1)) is None
    found = compare_values(f32(1, math.nan, 3), f32(1, 2, 3))
    assert found.index == (1,) and math.isnan(found.expected) and found.actual == 2
    assert found.max_units == math.inf
    assert compare_values(f32(1, 2, 3), f32(1, 2, math.nan)).index == (2,)


def test_infinities_must_have_the_same_sign():
    assert compare_values(f32(math.inf, -math.inf), f32(math.inf, -math.inf)) is None
    assert compare_values(f32(math.inf), f32(-math.inf)).count == 1
    assert compare_values(f32(math.inf), f32(3e38)).count == 1
    assert compare_values(f32(3e38), f32(math.inf)).count == 1


def test_negative_zero_is_zero():
    assert compare_values(f32(-0.0), f32(0.0)) is None


def test_errors_are_measured_against_the_element_and_the_tensors_scale():
    assert compare_values(f32(100.0), f32(100.009)) is None  # 1e-4 of it
    assert compare_values(f32(100.0), f32(100.02)).index == (0,)
    scale = np.full(64, 1000, F32)
    small = scale.copy()
    small[0] = 0.0
    wrong = small.copy()
    wrong[0] = 0.005  # what cancellation among thousands leaves
    assert compare_values(small, wrong) is None
    assert compare_values(f32(0.0), f32(0.005)) is not None


def test_one_huge_element_does_not_excuse_the_others():
    masked = np.ones(64, F32)
    masked[0] = -3e38
    wrong = masked.copy()
    wrong[5] = 1.01
    assert compare_values(masked, wrong).index == (5,)


def test_a_mostly_zero_tensor_is_measured_by_its_other_elements():
    sparse = np.zeros(100, F32)
    sparse[7] = 4.0
    wrong = sparse.copy()
    wrong[8] = 0.01
    assert compare_values(sparse, wrong).index == (8,)


@pytest.mark.parametrize(
    ("dtype", "passes", "fails"),
    [
        (np.float64, 1 + 5e-10, 1 + 1e-8),
        (np.float32, 1 + 5e-5, 1 + 2e-4),
        (np.float16, 1 + 8 / 1024, 1.05),
        (ml_dtypes.bfloat16, 1 + 5 / 128, 1.25),
        (ml_dtypes.float8_e4m3fn, 1.125, 1.25),
        (ml_dtypes.float8_e5m2, 1.25, 1.5),
        (ml_dtypes.float8_e8m0fnu, 2.0, 4.0),
        (ml_dtypes.float4_e2m1fn, 1.5, 2.0),
        (np.complex64, 1 + 5e-5j, 1 + 2e-4j),
    ],
    ids=str,
)
def test_what_each_type_allows(dtype, passes, fails):
    one = np.array([1.0]).astype(dtype)
    assert compare_values(one, np.array([passes]).astype(dtype)) is None
    assert compare_values(one, np.array([fails]).astype(dtype)) is not None


def test_every_float_type_has_a_budget_and_nothing_else_has():
    for dtype in DType:
        loose = dtype.is_complex or (dtype.is_float and dtype is not DType.NF4)
        assert (Tolerance().of(dtype).rtol > 0) == loose, dtype


def test_float64_computed_in_float32():
    a, b = np.array([1.0]), np.array([1 + 1e-6])
    assert compare_values(a, b) is not None
    assert compare_values(a, b, coarse=True) is None
    assert compare_values(np.array([1.0]), np.array([1.1]), coarse=True) is not None


def test_given_tolerances_replace_the_types_own():
    a, b = f32(1.0), f32(1 + 1e-6)
    assert compare_values(a, b) is None
    assert compare_values(a, b, rtol=0) is not None
    assert compare_values(f32(1.0), f32(1.5), atol=0.6) is None
    assert compare_values(f32(1.0), f32(1.5), rtol=0.6) is None
    assert compare_values(f32(0.0), f32(1e-7), rtol=0.6) is not None


def test_the_measure_of_what_is_allowed():
    found = measure_values(f32(2.0), f32(2.0 + 1e-4))
    assert found.difference is None
    assert found.units == pytest.approx(1e-4 / 2e-4, rel=0.01)
    assert found.max_abs == pytest.approx(1e-4, rel=0.01)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_empty_tensors_are_equal_if_their_shapes_are(shape):
    assert compare_values(np.zeros(shape), np.zeros(shape)) is None
    found = compare_values(np.zeros(shape), np.zeros((*shape, 1)))
    assert found.kind == "shape"


def test_scalars():
    found = compare_values(np.float32(1), np.array(2, F32))
    assert found.index == () and found.place == ""
    assert compare_values(np.float32(1), np.array([1], F32)).kind == "shape"


# structure -----------------------------------------------------------------------------------------------


def test_dtype_before_shape_before_value():
    assert compare_values(f32(1, 2), np.array([1.0])).kind == "dtype"
    found = compare_values(np.zeros((2, 3), F32), np.zeros((3, 2), F32))
    assert (found.kind, found.expected, found.actual) == ("shape", [2, 3], [3, 2])


def test_sequences_optionals_and_maps():
    a = [f32(1), [f32(2, 3), None]]
    assert compare_values(a, [f32(1), [f32(2, 3), None]]) is None
    found = compare_values(a, [f32(1), [f32(2, 4), None]], output="s")
    assert (found.path, found.index, found.place) == ((1, 0), (1,), "s[1][0][1]")
    assert compare_values(a, [f32(1), [f32(2, 3), f32(1)]]).kind == "kind"
    assert compare_values(a, a[:1]).kind == "length"
    assert compare_values(None, None) is None
    assert compare_values(None, f32(1)).expected == "nothing"
    assert compare_values([], f32()).actual == "tensor"
    assert compare_values({1: F32(2)}, {1: F32(2)}) is None
    assert compare_values({1: F32(2)}, {2: F32(2)}).kind == "keys"
    assert compare_values({1: F32(2)}, {1: F32(3)}).path == (1,)


# iterations ----------------------------------------------------------------------------------------------


def stacked(*wrong):
    """Five iterations of shape [2] along axis 1, equal but for the given (element, iteration) places."""
    a, b = np.ones((2, 5), F32), np.ones((2, 5), F32)
    for place in wrong:
        b[place] = 2
    return a, b


def test_the_first_iteration_that_differs_wins_over_the_first_index():
    a, b = stacked((0, 4), (1, 2))
    assert compare_values(a, b).index == (0, 4)
    found = compare_values(a, b, stacking=Stacking(axis=1))
    assert (found.iteration, found.index) == (2, (1, 2))
    assert compare_values(a, b, stacking=Stacking(axis=-1)).iteration == 2


def test_reversed_and_chunked_stacking():
    a, b = stacked((0, 3), (1, 1))
    assert compare_values(a, b, stacking=Stacking(1, reverse=True)).iteration == 1
    a, b = np.ones((6, 1), F32), np.ones((6, 1), F32)
    b[5] = 2
    assert compare_values(a, b, stacking=Stacking(0, part=2)).iteration == 2
    assert compare_values(a, b, stacking=Stacking(0, part=None)).iteration is None


def test_an_axis_that_is_not_there_says_nothing():
    found = compare_values(f32(1), f32(2), stacking=Stacking(axis=3))
    assert found.iteration is None and found.index == (0,)


def test_lengths_that_differ_diverge_after_the_shorter():
    stacking = Stacking(1)
    found = compare_values(np.ones((2, 5)), np.ones((2, 3)), stacking=stacking)
    assert (found.kind, found.iteration) == ("shape", 3)
    assert compare_values(np.ones((2, 5)), np.ones((3, 5)), stacking=stacking).iteration is None


def test_the_error_of_each_iteration():
    a, b = stacked((1, 2))
    profile = measure_values(a, b, stacking=Stacking(1)).profile
    assert [unit > 1 for unit in profile] == [False, False, True, False, False]
    b[0, 0] = math.nan
    assert measure_values(a, b, stacking=Stacking(1, reverse=True)).profile[4] == math.inf
