"""Faults put into converted models: is the operator that is named the one with the fault, or one that reads its result?

python -m proofs.located [--count 500] [--seed 0] [--of random,catalogue,wheels] [--to 13,ir] [--largest 5] [--show]
                         [--jobs 2]      (from the folder tests)

A model is converted and gets one fault of `trust.faults` (IR is written of the model with the fault). Where an input
shows it, the first difference is looked for. Which nodes have the fault is told from the two ONNX files alone; the pass
is right if in all passes before it what bears the same name is the same, by a record of whole runs.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert.files import load, save, to_hub
from backedge.convert.locating_session import LocatingSession
from backedge.passes.errors import BackedgeError, InvalidModel
from backedge.passes.graph import Graph, Node
from backedge.passes.loop import Loop, is_loop
from backedge.runtime.compare.input_roles import signature_of
from backedge.runtime.compare.inputs import design
from backedge.runtime.compare.matching import match_names
from backedge.runtime.compare.tolerance import measure_values
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.locate.location import Location
from backedge.runtime.locate.places import shown
from trust import programs
from trust.faults import KINDS, graphs, mutate

from .mutants import chosen_models

_ = programs.__doc__  # importing it fills the table of kinds


def changed(a: onnx.ModelProto, b: onnx.ModelProto) -> set[str]:
    """The names of the results of nodes of `b` that `a` hasn't, or that read constants that are others there; of a
    node with regions also where what enters or leaves a region is another."""
    known = {tuple(node.output): _content(node) for graph in graphs(a.graph) for node in graph.node}
    constants = {one.name: one.SerializeToString() for graph in graphs(a.graph) for one in graph.initializer}
    moved = {
        one.name
        for graph in graphs(b.graph)
        for one in graph.initializer
        if constants.get(one.name) != one.SerializeToString()
    }
    found: set[str] = set()
    for graph in graphs(b.graph):
        for node in graph.node:
            if known.get(tuple(node.output)) != _content(node) or moved.intersection(node.input):
                found.update(name for name in node.output if name)
    if [one.name for one in a.graph.output] != [one.name for one in b.graph.output]:
        found.update(one.name for one in b.graph.output)
    return found


def _content(node: onnx.NodeProto) -> Any:
    attributes = {
        one.name: one.SerializeToString()
        if one.type != onnx.AttributeProto.GRAPH
        else ([value.name for value in one.g.input], [value.name for value in one.g.output])
        for one in node.attribute
    }
    return node.op_type, list(node.input), sorted(attributes.items())


def allowed(graph: Graph, names: set[str]) -> set[str]:
    """The names of values that nodes with a fault give, and nodes that read what these give."""
    found = set(names)
    enters: dict[str, list[Any]] = {}
    for inner in graph.graphs():
        for node in inner.nodes:
            for region in node.regions.values():
                if is_loop(node):
                    for entry in Loop(node).entries:
                        if entry.body_input is not None:
                            for value in (entry.operand, entry.body_output):
                                if value is not None:
                                    enters.setdefault(value.name, []).append((entry.body_input, region))
                else:
                    inside = region.inputs[len(region.inputs) - node.captured :]
                    for value, outer in zip(inside, node.captures, strict=True):
                        if outer is not None:
                            enters.setdefault(outer.name, []).append((value, region))
                if any(value.name in names for one in region.graphs() for value in one.values()) or names.intersection(
                    value.name for value in node.outputs
                ):
                    found.update(value.name for value in node.outputs)
    makes = {value.name: node for inner in graph.graphs() for node in inner.nodes for value in node.outputs}
    for name in names:  # a loop or a choice with a fault is seen by what its passes compute first
        node = makes.get(name)
        for region in node.regions.values() if node is not None else ():
            found.update(value.name for one in region.nodes for value in one.outputs)
    readers = [(value.name, node) for inner in graph.graphs() for node in inner.nodes for value in node.inputs if value]
    inside = {value.name for name in names for value, _ in enters.get(name, ())}
    for name, node in readers:
        if name in names or name in inside:
            found.update(value.name for value in node.outputs)
            for region in node.regions.values():
                found.update(value.name for one in region.nodes for value in one.outputs)
    return found


History = dict[str, list[Any]]


def history(graph: Graph, feed: dict[str, Any]) -> History:
    """All that every value was in a run, by name."""
    found: History = {}

    def watch(node: Node, call: Any) -> Any:
        def run(*operands: Any) -> Any:
            results = call(*operands)
            for value, one in zip(node.outputs, results if isinstance(results, tuple) else (results,), strict=False):
                found.setdefault(value.name, []).append(one)
            return results

        return run

    with contextlib.suppress(BackedgeError):  # what came before it failed counts
        Executor(graph, never_compile, watch=watch).run(feed)
    return found


def right_pass(found: Location, a: Graph, b: Graph, feeds: tuple[dict[str, Any], dict[str, Any]]) -> bool:
    """Whether what is named is the same in all passes before, where it stands in one loop only."""
    if found.b is None or found.a is None or not found.b.value:
        return True
    loops = [step.number for step in found.b.steps if step.number is not None]
    if len(loops) != 1 or any(step.region in ("then", "else") for step in found.b.steps):
        return True
    one, other = history(a, feeds[0]).get(found.a.value, []), history(b, feeds[1]).get(found.b.value, [])
    number = loops[0]
    assert number is not None
    same = [measure_values(*pair).difference is None for pair in zip(one, other, strict=False)]
    return all(same[:number]) and not all(same[: number + 1])


def judged(source: tuple[str, Path], targets: list[str], seed: int, each: int, show: bool) -> Counter[str]:
    name, path = source
    count: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    chosen = random.Random(f"{seed} {name}")
    with tempfile.TemporaryDirectory() as scratch, np.errstate(all="ignore"):
        try:
            a = to_hub(load(path))
        except (BackedgeError, OSError):
            return count
        kinds = [kind for kind in KINDS.values() if not kind.apart]
        for number in range(each):
            target = targets[number % len(targets)]
            try:
                base = path
                if target.isdigit():
                    base = Path(scratch) / "base.onnx"
                    save(load(path), base, opset=int(target))
                original = onnx.load(base)
                mutant = None
                for _ in range(20):
                    kind = chosen.choice(kinds)
                    try:
                        mutant = mutate(original, kind, f"{seed} {number}")
                    except Exception:
                        mutant = None
                    if mutant is not None:
                        break
                if mutant is None:
                    continue
                file = Path(scratch) / f"{number}.onnx"
                onnx.save(mutant, file)
                if not target.isdigit():
                    written = file.with_suffix(".xml")
                    save(load(file), written)
                    file = written
                b = to_hub(load(file))
                feeds = list(design(signature_of(a, b), 24))
            except Exception:
                continue
            count.update(_one(f"{name} {target} {kind.name}", a, b, feeds, changed(original, mutant), show))
    return count


def _one(name: str, a: Graph, b: Graph, feeds: list[Any], names: set[str], show: bool) -> Iterator[str]:
    first, second = Executor(a, never_compile), Executor(b, never_compile)
    twins = [value.name for value in b.inputs]
    if len(twins) != len(a.inputs):
        return
    for feed in feeds:
        given = dict(zip(twins, (feed[value.name] for value in a.inputs if value.name in feed), strict=False))
        try:
            expected = first.run(feed)
        except BackedgeError:
            continue
        try:
            actual = second.run(given)
            outputs = match_names(list(expected), list(actual)).pairs
            if len(outputs) != len(expected):
                return
            if all(measure_values(expected[one], actual[twin]).difference is None for one, twin in outputs.items()):
                continue
        except InvalidModel:  # it takes other inputs
            return
        except BackedgeError:
            pass
        yield "shown"
        found = LocatingSession(a, b, 1 << 28, 60.0).location(feed)
        if found is None or (found.b is None and found.a is None):
            yield "nothing found"
            if show:
                print(f"NOTHING {name}: {sorted(names)}", flush=True)
            return
        right = False
        for graph, where in ((a, found.a), (b, found.b)):
            if where is not None:
                name_here = where.value or where.steps[-1].name
                nodes = [node for inner in graph.graphs() for node in inner.nodes]
                makers = {shown(node): node for node in nodes}
                makers |= {value.name: node for node in nodes for value in node.outputs}
                results = {name_here} | {value.name for value in makers[name_here].outputs if value.name}
                right = right or bool(results & allowed(graph, names))
        yield "right" if right else "wrong"
        yield f"how: {found.how}"
        if right:
            in_time = right_pass(found, a, b, (feed, given))
            yield "right pass" if in_time else "wrong pass"
            if show and not in_time:
                print(f"PASS {name}: {found.a} {found.b} ({found.how} {found.text})", flush=True)
        if not found.is_certain:
            yield "uncertain"
        if show and not right:
            print(
                f"WRONG {name}: {found.b} {found.b and found.b.value} ({found.how} {found.text}) not {sorted(names)}",
                flush=True,
            )
        return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="faults that an input shows, about")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=2, help="faults of one model")
    parser.add_argument("--largest", type=float, default=5.0, help="megabytes of a model's file")
    parser.add_argument("--of", default="random,catalogue")
    parser.add_argument("--to", default="13,ir")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        models = [
            one
            for one in chosen_models(options.of.split(","), options.seed, Path(scratch))
            if one[1].stat().st_size < options.largest * 1e6
        ]
        random.Random(options.seed).shuffle(models)
        work = partial(judged, targets=options.to.split(","), seed=options.seed, each=options.each, show=options.show)
        with multiprocessing.Pool(options.jobs) as pool:
            for count in pool.imap_unordered(work, models):
                total.update(count)
                if options.show:
                    print(f"{total['right']} of {total['shown']} right", flush=True)
                if total["shown"] >= options.count:
                    pool.terminate()
                    break
    print(dict(total.most_common()))


if __name__ == "__main__":
    main()
