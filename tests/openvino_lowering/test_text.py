"""Text through OpenVINO, against ONNX Runtime and Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from composites.cases import NUMBERS, WORDS, check, model
from composites.targets import OpenVINO

from .runner import Runner


def test_text(openvino: Runner) -> None:
    target = OpenVINO(openvino)
    options: Any = {"domain": "", "version": 20}
    check(target, "StringConcat", WORDS, WORDS[::-1].copy(), **options)
    check(target, "Equal", WORDS, np.array([["cat"], ["dög"]], object), **options)
    stop: Any = {"stopwords": ["cat", "horse"], "is_case_sensitive": 1}
    check(target, "StringNormalizer", WORDS, **stop, **options)
    check(target, "StringNormalizer", np.array(["cat"], object), **stop, **options)
    check(target, "StringNormalizer", WORDS, is_case_sensitive=1, **options)


LETTERS = np.array(["Straße ŉ ﬃ", "ΣΑΣ Ωμέγα", "ÀÉÎ", "", "İı", "Ǆ Привет", "𐐨𐐀 漢字 😀", "plain ASCII 123"], object)


@pytest.mark.parametrize(("action", "change"), [("UPPER", str.upper), ("LOWER", str.lower)])
def test_letters(openvino: Runner, action: str, change: Callable[[str], str]) -> None:
    """Each character by itself, as Python has it."""
    options: Any = {"case_change_action": action, "is_case_sensitive": 1}
    made = model("StringNormalizer", LETTERS, 1, 10, domain="", **options)
    ((found,),) = openvino.lowered(raise_graph(read_model(made)), [{"x0": LETTERS}])
    assert found.tolist() == ["".join(map(change, text)) for text in LETTERS]


def test_stopwords_in_any_case(openvino: Runner) -> None:
    words = np.array(["Der", "WÖRTER", "und", "wörter", "UND", "Ende"], object)
    options: Any = {"case_change_action": "UPPER", "is_case_sensitive": 0, "stopwords": ["und", "Wörter"]}
    made = model("StringNormalizer", words, 1, 10, domain="", **options)
    ((found,),) = openvino.lowered(raise_graph(read_model(made)), [{"x0": words}])
    assert found.tolist() == ["DER", "ENDE"]


LINES = np.array(["a,b,,c", "", ",", "  x y  z ", "ünï,çode", " ", "a\u2003b\tc\n"], object)


@pytest.mark.parametrize("delimiter", [",", "", "ï,ç", ", "])
@pytest.mark.parametrize("most", [None, 0, 1, 5])
def test_splitting(openvino: Runner, delimiter: str, most: int | None) -> None:
    """As Python splits."""
    options: Any = {"delimiter": delimiter} | ({} if most is None else {"maxsplit": most})
    made = model("StringSplit", LINES, 2, 20, domain="", **options)
    ((found, counts),) = openvino.lowered(raise_graph(read_model(made)), [{"x0": LINES}])
    wanted = [line.split(delimiter or None, -1 if most is None else most) for line in LINES]
    width = max(map(len, wanted))
    assert found.tolist() == [pieces + [""] * (width - len(pieces)) for pieces in wanted]
    assert counts.tolist() == [len(pieces) for pieces in wanted]


def test_keys_beyond_int32() -> None:
    made = model("LabelEncoder", NUMBERS, 1, 3, domain="ai.onnx.ml", keys_int64s=[2**40], values_int64s=[1])
    with pytest.raises(Unsupported, match="int32"):
        lower_graph(raise_graph(read_model(made)))
