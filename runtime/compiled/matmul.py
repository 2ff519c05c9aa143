"""MatMul and Gemm."""

from __future__ import annotations

from ..kernels.base import Attributes
from .elementwise import Emit, given, narrowed
from .emitter import Emitter, element_of
from .reduction import calculated, number
from .scalar import apply
from .shapes import regrouped, transposed
from .tensors import (
    FLOATS,
    SMALL,
    Atom,
    Decline,
    Dim,
    Index,
    Lazy,
    Small,
    Stored,
    Tensor,
    fixed,
    fixed_size,
    literal,
    row_major,
)

_ROWS, _COLUMNS = 12, 32
"""From so many on copying both matrices pays."""

_FEW_ROWS = 4
"""The same for rows where the right matrix is copied once for all passes."""

_UNROLLED = 64
"""Up to this many multiplications of fixed number are written out one by one."""


def product(em: Emitter, a: Tensor, b: Tensor) -> Tensor:
    """The product of two matrices."""
    m, k, n = a.dims[0], em.same(a.dims[1], b.dims[0]), b.dims[1]
    outer = fixed_size((m, n))
    if isinstance(k, int) and outer is not None and outer <= SMALL and outer * k <= _UNROLLED and k:
        return Small(a.kind, fixed((m, n)), tuple(_element(em, a, b, at, k) for at in row_major(fixed((m, n)))))
    left, right, helper = _factors(em, a, b)
    result = em.buffer(a.kind, (m, n))
    if isinstance(right, Stored) and right.kind in FLOATS and _is_packed(em, m, right):
        em.block.line(f"multiply_packed({left.name}, {right.name}, {_packed(em, right)}, {result.name})")
    else:
        em.block.line(f"{helper}({left.name}, {_matrix(right, ())}, {result.name})")
    return em.scalarized(result)


def _factors(em: Emitter, a: Tensor, b: Tensor) -> tuple[Stored, Stored | Lazy, str]:
    """Two matrices (or stacks of them) as arrays (the right one: or what has `rows`), and what multiplies them; a
    transposed matrix as it lies in memory where one row on the left spares it from being copied."""
    left, m = em.stored(a), a.dims[-2]
    if m == 1 and b.kind in FLOATS and isinstance(b, Lazy) and b.flipped is not None and em.known(b) is None:
        return left, _in_memory(em, b.flipped), "multiply_row_flipped"
    return left, _in_memory(em, b), _helper(a.kind, m, b.dims[-1])


def _in_memory(em: Emitter, tensor: Tensor) -> Stored | Lazy:
    if isinstance(tensor, Lazy) and tensor.rows is not None and em.known(tensor) is None:
        return tensor
    return em.stored(tensor)


def _matrix(tensor: Stored | Lazy, at: Index) -> str:
    """The matrix of the last two axes, at an index of the others."""
    if isinstance(tensor, Lazy):
        assert tensor.rows is not None
        return tensor.rows(at)
    return element_of(tensor.name)(at) if at else tensor.name


def _is_packed(em: Emitter, m: Dim, b: Stored) -> bool:
    """Whether a product of m rows is to go by a copy of `b` that is made once, before the loops in which it stays."""
    many = m >= _FEW_ROWS if isinstance(m, int) else True
    return many and _is_wide(b.dims[1]) and (b.level < em.depth or not em.depth)


def _packed(em: Emitter, b: Stored) -> str:
    """The copy."""
    name = em.known(("packed", b.name))
    if name is None:
        name = em.name("p")
        em.at(b.level).line(f"{name} = packed_columns({b.name})")
        em.keep(("packed", b.name), name)
    return name


def _is_wide(n: Dim) -> bool:
    return isinstance(n, int) and n >= _COLUMNS


def _helper(kind: str, m: Dim, n: Dim) -> str:
    """What multiplies matrices of elements of a kind that give m rows and n columns."""
    if m == 1:
        return "multiply_row"
    if n == 1:
        return "multiply_column"
    tiles = kind in FLOATS and isinstance(m, int) and m >= _ROWS and _is_wide(n)
    return "multiply_tiles" if tiles else "multiply"


def of_elements(em: Emitter, sequence: Tensor, b: Tensor) -> Tensor:
    """The products of all elements of a sequence (axis 0) by one matrix, each as `matmul` gives it: one product."""
    *outer, steps = sequence.dims
    found = product(em, regrouped(em, sequence, (em.product(outer), steps)), b)
    return regrouped(em, found, (*outer, b.dims[1]))


def _element(em: Emitter, a: Tensor, b: Tensor, at: tuple[str, ...], k: int) -> Atom:
    terms = [apply(em, "Mul", [em.read(a, (at[0], str(place))), em.read(b, (str(place), at[1]))]) for place in range(k)]
    total = literal(a.kind, 0)
    for term in terms:
        total = apply(em, "Add", [total, term])
    return total


def batched(em: Emitter, a: Tensor, b: Tensor) -> Tensor:
    """The product of matrices in the last two axes; the axes before them are broadcast."""
    em.same(a.dims[-1], b.dims[-2])
    batch = em.broadcast([a.dims[:-2], b.dims[:-2]])
    left, right, helper = _factors(em, a, b)
    result = em.buffer(a.kind, (*batch, a.dims[-2], b.dims[-1]))
    with em.nest(batch) as at:
        parts = [_matrix(array, narrowed(array.dims[:-2], batch, at)) for array in (left, right, result)]
        em.block.line(f"{helper}({', '.join(parts)})")
    return em.scalarized(result)


def matmul(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """MatMul; a vector is a row on the left, a column on the right."""
    a, b = given(inputs)
    if a.kind != b.kind or a.kind == "bool" or not a.dims or not b.dims:
        raise Decline("MatMul of scalars or of different kinds")
    left = regrouped(em, a, (1, *a.dims)) if len(a.dims) == 1 else a
    right = regrouped(em, b, (*b.dims, 1)) if len(b.dims) == 1 else b
    found = (product if len(left.dims) == len(right.dims) == 2 else batched)(em, left, right)
    kept: list[Dim] = [*found.dims]
    if len(b.dims) == 1:
        del kept[-1]
    if len(a.dims) == 1:
        del kept[-1 if len(b.dims) == 1 else -2]
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
    beta = attrs.float("beta")
    return found if c is None or not beta else calculated(em, "Add", found, _scaled(em, c, beta))


def _scaled(em: Emitter, tensor: Tensor, factor: float) -> Tensor:
    if factor != 1 and tensor.kind not in FLOATS:
        raise Decline("a factor on integers")
    return tensor if factor == 1 else calculated(em, "Mul", tensor, number(tensor.kind, factor))


OPERATORS: dict[str, Emit] = {"MatMul": matmul, "Gemm": gemm}
