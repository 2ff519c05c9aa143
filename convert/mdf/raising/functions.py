"""Functions by their names: MDF's standard ones, and `onnx::` operators."""

from __future__ import annotations

from collections.abc import Mapping

from ....passes.errors import InvalidModel, Unsupported
from ....passes.infer import words
from ....passes.rewrite import Builder
from ..model import Plain
from .numpy.evaluate import Scope, evaluate
from .numpy.syntax import names as expression_names
from .numpy.syntax import parse
from .numpy.values import Number
from .onnx_functions import PREFIX, onnx_call, operator_schema

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

_ELSEWHERE = words(
    "change_goal check_termination chunk_to_string conflict_resolution_function drift_diffusion_integrator "
    "match_production pattern_matching_function pattern_to_string retrieve_chunk update_buffer update_goal "
    "update_retrieval"
)
"""MDF's functions of ACT-R, which work on dictionaries, and its integrator, which draws at random."""


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
        Unsupported: there is the function, and it can't be expressed in the hub.
    """
    if function in _ELSEWHERE:
        raise Unsupported(where, f"the function {function!r}")
    given: dict[str, Number | tuple[Number, ...]] = dict(scope)
    if function.startswith(PREFIX):
        return _of_onnx(op, function.removeprefix(PREFIX), args, given, where)
    for name, plain in args.items():
        given[name] = evaluate(op, plain, given, f"{where}, argument {name!r}")
    return evaluate(op, STANDARD.get(function, function), given, where)


def _of_onnx(
    op: Builder, name: str, args: Mapping[str, Plain], given: dict[str, Number | tuple[Number, ...]], where: str
) -> Number | tuple[Number, ...]:
    """An operator. A text in brackets is no argument itself: the names in it are, which the scope has anyway."""
    operator_schema(name, where)
    names = dict.fromkeys(given)
    for key, plain in args.items():
        place = f"{where}, argument {key!r}"
        if plain is None and (name, key) == ("Pad", "constant_value"):
            names.pop(key, None)
        elif isinstance(plain, str) and plain.startswith("[") and plain.endswith("]"):
            unknown = next((each for each in expression_names(parse(plain, place)) if each not in given), None)
            if unknown is not None:
                raise InvalidModel(f"{place}: {unknown!r:.60} is unknown")
            names.pop(key, None)
        else:
            given[key] = evaluate(op, plain, given, place)
            names[key] = None
    return onnx_call(op, name, list(names), given, where)
