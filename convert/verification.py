"""verify: two files of any formats, run on the executor and on their own runtimes, and compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..passes.certain_size import check_passes
from ..passes.defaults import default_of
from ..passes.errors import BackedgeError, NeverRuns
from ..passes.garbage import seldom
from ..passes.graph import Graph
from ..passes.progress import stage
from ..passes.scratch import scratch
from ..passes.types import Dim
from ..passes.workarounds import keeping_to_the_text
from ..runtime.compare.coverage import unreached
from ..runtime.compare.input_roles import random_operators, signature_of
from ..runtime.compare.inputs import design
from ..runtime.compare.iterations import made_of_stacks, stackings
from ..runtime.compare.matching import match_names
from ..runtime.compare.record import Report, SideRun, Trial
from ..runtime.compare.rounding import BUDGET, Rounding
from ..runtime.compare.runnables import Runnable, on_file
from ..runtime.compare.sides import Side
from ..runtime.compare.signature import Designed, Signature
from ..runtime.compare.verdict import PROVED_TRIALS, compare_sides
from ..runtime.oracles import ORACLES, Outcome, Values, run_file, why_unavailable
from ..runtime.oracles.driver import drive
from ..runtime.oracles.forks import warm_up
from ..runtime.wide.model import has_double
from .asked import EXECUTOR, SAMPLING, executor_on, sampling_on
from .budget import PROOF, TIMEOUT, TRIALS
from .exploration import explore
from .files import judged, load, to_hub
from .format import format_of
from .guard import part
from .locating import EXECUTOR_NAME, Looking, look_into
from .objects import Source, stored
from .proof import Proof, prove, write_certificate
from .samples import Samples, check_types, typed
from .specialize import set_shapes

_ROUNDING = f"{__package__}.rounding_session"
_PATIENCE = 5.0  # seconds for one run of A on our executor; what takes longer is taken for endless
_WITNESS = 5.0  # seconds for one run of a runtime that is asked about a file of another format


def _executor(path: Path, format: str | None, timeout: float, **options: Any) -> Runnable:
    return Runnable(EXECUTOR_NAME, executor_on(path, format, timeout, **options), own=False)


def _rounding(
    paths: tuple[Path, Path], formats: tuple[str | None, str | None], a: Graph | None, b: Graph | None
) -> Rounding | None:
    """The judge of what rounding explains; None where A has no hub graph, or inputs don't determine outputs.

    Where only A has one, it stands for B's as well: what A means is what B's answers are held against.
    """
    if a is None or random_operators(a):
        return None
    alone = b is None
    if b is None:
        b, paths, formats = a, (paths[0], paths[0]), (formats[0], formats[0])
    if random_operators(b):
        return None
    inputs = match_names([value.name for value in a.inputs], [value.name for value in b.inputs])
    outputs = match_names([value.name for value in a.outputs], [value.name for value in b.outputs])
    options = {
        "other": str(paths[1].absolute()),
        "formats": list(formats),
        "inputs": inputs.pairs,
        "outputs": outputs.pairs,
    }

    def run(batches: Iterable[Mapping[str, Values]]) -> Iterator[Outcome]:
        return drive(_ROUNDING, paths[0].absolute(), batches, BUDGET, math.inf, options)

    return Rounding(run, has_double(a) or has_double(b), alone)


def _runtimes(
    path: Path, format: str | None, graph: Graph, hub: Graph | None, folder: Path, timeout: float, notes: list[str]
) -> list[Runnable]:
    """The file's own runtime; the format's second one where that can't load the file.

    `notes` takes up what a runtime had to be told of the file to read it, and which one there isn't.
    """
    found = format_of(path, format)
    absence = why_unavailable(found.runtime)
    if absence:
        note = f"{found.runtime} was not asked, because {absence}"
        notes += [note] if note not in notes else []
        return []
    if path.suffix in found.unread:
        path = folder / f"{path.stem}{found.suffixes[0]}"
        found.write(graph, path)
    options = None if found.run_options is None or hub is None else found.run_options(hub)
    runnables = [on_file(found.runtime, path, timeout, options=options)]
    if found.second_runtime:
        (probe,) = run_file(found.runtime, path, [{}], timeout)
        if probe.stage == "load":
            runnables.append(on_file(found.second_runtime, path, timeout))
        notes += [f"{found.runtime} on {path.name}: {probe.note}"] if probe.note else []
    return runnables


def _twin(path: Path, format: str | None, other: Path, other_format: str | None, timeout: float) -> Runnable | None:
    """The other file's runtime on this file, where it isn't its own one but reads it: OpenVINO reads ONNX."""
    runtime = format_of(other, other_format).runtime
    reads = runtime != format_of(path, format).runtime and _is_read_by(runtime, path)
    return on_file(runtime, path, timeout) if reads else None


def _is_read_by(runtime: str, path: Path) -> bool:
    return path.suffix in ORACLES[runtime].suffixes and not why_unavailable(runtime)


def _side(
    path: Path, format: str | None, folder: Path, timeout: float, longest: float, shown: str, notes: list[str]
) -> tuple[Side, Graph | None, Graph]:
    """All that can run a file; its hub graph where it has one; its own graph."""
    hub: Graph | None = None
    with judged(path, format):
        graph = load(path, format)
        try:
            hub = to_hub(graph)
            check_passes(hub, longest)
        except NeverRuns:
            raise
        except BackedgeError:  # the executor's process says why
            pass
    interface = hub or graph
    side = Side(
        shown,
        [_executor(path, format, timeout), *_runtimes(path, format, graph, hub, folder, timeout, notes)],
        inputs=[value.name for value in interface.inputs],
        outputs=[value.name for value in interface.outputs],
        stackings={} if hub is None else stackings(hub),
        unsized=frozenset() if hub is None else made_of_stacks(hub),
        types={value.name: value.type for value in (*interface.inputs, *interface.outputs)},
        optional=frozenset(value.name for value in interface.inputs if default_of(value) is not None),
        random=[] if hub is None else random_operators(hub),
        watch=None if hub is None else _executor(path, format, timeout, watch=True),
    )
    return side, hub, graph


def verify(
    a: Source,
    b: Source,
    *,
    trials: int = TRIALS,
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    inputs: Sequence[Mapping[str, Any]] | Samples | None = None,
    shapes: Mapping[str, Sequence[Dim]] | None = None,
    timeout: float = TIMEOUT,
    formats: tuple[str | None, str | None] = (None, None),
    names: tuple[str, str] | None = None,
    proof: bool = True,
    certificate: str | Path | None = None,
    looking: Looking | None = None,
    faithful: bool = False,
) -> Report:
    """Whether two models compute the same.

    First the files are matched: where that proves all outputs equal, `PROVED_TRIALS` sets of inputs are run all the
    same; of several outputs those that are proved equal are compared in as many trials. Each side runs on the executor
    and in its own runtime, in a process with a time limit.

    Args:
        a: the original: a file, or what `objects.stored` takes.
        b: what is held against it.
        trials: how many sets of designed inputs.
        seed: which sets.
        rtol: how far floats may be off, relatively; without tolerances it is decided what rounding explains.
        atol: the same, absolutely.
        inputs: these sets of inputs instead of designed ones, by the names of `a`; or by the name of each sample.
        shapes: static shapes of inputs of `a`, where the file leaves them open.
        timeout: seconds a runtime may take for one set of inputs.
        formats: of files whose suffixes don't say it.
        names: what the report calls the two.
        certificate: the file for the certificate of a proof; none is written where there is no proof.
        looking: how deep to look into what differs.
        faithful: read files as the text of their formats says, where OpenVINO is known to do otherwise.
        proof: match the files first; not with inputs or tolerances of one's own, which ask for numbers.

    Returns:
        A report, true if it says "proved" or "equal"; `report.verdict` is one of these, "unconfirmed", "different" or
        "incomparable".

    Raises:
        InvalidModel: a file can't be read, or is nothing that inputs can be designed for.
        TypeError: something is no model.
    """
    with (
        seldom(),
        keeping_to_the_text(faithful),
        stored(a, formats[0]) as first,
        stored(b, formats[1]) as second,
        scratch() as place,
    ):
        paths, formats = (first.path, second.path), (first.format, second.format)
        shown = names or (first.name, second.name)
        start_runtimes(paths, formats)
        folders = [place / "a", place / "b"]
        for folder in folders:
            folder.mkdir()
        limits = min(timeout, _PATIENCE), timeout
        notes: list[str] = []
        side_a, hub_a, graph_a = _side(paths[0], formats[0], folders[0], limits[0], timeout, shown[0], notes)
        side_b, hub_b, graph_b = _side(paths[1], formats[1], folders[1], limits[1], timeout, shown[1], notes)
        brief = min(timeout, _WITNESS)
        side_a.twin = _twin(paths[0], formats[0], paths[1], formats[1], brief)
        side_b.twin = _twin(paths[1], formats[1], paths[0], formats[0], brief)
        other = format_of(paths[0], formats[0]).second_runtime
        if other and _is_read_by(other, paths[0]) and all(one.name != other for one in side_a.runnables):
            side_a.third = on_file(other, paths[0], brief)
        known = hub_a or graph_a
        if shapes:
            known = known.copy()
            set_shapes(known, shapes)
            side_a.types = {**side_a.types, **{value.name: value.type for value in known.inputs}}
        rounding = _rounding(paths, formats, hub_a, hub_b)
        if rtol is None and atol is None and hub_a is None:
            notes.append(f"{shown[0]} has no float64 run: floats were held to each element type's tolerance")
        elif rtol is None and atol is None and hub_b is None:
            notes.append(f"{shown[1]} has no float64 run: its results were held against that of {shown[0]}")

        def looked_into(report: Report) -> Report:
            if hub_a is not None and hub_b is not None:
                stage("looking where they part")
                look_into(report, paths, formats, looking or Looking(timeout=timeout))
            return report

        if isinstance(inputs, Samples):
            check_types(inputs, known.inputs)
        if inputs is not None:
            sets = [typed(one, known.inputs) for one in (inputs.sets if isinstance(inputs, Samples) else inputs)]
            report = compare_sides(side_a, side_b, [Designed(dict(one)) for one in sets], rtol, atol, rounding)
            report.reasons += notes
            if isinstance(inputs, Samples) and report.first is not None and len(sets) > 1:
                report.reasons.append(f"trial {report.first.trial} is of {inputs.names[report.first.trial]}")
            return looked_into(report)
        signature = _signature(known, hub_b, hub_a is not None)
        built_in = side_a.optional.intersection(
            match_names(list(side_a.inputs or ()), list(side_b.inputs or ())).missing
        )
        signature = replace(signature, inputs=[one for one in signature.inputs if one.name not in built_in])
        proved: Proof | None = None
        if proof and rtol is None and atol is None and hub_a is not None and hub_b is not None:
            stage("matching both files")
            proved = prove(known, hub_b, format_of(paths[1], formats[1]), graph_b.opsets.get(""), part(PROOF))
        if certificate is not None and (proved is None or not proved.holds):
            notes.append("there is no proof, and so no certificate")
        if proved is not None and proved.holds:
            few = list(design(signature, min(trials, PROVED_TRIALS), seed))
            report = compare_sides(side_a, side_b, few, None, None, rounding)
            report.proof = proved.to_json()
            if report.verdict == "equal":
                report.verdict = "proved"
                why_none = "" if certificate is None else write_certificate(proved, Path(certificate))
                notes += [why_none] if why_none else []
                report.reasons = [_proved(report), *report.reasons[1:], *notes]
                return report
            if report.verdict != "different" and any(_is_silent(side, report) for side in _SIDES):
                report.reasons += [_matched(proved, False), *notes]  # more inputs would tell no more
                return report
            rounding = _rounding(paths, formats, hub_a, hub_b)
        runs = [
            executor_on(path, format, limit, coverage=True)
            for path, format, limit in zip(paths, formats, limits, strict=True)
        ]
        sample = sampling_on(paths, formats)
        stage("designing inputs")
        found = explore((side_a, side_b), (runs[0], runs[1]), (hub_a, hub_b), signature, trials, seed, sample)
        settled = set[str]() if proved is None or proved.holds else proved.proved
        report = compare_sides(side_a, side_b, found.trials, rtol, atol, rounding, asked=trials, proved=settled)
        report.coverage = found.coverage
        report.proof = None if proved is None else proved.to_json()
        report.reasons += notes
        if proved is not None:
            report.reasons.append(_matched(proved, report.verdict == "different"))
            report.reasons += [f"the proof was given up, as {proved.given_up}"] if proved.given_up else []
        if found.endless:
            report.reasons.append(f"{found.endless} more designed inputs were left out: {shown[0]} doesn't end on them")
        report.reasons += unreached(found.coverage)
        return looked_into(report)


def _is_silent(side: Callable[[Trial], list[SideRun]], report: Report) -> bool:
    """Whether a side's own runtimes don't load its file, whatever the inputs are."""
    own = {run.status for trial in report.trials for run in side(trial) if run.own}
    return "load" in own and own <= {"load", "skipped"}


def _proved(report: Report) -> str:
    own = [sorted({run.runnable for trial in report.trials for run in side(trial) if run.own}) for side in _SIDES]
    who = " and ".join(dict.fromkeys(", ".join(names) for names in own if names))
    agree = "agree" if " and " in who else "agrees"
    return (
        f"every output is proved equal, bit for bit, as both files are read here; {who} {agree} with that on "
        f"{report.counts['equal']} inputs"
    )


def _matched(proved: Proof, differs: bool) -> str:
    """What matching says of files that it doesn't prove equal, or that something else speaks against."""
    if proved.holds:
        what = "the runtimes compute them differently" if differs else "the runtimes don't confirm that on all inputs"
        return f"as both files are read here every output is proved equal; {what}"
    if proved.lemmas and all(proved.outputs.values()):
        more = f" and {len(proved.lemmas) - 6} more" if len(proved.lemmas) > 6 else ""
        names = ", ".join(proved.lemmas[:6])
        return f"every output is proved equal if both forms of {names}{more} give the same{_tried(proved)}"
    if proved.over_reals:
        return "every output is proved equal over the reals: sums and products are in another order, which may round"
    if proved.why and not proved.of:
        return f"no output is proved equal: {proved.why}"
    outputs = sum(proved.outputs.values())
    where = ", ".join(dict.fromkeys(proved.stops[1] or proved.stops[0]))
    stops = f"; the proof stops at {where}" if where else ""
    few = f" (compared in {PROVED_TRIALS} trials only)" if proved.proved else ""
    of = f"{outputs} of {len(proved.outputs)} outputs{few} and {proved.matched} of {proved.of} operators"
    return f"{of} are proved equal{stops}"


def _tried(proved: Proof) -> str:
    """What trying the lemmas gave."""
    if proved.refuted:
        return f"; those of {', '.join(proved.refuted[:6])} don't on every set of inputs"
    fewest = min(proved.tried.values(), default=0)
    return f", as they do, tried alone, on {fewest} sets of inputs each" if fewest else ""


_SIDES: tuple[Callable[[Trial], list[SideRun]], ...] = (lambda trial: trial.a, lambda trial: trial.b)


def start_runtimes(paths: tuple[Path, Path], formats: tuple[str | None, str | None]) -> None:
    """Let the processes in which two files will be run import what they need, while the files are read here.

    Args:
        paths: the files, which need not be there yet.
        formats: their formats where the suffixes don't say.
    """
    both = {"other": str(paths[1]), "formats": list(formats)}
    warm_up(EXECUTOR, paths[0], {"format": formats[0]})
    for path, format in zip(paths, formats, strict=True):
        runtime = format_of(path, format).runtime
        if not why_unavailable(runtime):
            warm_up(ORACLES[runtime].module, path, {})
    warm_up(SAMPLING, paths[0], both)
    warm_up(_ROUNDING, paths[0], both)


def _signature(known: Graph, b: Graph | None, is_hub: bool) -> Signature:
    """What is known of A's inputs, from what both models do with them."""
    if not is_hub and b is not None and len(b.inputs) == len(known.inputs):
        # our reading of A failed, but B tells what its inputs are used for
        renamed = b.copy()
        for value, original in zip(renamed.inputs, known.inputs, strict=True):
            value.name, value.type = original.name, original.type
        known = renamed
    return signature_of(known, b)
