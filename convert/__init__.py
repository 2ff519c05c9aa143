"""backedge: models with control flow, from one format to another, and checked by running both.

>>> from backedge.convert import load, save, convert, verify
>>> graph = load("m.onnx")
>>> save(graph, "m.xml")
>>> convert("m.onnx", "m.xml").verdict
'proved'
>>> verify("m.onnx", "m.xml", trials=64, seed=0).verdict
'proved'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..passes.errors import BackedgeError, InvalidModel, Unsupported
    from .conversion import ConversionReport, convert
    from .files import load, save, to_hub
    from .format import FORMATS, Format
    from .verification import verify

_MODULES = {
    "BackedgeError": "..passes.errors",
    "ConversionReport": ".conversion",
    "FORMATS": ".format",
    "Format": ".format",
    "InvalidModel": "..passes.errors",
    "Unsupported": "..passes.errors",
    "convert": ".conversion",
    "load": ".files",
    "save": ".files",
    "to_hub": ".files",
    "verify": ".verification",
}


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: the processes that run a file need no more than its reader."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name], __name__), name)


__all__ = [
    "FORMATS",
    "BackedgeError",
    "ConversionReport",
    "Format",
    "InvalidModel",
    "Unsupported",
    "convert",
    "load",
    "save",
    "to_hub",
    "verify",
]
