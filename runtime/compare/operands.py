"""Which operands of the hub's operators take only some values, or decide how much is done."""

from __future__ import annotations

from dataclasses import dataclass

from ...passes.types import Dim
from .signature import Role

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

RANDOM = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli")
"""Operators that draw random numbers."""
