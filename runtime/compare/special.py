"""What runtimes are known to make of NaN, infinities, extreme numbers and sizes: a table by runtime and operator.

IEEE 754 says what arithmetic does with them, and ONNX follows NumPy where it says anything: a maximum of NaN is NaN.
Runtimes trade that for speed. Each row was measured on one operator alone against NumPy, with ONNX Runtime 1.32,
OpenVINO 2026.4 and XLA (jaxlib 0.10) on the CPU; an answer into which such a value went says nothing about the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ANY = "*"
"""Every operator."""


@dataclass(frozen=True, slots=True)
class Habit:
    """What a runtime makes of some special values.

    Attributes:
        kinds: of the operands, see `Special`.
        operators: of the hub; `ANY` for all.
        text: what it does, for the report.
    """

    kinds: frozenset[str]
    operators: frozenset[str]
    text: str


def _habit(kinds: str, operators: str, text: str) -> Habit:
    return Habit(frozenset(kinds.split()), frozenset(operators.split()), text)


_INTEGER_ARITHMETIC = "Add Sub Mul Div Mod Pow Neg Abs Sum ReduceSum ReduceProd CumSum BitShift"
_AS_FLOAT = (
    "Add Sub Mul Div Mod Pow Sum ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean ReduceL1 ReduceL2 ReduceSumSquare "
    "MatMul Gemm Einsum"
)
"""Alone, or several in a row and in loops."""
_REDUCED = "ReduceL1 ReduceL2 ReduceMean ReduceProd ReduceSum ReduceSumSquare"
_COMPARISONS = "Equal Less LessOrEqual Greater GreaterOrEqual Where"
_CONVOLUTIONS = "Conv ConvInteger ConvTranspose DeformConv QLinearConv"
_BY_ZERO = "multiplies elements that have no part in a point by 0"
_WAVES = _habit("nan inf", "DFT STFT", "spreads them as the sums of its algorithm do")

HABITS: Mapping[str, tuple[Habit, ...]] = {
    "onnxruntime": (
        _habit("nan", "ReduceMax ReduceMin GlobalMaxPool MaxPool MaxRoiPool", "passes over NaN unless it comes first"),
        _habit("inf", "GlobalMaxPool MaxPool", "makes the lowest number of nothing but -infinity"),
        _habit("overflow", _REDUCED, "computes integers in float64, and stops at the limits of their type"),
        _habit("nan", "ArgMax ArgMin Hardmax", "takes NaN for neither larger nor smaller"),
        _habit("nan", "Sign", "makes 0 of NaN in float16"),
        _habit("nan inf", "LogSoftmax", "makes numbers of NaN in float64, and NaN of nothing but infinity"),
        _habit("nan", "QuantizeLinear DynamicQuantizeLinear", "makes the lowest integer of NaN"),
        _habit("inf", "DynamicQuantizeLinear", "makes the highest zero point of a least number that is infinite"),
        _habit("nan inf huge", "LSTM GRU RNN", "makes numbers of NaN in its activations, infinity less infinity too"),
        _habit("nan inf", "DeformConv RoiAlign", _BY_ZERO),
        _WAVES,
        _habit("narrow", "Resize Upsample", "cuts off what is behind the point, which the reference rounds"),
        _habit("squares", "Normalizer", "adds up int32 and their squares in int32"),
        _habit("long", "Normalizer", "adds up int64 and their squares in int64"),
        _habit("nan", "Normalizer", "passes over NaN where it looks for the largest"),
        _habit("huge", "Normalizer", "makes NaN of numbers whose squares overflow"),
        _habit("inf huge", "LRN", "makes NaN of the channels behind one whose square is infinite"),
        _habit("far", "LRN", "takes squares off a running sum, which leaves their rounding errors in other channels"),
        _habit("empty", "ConvInteger MatMulInteger QLinearMatMul", "leaves sums of nothing unwritten"),
        _habit("empty", "LSTM", "leaves the last cell state of a sequence without steps unwritten"),
        _habit("near", "MeanVarianceNormalization", "leaves out the 1e-9 that is added to the deviation"),
        _habit("nan", "Unique", "takes NaN for the same as any element"),
        _habit("-0", "Where", "makes 0 of -0.0"),
        _habit("inf huge", "BatchNormalization InstanceNormalization", "scales before it takes the mean off"),
        _habit("int-max", "Slice", "goes on to the first element, as it has to with INT_MIN"),
        _habit("slices", "Gather", "leaves all but the first of them empty"),
        _habit("one", "AffineGrid", "puts the one point of an aligned axis at its start, not in its middle"),
    ),
    "openvino": (
        _habit("nan", "Max Min Relu Clip HardSigmoid", "takes the other operand or a bound for NaN"),
        _habit("nan", "ReduceMax ReduceMin MaxPool GlobalMaxPool", "passes over NaN"),
        _habit("nan", "ArgMax ArgMin Hardmax TopK", "takes NaN for neither larger nor smaller"),
        _habit("nan inf", "LSTM GRU RNN", "makes numbers of NaN in its activations"),
        _habit("nan", "Exp Softmax LogSoftmax ReduceLogSumExp", "makes a number or infinity of NaN"),
        _habit("inf", "LogSoftmax", "makes -infinity of numbers beside infinity, all of which are NaN"),
        _habit("inf", "Softmax", "makes 0 of numbers beside infinity, all of which are NaN"),
        _habit("nan", "QuantizeLinear DynamicQuantizeLinear", "makes the lowest integer of NaN"),
        _habit("nan inf huge", "Cast CastLike", "makes an integer of its own choice of what no 32-bit integer is"),
        _habit("nan inf", "RoiAlign", _BY_ZERO),
        _habit("nan inf", _CONVOLUTIONS, "leaves out the padding, of which weights that are no numbers make NaN"),
        _WAVES,
        _habit("inf", "Mod", "makes NaN of a remainder by infinity"),
        _habit("inf huge", "Gelu", "makes NaN of infinity, and infinity of huge numbers"),
        _habit("long", _INTEGER_ARITHMETIC, "computes 64-bit integers in 32 bits"),
        _habit("wide", _AS_FLOAT, "computes integers in float32"),
        _habit("wide", _COMPARISONS, "compares and chooses integers in float32"),
        _habit("wide", "Pad Resize", "moves integers as float32"),
        _habit("nan", "Unique", "takes each NaN for another element, and sorts nothing that stands behind one"),
        _habit("-0", "Unique", "tells slices apart by the sign of their zeros in one run and doesn't in another"),
        _habit("empty", f"LSTM GRU RNN {_CONVOLUTIONS}", "leaves results unwritten that are made of nothing"),
        _habit("denormal", "Div", "divides by a reciprocal, which overflows for denormal numbers"),
        _habit("denormal", ANY, "takes denormal constants for 0"),
    ),
    "reference": (
        _habit("nan inf", "RoiAlign", _BY_ZERO),
        _WAVES,
        _habit("nan", "MaxPool", "passes over NaN"),
        _habit("nan inf huge", "QuantizeLinear", "makes the lowest integer of what no 32-bit integer is"),
        _habit("inf", "Clip", "hands infinity on where a bound is left out"),
        _habit("nan inf", "DynamicQuantizeLinear", "makes the highest zero point where it is NaN"),
    ),
    "mdf": (
        _habit(
            "nan inf", "ConvTranspose", "multiplies them by the zeros between elements, as the stateful form has it"
        ),
        _habit("nan inf", "Resize Upsample", "multiplies elements beside a point by 0, as the stateful form has it"),
    ),
    "xla": (
        _habit("denormal", ANY, "takes denormal numbers for 0"),
        _habit(
            "huge",
            "Div Normalizer LpNormalization",
            "multiplies by the reciprocal of what it spreads, which is 0 beyond 2^126",
        ),
        _habit("nan", "Log", "multiplies the logarithm of a base without its sign by the exponent"),
        _WAVES,
        _habit("nan inf", "ConvTranspose", "multiplies them by the zeros that it puts between elements"),
        _habit("nan inf huge", "Cast CastLike", "makes the nearest integer of what no integer is"),
    ),
}
_KIND_TEXT: Mapping[str, str] = {
    "nan": "NaN",
    "inf": "infinity",
    "denormal": "denormal numbers",
    "huge": "numbers from 2^31 on",
    "-0": "-0.0",
    "long": "or makes integers that take more than 32 bits",
    "wide": "integers beyond 2^24",
    "narrow": "integers",
    "one": "a size of 1",
    "squares": "int32 whose squares overflow",
    "empty": "no elements",
    "near": "numbers that hardly differ",
    "far": "squares that outweigh the bias",
    "overflow": "integers whose sum or product outgrows their type or float64",
    "int-max": "ends of INT_MAX backwards",
    "slices": "slices of several strings",
}


def known_habit(runtime: str, seen: Mapping[str, Iterable[str]]) -> str:
    """One line if the runtime is known to have its own way with what operators saw in a run, else "".

    Args:
        seen: operator -> kinds of special values among its operands.
    """
    for habit in HABITS.get(runtime, ()):
        for operator, kinds in seen.items():
            met = habit.kinds & set(kinds)
            if met and (operator in habit.operators or ANY in habit.operators):
                texts = " and ".join(_KIND_TEXT[kind] for kind in sorted(met))
                return f"{operator} is given {texts} in this trial: {runtime} {habit.text}"
    return ""
