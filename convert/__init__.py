"""backedge: models with control flow, from one format to another, and checked by running both.

>>> from backedge.convert import load, save, convert, verify
>>> graph = load("m.onnx")
>>> save(graph, "m.xml")
>>> convert("m.onnx", "m.xml").verdict
'equal'
>>> verify("m.onnx", "m.xml", trials=64, seed=0).verdict
'equal'
"""

from __future__ import annotations

from ..passes.errors import BackedgeError, InvalidModel, Unsupported
from .conversion import ConversionReport, convert
from .files import load, save, to_hub
from .format import FORMATS, Format
from .verification import verify

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
