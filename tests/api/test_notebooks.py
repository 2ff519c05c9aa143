"""The notebooks of docs/notebooks: each runs from its own folder, and its assertions hold."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
QUICK = ("jax", "openvino")  # the others take twice as long
NEEDS = {"jax": ("jax", "jax"), "mdf": ("modeci_mdf", "modeci-mdf")}  # notebook -> module, what it is installed as

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def cells(path: Path, kind: str = "code") -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def run(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run as a file, since ONNX Script reads a function's source."""
    script = folder / "notebook.py"
    script.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(script)],
        cwd=FOLDER,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_there_is_one_for_each_kind_of_user() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["equivalence", "jax", "mdf", "openvino", "opset_downgrade"]


@pytest.mark.parametrize(
    "path",
    [pytest.param(one, marks=() if one.stem in QUICK else pytest.mark.full, id=one.stem) for one in NOTEBOOKS],
)
def test_runs(path: Path, tmp_path: Path) -> None:
    module, name = NEEDS.get(path.stem, ("backedge", "backedge"))
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{name} isn't installed")
    text = "\n\n".join("".join(cell["source"]) for cell in cells(path))
    assert len(re.findall(r"^\s*assert ", text, re.MULTILINE)) >= 5
    before = sorted(FOLDER.iterdir())
    done = run(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert sorted(FOLDER.iterdir()) == before


def test_an_assertion_that_fails_ends_a_notebook(tmp_path: Path) -> None:
    done = run("print('before')\n\nassert 1 + 1 == 3", tmp_path)
    assert done.returncode != 0 and "AssertionError" in done.stderr


@each
def test_is_stored_without_outputs(path: Path) -> None:
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(path))
    ids = [cell["id"] for cell in book["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one) for one in ids)
    assert 6 <= len(cells(path)) <= 10 and len(cells(path, "markdown")) >= 4
