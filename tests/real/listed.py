"""Real models written with the operators of a list only: which are, and do they give the source's numbers?

python -m real.listed [--lists core,tensorrt8,...] [--opset N] [--samples] [part of a name ...]

(from the folder tests; wheels are fetched). ONNX Runtime runs the source and what was written on inputs that look like
what the model was made for; a result is right within a thousandth of its largest number, or where the verification
says "equal". Prints a line for each model and list: right, wrong, or how many nodes can't be written, with the
operators that are in the way.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
from backedge.convert import convert
from backedge.passes.errors import BackedgeError, NotLegal
from backedge.passes.operator_profiles import profiles

from .models import MODELS, Feeds

RTOL = 1e-3
SAMPLES = Path(__file__).parents[2] / "samples"


def runs(path: Path, feeds: list[Feeds]) -> list[list[np.ndarray]]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    return [[np.asarray(value) for value in session.run(None, dict(feed))] for feed in feeds]


def error(got: list[list[np.ndarray]], wanted: list[list[np.ndarray]]) -> float:
    """The largest difference, as a share of the largest number of its result."""
    most = 0.0
    for mine, theirs in zip(got, wanted, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                return np.inf
            if a.size and a.dtype.kind == "f":
                size = max(float(np.abs(b).max()), 1e-6)
                most = max(most, float(np.abs(a.astype(np.float64) - b).max()) / size)
            elif (a != b).any():
                most = np.inf
    return most


def sources(samples: bool) -> Iterator[tuple[str, Path, list[Feeds]]]:
    """Name, file and inputs; samples are verified instead."""
    if samples:
        yield from ((path.stem, path, []) for path in sorted(SAMPLES.glob("*.onnx")))
    else:
        yield from ((model.name, model.fetch(), model.feeds()) for model in MODELS)


def judged(source: Path, feeds: list[Feeds], name: str, opset: int | None, folder: Path) -> tuple[str, str]:
    """What became of a model, and a detail."""
    target = folder / "listed.onnx"
    try:
        report = convert(source, target, only_ops=name, opset=opset, verify=0 if feeds else 64)
    except NotLegal as refusal:
        found = Counter(getattr(one.node, "op_type", "?") for one in refusal.refusals)
        return "refused", f"{len(refusal.refusals)} nodes: {', '.join(f'{key} {n}' for key, n in found.most_common(6))}"
    except BackedgeError as failure:
        return "refused", str(failure)[:150]
    detail = f"{report.nodes[0]} -> {report.nodes[1]} nodes, opset {report.opset}"
    if not feeds:
        return ("right" if report.verdict in ("proved", "equal") else report.verdict), detail
    try:
        off = error(runs(target, feeds), runs(source, feeds))
    except Exception as failure:
        return "not run", f"{detail}, {str(failure)[-150:]}"
    if off > RTOL:  # a quantized net's ties turn by the last bit of what comes before them
        verdict = convert(source, target, only_ops=name, opset=opset).verdict
        return ("right" if verdict in ("proved", "equal") else verdict), f"{detail}, off by {off:.1e}, verified"
    return "right", f"{detail}, off by {off:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", default=",".join(profiles()))
    parser.add_argument("--opset", type=int)
    parser.add_argument("--samples", action="store_true", help="the samples, verified, instead of the wheels' models")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    tally: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path, feeds in sources(options.samples):
            if options.names and not any(part in name for part in options.names):
                continue
            for which in options.lists.split(","):
                started = time.monotonic()
                verdict, detail = judged(path, feeds, which, options.opset, Path(folder))
                tally.setdefault(which, Counter())[verdict] += 1
                print(f"{name:20} {which:10} {verdict:9} {time.monotonic() - started:6.1f} s  {detail}", flush=True)
    for which, counts in tally.items():
        print(f"{which:10} {', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}")


if __name__ == "__main__":
    main()
