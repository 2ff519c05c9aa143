"""What other converters make of the random models of `fuzz.models`, by the same judge, beside ours.

python -m fuzz.peers --count N [--seed S] [--minutes M]

(from the folder tests). The ways are to another opset (`onnx.version_converter`), to the same one (onnxsim, where it is
installed) and to IR (`openvino.convert_model`).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import random
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import onnx.version_converter
import openvino as ov
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.passes.errors import Unsupported
from trust.judge import in_child

from . import running
from .judging import FINE, REFUSED, UNKNOWN, judged
from .maker import OPSETS
from .models import SILENCE, made_apart
from .paths import Job, prepare
from .running import CRASHED
from .truths import JUDGES, truth_of

Converter = Callable[[Path, Path, int], None]
"""A model's file, the file to be written, the opset where one is asked for."""


def _version_converter(source: Path, made: Path, opset: int) -> None:
    onnx.save(onnx.version_converter.convert_version(onnx.load(source), opset), made)


def _onnxsim(source: Path, made: Path, opset: int) -> None:
    model, _ = importlib.import_module("onnxsim").simplify(onnx.load(source))
    onnx.save(model, made)


def _convert_model(source: Path, made: Path, opset: int) -> None:
    ov.save_model(ov.convert_model(source), made, compress_to_fp16=False)


def _ours(source: Path, made: Path, opset: int) -> None:
    convert(source, made, verify=0, opset=opset if made.suffix == ".onnx" else None)


WAYS: dict[str, tuple[Converter, str, bool]] = {
    "onnx.version_converter": (_version_converter, "made.onnx", True),
    "backedge, opset": (_ours, "made.onnx", True),
    "onnxsim": (_onnxsim, "made.onnx", False),
    "openvino.convert_model": (_convert_model, "made.xml", False),
    "backedge, IR": (_ours, "made.xml", False),
}
"""Name -> what converts, the file, whether to another opset."""


def examined(job: Job, way: str) -> Iterator[str]:
    """What becomes of a model on one of the ways: a kind of `paths`, or "raises"."""
    convert_by, name, moves = WAYS[way]
    with TemporaryDirectory(prefix="fuzz-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source, made = Path(folder) / "source.onnx", Path(folder) / name
        source.write_bytes(job.model)
        model = onnx.load_model_from_string(job.model)
        names = [value.name for value in model.graph.output]
        runs = {
            oracle: running.run_file(oracle, source, job.feeds, names, **options) for oracle, options in JUDGES.items()
        }
        runs["executor"] = running.run_in(running.Ours(to_hub(load(source))), job.feeds)
        truth, _ = truth_of(runs, source, job.feeds, model.graph.output)
        cases = truth.cases(job.feeds)
        if not cases.feeds:
            yield UNKNOWN
            return
        opset = random.Random(job.seed).choice(OPSETS) if moves else model.opset_import[0].version
        try:
            convert_by(source, made, opset)
        except Unsupported:
            yield REFUSED
            return
        except Exception:
            yield "raises"
            return
        if name.endswith(".onnx"):
            run = running.run_onnx(made, cases.feeds, names)
        else:
            run = running.run_file("openvino", made, cases.feeds, names)
            cases.others = [None] * len(cases.feeds)
        yield next((event.kind for event in judged("way", run, cases)), FINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf)
    given = parser.parse_args()
    prepare()
    ways = [way for way in WAYS if way != "onnxsim" or importlib.util.find_spec("onnxsim")]
    counts: dict[str, Counter[Any]] = {way: Counter() for way in ways}
    end = time.monotonic() + 60 * given.minutes
    for seed in range(given.seed, given.seed + given.count):
        if time.monotonic() > end:
            break
        job = made_apart(seed)
        if job is None:
            continue
        for way in ways:
            try:
                (kind,) = in_child(partial(examined, job, way), SILENCE, "fork")
            except (ChildProcessError, ValueError):
                kind = CRASHED
            counts[way][kind] += 1
    for way, found in counts.items():
        print(f"{way}: {', '.join(f'{count} {kind}' for kind, count in found.most_common())}")


if __name__ == "__main__":
    main()
