"""JAX programs with open sizes: exported with symbols for the sizes of their arguments, judged at several sizes.

    python -m hlo.symbolic OUTDIR [part of a name ...] [--jobs N] [--ir] [--all]

(from the folder tests). The sizes of a program's data are symbols: the batch, and where its argument of the highest
rank has three dimensions or more the second one, too (time, where it scans). With --all every size above 1 is one, those
of weights and windows, too. Where jax.export doesn't take all of them at once, there are as many as it takes. jax itself
computes at fixed sizes what is right.
OUTDIR/symbolic.json has every verdict, OUTDIR/models the exported programs and what they became.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pickle
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Arrays = list[np.ndarray]
_SECONDS, _AT_ONCE = 20, 24
_NAMES = ("b", "t", "n", "m", "k", "p", "q", "r")


@dataclass(frozen=True)
class Open:
    """A program with open sizes.

    Attributes:
        exported: what `jax.export` wrote.
        symbols: size in the program -> symbol.
        runs: for each set of sizes the inputs and what jax computes.
    """

    name: str
    exported: bytes
    symbols: dict[int, str]
    runs: list[tuple[Arrays, Arrays]]


def exported(program: Any, symbols: Mapping[int, str]) -> Any:
    """The program as jax.export takes it, sizes replaced by symbols.

    Raises:
        Exception: jax's, where it doesn't.
    """
    import jax
    from jax import export

    scope = export.SymbolicScope()
    made = {size: export.symbolic_shape(name, scope=scope)[0] for size, name in symbols.items()}

    def spec(leaf: np.ndarray) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(tuple(made.get(size, size) for size in leaf.shape), leaf.dtype)

    with jax.enable_x64(program.x64):
        specs = jax.tree.map(spec, program.trees())
        return export.export(_flat(program))(*specs)


def _flat(program: Any) -> Any:
    """The jitted function, whose results are leaves: jax.export knows few classes of trees."""
    import jax

    return jax.jit(lambda *trees: jax.tree.leaves(program.function(*trees)), keep_unused=True)


def opened(program: Any, every: bool = False) -> Open | str:
    """A program with open sizes, as many as jax.export takes; why it takes none."""
    import jax

    leaves = jax.tree.leaves(program.trees())
    data = max(leaves, key=lambda leaf: leaf.ndim, default=np.zeros(()))
    shapes = [leaf.shape for leaf in leaves] if every else [data.shape[: 2 if data.ndim > 2 else 1]]
    sizes = list(dict.fromkeys(size for shape in shapes for size in shape if size > 1))
    reason, taken = "it has no size above 1", list[int]()
    for size in sizes:
        try:
            exported(program, {size: "b"})
            taken.append(size)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:300]
    for chosen in (taken, *([size] for size in taken)):
        symbols = dict(zip(chosen, _NAMES, strict=False))
        try:
            found = exported(program, symbols) if symbols else None
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:300]
            continue
        if found is not None:
            runs = list(_runs(program, symbols))
            data = found.mlir_module_serialized
            return Open(program.name, data, symbols, runs)
    return reason


def _runs(program: Any, symbols: Mapping[int, str]) -> Iterator[tuple[Arrays, Arrays]]:
    """Inputs and results at the program's own sizes, at 1, and at larger ones that differ from symbol to symbol."""
    import jax

    for change in (lambda size, _: size, lambda size, _: 1, lambda size, place: size + 2 + place):
        sizes = {size: change(size, place) for place, size in enumerate(symbols)}
        shapes = [tuple(sizes.get(size, size) for size in leaf.shape) for leaf in jax.tree.leaves(program.trees())]
        feeds = [_resized(*one) for one in zip(jax.tree.leaves(program.trees()), shapes, strict=True)]
        structure = jax.tree.structure(program.trees())
        try:
            with jax.enable_x64(program.x64):
                wanted = [np.asarray(leaf) for leaf in _flat(program)(*jax.tree.unflatten(structure, feeds))]
        except Exception:  # the program has no meaning at these sizes
            continue
        yield feeds, wanted


def _resized(leaf: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An input in another shape: of its own numbers, floats shuffled, or matrices would have rows twice."""
    if leaf.shape == shape or not leaf.size:
        return leaf
    if leaf.dtype.kind != "f":
        return np.resize(leaf, shape)
    return np.random.default_rng(7).choice(leaf.reshape(-1), shape)


# judging -----------------------------------------------------------------------------------------------


def judge(case: Open, folder: Path, ir: bool) -> tuple[str, str]:
    """Right, wrong, refused, ... and why: as an ONNX model with these symbols, in ONNX Runtime at all sizes; "right*" where
    it has no kernel, and our executor has the right numbers."""
    from backedge.convert import convert
    from backedge.convert.files import load, to_hub
    from backedge.passes.errors import InvalidModel, Unsupported

    from .stages import NotRun, by_executor, by_openvino, difference, parts

    folder.mkdir(parents=True, exist_ok=True)
    source, target = folder / "model.mlirbc", folder / ("model.xml" if ir else "model.onnx")
    source.write_bytes(case.exported)
    try:
        convert(source, target, verify=0, force=True)
    except Unsupported as error:
        return "refused", str(error)
    except InvalidModel as error:
        return "INVALID", str(error)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return "CRASHED", f"{type(error).__name__}: {str(error)[:300]} ({Path(where.filename).name}:{where.lineno})"
    verdict = "right", ""
    for feeds, wanted in case.runs:
        sizes = [list(feed.shape) for feed in feeds]
        try:
            found = by_openvino(target, feeds)[0] if ir else _onnx_runtime(target, list(map(parts, feeds)))
        except NotRun as error:
            told = f"at {sizes}: {error}"
            try:
                found = by_executor(to_hub(load(target)), feeds)
            except Exception:
                return "not run", told
            if not all(difference(one, other, ir) == "" for one, other in zip(found, wanted, strict=True)):
                return "WRONG", told
            verdict = "right*", told
            continue
        if len(found) != len(wanted):
            return "WRONG", f"{len(found)} outputs, not {len(wanted)}"
        for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
            if wrong := difference(one, other, ir):
                return "WRONG", f"output {place} at {sizes}: {wrong}"
    return verdict


def _onnx_runtime(path: Path, feeds: Arrays) -> Arrays:
    from .stages import by_onnxruntime

    return by_onnxruntime(path, feeds)


def _make(names: Sequence[str], folder: Path, every: bool) -> None:
    """Programs with open sizes, each in a file of its own, made in other processes: jax can end one."""
    for start in range(0, len(names), _AT_ONCE):
        part = names[start : start + _AT_ONCE]
        while part := [name for name in part if not (folder / name).exists()]:
            command = [sys.executable, "-m", "hlo.symbolic", "--make", str(folder), *part, *["--all"] * every]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            before, made = -1, 0
            while made > before:  # none for so long: a program that doesn't end at these sizes
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_SECONDS)
                    break
                before, made = made, sum((folder / name).exists() for name in part)
            process.kill()
            process.wait()
            first = next((name for name in part if not (folder / name).exists()), None)
            if first is not None:
                (folder / first).write_bytes(pickle.dumps("jax ends the process, or the program doesn't end"))


def _cases(names: Sequence[str], folder: Path, jobs: int, every: bool) -> dict[str, Open | str]:
    """The programs with open sizes, made where they aren't yet."""
    from .programs import PROGRAMS

    folder.mkdir(exist_ok=True)
    chosen = [name for name in PROGRAMS if not names or any(part in name for part in names)]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(_make, (chosen[job::jobs] for job in range(jobs)), [folder] * jobs, [every] * jobs))
    return {name: pickle.loads((folder / name).read_bytes()) for name in chosen}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("outdir", type=Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ir", action="store_true", help="as OpenVINO IR, in OpenVINO")
    parser.add_argument("--all", action="store_true", help="every size above 1 is a symbol")
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.make:
        from . import symbolic  # whose classes other processes find, too
        from .programs import PROGRAMS

        for name in options.parts:
            (options.outdir / name).write_bytes(pickle.dumps(symbolic.opened(PROGRAMS[name], options.all)))
        return
    options.outdir.mkdir(parents=True, exist_ok=True)
    folder = options.outdir / ("cases-all" if options.all else "cases")
    cases = _cases(options.parts, folder, options.jobs, options.all)
    chosen = [case for case in cases.values() if isinstance(case, Open)]
    start, children = time.monotonic(), []
    for job in range(options.jobs):
        child = os.fork()
        if not child:
            found = {}
            for case in chosen[job :: options.jobs]:
                found[case.name] = judge(case, options.outdir / "models" / case.name, options.ir)
                print(f"{case.name:32}{' '.join(found[case.name])[:300]}", flush=True)
                (options.outdir / f"part{job}.json").write_text(json.dumps(found))
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    results: dict[str, tuple[str, str]] = {}
    for job in range(options.jobs):
        part = options.outdir / f"part{job}.json"
        if part.exists():
            results |= json.loads(part.read_text())
            part.unlink()
    name = f"symbolic{'-all' * options.all}{'-ir' * options.ir}.json"
    (options.outdir / name).write_text(json.dumps(results, indent=1))
    counts = Counter(verdict for verdict, _ in results.values())
    reasons = Counter(reason.partition(" (")[0][:90] for verdict, reason in results.values() if verdict == "refused")
    for reason, count in reasons.most_common(40):
        print(f"{count:4} {reason}")
    print(f"{counts['right']} of {len(chosen)} right: {dict(counts)}, {len(cases) - len(chosen)} not exported")
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(counts["right"] < len(chosen))


if __name__ == "__main__":
    main()
