"""Estimators of scikit-learn -> ONNX (skl2onnx) -> IR and other opsets, each run and compared with the first ONNX.

cd tests; python -m real.sklearn_journey [part of a name ...]

A model is right where its own runtime gives what ONNX Runtime gives for what skl2onnx wrote; whether that is what
scikit-learn itself says is told besides, and no matter of a conversion.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from backedge.convert import load, save
from backedge.convert.files import to_dialect
from backedge.convert.format import format_of
from backedge.passes.errors import Unsupported
from openvino_lowering.worker import Worker

from .sklearn_models import Case, Feeds, as_sklearn, cases, exported

TARGETS: dict[str, tuple[str, int | None]] = {
    "IR": ("xml", None),
    "9": ("onnx", 9),
    "13": ("onnx", 13),
    "21": ("onnx", 21),
    "25": ("onnx", 25),
}
RTOL, ATOL = 1e-3, 1e-4  # ATOL in units of the largest number


def in_openvino(path: str, feeds: list[Feeds]) -> list[list[Any]]:
    from backedge.runtime.oracles.openvino_session import open_session

    session = open_session(Path(path), {"recompile": "never"})
    return [list(session.run(feed)[0].values()) for feed in feeds]


def in_onnxruntime(path: str, feeds: list[Feeds]) -> list[list[Any]]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    return [session.run(None, dict(feed)) for feed in feeds]


def _leaves(value: Any) -> Iterator[np.ndarray]:
    """The arrays of an output; of dictionaries the values in the order of their keys, and the keys."""
    if isinstance(value, dict):
        yield np.array(list(value))
        yield np.array(list(value.values()))
    elif isinstance(value, list) and not all(isinstance(one, int | float | str) for one in value):
        for one in value:
            yield from _leaves(one)
    else:
        yield np.asarray(value)


def difference(found: Sequence[Any], wanted: Sequence[Any], exactly_typed: bool = True) -> str:
    """How two runs differ, "" where they don't: floats within RTOL of each and ATOL of the largest, the rest exact."""
    for index, (one, other) in enumerate(zip(found, wanted, strict=False)):
        a_s, b_s = list(_leaves(one)), list(_leaves(other))
        if len(a_s) != len(b_s):
            return f"output {index}: {len(a_s)} tensors for {len(b_s)}"
        for a, b in zip(a_s, b_s, strict=True):
            text = "OUS"
            if exactly_typed and a.dtype != b.dtype and not (a.dtype.kind in text and b.dtype.kind in text):
                return f"output {index}: {a.dtype} for {b.dtype}"
            if a.shape != b.shape:
                return f"output {index}: shape {a.shape} for {b.shape}"
            if b.dtype.kind not in "fiub" or a.dtype.kind not in "fiub":
                if [str(item) for item in a.ravel()] != [str(item) for item in b.ravel()]:
                    return f"output {index}: other text"
                continue
            exact = b.dtype.kind in "iub" and a.dtype.kind in "iub"
            wide, of = a.astype(np.float64), b.astype(np.float64)
            largest = np.abs(of[np.isfinite(of)]).max(initial=0)
            if not np.allclose(wide, of, 0 if exact else RTOL, 0 if exact else ATOL * largest, equal_nan=True):
                return f"output {index}: {np.nanmax(np.abs(wide - of)):.3g} apart"
    return ""


def _all(found: list[list[Any]], wanted: list[list[Any]]) -> str:
    return next((told for one, other in zip(found, wanted, strict=True) if (told := difference(one, other))), "")


def checked(path: Path) -> str:
    """What onnx's checker has against a model, "" where nothing: it quarrels with some of skl2onnx's own, too."""
    try:
        onnx.checker.check_model(path, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return type(error).__name__ + ": " + " ".join(str(error).split())
    return ""


@dataclass(frozen=True)
class Result:
    """What became of a model in one target: "right", "refused", "wrong" (other numbers) or "failed" (doesn't run)."""

    word: str
    why: str = ""


class Journey:
    """Converts models and runs them, each runtime in a process of its own."""

    def __init__(self) -> None:
        self.onnxruntime, self.openvino = Worker(in_onnxruntime), Worker(in_openvino)

    def stop(self) -> None:
        self.onnxruntime.stop()
        self.openvino.stop()

    def travel(self, source: Path, feeds: list[Feeds], wanted: list[list[Any]]) -> dict[str, Result]:
        return {name: self._to(name, source, feeds, wanted) for name in TARGETS}

    def _to(self, name: str, source: Path, feeds: list[Feeds], wanted: list[list[Any]]) -> Result:
        suffix, opset = TARGETS[name]
        target = source.with_name(f"to{name}.{suffix}")
        try:
            save(to_dialect(load(source), format_of(target), opset), target)
        except Unsupported as error:
            return Result("refused", str(error))
        except Exception as error:
            return Result("failed", f"{type(error).__name__}: {error}")
        worker = self.openvino if suffix == "xml" else self.onnxruntime
        try:
            if suffix == "onnx" and (quarrel := checked(target)) and quarrel != checked(source):
                return Result("failed", quarrel)
            told = _all(worker.ask(str(target), feeds, timeout=120), wanted)
        except (RuntimeError, TimeoutError) as error:
            return Result("failed", " ".join(str(error).split()))
        return Result("wrong", told) if told else Result("right")


def visited(parts: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, Result], str]]:
    """Each case with zipmap and without: its name, its results, how skl2onnx's own model differs from scikit-learn."""
    journey = Journey()
    try:
        for case in cases():
            if parts and not any(part in case.name for part in parts):
                continue
            for zipmap in (True, False) if case.zipmap else (False,):
                yield _visit(journey, case, zipmap)
    finally:
        journey.stop()


def _visit(journey: Journey, case: Case, zipmap: bool) -> tuple[str, dict[str, Result], str]:
    name = f"{case.name}{' zipmap' if zipmap else ''}"
    try:
        model, estimator = exported(case, zipmap)
    except Exception as error:  # skl2onnx's own: told, and counted
        return name, {}, f"skl2onnx: {type(error).__name__}: {str(error).strip()[:80]}"
    feeds = case.data().feeds
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source.onnx")
        onnx.save(model, source)
        try:
            wanted = journey.onnxruntime.ask(str(source), feeds)
        except RuntimeError as error:
            return name, {}, f"ONNX Runtime: {' '.join(str(error).split())[:80]}"
        apart = _from_sklearn(estimator, feeds, wanted)
        return name, journey.travel(source, feeds, wanted), apart


def _from_sklearn(estimator: Any, feeds: list[Feeds], wanted: list[list[Any]]) -> str:
    try:
        said = [as_sklearn(estimator, feed) for feed in feeds]
    except Exception as error:
        return f"scikit-learn: {type(error).__name__}: {str(error).splitlines()[0][:60]}"
    for mine, theirs in zip(said, wanted, strict=True):
        flat = np.asarray(mine[0]).reshape(-1)
        other = np.concatenate([leaf.reshape(-1) for leaf in _leaves(theirs[0])])
        told = difference([other], [flat], exactly_typed=False)
        if told:
            return f"skl2onnx's differs from scikit-learn's: {told}"
    return ""


def main() -> None:
    words: dict[str, Counter[str]] = {name: Counter() for name in TARGETS}
    for name, results, apart in visited(sys.argv[1:]):
        print(
            f"{name:44} {' '.join(f'{target}:{result.word}' for target, result in results.items())}  {apart}",
            flush=True,
        )
        for target, result in results.items():
            words[target][result.word] += 1
            if result.why:
                print(f"    {target:3} {result.why[:200]}", flush=True)
    for target, found in words.items():
        print(f"{target:3} {', '.join(f'{count} {word}' for word, count in sorted(found.items()))}")


if __name__ == "__main__":
    main()
