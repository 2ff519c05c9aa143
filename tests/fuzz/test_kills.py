"""Ten kills; `python -m fuzz.kills --count 1000` makes more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fuzz


def test_ten_kills(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "fuzz.kills", "--count", "10", "--seed", "0"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sum(int(line.split()[0]) for line in done.stdout.splitlines()) == 10
    assert not [path for path in tmp_path.iterdir() if path.name != ".ses"]  # ONNX Runtime's
