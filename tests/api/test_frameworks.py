"""docs/tutorials/jax_frameworks.md: its examples run, and print what it shows.

python -m pip install flax equinox dm-haiku
python -m pytest -m corpus tests/api/test_frameworks.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "jax_frameworks.md"
MODULES = {"Flax linen": "flax", "Flax nnx": "flax", "Equinox": "equinox", "Haiku": "haiku"}
"""Section -> the module that it needs."""


def example(section: str) -> tuple[str, str]:
    """The code of a section, and what it says that this prints."""
    (found,) = re.findall(rf"^## {section}\n(.*?)(?=^## )", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    blocks = [
        textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n)+", found, re.MULTILINE) if block.strip()
    ]
    return blocks[0], blocks[1].strip()


@pytest.mark.corpus
@pytest.mark.parametrize("section", MODULES)
def test_example(section: str, tmp_path: Path) -> None:
    pytest.importorskip(MODULES[section], reason=f"{MODULES[section]} isn't installed")
    code, shown = example(section)
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == shown


def test_every_framework_has_an_example() -> None:
    sections = re.findall(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sections[: len(MODULES)] == list(MODULES) and all(map(example, MODULES))
