"""run: a model once, on the executor or in a runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..passes.errors import BackedgeError, InvalidModel, Unsupported
from ..passes.graph import Graph
from ..passes.progress import stage
from ..passes.scratch import scratch
from ..passes.workarounds import keeping_to_the_text
from ..runtime import run as run_graph
from ..runtime.compare.runnables import on_file
from ..runtime.oracles import ORACLES, Values, why_unavailable
from .budget import OWN
from .files import judged, load, to_dialect
from .format import FORMATS, format_of
from .objects import Source, stored
from .samples import as_declared
from .specialize import set_shapes

EXECUTOR = "executor"


def run(
    source: Source,
    inputs: Mapping[str, Any],
    on: str = EXECUTOR,
    *,
    format: str | None = None,
    faithful: bool = False,
    timeout: float = OWN,
) -> dict[str, Values]:
    """Run a model once.

    Args:
        source: a file, or what `objects.stored` takes. What runs many times is loaded first: a `Graph` is made ready
            for the executor on the first call only.
        inputs: input name -> array of the declared dtype and shape (a list for a sequence, None for an empty optional).
        on: "executor", or a runtime, for which a model of another format than its own is converted where it doesn't
            read that, or can't load the file.
        format: of a file whose suffix doesn't say it.
        faithful: read the model as the text of its format says, where OpenVINO is known to do otherwise.
        timeout: seconds that a runtime may take.

    Returns:
        Output name -> array (or list, or None), in the order of the model's outputs.

    Raises:
        InvalidModel: the model, the inputs or the runtime can't be used.
        Unsupported: the model doesn't go into the runtime's format, or the executor lacks an operator.
        BackedgeError: the run failed; the runtime's own words.
    """
    if on == EXECUTOR and isinstance(source, Graph):
        return run_graph(source, inputs)
    with keeping_to_the_text(faithful), stored(source, format) as file:
        inputs = as_declared(file.path, inputs, file.format)
        if on == EXECUTOR:
            with judged(file.path, file.format):
                graph = load(file.path, file.format)
                stage("running", run=True)
                return run_graph(graph, inputs)
        reason = why_unavailable(on)
        if reason:
            raise InvalidModel(reason)
        found = format_of(file.path, file.format)
        suffix = file.path.suffix.lower()
        is_own = on in (found.runtime, found.second_runtime) and suffix not in found.unread
        outcome = None
        if is_own or suffix in ORACLES[on].suffixes:
            (outcome,) = on_file(on, file.path, timeout).run([dict(inputs)])
        if outcome is None or (outcome.stage == "load" and not is_own):
            with _converted(on, file.path, file.format, inputs) as path:
                (outcome,) = on_file(on, path, timeout).run([dict(inputs)])
    if outcome.outputs is None:
        if outcome.stage == "load":
            raise InvalidModel(f"{on}: {outcome.error}")
        raise BackedgeError(f"{on}: {outcome.error}")
    return dict(outcome.outputs)


@contextlib.contextmanager
def _converted(name: str, path: Path, format: str | None, inputs: Mapping[str, Values]) -> Iterator[Path]:
    """A conversion of the file for a runtime; where sizes must be known for it, with those of the inputs."""
    target = next(entry for entry in FORMATS.values() if name in (entry.runtime, entry.second_runtime))
    with scratch() as folder:
        made = folder / f"{path.stem}{target.suffixes[0]}"

        def write(graph: Graph, given: bool) -> None:
            target.write(to_dialect(graph, target.in_style(target.run_style), given=given), made)

        with judged(path, format):
            graph = load(path, format)
            sizes = _sizes(graph, inputs)
            try:
                write(graph, given=not sizes)
            except Unsupported:
                if not sizes:
                    raise
                set_shapes(graph, sizes)
                write(graph, given=True)
        yield made


def _sizes(graph: Graph, inputs: Mapping[str, Values]) -> dict[str, tuple[int, ...]]:
    """The shapes of arrays for inputs that leave a size open."""
    return {
        value.name: array.shape
        for value in graph.inputs
        if value.tensor.static_shape is None and isinstance(array := inputs.get(value.name), np.ndarray)
    }
