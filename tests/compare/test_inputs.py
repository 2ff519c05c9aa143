import math
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from backedge.passes.errors import Unsupported
from backedge.passes.types import (
    DType,
    Interval,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    tensor,
)
from backedge.runtime.compare.accepted import accepted, affordable
from backedge.runtime.compare.inputs import design
from backedge.runtime.compare.signature import Edge, InputSpec, Signature


def draw(*specs, trials=64, seed=0, allow_empty=False):
    return list(design(Signature(list(specs), allow_empty), trials, seed))


X = InputSpec("x", tensor("float32", "N", 3))


def test_the_same_seed_gives_the_same_inputs_and_another_others():
    one, again, other = draw(X), draw(X), draw(X, seed=1)
    assert all(np.array_equal(a["x"], b["x"]) for a, b in zip(one, again, strict=True))
    assert not all(np.array_equal(a["x"], b["x"]) for a, b in zip(one, other, strict=True))


def test_a_trial_does_not_depend_on_how_many_there_are():
    assert np.array_equal(draw(X, trials=3)[2]["x"], draw(X)[2]["x"])


def test_the_first_trial_is_plain():
    specs = [
        InputSpec("m", tensor("int64"), "trip"),
        InputSpec("go", tensor("bool"), "condition"),
        InputSpec("x", tensor("float32", "N", "K", None)),
    ]
    first = draw(*specs, trials=1)[0]
    assert first["m"] == 3 and first["go"] == np.True_
    assert first["x"].shape[:2] == (2, 3)
    assert len(np.unique(first["x"])) == first["x"].size


def test_trip_counts_are_crossed_with_every_condition():
    specs = [InputSpec("m", tensor("int64"), "trip")]
    specs += [InputSpec(name, tensor("bool"), "condition") for name in "pq"]
    seen = {(min(int(t["m"]), 5), bool(t["p"]), bool(t["q"])) for t in draw(*specs)}
    assert seen >= set(product(range(6), [True, False], [True, False]))


def test_a_gate_is_mostly_open_and_met_closed_with_every_kind_of_trip():
    specs = [InputSpec("m", tensor("int64"), "trip"), InputSpec("go", tensor("bool"), "condition", gate=True)]
    trials = draw(*specs, trials=64)
    shut = [int(t["m"]) for t in trials if not t["go"]]
    assert 8 <= len(shut) <= 16
    assert 0 in shut and max(shut) > 2


def test_every_fourth_trial_runs_deep():
    specs = [InputSpec("m", tensor("int64"), "trip"), InputSpec("go", tensor("bool"), "condition")]
    deep = draw(*specs)[::4]
    assert {int(t["m"]) for t in deep} == {2, 3, 4}
    assert all(t["go"] for t in deep)


def test_two_trip_counts_do_not_march_in_step():
    specs = [InputSpec(name, tensor("int64"), "trip") for name in "mn"]
    pairs = {(int(t["m"]), int(t["n"])) for t in draw(*specs)}
    assert any(m > n for m, n in pairs) and any(m < n for m, n in pairs) and any(m == n for m, n in pairs)


@pytest.mark.parametrize(("lower", "negative"), [(-1, True), (0, False), (None, False)])
def test_a_negative_trip_count_only_where_it_means_none(lower, negative):
    counts = {int(t["m"]) for t in draw(InputSpec("m", tensor("int64"), "trip", lower=lower))}
    assert (-1 in counts) == negative
    assert min(counts) >= -1


def test_lengths_reach_the_trip_count():
    trials = draw(InputSpec("lengths", tensor("int32", 4), "trip"))
    assert {int(t["lengths"].max()) for t in trials} >= {0, 1, 2, 3, 4}
    assert any(len(set(t["lengths"].tolist())) > 1 for t in trials)
    assert all(t["lengths"].dtype == np.int32 for t in trials)


def test_equal_symbols_are_equal_sizes_and_sizes_are_swept():
    specs = [X, InputSpec("y", tensor("int64", 2, "N")), InputSpec("z", tensor("bool", "M"))]
    trials = draw(*specs)
    assert all(t["x"].shape[0] == t["y"].shape[1] for t in trials)
    assert {t["x"].shape[0] for t in trials} >= {1, 2, 3, 4}
    assert any(t["x"].shape[0] != t["z"].shape[0] for t in trials)
    assert trials[0]["x"].shape[0] != trials[0]["z"].shape[0]


@pytest.mark.parametrize("empty", [False, True])
def test_no_empty_dimension_unless_asked_for(empty):
    sizes = {size for t in draw(X, InputSpec("y", tensor("float32", None)), allow_empty=empty) for size in t["y"].shape}
    assert (0 in sizes) == empty


def test_unknown_dimensions_mostly_fit_each_other():
    trials = draw(*(InputSpec(name, tensor("float32", None, None)) for name in "ab"))
    assert sum(t["a"].shape == t["b"].shape for t in trials) > 32
    assert any(t["a"].shape != t["b"].shape for t in trials)
    assert any(t["a"].shape[0] != t["a"].shape[1] for t in trials)


def test_bounded_dimensions_and_unknown_ranks():
    trials = draw(InputSpec("x", tensor("float32", Interval(3, 5))), InputSpec("y", TensorType(DType.FLOAT32, None)))
    assert {t["x"].shape[0] for t in trials} == {3, 4, 5}
    assert {t["y"].ndim for t in trials} == {1, 2, 3}


def test_kinds_of_data():
    trials = [t["x"] for t in draw(InputSpec("x", tensor("float32", 20)))]
    assert any((x < 0).all() for x in trials)
    assert any(np.unique(x).size == 1 for x in trials)
    assert any((x == np.rint(x)).all() and np.unique(x).size > 2 for x in trials)
    assert any((x == 0).mean() > 0.5 for x in trials)
    assert any(np.abs(x).max() > 5 for x in trials)


def test_the_models_own_thresholds_and_their_neighbours():
    trials = [t["x"] for t in draw(InputSpec("x", tensor("float32", 20), constants=(7.25, -3.0)))]
    hits = [np.isclose(x, 7.25, atol=0).any() for x in trials]
    assert sum(hits) >= 5
    assert any(((x > 7.25) & (x < 7.5)).any() for x in trials) and any(((x < 7.25) & (x > 7)).any() for x in trials)
    alike = [float(x[0]) for x in trials if np.unique(x).size == 1]
    parts = [F32(c / n) for c in (7.25, -3.0) for n in (2, 3, 4, 20)]
    assert any(number in parts for number in alike)  # what adds up to a threshold


F32 = np.float32


@pytest.mark.parametrize("dtype", list(DType), ids=lambda d: d.value)
@pytest.mark.parametrize("role", ["data", "trip", "condition", "shape", "index"])
def test_every_type_in_every_role(dtype, role):
    kind = TensorType(dtype, (2, "N"))
    constants = ("a",) if dtype is DType.STRING else (1.0,)
    specs = [InputSpec("x", kind, role), InputSpec("s", TensorType(dtype, ()), role, constants=constants)]
    for trial in draw(*specs, trials=24):
        assert trial["x"].dtype == dtype.numpy and trial["x"].ndim == 2
        assert trial["s"].shape == ()
        if dtype.is_float or dtype.is_complex:
            wide = trial["x"].astype(np.complex128 if dtype.is_complex else np.float64)
            assert np.isfinite(wide).all()


def test_narrow_integers_use_their_whole_range():
    trials = [t["x"].astype(int) for t in draw(InputSpec("x", tensor("int8", 50)))]
    assert min(x.min() for x in trials) < -100 and max(x.max() for x in trials) > 100
    wide = [t["x"] for t in draw(InputSpec("x", tensor("int64", 50)))]
    assert all(np.abs(x).max() <= 100 for x in wide)
    four = np.concatenate([t["x"].astype(int) for t in draw(InputSpec("x", tensor("int4", 50)))])
    assert four.min() == -8 and four.max() == 7


@pytest.mark.parametrize("wrap", [False, True])
def test_indices_fit_their_dimension(wrap):
    trials = draw(X, InputSpec("i", tensor("int64", 6), "index", bound="N", wrap=wrap))
    lowest = [int(t["i"].min()) for t in trials]
    assert all(-t["x"].shape[0] <= t["i"].min() and t["i"].max() < t["x"].shape[0] for t in trials)
    assert (min(lowest) < 0) == wrap
    assert any(int(t["i"].max()) == t["x"].shape[0] - 1 for t in trials)
    for t in draw(InputSpec("i", tensor("int32", 6), "index", bound=1000, upper=9)):
        assert t["i"].max() <= 9


def test_lengths_reach_the_whole_dimension():
    trials = draw(X, InputSpec("n", tensor("int32", 4), "index", bound="N", lower=1))
    assert all(t["n"].min() >= 1 and t["n"].max() <= t["x"].shape[0] for t in trials)
    assert any(t["n"].max() == t["x"].shape[0] > 1 for t in trials) and any(t["n"].min() == 1 for t in trials)


def test_a_flag_that_must_stay_off():
    assert not any(t["b"] for t in draw(InputSpec("b", tensor("bool"), upper=0)))


def test_bounds_and_divisors():
    specs = [
        InputSpec("x", tensor("float32", 30), lower=-1, upper=0.5),
        InputSpec("d", tensor("int32", 9), nonzero=True),
    ]
    for t in draw(*specs):
        assert t["x"].min() >= -1 and t["x"].max() <= 0.5
        assert (t["d"] != 0).all()


def test_shapes_are_small_and_have_one_rest_at_most():
    trials = [t["s"] for t in draw(InputSpec("s", tensor("int64", 3), "shape"))]
    assert all((s == -1).sum() <= 1 and (s != 0).all() and s.max() <= 3 for s in trials)
    assert (trials[0] == -1).sum() == 1
    assert all((t["s"] >= 1).all() for t in draw(InputSpec("s", tensor("int64", 3), "shape", lower=1)))


def test_defaults_are_used_first_and_now_and_then():
    spec = InputSpec("x", tensor("float32", 2), default=np.full(2, 42, F32))
    kept = [bool((t["x"] == 42).all()) for t in draw(spec)]
    assert kept[0] and 8 < sum(kept) < 32


def test_sequences_optionals_and_strings():
    kind = tensor("string", "N")
    specs = [InputSpec("s", SequenceType(kind)), InputSpec("o", OptionalType(kind), constants=("own",))]
    trials = draw(*specs)
    assert {len(t["s"]) for t in trials} == {1, 2, 3}
    assert len(trials[0]["s"]) == 2 and trials[0]["o"] is not None
    assert any(t["o"] is None for t in trials)
    texts = {text for t in trials if t["o"] is not None for text in t["o"].tolist()}
    assert {"own", ""} <= texts
    assert any(t["s"] == [] for t in draw(*specs, allow_empty=True))


def test_bfloat16_data_is_not_all_alike():
    trials = [t["x"] for t in draw(InputSpec("x", tensor("bfloat16", 9)))]
    assert all(x.dtype == ml_dtypes.bfloat16 for x in trials)
    assert len({x.tobytes() for x in trials}) > 32


@pytest.mark.parametrize("kind", [None, TensorType(), MapType(DType.INT64), SequenceType(None)])
def test_types_without_values_are_refused(kind):
    with pytest.raises(Unsupported, match="'x'"):
        draw(InputSpec("x", kind))


def test_a_model_without_inputs():
    assert draw(trials=2) == [{}, {}]


def test_a_set_of_sizes_for_each_trial():
    """Trial k has the sizes of set k modulo their number; what has no size there varies as ever."""
    image = InputSpec("x", TensorType(DType.FLOAT32, ("n", 3, "h", "w")))
    sizings = ({"h": 48, "w": 32}, {"h": 48, "w": 64, "n": 5})
    shapes = [batch["x"].shape for batch in design(Signature([image], sizings=sizings), 4)]
    assert [shape[2:] for shape in shapes] == [(48, 32), (48, 64)] * 2
    assert shapes[1][0] == shapes[3][0] == 5


def test_huge_constants_are_no_thresholds():
    """A bound of Clip that is the largest float would make every sum infinite."""
    spec = InputSpec("x", TensorType(DType.FLOAT32, (4,)), constants=(3.4e38, -3.4e38, float("inf"), 0.5))
    assert all(np.abs(batch["x"]).max() < 1e5 for batch in design(Signature([spec]), 200))


def _takes(*shapes):
    """A model that takes some shapes of its inputs only, and how often it was asked."""
    asked = []

    def accepts(batch):
        asked.append(batch)
        return all(test(value.shape) for test, value in zip(shapes, batch.values(), strict=True))

    return accepts, asked


def test_sizes_that_a_model_takes_are_searched_for():
    """Lines of text 48 high; windows of 192 with a state of the same batch; unnamed dimensions get names."""
    line = Signature([InputSpec("x", TensorType(DType.FLOAT32, ("n", 3, None, "w")))])
    accepts, _ = _takes(lambda shape: shape[2] == 48 and shape[3] >= 8)
    found = accepted(line, accepts, 0)
    assert len(found.sizings) == 8
    assert all(accepts(batch) for batch in design(found, 16))

    voice = [
        InputSpec("x", TensorType(DType.FLOAT32, (None, None))),
        InputSpec("state", TensorType(DType.FLOAT32, (2, None, 4))),
    ]
    batch = []
    accepts, _ = _takes(
        lambda shape: batch.append(shape[0]) or shape[1] in (192, 224), lambda shape: shape[1] == batch[-1]
    )
    found = accepted(Signature(voice), accepts, 0)
    assert found.sizings and all(accepts(one) for one in design(found, 8))


def test_sizes_that_take_a_second_are_rare():
    """A model that needs 0.4 s for each row; six are too many, and all but one set in eight have one or two."""
    signature = Signature([InputSpec("x", TensorType(DType.FLOAT32, (None, 3)))])
    runs = [
        ({"x": np.zeros((rows, 3), np.float32)}, 0.4 * rows if rows < 6 else math.inf) for rows in (2, 6, 1, 4, 7, 3)
    ]
    found = affordable(signature, runs, lambda batch: True, 0)
    rows = [batch["x"].shape[0] for batch in design(found, 16)]
    assert set(rows) == {1, 2, 3}
    assert rows.count(3) == 2


def test_sizes_are_one_where_all_that_were_tried_take_too_long():
    signature = Signature([InputSpec("x", TensorType(DType.FLOAT32, ("n", 3)))])
    runs = [({"x": np.zeros((rows, 3), np.float32)}, math.inf if rows > 2 else 1.5) for rows in (2, 4, 5)]
    rows = [batch["x"].shape[0] for batch in design(affordable(signature, runs, lambda batch: True, 0), 8)]
    assert rows == [1] * 7 + [2]
    refused = affordable(signature, runs, lambda batch: False, 0)
    assert [batch["x"].shape[0] for batch in design(refused, 4)] == [2] * 4


def test_sizes_are_free_where_few_sets_take_long():
    signature = Signature([InputSpec("x", TensorType(DType.FLOAT32, ("n", 3)))])
    runs = [({"x": np.zeros((rows, 3), np.float32)}, 1.5 if rows > 4 else 0.1) for rows in (2, 4, 5, 1)]
    assert affordable(signature, runs, lambda batch: True, 0) is signature


def test_sizes_of_sets_that_were_refused_for_their_numbers_are_kept():
    """Sizes of 1 broadcast whatever the numbers are; other sizes are taken with every second set."""
    data = InputSpec("x", TensorType(DType.FLOAT32, ("n", 3)))
    asked = []

    def accepts(batch):
        asked.append(batch["x"].shape[0])
        return asked[-1] == 1 or len(asked) % 2 == 0

    found = accepted(Signature([data]), accepts, 0)
    taken = {size for place, size in enumerate(asked[:12]) if size == 1 or place % 2}
    assert max(taken) > 1
    assert {sizing["n"] for sizing in found.sizings[:2]} == set(sorted(taken)[-2:])


def test_sizes_that_were_taken_once_by_chance_are_not_kept():
    data = InputSpec("x", TensorType(DType.FLOAT32, ("n", 3)))
    asked = []

    def accepts(batch):
        asked.append(batch["x"].shape[0])
        return asked[-1] == 1 or len(asked) == largest + 1

    largest = 0  # the first probe that isn't of one row, known from a dry run
    accepted(Signature([data]), accepts, 0)
    largest = next(place for place, size in enumerate(asked[:12]) if size > 1)
    asked.clear()
    found = accepted(Signature([data]), accepts, 0)
    assert {sizing["n"] for sizing in found.sizings} == {1}


def test_nothing_is_searched_for_where_most_sizes_do_or_none_is_open():
    data = InputSpec("x", TensorType(DType.FLOAT32, ("n", 3)))
    accepts, asked = _takes(lambda shape: True)
    assert accepted(Signature([data]), accepts, 0) == Signature([data]) and len(asked) == 12
    fixed = Signature([InputSpec("x", TensorType(DType.FLOAT32, (2, 3)))])
    accepts, asked = _takes(lambda shape: False)
    assert accepted(fixed, accepts, 0) == fixed and not asked


def test_a_model_that_takes_no_size_stays_as_it_is():
    data = Signature([InputSpec("x", TensorType(DType.FLOAT32, (None, "m")))])
    accepts, _ = _takes(lambda shape: False)
    assert accepted(data, accepts, 0) == data


def test_rows_that_encoders_take_are_searched_for():
    """Three categories in one column, four in the other: half of the rows drawn from all seven are refused."""
    columns = ["red", "green", "blue"], ["s", "m", "l", "xl"]
    spec = InputSpec("x", TensorType(DType.STRING, ("n", 2)), constants=(*columns[0], *columns[1]))

    def accepts(batch):
        return all(row[0] in columns[0] and row[1] in columns[1] for row in batch["x"])

    found = accepted(Signature([spec]), accepts, 0)
    assert found.rows["x"].shape == (24, 2)
    batches = list(design(found, 20))
    assert all(accepts(batch) for batch in batches) and len({len(batch["x"]) for batch in batches}) > 3


def test_rows_of_several_inputs_go_together():
    """A label and a number that must match it."""
    text = InputSpec("a", TensorType(DType.STRING, ("n", 1)), constants=("one", "two"))
    number = InputSpec("b", TensorType(DType.INT64, ("n", 1)), constants=(1, 2))

    def accepts(batch):
        pairs = zip(batch["a"][:, 0], batch["b"][:, 0], strict=True)
        return all(pair in (("one", 1), ("two", 2)) for pair in pairs)

    found = accepted(Signature([text, number]), accepts, 0)
    assert all(accepts(batch) for batch in design(found, 20))


def test_a_position_that_is_a_trip_count_as_well_is_both_by_turns():
    edges = (Edge("position", "SequenceAt"), Edge("trip", "Loop"))
    spec = InputSpec("n", tensor("int64"), role="index", bound=1, edges=edges)
    drawn = [int(batch["n"]) for batch in design(Signature([spec]), 60)]
    assert all(drawn[k] == 0 for k in range(0, 60, 3)) and {0, 1, 2, 3, 6}.issubset(drawn)
