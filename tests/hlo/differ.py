"""Random HLO modules under XLA, and whatever we make of them: where do they differ?

python -m hlo.differ SEED COUNT [--stage executor|onnx|text|back|openvino ...] [--shrink] [--out FOLDER]

(from the folder tests). A module that fails is written to FOLDER (differ) with its inputs; --shrink leaves out
of it what it fails without.
"""

from __future__ import annotations

import argparse
import pickle
import re
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.files import load, to_hub
from backedge.convert.hlo.read import from_text
from backedge.convert.hlo.write import to_text
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph
from openvino_lowering.worker import Worker

from .random_modules import Module, module
from .single_op import as_onnx, hub_of
from .stages import NotRun, by_executor, by_onnxruntime, by_openvino, by_xla, parts

Arrays = Sequence[Any]
DEFAULT = ("executor", "onnx", "text", "back", "openvino")
_SECONDS = 40
_SLACK = 8.0


# comparing -----------------------------------------------------------------------------------------


def differs(found: Any, wanted: np.ndarray[Any, Any], error: float, zeros: bool, coarse: bool = False) -> str:
    """What is wrong with a result, "" where nothing is. `zeros`: their signs count."""
    found = np.asarray(found)
    if found.dtype.kind != "c" and wanted.dtype.kind == "c":
        wanted = parts(wanted)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{list(found.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind in "iub":
        same = np.asarray(found == wanted)
    else:
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        one, other = found.astype(wide), wanted.astype(wide)
        allowed = _SLACK * error + (1e-5 * np.abs(other) if coarse else 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same = (one == other) | (np.abs(one - other) <= allowed) | (np.isnan(one) & np.isnan(other))
            if zeros and not error and wide is np.float64:
                same &= ~((one == 0) & (other == 0) & (np.signbit(one) != np.signbit(other)))
    if np.all(same):
        return ""
    wrong = ~np.asarray(same)
    return f"{int(wrong.sum())} of {wrong.size}: {found[wrong][:3]}, not {wanted[wrong][:3]}"


def _compared(stage: str, found: Arrays, wanted: Arrays, errors: Sequence[float], **how: Any) -> str:
    if len(found) != len(wanted):
        return f"{stage}: {len(found)} results, not {len(wanted)}"
    for place, (one, other, error) in enumerate(zip(found, wanted, errors, strict=True)):
        told = differs(one, other, error, **how)
        if told:
            return f"{stage}: result {place}: {told}"
    return ""


# stages --------------------------------------------------------------------------------------------


def _executor(text: str, feeds: Arrays, wanted: Arrays, errors: Sequence[float], hub: Graph, folder: Path) -> str:
    return _compared("executor", by_executor(hub, list(feeds)), wanted, errors, zeros=False)


def _onnx(text: str, feeds: Arrays, wanted: Arrays, errors: Sequence[float], hub: Graph, folder: Path) -> str:
    path = folder / "model.onnx"
    as_onnx(hub, path)
    try:
        told = _compared("onnx", by_onnxruntime(path, list(feeds)), wanted, errors, zeros=False)
        where = "onnx by ONNX Runtime alone"
    except NotRun as error:
        told, where = "not run", f"onnx, not run: {error}"
    if not told:
        return ""
    here = _compared("onnx here", by_executor(to_hub(load(path)), list(feeds)), wanted, errors, zeros=False)
    if here:
        return here
    return f"~{where}: {told}"


def _text(text: str, feeds: Arrays, wanted: Arrays, errors: Sequence[float], hub: Graph, folder: Path) -> str:
    found = by_xla(to_text(from_text(text)), list(feeds), folder)
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        same = one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        if not same:
            return f"text: result {place} has other bits"
    return ""


def _back(text: str, feeds: Arrays, wanted: Arrays, errors: Sequence[float], hub: Graph, folder: Path) -> str:
    from backedge.convert.hlo.lowering import lower_graph

    written = to_text(lower_graph(hub))
    found = by_xla(written, [parts(np.asarray(feed)) for feed in feeds], folder)
    return _compared("back", found, wanted, errors, zeros=False)


def _openvino(text: str, feeds: Arrays, wanted: Arrays, errors: Sequence[float], hub: Graph, folder: Path) -> str:
    from backedge.convert.openvino.lowering import lower_graph
    from backedge.convert.openvino.write import write

    path = folder / "model.xml"
    write(lower_graph(hub), path)
    try:
        found, coarse = by_openvino(path, list(feeds))
    except NotRun as error:
        return f"~openvino, not run: {error}"
    told = _compared("openvino", found, wanted, errors, zeros=False, coarse=coarse)
    if not told:
        return ""
    here = _compared("ir here", by_executor(to_hub(load(path)), list(feeds)), wanted, errors, zeros=False)
    return here or f"~by OpenVINO alone: {told}"


STAGES: dict[str, Callable[..., str]] = {
    "executor": _executor,
    "onnx": _onnx,
    "text": _text,
    "back": _back,
    "openvino": _openvino,
}


def judge(made: Module, stages: Sequence[str]) -> dict[str, str]:
    """What is wrong, stage by stage: "" nothing, "~..." another's fault or refused; "xla" where XLA doesn't run it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            wanted = by_xla(made.text, made.inputs, folder)
        except NotRun as error:
            return {"xla": f"~{error}"}
        try:
            hub = hub_of(made.text)
        except Unsupported as error:
            return {"raise": f"~refused: {error}"}
        except Exception as error:
            return {"raise": _crash("raise", error)}
        told: dict[str, str] = {}
        for stage in stages:
            try:
                told[stage] = STAGES[stage](made.text, made.inputs, wanted, made.errors, hub, folder)
            except Unsupported as error:
                told[stage] = f"~{stage} refused: {error}"
            except Exception as error:
                told[stage] = _crash(stage, error)
        return told


def _crash(stage: str, error: Exception) -> str:
    import traceback

    kind = "INVALID" if isinstance(error, InvalidModel) else "CRASH"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename]
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-3:][::-1])
    return f"{stage}: {kind} {type(error).__name__}: {str(error)[:300]} ({where})"


def judge_seeds(seeds: Sequence[int], stages: Sequence[str]) -> list[dict[str, str]]:
    return [judge(module(seed), _asked(seed, stages)) for seed in seeds]


def _asked(seed: int, stages: Sequence[str]) -> list[str]:
    every = {"openvino": 5, "text": 4}
    return [stage for stage in stages if len(stages) == 1 or seed % every.get(stage, 1) == 0]


# shrinking -----------------------------------------------------------------------------------------

_LINE = re.compile(r"^(ROOT )?(\S+) = (\([^=]*?\)|\S+) ([a-z-]+)\((.*?)\)(, .*)?$")
_NAMES = re.compile(r"\bv\d+\b")


def fails_alike(made: Module, stage: str, worker: Worker) -> bool:
    try:
        told = worker.ask(made, [stage] if stage in STAGES else [], timeout=_SECONDS)
    except (RuntimeError, TimeoutError):
        return stage == "died"
    return any(one and not one.startswith("~") for one in told.values())


def shrink(made: Module, stage: str, worker: Worker, seconds: float = 120.0) -> Module:
    """Leave out results and instructions while it still fails."""
    end = time.monotonic() + seconds
    best, changed = made, True
    while changed and time.monotonic() < end:
        changed = False
        for candidate in _smaller(best):
            if time.monotonic() > end:
                break
            if fails_alike(candidate, stage, worker):
                best, changed = candidate, True
                break
    return best


def _smaller(made: Module) -> list[Module]:
    found = list(_fewer_results(made))
    for name in reversed(made.computations):
        lines = made.computations[name]
        for place in range(len(lines) - 1, -1, -1):
            for line in _simpler(lines, place):
                found.append(_cleaned(made, {**made.computations, name: [*lines[:place], line, *lines[place + 1 :]]}))
    return [one for one in found if one.text != made.text]


def _fewer_results(made: Module) -> list[Module]:
    found: list[Module] = []
    main = made.computations["main"]
    match = _LINE.match(main[-1])
    if match is None or len(made.errors) < 2:
        return found
    names, types = match[5].split(", "), re.findall(r"[a-z0-9]+\[[0-9,]*\]", match[3])
    for kept in range(len(names)):
        line = f"ROOT results = ({types[kept]}) tuple({names[kept]})"
        one = _cleaned(made, {**made.computations, "main": [*main[:-1], line]})
        found.append(Module(one.computations, one.inputs, [made.errors[kept]]))
    return found


def _simpler(lines: list[str], place: int) -> list[str]:
    """What an instruction may be instead: an earlier one of its type, a constant."""
    match = _LINE.match(lines[place])
    if match is None or match[4] in ("parameter", "constant", "tuple") or match[3].startswith("("):
        return []
    root, name, type = match[1] or "", match[2], match[3]
    found = []
    for other in reversed(lines[:place]):
        earlier = _LINE.match(other)
        if earlier is not None and earlier[3] == type and not (match[4] == "copy" and match[5] == earlier[2]):
            found.append(f"{root}{name} = {type} copy({earlier[2]})")
            break
    if match[4] == "copy":
        found = []
    if not (match[4] == "broadcast" and "constant" in match[5]) and type.split("[")[1] == "]" and type != "c64[]":
        found.append(f"{root}{name} = {type} constant({'true' if type == 'pred[]' else '1'})")
    return found


def _cleaned(made: Module, computations: dict[str, list[str]]) -> Module:
    """Without what nobody uses, and the copies that shrinking put there."""
    fresh: dict[str, list[str]] = {}
    for name, lines in computations.items():
        used: set[str] = set()
        kept: list[str] = []
        for line in reversed(lines):
            match = _LINE.match(line)
            if line.startswith("ROOT ") or " parameter(" in line or (match is not None and match[2] in used):
                kept.append(line)
                used.update(_NAMES.findall(line.split(" = ", 1)[1]))
        fresh[name] = kept[::-1]
    reached, stack = set(), ["main"]
    while stack:
        name = stack.pop()
        if name not in reached:
            reached.add(name)
            stack += (one for one in re.findall(r"\bc\d+\b", "\n".join(fresh[name])) if one in fresh)
    return Module({name: lines for name, lines in fresh.items() if name in reached}, made.inputs, made.errors)


# the run -------------------------------------------------------------------------------------------


def run(seeds: Sequence[int], stages: Sequence[str], batch: int = 12) -> dict[int, dict[str, str]]:
    """The verdicts on the modules of some seeds."""
    worker = Worker(judge_seeds)
    found: dict[int, dict[str, str]] = {}
    try:
        for start in range(0, len(seeds), batch):
            some = seeds[start : start + batch]
            try:
                found.update(zip(some, worker.ask(some, stages, timeout=_SECONDS * 2), strict=True))
            except (RuntimeError, TimeoutError):
                for seed in some:
                    try:
                        found[seed] = worker.ask([seed], stages, timeout=_SECONDS)[0]
                    except (RuntimeError, TimeoutError) as error:
                        found[seed] = {"died": str(error)}
    finally:
        worker.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--stage", action="append", choices=list(STAGES))
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("differ"))
    options = parser.parse_args()
    stages = options.stage or list(DEFAULT)
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    counts: Counter[str] = Counter()
    others: Counter[str] = Counter()
    worker = Worker(judge)
    for first in range(options.seed, options.seed + options.count, 100):
        seeds = list(range(first, min(first + 100, options.seed + options.count)))
        for seed, told in run(seeds, stages).items():
            for stage, reason in told.items():
                kind = "right" if not reason else "theirs or refused" if reason.startswith("~") else "WRONG"
                counts[f"{stage}: {kind}"] += 1
                if kind == "WRONG":
                    print(f"{seed} {reason[:400]}", flush=True)
                    made = module(seed)
                    if options.shrink:
                        made = shrink(made, stage, worker)
                    stem = options.out / f"{seed}_{stage}"
                    stem.with_suffix(".hlo").write_text(made.text)
                    stem.with_suffix(".pickle").write_bytes(pickle.dumps(made))
                elif reason:
                    if " alone: " in reason:
                        print(f"{seed} {reason[:300]}", flush=True)
                    others[re.sub(r"-?\d[\d.e+-]*|[vc]\d+", "#", reason)[:150]] += 1
    worker.stop()
    print("\n".join(f"{count:6} {reason}" for reason, count in others.most_common(40)))
    print("\n".join(f"{count:6} {kind}" for kind, count in sorted(counts.items())))
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
