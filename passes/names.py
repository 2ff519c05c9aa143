"""Names of values and nodes, unique over a model."""

from __future__ import annotations

from collections.abc import Iterable

from .graph import Graph


class Names:
    """Names unique over a whole model; the old model's own names, and those of its inputs and outputs above all, are
    kept free for its own values."""

    def __init__(self, old: Iterable[str] = (), interface: Iterable[str] = ()) -> None:
        self._interface = set(interface)
        self._reserved = {*old, *self._interface}
        self._used: set[str] = set()
        self._next: dict[str, int] = {}
        self._bases: dict[str, str] = {}  # of names with a number

    @staticmethod
    def of(graph: Graph) -> Names:
        """All names of a model taken: for changes in place."""
        return Names(value.name for inner in graph.graphs() for value in inner.values())

    def fresh(self, base: str) -> str:
        """A name for a new value: `base` if it is free, else base_1, base_2 ...; the next one if `base` was made so."""
        name = base = base or "v"
        base = self._bases.get(base, base) if base in self._used else base
        while name in self._used or name in self._reserved:
            number = self._next.get(base, 1)
            self._next[base] = number + 1
            name = f"{base}_{number}"
        if name != base:
            self._bases[name] = base
        self._used.add(name)
        return name

    def claim(self, name: str, root: bool = False) -> str:
        """The name of an old value for the value that stands for it: the same, unless another has it already."""
        if name and name not in self._used and (root or name not in self._interface):
            self._used.add(name)
            return name
        return self.fresh(name)

    def release(self, name: str) -> None:
        """Take a name back from what is thrown away."""
        self._used.discard(name)

    def is_free(self, name: str) -> bool:
        return name not in self._used
