"""Who is at fault where ONNX Runtime and our executor give different results: each operator alone in ONNX Runtime.

Our executor runs a model once more, with ONNX Runtime's result of each operator, run alone on the same operands, in the
place of its own. What then is the same as what ONNX Runtime gives for the model differs by operators alone, and by
rounding that one hands on to the next; `known` says which operators differ, and why.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph, Node, Value
from backedge.passes.loop import Loop, Stacked, is_loop
from backedge.passes.protos import node_to_proto
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.oracles import onnxruntime_session, reference_session
from backedge.runtime.plan import Call, normal
from onnx import helper
from trust.judge import ROUNDING, nudged, units

from .evaluate import proto, type_of
from .inexact import noises
from .known import known_fault, undefined
from .maker import ir_version

_MOST = 4000
"""Calls of operators that are held against ONNX Runtime; a model of more isn't settled."""

_MOST_OF_ONE = 30
"""Those of one node that never differed, as in a loop of many passes; the executor's own results stay after that."""

_OWN = ("", "ai.onnx.ml")

ROUNDS = "rounding, as inexact as it is"

_FORMER = {"Resize": "Upsample", "ScatterElements": "Scatter"}
"""Operators, and what they were called once."""


class TooLong(BaseException):
    """There are more calls than are looked at; no error that an executor could take for its own."""


@dataclass
class Settled:
    """What was found.

    Attributes:
        outputs: the model's, with the operators of ONNX Runtime.
        known: what is known to be wrong, or not defined, one line each.
        unknown: operators that differ, and nothing is known of it; one line each.
        refused: the executor fails at an operator that onnx's reference doesn't take the operands of, either, or of
            which nobody says what it makes of them.
        unsized: a loop has stacked nothing, over no passes: nobody says which sizes its other axes have, nor what
            follows from them.
    """

    outputs: list[Any] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    refused: bool = False
    unsized: bool = False


def opset_of(path: Path) -> int:
    """The version of ONNX's own operators that a file is written in."""
    imports = onnx.load(path, load_external_data=False).opset_import
    return next((entry.version for entry in imports if entry.domain in ("", "ai.onnx")), 1)


def settled(graph: Graph, feed: Mapping[str, Any], opset: int | None = None) -> Settled:
    """Our executor with ONNX Runtime's operators on a feed; without outputs where it fails.

    Args:
        graph: dialect "hub".
        feed: its inputs.
        opset: in which the operators are run, where they have such a version: kernels of others may compute otherwise,
            or not be there.

    Raises:
        TooLong: it takes too many calls.
    """
    found = Settled()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        alone = _Alone(Path(folder), found, opset)
        executor = Executor(graph, compiler=never_compile, watch=alone.watched)
        with np.errstate(all="ignore"), contextlib.suppress(BackedgeError):
            outputs = executor.run(feed)
            found.outputs = [outputs[value.name] for value in graph.outputs]
    return found


class _Alone:
    """Runs operators alone in ONNX Runtime."""

    def __init__(self, folder: Path, found: Settled, opset: int | None) -> None:
        self._folder, self._found, self._opset = folder, found, opset
        self._sessions: dict[Any, onnxruntime_session.OnnxRuntimeSession | None] = {}
        self._calls: Counter[int] = Counter()
        self._differing: set[int] = set()
        self._models = 0

    def watched(self, node: Node, call: Call) -> Call:
        if is_loop(node):
            return self._stacking(node, call)
        if node.regions or node.domain not in _OWN:
            return call

        def run(*operands: Any) -> Any:
            if self._calls[id(node)] >= _MOST_OF_ONE and id(node) not in self._differing:
                return call(*operands)
            self._calls[id(node)] += 1
            if self._calls.total() > _MOST:
                raise TooLong
            try:
                made = call(*operands)
            except Exception:
                self._found.refused = self._is_refused(node, operands)
                raise
            mine = list(map(normal, made if isinstance(made, tuple) else (made,)))
            theirs = self._results(node, operands, mine)
            if theirs is None:
                return made
            taken = [b if b is not None else a for a, b in zip(mine, theirs, strict=True)]
            distance = _apart(mine, taken)
            if distance > ROUNDING:
                self._differing.add(id(node))
            if distance > ROUNDING and distance > 4 * self._noise(node, operands, taken, mine):
                self._tell(node, operands, mine, taken)
            return tuple(taken) if isinstance(made, tuple) else taken[0]

        return run

    def _stacking(self, node: Node, call: Call) -> Call:
        """The loop's call; what it stacks over no passes is noted."""
        stacked = [
            (node.outputs.index(entry.result), entry.slot.axis)
            for entry in Loop(node).of(Stacked)
            if entry.result is not None and isinstance(entry.slot, Stacked)
        ]

        def run(*operands: Any) -> Any:
            made = call(*operands)
            results = made if isinstance(made, tuple) else (made,)
            shapes = [(np.shape(results[place]), axis) for place, axis in stacked if results[place] is not None]
            self._found.unsized |= any(shape[axis] == 0 for shape, axis in shapes if len(shape) > 1)
            return made

        return run

    def _tell(self, node: Node, operands: Sequence[Any], mine: Sequence[Any], theirs: Sequence[Any]) -> None:
        line = f"{node.op_type}-{node.version}"
        told = known_fault(node, operands, mine, theirs)
        if not told and self._is_confirmed(node, operands, mine):
            told = f"onnx's reference gives what we do, {shown(mine)}, ONNX Runtime {shown(theirs)}"
        if not told and _apart(mine, theirs) <= 4 * self._carried(node, operands, mine):
            told = ROUNDS
        if told:
            self._found.known.append(f"{line}: {told}")
        else:
            self._found.unknown.append(f"{line}: {shown(theirs)} against {shown(mine)} of {shown(operands)}")

    def _carried(self, node: Node, operands: Sequence[Any], mine: Sequence[Any]) -> float:
        """How far the errors that its runtimes may make carry the results of an inexact operator."""
        path, feed = self._stored(node, operands, mine)
        wanted = [one for one, value in zip(mine, node.outputs, strict=False) if value.name]
        try:
            return max(noises(to_hub(load(path)), feed, wanted, _apart, always=True), default=0.0)
        except BackedgeError:
            return 0.0

    def _is_confirmed(self, node: Node, operands: Sequence[Any], mine: Sequence[Any]) -> bool:
        """Whether onnx's reference gives what our executor does."""
        path, feed = self._stored(node, operands, mine)
        try:
            outputs, fault = reference_session.open_session(path, {}).run(feed)
        except Exception:
            return False
        theirs = [outputs.get(f"o{k}", value) for k, value in enumerate(mine)]
        return not fault and _apart(mine, theirs) <= ROUNDING

    def _is_refused(self, node: Node, operands: Sequence[Any]) -> bool:
        """Whether onnx's reference doesn't take these operands, either, or nothing is said of them."""
        if undefined(node, operands):
            return True
        path, feed = self._stored(node, operands, None)
        try:
            reference_session.open_session(path, {}).run(feed)
        except Exception:
            return True
        return False

    def _results(self, node: Node, operands: Sequence[Any], mine: Sequence[Any]) -> list[Any] | None:
        """ONNX Runtime's results, None for those that nobody wants; None where it has none."""
        key = (id(node), *((type_of(one), np.shape(one) if not isinstance(one, list) else ()) for one in operands))
        if key not in self._sessions:
            try:
                path = self._as_written(self._stored(node, operands, mine)[0], node)
                self._sessions[key] = onnxruntime_session.open_session(path, {"level": "disable_all", "seconds": 3})
            except Exception:  # a type or an operator that it doesn't have
                self._sessions[key] = None
        session = self._sessions[key]
        if session is None:
            return None
        try:
            outputs, _ = session.run(_given(node, operands)[1])
        except Exception:
            return None
        return [outputs.get(f"o{k}") for k in range(len(mine))]

    def _stored(self, node: Node, operands: Sequence[Any], mine: Sequence[Any] | None) -> tuple[Path, dict[str, Any]]:
        """A model of the node alone; its results are declared where they are known."""
        names, feed = _given(node, operands)
        wanted = {value: f"o{k}" for k, value in enumerate(node.outputs) if value.name}
        made = node_to_proto(node, lambda value: wanted.get(value) or names[value])
        inputs = [helper.make_value_info(name, _type(value)) for name, value in feed.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in wanted.values()]
        if mine is not None:
            known = {f"o{k}": value for k, value in enumerate(mine)}
            outputs = [
                helper.make_value_info(one.name, _type(known[one.name], True)) for one in outputs if one.name in known
            ]
        graph = helper.make_graph([made], "g", inputs, outputs)
        imports = [helper.make_opsetid(node.domain, node.version)]
        ir = ir_version(node.version if node.domain == "" else 21)
        self._models += 1
        path = self._folder / f"{self._models}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=ir), path)
        return path, feed

    def _as_written(self, path: Path, node: Node) -> Path:
        """The model of the node in the opset that is asked for, if that has such an operator: what is made of others
        tells nothing of its kernel."""
        if self._opset is None or node.domain or node.version <= self._opset:
            return path
        older = path.with_suffix(".older.onnx")
        try:
            convert(path, older, opset=self._opset, verify=0)
        except BackedgeError:
            return path
        left = {made.op_type for made in onnx.load(older).graph.node}
        return path if left.isdisjoint((node.op_type, _FORMER.get(node.op_type))) else older

    def _noise(self, node: Node, operands: Sequence[Any], theirs: Sequence[Any], mine: Sequence[Any]) -> float:
        """How far the neighbours of the operands carry the results."""
        most = 0.0
        feed = {str(k): operand for k, operand in enumerate(operands)}
        if not any(isinstance(one, np.ndarray) and one.dtype.kind == "f" for one in operands):
            return most
        for seed in range(3):
            moved = self._results(node, list(nudged(feed, seed).values()), mine)
            if moved is not None:
                most = max(
                    most, _apart(theirs, [a if a is not None else b for a, b in zip(moved, theirs, strict=True)])
                )
        return most if np.isfinite(most) else 0.0


def _given(node: Node, operands: Sequence[Any]) -> tuple[dict[Value, str], dict[str, Any]]:
    """A name for each value that the node gets, and what it is."""
    given = {
        value: one for value, one in zip(node.inputs, operands, strict=True) if value is not None and one is not None
    }
    names = {value: f"i{k}" for k, value in enumerate(given)}
    return names, {names[value]: one for value, one in given.items()}


def _type(value: Any, is_open: bool = False) -> onnx.TypeProto:
    """The type of an example, with its sizes or only its rank."""
    shape = None if isinstance(value, list) else np.shape(value)
    return proto(type_of(value), [None] * len(shape) if is_open and shape is not None else shape)


def _apart(a: Sequence[Any], b: Sequence[Any]) -> float:
    return max((units(plain(x), plain(y)) for x, y in zip(a, b, strict=True)), default=0.0)


def is_narrow(array: np.ndarray[Any, Any]) -> bool:
    """Whether it holds floats that NumPy itself doesn't know; one of their types says that it does."""
    return array.dtype.kind == "V" or (array.dtype.kind == "f" and array.dtype.itemsize == 1)


def plain(value: Any) -> Any:
    """Text as objects; narrow floats as float32, whose steps are as coarse as half's, or coarser."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    array = np.asarray(value)
    if is_narrow(array):
        return array.astype(np.float32)
    return array.astype(object) if array.dtype.kind in "UT" else array


def shown(values: Sequence[Any]) -> str:
    return ", ".join(shown_value(value) for value in values)


def shown_value(value: Any) -> str:
    """Type, shape and first elements."""
    if isinstance(value, list):
        return f"[{', '.join(map(shown_value, value[:3]))}]"
    array = np.asarray(value)
    return f"{array.dtype}{list(array.shape)} {' '.join(map(str, array.reshape(-1)[:6]))}"
