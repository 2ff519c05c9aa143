"""Objects of an MDF document with their places, which messages name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...passes.errors import InvalidModel
from .model import Plain
from .plain import kind_of, shown

ANYWHERE = ("id", "metadata", "notes", "name")
"""`notes` and `name` say something to people and are ignored, as by MDF's engine."""


class Object:
    """An object of the document at its place, which every message names.

    Args:
        known: the fields that it may have besides those of `ANYWHERE`.

    Raises:
        InvalidModel: it is none, or has a field that MDF doesn't know.
    """

    __slots__ = ("fields", "where")

    def __init__(self, tree: Plain, where: str, known: Sequence[str]) -> None:
        self.where = where
        if not isinstance(tree, dict):
            some = f"{known[0]!r} and {known[-1]!r}"
            raise self.refused(f"an object must stand here, with fields such as {some}, not {kind_of(tree)}")
        self.fields: dict[str, Plain] = tree
        for name in tree:
            if name not in known and name not in ANYWHERE:
                raise self.refused(f"MDF has no field {shown(str(name))} here")

    def refused(self, reason: str) -> InvalidModel:
        return InvalidModel(f"{self.where}: {reason}")

    def text(self, name: str) -> str:
        """A field's text, "" where there is none."""
        value = self.fields.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            hint = "; in YAML it needs quotes" if isinstance(value, int | float) else ""
            raise self.refused(f"{name!r} must be text, not {kind_of(value)}{hint}")
        return value

    def needed(self, name: str) -> str:
        """A field's text, which must be there."""
        if self.fields.get(name) is None:
            raise self.refused(f"it has no {name!r}")
        return self.text(name)

    def label(self, name: str) -> str:
        """A field's text, or the number that stands there as text; "" where there is none."""
        value = self.fields.get(name)
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else self.text(name)

    def mapping(self, name: str) -> dict[str, Plain] | None:
        """A field's object, None where there is none."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, dict):
            raise self.refused(f"{name!r} must be an object, not {kind_of(value)}")
        return value

    @property
    def metadata(self) -> dict[str, Plain]:
        return self.mapping("metadata") or {}

    def children(self, name: str, kind: str, known: Sequence[str]) -> Iterator[tuple[str, Object]]:
        """The objects in a field, with their ids: by their ids in an object, or in a list with an `id` in each."""
        value = self.fields.get(name, {})
        prefix = "" if kind == "graph" else f"{self.where}, "
        if isinstance(value, list):
            seen: set[str] = set()
            for position, tree in enumerate(value):
                named = tree.get("id") if isinstance(tree, dict) else None
                if not isinstance(named, str):
                    reason = "in a list, each must be an object with an 'id' that is text"
                    raise InvalidModel(f"{prefix}{kind} {position} of {name!r}: {reason}")
                if named in seen:
                    raise self.refused(f"two of its {name!r} have the id {shown(named)}")
                seen.add(named)
                yield named, Object(tree, f"{prefix}{kind} {shown(named)}", known)
        elif isinstance(value, dict):
            for key, tree in value.items():
                child = Object(tree, f"{prefix}{kind} {shown(key)}", known)
                if tree.get("id", key) != key:
                    raise child.refused(f"its 'id' is {shown(str(tree['id']))}, and it stands under another")
                yield key, child
        else:
            raise self.refused(f"{name!r} must be an object or a list, not {kind_of(value)}")
