"""check: the inputs of two files, which a certificate may take for one where B takes all that A does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..passes.graph import Graph, Value
from ..runtime.compare.matching import match_names
from .evaluation import Json, Shared, equal, is_known, is_own
from .trials import Rejected


def check_inputs(terms: list[Json], a: Graph, b: Graph, found: Json) -> None:
    """Refuse inputs that don't belong together, or of which B takes less than A."""
    pairs = match_names([value.name for value in a.inputs], [value.name for value in b.inputs]).pairs
    others = {value.name: (value, term) for value, term in zip(b.inputs, found["b"]["inputs"], strict=True)}
    met: set[int] = set()
    named = {
        (index, axis): size
        for value, index in zip(a.inputs, found["a"]["inputs"], strict=True)
        for axis, size in enumerate(value.tensor.shape or ())
    }
    symbols: dict[str, Any] = {}  # of B's inputs -> the size there
    for value, index in zip(a.inputs, found["a"]["inputs"], strict=True):
        term = terms[index]
        if value.name not in pairs and value.data is not None:  # built in in B, with its default
            _check_default(terms, value, index)
            continue
        twin, other = others[pairs[value.name]]
        shapes = [_sizes(one.tensor.shape) for one in (value, twin)]
        kinds = {None if one.tensor.dtype is None else one.tensor.dtype.value for one in (value, twin)}
        wide = shapes[1] is None or (
            shapes[0] is not None
            and len(shapes[0]) == len(shapes[1])
            and all(new in (None, old) for old, new in zip(*shapes, strict=True))
        )
        is_input = index == other and index not in met and term["op"] == "$input" and kinds == {term["dtype"]}
        if not is_input or not wide or _sizes(term["shape"]) != shapes[0]:
            raise Rejected(f"input {value.name!r} isn't one and the same in both")
        for axis, size in enumerate(term["shape"] or ()):
            if not isinstance(size, int) and not _is_open(terms, size, (index, axis), named):
                raise Rejected(f"input {value.name!r} has a size that isn't its own")
            symbol = twin.tensor.shape and twin.tensor.shape[axis]
            if isinstance(symbol, str) and symbols.setdefault(symbol, size) != size:
                raise Rejected(f"input {value.name!r} has a size in B that must be that of another one")
        met.add(index)
    for name in others.keys() - pairs.values():  # that only B has
        _check_default(terms, *others[name])


def _check_default(terms: list[Json], value: Value, index: int) -> None:
    default = None if value.data is None else value.data.numpy()
    if default is None or not is_known(terms[index]) or not equal(Shared(terms).constant(index), default):
        raise Rejected(f"input {value.name!r} hasn't its default")


def _is_open(terms: list[Json], size: Any, place: tuple[int, int], named: dict[tuple[int, int], Any]) -> bool:
    """Whether a size is that of its own place, or of another one for which A has the same symbol."""
    if is_own(terms, *place, size):
        return True
    other = next((one for one in named if is_own(terms, *one, size)), None)
    return other is not None and isinstance(named[other], str) and named[other] == named[place]


def _sizes(shape: Sequence[Any] | None) -> list[int | None] | None:
    return None if shape is None else [size if isinstance(size, int) else None for size in shape]
