"""Operators on strings at older opsets, run by ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert.onnx.opset import change_opset
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.verify import verify
from onnxruntime import InferenceSession

from .harness import parse


def normalizer(attributes: str, shape: str, made: str = "") -> Graph:
    """A StringNormalizer of opset 10 at opset 9."""
    text = f"(string[{shape}] x) => (string[{made or shape}] y) {{ y = StringNormalizer <{attributes}> (x) }}"
    return verify(change_opset(parse(text, 10), 9))


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (["a", "B", "b", ""], ["a", "B", ""]),  # the case counts
        (["b", "c", "b"], [""]),  # none is left
        (["b", "x"], ["x"]),
        (["\u00e9", "b"], ["\u00e9"]),
    ],
)
@pytest.mark.parametrize("batched", [False, True])
def test_words_are_left_out(batched: bool, x: list[str], expected: list[str]) -> None:
    graph = normalizer(
        'is_case_sensitive = 1, stopwords = ["b", "c", "b"]', *(("1, n", "1, m") if batched else ("n", "m"))
    )
    model = to_model(graph)
    onnx.checker.check_model(model, full_check=True)
    given: Any = np.array([x] if batched else x, object)
    (y,) = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": given})
    assert np.asarray(y).tolist() == ([expected] if batched else expected)


@pytest.mark.parametrize(
    "attributes",
    [
        'case_change_action = "LOWER"',
        'case_change_action = "UPPER", is_case_sensitive = 1',
        'stopwords = ["b"]',  # of either case
    ],
)
def test_letters_that_would_have_to_change(attributes: str) -> None:
    with pytest.raises(Unsupported, match="StringNormalizer came with version 10, and nothing before it makes"):
        normalizer(attributes, "n")


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ("y = StringConcat (x, x)", "StringConcat came with version 20, and nothing before it makes new strings"),
        ("y, n = StringSplit (x)", "StringSplit came with version 20, and nothing before it makes new strings"),
        (
            'm = RegexFullMatch <pattern = "a+"> (x) y = Where (m, x, x)',
            "RegexFullMatch came with version 20, and",
        ),
    ],
)
def test_no_older_form(nodes: str, reason: str) -> None:
    text = f"(string[2] x) => (string y) {{ {nodes} }}"
    with pytest.raises(Unsupported, match=reason):
        change_opset(parse(text, 20), 19)
