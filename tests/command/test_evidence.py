"""docs/evidence.md: what its data say, and how figures are read off what sweeps print."""

from __future__ import annotations

import importlib.util
import json
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def evidence() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evidence", DOCS / "evidence.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _data(printed: str, **fields: Any) -> dict[str, Any]:
    figure = {"name": "one", "cells": ["x", "0", "0"], "date": "2000-01-01", "commit": "", "versions": {}}
    figure |= {"command": shlex.join(["python", "-c", f"print({printed!r})"]), **fields}
    return {
        "sections": [{"title": "T", "text": "t", "columns": ["a", "of", "right"], "figures": [figure], "notes": []}]
    }


def test_the_page_is_what_the_data_say(evidence: ModuleType) -> None:
    data = json.loads((DOCS / "evidence.json").read_text())
    assert (DOCS / "evidence.md").read_text() == evidence.page(data)
    names = [figure["name"] for section in data["sections"] for figure in section["figures"]]
    assert len(names) == len(set(names)) > 30
    for section in data["sections"]:
        for figure in section["figures"]:
            assert len(figure["cells"]) == len(section["columns"]) == len(figure.get("fill", figure["cells"]))


@pytest.mark.parametrize(
    "printed", ["wrong: y\n3 cases: 2 right, 1 not run", "9 cases: 3 models, {'right': 2, 'not run': 1}"]
)
def test_figures_are_measured(evidence: ModuleType, monkeypatch: pytest.MonkeyPatch, printed: str) -> None:
    monkeypatch.setattr(evidence, "_commit", lambda: "abc")
    data = _data(printed, line=r"^\d+ cases:", fill=["x", "{total}", "{right}, {not run} not, {wrong} wrong"])
    evidence.measure(data, ["one"])
    figure = data["sections"][0]["figures"][0]
    assert figure["cells"] == ["x", "3", "2, 1 not, 0 wrong"]
    assert (figure["commit"], figure["versions"]["onnx"][:2]) == ("abc", "1.")
    assert "| x | 3 | 2, 1 not, 0 wrong | `one` |" in evidence.page(data)


def test_what_cant_be_measured_is_said(evidence: ModuleType) -> None:
    with pytest.raises(ValueError, match="no such figure: two\none is entered by hand, from: python -c"):
        evidence.measure(_data("nothing"), ["one", "two"])
    with pytest.raises(ValueError, match="no line is like"):
        evidence.measure(_data("nothing", line="cases", fill=[]), ["one"])
