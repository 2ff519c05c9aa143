"""What ONNX's operators are called in expressions, which are raised from NumPy and lowered to it."""

from __future__ import annotations

from ...passes.words import words

FUNCTIONS: dict[str, str] = {
    **{name: name.lower() for name in words("Ceil Cos Cosh Exp Floor IsNaN Log Sign Sin Sinh Sqrt Tan Tanh")},
    **{f"A{name}": f"arc{name}" for name in words("cos cosh sin sinh tan tanh")},
    **{f"Bitwise{name}": f"bitwise_{name.lower()}" for name in words("And Or Xor")},
    **{name: f"logical_{name.lower()}" for name in words("And Not Or Xor")},
    "Abs": "absolute",
    "BitwiseNot": "invert",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Max": "maximum",
    "Min": "minimum",
    "Neg": "negative",
    "Round": "rint",
}
"""Operators that are one function of NumPy, of one type of operands at least."""
SYMBOLS: dict[str, str] = {
    **{"Add": "+", "Sub": "-", "Mul": "*"},
    **{"Equal": "==", "Greater": ">", "GreaterOrEqual": ">=", "Less": "<", "LessOrEqual": "<="},
}
"""Operators that are one of Python's between two operands."""
