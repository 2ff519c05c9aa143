"""Trials: whether a computation gives the value of a certificate's term in random worlds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..passes.core import is_core
from ..passes.graph import Node
from ..passes.tensor import TensorData
from ..passes.types import DType
from ..runtime.compare.backwards import COMPARISONS
from .evaluation import Shared, World, drawn, equal, is_known, numbers_of
from .reference import Undefined

TRIES, MANY = 64, 512
"""Worlds of each test; most, for comparisons and where the values are few."""
_PLAIN = 3
"""Worlds in which terms have the values that they are computed to, where the others set operands."""
_FEW, _ENOUGH = 8, 4096
"""Worlds that are enough when so many elements were compared in them."""
_ELEMENTS = 1024
"""That are compared where terms have the values that they are computed to, which may be alike: a product of 0."""
APART = (IndexError, ValueError, KeyError, TypeError, OverflowError, AttributeError)
"""What a certificate that isn't one of the files raises."""
_MOVING = ("Reshape", "Slice", "Gather", "Split", "Transpose", "Squeeze", "Unsqueeze", "Expand", "Concat", "Identity")
"""Operators whose results are elements of their operands, which are hardly alike."""
_COUNTS = ("$pass", "$passes", "$size", "$count", "$broadcast", "$integers")
"""Terms whose values have bounds."""


class Rejected(Exception):
    """What a certificate doesn't show."""


class Trials:
    """The worlds in which a certificate's terms have values.

    Raises (all methods):
        Rejected: in one of them the values differ.
    """

    def __init__(self, shared: Shared) -> None:
        self.shared, self.terms = shared, shared.terms
        self.many = [World(shared, seed, {}) for seed in range(MANY)]
        self.worlds = self.many[:TRIES]

    def agree(self, what: object, of: Callable[[World], Any], terms: Any) -> bool:
        """Compare something with the value of a term (of a list: of each); whether it could be computed."""
        return self._test(what, of, terms, self.worlds)

    def applied(self, node: Node, position: int, index: int, operands: Sequence[Any]) -> bool:
        """Compare an output of an operator with a term; whether that could be computed."""

        def result(world: World) -> Any:
            return self.shared.reference.node(node, [*map(world.value, operands)])[position]

        numbers = self._decisive(index, operands)
        if numbers is not None:
            is_defined = self._test(node, result, index, self.worlds, _PLAIN)
            self._test(node, result, index, self._around(numbers, operands))
            return is_defined
        if node.op_type in COMPARISONS:
            return self._test(node, result, index, self.many, MANY)
        return self._test(node, result, index, self.many, TRIES, 0 if node.op_type in _MOVING else _ELEMENTS)

    def _test(
        self,
        what: object,
        of: Callable[[World], Any],
        terms: Any,
        worlds: Iterable[World],
        enough: int = 0,
        elements: int = 0,
    ) -> bool:
        """Compare in these worlds, until so many of them and so many elements had values; 0: in all, or in a few with
        large values. An integer counts as 16 elements, as few are equal by chance."""
        count, compared = 0, 0
        with_zeros = not isinstance(what, Node) or is_core(what.op)  # onnx computes others with zeros of either sign
        for world in worlds:
            try:
                found = of(world)
            except (Undefined, *APART):
                continue
            try:
                expected = tuple(map(world.value, terms)) if isinstance(terms, list) else world.value(terms)
            except (Undefined, *APART):
                raise Rejected(f"{what}: it has a value where the term in the certificate has none") from None
            if not equal(found, expected, with_zeros):
                raise Rejected(f"{what}: it has another value than the term in the certificate")
            count += 1
            compared += sum(_weight(one) for one in (found if isinstance(found, tuple) else [found]))
            large = count >= _FEW and compared >= _ENOUGH and enough != MANY
            if large or (enough and count >= enough and compared >= elements):
                break
        return count > 0

    def _decisive(self, index: int, operands: Sequence[Any]) -> np.ndarray[Any, Any] | None:
        """The numbers that a term combines with the operands; None unless it rests on all of them and nothing else."""
        cut, stack = {one for one in operands if isinstance(one, int)}, [index]
        found = [one.numpy() for one in operands if isinstance(one, TensorData)]
        met: set[int] = set()
        while stack:
            at = stack.pop()
            term, is_new = self.terms[at], at not in met
            met.add(at)
            if is_known(term):
                found.append(self.worlds[0].value(at))
            if at in cut or not is_new:
                continue
            is_leaf = term["op"].startswith("$") and term["op"] not in ("$if", "$slice", "$select", "$output")
            if is_leaf and not is_known(term):
                return None
            stack += [one for one in term["operands"] if one is not None]
        return numbers_of(found) if cut and cut <= met else None

    def _around(self, numbers: np.ndarray[Any, Any], operands: Sequence[Any]) -> Iterator[World]:
        """Worlds in which operands have other values than they are computed to: those that decide something, in every
        third world exactly, in every third one the same for operands of one type and shape."""
        for world in self.worlds:
            random = np.random.default_rng(world.seed)
            fixed: dict[int, Any] = {}
            alike: dict[Any, Any] = {}
            for one in (one for one in operands if isinstance(one, int) and not is_known(self.terms[one])):
                with contextlib.suppress(Undefined, *APART):
                    if self.terms[one]["op"] not in _COUNTS:
                        like = np.asarray(world.value(one))
                        values = drawn(DType.of(like.dtype), like.shape, random, numbers, 0.6, world.seed % 3 == 0)
                        known = alike.setdefault((like.dtype, like.shape), values)
                        fixed[one] = known if world.seed % 3 == 1 else values
                    for turn in self._turns(one):
                        most = world.size(self.shared.turns[turn])
                        inside = numbers[(numbers >= 0) & (numbers < most)]
                        fixed[turn] = np.int64(random.choice([0, most - 1, *inside]))
            yield world.where(fixed)

    def _turns(self, index: int) -> list[int]:
        """The numbers of passes in a term."""
        sizes = [size for size in self.terms[index].get("elements", ()) if not isinstance(size, int)]
        atoms = {index, *(atom for size in sizes for _, some in size for atom in some)}
        return [atom for atom in atoms if self.terms[atom]["op"] == "$pass"]


def _weight(value: Any) -> int:
    return np.size(value) * (16 if np.asarray(value).dtype.kind in "iu" else 1)
