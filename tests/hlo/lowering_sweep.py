"""Recorded cases: raised, lowered to HLO, run by XLA, compared with the recorded outputs.

python -m hlo.lowering_sweep [--cases nodes|releases|fixed] [--text] [part of a name ...]   (from the folder tests)
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert.hlo.lowering import lower_graph
from backedge.convert.hlo.write import to_text
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import BackedgeError
from control_flow.cases import CASES as CATALOGUE
from openvino_lowering.corpus import KINDS, Case, node_cases
from openvino_lowering.sweep import difference
from openvino_lowering.worker import Worker

RAISED, LOWERED, CRASHED, RAN, RIGHT = "not raised", "refused", "crashed", "not run", "right"
WRONG, DRAWN = "wrong", "right but for what is drawn"
_SECONDS = 60
_DRAW = ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomUniform")


_INTEGERS = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)


def fixed(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases whose inputs behind the first hold axes, sizes and the like, these known before the model runs."""
    for case in cases:
        inputs, _ = case.sets[0] if case.sets else ((), ())
        chosen = [
            at
            for at, (info, value) in enumerate(zip(case.model.graph.input, inputs, strict=False))
            if at
            and (info.type.tensor_type.elem_type in _INTEGERS or info.name == "scales")
            and isinstance(value, np.ndarray)
            and value.ndim <= 1
            and value.size <= 16
        ]
        if not chosen or len(case.sets) != 1:
            continue
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        for at in chosen:
            model.graph.initializer.append(onnx.numpy_helper.from_array(inputs[at], model.graph.input[at].name))
        left = [info for at, info in enumerate(case.model.graph.input) if at not in chosen]
        del model.graph.input[:]
        model.graph.input.extend(left)
        kept = [value for at, value in enumerate(inputs) if at not in chosen]
        yield replace(case, name=f"{case.name}+fixed", model=model, sets=[(kept, case.sets[0][1])])


def control_flow() -> Iterator[Case]:
    """Each run of each loop and branch of the catalogue, with the sizes it has; once with trips and the like known."""
    for found in CATALOGUE:
        if "empty_shape" in found.tags:
            continue
        for number, run in enumerate(found.runs):
            for known in (False, True):
                model = found.model()
                if any(constant.name in run.inputs for constant in model.graph.initializer):
                    continue  # HLO has no defaults that could be overridden
                name = f"{found.name}/{number}{'+fixed' * known}"
                inputs = [info for info in model.graph.input if info.name in run.inputs]
                for info in inputs:
                    _settle(info, run.inputs[info.name])
                chosen = [info for info in inputs if known and _is_setting(run.inputs[info.name])]
                for info in chosen:
                    model.graph.initializer.append(onnx.numpy_helper.from_array(run.inputs[info.name], info.name))
                    model.graph.input.remove(info)
                if known and not chosen:
                    continue
                left = [run.inputs.get(info.name) for info in model.graph.input]
                yield Case(name, model, [(left, run.expected)])


def _settle(info: onnx.ValueInfoProto, value: np.ndarray) -> None:
    if info.type.HasField("tensor_type"):
        del info.type.tensor_type.shape.dim[:]
        info.type.tensor_type.shape.SetInParent()
        for size in value.shape:
            info.type.tensor_type.shape.dim.add().dim_value = size


def _is_setting(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size == 1 and value.dtype in (np.bool_, np.int64)


CASES: dict[str, Callable[[], Iterable[Case]]] = {**KINDS, "fixed": lambda: fixed(node_cases()), "loops": control_flow}


def is_drawn(case: Case) -> bool:
    """Whether a case draws random numbers, which nobody draws alike."""
    return any(node.op_type.startswith(_DRAW) for node in case.model.graph.node)


@dataclass(frozen=True)
class Verdict:
    """How far a case came, and why not further."""

    name: str
    stage: str
    reason: str = ""


def run_hlo(path: Path, feeds: dict[str, Any]) -> list[np.ndarray]:
    """The outputs of an HLO file."""
    from backedge.runtime.oracles.xla_session import open_session

    return list(open_session(path, {}).run(feeds)[0].values())  # type: ignore[arg-type]


def _compared(case: Case, worker: Worker, path: Path) -> tuple[str, str]:
    """(stage, reason) of a file that XLA runs."""
    names = [value.name for value in case.model.graph.input]
    for inputs, outputs in case.sets:
        feeds = {name: value for name, value in zip(names, inputs, strict=False) if value is not None}
        try:
            made = worker.ask(path, feeds, timeout=_SECONDS)
        except (RuntimeError, TimeoutError) as error:
            return RAN, str(error)
        if len(made) != len(outputs):
            return WRONG, f"{len(made)} outputs, not {len(outputs)}"
        for found, wanted in zip(made, outputs, strict=True):
            wrong = difference(found, wanted, case.rtol, case.atol)
            if wrong:
                return (DRAWN if is_drawn(case) and not wrong.startswith(("shape", "type")) else WRONG), wrong
    return RIGHT, ""


def judge(case: Case, worker: Worker, folder: Path, show: bool = False) -> tuple[str, str]:
    """(stage, reason) of our conversion."""
    try:
        graph = raise_graph(read_model(case.model))
    except BackedgeError as error:
        return RAISED, str(error)
    try:
        text = to_text(lower_graph(graph))
    except BackedgeError as error:
        return LOWERED, str(error)
    except Exception as error:  # what should have been refused by name
        return CRASHED, f"{type(error).__name__}: {error}"
    if show:
        print(text)
    path = folder / "model.hlo"
    path.write_text(text)
    return _compared(case, worker, path)


def sweep(cases: Iterable[Case], parts: Iterable[str] = (), show: bool = False) -> Iterator[Verdict]:
    """The verdict on each case whose name has one of the parts."""
    parts = tuple(parts)
    worker = Worker(run_hlo)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in cases:
                if not parts or any(part in case.name for part in parts):
                    yield Verdict(case.name, *judge(case, worker, Path(folder), show))
    finally:
        worker.stop()


def summary(verdicts: Iterable[Verdict]) -> str:
    """How many cases came how far, and what the refusals say, by reason."""
    verdicts = list(verdicts)
    counts = Counter(verdict.stage for verdict in verdicts)
    lines = [f"{len(verdicts)} cases: " + ", ".join(f"{count} {stage}" for stage, count in counts.most_common())]
    said = Counter(_kind(verdict.reason) for verdict in verdicts if verdict.stage == LOWERED)
    return "\n".join([*lines, *(f"{count:5} {reason}" for reason, count in said.most_common())])


def _kind(reason: str) -> str:
    """A refusal without the names in it."""
    reason = re.sub(r"^[\w.]+-\d+ '[^']*': ", "", reason)
    return re.sub(r"'[^']*'", "...", reason)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", choices=[*CASES], default="nodes")
    parser.add_argument("--text", action="store_true", help="print the HLO")
    parser.add_argument("parts", nargs="*")
    chosen = parser.parse_args()
    verdicts = []
    for verdict in sweep(CASES[chosen.cases](), chosen.parts, chosen.text):
        verdicts.append(verdict)
        if verdict.stage != RIGHT:
            print(f"{verdict.stage:11} {verdict.name}: {verdict.reason[:250]}", flush=True)
    print(summary(verdicts))


if __name__ == "__main__":
    main()
