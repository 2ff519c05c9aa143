"""The catalogue of control-flow cases: `from control_flow.cases import CASES`."""

from __future__ import annotations

from . import (
    cases_function,
    cases_if,
    cases_loop_algorithms,
    cases_loop_data,
    cases_loop_limits,
    cases_loop_names,
    cases_loop_output,
    cases_loop_state,
    cases_nested,
    cases_nested_scan,
    cases_operators,
    cases_scan,
    cases_scan8,
    cases_scan_axes,
    cases_sequence,
    cases_version,
)
from .case import Case, Run

__all__ = ["BY_NAME", "CASES", "Case", "Run"]

CASES: list[Case] = [
    case
    for module in (
        cases_version,
        cases_loop_limits,
        cases_loop_state,
        cases_loop_output,
        cases_loop_names,
        cases_loop_data,
        cases_loop_algorithms,
        cases_scan_axes,
        cases_scan,
        cases_scan8,
        cases_if,
        cases_nested,
        cases_nested_scan,
        cases_function,
        cases_sequence,
        cases_operators,
    )
    for case in module.CASES
]
BY_NAME: dict[str, Case] = {case.name: case for case in CASES}
