"""Comparing two models by what they compute: designed inputs, tolerances, a verdict, a report.

report = compare_sides(
    Side("m.onnx", [in_process("executor", run_a), on_file("onnxruntime", Path("m.onnx"))]),
    Side("m.xml", [in_process("executor", run_b), on_file("openvino", Path("m.xml"))]),
    design(signature_of(hub_graph), trials=64),
)
report.verdict  # "equal", "different" or "incomparable"
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .edge_trials import edge_trials
    from .input_roles import random_operators, signature_of
    from .inputs import design
    from .iterations import Stacking, stackings
    from .record import Finding, Report, SideRun, Trial
    from .report import print_report, rendered, write_html, write_json
    from .runnables import Runnable, in_process, on_file
    from .sides import Side
    from .signature import Designed, InputSpec, Signature
    from .tolerance import Difference, compare_values
    from .verdict import compare_sides

_MODULES = {
    "Designed": ".signature",
    "Difference": ".tolerance",
    "Finding": ".record",
    "InputSpec": ".signature",
    "Report": ".record",
    "Runnable": ".runnables",
    "Side": ".sides",
    "SideRun": ".record",
    "Signature": ".signature",
    "Stacking": ".iterations",
    "Trial": ".record",
    "compare_sides": ".verdict",
    "compare_values": ".tolerance",
    "design": ".inputs",
    "edge_trials": ".edge_trials",
    "in_process": ".runnables",
    "on_file": ".runnables",
    "print_report": ".report",
    "random_operators": ".input_roles",
    "rendered": ".report",
    "signature_of": ".input_roles",
    "stackings": ".iterations",
    "write_html": ".report",
    "write_json": ".report",
}


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: the processes that run a file need little of it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name], __name__), name)


__all__ = [
    "Designed",
    "Difference",
    "Finding",
    "InputSpec",
    "Report",
    "Runnable",
    "Side",
    "SideRun",
    "Signature",
    "Stacking",
    "Trial",
    "compare_sides",
    "compare_values",
    "design",
    "edge_trials",
    "in_process",
    "on_file",
    "print_report",
    "random_operators",
    "rendered",
    "signature_of",
    "stackings",
    "write_html",
    "write_json",
]
