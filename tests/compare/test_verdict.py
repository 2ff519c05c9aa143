"""The policy, with runnables made up for each case, and a few real ones."""

import json
import math
import time

import numpy as np
import pytest
from backedge.passes.errors import Unsupported
from backedge.runtime.compare.iterations import Stacking
from backedge.runtime.compare.matching import match_names
from backedge.runtime.compare.rounding import Rounding
from backedge.runtime.compare.runnables import Runnable, in_process, on_file
from backedge.runtime.compare.sides import Side
from backedge.runtime.compare.signature import Designed
from backedge.runtime.compare.verdict import compare_sides
from backedge.runtime.oracles import Outcome

TRIALS = [{"x": np.array(float(k))} for k in range(8)]


def right(batch):
    return {"y": batch["x"] * 2}


def wrong_from(first):
    """Like `right`, but from input `first` on the answer is off by one."""
    return lambda batch: {"y": batch["x"] * 2 + (batch["x"] >= first)}


BOOM = ValueError("boom")


def fails_from(first, error=BOOM):
    def call(batch):
        if batch["x"] >= first:
            raise error
        return right(batch)

    return call


def executor(call):
    return in_process("executor", call)


def own(call, name="native", **fields):
    """An own runtime whose outcomes have these fields besides."""

    def run(batches):
        for batch in batches:
            outcome = next(iter(in_process(name, call).run([batch])))
            for key, value in fields.items():
                setattr(outcome, key, value(batch) if callable(value) else value)
            yield outcome

    return Runnable(name, run)


def both(call):
    """An executor and an own runtime that do the same."""
    return [executor(call), own(call)]


def refused(name="native", **fields):
    return Runnable(name, lambda batches: [Outcome(error="no such operator", stage="load", **fields) for _ in batches])


def judge(a, b, trials=TRIALS, **settings):
    sides = [side if isinstance(side, Side) else Side(name, side) for name, side in (("A", a), ("B", b))]
    return compare_sides(*sides, trials, **settings)


def nonzero(report):
    return {status: count for status, count in report.counts.items() if count}


# equal and different -------------------------------------------------------------------------------------


def test_equal_when_executors_and_runtimes_agree():
    report = judge([executor(right), own(right)], [executor(right), own(right, "other")])
    assert report.verdict == "equal"
    assert nonzero(report) == {"equal": 8}
    assert report.first is None and not report.disagreements
    assert report.reasons == ["they agree on all 8 trials"]


def test_the_first_difference_says_where_and_who():
    report = judge([executor(right), own(right)], [executor(wrong_from(5)), own(wrong_from(5), "other")])
    assert report.verdict == "different"
    assert nonzero(report) == {"equal": 5, "different": 3}
    assert (report.first.trial, report.first.a, report.first.b) == (5, "native", "other")
    assert (report.first.difference.expected, report.first.difference.actual) == (10.0, 11.0)
    assert report.first.inputs["x"] == 5.0
    assert "trial 5" in report.reasons[0]


def test_what_is_proved_is_compared_in_three_trials():
    """The runtimes' word for it, and no more: what the other outputs are is asked in all trials."""

    def two(call):
        return lambda batch: {"y": call(batch)["y"], "z": right(batch)["y"]}

    for first, verdict in ((2, "different"), (3, "equal")):
        report = judge(both(two(right)), both(two(wrong_from(first))), proved={"y"})
        assert report.verdict == verdict and len(report.trials) == 8
        assert nonzero(report) == ({"equal": 8} if verdict == "equal" else {"equal": 7, "different": 1})
    report = judge(both(two(right)), both(two(wrong_from(3))), proved={"z"})
    assert nonzero(report) == {"equal": 3, "different": 5}


def test_own_runtimes_that_differ_make_a_difference_though_executors_agree():
    report = judge([executor(right), own(right)], [executor(right), own(wrong_from(3), "other")])
    assert report.verdict == "different"
    assert (report.first.trial, report.first.b) == (3, "other")
    [inner] = report.disagreements
    assert (inner.side, inner.one, inner.other, inner.first, inner.trials) == ("b", "executor", "other", 3, 5)
    assert any("can't be told" in reason for reason in report.reasons)


def test_a_runtime_wrong_in_the_same_way_on_both_sides_is_said_but_no_difference():
    report = judge([executor(right), own(wrong_from(2))], [executor(right), own(wrong_from(2))])
    assert report.verdict == "equal"
    assert {one.side for one in report.disagreements} == {"a", "b"}


def test_an_executor_stands_in_for_a_runtime_but_confirms_nothing():
    report = judge([executor(right), own(right)], [executor(right)])
    assert report.verdict == "unconfirmed" and not report
    assert report.reasons[0] == "nothing differs on 8 trials, but only the executor, and no runtime, answered for B"
    assert judge([executor(right)], [executor(right), own(right)]).verdict == "unconfirmed"
    report = judge([executor(right)], [executor(right)])
    assert report.verdict == "unconfirmed" and report.reasons[0].endswith("answered for A and B")
    assert judge([executor(right), own(right)], [executor(wrong_from(3))]).verdict == "different"
    assert judge([executor(right)], [own(wrong_from(3))]).verdict == "different"


def test_our_executor_alone_finds_nothing_different():
    report = judge([executor(right)], [executor(wrong_from(3))])
    assert report.verdict == "unconfirmed" and nonzero(report) == {"equal": 3, "different": 5}
    assert report.reasons[0].startswith("only the executor could run both, and it sees a difference on 5 of 8")
    report = judge([executor(right), own(right)], [executor(wrong_from(3)), own(right)])
    assert report.verdict == "equal"
    assert [one.side for one in report.disagreements] == ["b"]


def test_two_runnables_that_contradict_each_other_on_one_file_say_nothing_about_the_other():
    report = judge([executor(right)], [executor(right), own(wrong_from(0))])
    assert report.verdict == "unconfirmed"
    assert any("can't be told" in reason for reason in report.reasons)
    report = judge([executor(right), own(wrong_from(0))], [executor(right)])
    assert report.verdict == "unconfirmed" and nonzero(report) == {"equal": 8}


def test_a_report_is_true_if_and_only_if_it_says_equal():
    assert judge(both(right), both(right))
    assert not judge(both(right), both(wrong_from(7)))
    assert not judge([executor(right)], [executor(right)])
    assert not judge([], [])


def test_the_same_runtime_is_held_against_itself_first():
    a = [own(right, "ort"), own(wrong_from(0), "reference")]
    report = judge(a, [own(right, "ort"), own(wrong_from(0), "reference")])
    assert report.verdict == "equal"


# failures ------------------------------------------------------------------------------------------------


def test_a_named_fault_counts_for_nothing():
    spoilt = own(wrong_from(0), "other", fault="known to be wrong")
    report = judge([executor(right), own(right)], [executor(right), spoilt])
    assert report.verdict == "unconfirmed"
    assert not report.disagreements
    assert any("known to be wrong" in reason for reason in report.reasons)
    assert judge([own(right)], [spoilt]).verdict == "incomparable"


def test_a_runtime_that_fails_on_b_alone_leaves_it_unconfirmed():
    report = judge([executor(right), own(right)], [executor(right), own(fails_from(7), "other")])
    assert report.verdict == "unconfirmed"
    assert nonzero(report) == {"equal": 8} and (report.confirmed, report.failed) == (7, 1)
    assert "own runtime fails on 1 inputs" in report.reasons[0]
    assert any(reason.startswith("other on B (1 trial): boom") for reason in report.reasons)
    never_loaded = judge([executor(right), own(right)], [executor(right), refused("other")])
    assert never_loaded.verdict == "unconfirmed" and never_loaded.failed == 8


def test_the_same_runtime_that_answers_a_and_fails_on_b_makes_a_difference():
    report = judge(both(right), [executor(right), own(fails_from(6))])
    assert report.verdict == "different" and nonzero(report) == {"equal": 6, "only-a": 2}
    outside_domain = [executor(fails_from(6)), own(right)]
    assert judge(outside_domain, [executor(right), own(fails_from(6))]).verdict == "equal"
    killed = own(right, stage=lambda b: "crash" if b["x"] >= 6 else "", fault=_died, outputs=_none_from_6)
    assert judge(both(right), [executor(right), killed]).verdict == "unconfirmed"


def _none_from_6(batch):
    return None if batch["x"] >= 6 else right(batch)


def test_a_runtime_is_started_anew_before_it_is_believed_that_the_sides_differ():
    """Here it gives the shape of the trial before, as one does whose state goes from run to run."""

    def stale(batches):
        before = None
        for batch in batches:
            yield Outcome(right(before if before is not None and batch["x"] == 5 else batch))
            before = batch

    report = judge(both(right), [executor(right), Runnable("other", stale)])
    assert report.verdict == "equal" and report.confirmed == 8 and report.first is None
    assert "other on B answers otherwise in 1 trial when it is started anew; that counts" in report.reasons
    assert judge(both(right), [executor(right), own(wrong_from(5), "other")]).verdict == "different"


def _off_by(share):
    return lambda batch: {"y": (batch["x"] * 2 * (1 + share)).astype(np.float32)}


NO_FLOAT64 = [Outcome(error="no float64 run", stage="run")]


@pytest.mark.parametrize("share", [1e-3, 0.1])
def test_another_runtimes_way_of_computing_is_no_difference_where_it_treats_both_files_alike(share):
    """Up to a hundredth of the largest number; beyond it nothing is said, and never that the files differ."""
    rounding = Rounding(lambda batches: (NO_FLOAT64[0] for _ in batches))
    a = Side("a", [executor(_off_by(0)), own(_off_by(0), "first")], twin=own(_off_by(share), "second"))
    b = Side("b", [executor(_off_by(0)), own(_off_by(share), "second")])
    report = compare_sides(a, b, TRIALS, rounding=rounding)
    assert (report.verdict, report.parted) == (("equal", 0) if share < 0.01 else ("unconfirmed", 7))
    equal = [trial.units for trial in report.trials if trial.status == "equal"]
    assert equal and max(units or 0 for units in equal) <= 1  # the error is that of the runtime that decided


def test_a_runtime_of_both_that_is_alone_with_what_it_gives_a_makes_no_difference():
    """As ONNX Runtime's ReduceLogSumExp over all axes, which overflows, and over one axis doesn't."""

    def compared(third, mine):
        rounding = Rounding(lambda batches: (NO_FLOAT64[0] for _ in batches))
        a = Side("a", [executor(mine), own(_off_by(0.5), "first")], third=own(third, "third"))
        b = Side("b", [executor(_off_by(0)), own(_off_by(0), "first")])
        return compare_sides(a, b, TRIALS, rounding=rounding)

    alone = compared(_off_by(0), _off_by(0))
    assert (alone.verdict, alone.parted) == ("unconfirmed", 7)
    assert compared(_off_by(0.5), _off_by(0)).verdict == "different"
    assert compared(_off_by(0), _off_by(0.5)).verdict == "different"


@pytest.mark.parametrize("beyond", [np.float32(np.inf), np.int64(-(2**63)), np.int8(-128)])
def test_what_overflows_by_the_order_of_operations_makes_no_difference(beyond):
    """Readers of one file part over what overflows there; where they don't, what overflows in B is a difference."""

    def overflowing(at):
        return lambda batch: {"y": beyond if batch["x"] == at else batch["x"].astype(beyond.dtype)}

    def compared(a_executor, a_own, b_executor, b_own):
        rounding = Rounding(lambda batches: (NO_FLOAT64[0] for _ in batches))
        a = Side("a", [executor(overflowing(a_executor)), own(overflowing(a_own), "first")])
        b = Side("b", [executor(overflowing(b_executor)), own(overflowing(b_own), "second")])
        return compare_sides(a, b, TRIALS, rounding=rounding)

    assert nonzero(compared(5, None, None, 5)) == {"equal": 7, "inconclusive": 1}
    assert nonzero(compared(5, 5, 5, None)) == {"equal": 7, "inconclusive": 1}
    assert compared(None, None, None, 5).verdict == "different"  # only B overflows
    assert compared(5, 5, None, None).verdict == "different"  # all of B's readers agree that it doesn't


def test_another_runtime_that_treats_the_files_differently_is_a_difference():
    rounding = Rounding(lambda batches: (NO_FLOAT64[0] for _ in batches))
    a = Side("a", [executor(_off_by(0)), own(_off_by(0), "first")], twin=own(_off_by(0), "second"))
    b = Side("b", [executor(_off_by(0)), own(_off_by(1e-2), "second")])
    assert compare_sides(a, b, TRIALS, rounding=rounding).verdict == "different"


def test_b_failing_where_a_answers_is_a_difference():
    report = judge([executor(right)], [executor(fails_from(6))])
    assert report.verdict == "different"
    assert nonzero(report) == {"equal": 6, "only-a": 2}
    assert report.first is None
    assert report.reasons[0] == "B fails on 2 of 8 inputs on which A answers"
    assert "boom" in report.reasons[1]
    assert judge(both(right), both(fails_from(0))).verdict == "different"


def test_a_slow_runtime_is_no_difference_but_one_that_ends_on_a_only_is():
    def slow(batch):
        return "timeout" if batch["x"] >= 6 else ""

    other = own(right, "other", stage=slow, outputs=_none_from_6)
    report = judge(both(right), [other])
    assert report.verdict == "equal" and nonzero(report) == {"equal": 6, "unknown": 2} and not report.failed
    same = own(right, stage=slow, outputs=_none_from_6)
    assert judge(both(right), [same]).verdict == "different"
    ours = own(right, "executor", stage=slow, outputs=_none_from_6)
    assert judge([own(right)], [ours, other]).verdict == "different"


def test_a_refusing_inputs_leaves_b_free():
    report = judge(both(fails_from(6)), both(right))
    assert report.verdict == "equal"
    assert nonzero(report) == {"equal": 6, "only-b": 2}


def test_a_runtime_refusing_inputs_leaves_b_free_though_our_executor_takes_them():
    report = judge([executor(right), own(fails_from(6))], both(fails_from(6)))
    assert nonzero(report) == {"equal": 6, "neither": 2}
    report = judge([executor(right), own(right)], both(fails_from(6)))
    assert report.verdict == "different" and nonzero(report) == {"equal": 6, "only-a": 2}


def test_both_refusing_is_counted_but_never_equal():
    report = judge(both(fails_from(5)), both(fails_from(5)))
    assert report.verdict == "equal" and nonzero(report) == {"equal": 5, "neither": 3}
    report = judge(both(fails_from(0)), both(fails_from(0)))
    assert report.verdict == "incomparable" and nonzero(report) == {"neither": 8}
    assert any("boom" in reason for reason in report.reasons)


def test_too_few_comparisons_confirm_nothing():
    report = judge(both(fails_from(1)), both(fails_from(1)))
    assert report.verdict == "unconfirmed"
    assert report.reasons[0] == "nothing differs, but only 1 of 8 trials could be compared"
    assert judge(both(fails_from(2)), both(fails_from(2))).verdict == "equal"
    assert judge(both(right), both(right), asked=33).verdict == "unconfirmed"
    assert judge(both(right), both(right), asked=32).verdict == "equal"


def test_a_side_that_no_runnable_can_load_is_incomparable():
    for broken in (refused(), executor(fails_from(0, Unsupported("Foo", "no kernel")))):
        report = judge([executor(right)], [broken])
        assert report.verdict == "incomparable"
        assert any(broken.name + " on B" in reason for reason in report.reasons)


def test_a_missing_kernel_is_no_failure_of_the_model():
    report = judge([executor(right)], [executor(fails_from(6, Unsupported("Foo", "no kernel")))])
    assert report.verdict == "unconfirmed"
    assert nonzero(report) == {"equal": 6, "unknown": 2}


def test_a_crash_is_the_runtimes_fault():
    report = judge([executor(right)], [own(fails_from(6), stage=lambda b: "crash" if b["x"] >= 6 else "", fault=_died)])
    assert report.verdict == "unconfirmed"
    assert nonzero(report) == {"equal": 6, "unknown": 2}


def _died(batch):
    return "the process died of SIGSEGV" if batch["x"] >= 6 else ""


def test_a_runnable_that_raises_or_stops_early_is_reported():
    def raises(batches):
        raise RuntimeError("no licence")

    def stops(batches):
        yield Outcome({"y": np.array(0.0)})

    report = judge(both(right), [Runnable("raises", raises), Runnable("stops", stops)])
    assert report.verdict == "unconfirmed"
    assert nonzero(report) == {"equal": 1, "unknown": 7}
    assert any("no licence" in reason for reason in report.reasons)


def test_nothing_to_compare_is_not_equal():
    for value in (np.zeros((0, 3)), np.full(3, math.nan), None):
        report = judge([own(lambda b, v=value: {"y": v})], [own(lambda b, v=value: {"y": v})])
        assert report.verdict == "incomparable"
        assert "empty or NaN" in report.reasons[0]
    assert judge([executor(right)], [executor(right)], trials=[]).verdict == "incomparable"
    assert judge([], []).verdict == "incomparable"


def test_random_numbers_may_differ_but_not_their_shapes():
    def side(call):
        return Side("A", both(call), random=["RandomNormal"])

    report = judge(side(right), both(wrong_from(3)))
    assert report.verdict == "incomparable" and "RandomNormal" in report.reasons[0]
    assert judge(side(right), both(right)).verdict == "equal"
    assert judge(side(right), both(lambda b: {"y": b["x"].astype(np.float32)})).verdict == "different"


# 64 bits in 32 -------------------------------------------------------------------------------------------


def big(batch):
    return {"y": np.array([2**31 - 4 + int(batch["x"])])}


def narrow(batch):
    return {"y": big(batch)["y"].astype(np.int32).astype(np.int64)}


def test_integers_that_a_32_bit_runtime_cannot_have_right():
    report = judge(both(big), [executor(big), own(narrow, "other", coarse=True)])
    assert report.verdict == "equal" and report.confirmed == 4
    assert sum(run.fault != "" for trial in report.trials for run in trial.b) == 4  # 2**31 and above
    report = judge(both(big), [executor(big), own(narrow, "other")])
    assert report.verdict == "different"


def test_float64_computed_in_float32_gets_its_tolerance():
    def single(batch):
        return {"y": np.array([0.1 + batch["x"]]).astype(np.float32).astype(np.float64)}

    def double(batch):
        return {"y": np.array([0.1 + batch["x"]])}

    assert judge([own(double)], [own(single, coarse=True)]).verdict == "equal"
    assert judge([own(double)], [own(single)]).verdict == "different"


# names ---------------------------------------------------------------------------------------------------


def test_outputs_with_other_names_match_by_position_and_that_is_said():
    report = judge([own(lambda b: {"y": b["x"], "z": -b["x"]})], [own(lambda b: {"out0": b["x"], "out1": -b["x"]})])
    assert report.verdict == "equal"
    assert report.outputs.by == "position" and report.outputs.pairs == {"y": "out0", "z": "out1"}
    assert any("matched by position" in reason for reason in report.reasons)


def test_outputs_in_another_order_are_a_difference():
    report = judge([own(lambda b: {"y": b["x"], "z": -b["x"]})], [own(lambda b: {"z": -b["x"], "y": b["x"]})])
    assert nonzero(report) == {"equal": 8} and report.outputs.by == "name"
    assert report.verdict == "different"
    assert report.reasons[0] == "outputs come in another order: y, z in A"


def test_an_output_that_b_lacks_or_adds_is_a_difference():
    two, one = own(lambda b: {"y": b["x"], "z": -b["x"]}), own(lambda b: {"y": b["x"]})
    report = judge([two], [one])
    assert report.verdict == "different"
    assert (report.first.difference.kind, report.first.difference.output) == ("missing", "z")
    report = judge([one], [two])
    assert report.verdict == "different" and report.outputs.extra == ("z",)
    assert report.reasons[0] == "output 'z': additional, not there in A, declared in B"


def test_inputs_are_renamed_for_b():
    b = Side("B", both(lambda batch: {"y": batch["in"] * 2}), inputs=["in"], outputs=["y"])
    report = judge(Side("A", both(right), inputs=["x"], outputs=["y"]), b)
    assert report.verdict == "equal"
    assert report.inputs.pairs == {"x": "in"}
    assert any("inputs have different names" in reason for reason in report.reasons)


def test_a_runtime_with_its_own_names_within_a_side():
    a = Side("A", [executor(right), own(lambda b: {"Result_7": b["x"] * 2})], outputs=["y"])
    report = judge(a, both(right))
    assert report.verdict == "equal" and not report.disagreements


@pytest.mark.parametrize(
    ("first", "second", "pairs", "by", "missing", "extra", "ordered"),
    [
        (["a", "b"], ["b", "a"], {"a": "a", "b": "b"}, "name", (), (), False),
        (["a", "b"], ["b", "c"], {"a": "c", "b": "b"}, "position", (), (), True),
        (["a", "b"], ["c", "d"], {"a": "c", "b": "d"}, "position", (), (), True),
        (["a"], ["a", "b"], {"a": "a"}, "name", (), ("b",), True),
        (["a", "c"], ["a", "b", "c"], {"a": "a", "c": "c"}, "name", (), ("b",), True),
        (["a", "b", "c"], ["a", "d"], {"a": "a"}, "name", ("b", "c"), ("d",), True),
        ([], [], {}, "name", (), (), True),
    ],
)
def test_matching_of_names(first, second, pairs, by, missing, extra, ordered):
    found = match_names(first, second)
    assert (found.pairs, found.by, found.missing, found.extra, found.ordered) == (pairs, by, missing, extra, ordered)
    assert list(found.pairs) == [name for name in first if name in pairs]


# what comes along ----------------------------------------------------------------------------------------


def test_a_difference_in_a_stacked_output_names_its_iteration():
    def steps(first):
        return lambda batch: {"z": np.array(1.0), "ys": np.arange(4.0) + (np.arange(4) >= first)}

    a = Side("A", [own(steps(9))], stackings={"ys": Stacking()})
    report = judge(a, [own(steps(2))])
    assert report.first.difference.iteration == 2
    assert [unit > 1 for unit in report.first.profile] == [False, False, True, True]


@pytest.mark.parametrize(
    ("shape", "unsized", "verdict"),
    [
        ((0, 2), {"ys"}, "incomparable"),
        ((0, 2), {}, "different"),
        ((0, 2, 2), {"ys"}, "different"),
        ((1, 2), {"ys"}, "different"),
    ],
)
def test_what_is_made_of_a_stack_over_no_passes_has_no_certain_shape(shape, unsized, verdict):
    a = Side("A", [own(lambda b: {"ys": np.zeros((0, 3))})], unsized=frozenset(unsized))
    assert judge(a, [own(lambda b: {"ys": np.zeros(shape)})]).verdict == verdict


def test_shapes_are_told_before_values():
    report = judge(
        [own(lambda b: {"y": np.zeros(2), "ys": np.zeros(3)})],
        [own(lambda b: {"y": np.ones(2), "ys": np.zeros(4)})],
    )
    assert (report.first.difference.kind, report.first.difference.output) == ("shape", "ys")


def test_given_tolerances_are_used_and_recorded():
    report = judge(both(right), both(wrong_from(0)), atol=1.5)
    assert report.verdict == "equal" and report.atol == 1.5
    assert report.trials[0].units == pytest.approx(1 / 1.5)


def test_runs_are_made_trial_by_trial():
    """Outputs of all trials are never held together: each runnable is one trial ahead at most."""
    made = []

    def run(name):
        def outcomes(batches):
            for k, batch in enumerate(batches):
                made.append((name, k))
                yield Outcome(right(batch))

        return Runnable(name, outcomes)

    judge([run("a")], [run("b")])
    assert made == [(name, k) for k in range(8) for name in "ab"]


def test_an_endless_run_in_this_process_is_broken_off():
    def endless(batch):
        while True:
            time.sleep(0.01)

    [outcome] = in_process("executor", endless, timeout=0.2).run([{}])
    assert outcome.stage == "timeout" and outcome.error == "no answer within 0.2 s"
    [after] = in_process("executor", right, timeout=0.2).run([{"x": np.array(1.0)}])
    time.sleep(0.25)  # no alarm may be left over
    assert after.outputs == {"y": 2.0}


def test_running_out_of_memory_is_no_answer_of_the_model():
    report = judge(both(right), both(fails_from(6, MemoryError())))
    assert report.verdict == "equal" and nonzero(report) == {"equal": 6, "unknown": 2}


def test_the_report_as_json():
    report = judge([executor(right)], [own(lambda b: {"y": b["x"] * math.nan})])
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert data["schema"] == 1 and data["verdict"] == "different"
    assert data["counts"] == {
        "trials": 8,
        "asked": 8,
        "confirmed": 0,
        "failed": 0,
        "parted": 0,
        "equal": 0,
        "different": 8,
        "only-a": 0,
        "only-b": 0,
        "neither": 0,
        "unknown": 0,
        "inconclusive": 0,
    }
    first = data["first"]
    assert (first["trial"], first["a"], first["b"]) == (0, "executor", "native")
    assert first["difference"]["kind"] == "value"
    assert (first["difference"]["expected"], first["difference"]["actual"]) == (0.0, "nan")
    assert first["difference"]["max_units"] == "inf"
    assert data["trials"][3]["inputs"] == {"x": "float64 3.0"}
    assert data["trials"][0]["a"][0]["runnable"] == "executor"
    assert data["outputs"]["pairs"] == {"y": "y"}


# real runtimes -------------------------------------------------------------------------------------------


def test_onnxruntime_against_openvino(tmp_path):
    onnx = pytest.importorskip("onnx")
    ov = pytest.importorskip("openvino")
    from openvino import opset13 as op

    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x, int64 k) => (float[N] y, int64 j) '
    onnx.save(onnx.parser.parse_model(text + "{ y = Exp(x) j = Add(k, k) }"), tmp_path / "a.onnx")
    x, k = op.parameter([-1], ov.Type.f32, name="x"), op.parameter([], ov.Type.i64, name="k")
    model = ov.Model([op.result(op.exp(x)), op.result(op.add(k, k))], [x, k], "m")
    ov.save_model(model, tmp_path / "b.xml", compress_to_fp16=False)
    trials = [{"x": np.arange(n, dtype=np.float32) - 1, "k": np.array(2**n)} for n in (1, 2, 3, 30, 31)]
    report = compare_sides(
        Side("a", [on_file("onnxruntime", tmp_path / "a.onnx")], outputs=["y", "j"]),
        Side("b", [on_file("openvino", tmp_path / "b.xml")]),
        trials,
    )
    assert report.verdict == "equal", report.reasons
    assert nonzero(report) == {"equal": 3, "unknown": 2}  # 2**30 + 2**30 and above don't fit
    assert any("OpenVINO computes 64-bit" in reason or "in 32 bits" in reason for reason in report.reasons)


def _counted(call, asked):
    """An executor that notes what it is asked."""

    def count(batch):
        asked.append(float(batch["x"]))
        return call(batch)

    return executor(count)


@pytest.mark.parametrize("of_b", [right, wrong_from(6)])
def test_a_slow_executor_is_asked_only_where_runtimes_leave_something_open(of_b):
    """Of eight trials the last five are sparing, and B's runtime is wrong in the last two of them or in none."""
    asked = {"a": [], "b": []}
    a = Side("A", [_counted(right, asked["a"]), own(right)])
    b = Side("B", [_counted(of_b, asked["b"]), own(of_b)])
    trials = [Designed(batch, sparing=batch["x"] > 2) for batch in TRIALS]
    report = compare_sides(a, b, trials)
    needed = [0, 1, 2] if of_b is right else [0, 1, 2, 6, 7]
    assert asked == {"a": needed, "b": needed}
    assert report.verdict == ("equal" if of_b is right else "different")
    assert [trial.status for trial in report.trials] == ["equal"] * 6 + ["equal" if of_b is right else "different"] * 2
    assert [run.status for run in report.trials[3].a] == ["skipped", "ok"]
    assert not any("not asked" in reason for reason in report.reasons)


def test_a_slow_executor_stands_in_for_a_runtime_that_fails():
    """Only our executor is left of B on the sparing trials: they are compared, and confirm nothing."""
    a = Side("A", [executor(right), own(right)])
    b = Side("B", [executor(right), own(fails_from(3))])
    report = compare_sides(a, b, [Designed(batch, sparing=batch["x"] > 2) for batch in TRIALS])
    assert [run.status for run in report.trials[5].b] == ["ok", "run"]
    assert report.verdict == compare_sides(a, b, TRIALS).verdict
