"""What shows a maintainer a difference: the smallest pair of models, inputs, both results, a script, a README."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..passes.errors import InvalidModel
from ..passes.outputs import writing
from ..passes.scratch import scratch
from ..runtime.compare.record import Report
from ..runtime.compare.tolerance import Difference, measure_values
from ..runtime.locate.telling import lines
from ..runtime.oracles import ORACLES, run_file, version_of, why_unavailable
from .format import FORMATS
from .samples import as_declared, is_untyped, read_inputs
from .terminal import save_npz

_FIRST = "README.md"
"""What is read first."""

_SCRIPT = """import backedge
import numpy as np

inputs = dict(np.load("inputs.npz"))
for name, runtime in {runs}:
    print(name, backedge.run(name, inputs, on=runtime))
"""
"""How to run files on several runtimes, or on one that has no script of its own."""


def check_folder(folder: Path) -> None:
    """
    Raises:
        InvalidModel: it is a file, has something in it, or can't be made.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidModel(f"{folder}: there is something already")
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise InvalidModel(f"{folder}: no such folder to make it in")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InvalidModel(f"{folder}: the folder to make it in may not be written to")


def write_repro(folder: Path, staged: Path, smallest: Mapping[str, Any], report: Report, command: str) -> str:
    """Complete what was written into `staged` (models and inputs), and let it become `folder`.

    Returns:
        What became of the difference, in a line for the report.
    """
    files: Sequence[str] = smallest["files"]
    inputs = read_inputs(staged / "inputs.npz")
    runtimes = [FORMATS[name].runtime for name in smallest["formats"]]
    results: list[Any] = []
    for file, runtime, output in zip(files, runtimes, smallest["outputs"], strict=True):
        if why_unavailable(runtime):
            results.append(None)
            continue
        (outcome,) = run_file(runtime, staged / file, [as_declared(staged / file, inputs)])
        values = outcome.outputs or {}
        results.append(values.get(output, next(iter(values.values()), None)))
    written = {
        f"{name}.npz": value
        for name, value in zip(("expected", "actual"), results, strict=True)
        if isinstance(value, np.ndarray)
    }
    for name, value in written.items():
        save_npz({"output": value}, str(staged / name))
    difference = (
        None
        if any(value is None for value in results)
        else measure_values(*results, output=smallest["outputs"][0]).difference
    )
    survives = _survival(files, runtimes, results, difference)
    able = [name if value is not None else "executor" for name, value in zip(runtimes, results, strict=True)]
    is_plain = able[0] == able[1] in ORACLES and not any(is_untyped(value) for value in inputs.values())
    template = ORACLES[able[0]].script if is_plain else ""
    script = (template or _SCRIPT).format(files=repr(tuple(files)), runs=repr(list(zip(files, able, strict=True))))
    (staged / "run.py").write_text(script, encoding="utf-8")
    text = _readme(smallest, report, command, runtimes, survives, list(written))
    (staged / _FIRST).write_text(text, encoding="utf-8")
    with writing(folder):
        try:
            os.rename(staged, folder.resolve())
        except OSError:  # the folder is a disk of its own
            if not folder.is_dir():
                raise
            for file in sorted(staged.iterdir(), key=lambda file: file.name == _FIRST):
                shutil.move(file, folder / file.name)
    return survives


def _survival(
    files: Sequence[str], runtimes: Sequence[str], results: Sequence[Any], difference: Difference | None
) -> str:
    names = " and ".join(dict.fromkeys(runtimes))
    silent: dict[str, list[str]] = {}
    for file, name, value in zip(files, runtimes, results, strict=True):
        if value is None:
            silent.setdefault(name, []).append(file)
    if silent:
        texts = [f"{name} gave no result for {' and '.join(of)}" for name, of in silent.items()]
        return f"our executor shows the difference; {', '.join(texts)}"
    if difference is None:
        return f"the difference doesn't survive: our executor shows it, {names} doesn't on this machine"
    return f"the difference survives in {names}: {difference}"


def _readme(
    smallest: Mapping[str, Any],
    report: Report,
    command: str,
    runtimes: Sequence[str],
    survives: str,
    results: Sequence[str],
) -> str:
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
            *([f"- {', '.join(results)}: what the runtimes gave"] if results else []),
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


def staging(folder: Path | None) -> contextlib.AbstractContextManager[Path]:
    """A folder for what is written before it is complete, beside the one that it is to become.

    Raises:
        InvalidModel: none can be made there.
    """
    return scratch() if folder is None else scratch(folder.resolve().parent, folder)
