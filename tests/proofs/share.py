"""How many conversions are proved: catalogue of control flow, onnx's node cases, models out of wheels, JAX programs.

python -m proofs.share [catalogue|cases|wheels|samples|jax] [--to 21,13,9,ir,ir-back,hlo-back,hlo-over,openvino]
                       [--every N] [--match TEXT] [--show] [--jobs N]      (from the folder tests)

A model is converted without being run, what was written is read again, and both are matched. `ir-back` is to IR and
from there to ONNX again, `hlo-over` to ONNX and from there to HLO, `openvino` the IR that OpenVINO itself makes.
Counted as proved are proofs modulo lemmas, too, and not those over the reals ("reals"); the second lines count which
operators proofs stop at, and which are lemmas. What OpenVINO itself makes of a model counts only where it is right: if
an input tells it apart from the model, it is "other".
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import onnx
from backedge.convert.files import load, save, to_hub
from backedge.convert.format import FORMATS
from backedge.convert.proof import matched
from backedge.passes.errors import BackedgeError, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.match.matching import Matching

from .refuting import refuted

SUFFIXES = {"ir": ".xml", "hlo": ".hlo"}


@dataclass
class Outcome:
    model: str
    target: str
    verdict: str  # "proved", "lemmas", "reals", "open", "other", "refused" or "failed"
    seconds: float = 0.0
    stops: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))


def converted(source: Path, target: str, folder: Path) -> Path:
    """The file that a target name leads to.

    Raises:
        BackedgeError: it can't be expressed.
    """
    kind, _, back = target.partition("-")
    if kind == "openvino":
        return _peers_ir(source, folder)
    if back == "over":
        over = folder / "over.onnx"
        save(load(source), over)
        path = folder / f"to{SUFFIXES[kind]}"
        save(load(over), path)
        return path
    if kind.isdigit():
        path = folder / f"to{kind}.onnx"
        save(load(source), path, opset=int(kind))
        return path
    path = folder / f"to{SUFFIXES[kind]}"
    save(load(source), path)
    if back:
        again = folder / "back.onnx"
        save(load(path), again)
        return again
    return path


def _peers_ir(source: Path, folder: Path) -> Path:
    """What OpenVINO's own converter writes.

    Raises:
        Unsupported: it doesn't.
    """
    import openvino

    path = folder / "peer.xml"
    try:
        openvino.save_model(openvino.convert_model(source), path, compress_to_fp16=False)
    except Exception as error:
        raise Unsupported(source.name, f"OpenVINO doesn't convert it: {type(error).__name__}") from None
    return path


def judging(a: Graph, b: Graph, target: str) -> Matching:
    """Two hub graphs matched, operators taken for what a target makes of them where that is needed."""
    kind = target.partition("-")[0]
    format = FORMATS["onnx" if kind.isdigit() else {"ir": "openvino", "hlo": "hlo"}.get(kind, kind)]
    return matched(a, b, format, int(kind) if kind.isdigit() else None)


def _is_other(a: Graph, b: Graph) -> bool:
    """Whether OpenVINO's converter made something else of a model: it gives other results, or doesn't end."""
    why = refuted(a, b, 60, 3.0)
    return bool(why) and not why.startswith("nearly")


def judged(source: tuple[str, Path], targets: list[str]) -> list[Outcome]:
    name, path = source
    found: list[Outcome] = []
    with tempfile.TemporaryDirectory() as scratch:
        try:
            a = to_hub(load(path))
        except BackedgeError as error:
            return [Outcome(name, target, f"refused: {error}") for target in targets]
        for target in targets:
            try:
                b = to_hub(load(converted(path, target, Path(scratch))))
            except BackedgeError as error:
                found.append(Outcome(name, target, f"refused: {error}"))
                continue
            began = time.process_time()
            try:
                result = judging(a, b, target)
            except Exception as error:
                found.append(Outcome(name, target, f"failed: {type(error).__name__}: {error}"))
                continue
            seconds = time.process_time() - began
            verdict = "open" if not result.proved else "lemmas" if result.lemmas else "proved"
            if verdict == "open" and matched(a, b, reals=True).proved:
                verdict = "reals"
            if verdict == "open" and target == "openvino" and _is_other(a, b):
                verdict = "other"
            stops = (sorted({node.op_type for node, _ in result.lemmas}), []) if result.proved else result.frontier()
            found.append(Outcome(name, target, verdict, seconds, stops))
    return found


def sources(group: str, folder: Path) -> Iterator[tuple[str, Path]]:
    if group == "catalogue":
        from control_flow.cases import CASES

        for case in CASES:
            path = folder / f"{case.name}.onnx"
            onnx.save(case.model(), path)
            yield case.name, path
    elif group == "jax":
        from hlo.programs import PROGRAMS, hlo_text

        for name, program in PROGRAMS.items():
            path = folder / f"{name}.hlo"
            path.write_text(hlo_text(program))
            yield name, path
    elif group == "cases":
        from opset.releases import GENERATED, cases

        for case in cases(GENERATED):
            yield case.name, case.path
    elif group == "wheels":
        from real.models import MODELS

        for model in MODELS:
            yield model.name, model.fetch()
    else:
        for path in sorted((Path(__file__).parents[2] / "samples").glob("*.onnx")):
            yield path.stem, path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "group", nargs="?", default="catalogue", choices=["catalogue", "cases", "wheels", "samples", "jax"]
    )
    parser.add_argument("--to", default="21,13,9,ir,ir-back,hlo-back")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--match", default="")
    parser.add_argument("--show", action="store_true", help="name the models that aren't proved")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    targets = options.to.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        chosen = [one for one in sources(options.group, Path(scratch)) if options.match in one[0]][:: options.every]
        with multiprocessing.Pool(options.jobs) as pool:
            found = [one for many in pool.imap(partial(judged, targets=targets), chosen, 4) for one in many]
    for target in targets:
        of = [one for one in found if one.target == target]
        count = Counter(one.verdict.split(":")[0] for one in of)
        proved = count["proved"] + count["lemmas"]
        right = proved + count["reals"] + count["open"] + count["failed"]
        times = sorted(one.seconds for one in of if one.verdict in ("proved", "lemmas", "open"))
        middle = f"median {1e3 * times[len(times) // 2]:.1f} ms, most {1e3 * times[-1]:.0f} ms" if times else ""
        print(f"{target}: {proved} of {right} proved ({100 * proved / max(1, right):.0f} %), {dict(count)}, {middle}")
        stops = Counter(stop for one in of for stop in {*one.stops[0], *(f"B {name}" for name in one.stops[1])})
        print("    stops:", ", ".join(f"{name} {number}" for name, number in stops.most_common(24)))
        for one in of:
            if one.verdict.startswith("failed") or (options.show and one.verdict in ("open", "reals")):
                print(f"    {one.model}: {one.verdict} {one.stops}")


if __name__ == "__main__":
    main()
