"""The equations of Einsum: terms of letters with an ellipsis each at most, and what there is of them in the end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .graph import Node
from .types import Dim, Interval, Shape

_TERM = r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*"
_EQUATION = re.compile(rf"{_TERM}(?:,{_TERM})*(?:->{_TERM})?")


def ellipsis_extent(term: str, rank: int) -> int | None:
    """How many axes of an operand of this rank its term's ellipsis stands for; None where the term isn't one of it."""
    extent = rank - len(term.replace("...", "", 1))
    return None if extent < 0 or (extent and "..." not in term) else extent


def axis_names(term: str, extent: int) -> tuple[str, ...]:
    """The names of a term's axes: letters, and "0", "1" .. from the back for the `extent` ones of an ellipsis."""
    front, dots, back = term.partition("...")
    return (*front, *(map(str, reversed(range(extent))) if dots else ()), *back)


def _result_axes(equation: str, terms: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The names of the result's axes: as the equation says, or an ellipsis's and then the letters that stand once."""
    wide = sorted({name for term in terms for name in term if not name.isalpha()}, key=int, reverse=True)
    left, arrow, right = equation.partition("->")
    if arrow:
        return axis_names(right, len(wide))
    return (*wide, *sorted(letter for letter in set(left) if letter.isalpha() and left.count(letter) == 1))


def einsum_axes(equation: str, ranks: Sequence[int]) -> tuple[list[tuple[str, ...]], tuple[str, ...]] | None:
    """The names of the axes of each operand, and of the result's; None where it is no such equation for these ranks."""
    equation = equation.replace(" ", "")
    texts = equation.partition("->")[0].split(",")
    extents = [ellipsis_extent(text, rank) for text, rank in zip(texts, ranks, strict=False)]
    terms = [axis_names(text, extent) for text, extent in zip(texts, extents, strict=False) if extent is not None]
    result = _result_axes(equation, terms)
    if len(terms) < max(len(texts), len(ranks)) or not {name for term in terms for name in term} >= set(result):
        return None
    return terms, result


def matmul_axes(a: int, b: int) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """The same of a MatMul of two operands of these ranks, as numpy.matmul counts them."""
    stack = tuple(map(str, reversed(range(max(a, b, 2) - 2))))
    left = (*stack, "i", "j")[-a:]
    right = (*stack, "j", "k")[-b:] if b > 1 else ("j",)
    return [left, right], (*stack, *(("i",) if a > 1 else ()), *(("k",) if b > 1 else ()))


def joint_shape(terms: Sequence[tuple[str, ...]], shapes: Sequence[Shape], result: Sequence[str]) -> Shape:
    """The sizes of the axes of these names, where axes of one element are repeated to the sizes that others of their
    name have."""
    dims: dict[str, list[Dim]] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for name, dim in zip(term, shape, strict=True):
            dims.setdefault(name, []).append(dim)
    return tuple(_joint(dims[name]) for name in result)


def einsum_shape(node: Node) -> Shape | None:
    """The sizes of an Einsum's result, where axes of one element are repeated to the sizes that others of their name
    have; ONNX's own inference takes the first of them. None where the ranks aren't known, or it is no such equation.
    """
    equation = node.attributes.get("equation")
    if not isinstance(equation, str) or equation_fault(node):
        return None
    known = [None if value is None else value.tensor.shape for value in node.inputs]
    shapes = [shape for shape in known if shape is not None]
    axes = einsum_axes(equation, list(map(len, shapes))) if len(shapes) == len(known) else None
    return None if axes is None else joint_shape(axes[0], shapes, axes[1])


def _joint(dims: Sequence[Dim]) -> Dim:
    """The size that axes of these sizes have together, one of 1 being repeated; None where that isn't known."""
    several = dict.fromkeys(dim for dim in dims if dim != 1)
    known = next((dim for dim in several if isinstance(dim, int)), None)
    if known is not None or not several:
        return 1 if known is None else known
    only, *others = several
    return None if others or isinstance(only, Interval) else only


def equation_fault(node: Node) -> str:
    """Why an operator's equation is none, to be read behind its name; "" where it is one, or none is needed.

    ONNX's own inference doesn't look at that, and never ends on "-" or ">>" of a scalar.
    """
    if node.op != ("", "Einsum"):
        return ""
    text = node.attributes.get("equation")
    text = text.decode(errors="replace") if isinstance(text, bytes) else text
    if not isinstance(text, str) or _EQUATION.fullmatch(text.replace(" ", "")):
        return ""
    return f": {text!r:.60} is no equation"
