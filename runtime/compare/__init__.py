"""Comparing two models by what they compute: designed inputs, tolerances, a verdict, a report.

report = compare_sides(
    Side("m.onnx", [in_process("executor", run_a), on_file("onnxruntime", Path("m.onnx"))]),
    Side("m.xml", [in_process("executor", run_b), on_file("openvino", Path("m.xml"))]),
    design(signature_of(hub_graph), trials=64),
)
report.verdict  # "equal", "different" or "incomparable"
"""

from .edge_trials import edge_trials
from .inputs import design
from .iterations import Stacking, stackings
from .record import Finding, Report, SideRun, Trial
from .report import print_report, rendered, write_html, write_json
from .roles import random_operators, signature_of
from .runnables import Runnable, in_process, on_file
from .sides import Side
from .signature import Designed, InputSpec, Signature
from .tolerance import Difference, compare_values
from .verdict import compare_sides

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
