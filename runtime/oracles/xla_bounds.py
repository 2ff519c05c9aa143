"""Arrays of bounded size (`f32[<=n]`) at the border of an HLO module.

XLA:CPU takes none as parameters, and where one stands twice among the results it gives back whatever sizes the memory
held. Inside a module they are sound. So a new entry is put around the old one: arrays of full size go in and come out,
with the sizes that count beside them as s32 numbers.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

_CALLED = "backedge_old_entry"  # not "main", by which name XLA calls the new one
_ENTRY = re.compile(r"^ENTRY %?[^\s(]+", re.MULTILINE)
_BOUND = re.compile(r"<=(\d+)")


def static_entry(text: str, parameters: list[Any], result: Any) -> str:
    """A module with static shapes only at its border, around one that has others there.

    Args:
        text: the module, as XLA prints it.
        parameters: the jaxlib Shapes of its parameters.
        result: that of its root.

    Returns:
        A module's text. Its parameters are the old ones' leaves, each followed by a size for each of its bounded
        dimensions; its root is a tuple of the old root's leaves, each followed in the same way.
    """
    border = _Border()
    given = [border.given(shape) for shape in parameters]
    called = border.add(str(result), f"call({', '.join(given)}), to_apply={_CALLED}")
    border.take(called, result)
    border.add(f"({', '.join(border.shapes)})", f"tuple({', '.join(border.results)})", "ROOT ")
    old = _ENTRY.sub(_CALLED, text.partition("\n")[2], count=1)
    return "\n".join(["HloModule backedge", old, "ENTRY backedge_entry {", *border.lines, "}", ""])


class _Border:
    """The new entry's instructions, and what its root will hold."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.results: list[str] = []
        self.shapes: list[str] = []
        self._parameters = 0

    def add(self, shape: str, operation: str, root: str = "") -> str:
        """One more instruction; its name."""
        name = f"backedge.{len(self.lines)}"
        self.lines.append(f"  {root}{name} = {shape} {operation}")
        return name

    def _parameter(self, shape: str) -> str:
        self._parameters += 1
        return self.add(shape, f"parameter({self._parameters - 1})")

    def given(self, shape: Any) -> str:
        """An old parameter, or a part of it, made from new ones."""
        if shape.is_tuple():
            parts = [self.given(element) for element in shape.tuple_shapes()]
            return self.add(str(shape), f"tuple({', '.join(parts)})")
        text = str(shape)
        name = self._parameter(_BOUND.sub(r"\1", text))
        for dim in bounded(shape):
            size = self._parameter("s32[]")
            name = self.add(
                _bounded_up_to(text, shape, dim), f"set-dimension-size({name}, {size}), dimensions={{{dim}}}"
            )
        return name

    def take(self, name: str, shape: Any) -> None:
        """Add an old result, or a part of it, to the new ones."""
        if shape.is_tuple():
            for index, element in enumerate(shape.tuple_shapes()):
                self.take(self.add(str(element), f"get-tuple-element({name}), index={index}"), element)
            return
        dims = bounded(shape)
        sizes = [self.add("s32[]", f"get-dimension-size({name}), dimensions={{{dim}}}") for dim in dims]
        for dim in reversed(dims):
            full = self.add("s32[]", f"constant({shape.dimensions()[dim]})")
            text = _bounded_up_to(str(shape), shape, dim, inclusive=False)
            name = self.add(text, f"set-dimension-size({name}, {full}), dimensions={{{dim}}}")
        self.results += [name, *sizes]
        self.shapes += [_BOUND.sub(r"\1", str(shape)), *["s32[]"] * len(sizes)]


def bounded(shape: Any) -> list[int]:
    """The dimensions of an array's jaxlib Shape that are bounded."""
    if shape.is_token():
        return []
    return [dim for dim in range(shape.rank()) if shape.is_dynamic_dimension(dim)]


def _bounded_up_to(text: str, shape: Any, last: int, inclusive: bool = True) -> str:
    """A shape's text with the bounds of its dimensions up to (and with) one of them; the others are sizes."""
    kept = sum(dim < last + inclusive for dim in bounded(shape))
    count = itertools.count()
    return _BOUND.sub(lambda found: found[0] if next(count) < kept else found[1], text)
