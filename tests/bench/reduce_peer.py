"""How long it takes to find a fault: `verify`'s search with the smallest pair, and `polygraphy debug reduce`.

python -m bench.reduce_peer [--models 10] [--seed 0]     (from the folder tests; needs polygraphy and onnx-graphsurgeon)

Each model out of a wheel gets a fault that ONNX Runtime shows on designed inputs. polygraphy is given all values of the
original on them, as its documentation has it, and reduces the model with the fault by bisection; ours is given both
files and the inputs. Printed are seconds, and how many operators each leaves.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert.files import load, to_hub
from backedge.convert.locating import located
from backedge.passes.errors import BackedgeError
from backedge.runtime.compare.input_roles import signature_of
from backedge.runtime.compare.inputs import design
from backedge.runtime.compare.tolerance import measure_values
from backedge.runtime.oracles import run_file
from real.models import MODELS
from trust import programs
from trust.faults import KINDS, mutate

_ = programs.__doc__  # importing it fills the table of kinds
_MOST_BYTES = 20 << 20


def faulty(path: Path, folder: Path, seed: int) -> tuple[Path, dict[str, Any]] | None:
    """A copy with a fault that ONNX Runtime shows, and the inputs on which it does."""
    chosen = random.Random(f"{seed} {path.name}")
    model = onnx.load(path)
    if any(attribute.HasField("g") for node in model.graph.node for attribute in node.attribute):
        return None  # polygraphy sees nothing inside of bodies
    hub = to_hub(load(path))
    feeds = list(design(signature_of(hub, hub), 4))
    expected = run_file("onnxruntime", path, feeds)
    for _ in range(40):
        kind = chosen.choice([kind for kind in KINDS.values() if not kind.apart])
        try:
            mutant = mutate(model, kind, f"{seed}")
        except Exception:
            continue
        if mutant is None or [v.name for v in mutant.graph.output] != [v.name for v in model.graph.output]:
            continue
        file = folder / "fault.onnx"
        onnx.save(mutant, file)
        for feed, right, found in zip(feeds, expected, run_file("onnxruntime", file, feeds), strict=True):
            if right.outputs is None or found.outputs is None:
                continue
            pairs = ((right.outputs[name], found.outputs.get(name)) for name in right.outputs)
            if any(measure_values(*pair).difference is not None for pair in pairs):
                return file, dict(feed)
    return None


def polygraphy(original: Path, fault: Path, feed: dict[str, Any], folder: Path) -> tuple[float, int | None]:
    """Seconds of its reduction, and the operators left; None where it fails."""
    from polygraphy.json import save_json

    command = shutil.which("polygraphy") or str(Path(sys.executable).parent / "polygraphy")
    save_json([feed], str(folder / "inputs.json"))

    def run(*arguments: str) -> bool:
        done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True, timeout=900)
        return done.returncode == 0

    loaded = ("--load-inputs", "inputs.json")
    run("run", str(original), "--onnxrt", "--onnx-outputs", "mark", "all", *loaded, "--save-outputs", "golden.json")
    run("data", "to-input", "inputs.json", "golden.json", "-o", "layers.json")
    check = (command, "run", "polygraphy_debug.onnx", "--onnxrt", "--load-inputs", "layers.json")
    shapes = [f"{name}:[{','.join(map(str, np.shape(value)))}]" for name, value in feed.items()]
    start = time.monotonic()
    ended = run(
        *("debug", "reduce", str(fault), "-o", "reduced.onnx", "--mode", "bisect", "--load-inputs", "layers.json"),
        *("--model-input-shapes", *shapes, "--check", *check, "--load-outputs", "golden.json"),
    )
    seconds = time.monotonic() - start
    left = folder / "reduced.onnx"
    return seconds, len(onnx.load(left).graph.node) if ended and left.exists() else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    done = 0
    for model in MODELS:
        path = model.fetch()
        if path.stat().st_size > _MOST_BYTES or done == options.models:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            try:
                found = faulty(path, folder, options.seed)
            except BackedgeError:
                continue
            if found is None:
                continue
            fault, feed = found
            start = time.monotonic()
            location, smallest = located((path, fault), (None, None), feed, into=folder)
            ours = time.monotonic() - start
            theirs, left = polygraphy(path, fault, feed, folder)
            mine = None if smallest is None else smallest["operators"][1][1]
            at = None if location is None else (location["b"] or location["a"])["path"]
            if left is not None and location is not None:
                done += 1
            print(f"{model.name}: ours {ours:.1f} s, {mine} operators left ({at}); ", end="")
            print(f"polygraphy {theirs:.1f} s, {left} left; {theirs / ours:.1f} times as long", flush=True)


if __name__ == "__main__":
    main()
