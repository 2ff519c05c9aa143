"""Matrix products between moves of dimensions: Einsum; with what is added to them: Gemm.

A dimension of a value before the moves is an atom; a dimension of what MatMul multiplies is a group of atoms that lie
one behind the other, as Reshape joins them.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...graph import Node, Value
from ...sizes import dims_of
from .context import FLOATS, VIEWS, Context, Table, certain, made_by, permutation, unviewed

_MOVES = (*VIEWS, "Transpose")
_SINCE = 12


@dataclass(eq=False)
class _Atom:
    """A dimension, whose letter is that of the atom which it has been found to be the same as."""

    size: int
    same_as: _Atom | None = None

    def root(self) -> _Atom:
        return self if self.same_as is None else self.same_as.root()


_Groups = list[list[_Atom]]


@dataclass
class _Product:
    """A product and the moves around it.

    Attributes:
        operands: what is multiplied, before it is moved, and its dimensions.
        groups: the dimensions of the result.
        moves: the nodes that move something, and the product itself: what a product of the operands takes the place of.
    """

    operands: list[tuple[Value, list[_Atom]]]
    groups: _Groups
    moves: list[Node] = field(default_factory=list[Node])


def einsum(context: Context, node: Node) -> Value | None:
    """MatMul of what is transposed and reshaped, transposed and reshaped again; an Einsum that is.

    One Transpose beside a MatMul stays, unless it is of a matrix, for which Gemm does it: more tools know MatMul.
    """
    found = _product(context, node) if context.opset >= _SINCE else None
    gone = _gone(context, node, found.moves) if found is not None else set[Node]()
    if found is None or any(len(group) != 1 for group in found.groups) or len(gone) < 2:
        return None
    letters: dict[_Atom, str] = {}
    terms = [_spelled(atoms, letters) for _, atoms in found.operands]
    result = _spelled((atom for (atom,) in found.groups), letters)
    operands = [value for value, _ in found.operands]
    if len(letters) > len(string.ascii_letters) or len({*result}) < len(result):
        return None
    if any(map(_is_dequantized, operands)):
        return None
    gemm = _gemm(context, node, operands, [*terms, result])
    if gemm is not None:
        return gemm
    if len(gone) == 2 and not any(one.op_type == "Einsum" for one in gone):
        return None
    return context.op.Einsum(*operands, equation=f"{','.join(terms)}->{result}", _types=[node.output.type])


def _gemm(context: Context, node: Node, operands: Sequence[Value], terms: Sequence[str]) -> Value | None:
    """The product of two matrices of floats, one of them transposed, or both."""
    result = terms[-1]
    if [len(term) for term in terms] != [2, 2, 2]:
        return None
    for (a, left), (b, right) in (zip(operands, terms, strict=False), reversed([*zip(operands, terms, strict=False)])):
        summed = {*left} - {*result}
        is_product = len(summed) == 1 and summed == {*right} - {*result}
        if is_product and result[0] in left and result[1] in right:
            flips = {"transA": int(left[0] != result[0]) or None, "transB": int(right[1] != result[1]) or None}
            return context.op.Gemm(a, b, _types=[node.output.type], **flips)
    return None


def biased(context: Context, node: Node) -> Value | None:
    """A product of two matrices of floats plus a parameter that broadcasts to it: Gemm."""
    for index in (0, 1):
        product, bias = made_by(node.inputs[index], "MatMul", "Gemm"), node.inputs[1 - index]
        own, shape = certain(bias), certain(node.output)
        source = unviewed(bias)
        if product is None or bias is None or own is None or shape is None or product.input(2) is not None:
            continue
        if source is None or source.producer is not None:
            continue  # a sum of two products is nobody's Gemm
        operands = [value for value in product.inputs if value is not None]
        if {value.rank for value in operands} != {2} or certain(product.output) != shape or len(own) > 2:
            continue
        is_float = node.output.tensor.dtype in FLOATS and not any(map(_is_dequantized, operands))
        if is_float and context.used_once(product.output):
            return context.op.Gemm(*operands, bias, _types=[node.output.type], **product.attributes)
    return None


def flipped(context: Context, node: Node) -> Value | None:
    """Transpose(Gemm(a, b, c)) is Gemm(b, a, c), each of them transposed, where that needs nothing for c."""
    gemm = made_by(node.inputs[0], "Gemm")
    if gemm is None or permutation(node) != [1, 0] or not context.used_once(gemm.output):
        return None
    a, b, bias = gemm.inputs[0], gemm.inputs[1], gemm.input(2)
    if bias is not None:
        own, source = certain(bias), unviewed(bias)
        if own is not None and len(own) == 2 and own[1] == 1 and certain(source) == own[:1]:
            bias = source
        elif own is None or len(own) > 0:
            bias = context.viewed(bias, lambda array: array.reshape((1,) * (2 - array.ndim) + array.shape).T)
            if bias is None:
                return None
    flips = {
        key: int(not gemm.attributes.get(other, 0)) or None
        for key, other in (("transA", "transB"), ("transB", "transA"))
    }
    rest = {key: value for key, value in gemm.attributes.items() if key not in flips}
    return context.op.Gemm(b, a, bias, _types=[node.output.type], **rest, **flips)


def _is_dequantized(value: Value) -> bool:
    """Of these runtimes compute in integers where they see the operator that they know for it."""
    return made_by(value, "DequantizeLinear") is not None


def _spelled(atoms: Iterable[_Atom], letters: dict[_Atom, str]) -> str:
    """Their letters; what comes after the last one is for nobody to read."""
    roots = [atom.root() for atom in atoms]
    for root in roots:
        letters.setdefault(root, string.ascii_letters[len(letters) % len(string.ascii_letters)])
    return "".join(letters[root] for root in roots)


def _gone(context: Context, last: Node, nodes: Sequence[Node]) -> set[Node]:
    """Which nodes go with the last one: nobody else uses what they give."""
    gone = {last}
    for node in nodes:
        users = [user for user, _ in context.graph.uses(node.output)]
        if node is not last and node.output not in context.graph.outputs and all(user in gone for user in users):
            gone.add(node)
    return gone


def _product(context: Context, node: Node | None) -> _Product | None:
    """The product that a node, or what it moves, is; None of any other."""
    if node is None or node.domain or node.output.tensor.dtype not in FLOATS:
        return None  # of int64 ONNX Runtime's Einsum loses low bits
    if node.op_type == "MatMul":
        return _matmul(node)
    if node.op_type == "Einsum":
        return _written(node)
    data = node.inputs[0]
    if node.op_type not in _MOVES or data is None or not context.used_once(data):
        return None
    found = _product(context, data.producer)
    groups = _moved(node, found.groups) if found is not None else None
    return _Product(found.operands, groups, [node, *found.moves]) if found is not None and groups is not None else None


def _written(node: Node) -> _Product | None:
    """What an Einsum's equation says, where it spells every dimension."""
    left, arrow, right = str(node.attributes.get("equation", "")).replace(" ", "").partition("->")
    values = [value for value in node.inputs if value is not None]
    terms = left.split(",")
    if not arrow or "." in left + right or len(terms) != len(values):
        return None
    atoms: dict[str, _Atom] = {}
    for value, term in zip(values, terms, strict=True):
        sizes = dims_of(value.tensor.shape)
        if sizes is None or len(sizes) != len(term):
            return None
        atoms |= {letter: _Atom(size) for letter, size in zip(term, sizes, strict=True)}
    operands = [(value, [atoms[letter] for letter in term]) for value, term in zip(values, terms, strict=True)]
    return _Product(operands, [[atoms[letter]] for letter in right], [node])


def _matmul(node: Node) -> _Product | None:
    moves = [node]
    sides = [_before_moves(value, moves) for value in node.inputs]
    known = [side for side in sides if side is not None]
    if len(known) < 2:
        return None
    (lhs, left), (rhs, right) = [(side[0], side[2]) for side in known]
    summed, rows = left[-1], left[-2:-1]
    other, columns = (right[-2], right[-1:]) if len(right) > 1 else (right[-1], [])
    if not _unified(summed, other):
        return None
    batch: _Groups = []
    one, two = left[:-2], right[:-2]
    for back in range(max(len(one), len(two)), 0, -1):
        pair = [side[-back] for side in (one, two) if back <= len(side) and math.prod(a.size for a in side[-back]) != 1]
        if len(pair) == 2 and not _unified(*pair):
            return None
        if not pair:
            pair = [side[-back] for side in (one, two) if back <= len(side)]
        batch.append(pair[0])
    operands = [(lhs, known[0][1]), (rhs, known[1][1])]
    return _Product(operands, [*batch, *rows, *columns], moves)


def _unified(one: Sequence[_Atom], other: Sequence[_Atom]) -> bool:
    """Whether two groups are of the same sizes; their atoms are the same from then on."""
    if [atom.size for atom in one] != [atom.size for atom in other]:
        return False
    for atom, twin in zip(one, other, strict=True):
        if twin.root() is not atom.root():
            twin.root().same_as = atom.root()
    return True


def _before_moves(value: Value | None, moves: list[Node]) -> tuple[Value, list[_Atom], _Groups] | None:
    """A value before moves (which are added to a list), its dimensions, and how they stand after the moves."""
    if value is None:
        return None
    node = made_by(value, *_MOVES)
    if node is not None:
        nodes = [node]
        before = _before_moves(node.inputs[0], nodes)
        groups = _moved(node, before[2]) if before is not None else None
        if before is not None and groups is not None:
            moves += nodes
            return before[0], before[1], groups
    sizes = dims_of(value.tensor.shape)
    if sizes is None or not sizes:
        return None
    atoms = [_Atom(size) for size in sizes]
    return value, atoms, [[atom] for atom in atoms]


def _moved(node: Node, groups: _Groups) -> _Groups | None:
    """How dimensions stand after a move; None where it takes an atom apart."""
    if node.op_type == "Transpose":
        perm = permutation(node)
        return [groups[axis] for axis in perm] if perm is not None and len(perm) == len(groups) else None
    shape = dims_of(node.output.tensor.shape)
    if shape is None:
        return None
    atoms = [atom for group in groups for atom in group if atom.size != 1]
    made: _Groups = []
    for size in shape:
        group: list[_Atom] = []
        while atoms and size != 1 and math.prod(atom.size for atom in group) != size:
            group.append(atoms.pop(0))
        if math.prod(atom.size for atom in group) != size:
            return None
        made.append(group)
    return made if not atoms else None


RULES: Table = {
    **{name: [einsum] for name in ("MatMul", *_MOVES)},
    "Transpose": [flipped, einsum],
    "Add": [biased],
}
