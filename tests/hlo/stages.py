"""What is asked of each case, stage by stage. Everything here runs in a process of its own, which has no jax."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert.files import load, to_hub
from backedge.convert.hlo.read import from_text
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.runtime import run

from .single_op import as_onnx, hub_of

Arrays = list[np.ndarray]

Shape = tuple[str, tuple[int, ...]]
"""Element type and sizes."""


@dataclass(frozen=True)
class Case:
    """HLO text, its inputs, what jax computes.

    `stacks`: the sequences that its scans read and write, as far as no loop carries anything of such a type.
    """

    name: str
    families: frozenset[str]
    text: str
    feeds: list[np.ndarray]
    wanted: list[np.ndarray]
    loose: bool  # its values needn't be jax's
    refused: str  # it can't be expressed in ONNX, and these words say so
    scans: int
    stacks: frozenset[Shape]

    @property
    def has_control_flow(self) -> bool:
        return " while(" in self.text or " conditional(" in self.text


RIGHT, BY_EXECUTOR, LOOSE, NO_FORM = "right", "right*", "loose", "no form"
WRONG, REFUSED, INVALID, CRASHED, CHECKER, NOT_RUN = "WRONG", "refused", "INVALID", "CRASHED", "CHECKER", "not run"
DIED, HUNG, SKIPPED, NOT_ASKED = "DIED", "HUNG", "-", ""
THEIRS = "theirs"  # a runtime computes another thing than its file says, as our executor understands that
GOOD = frozenset({RIGHT, BY_EXECUTOR, LOOSE, NO_FORM, NOT_ASKED})
RTOL = {"bfloat16": 2e-2, "float16": 1e-3, "float32": 1e-5, "float64": 1e-10, "complex64": 1e-5, "complex128": 1e-10}


@dataclass
class Verdict:
    """How it went, why not better, and whatever else is worth knowing."""

    verdict: str
    reason: str = ""
    more: dict[str, Any] = field(default_factory=dict)


class NotRun(Exception):
    """A runtime doesn't take the file."""


def difference(found: Any, wanted: np.ndarray, coarse: bool = False) -> str:
    """What is wrong with an output; "" if nothing is. Tolerances are relative to the largest number there should be.

    Args:
        coarse: 64-bit numbers were computed in 32 bits.
    """
    found = np.asarray(found)
    if found.dtype.kind != "c" and wanted.dtype.kind == "c":  # a pair of real numbers, beyond the edge of the model
        wanted = parts(wanted)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{list(found.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind in "biu" or str(wanted.dtype).startswith(("int", "uint")):
        same = np.asarray(found == wanted)
    else:
        a, b = (array.astype(np.complex128 if wanted.dtype.kind == "c" else np.float64) for array in (found, wanted))
        limit = max(RTOL.get(str(wanted.dtype), 0.0), RTOL["float32"] if coarse else 0.0)
        scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same = np.asarray((a == b) | (np.abs(a - b) <= limit * scale) | (np.isnan(a) & np.isnan(b)))
    if same.all():
        return ""
    return f"{int((~same).sum())} of {same.size}: {_few(found[~same])}, not {_few(wanted[~same])}"


def _few(array: np.ndarray) -> str:
    return " ".join(str(value) for value in array[:3])


def parts(array: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real ones; any other array as it is."""
    return np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array


def compared(case: Case, found: Sequence[Any], coarse: bool = False) -> Verdict:
    if len(found) != len(case.wanted):
        return Verdict(WRONG, f"{len(found)} outputs, not {len(case.wanted)}")
    for place, (one, other) in enumerate(zip(found, case.wanted, strict=True)):
        wrong = difference(one, other, coarse)
        if wrong and case.loose and np.shape(one) == other.shape:
            return Verdict(LOOSE, wrong)
        if wrong:
            return Verdict(WRONG, f"output {place}: {wrong}")
    return Verdict(RIGHT)


# runtimes ------------------------------------------------------------------------------------------


def by_xla(text: str, feeds: Arrays, folder: Path, suffix: str = ".hlo") -> Arrays:
    from backedge.runtime.oracles.xla_session import open_session

    path = folder / f"run{suffix}"
    path.write_text(text)
    return _session(open_session, path, feeds)[0]


def by_onnxruntime(path: Path, feeds: Arrays) -> Arrays:
    from backedge.runtime.oracles.onnxruntime_session import open_session

    return _session(open_session, path, [parts(feed) for feed in feeds])[0]


def by_openvino(path: Path, feeds: Arrays) -> tuple[Arrays, bool]:
    from backedge.runtime.oracles.openvino_session import open_session

    return _session(open_session, path, [parts(feed) for feed in feeds])


def _session(open_session: Callable[..., Any], path: Path, feeds: Arrays) -> tuple[Arrays, bool]:
    try:
        session = open_session(path, {})
        found, fault = session.run({f"#{place}": feed for place, feed in enumerate(feeds)})
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise NotRun(" ".join(lines)[:400]) from None
    if fault:
        raise NotRun(f"known fault: {fault}")
    return [np.asarray(value) for value in found.values()], session.coarse


def by_executor(hub: Graph, feeds: Arrays) -> list[Any]:
    names = (value.name for value in hub.inputs)
    return list(run(hub, dict(zip(names, (parts(feed) for feed in feeds), strict=True))).values())


# stages --------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def raised(text: str) -> Graph:
    return hub_of(text)


def text_stage(case: Case, folder: Path) -> Verdict:
    """HLO text -> graph -> HLO text, which XLA must run to the same bits as what jax wrote."""
    from backedge.convert.hlo.write import to_text

    written = to_text(from_text(case.text))
    (folder / "text.hlo").write_text(written)
    found = by_xla(written, case.feeds, folder)
    for place, (one, other) in enumerate(zip(found, by_xla(case.text, case.feeds, folder), strict=True)):
        if one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes():
            return Verdict(WRONG, f"output {place}: other bits than XLA has for jax's own text")
    return compared(case, found)


def stablehlo_stage(case: Case, folder: Path) -> Verdict:
    """HLO -> StableHLO -> HLO: XLA must run both to the same bits as what jax wrote."""
    from backedge.convert.hlo.stablehlo import from_bytes, to_bytes
    from backedge.convert.hlo.write import to_text

    data = to_bytes(from_text(case.text))
    if b"mhlo." in data:
        return Verdict(WRONG, "it has attributes of a dialect of XLA's own")
    wanted = by_xla(case.text, case.feeds, folder)
    for what, found in (
        ("StableHLO", by_xla(data.decode(), case.feeds, folder, ".mlir")),
        ("HLO of StableHLO", by_xla(to_text(from_bytes(data)), case.feeds, folder)),
    ):
        for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
            if one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes():
                return Verdict(WRONG, f"output {place}: other bits than XLA has for jax's own text, from {what}")
    return compared(case, found)


def executor_stage(case: Case, folder: Path) -> Verdict:
    """HLO -> hub, run by our executor."""
    hub = raised(case.text)
    verdict = compared(case, by_executor(hub, case.feeds))
    verdict.more["operators"] = _counts(hub)
    return verdict


def _counts(hub: Graph) -> dict[str, int]:
    counts: dict[str, int] = {}
    for _, node in hub.walk():
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    return dict(sorted(counts.items()))


def onnx_stage(case: Case, folder: Path) -> Verdict:
    """HLO -> ONNX, which ONNX's checker must accept; run by ONNX Runtime, else by our executor."""
    path = _onnx(case, folder)
    try:
        return _blamed(case, compared(case, by_onnxruntime(path, case.feeds)), path)
    except NotRun as error:
        verdict = compared(case, by_executor(to_hub(load(path)), case.feeds))
        kept = BY_EXECUTOR if verdict.verdict == RIGHT else verdict.verdict
        return Verdict(kept, f"{verdict.reason} [ONNX Runtime: {error}]".strip())


def _onnx(case: Case, folder: Path) -> Path:
    path = folder / "model.onnx"
    as_onnx(raised(case.text), path)
    return path


def back_stage(case: Case, folder: Path) -> Verdict:
    """HLO -> ONNX -> HLO, run by XLA."""
    from backedge.convert.hlo.lowering.to_hlo import lower_graph
    from backedge.convert.hlo.write import to_text

    written = to_text(lower_graph(to_hub(load(_onnx(case, folder)))))
    (folder / "back.hlo").write_text(written)
    return compared(case, by_xla(written, [parts(feed) for feed in case.feeds], folder))


def openvino_stage(case: Case, folder: Path) -> Verdict:
    """HLO -> OpenVINO IR, run by OpenVINO."""
    from backedge.convert.openvino.lowering import lower_graph
    from backedge.convert.openvino.write import write

    path = folder / "model.xml"
    write(lower_graph(raised(case.text)), path)
    found, coarse = by_openvino(path, case.feeds)
    return _blamed(case, compared(case, found, coarse), path)


def _blamed(case: Case, verdict: Verdict, path: Path) -> Verdict:
    """What is wrong in a runtime alone is its own fault: our executor reads the same file and is right."""
    if verdict.verdict == WRONG and compared(case, by_executor(to_hub(load(path)), case.feeds)).verdict == RIGHT:
        verdict.verdict = THEIRS
    return verdict


def loops_stage(case: Case, folder: Path) -> Verdict:
    """Scans stay scans: no loop of the ONNX model carries a whole sequence."""
    loops = list(onnx_loops(onnx.load(_onnx(case, folder)).graph))
    told = [f"{loop['op']} carries {' '.join(bad)}" for loop in loops if (bad := _stacks_in(case, loop["carried"]))]
    if case.scans and loops and not any(loop["sliced"] or loop["stacked"] for loop in loops):
        told.append(f"none of its {len(loops)} loops slices or stacks anything")
    return Verdict(WRONG if told else RIGHT, "; ".join(told), {"loops": loops})


def _stacks_in(case: Case, carried: list[str]) -> list[str]:
    stacks = {f"{dtype}{list(shape)}" for dtype, shape in case.stacks}
    return [found for found in carried if found in stacks]


def onnx_loops(graph: onnx.GraphProto) -> Iterator[dict[str, Any]]:
    """Each Loop and Scan: what it carries, and of how many values a part goes in or comes out at each iteration."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from onnx_loops(attribute.g)
        attributes = {attribute.name: attribute for attribute in node.attribute}
        if node.op_type == "Loop":
            body = attributes["body"].g
            yield _loop("Loop", body.input[2:], 0, len(node.output) - len(node.input) + 2)
        elif node.op_type == "Scan":
            body, sliced = attributes["body"].g, attributes["num_scan_inputs"].i
            carried = body.input[: len(body.input) - sliced]
            yield _loop("Scan", carried, sliced, len(node.output) - len(carried))


def _loop(op: str, carried: Sequence[onnx.ValueInfoProto], sliced: int, stacked: int) -> dict[str, Any]:
    return {"op": op, "carried": [_described(value) for value in carried], "sliced": sliced, "stacked": stacked}


def _described(value: onnx.ValueInfoProto) -> str:
    tensor = value.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return f"{dtype}{[dim.dim_value if dim.HasField('dim_value') else dim.dim_param for dim in tensor.shape.dim]}"


STAGES: dict[str, Callable[[Case, Path], Verdict]] = {
    "text": text_stage,
    "stablehlo": stablehlo_stage,
    "executor": executor_stage,
    "onnx": onnx_stage,
    "back": back_stage,
    "openvino": openvino_stage,
    "loops": loops_stage,
}


def asked(stage: str, case: Case) -> bool:
    """OpenVINO is asked about control flow, the form of loops where there are scans. Callbacks are addresses in the
    process that traced them, where no other XLA can go."""
    if "callback" in case.families and stage in ("text", "stablehlo", "back"):
        return False
    return {"openvino": case.has_control_flow, "loops": bool(case.scans)}.get(stage, True)


def judge(stage: str, case: Case, folder: Path) -> Verdict:
    """The verdict on a case at a stage, whatever it raises."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return STAGES[stage](case, folder)
    except Unsupported as error:
        return Verdict(NO_FORM if case.refused and case.refused in str(error) else REFUSED, str(error))
    except InvalidModel as error:
        return Verdict(INVALID, str(error))
    except NotRun as error:
        return Verdict(LOOSE if case.loose and "draws" in str(error) else NOT_RUN, str(error))
    except AssertionError as error:
        return Verdict(CHECKER, str(error) or _where(error))
    except Exception as error:
        return Verdict(CRASHED, f"{type(error).__name__}: {str(error)[:300]} ({_where(error)})")


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "site-packages" not in frame.filename] or frames
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
