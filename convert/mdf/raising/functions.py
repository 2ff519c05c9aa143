"""Functions by their names: MDF's standard ones, and `onnx::` operators."""

from __future__ import annotations

from collections.abc import Mapping

from ....passes.rewrite import Builder
from ..model import Plain
from .evaluate import Scope, evaluate
from .numbers import Number

STANDARD = {
    "linear": "variable0 * slope + intercept",
    "arctan": "scale * numpy.arctan(variable0)",
    "arcsin": "scale * numpy.arcsin(variable0)",
    "arccos": "scale * numpy.arccos(variable0)",
    "logistic": "1 / (1 + numpy.exp(-1 * gain * (variable0 + bias) + offset))",
    "exponential": "scale * numpy.exp(rate * variable0 + bias) + offset",
    "sin": "scale * numpy.sin(variable0)",
    "cos": "scale * numpy.cos(variable0)",
    "tan": "scale * numpy.tan(variable0)",
    "sinh": "scale * numpy.sinh(variable0)",
    "cosh": "scale * numpy.cosh(variable0)",
    "tanh": "scale * numpy.tanh(variable0)",
    "MatMul": "A @ B",
    "Relu": "A * (A > 0)",
}
"""MDF's standard functions: an expression over the names of their arguments."""


def call(
    op: Builder, function: str, args: Mapping[str, Plain], scope: Scope, where: str
) -> Number | tuple[Number, ...]:
    """The value of a function.

    Args:
        function: the name of one of MDF's; another text is an expression over the arguments.
        args: what its arguments are, each a value of a document; they see the ones before.
        scope: what the names in them stand for: in the engine's order the node's input ports, then what else has a
            value. A function takes from there what isn't among its arguments.

    Raises:
        InvalidModel: an argument is missing, or is no expression.
        Unsupported: there is the function, and it can't be said in the hub.
    """
    given: dict[str, Number | tuple[Number, ...]] = dict(scope)
    for name, plain in args.items():
        given[name] = evaluate(op, plain, given, f"{where}, argument {name!r}")
    return evaluate(op, STANDARD.get(function, function), given, where)
