"""The core operators: what every other operator of the hub can be written with.

Each has a family, which says what kind of work it is, and properties that rewriting, compiling and proving rest on:

- elementwise: an element of the result follows from the elements at the same position of the broadcast operands alone.
- commutative: the first two operands may be swapped, bit for bit.
- associative: operands may be grouped in any way; of floats up to rounding, of integers and bools bit for bit.
- exact: no rounding, every correct implementation gives the same bits (NaN may differ in its payload).
- shape: elements are only moved, left out or repeated; none is changed.

Everything else has exactly one decomposition, see `decompose.library`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Family = Literal[
    "arithmetic",
    "comparison",
    "logic",
    "bits",
    "function",
    "type",
    "choice",
    "shape",
    "indexing",
    "reduction",
    "order",
    "product",
    "window",
    "random",
    "control",
    "container",
    "map",
    "text",
    "image",
]
Property = Literal["elementwise", "commutative", "associative", "exact", "shape"]


@dataclass(frozen=True, slots=True)
class CoreOperator:
    """What is known of an operator of ai.onnx, whatever target says it."""

    family: Family
    properties: frozenset[Property]


def _rows(family: Family, operators: str, *properties: Property) -> dict[str, CoreOperator]:
    return dict.fromkeys(operators.split(), CoreOperator(family, frozenset(properties)))


CORE: Mapping[str, CoreOperator] = {
    **_rows("arithmetic", "Add Mul", "elementwise", "commutative", "associative"),
    **_rows("arithmetic", "Max Min", "elementwise", "commutative", "associative", "exact"),
    **_rows("arithmetic", "Sub Div Pow Mod", "elementwise"),
    **_rows("arithmetic", "Abs Neg Floor Ceil Round", "elementwise", "exact"),
    **_rows("comparison", "Equal", "elementwise", "commutative", "exact"),
    **_rows("comparison", "Less Greater IsNaN", "elementwise", "exact"),
    **_rows("logic", "And Or", "elementwise", "commutative", "associative", "exact"),
    **_rows("logic", "Not", "elementwise", "exact"),
    **_rows("bits", "BitwiseAnd BitwiseOr BitwiseXor", "elementwise", "commutative", "associative", "exact"),
    **_rows("bits", "BitwiseNot BitShift BitCast", "elementwise", "exact"),
    **_rows("function", "Exp Log Sqrt Sin Cos Tan Asin Acos Atan Tanh Erf", "elementwise"),
    **_rows("type", "Cast", "elementwise"),
    **_rows("choice", "Where", "elementwise", "exact"),
    **_rows("shape", "Identity Reshape Squeeze Unsqueeze Transpose Expand Concat Slice Pad", "exact", "shape"),
    **_rows("shape", "Shape", "exact"),
    **_rows("indexing", "Gather GatherElements GatherND NonZero", "exact", "shape"),
    **_rows("indexing", "ScatterElements ScatterND"),
    **_rows("reduction", "ReduceMax ReduceMin ArgMax ArgMin", "exact"),
    **_rows("reduction", "ReduceSum ReduceProd CumSum"),
    **_rows("order", "TopK Unique", "exact"),
    **_rows("product", "MatMul Conv ConvTranspose"),
    **_rows("window", "AveragePool"),
    **_rows("window", "MaxPool", "exact"),
    **_rows("random", "RandomNormalLike RandomUniformLike"),
    **_rows("control", "Loop Scan If Constant"),
    **_rows("container", "SequenceEmpty SequenceConstruct SequenceInsert SequenceErase", "exact", "shape"),
    **_rows("container", "SequenceAt SequenceLength SplitToSequence ConcatFromSequence", "exact", "shape"),
    **_rows("container", "Optional OptionalGetElement OptionalHasElement", "exact", "shape"),
    **_rows("text", "StringConcat StringNormalizer StringSplit RegexFullMatch", "exact"),
    **_rows("image", "ImageDecoder"),
}
"""By name; all of them are of ai.onnx."""

_REDUCED_TO = ("Sum", "Prod", "Max", "Min", "Mean", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")
REDUCTIONS = tuple(f"Reduce{name}" for name in _REDUCED_TO)
"""Reductions along axes, which came as a list of numbers first, and come as an input now."""

ELEMENTWISE = frozenset(name for name, row in CORE.items() if "elementwise" in row.properties) | frozenset(
    """
    Acosh Asinh Atanh Celu Clip Cosh Elu Gelu GreaterOrEqual HardSigmoid HardSwish LeakyRelu LessOrEqual Mean Mish PRelu
    Reciprocal Relu Selu Shrink Sigmoid Sign Sinh Softplus Softsign Sum Swish ThresholdedRelu Xor
    """.split()  # noqa: SIM905
)
"""Whose results' elements follow from the elements at the same position of the broadcast operands, core or not."""

DRAWING = frozenset(
    ("", name)
    for name in ["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"]
)
"""(domain, name) of the operators that give something else each time, core or not."""

_IRREDUCIBLE = frozenset(
    [
        *(("ai.onnx.ml", name) for name in ("CastMap", "DictVectorizer", "ZipMap")),  # maps, for which no tensor stands
        ("ai.onnx.preview.training", "Gradient"),  # of a part of the graph around it
    ]
)


def is_core(operator: tuple[str, str]) -> bool:
    """Whether nothing simpler stands for an operator (domain, name)."""
    domain, name = operator
    return (not domain and name in CORE) or operator in _IRREDUCIBLE
