"""modeci_mdf's models <-> files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .bson_bytes import is_bson

_JSON = re.compile(rb"(\xef\xbb\xbf)?\s*\{")
_YAML = re.compile(rb"(\xef\xbb\xbf)?\s*(---\s*)?[\"'\w][\w .\"'-]*:\s")


def suffix_of(data: bytes) -> str:
    """The suffix of a file with this content, "" where it is of another format."""
    if _JSON.match(data):
        return ".json"
    if is_bson(data):
        return ".bson"
    return ".yaml" if _YAML.match(data) else ""


def is_model(path: Path) -> bool:
    """Whether a file looks like MDF, and not like other JSON, YAML or BSON: it names the format, or has graphs."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return b"ModECI MDF" in head or b"input_ports" in head


def store_model(model: Any, folder: Path) -> Path:
    """A `modeci_mdf.mdf.Model` as JSON."""
    path = folder / "model.json"
    path.write_text(model.to_json())
    return path


def to_object(path: Path) -> Any:
    """A file as a `modeci_mdf.mdf.Model`."""
    from modeci_mdf.utils import load_mdf

    return load_mdf(str(path))
