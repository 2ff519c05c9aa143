"""Every operator of the hub has a kernel, and one only."""

from __future__ import annotations

import onnx.defs
import pytest
from backedge.passes.errors import Unsupported
from backedge.runtime.kernels import KERNELS, lookup

CONTROL_FLOW = {("", "Loop"), ("", "If"), ("", "Scan")}  # canonical in the hub, run by the executor itself
WITHOUT_MEANING_HERE = {("ai.onnx.preview.training", "Gradient")}


def test_every_operator_has_a_kernel() -> None:
    known = {(schema.domain, schema.name) for schema in onnx.defs.get_all_schemas_with_history()}
    assert known - set(KERNELS) == CONTROL_FLOW | WITHOUT_MEANING_HERE
    domains = {domain for domain, _ in known}
    assert {operator for operator in KERNELS if operator[0] in domains} <= known


def test_unknown_operators_are_refused() -> None:
    with pytest.raises(Unsupported, match=r"com\.example\.Fold-3") as caught:
        lookup("com.example", "Fold", 3)
    assert caught.value.exit_code == 3
