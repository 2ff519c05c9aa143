"""JAX programs with open sizes: exported with symbols for the sizes of their arguments, judged at several sizes.

    python -m hlo.symbolic OUTDIR [part of a name ...] [--jobs N] [--ir] [--all]

(from the folder tests). The first size of a program's argument of the highest rank is a symbol, the second one, too,
where it scans: batch and time; other arguments have these symbols where jax.export wants it. With --all every size
above 1 is one, those of weights and windows, too. jax itself computes at fixed sizes what is right.
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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Arrays = list[np.ndarray]
Symbols = dict[tuple[int, int], str]
_SCANNING = frozenset(["scan", "while", "fori", "rnn", "nn"])
_SECONDS, _AT_ONCE = 20, 24
_ILL = 1e-2  # what float64 changes of results, relative to the largest, where they say nothing
_NAMES = ("b", "t", "n", "m", "k", "p", "q", "r")


@dataclass(frozen=True)
class Open:
    """A program with open sizes.

    Attributes:
        exported: what `jax.export` wrote.
        symbols: (argument, axis) -> symbol.
        runs: for each set of sizes the inputs, what jax computes, and how far from that each output is in float64.
    """

    name: str
    exported: bytes
    symbols: Symbols
    runs: list[tuple[Arrays, Arrays, list[float]]]


def exported(program: Any, symbols: Symbols) -> Any:
    """The program as jax.export takes it, sizes replaced by symbols.

    Raises:
        Exception: jax's, where it doesn't.
    """
    import jax
    from jax import export

    scope = export.SymbolicScope()
    made = {name: export.symbolic_shape(name, scope=scope)[0] for name in dict.fromkeys(symbols.values())}
    leaves, structure = jax.tree.flatten(program.trees())
    with jax.enable_x64(program.x64):
        specs = [
            jax.ShapeDtypeStruct(
                tuple(
                    made[symbols[at, axis]] if (at, axis) in symbols else size for axis, size in enumerate(leaf.shape)
                ),
                leaf.dtype,
            )
            for at, leaf in enumerate(leaves)
        ]
        return export.export(_flat(program))(*jax.tree.unflatten(structure, specs))


def _flat(program: Any) -> Any:
    """The jitted function, whose results are leaves: jax.export knows few classes of trees."""
    import jax

    return jax.jit(lambda *trees: jax.tree.leaves(program.function(*trees)), keep_unused=True)


def _choices(program: Any, every: bool) -> Iterator[Symbols]:
    """Which sizes may be symbols, the best choice first.

    Those of the data alone, then of the other arguments' first axes as well that have the same size, then of all.
    """
    import jax

    leaves = jax.tree.leaves(program.trees())
    places = [(at, axis) for at, leaf in enumerate(leaves) for axis, size in enumerate(leaf.shape) if size > 1]

    def named(sizes: Sequence[int], among: Sequence[tuple[int, int]]) -> Symbols:
        names = dict(zip(dict.fromkeys(sizes), _NAMES, strict=False))
        return {place: names[size] for place in among if (size := leaves[place[0]].shape[place[1]]) in names}

    if every:
        yield named([leaves[at].shape[axis] for at, axis in places], places)
        for size in dict.fromkeys(leaves[at].shape[axis] for at, axis in places):
            yield named([size], places)
        return
    data = max(range(len(leaves)), key=lambda at: (leaves[at].ndim, leaves[at].size), default=-1)
    if data < 0:
        return
    scans = leaves[data].ndim > 2 and not program.families.isdisjoint(_SCANNING)
    for count in (2, 1) if scans else (1,):
        sizes = [size for size in leaves[data].shape[:count] if size > 1]
        if len(set(sizes)) == len(sizes):
            yield named(sizes, [place for place in places if place[0] == data and place[1] < count])
        yield named(sizes, [place for place in places if place[1] < count])
        yield named(sizes, places)


def opened(program: Any, every: bool = False) -> Open | str:
    """A program with open sizes, as many as jax.export takes; why it takes none."""
    reason = "it has no size above 1"
    for symbols in filter(None, _choices(program, every)):
        try:
            found = exported(program, symbols)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:300]
            continue
        return Open(program.name, found.mlir_module_serialized, symbols, list(runs(program, symbols)))
    return reason


def runs(program: Any, symbols: Symbols) -> Iterator[tuple[Arrays, Arrays, list[float]]]:
    """Inputs and results at the program's own sizes, at 1, and at larger ones that differ from symbol to symbol."""
    import jax

    leaves, structure = jax.tree.flatten(program.trees())
    own = {name: leaves[at].shape[axis] for (at, axis), name in symbols.items()}
    larger = {name: size + 2 + place for place, (name, size) in enumerate(own.items())}
    for sizes in (own, dict.fromkeys(own, 1), larger) if symbols else (own,):
        shapes = [
            tuple(sizes.get(symbols.get((at, axis), ""), size) for axis, size in enumerate(leaf.shape))
            for at, leaf in enumerate(leaves)
        ]
        feeds = [_resized(*one) for one in zip(leaves, shapes, strict=True)]
        try:
            wanted = _computed(program, program.x64, jax.tree.unflatten(structure, feeds))
        except Exception:  # the program has no meaning at these sizes
            continue
        wide = [feed.astype(np.float64) if feed.dtype.kind == "f" else feed for feed in feeds]
        try:
            exact = _computed(program, True, jax.tree.unflatten(structure, wide))
        except Exception:  # it computes in types of its own
            exact = wanted
        errors = [_distance(*pair) for pair in zip(wanted, exact, strict=True)]
        scales = [float(np.abs(one[np.isfinite(one)]).max(initial=0)) if one.dtype.kind == "f" else 1 for one in wanted]
        if all(error <= _ILL * scale for error, scale in zip(errors, scales, strict=True)):
            yield feeds, wanted, errors


def _computed(program: Any, x64: bool, trees: Any) -> Arrays:
    import jax

    with jax.enable_x64(x64):
        return [np.asarray(leaf) for leaf in _flat(program)(*trees)]


def _distance(found: np.ndarray, exact: np.ndarray) -> float:
    """The largest distance of two arrays, 0 where they can't be compared."""
    if found.shape != exact.shape or found.dtype.kind not in "fc" or not found.size:
        return 0.0
    apart = np.abs(found.astype(np.complex128) - exact)
    return float(np.nanmax(np.where(np.isfinite(apart), apart, 0)))


def _resized(leaf: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An input in another shape: of its own numbers, floats shuffled, or matrices would have rows twice."""
    if leaf.shape == shape or not leaf.size:
        return leaf
    if leaf.dtype.kind != "f":
        return np.resize(leaf, shape)
    return np.random.default_rng(7).choice(leaf.reshape(-1), shape)


# judging -----------------------------------------------------------------------------------------------


def judge(case: Open, folder: Path, ir: bool) -> tuple[str, str]:
    """Right, wrong, refused, ... and why: as an ONNX model with these symbols, in ONNX Runtime at all sizes.

    "right*": it has no kernel, and our executor has the right numbers. "theirs": it has other numbers than our executor
    for the same file, whose are right.
    """
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
    for feeds, wanted, errors in case.runs:
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
        place, wrong = wrong_output(found, wanted, errors, ir)
        if wrong:
            right = by_executor(to_hub(load(target)), feeds)
            if place < 0 or difference(right[place], wanted[place]):
                return "WRONG", f"at {sizes}: {wrong}"
            verdict = "theirs", f"at {sizes}: {wrong}"
    return verdict


def wrong_output(
    found: Sequence[Any], wanted: Arrays, errors: Sequence[float], coarse: bool = False
) -> tuple[int, str]:
    """The first output that isn't what jax computes, and what is wrong with it; (-1, "") if there is none.

    What is no further from jax's result than 8 times what that is from its own in float64 isn't wrong.
    """
    from .stages import difference

    if len(found) != len(wanted):
        return -1, f"{len(found)} outputs, not {len(wanted)}"
    for place, (one, other, error) in enumerate(zip(found, wanted, errors, strict=True)):
        wrong = difference(one, other, coarse)
        if wrong and not (np.shape(one) == other.shape and 0 < _distance(other, np.asarray(one)) <= 8 * error):
            return place, f"output {place}: {wrong}"
    return -1, ""


def _onnx_runtime(path: Path, feeds: Arrays) -> Arrays:
    from .stages import by_onnxruntime

    return by_onnxruntime(path, feeds)


def _make(names: Sequence[str], folder: Path, every: bool) -> None:
    """Programs with open sizes, each in a file of its own."""
    watched([sys.executable, "-m", "hlo.symbolic", "--make", str(folder), *["--all"] * every], names, folder)


def watched(
    command: Sequence[str], names: Sequence[str], folder: Path, seconds: float = _SECONDS, at_once: int = _AT_ONCE
) -> None:
    """Lets other processes write a file of each name into `folder`: jax can end one, and a program may not end.

    Args:
        command: is given the names of files that there aren't yet, and makes them one by one.
        seconds: a process that has made none for so long is killed; the first file that misses then has a reason.
    """
    for start in range(0, len(names), at_once):
        part = names[start : start + at_once]
        while part := [name for name in part if not (folder / name).exists()]:
            process = subprocess.Popen([*command, *part], stderr=subprocess.DEVNULL)
            before, made = -1, 0
            while made > before:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(seconds)
                    break
                before, made = made, sum((folder / name).exists() for name in part)
            process.kill()
            process.wait()
            first = next((name for name in part if not (folder / name).exists()), None)
            if first is not None:
                (folder / first).write_bytes(pickle.dumps("the process ends, or the program doesn't"))


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
        from .programs import PROGRAMS

        for name in options.parts:
            (options.outdir / name).write_bytes(pickle.dumps(opened(PROGRAMS[name], options.all)))
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
    from hlo import symbolic  # under this name other processes find its classes

    symbolic.main()
