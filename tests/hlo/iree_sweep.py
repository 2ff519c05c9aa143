"""Recorded cases as StableHLO, compiled and run by IREE: a reader of our .mlir that shares nothing with XLA's runtime.

    python -m venv VENV && VENV/bin/pip install iree-base-compiler iree-base-runtime
    python -m hlo.iree_sweep VENV/bin/python [--cases nodes|fixed|loops] [--every N] [part of a name ...]

(from the folder tests). What IREE's compiler doesn't legalize is told apart from what it computes otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .peer_jax2onnx import Peer


def _stored(array: np.ndarray) -> np.ndarray:
    """An array as a file has it, which knows no element types but NumPy's own: others as integers of as many bytes."""
    return array if array.dtype.isbuiltin == 1 else np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _typed(array: np.ndarray, type: str) -> np.ndarray:
    """An array out of a file, with the element type that it had."""
    import ml_dtypes

    own = getattr(ml_dtypes, type, None)
    return array if own is None else array.view(own)


def serve() -> None:
    """IREE's process: a file and a file of inputs on each line; the answer is a line, the outputs or an error."""
    import iree.compiler  # type: ignore[import-not-found]
    import iree.runtime  # type: ignore[import-not-found]

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        module, inputs, types, outputs = json.loads(line)
        try:
            options = ["--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false"]
            kind = {"input_type": "stablehlo", "target_backends": ["llvm-cpu"], "extra_args": options}
            made = iree.compiler.compile_file(module, **kind)
            config = iree.runtime.Config("local-task")
            context = iree.runtime.SystemContext(config=config)
            loaded = iree.runtime.VmModule.copy_buffer(context.instance, made)
            context.add_vm_module(loaded)
            with np.load(inputs) as stored:
                values = [_typed(stored[f"arr_{index}"], type) for index, type in enumerate(types)]
            found = context.modules[loaded.name].main(*values)
            found = found if isinstance(found, list | tuple) else [found]
            np.savez(outputs, *(_stored(np.asarray(one)) for one in found))
            error = ""
        except Exception as raised:
            error = str(raised) or type(raised).__name__
        answers.write(json.dumps(error) + "\n")
        answers.flush()


def run(iree: Peer, module: Path, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """What IREE makes of a module. Raises RuntimeError with what it says."""
    given, made = module.with_suffix(".in.npz"), module.with_suffix(".out.npz")
    np.savez(given, *map(_stored, inputs))
    if error := iree.ask([str(module), str(given), [str(one.dtype) for one in inputs], str(made)]):
        raise RuntimeError(error)
    with np.load(made) as stored:
        return [stored[f"arr_{index}"] for index in range(len(stored.files))]


_REASON = re.compile(r"error: (?:loc\(.*?\): )?(.{0,160})")


def judge(case: Any, iree: Peer, folder: Path) -> tuple[str, str]:
    """ "right", "wrong", "not compiled", "refused", and why."""
    from backedge.convert.hlo.lowering import lower_graph
    from backedge.convert.hlo.mlir.writer import to_module
    from backedge.convert.onnx.raising import raise_graph
    from backedge.convert.onnx.read import read_model
    from backedge.passes.errors import BackedgeError
    from backedge.runtime.oracles.mlir_written import write_module
    from openvino_lowering.sweep import difference

    from hlo.lowering_sweep import is_drawn

    path = folder / "model.mlir"
    try:
        parts = to_module(lower_graph(raise_graph(read_model(case.model)), open_sizes=True)).parts()
        write_module(memoryview(b"".join(map(bytes, parts))), path, "mlir")
    except BackedgeError as error:
        return "refused", str(error)
    for inputs, outputs in case.sets:
        given = [value for value in inputs if value is not None]
        if not all(isinstance(value, np.ndarray) for value in given):
            return "refused", "an input is no array"
        try:
            found = run(iree, path, given)
        except RuntimeError as error:
            told = _REASON.search(str(error))
            return "not compiled", told[1] if told else str(error)[:160]
        for one, wanted in zip(found, outputs, strict=True):
            one = one.view(np.bool_) if wanted.dtype == np.bool_ and one.dtype == np.int8 else one
            one = _typed(one, str(wanted.dtype))
            if wrong := difference(one, wanted, case.rtol, case.atol):
                return "drawn" if is_drawn(case) else "wrong", wrong
    return "right", ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("python")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--cases", default="loops")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    from hlo.lowering_sweep import CASES
    from hlo.peer_jax2onnx import Peer

    def chosen() -> Iterator[Any]:
        parts = options.parts or [""]
        named = (case for case in CASES[options.cases]() if any(part in case.name for part in parts))
        yield from islice(named, 0, None, options.every)

    iree, counts, reasons = Peer(options.python, __file__, "--serve"), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen():
            verdict, why = judge(case, iree, Path(folder))
            counts[verdict] += 1
            if verdict == "not compiled":
                reasons[re.sub(r"\d+|%\w+|'[^']*\?[^']*'", "N", why)[:100]] += 1
            if verdict in ("wrong", "not compiled"):
                print(f"{verdict:13}{case.name}: {why}", flush=True)
    iree.stop()
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    for reason, count in reasons.most_common(12):
        print(f"{count:5} {reason}")


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main()
