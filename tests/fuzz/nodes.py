"""The nodes of random models, each alone, on the ways to other opsets and formats and back.

python -m fuzz.nodes --count N [--seed S] [--paths opset,ir,hlo,stablehlo,mdf,stateful] [--opsets K] [--looped SHARE]
                     [--verdicts SHARE] [--minutes M] [--keep DIR]

(from the folder tests). A node is given what it was made with, and now and then it stands in a loop of one pass, of
which no converter knows the number; of more values than in the models sizes are open. What then comes out otherwise
than in ONNX Runtime is examined as a model is by `fuzz.models`, which knows of rounding and of the runtimes' own ways.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.convert.format import format_of
from backedge.passes.errors import Unsupported
from onnx import helper
from trust.judge import ROUNDING, in_child

from .evaluate import model_of, proto
from .judging import apart
from .maker import OPSETS, Emitted, Maker, Value, tensor_of
from .models import SILENCE, Found, counted, examined, is_valid, tell
from .paths import TARGETS, Job, ordered, prepare
from .running import Feed, Ours, Outputs, Run, open_session, run_in, run_onnx

_BATCH = 16
"""Models whose nodes one child process looks at."""

_SOURCE = "source.onnx"
_PASSES = "passes"
_OPEN = (0.0, 0.0, 0.4, 1.0)
"""How many sizes of a value aren't told."""


def alone(seed: int, looped: float) -> Iterator[tuple[str, Job]]:
    """The nodes of a model, those in its regions among them, as models of their own on the example they were made with.

    Args:
        looped: the share of nodes that stand in a loop.
    """
    maker = Maker(seed)
    maker.model()
    dice = random.Random(f"nodes {seed}")
    for one in maker.emitted:
        if "Random" in one.node.op_type or one.node.op_type in ("Bernoulli", "Multinomial"):
            continue
        in_loop = dice.random() < looped and all(value.tensor for value in one.made)
        model, feed = _model_of(maker, one, dice, in_loop)
        yield one.node.op_type, Job(model.SerializeToString(), [feed], seed)


def _model_of(maker: Maker, one: Emitted, dice: random.Random, in_loop: bool) -> tuple[onnx.ModelProto, Feed]:
    """One node, and what it is given; in a loop, the results before the first pass and their number, too."""
    given = [value for value in one.given if value.name not in maker.constants or not value.tensor]
    constants = [
        tensor_of(value.example, value.name) for value in one.given if value.name in maker.constants and value.tensor
    ]
    inputs = [_info(value, value.name, dice) for value in given]
    feed = {value.name: value.example for value in given}
    nodes, outputs = [one.node], [_info(value, value.name, None if in_loop else dice) for value in one.made]
    if in_loop:
        start = [f"before_{value.name}" for value in one.made]
        feed |= {name: np.zeros_like(value.example) for name, value in zip(start, one.made, strict=True)}
        feed[_PASSES] = np.array(1, np.int64)
        inputs += [_info(value, name) for name, value in zip(start, one.made, strict=True)]
        inputs.append(helper.make_tensor_value_info(_PASSES, onnx.TensorProto.INT64, []))
        nodes = [_loop(one, start, outputs)]
        outputs = [_info(value, name) for name, value in zip(nodes[0].output, one.made, strict=True)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    version = max(maker.ir, 4)  # before it initializers are inputs
    return model_of(graph, maker.opset, version, maker.functions if one.node.domain == "local" else ()), feed


def _loop(one: Emitted, start: Sequence[str], results: Sequence[onnx.ValueInfoProto]) -> onnx.NodeProto:
    body = helper.make_graph(
        [helper.make_node("Identity", ["again"], ["on"]), one.node],
        "body",
        [
            helper.make_tensor_value_info("count", onnx.TensorProto.INT64, []),
            helper.make_tensor_value_info("again", onnx.TensorProto.BOOL, []),
            *(_info(value, f"{value.name}_in_turn") for value in one.made),
        ],
        [helper.make_tensor_value_info("on", onnx.TensorProto.BOOL, []), *results],
    )
    return helper.make_node(
        "Loop", [_PASSES, "", *start], [f"{value.name}_at_last" for value in one.made], name="loop", body=body
    )


def _info(value: Value, name: str, dice: random.Random | None = None) -> onnx.ValueInfoProto:
    """A value with its sizes, some of which aren't told by chance."""
    share = dice.choice(_OPEN) if dice is not None else 0.0
    sizes = value.shape if value.tensor else ()
    shape = [None if dice is not None and dice.random() < share else size for size in sizes]
    return helper.make_value_info(name, proto(value.type, shape if value.tensor else None))


# looking --------------------------------------------------------------------------------------------


def differs(job: Job, names: Sequence[str], right: Outputs, folder: Path) -> bool:
    """Whether a node needs to be examined on the way that a job goes, or in our executor, if it goes none: it isn't
    refused there, and something fails or gives other numbers than are `right`. Its file stands in the folder."""
    source = folder / _SOURCE
    try:
        if not job.paths:
            return _is_other(right, run_in(Ours(to_hub(load(source))), job.feeds, names))
        (path,) = job.paths
        name, options = ordered(path, job.opset, job.feeds[0])
        made, back = folder / name, folder / "back.onnx"
        try:
            convert(source, made, verify=0, force=True, **options)
        except Unsupported:
            return False
        if path == "opset":
            return _is_other(right, run_onnx(made, job.feeds, names))
        if path != "mdf":  # whose functions nothing runs
            session = open_session(format_of(made).runtime, made, {"recompile": "never"})
            if _is_other(right, run_in(session, job.feeds, names)):
                return True
        convert(made, back, verify=0, force=True)
        return _is_other(right, run_onnx(back, job.feeds, names))
    except Exception:
        return True


def _is_other(right: Outputs, run: Run) -> bool:
    found = run.outputs[0]
    if found is None:
        return not run.errors[0].startswith("fault:")
    return apart(right, found, run.coarse) > ROUNDING * (50 if run.coarse else 1)


def looked_at(
    seeds: Sequence[int], paths: Sequence[str], opsets: int, looped: float, verdicts: float
) -> Iterator[int | Job | list[Job]]:
    """Each seed before its nodes, each node before it is looked at, and then the ways of it that are to be examined."""
    seen: set[tuple[Any, ...]] = set()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        for seed in seeds:
            yield seed
            for op_type, job in alone(seed, looped):
                key = _kind_of(op_type, job)
                if key in seen or not is_valid(job.model):
                    continue
                seen.add(key)
                names, right = truth_of(job, folder)
                if right is not None:
                    yield job
                    ways = _ways(job, paths, opsets, verdicts)
                    yield [way for way in ways if way.verdicts or differs(way, names, right, folder)]


def truth_of(job: Job, folder: Path) -> tuple[list[str], Outputs | None]:
    """The names of the outputs, and what ONNX Runtime gives for them, if it runs the model."""
    source = folder / _SOURCE
    source.write_bytes(job.model)
    names = [value.name for value in onnx.load_model_from_string(job.model).graph.output]
    run = run_onnx(source, job.feeds, names)
    return names, None if run.by else run.outputs[0]


def _ways(job: Job, paths: Sequence[str], opsets: int, verdicts: float) -> Iterator[Job]:
    """The ways that a node goes; on the share `verdicts` of them `convert` is to be asked, whatever comes out."""
    dice = random.Random(job.model)
    yield replace(job, paths=(), verdicts=0.0)
    for path in paths:
        for opset in dice.sample(OPSETS, opsets) if path == "opset" else (None,):
            yield replace(job, paths=(path,), opset=opset, verdicts=float(dice.random() < verdicts))


def _kind_of(op_type: str, job: Job) -> tuple[Any, ...]:
    """What nodes have in common that needn't be looked at twice."""
    graph = onnx.load_model_from_string(job.model).graph
    written = [str(attribute)[:40] for attribute in graph.node[0].attribute]
    given = [
        "list" if isinstance(value, list) or value is None else (value.dtype.name, value.ndim, 0 in value.shape)
        for value in job.feeds[0].values()
    ]
    return op_type, tuple(written), tuple(given), len(graph.initializer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--paths", default=",".join(TARGETS))
    parser.add_argument("--opsets", type=int, default=3, help="so many of the opsets for each node")
    parser.add_argument("--looped", type=float, default=0.3)
    parser.add_argument("--verdicts", type=float, default=0.02)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    prepare()
    end = time.monotonic() + 60 * given.minutes
    paths, left = given.paths.split(","), list(range(given.seed, given.seed + given.count))
    with counted() as counts:
        while left and time.monotonic() < end:
            begun, suspects = 0, list[Job]()
            last: Job | None = None
            try:
                look = partial(looked_at, left[:_BATCH], paths, given.opsets, given.looped, given.verdicts)
                for one in in_child(look, SILENCE, "fork"):
                    if isinstance(one, int):
                        begun += 1
                    elif isinstance(one, Job):
                        last = one
                    else:
                        counts["nodes"] += 1
                        suspects += one
            except ChildProcessError:  # of others before it, maybe
                counts["ended"] += 1
                suspects += [replace(last, paths=paths, verdicts=0.0)] if last is not None else []
            counts["models"] += begun
            del left[: max(begun, 1)]
            for job in suspects:
                found = Found(job.seed, job, examined(job))
                counts["examined"] += 1
                counts["examined: fine"] += not found.findings
                counts.update(f"{event.path}: {event.kind}" for event in found.findings)
                tell(found, given.keep)


if __name__ == "__main__":
    main()
