"""backedge: models with control flow, from one format to another, and checked by proof or by running both.

>>> import backedge
>>> backedge.convert("m.onnx", "m.xml").verdict
'proved'
>>> backedge.verify("m.onnx", "m.xml").verdict
'proved'
>>> outputs = backedge.run("m.onnx", {"x": x})
>>> model = backedge.convert(script_function, to="onnx", opset=13).model

A model is a path, bytes, a file object, an `onnx.ModelProto`, an `onnx_ir.Model`, an `onnxscript` function, an
`openvino.Model`, a lowered, compiled or exported JAX function, a `modeci_mdf` model, or a `Graph`.

Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backedge import testing
    from backedge.convert.conversion import convert
    from backedge.convert.conversion_report import ConversionReport
    from backedge.convert.diff import diff
    from backedge.convert.files import load, save
    from backedge.convert.running import run
    from backedge.convert.verification import verify
    from backedge.graphs import from_jax, rewrite, show, to_jax
    from backedge.passes.errors import BackedgeError, InvalidModel, Unsupported
    from backedge.passes.graph import Graph
    from backedge.passes.patterns import pattern_rule
    from backedge.runtime import prepare
    from backedge.runtime.compare.record import Report
    from backedge.runtime.loop_function import loop

    __version__: str

_MODULES = {
    "BackedgeError": ".passes.errors",
    "ConversionReport": ".convert.conversion_report",
    "Graph": ".passes.graph",
    "InvalidModel": ".passes.errors",
    "Report": ".runtime.compare.record",
    "Unsupported": ".passes.errors",
    "diff": ".convert.diff",
    "from_jax": ".graphs",
    "load": ".convert.files",
    "loop": ".runtime.loop_function",
    "pattern_rule": ".passes.patterns",
    "prepare": ".runtime",
    "rewrite": ".graphs",
    "run": ".convert.running",
    "save": ".convert.files",
    "show": ".graphs",
    "to_jax": ".graphs",
    "verify": ".convert.verification",
}
_PACKAGES = ("convert", "testing")  # `convert` can be called, too: see `convert/__init__.py`


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULES[name], __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "BackedgeError",
    "ConversionReport",
    "Graph",
    "InvalidModel",
    "Report",
    "Unsupported",
    "__version__",
    "convert",
    "diff",
    "from_jax",
    "load",
    "loop",
    "pattern_rule",
    "prepare",
    "rewrite",
    "run",
    "save",
    "show",
    "testing",
    "to_jax",
    "verify",
]
