"""Whether a node may stand at another version: the types that it takes there."""

from __future__ import annotations

from functools import cache

from ..constraints import alike, allowed, spelled
from ..errors import Unsupported
from ..graph import Node


@cache
def narrowed(domain: str, op_type: str, before: int, after: int) -> bool:
    """Whether version `after` takes less somewhere than version `before` did, or wants types to be equal."""
    old, new = allowed(domain, op_type, before), allowed(domain, op_type, after)
    return alike(domain, op_type, before) != alike(domain, op_type, after) or any(
        len(old_places) > len(new_places) or any(a - b for a, b in zip(old_places, new_places, strict=False))
        for old_places, new_places in zip(old, new, strict=True)
    )


def check(node: Node, origin: Node, before: int | None) -> None:
    """Every value of a node must be of a type that its version takes.

    Args:
        node: the node as it stands there.
        origin: the node it comes from, to be named.
        before: the version it comes from, whose types it has; None: it was built for this one, and
            types not known may be any.

    Raises:
        Unsupported: a value of another type, or of an unknown one where that version takes less than `before`.
    """
    key = node.domain, node.op_type, node.version
    earlier = allowed(*key[:2], before) if before is not None else ((), ())
    seen: dict[str, str] = {}
    for values, taken, had, same in zip(
        (node.formal_inputs, node.outputs), allowed(*key), earlier, alike(*key), strict=True
    ):
        for index, value in enumerate(values):
            if value is None or not value.name or not taken:
                continue
            place = min(index, len(taken) - 1)
            types, name = taken[place], spelled(value.type)
            if name in types:
                other = seen.setdefault(same[place], name) if same[place] else name
                if other != name:
                    raise Unsupported(origin, f"{node.op_type}-{node.version} wants one type, not {other} and {name}")
                continue
            what = f"{node.op_type}-{node.version}"
            if name is not None:
                raise Unsupported(origin, f"{what} takes no {value.type} ({value.name!r})")
            if before is not None and (not had or had[min(index, len(had) - 1)] - types):
                raise Unsupported(origin, f"the type of {value.name!r}, which {what} limits, isn't known")
