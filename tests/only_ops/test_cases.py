"""A part of the recorded cases written with core operators only; all of them with `python -m only_ops.sweep`."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from backedge.passes.operator_list import operator_list
from openvino_lowering.corpus import Case, node_cases

from .sweep import RANDOM, judged

FAULTS = {
    "test_range_bfloat16_type_positive_delta": "onnx's reference stacks scalars of a Loop wrongly",
    "test_range_bfloat16_type_positive_delta_expanded": "onnx's reference stacks scalars of a Loop wrongly",
    "test_attention_3d_causal_bf16_expanded": "neither runtime multiplies bfloat16",
}


def part() -> list[Case]:
    """Every seventh case, in an order that makes that a fair sample, and all whose oracles have faults."""
    cases = [case for case in node_cases() if not case.model.graph.node[0].op_type.startswith(RANDOM)]
    drawn = sorted(cases, key=lambda case: zlib.crc32(case.name.encode()))[::7]
    return [case for case in drawn if case.name not in FAULTS]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in part()])
def test_core_operators_only(case: Case, tmp_path: Path) -> None:
    verdict, detail = judged(case, operator_list("core"), 21, tmp_path)
    if verdict == "refused":
        narrow = [f"takes no {kind}" for kind in ("uint2", "int2", "float4e2m1", "float8e8m0")]
        assert any(text in detail for text in (*narrow, "core doesn't list SequenceMap")), detail
    else:
        assert verdict == "right", detail
