"""The verdict, measured: faults that it finds, pairs that are equal and that it must not call different.

python -m trust.sweep [--count 60] [--seed 0] [--every 1] [--generator first|second|edges|cases] [--kinds 12]
                      [--only TEXT] [--jobs 1] [--same 4] [--to opset:13,opset:21,ir,hlo] [--trials 64] [--minutes M]
                      [--json FILE] [--keep DIR]

(from the folder tests). A fault counts only if ONNX Runtime, run by the sweep itself on inputs of its own, shows it; an
equal pair only if ONNX Runtime doesn't tell it apart. "Hard" faults are those that under 10 % of plain inputs show.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import pickle
import shutil
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import onnx

from . import programs
from .edges import EDGES
from .equals import SAME, rewrite
from .faults import KINDS, mutate
from .feeds import PLAIN, feeds
from .judge import Judgement, Original, in_child, judge
from .random_models import make

HARD = 0.1
PAIR_SECONDS = 120.0

SUFFIXES = {"opset": ".onnx", "ir": ".xml", "hlo": ".hlo", "mdf": ".json"}
FAULT, APART, EQUAL, CONVERTED = "fault", "maybe rounding", "equal", "converted"


@dataclass(slots=True)
class Pair:
    """Two models and what they are to each other."""

    group: str
    kind: str
    model: str
    a: onnx.ModelProto
    b: onnx.ModelProto | None = None
    target: str = ""
    share: float = 0.0
    units: float = 0.0
    feed: dict[str, Any] | None = None


@dataclass(slots=True)
class Result:
    """What `verify` said of a pair."""

    group: str
    kind: str
    model: str
    share: float
    units: float
    verdict: str
    reasons: list[str]
    seconds: float
    kept: str = ""

    @property
    def hard(self) -> bool:
        return self.share < HARD


@dataclass(slots=True)
class Options:
    """The command's options."""

    count: int = 60
    seed: int = 0
    generator: str = "first"
    kinds: int = 12
    only: str = ""
    same: int = 4
    to: tuple[str, ...] = ()
    trials: int = 64
    keep: str = ""
    end: float = math.inf
    """When no further pair is begun, on the monotonic clock."""
    every: int = 1


# pairs -----------------------------------------------------------------------------------------------


def of_random_models(seed: int, options: Options, log: Counter[str]) -> Iterator[Pair]:
    """All pairs of one random model; `log` counts what was left out and why."""
    model = make(seed)
    original = Original(model.SerializeToString(), feeds([model], seed), PLAIN).prepare()
    if original.share < 0.5:
        log["model: doesn't run on most plain inputs"] += 1
        return
    log["models"] += 1
    yield from faulty(model, original, f"{options.generator}-{seed}", seed, options, log)
    yield from equal(model, original, f"{options.generator}-{seed}", seed, options, log)
    for target in options.to:
        yield Pair(CONVERTED, target, f"{options.generator}-{seed}", model, target=target)


def _turn(names: list[str], seed: int) -> list[str]:
    """The names in an order of the seed's own."""
    return sorted(names, key=lambda name: zlib.crc32(f"{seed} {name}".encode()))


def _made(make: Callable[[], onnx.ModelProto | None], kind: str, log: Counter[str]) -> onnx.ModelProto | None:
    """A changed model; what goes wrong in changing it is the sweep's own fault, and is told."""
    try:
        return make()
    except Exception as error:
        log[f"a fault of the sweep: {kind}: {type(error).__name__}: {error}"] += 1
        return None


def faulty(
    model: onnx.ModelProto, original: Original, name: str, seed: int, options: Options, log: Counter[str]
) -> Iterator[Pair]:
    """Mutants of kinds chosen by the seed, those that ONNX Runtime shows."""
    found = 0
    for kind in _turn([x for x in KINDS if options.only in x], seed):
        if found >= options.kinds:
            return
        mutant = _made(lambda kind=kind: mutate(model, KINDS[kind], str(seed)), kind, log)
        if mutant is None:
            continue
        said = judge(original, mutant.SerializeToString())
        if not said.real:
            log[f"no fault: {said.why.split(':')[0]}"] += 1
            continue
        found += 1
        yield _pair(APART if KINDS[kind].apart else FAULT, kind, name, model, mutant, original, said)


def _pair(
    group: str, kind: str, name: str, a: onnx.ModelProto, b: onnx.ModelProto, original: Original, said: Judgement
) -> Pair:
    feed = original.feeds[said.feed] if said.feed >= 0 else None
    return Pair(group, kind, name, a, b, share=said.share, units=said.units, feed=feed)


def equal(
    model: onnx.ModelProto, original: Original, name: str, seed: int, options: Options, log: Counter[str]
) -> Iterator[Pair]:
    """The model written in other ways, where ONNX Runtime doesn't tell them apart."""
    found = 0
    for kind in _turn(list(SAME), seed):
        if found >= options.same or options.only:
            return
        other = _made(lambda kind=kind: rewrite(model, SAME[kind], str(seed)), kind, log)
        if other is None:
            continue
        said = judge(original, other.SerializeToString())
        if said.real or said.why.startswith("isn't loaded"):
            log[f"not equal by ONNX Runtime: {kind}"] += 1
            continue
        found += 1
        yield _pair(EQUAL, kind, name, model, other, original, said)


def of_programs(seed: int, options: Options, log: Counter[str]) -> Iterator[Pair]:
    """A program with its own faults and other ways to write it."""
    program = programs.make(seed)
    model = program.model()
    name = f"second-{seed}-{program.name}".replace(" ", "-")
    others = [program.model(holes) for holes in program.faults.values()]
    original = Original(model.SerializeToString(), feeds([model, *others], seed), PLAIN).prepare()
    if original.share < 0.5:
        log["model: doesn't run on most plain inputs"] += 1
        return
    log["models"] += 1
    for group, ways in ((FAULT, program.faults), (EQUAL, program.equals)):
        for kind, holes in ways.items():
            full = f"{program.name}: {kind}"
            if options.only not in full:
                continue
            other = program.model(holes)
            said = judge(original, other.SerializeToString())
            if said.why.startswith("isn't loaded"):
                log[f"{full}: {said.why}"] += 1
            elif said.real is not (group == FAULT):
                log[f"no fault: {said.why}" if group == FAULT else f"not equal by ONNX Runtime: {full}"] += 1
            else:
                yield _pair(group, full, name, model, other, original, said)
    if not options.only:
        for target in options.to:
            yield Pair(CONVERTED, target, name, model, target=target)


def of_edges(seed: int, options: Options, log: Counter[str]) -> Iterator[Pair]:
    """One row of the table of edges; what shows it is its witness, beside the plain feeds."""
    if seed >= len(EDGES):
        return
    edge = list(EDGES.values())[seed]
    if options.only not in edge.name:
        return
    a, b = edge.models()
    made = [*feeds([a, b], seed), edge.feed()]
    original = Original(a.SerializeToString(), made, PLAIN).prepare()
    said = judge(original, b.SerializeToString())
    if not said.real:
        log[f"no fault: {edge.name}: {said.why}"] += 1
        return
    log["models"] += 1
    yield _pair(FAULT, edge.name, f"edges-{edge.group}", a, b, original, said)


@functools.cache
def _cases() -> list[tuple[str, Callable[[], onnx.ModelProto]]]:
    """Names and models in an order that makes any stretch of them a fair sample."""
    from control_flow.cases import CASES
    from openvino_lowering.corpus import node_cases

    found = {f"catalogue {case.name}": case.model for case in CASES}
    found |= {f"node {case.name}": partial(getattr, case, "model") for case in node_cases()}
    return [(name, found[name]) for name in _turn(list(found), 0)]


def of_cases(seed: int, options: Options, log: Counter[str]) -> Iterator[Pair]:
    """A model of other people, to be converted."""
    if seed >= len(_cases()):
        return
    name, model = _cases()[seed]
    if options.only not in name:
        return
    log["models"] += 1
    for target in options.to:
        yield Pair(CONVERTED, target, name.replace(" ", "-"), model(), target=target)


# verifying -------------------------------------------------------------------------------------------


def verified(pair: Pair, trials: int, folder: Path) -> Result:
    """What `verify` says of a pair, in a process of its own; whatever goes wrong there is a verdict of its own."""
    a, b = folder / "a.onnx", folder / "b.onnx"
    for file in folder.iterdir():
        shutil.rmtree(file) if file.is_dir() else file.unlink()  # a conversion that was ended leaves its folder
    onnx.save(pair.a, a)
    if pair.b is not None:
        onnx.save(pair.b, b)
    started = time.monotonic()
    try:
        [(verdict, reasons)] = in_child(lambda: _verify(a, b, pair.target, trials), PAIR_SECONDS)
    except ChildProcessError as error:
        verdict, reasons = ("timeout" if error.args[0] == "hang" else "crash"), [str(error)]
    except ValueError:
        verdict, reasons = "crash", ["no answer"]
    seconds = time.monotonic() - started
    return Result(pair.group, pair.kind, pair.model, pair.share, pair.units, verdict, reasons[:4], seconds)


def start_servers(targets: Iterable[str]) -> None:
    """Let the processes from which sessions are forked import the runtimes, once for all verifications; a verification
    itself is forked from this process."""
    from backedge.convert import conversion, verification
    from backedge.runtime.oracles.forks import warm_up

    a = Path("a.onnx")
    for suffix in dict.fromkeys([".onnx", *(SUFFIXES[target.partition(":")[0]] for target in targets)]):
        verification.start_runtimes((a, Path(f"b{suffix}")), (None, None))
    for module in ("reading", "reference_session", "openvino_session"):  # asked beside a file's own runtime
        warm_up(module, a, {})
    text = '<ir_version: 10, opset_import: ["" : 18]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
    with tempfile.TemporaryDirectory(prefix="trust-") as folder:
        a = Path(folder) / "a.onnx"
        onnx.save(onnx.parser.parse_model(text), a)
        for target in targets:  # readers and writers are imported when they are first used
            name, _, opset = target.partition(":")
            conversion.convert(a, a.with_name("b" + SUFFIXES[name]), opset=int(opset) if opset else None, verify=0)


def _verify(a: Path, b: Path, target: str, trials: int) -> Iterator[tuple[str, list[str]]]:
    """In the child: one tuple of verdict and reasons."""
    from backedge.convert import convert, verify
    from backedge.passes.errors import BackedgeError, Unsupported

    try:
        if not target:
            report = verify(a, b, trials=trials)
            yield str(report.verdict), list(report.reasons)
            return
        name, _, opset = target.partition(":")
        written = b.with_name("b" + SUFFIXES[name])
        made = convert(a, written, opset=int(opset) if opset else None, verify=trials)
        found = made.verification
        yield made.verdict, list(found.reasons) if found is not None else []
    except Unsupported as error:
        yield "refused", [str(error)]
    except BackedgeError as error:
        yield "invalid", [f"{type(error).__name__}: {error}"]
    except Exception as error:
        yield "traceback", [f"{type(error).__name__}: {error}", traceback.format_exc()]


def right(result: Result) -> bool:
    """Whether the verdict is what it should be."""
    if result.group == FAULT:
        return result.verdict == "different"
    if result.group == APART:
        return result.verdict not in ("traceback", "crash", "timeout")
    return result.verdict not in ("different", "traceback", "crash", "timeout")


def keep(pair: Pair, result: Result, folder: Path, source: Path) -> str:
    """Save a pair that was judged wrongly, with a feed that shows the difference."""
    name = f"{pair.model}-{pair.kind}".replace(" ", "_").replace("/", "_").replace(":", "_")
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    for file in filter(Path.is_file, source.iterdir()):
        shutil.copy(file, place / file.name)
    if pair.feed is not None:
        (place / "feed.pickle").write_bytes(pickle.dumps(pair.feed))
    (place / "result.json").write_text(json.dumps(asdict(result), indent=1) + "\n")
    return str(place)


def sweep(seeds: list[int], options: Options) -> Iterator[Result | Counter[str]]:
    """All pairs of these seeds; last, what was counted on the way."""
    log: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="trust-") as name:
        folder = Path(name)
        for seed in seeds:
            if time.monotonic() > options.end:
                log["models not tried for want of time"] += 1
                continue
            started = time.monotonic()
            spent = 0.0
            try:
                for pair in _SOURCES[options.generator](seed, options, log):
                    if time.monotonic() > options.end:
                        break
                    result = verified(pair, options.trials, folder)
                    spent += result.seconds
                    if options.keep and not right(result):
                        result.kept = keep(pair, result, Path(options.keep), folder)
                    yield result
            except Exception:
                log["a fault of the sweep"] += 1
                print(f"seed {seed}:\n{traceback.format_exc()}", file=sys.stderr)
            log["seconds of making and judging"] += round(time.monotonic() - started - spent)
    yield log


_SOURCES = {"first": of_random_models, "second": of_programs, "edges": of_edges, "cases": of_cases}


# the table -------------------------------------------------------------------------------------------


def table(results: list[Result], log: Counter[str]) -> Iterator[str]:
    """The figures, line by line."""
    for group in (FAULT, APART, EQUAL, CONVERTED):
        chosen = [one for one in results if one.group == group]
        if not chosen:
            continue
        yield f"{group}: {len(chosen)} pairs, {_tally(chosen)}"
        if group == FAULT:
            for title, part in (
                ("hard", [one for one in chosen if one.hard]),
                ("ordinary", [one for one in chosen if not one.hard]),
            ):
                yield f"  {title}: {_found(part)}, {_tally(part)}"
        sources = sorted({one.model for one in chosen if one.model.startswith("edges-")})
        for source in sources:
            yield f"  {source}: {_found([one for one in chosen if one.model == source])}"
        kinds = [] if sources else sorted({one.kind for one in chosen})
        for kind in kinds:
            part = [one for one in chosen if one.kind == kind]
            if group == FAULT:
                hard = [one for one in part if one.hard]
                yield f"    {kind:45} {_found(part):>14}   hard {_found(hard):>14}   {_tally(part)}"
            else:
                yield f"    {kind:45} {len(part):4}   {_tally(part)}"
    wrong = [one for one in results if not right(one)]
    if wrong:
        yield "judged wrongly:"
    for one in wrong:
        seen = f"{100 * one.share:.1f} % of inputs show it" if one.group == FAULT else one.group
        yield f"  {one.model} {one.kind}: {one.verdict} ({seen}) {one.kept}"
        yield f"      {'; '.join(one.reasons[:2])[:300]}"
    seconds = [one.seconds for one in results]
    if seconds:
        yield f"{sum(seconds) / len(seconds):.2f} s a verification, {max(seconds):.1f} s the longest"
    for name, count in sorted(log.items()):
        yield f"  {count:5} {name}"


def _tally(results: list[Result]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in Counter(one.verdict for one in results).most_common())


def _found(results: list[Result]) -> str:
    found = sum(one.verdict == "different" for one in results)
    return f"{found}/{len(results)} {100 * found / len(results):5.1f} %" if results else "-"


def run(options: Options, jobs: int = 1, report=lambda result: None) -> tuple[list[Result], Counter[str]]:
    """The sweep over all seeds, in so many processes."""
    start_servers(options.to)
    last = options.seed + options.count
    seeds = list(range(options.seed, min(last, len(EDGES)) if options.generator == "edges" else last, options.every))
    results: list[Result] = []
    log: Counter[str] = Counter()
    try:
        shards = [seeds[k::jobs] for k in range(jobs)]
        streams = [sweep(shards[0], options)] if jobs == 1 else _together(shards, options)
        for stream in streams:
            for item in stream:
                if isinstance(item, Counter):
                    log.update(item)
                else:
                    results.append(item)
                    report(item)
    except KeyboardInterrupt:
        log["interrupted"] += 1  # what was found until then is told
    return results, log


def _together(shards: list[list[int]], options: Options) -> list[Iterator[Result | Counter[str]]]:
    """Each shard in a process of its own; what they give is read as a queue has it."""
    import multiprocessing

    context = multiprocessing.get_context("fork")
    queue: Any = context.SimpleQueue()

    def work(part: list[int]) -> None:
        for item in sweep(part, options):
            queue.put(item)
        queue.put(None)

    for part in shards:
        context.Process(target=work, args=(part,)).start()

    def items() -> Iterator[Result | Counter[str]]:
        left = len(shards)
        while left:
            item = queue.get()
            left -= item is None
            if item is not None:
                yield item

    return [items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="models")
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--every", type=int, default=1, help="only every n-th of the seeds")
    parser.add_argument("--generator", choices=tuple(_SOURCES), default="first")
    parser.add_argument("--kinds", type=int, default=12, help="faults for each model")
    parser.add_argument("--only", default="", help="kinds of faults with this text in their name")
    parser.add_argument("--same", type=int, default=4, help="equal pairs for each model")
    parser.add_argument("--to", default="", help="conversions: opset:13,opset:21,ir,hlo")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--minutes", type=float, default=math.inf, help="after so many no further pair is begun")
    parser.add_argument("--keep", default="", help="a folder for the pairs judged wrongly")
    given = parser.parse_args()
    options = Options(
        given.count,
        given.seed,
        given.generator,
        given.kinds,
        given.only,
        given.same,
        tuple(filter(None, given.to.split(","))),
        given.trials,
        given.keep,
        time.monotonic() + 60 * given.minutes,
        given.every,
    )
    done = 0

    def report(result: Result) -> None:
        nonlocal done
        done += 1
        if not right(result):
            print(f"{result.model} {result.kind}: {result.verdict} ({100 * result.share:.1f} %)", flush=True)
        if os.isatty(2):
            print(f"\r{done}", end="", file=sys.stderr)

    results, log = run(options, given.jobs, report)
    for line in table(results, log):
        print(line)
    if given.json:
        given.json.write_text(json.dumps({"results": [asdict(one) for one in results], "log": log}, indent=0) + "\n")


if __name__ == "__main__":
    main()
