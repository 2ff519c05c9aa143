"""MDF's files <-> trees of plain values: JSON, YAML and BSON carry the same tree."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from ...passes.errors import InvalidModel, Unsupported
from ...passes.limits import allow_calls
from ...passes.outputs import writing
from . import bson_bytes, json_text, yaml_text
from .model import Plain
from .plain_values import DEEPEST, MOST_BYTES, check

Container = Literal["json", "yaml", "bson"]

_BY_SUFFIX: dict[str, Container] = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".bson": "bson"}
_REGIONS = DEEPEST // 7  # as many as there may be in each other, each of which takes so many objects
_READERS = {"json": json_text.read, "yaml": yaml_text.read, "bson": bson_bytes.read}


def container_of(path: Path) -> Container | None:
    """The container that a file name's suffix says, None for a foreign one."""
    return _BY_SUFFIX.get(path.suffix.lower())


def read_document(path: Path) -> dict[str, Plain]:
    """The tree of plain values that a file holds; whether it is a model is `structure.model_from_tree`'s question.

    The suffix says the container, the content where the suffix is foreign.

    Raises:
        InvalidModel: the file can't be read, is damaged, holds what no model holds, or is beyond the limits.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise InvalidModel(f"{path}: {size} bytes, and a model may have {MOST_BYTES}")
        data = path.read_bytes()
    except OSError as error:
        raise InvalidModel(f"{path}: {error.strerror or error}") from None
    allow_calls(_REGIONS)
    try:
        return check(_READERS[container_of(path) or _container_inside(data)](data), True)
    except InvalidModel as error:
        raise InvalidModel(f"{path}: {error}") from None


def _container_inside(data: bytes) -> Container:
    if bson_bytes.is_bson(data):
        return "bson"
    return "json" if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" else "yaml"


def write_document(tree: dict[str, Plain], path: Path, container: Container | None = None) -> None:
    """Write a tree of plain values, so that every reader of the container gets the same tree back.

    Args:
        container: as the path's suffix says unless given; JSON for a foreign suffix.

    Raises:
        InvalidModel: the file can't be written.
        Unsupported: the container can't hold the tree, or nobody should read it (see `plain`); nothing is written.
    """
    container = container or container_of(path) or "json"
    allow_calls(_REGIONS)
    try:
        check(tree, container == "bson")
    except InvalidModel as error:
        raise Unsupported("MDF", str(error)) from None
    pieces: Iterable[bytes]
    if container == "bson":
        pieces = [bson_bytes.write(tree)]
    else:
        text = json_text.lines(tree) if container == "json" else yaml_text.lines(tree)
        pieces = (piece.encode("ascii") for piece in text)
    with writing(path), path.open("wb") as file:
        file.writelines(pieces)
        if container == "json":
            file.write(b"\n")
