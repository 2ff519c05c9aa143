"""Proofs that are false: mutants of models that are proved equal to the original, and give other results.

python -m proofs.mutants [--count 2000] [--seed 0] [--inputs 200] [--jobs 2] [--of catalogue,random,cases,samples]
                         [--keep DIR]      (from the folder tests)

Each mutant has one fault of `trust.faults`, or one of those that only a proof could miss (a constant moved by one unit
in the last place, operands exchanged). Where a mutant is proved equal, the executor runs both on designed inputs; every
bit has to be the same. Nothing is said of operators that no output needs. NumPy's matrix products depend on where an
array lies in memory: 4 units in the last place count as "nearly". Mutants that no input tells apart, and faults that
undo themselves, are equal for good.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import random
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert.files import load, to_hub
from backedge.convert.proof import matched
from backedge.passes.errors import BackedgeError
from onnx import numpy_helper
from trust import programs
from trust.faults import KINDS, Kind, graphs, mutate
from trust.random_models import make

from .refuting import refuted
from .share import sources

_ = programs.__doc__  # importing it fills the table of kinds


def ulp(model: onnx.ModelProto, seed: str) -> onnx.ModelProto | None:
    """One number of one float constant becomes its neighbour."""
    chosen = random.Random(seed)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    tensors = [tensor for graph in graphs(copy.graph) for tensor in graph.initializer]
    tensors += [node.attribute[0].t for graph in graphs(copy.graph) for node in graph.node if _is_constant(node)]
    floats = [tensor for tensor in tensors if tensor.data_type in (1, 11) and np.prod(tensor.dims, dtype=int)]
    if not floats:
        return None
    tensor = chosen.choice(floats)
    array = numpy_helper.to_array(tensor).copy()
    at = chosen.randrange(array.size)
    array.reshape(-1)[at] = np.nextafter(array.reshape(-1)[at], array.dtype.type(np.inf), dtype=array.dtype)
    name = tensor.name
    tensor.CopyFrom(numpy_helper.from_array(array, name))
    return copy


def _is_constant(node: onnx.NodeProto) -> bool:
    return node.op_type == "Constant" and node.attribute[0].HasField("t")


def operand(model: onnx.ModelProto, seed: str) -> onnx.ModelProto | None:
    """Two operands of an operator exchanged, or one in the place of the other."""
    chosen = random.Random(seed)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    places = [node for graph in graphs(copy.graph) for node in graph.node if len(set(node.input)) > 1]
    if not places:
        return None
    node = chosen.choice(places)
    a, b = chosen.sample(range(len(node.input)), 2)
    if chosen.random() < 0.5:
        node.input[a], node.input[b] = node.input[b], node.input[a]
    else:
        node.input[a] = node.input[b]
    return copy


OWN = {"one unit in the last place": ulp, "operands": operand}


def mutants(model: onnx.ModelProto, seed: int, each: int) -> Iterator[tuple[str, onnx.ModelProto]]:
    kinds: list[Any] = [*KINDS.values(), *OWN]
    for kind, number in itertools.product(kinds, range(each)):
        try:
            if isinstance(kind, Kind):
                made, name = mutate(model, kind, f"{seed} {number}"), kind.name
            else:
                made, name = OWN[kind](model, f"{seed} {number}"), kind
        except Exception:  # a fault that can't be made of this model
            continue
        if made is not None:
            yield name, made


def judged(source: tuple[str, Path], seed: int, each: int, inputs: int, keep: str) -> Counter[str]:
    name, path = source
    count: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    try:
        model, a = onnx.load(path), to_hub(load(path))
    except (BackedgeError, onnx.onnx_cpp2py_export.checker.ValidationError):
        return count
    with tempfile.TemporaryDirectory() as scratch, np.errstate(all="ignore"):
        for number, (kind, mutant) in enumerate(mutants(model, seed, each)):
            file = Path(scratch) / f"{number}.onnx"
            onnx.save(mutant, file)
            try:
                b = to_hub(load(file))
            except BackedgeError:
                continue
            except Exception:
                count["unreadable"] += 1
                continue
            count["mutants"] += 1
            try:
                proved = matched(a, b).proved
            except Exception:
                count["failed"] += 1
                print(f"FAILED {name} {kind}: {traceback.format_exc().splitlines()[-3:]}", flush=True)
                continue
            if not proved:
                continue
            count["proved"] += 1
            why = refuted(a, b, inputs)
            if why:
                count["nearly" if why.startswith("nearly") else "false"] += 1
                print(f"FALSE {name} {kind} {number}: {why}", flush=True)
                if keep:
                    onnx.save(model, Path(keep) / f"{name}.a.onnx")
                    onnx.save(mutant, Path(keep) / f"{name}.{number}.b.onnx")
            else:
                count[f"equal: {kind}"] += 1
    return count


def chosen_models(groups: list[str], seed: int, folder: Path) -> Iterator[tuple[str, Path]]:
    for group in groups:
        if group == "random":
            for number in range(seed, seed + 300):
                path = folder / f"random{number}.onnx"
                onnx.save(make(number), path)
                yield f"random{number}", path
        else:
            yield from sources(group, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="mutants, about")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=2, help="mutants of each kind of one model")
    parser.add_argument("--inputs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--of", default="catalogue,random,cases,samples")
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        models = list(chosen_models(options.of.split(","), options.seed, Path(scratch)))
        random.Random(options.seed).shuffle(models)
        work = partial(judged, seed=options.seed, each=options.each, inputs=options.inputs, keep=options.keep)
        with multiprocessing.Pool(options.jobs) as pool:
            for number, count in enumerate(pool.imap_unordered(work, models), 1):
                total.update(count)
                if number % 200 == 0:
                    print(f"{total['mutants']} mutants, {total['proved']} proved, {total['false']} false", flush=True)
                if total["mutants"] >= options.count:
                    pool.terminate()
                    break
    print(dict(total.most_common()))


if __name__ == "__main__":
    main()
