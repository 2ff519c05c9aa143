"""What skl2onnx writes of scikit-learn's estimators, to IR and to four opsets: right, or refused by name (long)."""

from __future__ import annotations

import pytest

from .sklearn_journey import TARGETS, visited

REFUSED = (
    "OpenVINO has tensors only",  # lists of dictionaries, or of tensors
    "is a string tensor, for which OpenVINO's CPU has no",
    "it returns a string constant",
    "there are no sequences at opset 9",
    "nothing before it makes new strings",  # StringNormalizer, below 10
)


@pytest.mark.corpus
@pytest.mark.timeout(3600)
def test_estimators() -> None:
    pytest.importorskip("skl2onnx", reason="pip install scikit-learn skl2onnx")
    seen, faults = 0, []
    for name, results, _ in visited():
        seen += bool(results)
        for target, result in results.items():
            told = result.word == "refused" and any(reason in result.why for reason in REFUSED)
            if result.word != "right" and not told:
                faults.append(f"{name} to {target}: {result.word}: {result.why}")
    assert seen > 200 and set(TARGETS) == {"IR", "9", "13", "21", "25"}
    assert not [fault for fault in faults if not _declared_wrongly(fault)], "\n".join(faults)


def _declared_wrongly(fault: str) -> bool:
    """skl2onnx declares one number for a forest of several; the checker sees it from ai.onnx.ml 3 on."""
    return fault.startswith("trees of several numbers") and "Inferred shape and existing shape differ" in fault
