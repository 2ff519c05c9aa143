"""One element at a time: the code of each element-wise operator, as templates by family of kinds.

`{0}`, `{1}` stand for the operands, `{one}`, `{zero}` for typed constants, a name for the attribute of
that name. Every template gives exactly the kind it promises: Numba widens narrow integers, so integer
results are cast back after each operation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..kernels.base import Attributes
from .emitter import Emitter
from .tensors import FLOATS, INTEGERS, SIGNED, Atom, Decline, cast, literal


@dataclass(frozen=True, slots=True)
class Row:
    """Templates of one operator: for floats (where float32 differs, `single`), integers and bool.

    `unsigned` where it differs from signed integers; `result` "bool" for predicates.
    """

    floats: str = ""
    integers: str = ""
    boolean: str = ""
    unsigned: str = ""
    single: str = ""
    result: str = ""

    def template(self, kind: str) -> str:
        """The template for a kind; declines where there is none."""
        if kind in FLOATS:
            chosen = self.single if kind == "float32" and self.single else self.floats
        elif kind == "bool":
            chosen = self.boolean
        else:
            chosen = self.unsigned if self.unsigned and kind not in SIGNED else self.integers
        if not chosen:
            raise Decline(f"no code for {kind}")
        return chosen


def everywhere(code: str, result: str = "") -> Row:
    """The same template for all kinds."""
    return Row(code, code, code, result=result)


def numbers(code: str, result: str = "", single: str = "") -> Row:
    """The same template for floats and integers."""
    return Row(code, code, single=single, result=result)


def wide(function: str, *operands: str) -> str:
    """A helper that works on 64-bit integers."""
    return f"{function}({', '.join(f'np.{{wide}}({operand})' for operand in operands)})"


ROWS: dict[str, Row] = {
    # two operands
    "Add": numbers("{0} + {1}"),
    "Sub": numbers("{0} - {1}"),
    "Mul": numbers("{0} * {1}"),
    "Div": Row("{0} / {1}", wide("divide_signed", "{0}", "{1}"), unsigned=wide("divide_unsigned", "{0}", "{1}")),
    "Equal": everywhere("{0} == {1}", "bool"),
    "Greater": numbers("{0} > {1}", "bool"),
    "GreaterOrEqual": numbers("{0} >= {1}", "bool"),
    "Less": numbers("{0} < {1}", "bool"),
    "LessOrEqual": numbers("{0} <= {1}", "bool"),
    "And": Row(boolean="{0} & {1}"),
    "Or": Row(boolean="{0} | {1}"),
    "Xor": Row(boolean="{0} ^ {1}"),
    "BitwiseAnd": Row(integers="{0} & {1}"),
    "BitwiseOr": Row(integers="{0} | {1}"),
    "BitwiseXor": Row(integers="{0} ^ {1}"),
    "Max": numbers("larger({0}, {1})"),
    "Min": numbers("smaller({0}, {1})"),
    # one operand
    "Abs": Row("abs({0})", "abs({0})", unsigned="{0}"),
    "Neg": Row("-{0}", "-{0}"),
    "Sign": Row(
        "select({0} > {zero}, {one}, select({0} < {zero}, -{one}, select({0} != {0}, {0}, {zero})))",
        "select({0} > {zero}, {one}, select({0} < {zero}, np.{kind}(-1), {zero}))",
        unsigned="select({0} > {zero}, {one}, {zero})",
    ),
    "Not": Row(boolean="not {0}"),
    "BitwiseNot": Row(integers="~{0}"),
    "Reciprocal": Row("{one} / {0}"),
    "Sqrt": Row("math.sqrt({0})"),
    "Ceil": Row("np.ceil({0})"),
    "Floor": Row("np.floor({0})"),
    "Round": Row("np.rint({0})"),
    "IsNaN": Row("{0} != {0}", result="bool"),
    "Exp": Row("math.exp({0})", single="exp32({0})"),
    "Log": Row("math.log({0})", single="log32({0})"),
    "Tanh": Row("math.tanh({0})", single="tanh32({0})"),
    "Sigmoid": Row("{one} / ({one} + math.exp(-{0}))", single="sigmoid32({0})"),
    "Erf": Row("math.erf({0})", single="np.float32(math.erf(np.float64({0})))"),
    "RoundToFloat16": Row(single="to_float16({0})"),
    "RoundToBfloat16": Row(single="to_bfloat16({0})"),
    "Relu": Row("larger({0}, {zero})", "larger({0}, {zero})", unsigned="{0}"),
    **{name: Row(f"math.{name.lower()}({{0}})") for name in ("Sin", "Cos", "Tan", "Sinh", "Cosh")},
    **{name: Row(f"math.{name.lower()}({{0}})") for name in ("Asin", "Acos", "Atan", "Asinh", "Acosh", "Atanh")},
}
"""Operators whose operands are all of one kind."""

INNER: dict[str, Row] = {
    "Expm1": Row("math.expm1({0})"),
    "Log1p": Row("math.log1p({0})"),
    "Infinite": Row("math.isinf({0})", result="bool"),
}
"""The same for functions that only stand inside of others."""

_FOLDABLE: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
}
"""Arithmetic on shapes, done while the code is written."""


def apply(em: Emitter, op_type: str, operands: list[Atom]) -> Atom:
    """One element of an operator in `ROWS`, or of a function in `INNER`."""
    kind = operands[0].kind
    if any(operand.kind != kind for operand in operands):
        raise Decline(f"{op_type} on different kinds")
    fold = _FOLDABLE.get(op_type)
    if fold and kind == "int64":
        values = [operand.value for operand in operands]
        if all(isinstance(value, int) for value in values):
            folded = fold(*(int(value or 0) for value in values))
            if -(2**62) < folded < 2**62:
                return literal("int64", folded)
    row = ROWS.get(op_type) or INNER[op_type]
    code = row.template(kind).format(
        *(operand.code for operand in operands),
        kind=kind,
        wide="int64" if kind in SIGNED else "uint64",
        one=literal(kind, 1).code,
        zero=literal(kind, 0).code,
    )
    result = row.result or kind
    return em.let(cast(kind, code) if result in INTEGERS and kind != "int64" else code, result)


def modulo(em: Emitter, attrs: Attributes, operands: list[Atom]) -> Atom:
    """Mod: the sign of the divisor, or of the dividend when `fmod` is set."""
    a, b = operands
    if a.kind in FLOATS:
        return em.let(f"np.{'fmod' if attrs.flag('fmod') else 'mod'}({a.code}, {b.code})", a.kind)
    if a.kind in SIGNED:
        code = wide("remainder_signed" if attrs.flag("fmod") else "modulo_signed", a.code, b.code).format(wide="int64")
    else:
        code = wide("remainder_unsigned", a.code, b.code).format(wide="uint64")
    return em.let(cast(a.kind, code), a.kind)


def power(em: Emitter, _: Attributes, operands: list[Atom]) -> Atom:
    """Pow: the kind of the base; integers to negative powers truncate real arithmetic."""
    a, b = operands
    if a.kind in FLOATS and a.kind == b.kind:
        return em.let(f"{a.code} ** {b.code}", a.kind)
    if a.kind in FLOATS or b.kind in FLOATS:
        return convert(em, em.let(f"np.float64({a.code}) ** np.float64({b.code})", "float64"), a.kind)
    helper, kind = ("power_signed", "int64") if a.kind in SIGNED else ("power_unsigned", "uint64")
    exponent = cast("int64" if b.kind in SIGNED else "uint64", b.code)
    return em.let(cast(a.kind, f"{helper}({cast(kind, a.code)}, {exponent})"), a.kind)


def shift(em: Emitter, attrs: Attributes, operands: list[Atom]) -> Atom:
    """BitShift of unsigned integers; by the width and more gives 0."""
    a, b = operands
    if a.kind not in INTEGERS or a.kind in SIGNED:
        raise Decline(f"shifts of {a.kind}")
    sign = {"LEFT": "<<", "RIGHT": ">>"}[attrs.string("direction")]
    bits = int(a.kind.removeprefix("uint"))
    shifted = f"np.uint64({a.code}) {sign} np.uint64({b.code})"
    return em.let(f"select({b.code} < {bits}, {cast(a.kind, shifted)}, {literal(a.kind, 0).code})", a.kind)


def select(em: Emitter, _: Attributes | None, operands: list[Atom]) -> Atom:
    """Where."""
    condition, a, b = operands
    if condition.value is not None:
        return a if condition.value else b
    return em.let(f"select({condition.code}, {a.code}, {b.code})", a.kind)


Formula = Callable[[Emitter, Attributes, list[Atom]], Atom]

FORMULAS: dict[str, Formula] = {
    "Mod": modulo,
    "Pow": power,
    "BitShift": shift,
    "Where": select,
}
"""Operators whose operands differ in kind, or whose attributes change more than a number."""

RESULT: dict[str, Callable[[list[str]], str]] = {
    "Where": lambda kinds: kinds[1],
}
"""The result's kind where it isn't the first operand's."""


def convert(em: Emitter, x: Atom, kind: str) -> Atom:
    """Cast: NumPy's conversions, with what the processor gives for floats that don't fit."""
    if x.kind == kind:
        return x
    if x.value is not None and x.kind in INTEGERS and kind in INTEGERS | FLOATS and abs(x.value) < 128:
        return literal(kind, x.value) if x.value >= 0 or kind in SIGNED | FLOATS else em.let(cast(kind, x.code), kind)
    if kind == "bool":
        return em.let(f"{x.code} != {literal(x.kind, 0).code}", "bool")
    if x.kind in FLOATS and kind in INTEGERS:
        through = "int64" if kind in ("int64", "uint32") else "uint64" if kind == "uint64" else "int32"
        return em.let(cast(kind, f"to_{through}({x.code})"), kind)
    return em.let(cast(kind, x.code), kind)
