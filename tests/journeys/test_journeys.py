"""What five kinds of users do first, each in a new environment: install as README.md says, run a script, see a result.

The scripts next to this file use nothing but what README.md and the pages of `docs` tell. They bring models of their
own, and compare what the converted models give with NumPy, plain Python or the formats' own engines.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SOURCES = ("api", "convert", "passes", "runtime", "pyproject.toml", "README.md", "LICENSE")
_OF_THIS_PROCESS = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "BACKEDGE")


class Environment:
    """A new virtual environment, an empty folder to use it in, and a copy of the sources, as pip builds in them."""

    def __init__(self, folder: Path) -> None:
        self.clone, self.empty, programs = folder / "clone", folder / "empty", folder / "venv" / "bin"
        self.clone.mkdir()
        self.empty.mkdir()
        for name in _SOURCES:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.clone / name)
        self.variables = {name: of for name, of in os.environ.items() if not name.startswith(_OF_THIS_PROCESS)}
        self.variables["PATH"] = os.pathsep.join([str(programs), self.variables["PATH"]])
        self.variables["BACKEDGE_CACHE"] = str(folder / "cache")
        self.variables["COLUMNS"] = "120"
        self.run([sys.executable, "-m", "venv", str(folder / "venv")], folder)

    def run(self, command: list[str], folder: Path) -> str:
        """What a command prints, which must succeed."""
        found = shutil.which(command[0], path=self.variables["PATH"])
        assert found, command
        result = subprocess.run([found, *command[1:]], cwd=folder, env=self.variables, capture_output=True, text=True)
        assert result.returncode == 0, f"{command} ended with {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result.stdout


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    """Removed at the end: each is a gigabyte, and pytest keeps the folders of three runs."""
    yield Environment(tmp_path)
    shutil.rmtree(tmp_path)


JOURNEYS = {
    "opset9_device": (["."], "rounds 11"),
    "loop_in_openvino": (["."], "points that stay 154"),
    "jax_function": ([".[xla]"], "eigenvalue 7.393"),
    "equivalence_in_ci": ([".", "pytest"], "pytest: 1 failed, 1 passed"),
    "mdf_neuron": ([".[mdf]"], "passes 64"),
}
"""Script -> what is installed, the last line that it prints."""


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_user_gets_there(name: str, environment: Environment) -> None:
    packages, last = JOURNEYS[name]
    environment.run(["python", "-m", "pip", "install", "--quiet", *packages], environment.clone)
    shutil.copy(Path(__file__).with_name(f"{name}.py"), environment.empty)
    printed = environment.run(["python", f"{name}.py"], environment.empty)
    assert printed.splitlines()[-1] == last, printed


def test_every_script_is_run() -> None:
    assert sorted(JOURNEYS) == sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if path.stem[:5] != "test_"
    )
