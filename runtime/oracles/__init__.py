"""The formats' own runtimes, each in a process of its own with a time limit.

    >>> import numpy as np
    >>> [outcome] = run_file("onnxruntime", Path("m.onnx"), [{"x": np.ones(2, np.float32)}])
    >>> outcome.outputs
    {'y': array([2., 2.], dtype=float32)}

A new runtime is a row of `ORACLES` and a module with `open_session(path, options) -> Session`.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...passes.errors import InvalidModel
from ...passes.libraries import missing
from .driver import drive
from .outcome import Batch, Outcome, Stage, Values, one_line
from .states import NEXT_STATE_SUFFIX, state_input_name, state_output_name

__all__ = [
    "NEXT_STATE_SUFFIX",
    "ORACLES",
    "Batch",
    "Oracle",
    "Outcome",
    "Stage",
    "Values",
    "one_line",
    "run_file",
    "state_input_name",
    "state_output_name",
    "stream_file",
    "version_of",
    "why_unavailable",
    "why_unread",
]


@dataclass(frozen=True, slots=True)
class Oracle:
    """A runtime that isn't ours.

    Attributes:
        name: what users call it.
        module: the module of this package that the child imports.
        package: the Python package that must be installed.
        suffixes: the files it takes have names that end so; none where it tells by what is in them.
        script: how people run files ({files}, a tuple of names) on the inputs in inputs.npz with it alone.
    """

    name: str
    module: str
    package: str
    suffixes: tuple[str, ...]
    script: str = ""


_ONNXRUNTIME = """import numpy as np
import onnxruntime

inputs = dict(np.load("inputs.npz"))
for name in {files}:
    session = onnxruntime.InferenceSession(name, providers=["CPUExecutionProvider"])
    wanted = [value.name for value in session.get_inputs()]
    print(name, session.run(None, {{name: inputs[name] for name in wanted}}))
"""
_OPENVINO = """import numpy as np
import openvino

inputs = dict(np.load("inputs.npz"))
for name in {files}:
    model = openvino.Core().compile_model(name, "CPU")
    wanted = [value.any_name for value in model.inputs]
    print(name, model({{name: inputs[name] for name in wanted}}).to_dict())
"""

ORACLES: dict[str, Oracle] = {
    oracle.name: oracle
    for oracle in (
        Oracle("onnxruntime", "onnxruntime_session", "onnxruntime", (".onnx",), _ONNXRUNTIME),
        Oracle("reference", "reference_session", "onnx", (".onnx",)),
        Oracle("openvino", "openvino_session", "openvino", (".xml", ".onnx"), _OPENVINO),
        Oracle("xla", "xla_session", "jaxlib", ()),
        Oracle("mdf", "mdf_session", "modeci_mdf", (".json", ".yaml", ".yml", ".bson")),
    )
}


def version_of(package: str) -> str:
    """`name version` of a Python package, as reports have it."""
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package} (not installed)"


def why_unavailable(oracle: str) -> str:
    """Why this runtime can't be used here; "" if it can.

    Raises:
        InvalidModel: there is no runtime of this name.
    """
    row = ORACLES.get(oracle)
    if row is None:
        raise InvalidModel(f"no runtime {oracle!r}; there are {', '.join(ORACLES)}")
    return missing(row.package)


def why_unread(oracle: str, path: Path, timeout: float = 60.0) -> str:
    """Why this runtime's reader refuses a file, in its own words; "" where it reads it.

    Also "" where nobody can say: the runtime isn't installed, takes longer, or dies of it.
    """
    if why_unavailable(oracle):
        return ""
    (outcome,) = drive("reading", Path(path).absolute(), [{}], timeout, 2 * timeout, {"runtime": oracle})
    return outcome.error if outcome.stage == "run" else ""


def stream_file(
    oracle: str,
    path: Path,
    batches: Iterable[Batch],
    timeout: float = 60.0,
    *,
    total: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Iterator[Outcome]:
    """As `run_file`, but each outcome is made when it is asked for; close the iterator to end the process early."""
    row = ORACLES.get(oracle)
    reason = why_unavailable(oracle)
    path = Path(path).absolute()
    if not reason and row and row.suffixes and not path.name.lower().endswith(row.suffixes):
        reason = f"{oracle} takes {', '.join(row.suffixes)} files, not {path.name}"
    if reason or row is None:
        return (Outcome(error=reason, stage="load") for _ in batches)
    return drive(row.module, path, batches, timeout, 10 * timeout if total is None else total, dict(options or {}))


def run_file(
    oracle: str,
    path: Path,
    batches: Iterable[Batch],
    timeout: float = 60.0,
    *,
    total: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[Outcome]:
    """Run a file on its own runtime, in a process that is made anew when an input kills or hangs it.

    Args:
        oracle: a name in `ORACLES`.
        path: the model's file; what belongs to it (external data, weights) is found beside it.
        batches: sets of inputs, name -> value. Values are arrays, lists (sequences) or None (an empty
            optional). If the names aren't the model's, the order counts.
        timeout: seconds that each set of inputs may take; loading may too, but it has 30 at least.
        total: seconds for everything together, 10 timeouts if left out; what is left is then skipped.
        options: settings of the runtime, see its module.

    Returns:
        One outcome for each set of inputs, in order. An unusable runtime or a refused model is an
        outcome of stage "load" for each of them, never an exception.
    """
    return list(stream_file(oracle, path, batches, timeout, total=total, options=options))
