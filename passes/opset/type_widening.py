"""Steps that widened the types or reworded the text: nothing to do either way but to check the types going down.

Both texts of each were read. Where they differ in more than words, it was the text that was mended:

- Cast-24: infinity saturates in the FNUZ types too, as the conversion always did;
- ConvTranspose-11: which end SAME_UPPER pads more, where version 1 contradicted itself;
- Clip-13: `max` wins over `min`; GRU-7, LSTM-7, RNN-7 (in `recurrent`): the recurrence weights are transposed;
- Mod-13: it says what fmod and `%` do in the cases left open before.
"""

from .steps import SAME, Key, Step

_VERSIONS: dict[str, tuple[int, ...]] = {
    "Gemm": (6, 13),
    "Greater Less": (13,),
    "MatMul": (13,),
    "Constant": (9, 13, 19, 21, 23, 24, 25),
    "Flatten": (13, 21, 23, 24, 25),
    "Cast": (13, 21, 23, 25, 28),
    "PRelu": (9, 16),
    "NonMaxSuppression": (11,),
    "MaxPool": (11,),
    "AveragePool": (11,),
    "Equal": (13,),
    "Conv ConvTranspose MaxUnpool": (11, 22),
    "LpPool": (11,),
    "Clip Max Min": (13,),
    "Pow": (13, 15),
    "ReduceMax ReduceMin": (12, 13, 20),
    "Abs ArgMax ArgMin Ceil Concat Exp Expand Floor Gather GatherElements GatherND": (13,),
    "LRN Log Mean Mod Neg NonZero Reciprocal": (13,),
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSumSquare": (13,),
    "ScatterElements ScatterND Sigmoid Sign Slice SoftmaxCrossEntropyLoss SpaceToDepth": (13,),
    "Sqrt Sum Tanh Tile": (13,),
    "Add Div Mul Relu Sub": (13,),
    "Identity": (13, 16, 19, 21, 23, 24, 25),
    "If Loop": (13, 16, 19, 21, 23, 24, 25),
    "Reshape Shape Size": (13, 19, 21, 23, 24, 25),
    "IsNaN": (13, 20),
    "Pad Transpose": (13, 21, 23, 24, 25),
    "Dropout NegativeLogLikelihoodLoss": (13, 22),
    "DepthToSpace": (13, 28),
    "CumSum": (14,),
    "GreaterOrEqual LeakyRelu LessOrEqual Where": (16,),
    "Scan": (16, 19, 21, 23, 24, 25),
    "OptionalGetElement": (28,),
    "DequantizeLinear": (24, 25, 28),
    "ConstantOfShape": (20, 21, 23, 24, 25),
    "Squeeze Unsqueeze": (21, 23, 24, 25),
    "CastLike": (21, 23, 25),
    "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Sin Sinh Tan": (22,),
    "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike": (22,),
    "DeformConv Det Elu EyeLike GRU GlobalAveragePool GlobalLpPool GlobalMaxPool GridSample": (22,),
    "HardSigmoid HardSwish InstanceNormalization LSTM LpNormalization MaxRoiPool Mish RNN": (22,),
    "RoiAlign Round Selu Softplus Softsign ThresholdedRelu": (22,),
    "SplitToSequence TopK": (24,),
    "QuantizeLinear": (24, 25, 28),
    "Celu Compress Einsum OneHot Optional OptionalHasElement ReverseSequence Unique": (28,),
}

ROWS: dict[Key, Step] = {
    (name, version): SAME for names, versions in _VERSIONS.items() for name in names.split() for version in versions
}
