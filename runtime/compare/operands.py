"""Which operands of the hub's operators take only some values, or decide how much is done."""

from __future__ import annotations

from dataclasses import dataclass

from ...passes.types import Dim
from .signature import Edge, Kind, Role

Number = float | str


@dataclass(frozen=True, slots=True)
class Use:
    """What a value is used for."""

    role: Role
    constants: tuple[Number, ...] = ()
    bound: Dim = None
    wrap: bool = False
    lower: float | None = None
    upper: float | None = None
    nonzero: bool = False
    in_loop: bool = False  # it decides whether a loop goes on
    edge: Edge | None = None


# Positions along an axis: operator -> (index operand, data operand, axis or the attribute that names it).
INDICES: dict[str, tuple[int, int, int | str]] = {
    **dict.fromkeys(("Gather", "GatherElements", "ScatterElements", "Scatter"), (1, 0, "axis")),
    **dict.fromkeys(("GatherND", "ScatterND"), (1, 0, "batch_dims")),
    "RoiAlign": (2, 0, 0),
    "RotaryEmbedding": (3, 1, 0),
}
# Lengths and counts up to the size of an axis: the same.
LENGTHS: dict[str, tuple[int, int, int | str]] = {
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (4, 0, "layout")),
    "ReverseSequence": (1, 0, "time_axis"),
    "TopK": (1, 0, "axis"),
    "Attention": (6, 1, -2),
}
LAST_AXIS = ("TopK",)  # their axis is the last one where it isn't given
AXES = {
    **{f"Reduce{kind}": 1 for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum")},
    "ReduceLogSumExp": 1,
    "Squeeze": 1,
    "Unsqueeze": 1,
    "CumSum": 1,
    "CumProd": 1,
    "Slice": 3,
}
_SHAPE, _SIZES, _COUNT = Use("shape"), Use("shape", lower=1), Use("trip", lower=0)
_LENGTH, _SCALE, _SHARE = Use("trip", lower=1), Use("data", lower=0.01), Use("data", lower=0, upper=1)
# Operands that only some values make sense for: operator -> operand -> what they are.
OPERANDS: dict[str, dict[int, Use]] = {
    "Reshape": {1: _SHAPE},
    "Slice": {1: _SHAPE, 2: _SHAPE, 4: _SHAPE},
    "Expand": {1: _SIZES},
    "Tile": {1: _SIZES},
    "ConstantOfShape": {0: _SIZES},
    "Pad": {1: Use("shape", lower=0)},
    "Resize": {2: Use("data", lower=0.5, upper=3), 3: _SIZES},
    "Upsample": {1: Use("data", lower=1, upper=3)},
    "CenterCropPad": {1: _SIZES},
    "AffineGrid": {1: _SIZES},
    "Range": {0: _COUNT, 1: _COUNT, 2: Use("trip", lower=0, nonzero=True)},
    "OneHot": {0: Use("index", bound=1), 1: _LENGTH},
    "NonMaxSuppression": {2: _COUNT, 3: _SHARE, 4: _SHARE},
    "SequenceAt": {1: Use("index", bound=1)},
    "SequenceErase": {1: Use("index", bound=1)},
    "SequenceInsert": {2: Use("index", bound=1)},
    "SplitToSequence": {1: _LENGTH},
    "DFT": {1: _LENGTH},
    "STFT": {1: _LENGTH, 3: _LENGTH},
    "HannWindow": {0: _LENGTH},
    "HammingWindow": {0: _LENGTH},
    "BlackmanWindow": {0: _LENGTH},
    "Dropout": {1: Use("data", lower=0, upper=0.9), 2: Use("data", upper=0)},
    "BatchNormalization": {4: _SCALE},
    "QuantizeLinear": {1: _SCALE},
    "DequantizeLinear": {1: _SCALE},
    "QLinearConv": {1: _SCALE, 4: _SCALE, 6: _SCALE},
    "QLinearMatMul": {1: _SCALE, 4: _SCALE, 6: _SCALE},
    "BitShift": {1: Use("data", lower=0, upper=7)},
}


@dataclass(frozen=True, slots=True)
class Operand:
    """What an operand is: its kind, the operand that holds the data, their axis (or the attribute that names it)."""

    kind: Kind
    data: int | None = 0
    axis: int | str | None = None


_AXES = Operand("axes")
_POSITION, _LENGTH_OF_TIME, _WINDOW = Operand("position", 0, "axis"), Operand("length", 0, "layout"), Operand("window")
_LEVEL = Operand("level")
# Every operand that is only ever an integer, and some others with few sensible values: operator -> operand -> what.
EDGES: dict[str, dict[int, Operand]] = {
    **{operator: {1: _POSITION} for operator in ("Gather", "GatherElements", "ScatterElements", "Scatter")},
    **{operator: {1: Operand("position", 0, "batch_dims")} for operator in ("GatherND", "ScatterND")},
    **{operator: {4: _LENGTH_OF_TIME} for operator in ("LSTM", "GRU", "RNN")},
    **{operator: {place: _AXES} for operator, place in AXES.items() if operator != "Slice"},
    **{operator: {0: _WINDOW} for operator in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    **{operator: {2: _LEVEL} for operator in ("QuantizeLinear", "DequantizeLinear")},
    **{operator: {2: _LEVEL, 3: _LEVEL} for operator in ("ConvInteger", "MatMulInteger")},
    **{operator: {2: _LEVEL, 5: _LEVEL, 7: _LEVEL} for operator in ("QLinearConv", "QLinearMatMul")},
    "RoiAlign": {2: Operand("position", 0, 0)},
    "RotaryEmbedding": {3: Operand("position", 1, 0)},
    "TensorScatter": {2: Operand("position", 0, "axis")},
    "SequenceAt": {1: Operand("position", 0)},
    "SequenceErase": {1: Operand("position", 0)},
    "SequenceInsert": {2: Operand("position", 0)},
    "OneHot": {0: Operand("position", None), 1: Operand("depth", None)},
    "MaxUnpool": {1: Operand("position", 0, -1), 2: Operand("size")},
    "NegativeLogLikelihoodLoss": {1: Operand("position", 0, 1)},
    "SoftmaxCrossEntropyLoss": {1: Operand("position", 0, 1)},
    "ReverseSequence": {1: Operand("length", 0, "time_axis")},
    "Attention": {6: Operand("length", 1, -2)},
    "TopK": {1: Operand("count", 0, "axis")},
    "NonMaxSuppression": {2: Operand("count", 0, 1)},
    "Reshape": {1: Operand("shape")},
    "Expand": {1: Operand("size")},
    "ConstantOfShape": {0: Operand("size", None)},
    "CenterCropPad": {1: Operand("size")},
    "AffineGrid": {1: Operand("size", None)},
    "Resize": {2: Operand("scale"), 3: Operand("size")},
    "Upsample": {1: Operand("scale")},
    "Col2Im": {1: Operand("size", None), 2: Operand("size", None)},
    "Tile": {1: Operand("repeat")},
    "Split": {1: Operand("partition", 0, "axis")},
    "SplitToSequence": {1: Operand("partition", 0, "axis")},
    "Pad": {1: Operand("pad"), 3: _AXES},
    "Slice": {1: Operand("start"), 2: Operand("end"), 3: _AXES, 4: Operand("step")},
    "Range": {0: Operand("first", None), 1: Operand("limit", None), 2: Operand("delta", None)},
    "DFT": {1: _WINDOW, 2: _AXES},
    "STFT": {1: _WINDOW, 3: _WINDOW},
    "MelWeightMatrix": {0: _WINDOW, 1: _WINDOW, 2: _WINDOW},
    "Trilu": {1: Operand("start", 0, -1)},
    "BitShift": {1: Operand("shift", None)},
    "Compress": {1: Operand("condition", None)},
    "Dropout": {2: Operand("condition", None)},
}

CATEGORIES: dict[str, tuple[str, ...]] = {
    "CategoryMapper": ("cats_strings", "cats_int64s"),
    "LabelEncoder": ("keys_strings", "keys_int64s", "keys_floats"),
    "OneHotEncoder": ("cats_strings", "cats_int64s"),
}
"""Encoders of ai.onnx.ml: the attributes that list what they know."""

RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")
"""Operators that draw random numbers."""
