"""What mutation begins with: samples of the repository, the catalogue of control flow, ONNX's node cases, layers of
OpenVINO, random HLO modules, and what our own conversions make of these."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random

from backedge.convert.files import load, to_dialect
from backedge.convert.format import FORMATS
from backedge.passes.errors import BackedgeError
from onnx.backend.test.case.node import collect_testcases

from .sample import Sample

_SAMPLES = Path(__file__).parents[2] / "samples"
_MOST_BYTES = 60_000
SUFFIXES = {
    "onnx": (".onnx",),
    "openvino": (".xml",),
    "hlo": (".hlo",),
    "stablehlo": (".mlir", ".mlirbc"),
    "mdf": (".json", ".yaml", ".bson"),
}
_LAYERS = (
    "algebra conv corners detection elementwise index loops recurrent reduce regions resize shape signal sparse states "
    "strings"
)


def seeds(format: str, count: int, random: Random) -> list[Sample]:
    """About `count` small files of a format, half of them of its own kind where there are such."""
    own = {"openvino": _layers, "hlo": _modules, "mdf": _documents}.get(format)
    chosen = list(itertools.islice(own(random), count // 2)) if own is not None else []
    models = _models()
    random.shuffle(models)
    for number, model in enumerate(models):
        if len(chosen) >= count:
            break
        if format == "onnx":
            chosen.append(model)
        else:
            with contextlib.suppress(BackedgeError):
                suffixes = SUFFIXES[format]
                chosen.append(converted(model, format, suffixes[number % len(suffixes)], number % 2 == 1))
    stored = (path for suffix in SUFFIXES[format] for path in sorted(_SAMPLES.glob(f"*{suffix}")))
    chosen += [Sample(path.suffix, path.read_bytes(), _weights(path)) for path in stored]
    return [sample for sample in chosen if sample.size < _MOST_BYTES]


def converted(sample: Sample, format: str, suffix: str, stateful: bool = False) -> Sample:
    """What is written of a model in a format; `stateful`: in MDF's other style."""
    target = FORMATS[format]
    if stateful and "stateful" in target.styles:
        target = target.in_style("stateful")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"made{suffix}"
        target.write(to_dialect(load(sample.stored(Path(folder))), target), made)
        return Sample(suffix, made.read_bytes(), _weights(made))


def _weights(path: Path) -> bytes | None:
    weights = path.with_suffix(".bin")
    return weights.read_bytes() if path.suffix == ".xml" and weights.exists() else None


def _models() -> list[Sample]:
    """ONNX's node cases and the catalogue."""
    catalogue = importlib.import_module("control_flow.cases").CASES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = [case.model for case in collect_testcases(None) if case.model is not None]
    models = [*(case.model() for case in catalogue), *nodes]
    return [Sample(".onnx", data) for model in models if len(data := model.SerializeToString()) < _MOST_BYTES]


def _layers(random: Random) -> Iterator[Sample]:
    """Layers of OpenVINO, as it writes them itself."""
    import openvino as ov

    tables = [importlib.import_module(f"openvino_raising.built_{name}").CASES for name in _LAYERS.split()]
    tables.append(
        {
            name: lambda build=build: (build(),)
            for name, build in importlib.import_module("openvino_ir.models").MODELS.items()
        }
    )
    built = [build for table in tables for build in table.values()]
    random.shuffle(built)
    for build in built:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "made.xml"
            ov.serialize(build()[0], made)
            yield Sample(".xml", made.read_bytes(), made.with_suffix(".bin").read_bytes())


def _modules(random: Random) -> Iterator[Sample]:
    """Random modules."""
    from hlo.random_modules import module

    while True:
        yield Sample(".hlo", module(random.randrange(10**6)).text.encode())


def _documents(random: Random) -> Iterator[Sample]:
    """What MDF's own examples hold."""
    from mdf.examples import EXAMPLES

    from .trees import dump_tree

    for tree, suffix in itertools.product(EXAMPLES.values(), SUFFIXES["mdf"]):
        yield dump_tree(Sample(suffix, b""), tree)
