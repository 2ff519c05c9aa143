"""A net's `<rt_info>` and the notes of a model in other formats (ONNX: metadata_props).

`<framework>` holds the notes of the model that OpenVINO converted, `<model_info>` and the like hold OpenVINO's own. In
a note's key, the tags are joined by spaces, without "framework": `labels`, `model_info labels`. Ours stand in
`<backedge>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...passes.metadata import OURS
from .dialect import Tree
from .markup import spelled

_FRAMEWORK = "framework"
_OURS = OURS.removesuffix(".")
_ROOTS = frozenset(["conversion_parameters", "model_info", "nncf", "optimization", "runtime_options"])
_OF_RUNTIME = frozenset(["OpenVINO Runtime", "Runtime_version"])  # who wrote the file
_TAG = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)


def notes_of(rt_info: Tree | None) -> dict[str, str]:
    """The notes in the `<rt_info>` of a net."""
    found: dict[str, str] = {}
    for path, value in _leaves(rt_info, []) if rt_info is not None else ():
        if path[0] in _OF_RUNTIME:
            continue
        if path[0] == _FRAMEWORK and len(path) > 1:
            key = " ".join(path[1:])
        elif path[0] == _OURS and len(path) > 1:
            key = OURS + " ".join(path[1:])
        else:
            key = " ".join(path)
        found[key] = value
    return found


def _leaves(tree: Tree, path: list[str]) -> Iterator[tuple[list[str], str]]:
    for tag, given, children in tree[2]:
        name = given.get("name", tag) if tag == "info" else tag
        if children:
            yield from _leaves((tag, given, children), [*path, name])
        elif "value" in given:
            yield [*path, name], given["value"]


def tree_of(notes: Mapping[str, str]) -> Tree:
    """The `<rt_info>` of notes; what XML can't hold is spelled."""
    root: dict[str, object] = {}
    for key, value in notes.items():
        if not key:
            continue
        key, value = spelled(key), spelled(value)
        words = key.split()
        if key.startswith(OURS):
            path = [_OURS, key.removeprefix(OURS)]
        elif len(words) > 1 and words[0] in _ROOTS and " ".join(words) == key:
            path = words
        else:
            path = [_FRAMEWORK, key]
        inner = root
        for name in path[:-1]:
            deeper = inner.setdefault(name, {})
            if not isinstance(deeper, dict):
                break  # a note of its own stands where others would hang
            inner = deeper
        else:
            inner.setdefault(path[-1], value)
    return _tree("rt_info", root)


def _tree(tag: str, inner: Mapping[str, object]) -> Tree:
    children: list[Tree] = []
    for name, value in inner.items():
        plain = _TAG.fullmatch(name) is not None and name != "info"
        tag_, given = (name, {}) if plain else ("info", {"name": name})
        if isinstance(value, dict):
            children.append((tag_, given, _tree(name, value)[2]))
        else:
            children.append((tag_, {**given, "value": str(value)}, ()))
    return tag, {}, tuple(children)
