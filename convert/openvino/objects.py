"""OpenVINO's models in memory <-> files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_MARKUP = re.compile(rb"(\xef\xbb\xbf)?\s*<(\?xml|net)\b")


def suffix_of(data: bytes) -> str:
    """The suffix of a file with this content, "" where it is of another format."""
    return ".xml" if _MARKUP.match(data) else ""


def is_model(path: Path) -> bool:
    """Whether a file looks like IR, and not like other XML."""
    with path.open("rb") as file:
        return b"<net" in file.read(4096)


def store_model(model: Any, folder: Path) -> Path:
    """An `openvino.Model` as IR."""
    import openvino

    path = folder / "model.xml"
    openvino.serialize(model, path, path.with_suffix(".bin"))
    return path


def to_object(path: Path) -> Any:
    """A file as an `openvino.Model`, which doesn't need the file any more."""
    import openvino

    weights = path.with_suffix(".bin")
    return openvino.Core().read_model(path.read_bytes(), weights.read_bytes() if weights.is_file() else b"")
