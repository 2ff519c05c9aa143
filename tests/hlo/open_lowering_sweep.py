"""Recorded cases with an open first dimension: raised, lowered to StableHLO, run by XLA at two sizes, compared with
what ONNX Runtime computes for the same inputs.

python -m hlo.open_lowering_sweep OUTDIR [--cases nodes|fixed|loops ...] [--every N] [part of a name ...]
(from the folder tests). OUTDIR/open_lowering.json has every verdict.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert.hlo.lowering import lower_graph
from backedge.convert.hlo.mlir.writer import to_module
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import BackedgeError
from openvino_lowering.corpus import Case, node_cases
from openvino_lowering.sweep import difference
from openvino_lowering.worker import Worker

from .lowering_sweep import CRASHED, LOWERED, RAISED, RAN, RIGHT, WRONG, Verdict, control_flow, fixed, summary

CLOSED = "no open size"  # ONNX Runtime takes no other size, or has other outputs than the recorded ones
NEVER = "refused with fixed sizes, too"
_SECONDS = 60
_MORE = 10  # elements more at the second size: no size that a constant would have
_PASSES = 3
_CASES = {"nodes": node_cases, "fixed": lambda: fixed(node_cases()), "loops": control_flow}


@dataclass
class Open:
    """A case's model with an open size, and runs of it: inputs, and what ONNX Runtime makes of them."""

    model: onnx.ModelProto
    runs: list[tuple[dict[str, Any], list[np.ndarray]]]


def run_onnx(model: bytes, feeds: dict[str, Any]) -> list[np.ndarray]:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def run_stablehlo(parts: list[bytes], path: Path, batches: list[dict[str, Any]]) -> list[list[np.ndarray]]:
    """The outputs of a module as the writer makes it, for each set of inputs."""
    from backedge.runtime.oracles.mlir_written import write_module
    from backedge.runtime.oracles.xla_session import open_session

    write_module(memoryview(b"".join(map(bytes, parts))), path, "mlir")
    session = open_session(path, {})
    return [list(session.run(feeds)[0].values()) for feeds in batches]  # type: ignore[arg-type]


def _choices(case: Case, inputs: Sequence[Any]) -> Iterator[list[int]]:
    """Which inputs may have an open first dimension: those that have as many entries as the first, the first alone."""
    arrays = [value if isinstance(value, np.ndarray) and value.ndim else None for value in inputs]
    first = next((at for at, value in enumerate(arrays) if value is not None), None)
    if first is None:
        return
    size = len(arrays[first])  # type: ignore[arg-type]
    if not size:
        return  # open sizes are 1 at least
    alike = [at for at, value in enumerate(arrays) if value is not None and len(value) == size]
    yield alike
    if alike != [first]:
        yield [first]


def _opened(case: Case, chosen: Sequence[int]) -> onnx.ModelProto:
    """The model with `batch` for the first dimension of these inputs, what follows of it inferred anew."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for at in chosen:
        dims = model.graph.input[at].type.tensor_type.shape.dim
        if not dims:
            raise ValueError("an input of no declared rank")
        dims[0].Clear()
        dims[0].dim_param = "batch"
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    for node in (*model.graph.node, *(node for function in model.functions for node in function.node)):
        _forget(node, len(case.sets[0][0][chosen[0]]))
    return onnx.shape_inference.infer_shapes(model)


def _forget(node: onnx.NodeProto, size: int) -> None:
    """Have bodies and branches no longer declare what was the size."""
    types = [attribute.tp for attribute in node.attribute if attribute.HasField("tp")]
    for graph in (attribute.g for attribute in node.attribute if attribute.HasField("g")):
        types += [value.type for value in (*graph.input, *graph.output, *graph.value_info)]
        for inner in graph.node:
            _forget(inner, size)
    for type in types:
        for dim in _tensor(type).shape.dim:
            if dim.dim_value == size:
                dim.Clear()


def _tensor(type: onnx.TypeProto) -> onnx.TypeProto.Tensor:
    """The tensor that a type is, or that what it holds is."""
    for kind in ("sequence_type", "optional_type"):
        if type.HasField(kind):
            return _tensor(getattr(type, kind).elem_type)
    return type.tensor_type


def opened(case: Case, oracle: Worker) -> Open | None:
    """The case with an open size, None where ONNX Runtime takes none."""
    inputs, outputs = case.sets[0]
    names = [value.name for value in case.model.graph.input]
    for chosen in _choices(case, inputs):
        try:
            model = _opened(case, chosen)
        except Exception:  # inference that fails tells that it can't be open
            continue
        runs: list[tuple[dict[str, Any], list[np.ndarray]]] = []
        for more in (0, _MORE):
            feeds: dict[str, Any] = {}
            for at, (name, value) in enumerate(zip(names, inputs, strict=False)):
                if value is None:
                    continue
                longer = at in chosen and more
                feeds[name] = np.resize(value, (len(value) + more, *value.shape[1:])) if longer else value
            try:
                made = oracle.ask(model.SerializeToString(), feeds, timeout=_SECONDS)
            except (RuntimeError, TimeoutError):
                break
            runs.append((feeds, made))
        if len(runs) == 2 and _as_recorded(case, runs[0][1], outputs) and _makes_passes(model, runs[1][0], oracle):
            size = len(inputs[chosen[0]])
            _say_outputs(model, (size, size + _MORE), [made for _, made in runs])
            return Open(model, runs)
    return None


def _say_outputs(model: onnx.ModelProto, batch: tuple[int, int], made: Sequence[Sequence[np.ndarray]]) -> None:
    """Declare the sizes of outputs as who wrote the model knows them: which are open, and which are the same at both
    sizes of the batch."""
    for value, *arrays in zip(model.graph.output, *made, strict=True):
        shapes = [array.shape for array in arrays]
        if len({*map(len, shapes)}) > 1:
            continue
        tensor = value.type.tensor_type
        names = [dim.dim_param for dim in tensor.shape.dim] or [""] * len(shapes[0])
        tensor.shape.SetInParent()
        del tensor.shape.dim[:]
        for name, *sizes in zip(names, *shapes, strict=True):
            name = "batch" if tuple(sizes) == batch else name
            tensor.shape.dim.add(**({"dim_value": sizes[0]} if len({*sizes}) == 1 else {"dim_param": name}))


def _makes_passes(model: onnx.ModelProto, feeds: dict[str, Any], oracle: Worker) -> bool:
    """Whether the other size suits loops, too, that make no pass with the recorded trip counts and conditions."""
    busy = {
        name: np.array(value.item() or _PASSES, value.dtype)
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype in (np.bool_, np.int64)
        else value
        for name, value in feeds.items()
    }
    try:
        oracle.ask(model.SerializeToString(), busy, timeout=_SECONDS)
    except RuntimeError:
        return False
    except TimeoutError:  # its condition never ends it
        pass
    return True


def _as_recorded(case: Case, made: Sequence[Any], outputs: Sequence[Any]) -> bool:
    """Whether ONNX Runtime has the recorded outputs: else it is no oracle here."""
    return len(made) == len(outputs) and all(
        isinstance(one, np.ndarray)
        and isinstance(other, np.ndarray)
        and not difference(one, other, case.rtol, case.atol)
        for one, other in zip(made, outputs, strict=True)
    )


def judge(case: Case, found: Open, worker: Worker, folder: Path) -> tuple[str, str]:
    """(stage, reason) of our conversion."""
    try:
        graph = raise_graph(read_model(found.model))
    except BackedgeError as error:
        return RAISED, str(error)
    try:
        parts = to_module(lower_graph(graph, open_sizes=True)).parts()
    except BackedgeError as error:
        return LOWERED if _is_lowered(case) else NEVER, str(error)
    except Exception as error:  # what should have been refused by name
        return CRASHED, f"{type(error).__name__}: {error}"
    try:
        made = worker.ask(
            [bytes(part) for part in parts], folder / "m.mlir", [feeds for feeds, _ in found.runs], timeout=_SECONDS
        )
    except (RuntimeError, TimeoutError) as error:
        return RAN, str(error)
    for results, (feeds, wanted) in zip(made, found.runs, strict=True):
        sizes = [list(np.shape(value)) for value in feeds.values()]
        if len(results) != len(wanted):
            return WRONG, f"{len(results)} outputs, not {len(wanted)}"
        for one, other in zip(results, wanted, strict=True):
            wrong = difference(one, other, case.rtol, case.atol)
            if wrong:
                return WRONG, f"at {sizes}: {wrong}"
    return RIGHT, ""


def _is_lowered(case: Case) -> bool:
    """Whether the case goes with fixed sizes."""
    try:
        lower_graph(raise_graph(read_model(case.model)))
    except BackedgeError:
        return False
    return True


def sweep(cases: Iterable[Case], folder: Path) -> Iterator[Verdict]:
    oracle, worker = Worker(run_onnx), Worker(run_stablehlo)
    try:
        for case in cases:
            if not case.sets:
                continue
            found = opened(case, oracle)
            yield Verdict(case.name, *((CLOSED, "") if found is None else judge(case, found, worker, folder)))
    finally:
        oracle.stop()
        worker.stop()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--cases", nargs="*", choices=[*_CASES], default=[*_CASES])
    parser.add_argument("--every", type=int, default=1, help="one of so many")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    options.outdir.mkdir(parents=True, exist_ok=True)
    verdicts: list[Verdict] = []
    for kind in options.cases:
        chosen = (
            case for case in _CASES[kind]() if not options.parts or any(part in case.name for part in options.parts)
        )
        with tempfile.TemporaryDirectory() as folder:
            for verdict in sweep(islice(chosen, 0, None, options.every), Path(folder)):
                verdicts.append(verdict)
                if verdict.stage not in (RIGHT, CLOSED):
                    print(f"{verdict.stage:11} {verdict.name}: {verdict.reason[:250]}", flush=True)
    told = [[verdict.name, verdict.stage, verdict.reason] for verdict in verdicts]
    (options.outdir / "open_lowering.json").write_text(json.dumps(told, indent=1))
    print(summary(verdict for verdict in verdicts if verdict.stage not in (CLOSED, NEVER)))
    print(f"{sum(verdict.stage == NEVER for verdict in verdicts)} more are refused with fixed sizes, too")
    print(f"{sum(verdict.stage == CLOSED for verdict in verdicts)} more take no other size in ONNX Runtime")
    sys.exit(any(verdict.stage in (WRONG, CRASHED) for verdict in verdicts))


if __name__ == "__main__":
    main()
