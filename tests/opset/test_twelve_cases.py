"""Twelve places where converters of ONNX opsets are silently wrong or give up (`twelve` has the models)."""

from __future__ import annotations

import os

import pytest

from .control.judge import Verdict, verdicts
from .control.table import ROWS, of_row
from .twelve import CHECKS, Check

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="ONNX Runtime dies on some: they need a fork each")
BY_NAME = {row.case.name: row for row in ROWS}


def faults(found: list[Verdict], targets: list[int]) -> list[str]:
    return [
        f"{target}: {one.kind}: {one.what}" for target, one in zip(targets, found, strict=True) if one.kind != "right"
    ]


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_right(check: Check) -> None:
    targets = list(check.targets)
    assert not faults(verdicts(check.case, targets), targets)


# 4: Scan-8's batch, lengths and directions, also within a Loop and within a Scan-8; Scan-9 -> 8


@pytest.mark.parametrize("name", [name for name in BY_NAME if name.startswith("scan8")])
def test_scan_8_up(name: str) -> None:
    targets = [9, 10, 11, 16, 21, 28]
    assert not faults([cell.verdict for cell in of_row(BY_NAME[name], targets)], targets)


@pytest.mark.parametrize(
    "name", [name for name in BY_NAME if name.startswith("scan_") and name.endswith(("@9", "@11"))]
)
def test_scan_9_to_8(name: str) -> None:
    assert not faults([cell.verdict for cell in of_row(BY_NAME[name], [8])], [8])


# 11: what only a sequence or an optional can say is refused by name; a sequence that is only built isn't


@pytest.mark.parametrize(
    ("name", "target", "word"),
    [("type_ragged_sequence@13", 11, "sequence"), ("type_ragged_sequence@16", 9, "sequence")],
)
def test_refused_by_name(name: str, target: int, word: str) -> None:
    [cell] = of_row(BY_NAME[name], [target])
    assert cell.verdict.kind == "refused"
    assert word in cell.verdict.what


@pytest.mark.parametrize("name", ["type_optional@16", "type_chosen_optional@16"])
@pytest.mark.parametrize("target", [15, 13, 9])
def test_optional_is_refused_by_name_or_said_otherwise(name: str, target: int) -> None:
    [cell] = of_row(BY_NAME[name], [target])
    assert cell.verdict.kind == "right" or (cell.verdict.kind == "refused" and "optional" in cell.verdict.what)


@pytest.mark.parametrize("name", ["type_joined_sequence@13", "type_joined_sequence@25"])
def test_sequence_that_is_only_joined(name: str) -> None:
    targets = [13, 12, 11, 9, 8, 1]
    assert not faults([cell.verdict for cell in of_row(BY_NAME[name], targets)], targets)
