"""What stands in a model under the name of something outside it: annotations, and LAPACK's routines.

LAPACK's are those that jax calls on the CPU (lapack_sgetrf_ffi ...), by what they compute. Results that no routine
promises are left at what is at hand: the overwritten operand of a routine that destroys it, the vectors that weren't
asked for, a factor after a failure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.linalg.eigenvectors import balanced, eigenvalues, eigenvectors
from ....passes.linalg.factors import applied, cholesky, formed, hessenberg, lu, qr, qr_with_pivots
from ....passes.linalg.jacobi import eigen, singular
from ....passes.linalg.matrix import Matrix, where
from ....passes.linalg.schur import schur
from ....passes.linalg.solve import solved, tridiagonal_solved
from ....passes.preconditions import input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ....runtime.oracles.xla_calls import calls_python, is_annotation
from ..dialect import DOMAIN, origin_of
from .sort import topk_call
from .support import CallsHost, Results, called, shape_of

_TARGET = re.compile(r"lapack_([sdcz])(\w+)_ffi")
_OPTION = re.compile(r"(\w+)\s*=\s*(?:(-?\d+)\s*:|(true|false)\b)")
_SIGNS = "eigenvectors and singular vectors may differ from LAPACK's in their signs (phases)"
_ORDER = "eigenvalues may come in another order than LAPACK's, eigenvectors and Schur vectors with other factors"
_RANK = "what QR gives for a matrix without full rank isn't unique and may differ from LAPACK's"


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its operands as matrices, and its options (characters as their codes)."""

    op: Builder
    node: Node
    operands: list[Matrix]
    options: dict[str, int]

    def letter(self, name: str, allowed: str) -> str:
        """An option that is a character."""
        found = chr(self.options.get(name, 0))
        if found not in allowed:
            raise Unsupported(self.node, f"the option {name} of its backend_config isn't one of {', '.join(allowed)}")
        return found


Routine = Callable[[Call], Sequence[Matrix]]


def _potrf(call: Call) -> Sequence[Matrix]:
    """Cholesky; the other triangle stays as it is. info: the number of the first pivot that isn't positive."""
    (a,), lower = call.operands, call.letter("uplo", "LU") == "L"
    found, roots = cholesky(a, lower)
    rows, columns = a.rows(), a.columns()
    return where(rows >= columns if lower else rows <= columns, found, a), (~(roots > 0)).first_true()


def _trsm(call: Call) -> Sequence[Matrix]:
    a, b = call.operands
    transpose = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[call.letter("trans_x", "NTC")]
    left, lower, unit = (call.letter(name, both) == both[0] for name, both in _FLAGS)
    return [solved(a, b, left, lower, unit, transpose)]


_FLAGS = (("side", "LR"), ("uplo", "LU"), ("diag", "UN"))


def _getrf(call: Call) -> Sequence[Matrix]:
    return lu(call.operands[0])


def _geqrf(call: Call) -> Sequence[Matrix]:
    call.op.rewriter.notes.append(_RANK)
    return qr(call.operands[0])


def _geqp3(call: Call) -> Sequence[Matrix]:
    """The columns' order as it comes in must be all 0: every column is free."""
    order = call.operands[1].values()[0]
    maker = order.producer
    known = maker.inputs[0] if maker is not None and maker.op == ("", "Expand") else order
    array = known.array() if known is not None else None
    if array is None or array.any():
        raise Unsupported(call.node, "columns that are to come first")
    call.op.rewriter.notes.append(_RANK)
    return qr_with_pivots(call.operands[0])


def _orgqr(call: Call) -> Sequence[Matrix]:
    a, tau = call.operands
    return [formed(a, tau)]


def _ormqr(call: Call) -> Sequence[Matrix]:
    """Q, or its adjoint, times a matrix, or behind it."""
    a, tau, c = call.operands
    return [applied(a, tau, c, bool(call.options["left"]), bool(call.options["transpose"]))]


def _finite(a: Matrix, code: int) -> tuple[Matrix, Matrix, Matrix]:
    """(the operand, 0 where an element of a matrix is NaN or infinite; which ones are finite; info: `code` or 0)."""
    info = _bad_input(a, code)
    fine = info.equals(0)
    return where(fine.unsqueeze(-2, -1), a, 0), fine, info


def _geev(call: Call) -> Sequence[Matrix]:
    """Eigenvalues of any matrices, two real values, and their vectors, which are complex."""
    (a,) = call.operands
    call.op.rewriter.notes.append(_ORDER)
    wanted = {side: call.letter(f"compute_{side}", "NV") == "V" for side in ("left", "right")}
    none = a.real.zeros(*a.shape)
    a, fine, info = _finite(a, -4)
    a, scales = balanced(a)
    form, basis, open_ = schur(a, any(wanted.values()))
    values = eigenvalues(form)
    left = right = none.with_imag()
    if basis is not None and wanted["left"]:
        left = eigenvectors(form, basis / scales, values, left=True)
    if basis is not None and wanted["right"]:
        right = eigenvectors(form, basis * scales, values, left=False)
    return values, left, right, where(fine, open_, info)


def _gees(call: Call) -> Sequence[Matrix]:
    """The Schur form, its basis, the eigenvalues, how many of them were sorted to the front (none)."""
    (a,) = call.operands
    batch, size, _ = a.sizes
    call.letter("sort", "N")
    wanted = call.letter("mode", "NV") == "V"
    call.op.rewriter.notes.append(_ORDER)
    clean, fine, info = _finite(a, size)
    form, basis, open_ = schur(clean, wanted)
    info = where(fine, open_, info)
    return form, a if basis is None else basis, eigenvalues(form), _fine(a, batch), info


def _refuse_part(call: Call, a: Matrix) -> None:
    """Refuse all but the whole range of rows and columns."""
    _, size, _ = a.sizes
    if (call.options.get("low", 1), call.options.get("high", size)) != (1, size):
        raise Unsupported(call.node, "a part of the rows and columns")


def _gehrd(call: Call) -> Sequence[Matrix]:
    (a,) = call.operands
    _refuse_part(call, a)
    batch, size, _ = a.sizes
    return *(hessenberg(a) if size != 1 else (a, a.zeros(*batch, 0))), _fine(a, batch)


def _sytrd(call: Call) -> Sequence[Matrix]:
    """The Hessenberg form of a Hermitian matrix; of an upper triangle from its end. The other triangle stays."""
    (a,) = call.operands
    upper = call.letter("uplo", "LU") == "U"
    batch, size, _ = a.sizes
    if upper:
        a = a.flip(-2, -1)
    form, tau = hessenberg(a.hermitian(lower=True)) if size != 1 else (a, a.zeros(*batch, 0))
    packed = where(a.rows() >= a.columns(), form, a)
    diagonals = [form.real.diagonal(), form.real.subdiagonal(), tau]
    if upper:
        packed, diagonals = packed.flip(-2, -1), [part.flip(-1) for part in diagonals]
    return packed, *diagonals, _fine(a, batch)


def _fine(a: Matrix, batch: Sequence[int]) -> Matrix:
    """info where nothing can go wrong."""
    return a.constant(np.int32(0)).zeros(*batch)


def _bad_input(a: Matrix, code: int) -> Matrix:
    """info: `code` where an element is NaN or infinite, 0 where all are finite."""
    finite = (a.abs1() * 0).sum(-2, -1).squeeze(-2, -1).equals(0)
    return where(finite, a.constant(0), code).cast(DType.INT32)


def _syevd(call: Call) -> Sequence[Matrix]:
    (a,) = call.operands
    wanted, lower = call.letter("mode", "NV") == "V", call.letter("uplo", "LU") == "L"
    values, vectors = eigen(a, lower)
    if wanted:
        call.op.rewriter.notes.append(_SIGNS)
    return vectors if wanted else a, values, _bad_input(a.triangle(lower), 1)


def _gesdd(call: Call) -> Sequence[Matrix]:
    (a,), outputs = call.operands, call.node.outputs
    mode = call.letter("mode", "ANS")
    values, u, v = singular(a, full=mode == "A", vectors=mode != "N")
    info = _bad_input(a, -4)
    if u is None or v is None:
        beside = [a.real.zeros(*shape_of(call.node, value)) for value in outputs[len(a.parts) + 1 : -1]]
        return a, values, *beside, info
    call.op.rewriter.notes.append(_SIGNS)
    return a, values, u, v, info


def _gtsv(call: Call) -> Sequence[Matrix]:
    lower, middle, upper, right = call.operands
    made = tridiagonal_solved(lower, middle, upper, right)
    return made.second, made.diagonal, made.beside, made.solution, made.info


ROUTINES: dict[str, Routine] = {
    "potrf": _potrf,
    "trsm": _trsm,
    "getrf": _getrf,
    "geqrf": _geqrf,
    "geqp3": _geqp3,
    "orgqr": _orgqr,
    "ungqr": _orgqr,
    "ormqr": _ormqr,
    "unmqr": _ormqr,
    "gehrd": _gehrd,
    "sytrd": _sytrd,
    "hetrd": _sytrd,
    "syevd": _syevd,
    "heevd": _syevd,
    "gesdd": _gesdd,
    "gtsv": _gtsv,
    "geev": _geev,
    "gees": _gees,
}
"""Name without its letter for the element type -> what it computes. Others are refused, by name."""


def routine(op: Builder, node: Node, target: str) -> Sequence[Value] | None:
    """The results of a call of LAPACK; None where the target is none, or one that isn't known."""
    matched = _TARGET.fullmatch(target)
    compute = ROUTINES.get(matched[2]) if matched is not None else None
    if matched is None or compute is None:
        return None
    values = [value for value in node.inputs if value is not None]
    operands: list[Matrix] = []
    while values:
        width = 2 if matched[1] in "cz" and (values[0].tensor.dtype or DType.BOOL).is_float else 1
        operands.append(Matrix.of(op, *values[:width]))
        del values[:width]
    for value in () if compute is _ormqr else operands[0].values():
        if not math.prod(shape_of(node, value)):
            return [_of_nothing(op, node, output) for output in node.outputs]
    results = [part for x in compute(Call(op, node, operands, _options(node))) for part in x.values()]
    if len(results) != len(node.outputs):
        raise InvalidModel(f"{node!r}: {target} has {len(results)} results, not {len(node.outputs)}")
    return results


def _options(node: Node) -> dict[str, int]:
    """What stands in backend_config: `{uplo = 76 : ui8, left = true}`."""
    raw = origin_of(node).attributes.get("backend_config")
    found = _OPTION.findall(raw.text) if raw is not None else ()
    return {name: int(number) if number else int(word == "true") for name, number, word in found}


def _of_nothing(op: Builder, node: Node, output: Value) -> Value:
    """What comes of an operand without elements: unit matrices where there is anything (from no reflections)."""
    shape, like = shape_of(node, output), Matrix.of(op, output)
    whole = (output.tensor.dtype or DType.INT32).is_float and math.prod(shape)
    return (like.eye(*shape) if whole else like.zeros(*shape)).values()[0]


# HLO's own -----------------------------------------------------------------------------------------


@rule(DOMAIN, "cholesky")
def cholesky_factor(op: Builder, node: Node) -> Results:
    """Of real or complex matrices (pairs then). As in XLA a pivot that is negative or NaN leaves the whole matrix NaN,
    a last one that is 0 only itself.
    """
    a = Matrix.of(op, *(value for value in node.inputs if value is not None))
    if 0 in shape_of(node, a.values()[0]):
        return [op.Identity(part) for part in a.values()]
    found, roots = cholesky(a, bool(node.attributes.get("lower", False)))
    nan = Matrix(*(part.like(math.nan) for part in a.parts))
    return where(roots.isnan().any(-1).column(), nan, found).values()


@rule(DOMAIN, "triangular-solve")
def triangular_solve(op: Builder, node: Node) -> Results:
    """Of real or complex matrices (pairs then), stacked along any number of batch dimensions."""
    values = [value for value in node.inputs if value is not None]
    half, get = len(values) // 2, node.attributes.get
    a, b = Matrix.of(op, *values[:half]), Matrix.of(op, *values[half:])
    if 0 in shape_of(node, b.values()[0]):
        return [op.Identity(part) for part in b.values()]
    left, lower, unit = (bool(get(name, False)) for name in ("left_side", "lower", "unit_diagonal"))
    return solved(a, b, left, lower, unit, get("transpose_a", "NO_TRANSPOSE")).values()


_UNARY = {
    name: op_type
    for op_type in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Erf", "Sinh", "Tan")
    for name in (f"chlo.{op_type.lower()}", f"mhlo.{op_type.lower()}")
}
"""Targets that are one operator of ONNX."""


@rule(DOMAIN, "custom-call")
def custom_call(op: Builder, node: Node) -> Results:
    """Annotations, LAPACK's routines, TopK, and functions that StableHLO has no operator for."""
    target = str(node.attributes.get("custom_call_target", ""))
    if is_annotation(target):
        types = [value.type for value in node.outputs], [value.type for value in node.inputs if value is not None]
        if types[0] != types[1]:
            raise Unsupported(node, f"{target} that makes another shape: the model runs on several devices")
        return [op.Identity(input_of(node, index)) for index in range(len(node.outputs))]
    if target in _UNARY:
        return op.call(_UNARY[target], input_of(node, 0))
    if calls_python(target):
        raise CallsHost(node, f"{called(node)} calls Python")
    if target == "TopK":
        return topk_call(op, node)
    found = routine(op, node, target)
    if found is None:
        raise Unsupported(node, f"custom call to {target!r}")
    return found


RULES = collect(globals())
