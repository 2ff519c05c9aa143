"""The rule on two files, everything in this process: what `verify` does in several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from backedge.convert import load, to_hub
from backedge.convert.executor_session import open_session as open_executor
from backedge.convert.rounding_session import open_session as open_rounding
from backedge.passes.graph import Graph
from backedge.runtime.compare.matching import match_names
from backedge.runtime.compare.record import Report
from backedge.runtime.compare.rounding import Rounding
from backedge.runtime.compare.runnables import Runnable
from backedge.runtime.compare.sides import Side
from backedge.runtime.compare.verdict import compare_sides
from backedge.runtime.oracles import Outcome
from backedge.runtime.wide.model import has_double


def _run(session: Any) -> Callable[[Any], Iterator[Outcome]]:
    def run(batches: Any) -> Iterator[Outcome]:
        for batch in batches:
            try:
                outputs, fault = session.run(batch)
            except Exception as error:
                yield Outcome(error=str(error)[:200] or type(error).__name__, stage="run")
            else:
                yield Outcome(outputs, fault=fault, coarse=session.coarse)

    return run


def _own(path: Path) -> Runnable:
    if path.suffix == ".onnx":
        from backedge.runtime.oracles.onnxruntime_session import open_session

        return Runnable("onnxruntime", _run(open_session(path, {})))
    from backedge.runtime.oracles.openvino_session import open_session as open_openvino

    return Runnable("openvino", _run(open_openvino(path, {})))


def side(path: Path) -> tuple[Side, Graph]:
    """A file on the executor and in its own runtime."""
    hub = to_hub(load(path))
    runnables = [Runnable("executor", _run(open_executor(path, {})), own=False), _own(path)]
    names = [value.name for value in hub.inputs], [value.name for value in hub.outputs]
    return Side(str(path), runnables, *names), hub


def compared(a: Path, b: Path, feeds: Sequence[Any], by_tolerance: bool = False) -> Report:
    """The report on two files; `by_tolerance`: by each element type's tolerance alone."""
    (side_a, hub_a), (side_b, hub_b) = side(a), side(b)
    inputs = match_names(side_a.inputs or [], side_b.inputs or []).pairs
    outputs = match_names(side_a.outputs or [], side_b.outputs or []).pairs
    options = {"other": str(b), "formats": [None, None], "inputs": inputs, "outputs": outputs}
    rounding = (
        None if by_tolerance else Rounding(_run(open_rounding(a, options)), has_double(hub_a) or has_double(hub_b))
    )
    return compare_sides(side_a, side_b, list(feeds), rounding=rounding)
