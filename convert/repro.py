"""What shows a maintainer a difference: the smallest pair of models, inputs, both results, a script, a README."""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..passes.errors import InvalidModel
from ..runtime.compare.record import Report
from ..runtime.compare.tolerance import Difference, measure_values
from ..runtime.locate.telling import lines
from ..runtime.oracles import ORACLES, run_file, version_of, why_unavailable
from .format import FORMATS
from .terminal import save_npz

_SCRIPT = """from backedge.convert import verification

inputs = verification.read_inputs("inputs.npz")
for name, runtime in {runs}:
    print(name, verification.run_on(name, inputs, runtime))
"""
"""How to run files on several runtimes, or on one that has no script of its own."""


def check_folder(folder: Path) -> None:
    """
    Raises:
        InvalidModel: it is a file, has something in it, or can't be made.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidModel(f"{folder}: there is something already")
    if not folder.absolute().parent.is_dir():
        raise InvalidModel(f"{folder}: no such folder to make it in")


def write_repro(folder: Path, staged: Path, smallest: Mapping[str, Any], report: Report, command: str) -> str:
    """Complete what was written into `staged` (models and inputs), and put it into `folder`.

    Returns:
        What became of the difference, in a line for the report.
    """
    files: Sequence[str] = smallest["files"]
    inputs = dict(np.load(staged / "inputs.npz", allow_pickle=False))
    runtimes = [FORMATS[name].runtime for name in smallest["formats"]]
    results: list[Any] = []
    for file, runtime, output in zip(files, runtimes, smallest["outputs"], strict=True):
        if why_unavailable(runtime):
            results.append(None)
            continue
        (outcome,) = run_file(runtime, staged / file, [inputs])
        values = outcome.outputs or {}
        results.append(values.get(output, next(iter(values.values()), None)))
    for name, value in zip(("expected", "actual"), results, strict=True):
        if isinstance(value, np.ndarray):
            save_npz({"output": value}, str(staged / f"{name}.npz"))
    difference = (
        None
        if any(value is None for value in results)
        else measure_values(*results, output=smallest["outputs"][0]).difference
    )
    survives = _survival(runtimes, results, difference)
    template = ORACLES[runtimes[0]].script if runtimes[0] == runtimes[1] else ""
    script = (template or _SCRIPT).format(files=repr(tuple(files)), runs=repr(list(zip(files, runtimes, strict=True))))
    (staged / "run.py").write_text(script, encoding="utf-8")
    (staged / "README.md").write_text(_readme(smallest, report, command, runtimes, survives), encoding="utf-8")
    folder.mkdir(exist_ok=True)
    for file in staged.iterdir():
        shutil.move(str(file), folder / file.name)
    return survives


def _survival(runtimes: Sequence[str], results: Sequence[Any], difference: Difference | None) -> str:
    names = " and ".join(dict.fromkeys(runtimes))
    if any(value is None for value in results):
        return f"our executor shows the difference; {names} gave no result for one of the two models"
    if difference is None:
        return f"the difference doesn't survive: our executor shows it, {names} doesn't on this machine"
    return f"the difference survives in {names}: {difference}"


def _readme(smallest: Mapping[str, Any], report: Report, command: str, runtimes: Sequence[str], survives: str) -> str:
    rows = [] if report.location is None else [f"- {label}: {text}" for label, text in lines(report.location)]
    counts = [
        f"- {file}: {after} of the {before} operators of {source}"
        for file, (before, after), source in zip(
            smallest["files"], smallest["operators"], (report.a, report.b), strict=True
        )
    ]
    packages = dict.fromkeys(["backedge", "numpy", *(ORACLES[name].package for name in runtimes)])
    versions = [f"- {version_of(name)}" for name in packages]
    return "\n".join(
        [
            "# Two models that give different results",
            "",
            f"`python run.py` runs both on the same inputs (inputs.npz). Here {survives}.",
            "",
            *counts,
            "- expected.npz, actual.npz: the results of the two",
            "",
            "Where the whole models part:",
            "",
            *rows,
            "",
            "Made by:",
            "",
            f"    {command}",
            "",
            f"- Python {platform.python_version()}, {platform.system()} {platform.machine()}",
            *versions,
            "",
        ]
    )


def staging() -> tempfile.TemporaryDirectory[str]:
    """A folder for what is written before it is complete."""
    return tempfile.TemporaryDirectory(prefix="backedge-repro-")
