"""Which operands of the hub's operators take only some values, or decide how much is done."""

from __future__ import annotations

from dataclasses import dataclass

from ...passes.core import REDUCTIONS
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


@dataclass(frozen=True, slots=True)
class Operand:
    """What an operand is.

    Attributes:
        kind: of its extraordinary values, see `edges`; None where it has none.
        use: which of its values make sense; None: all do. An index without a bound is bounded by the axis.
        data: the operand that holds the data.
        axis: theirs that it counts along, or the attribute that names it.
    """

    kind: Kind | None = None
    use: Use | None = None
    data: int | None = 0
    axis: int | str | None = None


_INDEX, _FIRST, _UP_TO_SIZE = Use("index", wrap=True), Use("index", bound=1), Use("index", lower=1)
_SIZES, _COUNT, _LENGTH = Use("shape", lower=1), Use("trip", lower=0), Use("trip", lower=1)
_AXES, _LEVEL, _WINDOW = Operand("axes", _INDEX), Operand("level"), Operand("window", _LENGTH)
_SCALE, _SHARE = Operand(use=Use("data", lower=0.01)), Operand(use=Use("data", lower=0, upper=1))
_SIZE, _SIZE_OF_NOTHING = Operand("size", _SIZES), Operand("size", _SIZES, None)
_ANY_AXES, _AREA = Operand("axes"), Operand("size", data=None)

# Every operand that is only ever an integer, and some others with few sensible values: operator -> operand -> what.
OPERANDS: dict[str, dict[int, Operand]] = {
    **{
        operator: {1: Operand("position", _INDEX, 0, "axis")}
        for operator in ("Gather", "GatherElements", "ScatterElements", "Scatter")
    },
    **{operator: {1: Operand("position", _INDEX, 0, "batch_dims")} for operator in ("GatherND", "ScatterND")},
    **{operator: {4: Operand("length", _UP_TO_SIZE, 0, "layout")} for operator in ("LSTM", "GRU", "RNN")},
    **{name: {1: _AXES} for name in REDUCTIONS},
    **{operator: {1: _AXES} for operator in ("Squeeze", "Unsqueeze", "CumSum", "CumProd")},
    **{operator: {0: _WINDOW} for operator in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    **{operator: {1: _SCALE, 2: _LEVEL} for operator in ("QuantizeLinear", "DequantizeLinear")},
    **{operator: {2: _LEVEL, 3: _LEVEL} for operator in ("ConvInteger", "MatMulInteger")},
    **{
        operator: {1: _SCALE, 2: _LEVEL, 4: _SCALE, 5: _LEVEL, 6: _SCALE, 7: _LEVEL}
        for operator in ("QLinearConv", "QLinearMatMul")
    },
    **{
        operator: {1: Operand("position", None, 0, 1)}
        for operator in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
    },
    "RoiAlign": {2: Operand("position", _INDEX, 0, 0)},
    "RotaryEmbedding": {3: Operand("position", _INDEX, 1, 0)},
    "TensorScatter": {2: Operand("position", None, 0, "axis")},
    "SequenceAt": {1: Operand("position", _FIRST)},
    "SequenceErase": {1: Operand("position", _FIRST)},
    "SequenceInsert": {2: Operand("position", _FIRST)},
    "OneHot": {0: Operand("position", _FIRST, None), 1: Operand("depth", _LENGTH, None)},
    "MaxUnpool": {1: Operand("position", None, 0, -1), 2: Operand("size")},
    "ReverseSequence": {1: Operand("length", _UP_TO_SIZE, 0, "time_axis")},
    "Attention": {6: Operand("length", _UP_TO_SIZE, 1, -2)},
    "TopK": {1: Operand("count", _UP_TO_SIZE, 0, "axis")},
    "NonMaxSuppression": {2: Operand("count", _COUNT, 0, 1), 3: _SHARE, 4: _SHARE},
    "Reshape": {1: Operand("shape", Use("shape"))},
    "Expand": {1: _SIZE},
    "ConstantOfShape": {0: _SIZE_OF_NOTHING},
    "CenterCropPad": {1: _SIZE},
    "AffineGrid": {1: _SIZE_OF_NOTHING},
    "Resize": {2: Operand("scale", Use("data", lower=0.5, upper=3)), 3: _SIZE},
    "Upsample": {1: Operand("scale", Use("data", lower=1, upper=3))},
    "Col2Im": {1: _AREA, 2: _AREA},
    "Tile": {1: Operand("repeat", _SIZES)},
    "Split": {1: Operand("partition", None, 0, "axis")},
    "SplitToSequence": {1: Operand("partition", _LENGTH, 0, "axis")},
    "Pad": {1: Operand("pad", Use("shape", lower=0)), 3: _ANY_AXES},
    "Slice": {
        1: Operand("start", Use("shape")),
        2: Operand("end", Use("shape")),
        3: _AXES,
        4: Operand("step", Use("shape")),
    },
    "Range": {
        0: Operand("first", _COUNT, None),
        1: Operand("limit", _COUNT, None),
        2: Operand("delta", Use("trip", lower=0, nonzero=True), None),
    },
    "DFT": {1: _WINDOW, 2: _ANY_AXES},
    "STFT": {1: _WINDOW, 3: _WINDOW},
    "MelWeightMatrix": dict.fromkeys((0, 1, 2), Operand("window")),
    "Trilu": {1: Operand("start", None, 0, -1)},
    "BitShift": {1: Operand("shift", Use("data", lower=0, upper=7), None)},
    "Compress": {1: Operand("condition", data=None)},
    "Dropout": {1: Operand(use=Use("data", lower=0, upper=0.9)), 2: Operand("condition", Use("data", upper=0), None)},
    "BatchNormalization": {4: _SCALE},
}
LAST_AXIS = ("TopK",)  # their axis is the last one where it isn't given

CATEGORIES: dict[str, tuple[str, ...]] = {
    "CategoryMapper": ("cats_strings", "cats_int64s"),
    "LabelEncoder": ("keys_strings", "keys_int64s", "keys_floats"),
    "OneHotEncoder": ("cats_strings", "cats_int64s"),
}
"""Encoders of ai.onnx.ml: the attributes that list what they know."""
