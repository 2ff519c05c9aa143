"""MatMul and Gemm of vectors and matrices."""

from __future__ import annotations

from ..kernels.base import Attributes
from .elementwise import Emit, given
from .emitter import Emitter
from .reduction import calculated, number
from .scalar import apply
from .shapes import regrouped, transposed
from .tensors import FLOATS, SMALL, Atom, Decline, Dim, Small, Tensor, fixed, fixed_size, row_major

_UNROLLED = 64
"""Up to this many multiplications of fixed number are written out one by one."""


def product(em: Emitter, a: Tensor, b: Tensor) -> Tensor:
    """The product of two matrices."""
    m, k, n = a.dims[0], em.same(a.dims[1], b.dims[0]), b.dims[1]
    outer = fixed_size((m, n))
    if isinstance(k, int) and outer is not None and outer <= SMALL and outer * k <= _UNROLLED and k:
        return Small(a.kind, fixed((m, n)), tuple(_element(em, a, b, at, k) for at in row_major(fixed((m, n)))))
    left, right = em.stored(a), em.stored(b)
    result = em.buffer(a.kind, (m, n))
    helper = "multiply_row" if m == 1 else "multiply_column" if n == 1 else "multiply"
    em.block.line(f"{helper}({left.name}, {right.name}, {result.name})")
    return em.settle(result)


def _element(em: Emitter, a: Tensor, b: Tensor, at: tuple[str, ...], k: int) -> Atom:
    terms = [
        apply(em, "Mul", None, [em.read(a, (at[0], str(place))), em.read(b, (str(place), at[1]))]) for place in range(k)
    ]
    total = terms[0]
    for term in terms[1:]:
        total = apply(em, "Add", None, [total, term])
    return total


def matmul(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """MatMul of vectors and matrices."""
    a, b = given(inputs)
    if a.kind != b.kind or a.kind == "bool" or not (1 <= len(a.dims) <= 2 and 1 <= len(b.dims) <= 2):
        raise Decline("MatMul of more than two axes")
    left = regrouped(em, a, (1, *a.dims)) if len(a.dims) == 1 else a
    right = regrouped(em, b, (*b.dims, 1)) if len(b.dims) == 1 else b
    found = product(em, left, right)
    kept: list[Dim] = [*found.dims]
    if len(b.dims) == 1:
        del kept[1]
    if len(a.dims) == 1:
        del kept[0]
    return regrouped(em, found, tuple(kept))


def gemm(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Gemm."""
    a, b = given(inputs[:2])
    c = inputs[2] if len(inputs) > 2 else None
    if a.kind != b.kind or len(a.dims) != 2 or len(b.dims) != 2:
        raise Decline("Gemm of no matrices")
    a = transposed(em, a, (1, 0)) if attrs.flag("transA") else a
    b = transposed(em, b, (1, 0)) if attrs.flag("transB") else b
    found = _scaled(em, product(em, a, b), attrs.float("alpha"))
    return found if c is None else calculated(em, "Add", found, _scaled(em, c, attrs.float("beta")))


def _scaled(em: Emitter, tensor: Tensor, factor: float) -> Tensor:
    if factor != 1 and tensor.kind not in FLOATS:
        raise Decline("a factor on integers")
    return tensor if factor == 1 else calculated(em, "Mul", tensor, number(tensor.kind, factor))


OPERATORS: dict[str, Emit] = {"MatMul": matmul, "Gemm": gemm}
