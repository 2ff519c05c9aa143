"""Which operators round, by how much, and over how many terms.

Errors are in units of the result's own precision (u, half the distance of 1 from the next number): an arithmetic
operation is off by up to 2 of them here (twice what rounding to nearest allows), a function by 4. A sum of n terms
has max(1, sqrt(n) / 4) times that, and each of its terms as much again: where the terms cancel, the error is one of
their sizes, not of the result's. Functions that libraries compute as 0.5 + p/q or 1 + p/q near zero are off by a share
of 1, not of the result, and so are windows, whose cosines cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..kernels.base import Array, Attributes, scalar

ARITHMETIC, FUNCTION = 2.0, 4.0

MOVES = frozenset(
    """
    Abs BitCast BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil CenterCropPad Clip Compress Concat ConcatFromSequence
    Constant ConstantOfShape DepthToSpace Dropout Expand EyeLike Flatten Floor Gather GatherElements GatherND
    GlobalMaxPool Hardmax Identity Max MaxPool MaxRoiPool MaxUnpool Min Neg NonZero OneHot Optional OptionalGetElement
    OptionalHasElement Pad Relu Reshape ReverseSequence Round Scatter SequenceAt SequenceConstruct SequenceEmpty
    SequenceErase SequenceInsert SequenceMap Sign Slice SpaceToDepth Split SplitToSequence Squeeze TensorScatter
    ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze Where Shape Size ReduceMax ReduceMin ArgMax ArgMin
    Binarizer ArrayFeatureExtractor DictVectorizer Imputer LabelEncoder OneHotEncoder ZipMap FeatureVectorizer
    CastMap CategoryMapper Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike
    """.split()  # noqa: SIM905  a table that reads like one
)
"""Operators that hand on what they were given: whatever rounds was rounded before."""

STEPPING = frozenset(("QuantizeLinear", "DynamicQuantizeLinear", "QLinearMatMul", "QLinearConv"))
"""Operators that end in whole numbers: what they compute before is off, see `Attributes.computed`."""

FUNCTIONS = frozenset(
    """
    Acos Acosh Asin Asinh Atan Atanh Cos Cosh Exp Log LogSoftmax Pow Sin Sinh Softmax Tan Tanh BlackmanWindow
    HammingWindow HannWindow MelWeightMatrix ReduceLogSum ReduceLogSumExp Softsign LinearClassifier LinearRegressor
    SVMClassifier SVMRegressor
    TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor
    """.split()  # noqa: SIM905
)

ABSOLUTE = frozenset(
    """
    Sigmoid Erf Softplus LSTM GRU RNN HardSigmoid HardSwish Elu Selu Celu Gelu Mish Swish SwiGLU LogSoftmax
    ReduceLogSumExp SoftmaxCrossEntropyLoss Sin Cos BlackmanWindow HammingWindow HannWindow
    """.split()  # noqa: SIM905
)

SHARES = frozenset(("Gelu", "Mish", "Swish"))
"""Of `ABSOLUTE`, those that are a share of their operand: of a large one, it is off by as much more."""

ANGLES = (2 * math.pi) ** 2
"""For how many terms one of a transform counts, since errors grow by the root of it: its factor's angle, up to 2 pi, is
rounded before the cosine is."""

LOGISTIC = ("LOGISTIC", b"LOGISTIC", 2)
"""How attributes `post_transform` name the sigmoid that ONNX Runtime computes as 1 less the one of the opposite."""

Count = Callable[[Attributes, Sequence[Any], Array], float]


def _size(value: Any) -> int:
    return value.size if isinstance(value, np.ndarray) else 1


def _ratio(_: Attributes, inputs: Sequence[Any], result: Array) -> float:
    return _size(inputs[0]) / max(result.size, 1)


def _last(_: Attributes, inputs: Sequence[Any], result: Array) -> float:
    return inputs[0].shape[-1] if inputs[0].ndim else 1


def _spatial(_: Attributes, inputs: Sequence[Any], result: Array) -> float:
    return math.prod(inputs[0].shape[2:])


def _kernel(attrs: Attributes, inputs: Sequence[Any], result: Array) -> float:
    return math.prod(attrs.ints("kernel_shape", ()))


def _along(attrs: Attributes, inputs: Sequence[Any], result: Array) -> float:
    return inputs[0].shape[attrs.int("axis", -1)] if inputs[0].ndim else 1


def _longest(_: Attributes, inputs: Sequence[Any], result: Array) -> float:
    return max(inputs[0].shape, default=1)


def _sampling_positions(_: Attributes, inputs: Sequence[Any], result: Array) -> float:
    """Positions in an image are computed, too: their error grows with its side."""
    return max([*inputs[0].shape[2:], *result.shape[2:]], default=1) ** 2


def _transform(_: Attributes, inputs: Sequence[Any], result: Array) -> float:
    """ONNX Runtime transforms lengths that are no power of two by Bluestein's algorithm, whose phases, pi k^2 / n, it
    holds in float32: their error grows with the length, and not with its root."""
    length = max(inputs[0].shape, default=1)
    return length if length & (length - 1) == 0 else (2 * length) ** 2


def _is_divided_by_float32(attrs: Attributes, inputs: Sequence[Any], result: Array) -> bool:
    """Of such lengths ONNX Runtime multiplies the inverse by 1 / n in float32, whatever the elements' type."""
    axis = attrs.int("axis", -2) if len(inputs) < 3 or inputs[2] is None else int(scalar(inputs[2]))
    length = result.shape[axis]
    return attrs.flag("inverse") and length & (length - 1) != 0


def _einsum(_: Attributes, inputs: Sequence[Any], result: Array) -> float:
    over = math.prod(_size(value) for value in inputs) / max(result.size, 1)
    return max(over, 1.0) ** (1 / len(inputs))


TERMS: dict[str, Count] = {
    "MatMul": _last,
    "Det": _last,
    "Gemm": lambda attrs, inputs, result: inputs[0].shape[0 if attrs.flag("transA") else 1],
    "Einsum": _einsum,
    "Conv": lambda attrs, inputs, result: math.prod(inputs[1].shape[1:]),
    "CausalConvWithState": lambda attrs, inputs, result: math.prod(inputs[1].shape[1:]),
    "ConvTranspose": lambda attrs, inputs, result: inputs[1].size / max(inputs[1].shape[1], 1),
    "DeformConv": lambda attrs, inputs, result: 16 * math.prod(inputs[1].shape[1:]),
    **dict.fromkeys(
        ("ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"),
        _ratio,
    ),
    **dict.fromkeys(("ReduceProd", "GlobalAveragePool", "GlobalLpPool"), _ratio),
    **dict.fromkeys(("AveragePool", "LpPool"), _kernel),
    **dict.fromkeys(("CumSum", "CumProd", "Col2Im"), _longest),
    **dict.fromkeys(("DFT", "STFT"), _transform),
    **dict.fromkeys(("Softmax", "LogSoftmax", "LpNormalization", "Normalizer"), _last),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _last),
    **dict.fromkeys(("InstanceNormalization", "GroupNormalization", "MeanVarianceNormalization"), _spatial),
    "BatchNormalization": lambda attrs, inputs, result: 1,
    "LRN": lambda attrs, inputs, result: attrs.int("size"),
    **dict.fromkeys(("Attention", "FlexAttention", "LinearAttention"), _longest),
    **dict.fromkeys(("RNN", "GRU", "LSTM"), lambda attrs, inputs, result: inputs[1].shape[2] + inputs[2].shape[2]),
    **dict.fromkeys(("LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor"), _last),
    **dict.fromkeys(
        ("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"), lambda attrs, inputs, result: 1024
    ),
    "Mod": lambda attrs, inputs, result: 1,
    **dict.fromkeys(("Sum", "Mean"), lambda attrs, inputs, result: len(inputs)),
    "RotaryEmbedding": lambda attrs, inputs, result: 2,
    **dict.fromkeys(("Adagrad", "Adam", "Momentum"), lambda attrs, inputs, result: 2),
    **dict.fromkeys(("Resize", "Upsample", "GridSample", "RoiAlign", "AffineGrid"), _sampling_positions),
    **dict.fromkeys(("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"), _longest),
}
"""How many terms one element of the result is a sum of."""

SHAKEN: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("RNN", "GRU", "LSTM"), (0, 2, 3)),  # what the hidden state brings, and two biases that may cancel
    "BatchNormalization": (0, 2, 3),  # any two of them may cancel
    **dict.fromkeys(("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"), ()),  # they compare first
    **dict.fromkeys(("Resize", "Upsample", "GridSample", "RoiAlign"), (0,)),
    **dict.fromkeys(("FlexAttention", "LinearAttention"), (0, 1, 2)),
    "Attention": (0, 1, 2, 4, 5),  # query, key, value and those of the past
    **dict.fromkeys(("Sum", "Mean"), ()),
    **dict.fromkeys(("DFT", "STFT"), ()),  # their kernels turn the terms themselves
    **dict.fromkeys(("Adagrad", "Adam", "Momentum"), tuple(range(2, 66))),  # of up to 16 tensors with their states
}
"""Which inputs of a sum are its terms; where nothing else is said, the first."""

POSITIONS = {"GridSample": 1}
"""Operators that compute positions first, in the type of one of their inputs: which one."""

ROUNDED_INSIDE = frozenset({"Attention", "FlexAttention", "LinearAttention"})
"""Sums of sums: what is between them is held in the type of the inputs, halves as well."""

SCALED: dict[str, Callable[[Attributes, Sequence[Any], Array], bool]] = {"DFT": _is_divided_by_float32}
"""Results that some runtime multiplies by a number of float32, whatever their type, and when it does."""

WEIGHED = frozenset({"Resize", "Upsample", "RNN", "GRU", "LSTM"})
"""Operators with numbers that come from sizes or attributes alone, which another file may hold rounded."""

FIRST_STEPS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("GroupNormalization", "InstanceNormalization", "LayerNormalization", "RMSNormalization"), (0,)),
    **dict.fromkeys(("RNN", "GRU", "LSTM", "Gemm"), (0, 1)),
    "DeformConv": (2,),  # places, of which the image's elements have shares
    **dict.fromkeys(("GridSample", "RoiAlign"), (1,)),
}
"""Operators in steps, of which the first look at these inputs alone: where those are constants, another file may hold
rounded what they make of them."""

NEVER_EXACT = frozenset({"BatchNormalization", "BlackmanWindow", "DFT", "STFT", "Mod"})
"""Sums with factors that no type holds, and what some runtimes compute as x - y * floor(x / y): that a type holds a
result doesn't say that it was rounded nowhere."""

MEANS = frozenset({"AveragePool", "GlobalAveragePool", "Mean", "ReduceMean"})
"""Some runtimes multiply the sum by the reciprocal of the number of terms, which is exact for powers of two only."""
