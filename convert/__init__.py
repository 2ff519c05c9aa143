"""Models with control flow, from one format to another, and checked by proof or by running both.

The package can be called: `backedge.convert(...)` is `backedge.convert.convert(...)`.

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
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..passes.errors import BackedgeError, InvalidModel, Unsupported
    from .conversion import convert
    from .conversion_report import ConversionReport
    from .files import load, save, to_hub
    from .format import FORMATS, Format
    from .running import run
    from .verification import verify

_MODULES = {
    "BackedgeError": "..passes.errors",
    "ConversionReport": ".conversion_report",
    "FORMATS": ".format",
    "Format": ".format",
    "InvalidModel": "..passes.errors",
    "Unsupported": "..passes.errors",
    "convert": ".conversion",
    "load": ".files",
    "run": ".running",
    "save": ".files",
    "to_hub": ".files",
    "verify": ".verification",
}


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: the processes that run a file need no more than its reader."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name], __name__), name)


class _Callable(ModuleType):
    """This package, which has the name of what it is for: `import backedge.convert` makes it the attribute `convert` of
    `backedge`, where the function is expected."""

    def __call__(self, source: Any, to: str | os.PathLike[str], **options: Any) -> ConversionReport:
        """See `conversion.convert`."""
        from .conversion import convert

        return convert(source, to, **options)


sys.modules[__name__].__class__ = _Callable

__all__ = [
    "FORMATS",
    "BackedgeError",
    "ConversionReport",
    "Format",
    "InvalidModel",
    "Unsupported",
    "convert",
    "load",
    "run",
    "save",
    "to_hub",
    "verify",
]
