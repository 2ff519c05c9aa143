"""What a caller sees of two models."""

import pytest
from backedge.passes.types import DType, Interval, OptionalType, SequenceType, TensorType
from backedge.runtime.compare.interface import interface_differences
from backedge.runtime.compare.matching import match_names

F32, F16 = DType.FLOAT32, DType.FLOAT16


def differences(one, other, optional=()):
    """Of two models with the inputs x: one, x: other and no outputs."""
    names = match_names(["x"], ["x"])
    return [found.what for found in interface_differences(names, None, {"x": one}, {"x": other}, frozenset(optional))]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (TensorType(F32, (2, "n")), TensorType(F32, (2, "m")), []),
        (TensorType(F32, (2, "n")), TensorType(F32, (2, None)), []),
        (TensorType(F32, (2, 3)), TensorType(F32, (2, "n")), []),
        (TensorType(F32, (2, 3)), TensorType(F32, None), []),
        (TensorType(F32, (2, "n")), TensorType(F32, (2, 3)), ["size"]),
        (TensorType(F32, (2, 4)), TensorType(F32, (2, 3)), ["size"]),
        (TensorType(F32, ("n",)), TensorType(F32, (Interval(0, None),)), []),
        (TensorType(F32, ("n",)), TensorType(F32, (Interval(1, 8),)), ["size"]),
        (TensorType(F32, (Interval(2, 4),)), TensorType(F32, (Interval(1, 8),)), []),
        (TensorType(F32, (Interval(2, 9),)), TensorType(F32, (Interval(1, 8),)), ["size"]),
        (TensorType(F32, ()), TensorType(F32, (1,)), ["rank"]),
        (TensorType(F32, None), TensorType(F32, (None,)), ["rank"]),
        (TensorType(F32, (2,)), TensorType(F16, (2,)), ["dtype"]),
        (TensorType(None, (2,)), TensorType(F16, (2,)), []),
        (TensorType(F32, (2,)), SequenceType(TensorType(F32, (2,))), ["kind"]),
        (SequenceType(TensorType(F32, None)), SequenceType(TensorType(F16, None)), ["dtype"]),
        (OptionalType(TensorType(F32, None)), SequenceType(TensorType(F32, None)), ["kind"]),
        (None, TensorType(F16, (2,)), []),
    ],
)
def test_b_may_take_more_but_not_less(one, other, expected):
    assert differences(one, other) == expected


def test_inputs_that_are_missing_unless_they_have_a_default():
    names = match_names(["x", "k"], ["x"])
    found = interface_differences(names, None, {}, {})
    assert [(one.where, one.what, one.name) for one in found] == [("input", "missing", "k")]
    assert interface_differences(names, None, {}, {}, frozenset(["k"])) == []


def test_outputs_missing_additional_and_in_another_order():
    def found(first, second):
        return [(one.what, one.name) for one in interface_differences(None, match_names(first, second), {}, {})]

    assert found(["y", "z"], ["y", "z"]) == []
    assert found(["y", "z"], ["z", "y"]) == [("order", "y")]
    assert found(["y", "z"], ["u", "v"]) == []
    assert found(["y", "z"], ["y"]) == [("missing", "z")]
    assert found(["y"], ["z", "y"]) == [("additional", "z")]


def test_declared_sizes_of_outputs_are_left_to_the_values():
    names = match_names(["y"], ["y"])
    types = {"y": TensorType(F32, (2, 3))}, {"y": TensorType(F32, (3,))}
    assert interface_differences(None, names, *types) == []
    types = {"y": TensorType(F32, (2, 3))}, {"y": TensorType(DType.FLOAT64, (2, 3))}
    assert [one.what for one in interface_differences(None, names, *types)] == ["dtype"]
