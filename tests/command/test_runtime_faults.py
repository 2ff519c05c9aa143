"""docs/runtime-faults.md: every entry of the table with its model, and what the installed runtimes give."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "runtime-faults.md").read_text(encoding="utf-8")


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    import runtime_faults_models

    return runtime_faults_models


def shown(fault: Any) -> str:
    return "def " + inspect.getsource(fault.run).partition("\ndef ")[2].rstrip()


def test_the_page_has_all_entries_as_they_are(models: ModuleType) -> None:
    missing = [fault.name for fault in models.FAULTS if shown(fault) not in PAGE]
    assert missing == []
    assert PAGE.count('<a id="') == len(models.FAULTS)


def test_the_page_tells_no_fault_that_is_gone() -> None:
    assert "this version gives what is right" not in PAGE


@pytest.mark.full
@pytest.mark.timeout(300)
def test_the_runtimes_give_what_the_page_says() -> None:
    subprocess.run([sys.executable, str(DOCS / "runtime_faults.py"), "--check"], check=True)
