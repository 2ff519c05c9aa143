"""Hub -> HLO: products of matrices, and sums over indices that terms share."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, rank_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from .tools import broadcast, broadcast_to, compare, convert, fold, iota, like, reshape, sizes_of, transpose, wide, word


def dot(
    op: Builder,
    a: Value,
    b: Value,
    inner: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
    dtype: DType | None = None,
) -> Value:
    """`dot` over these dimensions of both; the result has the batch, then what is left of `a`, then of `b`."""
    left = {
        "lhs_batch_dims": tuple(batch[0]) or None,
        "lhs_contracting_dims": tuple(inner[0]),
        "rhs_batch_dims": tuple(batch[1]) or None,
        "rhs_contracting_dims": tuple(inner[1]),
    }
    kind = dtype or a.tensor.dtype
    shapes = a.tensor.static_shape or (), b.tensor.static_shape or ()
    rest = [
        [size for at, size in enumerate(shape) if at not in (*batch[side], *inner[side])]
        for side, shape in enumerate(shapes)
    ]
    shape = (*(shapes[0][at] for at in batch[0]), *rest[0], *rest[1])
    return op.call("dot", a, b, **left, _types=[TensorType(kind, shape)])


def matrix_product(op: Builder, node: Node, a: Value, b: Value, dtype: DType | None = None) -> Value:
    """`numpy.matmul`."""
    m, n = rank_of(node, a), rank_of(node, b)
    if not m or not n:
        raise InvalidModel(f"{node!r}: a scalar is no matrix")
    inner = ([m - 1], [max(n - 2, 0)])
    if (m <= 2 and n <= 2) or n <= 2:
        return dot(op, a, b, inner, dtype=dtype)
    if m <= 2:  # what is left of `a` comes first
        made = dot(op, a, b, inner, dtype=dtype)
        return transpose(op, made, [*range(1, n - 1), 0, n - 1]) if m == 2 else made
    wanted = _joint_batch(node, sizes_of(node, a)[:-2], sizes_of(node, b)[:-2])
    a, b = (broadcast_to(op, node, value, [*wanted, *sizes_of(node, value)[-2:]]) for value in (a, b))
    many = list(range(len(wanted)))
    return dot(op, a, b, ([len(many) + 1], [len(many)]), (many, many), dtype)


def _joint_batch(node: Node, a: Sequence[int], b: Sequence[int]) -> list[int]:
    rank = max(len(a), len(b))
    a, b = [1] * (rank - len(a)) + list(a), [1] * (rank - len(b)) + list(b)
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise InvalidModel(f"{node!r}: batches {a} and {b} don't broadcast")
    return [y if x == 1 else x for x, y in zip(a, b, strict=True)]


@rule("", "MatMul")
def matmul(op: Builder, node: Node) -> Value:
    """Short floats are summed up in float32."""
    a, b = required(node, 0), required(node, 1)
    dtype = dtype_of(node, a)
    return convert(op, matrix_product(op, node, a, b, wide(dtype)), dtype)


@rule("", "MatMulInteger")
def matmul_integer(op: Builder, node: Node) -> Value:
    """MatMulInteger-10: zero points of a matrix, of the rows of the first one, of the columns of the second one."""
    sides = []
    for index, rows in ((0, True), (1, False)):
        value, zero = convert(op, required(node, index), DType.INT32), node.input(index + 2)
        if zero is not None:
            zero = convert(op, zero, DType.INT32)
            if rows and rank_of(node, zero) == 1 and rank_of(node, value) > 1:
                zero = reshape(op, zero, (*sizes_of(node, zero), 1))
            value = op.subtract(value, broadcast_to(op, node, zero, sizes_of(node, value)))
        sides.append(value)
    return matrix_product(op, node, *sides)


@rule("", "Gemm")
def gemm(op: Builder, node: Node) -> Value:
    a, b, c = required(node, 0), required(node, 1), node.input(2)
    dtype = dtype_of(node, a)
    attributes = node.attributes
    inner = ([0 if attributes.get("transA") else 1], [1 if attributes.get("transB") else 0])
    made = dot(op, a, b, inner, dtype=wide(dtype))
    for name, value in (("alpha", made), ("beta", c)):
        factor = attributes.get(name, 1.0)
        if value is None or factor == 1.0:
            continue
        if not dtype.is_float and factor != int(factor):
            raise Unsupported(node, f"{name}={factor} of integers")
        value = convert(op, value, wide(dtype))
        scaled = op.multiply(value, like(op, node, factor, value))
        made, c = (scaled, c) if name == "alpha" else (made, scaled)
    if c is not None:
        made = op.add(made, broadcast_to(op, node, convert(op, c, wide(dtype)), sizes_of(node, made)))
    return convert(op, made, dtype)


# Einsum -------------------------------------------------------------------------------------------


def _terms(node: Node, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each input and of the result; those of `...` are capital ones from the end of the alphabet."""
    equation = word(node, "equation", "").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise InvalidModel(f"{node!r}: {len(terms)} terms for {len(ranks)} inputs")
    spare = [chr(code) for code in range(0x391, 0x391 + 64)]
    dots = max((rank - len(term) + 3 for rank, term in zip(ranks, terms, strict=True) if "..." in term), default=0)
    found = []
    for rank, term in zip(ranks, terms, strict=True):
        own = rank - len(term) + 3
        letters = term.replace("...", "".join(spare[dots - own : dots])) if "..." in term else term
        if len(letters) != rank:
            raise InvalidModel(f"{node!r}: term {term!r} for rank {rank}")
        found.append(letters)
    if arrow:
        return found, right.replace("...", "".join(spare[:dots]))
    everything = "".join(found)
    once = sorted(letter for letter in set(left) - set(".,") if everything.count(letter) == 1)
    return found, "".join(spare[:dots]) + "".join(once)


def _diagonal(op: Builder, node: Node, x: Value, letters: str) -> tuple[Value, str]:
    """Letters that stand twice in a term once: the elements off the diagonal are 0 and summed up."""
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first, second = letters.index(letter), letters.rindex(letter)
            have = sizes_of(node, x)
            on = compare(op, iota(op, have, first), iota(op, have, second), "EQ")
            x = fold(op, node, op.select(on, x, like(op, node, 0, x)), [second], "add")
            letters = letters[:second] + letters[second + 1 :]
    return x, letters


def _summed(op: Builder, node: Node, x: Value, letters: str, needed: str) -> tuple[Value, str]:
    """Letters that nobody needs any more are summed up."""
    gone = [at for at, letter in enumerate(letters) if letter not in needed]
    return fold(op, node, x, gone, "add"), "".join(letter for letter in letters if letter in needed)


@rule("", "Einsum")
def einsum(op: Builder, node: Node) -> Value:
    """From left to right, each a `dot`; the result's dimensions put in order at the end."""
    values = [value for value in node.inputs if value is not None]
    dtype = dtype_of(node, values[0])
    terms, wanted = _terms(node, [rank_of(node, value) for value in values])
    sizes: dict[str, int] = {}
    work: list[tuple[Value, str]] = []
    for at, (value, term) in enumerate(zip(values, terms, strict=True)):
        value, term = _diagonal(op, node, convert(op, value, wide(dtype)), term)
        others = wanted + "".join(terms[:at] + terms[at + 1 :])
        value, term = _summed(op, node, value, term, others)
        for letter, size in zip(term, sizes_of(node, value), strict=True):
            sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
        work.append((value, term))
    made, letters = work[0]
    for at, (value, term) in enumerate(work[1:], 2):
        needed = wanted + "".join(term for _, term in work[at:])
        made, letters = _product(op, node, (made, letters), (value, term), needed, sizes)
    made, letters = _summed(op, node, made, letters, wanted)
    made = transpose(op, made, [letters.index(letter) for letter in wanted if letter in letters])
    have = "".join(letter for letter in wanted if letter in letters)
    whole = [sizes[letter] for letter in wanted]
    if tuple(whole) != made.tensor.static_shape:
        one = [at for at, letter in enumerate(have) if sizes_of(node, made)[at] == sizes[letter]]
        made = broadcast(op, made, whole, [wanted.index(have[at]) for at in one])
    return convert(op, made, dtype)


def _product(
    op: Builder, node: Node, a: tuple[Value, str], b: tuple[Value, str], needed: str, sizes: dict[str, int]
) -> tuple[Value, str]:
    (x, left), (y, right) = a, b
    x, y = (_full(op, node, value, term, sizes) for value, term in (a, b))
    shared = [letter for letter in left if letter in right]
    batch = [letter for letter in shared if letter in needed]
    inner = [letter for letter in shared if letter not in needed]
    rest = [letter for letter in left + right if letter not in shared]
    places = [[[term.index(letter) for letter in group] for term in (left, right)] for group in (inner, batch)]
    (inner_x, inner_y), (batch_x, batch_y) = places
    return dot(op, x, y, (inner_x, inner_y), (batch_x, batch_y)), "".join([*batch, *rest])


def _full(op: Builder, node: Node, x: Value, letters: str, sizes: dict[str, int]) -> Value:
    """Dimensions of size 1 (of `...`) repeated."""
    return broadcast_to(op, node, x, [sizes[letter] for letter in letters])


RULES = collect(globals())
