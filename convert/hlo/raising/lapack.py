"""LAPACK's routines as jax calls them on the CPU (`lapack_sgetrf_ffi` ...), by what they compute.

Results that no routine promises are left at what is at hand: the overwritten operand of a routine that destroys it, the
vectors that weren't asked for, a factor after a failure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from ..dialect import META, Origin
from .algebra import Algebra, Number, sizes
from .balance import balanced
from .cholesky import factored
from .eigenvectors import eigenvalues, eigenvectors
from .householder import applied, hessenberg, multiplied, reduced, reduced_with_pivots
from .jacobi import eigen, hermitian, singular
from .lu import eliminated, first_of
from .schur import schur
from .support import cast, shape_of
from .triangular import solved
from .tridiagonal import tridiagonal_solved

_TARGET = re.compile(r"lapack_([sdcz])(\w+)_ffi")
_OPTION = re.compile(r"(\w+)\s*=\s*(?:(-?\d+)\s*:|(true|false)\b)")
_SIGNS = "eigenvectors and singular vectors may differ from LAPACK's in their signs (phases)"
_ORDER = "eigenvalues may come in another order than LAPACK's, eigenvectors and Schur vectors with other factors"
_RANK = "what QR gives for a matrix without full rank isn't unique and may differ from LAPACK's"


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its operands as numbers, and its options (characters as their codes)."""

    op: Builder
    node: Node
    operands: list[Number]
    options: dict[str, int]

    def letter(self, name: str, allowed: str) -> str:
        """An option that is a character."""
        found = chr(self.options.get(name, 0))
        if found not in allowed:
            raise Unsupported(self.node, f"the option {name} of its backend_config isn't one of {', '.join(allowed)}")
        return found


Routine = Callable[[Call], Sequence[Value]]


def _potrf(call: Call) -> Sequence[Value]:
    """Cholesky; the other triangle stays as it is. info: the number of the first pivot that isn't positive."""
    op, (a,) = call.op, call.operands
    m, lower = Algebra(op), call.letter("uplo", "LU") == "L"
    found, roots = factored(op, a, lower)
    _, size, _ = sizes(a)
    rows, columns = np.indices((size, size))
    inside = op.const(rows >= columns if lower else rows <= columns)
    bad = op.Not(op.Greater(roots, m.scalar(0.0, a)))
    return *m.where(inside, found, a), first_of(op, bad)


def _trsm(call: Call) -> Sequence[Value]:
    a, b = call.operands
    transpose = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}[call.letter("trans_x", "NTC")]
    left, lower, unit = (call.letter(name, both) == both[0] for name, both in _FLAGS)
    return solved(call.op, a, b, left, lower, unit, transpose)


_FLAGS = (("side", "LR"), ("uplo", "LU"), ("diag", "UN"))


def _getrf(call: Call) -> Sequence[Value]:
    found, pivots, info = eliminated(call.op, call.operands[0])
    return *found, pivots, info


def _geqrf(call: Call) -> Sequence[Value]:
    call.op.rewriter.notes.append(_RANK)
    found, tau = reduced(call.op, call.operands[0])
    return *found, *tau


def _geqp3(call: Call) -> Sequence[Value]:
    """The columns' order as it comes in must be all 0: every column is free."""
    order = call.operands[1][0]
    maker = order.producer
    known = maker.inputs[0] if maker is not None and maker.op == ("", "Expand") else order
    array = known.array() if known is not None else None
    if array is None or array.any():
        raise Unsupported(call.node, "columns that are to come first")
    call.op.rewriter.notes.append(_RANK)
    found, order, tau = reduced_with_pivots(call.op, call.operands[0])
    return *found, order, *tau


def _orgqr(call: Call) -> Sequence[Value]:
    a, tau = call.operands
    return multiplied(call.op, a, tau)


def _ormqr(call: Call) -> Sequence[Value]:
    """Q, or its adjoint, times a matrix, or behind it."""
    a, tau, c = call.operands
    return applied(call.op, a, tau, c, bool(call.options["left"]), bool(call.options["transpose"]))


def _finite(call: Call, code: int) -> tuple[Number, Value, Value]:
    """(the operand, 0 where an element of a matrix is NaN or infinite; which ones are finite; info: `code` or 0)."""
    op, (a,) = call.op, call.operands
    m, info = Algebra(op), _bad_input(op, a, code)
    fine = op.Equal(info, op.const(0, DType.INT32))
    zero = m.scalar(0.0, a)
    return m.where(op.Unsqueeze(fine, op.const([-2, -1])), a, tuple(zero for _ in a)), fine, info


def _geev(call: Call) -> Sequence[Value]:
    """Eigenvalues of any matrices, two real values, and their vectors, which are complex."""
    op, (a,) = call.op, call.operands
    op.rewriter.notes.append(_ORDER)
    m, none = Algebra(op), _empty(op, shape_of(call.node, a[0]), a[0])
    wanted = {side: call.letter(f"compute_{side}", "NV") == "V" for side in ("left", "right")}
    a, fine, info = _finite(call, -4)
    a, scales = balanced(op, a)
    form, basis, open_ = schur(op, a, any(wanted.values()))
    values = eigenvalues(op, form)
    left = right = (none, none)
    if wanted["left"]:
        left = eigenvectors(op, form, m.over(basis, scales), values, left=True)
    if wanted["right"]:
        right = eigenvectors(op, form, m.scaled(basis, scales), values, left=False)
    return *values, *left, *right, op.Where(fine, open_, info)


def _gees(call: Call) -> Sequence[Value]:
    """The Schur form, its basis, the eigenvalues, how many of them were sorted to the front (none)."""
    op, (a,) = call.op, call.operands
    batch, size, _ = sizes(a)
    call.letter("sort", "N")
    wanted = call.letter("mode", "NV") == "V"
    op.rewriter.notes.append(_ORDER)
    clean, fine, info = _finite(call, size)
    form, basis, open_ = schur(op, clean, wanted)
    info = op.Where(fine, open_, info)
    return *form, *(basis if wanted else a), *eigenvalues(op, form), _fine(op, batch), info


def _whole(call: Call, a: Number) -> None:
    """Refuse all but the whole range of rows and columns."""
    _, size, _ = sizes(a)
    if (call.options.get("low", 1), call.options.get("high", size)) != (1, size):
        raise Unsupported(call.node, "a part of the rows and columns")


def _empty(op: Builder, shape: Sequence[int], like: Value) -> Value:
    return op.const(np.zeros(tuple(shape), (like.tensor.dtype or DType.FLOAT32).numpy))


def _gehrd(call: Call) -> Sequence[Value]:
    op, (a,) = call.op, call.operands
    _whole(call, a)
    batch, size, _ = sizes(a)
    found, tau = hessenberg(op, a) if size > 1 else (a, tuple(_empty(op, (*batch, 0), part) for part in a))
    return *found, *tau, _fine(op, batch)


def _sytrd(call: Call) -> Sequence[Value]:
    """The Hessenberg form of a Hermitian matrix; of an upper triangle from its end. The other triangle stays."""
    op, (a,) = call.op, call.operands
    m = Algebra(op)
    upper = call.letter("uplo", "LU") == "U"
    batch, size, _ = sizes(a)
    if upper:
        a = m.flipped(a, (-2, -1))
    found, tau = a, tuple(_empty(op, (*batch, 0), part) for part in a)
    if size > 1:
        found, tau = hessenberg(op, hermitian(op, a, lower=True))
    rows, columns = np.indices((size, size))
    packed = m.where(op.const(rows >= columns), found, a)
    beside = m.each("Slice", found, op.const([1]), op.const([size]), op.const([-2]))
    made = m.diagonal(found), m.diagonal(beside), tau
    if upper:
        packed, made = m.flipped(packed, (-2, -1)), [m.flipped(part) for part in made]
    return *packed, made[0][0], made[1][0], *made[2], _fine(op, batch)


def _fine(op: Builder, batch: Sequence[int]) -> Value:
    """info where nothing can go wrong."""
    return op.const(np.zeros(tuple(batch), np.int32))


def _bad_input(op: Builder, a: Number, code: int) -> Value:
    """info: `code` where an element is NaN or infinite, 0 where all are finite."""
    m = Algebra(op)
    zero = m.scalar(0.0, a)
    finite = op.Equal(op.ReduceSum(op.Mul(m.weight(a), zero), op.const([-2, -1]), keepdims=0), zero)
    return cast(op, op.Where(finite, op.const(0), op.const(code)), DType.INT32)


def _syevd(call: Call) -> Sequence[Value]:
    op, (a,) = call.op, call.operands
    wanted = call.letter("mode", "NV") == "V"
    values, vectors = eigen(op, a, call.letter("uplo", "LU") == "L")
    if wanted:
        op.rewriter.notes.append(_SIGNS)
    return *(vectors if wanted else a), values, _bad_input(op, a, 1)


def _gesdd(call: Call) -> Sequence[Value]:
    op, (a,), outputs = call.op, call.operands, call.node.outputs
    mode = call.letter("mode", "ANS")
    values, u, v = singular(op, a, full=mode == "A", vectors=mode != "N")
    info = _bad_input(op, a, -4)
    if mode == "N":
        beside = [_empty(op, shape_of(call.node, value), a[0]) for value in outputs[len(a) + 1 : -1]]
        return *a, values, *beside, info
    op.rewriter.notes.append(_SIGNS)
    return *a, values, *u, *v, info


def _gtsv(call: Call) -> Sequence[Value]:
    lower, middle, upper, right = call.operands
    return tridiagonal_solved(call.op, lower, middle, upper, right)


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
    found = ROUTINES.get(matched[2]) if matched is not None else None
    if matched is None or found is None:
        return None
    values = [value for value in node.inputs if value is not None]
    operands: list[Number] = []
    while values:
        width = 2 if matched[1] in "cz" and (values[0].tensor.dtype or DType.BOOL).is_float else 1
        operands.append(tuple(values[:width]))
        del values[:width]
    for value in () if found is _ormqr else operands[0]:
        if not math.prod(shape_of(node, value)):
            return [_of_nothing(op, node, output) for output in node.outputs]
    made = found(Call(op, node, operands, _options(node)))
    if len(made) != len(node.outputs):
        raise InvalidModel(f"{node!r}: {target} has {len(made)} results, not {len(node.outputs)}")
    return made


def _options(node: Node) -> dict[str, int]:
    """What stands in backend_config: `{uplo = 76 : ui8, left = true}`."""
    origin = (node.meta or {}).get(META)
    raw = origin.attributes.get("backend_config") if isinstance(origin, Origin) else None
    found = _OPTION.findall(raw.text) if raw is not None else ()
    return {name: int(number) if number else int(word == "true") for name, number, word in found}


def _of_nothing(op: Builder, node: Node, output: Value) -> Value:
    """What comes of an operand without elements: unit matrices where there is anything (from no reflections)."""
    shape = shape_of(node, output)
    if (output.tensor.dtype or DType.INT32).is_float and math.prod(shape):
        return Algebra(op).unit(shape, (output,))[0]
    return _empty(op, shape, output)
