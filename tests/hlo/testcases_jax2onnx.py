"""The programs that jax2onnx tests itself with, converted by us and by it, both judged by what jax computes.

    python -m venv VENV && VENV/bin/pip install jax2onnx flax equinox einops dm_pix
    python -m hlo.testcases_jax2onnx OUTDIR VENV/bin/python [--only PART] [--every N] [--jobs N] [--anew]

(from the folder tests). jax2onnx's registry of plugins has them, each with a function and the shapes or the values of
its inputs. Each has a second case: "...@open" where shapes have names ("B"), which are open sizes then; "...@batch" of
all others, whose first size is open as far as jax.export takes it (`symbolic.opened`). Three steps, each in processes
of its own and each resumed where it was left: jax.export makes OUTDIR/cases (`symbolic.Open`), jax2onnx OUTDIR/theirs,
the verdicts on both are in OUTDIR/verdicts and, all together, OUTDIR/testcases.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_TESTS = str(Path(__file__).parents[1])
_OPEN, _BATCH = "@open", "@batch"
_FIRST = 3  # sizes with names are 3, 4, ... , then 1, then 5, 6, ...
_SECONDS, _AT_ONCE = 400, 300
_VERDICTS = ("right", "right*", "theirs", "WRONG", "refused", "not run", "INVALID", "CRASHED", "no answer")


@dataclass(frozen=True)
class Testcase:
    """What jax2onnx's registry says of one.

    Attributes:
        row: "callable" with "input_shapes" or "input_values", and how jax2onnx is to be called.
    """

    name: str
    row: Mapping[str, Any]

    @property
    def x64(self) -> bool:
        return bool(self.row.get("run_only_f64_variant") or self.row.get("enable_double_precision"))

    @property
    def parameters(self) -> dict[str, Any]:
        """Further arguments, by name, which jax2onnx makes inputs of the model."""
        return dict(self.row.get("input_params") or {})

    @property
    def opens(self) -> bool:
        return any(isinstance(dim, str) for shape in self.row.get("input_shapes") or () for dim in _dims(shape))

    def function(self) -> Any:
        """The function, its module made anew."""
        import jax.numpy as jnp

        found = self.row["callable"]
        if getattr(found, "__jax2onnx_factory__", False):
            found = found.with_dtype(jnp.float64 if self.x64 else jnp.float32).instantiate()
        return found

    def inputs(self) -> tuple[list[Any], dict[tuple[int, int], str]]:
        """Values, or what draws them, and which sizes have names."""
        values, shapes = self.row.get("input_values"), self.row.get("input_shapes")
        symbols: dict[tuple[int, int], str] = {}
        if shapes is None:
            return [np.asarray(value) for value in values or ()], symbols
        dtypes = self.row.get("input_dtypes") or [np.float64 if self.x64 else np.float32] * len(shapes)
        made: list[Any] = []
        for at, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True)):
            dims = _dims(shape)
            symbols |= {(at, axis): dim for axis, dim in enumerate(dims) if isinstance(dim, str)}
            made.append((dims, getattr(shape, "dtype", dtype)))
        sizes = {name: _FIRST + place for place, name in enumerate(dict.fromkeys(symbols.values()))}
        return [_draw([sizes.get(dim, dim) for dim in dims], np.dtype(dtype)) for dims, dtype in made], symbols


def _dims(shape: Any) -> tuple[Any, ...]:
    """A shape as rows write it: a tuple, a number, something with a shape."""
    found = getattr(shape, "shape", shape)
    return tuple(found) if isinstance(found, Sequence) else (found,)


def _draw(shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    from .programs.base import booleans, integers, normal

    if dtype.kind == "b":
        return booleans(*shape)
    if dtype.kind in "iu":
        return integers(0, 4, *shape, dtype=dtype)
    if dtype.kind == "c":
        return lambda generator: (generator.standard_normal((2, *shape)).T @ [1, 1j]).T.astype(dtype)
    return normal(*shape, dtype=dtype)


def testcases() -> dict[str, Testcase]:
    """All of them (where jax2onnx is installed), by names that files can have."""
    from jax2onnx.plugins import plugin_system

    plugin_system.import_all_plugins()
    found: dict[str, Testcase] = {}
    rows: set[int] = set()
    for entry in (*plugin_system.PLUGIN_REGISTRY.values(), *plugin_system.EXAMPLE_REGISTRY.values()):
        about = entry if isinstance(entry, dict) else getattr(entry, "metadata", {})
        for row in about.get("testcases") or ():
            if id(row) in rows:
                continue
            rows.add(id(row))
            told = f"{about.get('context', '')}.{about.get('component', '')}.{row['testcase']}"
            name = re.sub(r"[^\w.-]+", "_", told)
            while name in found:
                name += "+"
            found[name] = Testcase(name, row)
    return found


# steps in jax2onnx's environment -----------------------------------------------------------------------


def _list(folder: Path) -> None:
    """The names of all cases."""
    found = testcases()
    names = [*found, *(name + (_OPEN if one.opens else _BATCH) for name, one in found.items())]
    (folder / "names.json").write_text(json.dumps(names, indent=0))


def _of(name: str) -> str:
    """The testcase of a case."""
    return name.partition("@")[0]


def _make(folder: Path, names: Sequence[str]) -> None:
    """What jax.export makes of testcases, with inputs and what jax computes of them: a `symbolic.Open`, or why not."""
    found = testcases()
    for name in names:
        try:
            made = pickle.dumps(_made(found[_of(name)], name))
        except Exception as error:
            made = pickle.dumps(f"{type(error).__name__}: {' '.join(str(error).split())}"[:400])
        (folder / name).write_bytes(made)


def _made(testcase: Testcase, name: str) -> Any:
    import jax

    from . import symbolic
    from .programs.base import Program

    with jax.enable_x64(testcase.x64):
        inputs, symbols = testcase.inputs()
        function, parameters = _functional(testcase.function()), testcase.parameters
        program = Program(name, "", lambda *trees: function(*trees, **parameters), inputs, testcase.x64)
        if name.endswith(_BATCH):
            return symbolic.opened(program)
        symbols = symbols if name.endswith(_OPEN) else {}
        found = symbolic.exported(program, symbols)
        runs = list(symbolic.runs(program, symbols))
        if not runs:
            return "jax's own results say nothing: in float64 they are others"
        return symbolic.Open(name, found.mlir_module_serialized, symbols, runs)


def _functional(function: Any) -> Any:
    """A flax module with its state put together inside of the trace, which may change it then."""
    from flax import nnx

    if not isinstance(function, nnx.Module):
        return function
    graph, state = nnx.split(function)
    return lambda *args, **more: nnx.merge(graph, state)(*args, **more)


def _theirs(folder: Path, names: Sequence[str]) -> None:
    """What jax2onnx makes of testcases, in NAME.onnx; NAME says why it failed, "" where it didn't."""
    import jax
    from jax2onnx import to_onnx

    from .programs.base import Program, arguments

    found = testcases()
    for name in names:
        testcase = found[_of(name)]
        symbols = pickle.loads((folder.parent / "cases" / name).read_bytes()).symbols
        reason = ""
        try:
            with jax.enable_x64(testcase.x64):
                inputs, _ = testcase.inputs()
                leaves = arguments(Program(name, "", testcase.function, inputs, testcase.x64))
                specs = [
                    jax.ShapeDtypeStruct(
                        tuple(symbols.get((at, axis), size) for axis, size in enumerate(leaf.shape)), leaf.dtype
                    )
                    for at, leaf in enumerate(leaves)
                ]
                options = {key: testcase.row[key] for key in ("normalization_mode",) if key in testcase.row}
                to_onnx(
                    testcase.function(),
                    specs,
                    input_params=testcase.parameters,
                    opset=testcase.row.get("opset_version", 23),
                    enable_double_precision=testcase.x64,
                    return_mode="file",
                    output_path=str(folder / f"{name}.onnx"),
                    **options,
                )
                np.savez(folder / f"{name}.npz", **{key: np.asarray(one) for key, one in testcase.parameters.items()})
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]
        (folder / name).write_bytes(pickle.dumps(reason))


# the verdicts ------------------------------------------------------------------------------------------


def _judge(folder: Path, names: Sequence[str], peer: bool) -> None:
    """Verdict, reason and number of nodes of each case, ours or theirs, as JSON."""
    from . import peer_jax2onnx

    for name in names:
        case = pickle.loads((folder / "cases" / name).read_bytes())
        verdict, reason, path = _verdict(folder, name, case, peer)
        row = {"verdict": verdict, "reason": reason, "nodes": peer_jax2onnx.node_count(path) if path.exists() else None}
        (_verdicts(folder, peer) / name).write_text(json.dumps(row))


def _verdicts(folder: Path, peer: bool) -> Path:
    return folder / "verdicts" / ("theirs" if peer else "ours")


def _verdict(folder: Path, name: str, case: Any, peer: bool) -> tuple[str, str, Path]:
    from . import peer_jax2onnx, symbolic

    if not peer:
        models = folder / "models" / name
        return *symbolic.judge(case, models, ir=False), models / "model.onnx"
    path = folder / "theirs" / f"{name}.onnx"
    if reason := pickle.loads((folder / "theirs" / name).read_bytes()):
        return "failed", reason, path
    with np.load(folder / "theirs" / f"{name}.npz") as parameters:
        more = dict(parameters)
    return *peer_jax2onnx.judge_model(case, path, more), path


def _rows(folder: Path, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A row for each case: what is said of it as ours and as theirs."""
    for name in names:
        case = pickle.loads((folder / "cases" / name).read_bytes())
        row: dict[str, Any] = {"name": name, "sizes": name[len(_of(name)) :]}
        if isinstance(case, str):
            yield row | {"not_exported": case}
            continue
        yield row | {side: _read(_verdicts(folder, side == "theirs") / name) for side in ("ours", "theirs")}


def _read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    if data.startswith(b"{"):
        return json.loads(data)
    return {"verdict": "no answer", "reason": pickle.loads(data), "nodes": None}


def _told(rows: Sequence[Mapping[str, Any]]) -> None:
    """The table, and what is refused and why."""
    for kind, title in (("", "fixed sizes"), (_OPEN, "named sizes"), (_BATCH, "first size open")):
        here = [row for row in rows if row["sizes"] == kind]
        judged = [row for row in here if "ours" in row]
        print(f"\n{title}: {len(here)}, of which jax.export takes {len(judged)}")
        for side in ("ours", "theirs"):
            counts = Counter(row[side]["verdict"] for row in judged)
            print(f"  {side:7}" + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
        both = [row for row in judged if row["ours"]["verdict"] == row["theirs"]["verdict"] == "right"]
        if both:
            nodes = (sum(row[side]["nodes"] for row in both) for side in ("ours", "theirs"))
            print("  nodes where both are right: {} ours, {} theirs".format(*nodes))
        reasons = Counter(
            re.sub(r"\W?\(.*|[%'\"].*?[ '\"]|\d+", "", row["ours"]["reason"])[:100]
            for row in judged
            if row["ours"]["verdict"] == "refused"
        )
        for reason, count in reasons.most_common():
            print(f"  {count:4} refused: {reason}")
    failed = Counter(re.sub(r"\d+", "", row["not_exported"])[:100] for row in rows if "not_exported" in row)
    for reason, count in failed.most_common():
        print(f"{count:4} not exported: {reason}")


def main() -> None:
    from . import symbolic

    parser = argparse.ArgumentParser()
    parser.add_argument("outdir", type=Path)
    parser.add_argument("python", help="the interpreter of an environment that has jax2onnx")
    parser.add_argument("--only", default="", metavar="PART", help="cases that have this in their names")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of testcases without names each Nth")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--anew", action="store_true", help="our own verdicts anew")
    parser.add_argument("--step", choices=["list", "make", "theirs", "judge", "judge-theirs"], help=argparse.SUPPRESS)
    parser.add_argument("--names", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder: Path = options.outdir
    if options.step:
        os.environ["JAX_PLATFORMS"] = "cpu"
        warnings.simplefilter("ignore")
        match options.step:
            case "list":
                _list(folder)
            case "make":
                _make(folder / "cases", options.names)
            case "theirs":
                _theirs(folder / "theirs", options.names)
            case _:
                _judge(folder, options.names, options.step == "judge-theirs")
        return
    for made in ("cases", "theirs", "verdicts/ours", "verdicts/theirs"):
        (folder / made).mkdir(parents=True, exist_ok=True)

    def step(name: str, chosen: Sequence[str], where: Path) -> None:
        ours = name.startswith("judge")
        command = [sys.executable if ours else options.python, "-m", "hlo.testcases_jax2onnx"]
        command += [str(folder), options.python, "--step", name, "--names"]
        with ThreadPoolExecutor(options.jobs) as pool:
            parts = (chosen[job :: options.jobs] for job in range(options.jobs))
            list(pool.map(lambda part: symbolic.watched(command, part, where, _SECONDS, _AT_ONCE), parts))

    if not (folder / "names.json").exists():
        command = [options.python, "-m", "hlo.testcases_jax2onnx", str(folder), options.python, "--step", "list"]
        subprocess.run(command, check=True, cwd=_TESTS)
    names = json.loads((folder / "names.json").read_text())
    places = {name: place for place, name in enumerate(dict.fromkeys(map(_of, names)))}
    names = [name for name in names if name.endswith(_OPEN) or places[_of(name)] % options.every == 0]
    names = [name for name in names if options.only in name]
    step("make", names, folder / "cases")
    judged = [name for name in names if not isinstance(pickle.loads((folder / "cases" / name).read_bytes()), str)]
    step("theirs", judged, folder / "theirs")
    if options.anew:
        for name in judged:
            (folder / "verdicts" / "ours" / name).unlink(missing_ok=True)
    step("judge", judged, folder / "verdicts" / "ours")
    step("judge-theirs", judged, folder / "verdicts" / "theirs")
    rows = list(_rows(folder, names))
    with (folder / "testcases.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    _told(rows)


if __name__ == "__main__":
    main()
