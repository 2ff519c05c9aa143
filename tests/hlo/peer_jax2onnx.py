"""How jax2onnx does on the JAX programs: its models run with ONNX Runtime, held against what jax computes.

    python -m venv VENV && VENV/bin/pip install jax2onnx
    python tests/hlo/peer_jax2onnx.py VENV/bin/python [PROGRAM ...] [--json FILE] [--open OUTDIR] [--nodes]

With --open it is given the programs that `python -m hlo.symbolic OUTDIR` exported, with the same symbols for sizes, and
judged at the same sizes. With --nodes the nodes of its models are counted where they are right, and those of ours
beside them, subgraphs and functions included; where ours are more, both models are also given NaN, infinities, ties and
the ends of integers, and it is said where jax2onnx's computes something else than jax of these and ours doesn't.

jax2onnx lives in an environment of its own and converts in a process of its own, which is made anew when a program
kills or hangs it. Judged as our own conversion is: same runtime, same tolerances (`stages.difference`).
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import select
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

SECONDS = 180.0
"""What converting one program may take; the first also imports jax."""

_TESTS = str(Path(__file__).parents[1])


def convert_here() -> None:
    """The converting process: a program's name and a folder on each line; the answer is a line, "" for done."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.environ["JAX_PLATFORMS"] = "cpu"
    warnings.simplefilter("ignore")
    sys.path.insert(0, _TESTS)
    import jax
    from jax2onnx import to_onnx

    from hlo.programs import PROGRAMS, arguments, expected

    for line in sys.stdin:
        name, folder, *symbols = json.loads(line)
        try:
            program = PROGRAMS[name]
            leaves, tree = jax.tree.flatten(program.trees())
            with jax.enable_x64(program.x64):

                def flat(*values: Any, program: Any = program, tree: Any = tree) -> Any:
                    return jax.tree.leaves(program.function(*jax.tree.unflatten(tree, values)))

                named = {(at, axis): symbol for at, axis, symbol in symbols}
                shapes = [
                    jax.ShapeDtypeStruct(
                        tuple(named.get((at, axis), size) for axis, size in enumerate(leaf.shape)), leaf.dtype
                    )
                    for at, leaf in enumerate(leaves)
                ]
                path = str(Path(folder) / "m.onnx")
                to_onnx(flat, shapes, enable_double_precision=program.x64, return_mode="file", output_path=path)
            values = (arguments(program), expected(program))
            (Path(folder) / "values").write_bytes(pickle.dumps(values))
            error = ""
        except Exception as raised:
            error = f"{type(raised).__name__}: {' '.join(str(raised).split())}"[:300] or "failed"
        answers.write(json.dumps(error) + "\n")
        answers.flush()


class Peer:
    """A script run with `option` by another environment's Python, seen from here: a line of JSON in, one out."""

    def __init__(self, python: str, script: str, option: str) -> None:
        self._command = [python, script, option]
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: Any) -> Any:
        """The answer. Raises RuntimeError where there is none; the next request starts another process."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], SECONDS)
        line = self._process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.stop()
        raise RuntimeError("the process died" if ready else f"no answer within {SECONDS:g} s")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Converter(Peer):
    """The converting process."""

    def __init__(self, python: str) -> None:
        super().__init__(python, __file__, "--convert")

    def convert(self, name: str, folder: Path, symbols: Mapping[tuple[int, int], str] = MappingProxyType({})) -> str:
        """Why the program couldn't be converted; "" if it was. `symbols`: (argument, axis) -> the name of its size."""
        try:
            return self.ask([name, str(folder), *([*place, symbol] for place, symbol in symbols.items())])
        except RuntimeError as error:
            return str(error)


def judge(name: str, converter: Converter, folder: Path) -> tuple[str, str]:
    """ "right", "wrong" or "failed", and why."""
    import onnx
    from backedge.runtime.oracles import run_file

    from hlo.programs import PROGRAMS
    from hlo.stages import difference

    if reason := converter.convert(name, folder):
        return "failed", reason
    given, wanted = pickle.loads((folder / "values").read_bytes())
    inputs = [one.name for one in onnx.load(folder / "m.onnx", load_external_data=False).graph.input]
    if len(inputs) != len(given):
        return "failed", f"the model has {len(inputs)} inputs, the program {len(given)}"
    (outcome,) = run_file("onnxruntime", folder / "m.onnx", [dict(zip(inputs, given, strict=True))])
    if outcome.outputs is None:
        return "failed", outcome.error
    found = list(outcome.outputs.values())
    if len(found) != len(wanted):
        return "wrong", f"{len(found)} outputs instead of {len(wanted)}"
    if PROGRAMS[name].drawn:
        wrong = [i for i, (a, b) in enumerate(zip(found, wanted, strict=True)) if a.shape[: b.ndim] != b.shape]
        return ("wrong", f"shape of output {wrong[0]}") if wrong else ("right", "shapes only")
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if reason := difference(one, other):
            return "wrong", f"output {place}: {reason}"
    return "right", ""


def judge_open(case: Any, converter: Converter, folder: Path) -> tuple[str, str]:
    """As `judge`, of a program with open sizes, at several sizes each (`symbolic.Open`)."""
    if reason := converter.convert(case.name, folder, case.symbols):
        return "failed", reason
    return judge_model(case, folder / "m.onnx")


def judge_model(case: Any, path: Path, more: Mapping[str, Any] = MappingProxyType({})) -> tuple[str, str]:
    """What a model computes of a case's inputs (`symbolic.Open`). `more`: inputs that the case hasn't, by name."""
    import onnx
    from backedge.runtime.oracles import run_file

    from hlo.stages import parts
    from hlo.symbolic import wrong_output

    declared = onnx.load(path, load_external_data=False).graph.input
    inputs = [one for one in declared if one.name not in more]
    for feeds, wanted, errors in case.runs:
        if len(inputs) != len(feeds):
            return "failed", f"the model has {len(inputs)} inputs, the program {len(feeds)}"
        given = {one.name: more[one.name] for one in declared if one.name in more}
        for one, feed in zip(inputs, feeds, strict=True):
            tensor = one.type.tensor_type
            given[one.name] = parts(feed) if len(tensor.shape.dim) > feed.ndim else feed
        (outcome,) = run_file("onnxruntime", path, [given])
        sizes = [list(feed.shape) for feed in feeds]
        if outcome.outputs is None:
            return "failed", f"at {sizes}: {outcome.error}"
        if reason := wrong_output(list(outcome.outputs.values()), wanted, errors)[1]:
            return "wrong", f"at {sizes}: {reason}"
    return "right", ""


def node_count(path: Path) -> int:
    """How many nodes a model has, those of subgraphs and functions included."""
    import onnx

    model = onnx.load(path, load_external_data=False)

    def count(nodes: Any) -> int:
        inner = (attribute.g for node in nodes for attribute in node.attribute if attribute.HasField("g"))
        return len(nodes) + sum(count(graph.node) for graph in inner)

    return count(model.graph.node) + sum(count(function.node) for function in model.functions)


class Count(NamedTuple):
    """The nodes of our model of a program and of jax2onnx's.

    Attributes:
        other: an output that only jax2onnx's computes otherwise than jax, where it has fewer nodes; "" for none.
    """

    ours: int
    theirs: int
    other: str = ""


def _counted(name: str, case: Any, folder: Path) -> Count | None:
    """None where we have no model."""
    from backedge import convert
    from backedge.passes.errors import BackedgeError

    from hlo.extreme_inputs import differences
    from hlo.programs import PROGRAMS
    from hlo.programs.base import stablehlo_text

    source = folder / "ours.mlir"
    source.write_bytes(stablehlo_text(PROGRAMS[name]).encode() if case is None else case.exported)
    try:
        convert(source, folder / "ours.onnx", verify=0)
    except BackedgeError:
        return None
    models = [folder / "ours.onnx", folder / "m.onnx"]
    count = Count(*map(node_count, models))
    if count.ours <= count.theirs or case is not None:
        return count
    ours, theirs = differences(name, models)
    return count._replace(other=next((f"output {at}: {text}" for at, text in theirs.items() if at not in ours), ""))


def _tell_nodes(counts: Mapping[str, Count]) -> None:
    for name, count in sorted(counts.items(), key=lambda item: item[1].ours / max(item[1].theirs, 1)):
        print(f"{count.ours:5} {count.theirs:5}  {name}{count.other and f'  jax2onnx: {count.other}'}")
    ratio = statistics.median(count.ours / max(count.theirs, 1) for count in counts.values())
    more = [count for count in counts.values() if count.ours > count.theirs]
    others = sum(bool(count.other) for count in more)
    print(
        f"nodes, ours and theirs, of {len(counts)} programs: median of the ratio {ratio:.2f}, more in {len(more)}, "
        f"of which {others} jax2onnx's computes something else than jax of NaN, infinities, ties or ends of integers"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("python")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--open", type=Path, metavar="OUTDIR")
    parser.add_argument("--nodes", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, _TESTS)
    from hlo.programs import PROGRAMS

    converter, verdicts = Converter(options.python), {}
    counts: dict[str, Count] = {}
    for name in options.programs or PROGRAMS:
        case = pickle.loads((options.open / "cases" / name).read_bytes()) if options.open else None
        if isinstance(case, str):  # jax.export doesn't take it
            continue
        with tempfile.TemporaryDirectory() as folder:
            if case is None:
                verdicts[name] = judge(name, converter, Path(folder))
            else:
                verdicts[name] = judge_open(case, converter, Path(folder))
            counted = _counted(name, case, Path(folder)) if options.nodes and verdicts[name][0] == "right" else None
            counts |= {} if counted is None else {name: counted}
        print(f"{verdicts[name][0]:7}{name}  {verdicts[name][1]}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(verdicts, indent=1))
    converter.stop()
    print(", ".join(f"{count} {verdict}" for verdict, count in Counter(v for v, _ in verdicts.values()).items()))
    if counts:
        _tell_nodes(counts)


if __name__ == "__main__":
    convert_here() if sys.argv[1:] == ["--convert"] else main()
