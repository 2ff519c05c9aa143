"""Sets of inputs of which each has one extraordinary thing: they come in addition to the plain ones.

Every input is changed in a plain set: to the edge values of each operand that it ends in (`edges`), to extraordinary
data (`extremes`); sizes and trip counts are, and optional inputs are left out. What is tried first of each kind
tells most, and the kinds take turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from ...passes.types import DType, OptionalType, SequenceType, TensorType, Type
from ..oracles import Values
from . import extremes
from .backwards import undone
from .edges import LONG_TRIPS, MOST_TRIPS, NO_TRIPS, TRIPS, neutral, together
from .inputs import Draft, elements_of, symbols_of, tensor_types
from .proposals import Base, dims_of, filled, proposals, size_of
from .signature import Designed, Edge, InputSpec, Kind, Signature, numeric

_BASES = 4
_ROUNDS = 3  # each with every case, made of other plain sets
_MOST_ELEMENTS = 1_000_000  # of all inputs of a trial with an extraordinary size
_SMALL_ELEMENTS = 1 << 16  # of all inputs; where there are more, there are fewer trials
_FEW = 8
_LONG_ELEMENTS = 4096  # of a trial with thousands of passes
_SIZES = (0, 1, 11, 17, 101)
_SPECIALS = 0.5  # so many trials with special values for each other one


Case = Callable[[Base], "Designed | None"]
"""What is changed; None where that can't be done to this set."""


def edge_trials(signature: Signature, most: int, seed: int = 0, also: Sequence[int] = ()) -> list[Designed]:
    """At most `most` sets of inputs with ordinary numbers in extraordinary places, half as many with special numbers.

    There are fewer where the inputs are large.

    Args:
        also: plain sets of `inputs.design` that are changed, too: those that lead where few inputs lead.

    Raises:
        Unsupported: an input has a type for which no values can be made.
    """
    bases = bases_of(signature, seed, also)
    most = min(most, max(_FEW, most * _SMALL_ELEMENTS // max(_elements(bases[0].values.values()), 1)))
    ordinary = _trials(signature, bases, False, most, _ROUNDS)
    return ordinary + _trials(signature, bases, True, math.ceil(most * _SPECIALS), _ROUNDS)


def special_trials(signature: Signature, sets: Sequence[dict[str, Values]], most: int, seed: int = 0) -> list[Designed]:
    """At most `most` sets of inputs with special numbers, made of given ones with ordinary numbers: those that lead
    where none of the plain sets does that `edge_trials` changes."""
    draft = Draft(signature, 0, seed)
    bases = [Base(draft, arrays(values)) for values in sets]
    return _trials(signature, bases, True, most, 1) if bases else []


def _trials(signature: Signature, bases: Sequence[Base], special: bool, most: int, rounds: int) -> list[Designed]:
    """At most `most` trials of all cases, made of the bases in turn, in each round of other ones."""
    turns = (_turns(cases_of(signature, bases, special)) for _ in range(rounds))
    made = (_made(case, bases, number + k) for k, cases in enumerate(turns) for number, case in enumerate(cases))
    return list(islice(filter(None, made), most))


def bases_of(signature: Signature, seed: int, also: Sequence[int]) -> list[Base]:
    """The plain sets in which something is changed; one where inputs are large."""
    bases = [_base(signature, 0, seed)]
    if _elements(bases[0].values.values()) <= _SMALL_ELEMENTS:
        bases += [_base(signature, number, seed) for number in range(1, _BASES)]
        drafts = [Draft(signature, number, seed) for number in also]
        bases += [Base(draft, arrays(draft.values())) for draft in drafts]
    return bases


def _made(case: Case, bases: Sequence[Base], number: int) -> Designed | None:
    """A case made of one plain set, in turn, or of the first with which it can be done."""
    return case(bases[number % len(bases)]) or next(filter(None, map(case, bases)), None)


def _base(signature: Signature, number: int, seed: int) -> Base:
    """Sizes from 2 to 5, neighbouring ones different, where others aren't known to be needed; some branches the other
    way in each."""
    sizes = {symbol: 2 + (place + number + 1) % 4 for place, symbol in enumerate(symbols_of(signature))}
    if signature.sizings:
        sizes |= signature.sizings[number % len(signature.sizings)]
    draft = Draft(signature, 4 * number, seed, {**sizes, "": 2 + (number + 1) % 4})
    base = Base(draft, arrays(draft.values()))
    conditions = [spec.name for spec in signature.inputs if spec.role == "condition" and not spec.gate]
    for place, name in enumerate(conditions):  # all true, every second one false, the others, all
        old = base.values[name]
        if number >> place % 2 & 1 and isinstance(old, np.ndarray) and old.dtype.kind in "b":
            base.values[name] = np.zeros_like(old)
    for spec in signature.inputs:
        for edge in spec.edges:
            old = base.values[spec.name]
            dims = dims_of(edge, base)
            plain = neutral(
                edge.kind, np.size(old) if isinstance(old, np.ndarray) else 0, dims, size_of(edge, base, dims)
            )
            changed = filled(old, [undone(edge, value) for value in plain], np.shape(old)) if plain else None
            base.values[spec.name] = old if changed is None else changed
    return base


def arrays(values: dict[str, Values]) -> dict[str, Values]:
    """Single numbers as arrays, too."""
    return {name: np.asarray(value) if isinstance(value, np.generic) else value for name, value in values.items()}


def _turns(kinds: Iterable[tuple[int, Iterable[Case]]]) -> Iterator[Case]:
    """As many of each kind as its weight says, then as many again."""
    left = [(weight, iter(cases)) for weight, cases in kinds]
    while left:
        still: list[tuple[int, Iterator[Case]]] = []
        for weight, cases in left:
            row = list(islice(cases, weight))
            yield from row
            if len(row) == weight:
                still.append((weight, cases))
        left = still


def cases_of(signature: Signature, bases: Sequence[Base], special: bool) -> Iterator[tuple[int, Iterable[Case]]]:
    """All cases by kind, with the weight of each: those with special numbers, or the others."""
    for spec in signature.inputs if special else ():
        yield from ((1, cases) for cases in _data(signature, spec, special))
    if special:
        return
    if any(spec.optional for spec in signature.inputs):
        yield 1, _left_out(signature)
    groups: dict[int, list[tuple[InputSpec, Edge]]] = {}
    for spec in signature.inputs:
        if spec.role in ("shape", "index", "trip"):
            yield 2, _beside_constants(spec)
        for edge in spec.edges:
            groups.setdefault(edge.group, []).append((spec, edge))
            if edge.kind == "trip":
                yield 3, _trips(signature, spec, edge)
            elif edge.kind != "condition":
                yield 3, _operand(spec, edge, bases)
    yield from ((4, _grouped(members)) for key, members in groups.items() if key and len(members) > 1)
    yield 1, _sized(signature)
    for spec in signature.inputs:
        yield 1, _shaped(spec)
    for spec in signature.inputs:
        yield from ((1, cases) for cases in _data(signature, spec, special))


# one thing changed ------------------------------------------------------------------------------------------


def _changed(base: Base, name: str, value: Values, why: str, tags: frozenset[str] = frozenset()) -> Designed:
    return Designed({**base.values, name: value}, "special" if tags else "edge", f"{name!r}: {why}", tags)


def _left_out(signature: Signature) -> list[Case]:
    """All optional inputs, then each alone."""
    names = [spec.name for spec in signature.inputs if spec.optional]
    chosen = [names, *([name] for name in names)] if len(names) > 1 else [names]

    def case(base: Base, left: Sequence[str]) -> Designed:
        kept = {name: value for name, value in base.values.items() if name not in left}
        return Designed(kept, "edge", f"{', '.join(map(repr, left))} left out")

    return [lambda base, left=left: case(base, left) for left in chosen]


def _trips(signature: Signature, spec: InputSpec, edge: Edge) -> Iterator[Case]:
    own = [int(number) for number in numeric(spec.constants) if abs(number) <= MOST_TRIPS]
    near = [number + step for number in dict.fromkeys((*own, *signature.sizes)) for step in (0, 1, -1, 2)]
    first = (64, NO_TRIPS[0], *near[:16], LONG_TRIPS[0], *NO_TRIPS[1:])
    for trip in dict.fromkeys((*first, *TRIPS, LONG_TRIPS[1], *near[16:])):
        value = undone(edge, trip)
        if not spec.edges or value != int(value):
            continue

        def case(base: Base, trip: int = trip, value: float = value) -> Designed | None:
            old = base.values.get(spec.name)
            if trip > 100 and _elements(base.values.values()) > _LONG_ELEMENTS:
                return None
            new = filled(old, [value])
            return None if new is None else _changed(base, spec.name, new, f"{trip} passes")

        yield case


def _beside_constants(spec: InputSpec) -> Iterator[Case]:
    """What a size or a position is compared with, or held within, and its neighbours: beyond it the bound counts."""
    own = [int(one) for one in numeric(spec.constants) if one == int(one)]
    if spec.role == "trip":
        own = [one for one in own if abs(one) <= MOST_TRIPS]
    for number in dict.fromkeys(one + step for one in own[:_FEW] for step in (-1, 0, 1)):

        def case(base: Base, number: int = number) -> Designed | None:
            new = filled(base.values.get(spec.name), [number])
            return None if new is None else _changed(base, spec.name, new, f"{number}, beside a bound of its own")

        yield case


def _operand(spec: InputSpec, edge: Edge, bases: Sequence[Base]) -> Iterator[Case]:
    """The edge values of an operand: alone, and of its elements together."""
    most = max(len(proposals(spec, edge, base)) for base in bases)
    for place in range(most):

        def case(base: Base, place: int = place) -> Designed | None:
            found = proposals(spec, edge, base)
            if place >= len(found):
                return None
            chosen = found[place]
            return _changed(base, spec.name, chosen.array(), f"{edge.kind} {chosen.text} of {edge.where}")

        yield case


def _grouped(members: Sequence[tuple[InputSpec, Edge]]) -> Iterator[Case]:
    """Operands of one node that go together: start, end and step."""
    kinds: list[Kind] = [edge.kind for _, edge in members]
    for place in range(len(together(kinds, 3))):

        def case(base: Base, place: int = place) -> Designed | None:
            new = dict(base.values)
            said: list[str] = []
            for spec, edge in members:
                old = new.get(spec.name)
                dims = dims_of(edge, base) or [base.draft.shared]
                chosen = [together(kinds, size)[place].get(edge.kind) for size in dims]
                wanted = [undone(edge, value) for value in chosen if value is not None]
                if not wanted:
                    continue
                made = filled(old, wanted)
                if made is None:
                    return None
                new[spec.name] = made
                said.append(f"{edge.kind} {wanted[0]:g}")
            return Designed(new, "edge", f"{', '.join(said)} of {members[0][1].where}") if said else None

        yield case


def _sized(signature: Signature) -> Iterator[Case]:
    """Dimensions of size 0, 1, and beside and beyond what the models compare with."""
    axes = symbols_of(signature)
    if any(
        dim is None
        for spec in signature.inputs
        for kind in tensor_types(spec.type)
        for dim in ((None,) if kind.shape is None else kind.shape)
    ):
        axes.append("")
    small = [size for size in signature.sizes if size <= 64]
    own = [size + step for size in signature.sizes[:8] for step in (0, 1, -1) if size + step >= 0]
    for size in dict.fromkeys((*_SIZES[:3], *own[:6], max(small, default=0) + 2, *_SIZES[3:], *own[6:])):
        for axis in axes:

            def case(base: Base, size: int = size, axis: str = axis) -> Designed | None:
                sizes = {name: base.draft.symbols.get(name, base.draft.shared) for name in axes} | {axis: size}
                if elements_of(signature, sizes, 4) > _MOST_ELEMENTS:
                    return None
                draft = Draft(signature, base.draft.number, size, sizes)
                return Designed(arrays(draft.values()), "edge", f"dimension {axis or '?'} of {size}")

            yield case


def _shaped(spec: InputSpec) -> Iterator[Case]:
    """Sequences of other lengths, optionals without a value."""
    kind = spec.type
    if isinstance(kind, OptionalType):
        yield lambda base: _changed(base, spec.name, None, "nothing")
    if isinstance(kind, SequenceType):
        for length in (0, 1, 5):
            yield lambda base, length=length: _of_length(base, spec, length)


def _of_length(base: Base, spec: InputSpec, length: int) -> Designed | None:
    old = base.values.get(spec.name)
    if not isinstance(old, list) or not old:
        return None
    return _changed(base, spec.name, [old[k % len(old)] for k in range(length)], f"{length} elements")


def _data(signature: Signature, spec: InputSpec, special: bool) -> Iterator[Iterator[Case]]:
    """Extraordinary numbers in an input, and texts."""
    kind = _element(spec.type)
    if kind is None or kind.dtype is None:
        return
    dtype = kind.dtype
    divides = any(edge.kind == "divisor" for other in signature.inputs for edge in other.edges)
    groups: Iterable[list[extremes.Extreme]] = ()
    if dtype is DType.STRING:
        groups = extremes.texts(spec)
    elif dtype.is_integer and spec.role in ("data", "condition", "trip"):
        groups = extremes.integers(spec, dtype, divides)
    elif dtype.is_float and dtype.bits >= 16:
        groups = extremes.floats(spec, dtype)
    bounded = spec.role != "data" or spec.lower is not None or spec.upper is not None or bool(spec.edges)
    for group in groups:
        yield (_extreme(spec, one, bounded) for one in group if bool(one.tags) == special)


def _extreme(spec: InputSpec, extreme: extremes.Extreme, bounded: bool) -> Case:
    def case(base: Base) -> Designed | None:
        old = base.values.get(spec.name)
        inner = old[0] if isinstance(old, list) and old else old
        if not isinstance(inner, np.ndarray) or not inner.size or (bounded and extreme.tags):
            return None
        new = extreme.change(inner, base.draft.random)
        if bounded and new.dtype.kind != "O":
            new = base.draft.bounded(spec, new)
            if spec.role == "trip" and float(new.max()) > MOST_TRIPS:
                return None
        value = [new, *old[1:]] if isinstance(old, list) else new
        return _changed(base, spec.name, value, extreme.why, extreme.tags)

    return case


def _element(kind: Type | None) -> TensorType | None:
    return next(tensor_types(kind), None)


def _elements(values: Iterable[Values]) -> int:
    return sum(value.size for value in values if isinstance(value, np.ndarray))
