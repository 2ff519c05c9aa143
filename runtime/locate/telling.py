"""Where two files part, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MOST_NAMES = 6
_SAYS = {
    "value": "gives another value",
    "shape": "gives another shape",
    "type": "gives another element type",
    "trip count": "makes another number of passes",
    "branch": "takes another branch",
    "failure": "fails",
}


def lines(location: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Labels and texts, of `Location.to_json()`."""
    a, b = location["a"], location["b"]
    where = b or a
    name = where["steps"][-1]["name"]
    side = "" if a and b else f" of {'B' if b else 'A'}"
    yield "operator", f"{where['op']} {name!r}{side} {_SAYS[location['how']]}{_other(a, b)}"
    yield "path", where["path"] if not (a and b) or a["path"] == b["path"] else f"A {a['path']}, B {b['path']}"
    inside = [_around(step) for step in where["steps"][:-1]]
    if inside:
        yield "inside", ", ".join(inside)
    if location["how"] == "failure":
        yield "error", location["expected"] or location["actual"]
    elif location["how"] in ("trip count", "branch"):
        unit = " passes" if location["how"] == "trip count" else ""
        yield location["how"], f"{location['expected']}{unit} in A, {location['actual']}{unit} in B"
    else:
        yield "expected", f"{number(location['expected'])}{_index(location)}"
        yield "actual", f"{number(location['actual'])}{_elements(location)}"
    if location["text"]:
        yield "rounding", location["text"]
    for key, names in location["before"].items():
        if names:
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            yield f"before, {key.upper()} only", ", ".join(names[:_MOST_NAMES]) + more
    counts = location["values"]
    if counts["compared"]:
        rounded = f", {counts['rounded']} more within rounding" if counts["rounded"] else ""
        yield "values", f"{counts['agreed']} of {counts['compared']} that were compared agree{rounded}"


def number(value: Any) -> str:
    """An element, floats to as many digits as tell those of float32 apart."""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _other(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> str:
    """What the operator is in A, where that isn't the same."""
    if not a or not b or (a["op"] == b["op"] and a["steps"][-1]["name"] == b["steps"][-1]["name"]):
        return ""
    return f"; in A it is {a['op']} {a['steps'][-1]['name']!r}"


def _around(step: Mapping[str, Any]) -> str:
    if step["pass"] is not None:
        return f"iteration {step['pass']} of {step['op']} {step['name']!r} (counted from 0)"
    return f"the {step['region']} branch of {step['op']} {step['name']!r}"


def _index(location: Mapping[str, Any]) -> str:
    return f" at {location['index']}" if location["index"] else ""


def _elements(location: Mapping[str, Any]) -> str:
    if location["total"] < 2:
        return ""
    far = location["max_abs"]
    by = f", by up to {far:.3g}" if isinstance(far, int | float) else ""
    return f", {location['count']} of {location['total']} elements differ{by}"
