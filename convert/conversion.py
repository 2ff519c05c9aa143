"""convert: a model into another format, accepted by the target's own reader, and compared by running both."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ..passes.errors import BackedgeError, InvalidModel
from ..passes.garbage import release, seldom
from ..passes.graph import NOTES, Graph
from ..passes.operator_list import OperatorList, operator_list
from ..passes.outputs import drafted, place_of
from ..passes.progress import stage
from ..passes.scratch import scratch
from ..passes.structure.recurrent import FuseRecurrent
from ..passes.structure.unroll import UnrollLoops
from ..passes.types import Dim
from ..passes.workarounds import keeping_to_the_text
from ..runtime.compare.record import Report
from .budget import TIMEOUT, TRIALS
from .conversion_report import ConversionReport
from .files import Opset, as_a_file_of, judged, load, objection, to_hub
from .format import FORMATS, Arguments, Format, MdfStyle, format_of
from .objects import Source, stored
from .refused import with_every_refusal
from .requested_passes import ReportingPass, to_dialect_after
from .specialize import check_static_inputs, check_static_outputs, set_shapes, with_batch, with_values
from .user_passes import UserPass, user_pass
from .verification import start_runtimes
from .verification import verify as verify_files


def convert(
    source: Source,
    to: str | os.PathLike[str] | BinaryIO,
    *,
    args: Sequence[Any] | None = None,
    constants: Arguments = (),
    static_args: Arguments = (),
    from_format: str | None = None,
    to_format: str | None = None,
    opset: Opset = None,
    shapes: Mapping[str, Sequence[Dim]] | None = None,
    batch: int | None = None,
    values: Mapping[str, Any] | None = None,
    static: bool = False,
    mdf_style: MdfStyle | None = None,
    fuse_recurrent: bool = False,
    unroll: int = 0,
    only_ops: str | Path | Sequence[str] | None = None,
    passes: Sequence[UserPass] = (),
    verify: int = TRIALS,
    timeout: float = TIMEOUT,
    proof: bool = True,
    certificate: str | Path | None = None,
    force: bool = False,
    faithful: bool = False,
) -> ConversionReport:
    """Convert a model, and check the result: by proof, or by running both.

    A file is written under a temporary name and renamed once the check didn't find a difference.

    Args:
        source: a file, or what `objects.stored` takes.
        to: the file to be written, or the name of a format (`FORMATS`): then the report's `model` is such an object, an
            `onnx.ModelProto`, an `openvino.Model`, a `modeci_mdf` model, text of HLO or StableHLO; or an open binary
            file, for which `to_format` says the format.
        args: what `source` is traced with where it is a function of JAX: arrays, `jax.ShapeDtypeStruct`, trees of them.
        constants: of JAX, which of `args` become constants of the model, which are named as inputs are: positions,
            names; or names with trees of arrays, which are for lowered, exported and compiled functions, too. Leaves
            that are no arrays (functions, numbers of Python) are what they are while the function is traced.
        static_args: positions or names of those of `args` that are values of Python, as in
            `jax.jit(f, static_argnums=..., static_argnames=...)`; they needn't have a hash.
        from_format: the source's format, where its suffix doesn't say it.
        to_format: the target's.
        opset: for ONNX targets: the source's own if it is ONNX too, else 21 where left out; "min" is the lowest
            that can express the model (from ONNX to ONNX).
        shapes: static shapes of inputs, where the source leaves them open.
        batch: the first size of all inputs that leave it open.
        values: inputs that become constants, for example a trip count: name -> a number or an array.
        static: refuse what leaves a size of an input or output open.
        mdf_style: for MDF targets: "function" for `onnx::` functions, bodies as nested graphs; "stateful" for
            parameters with states and a ConditionSet, which MDF's own engine runs. Left out, a native MDF model stays
            one, and what comes from elsewhere is written as functions.
        fuse_recurrent: turn loops that are an LSTM, GRU or RNN into the operator; the report says which.
        unroll: write out the passes of loops that certainly make no more than this many; 0: none.
        passes: rules or passes of one's own, done one after the other on the hub: "FILE:NAME", or see `user_passes`.
        only_ops: for ONNX targets: write the model with these operators only: a file, the name of a profile
            (`passes.operator_profiles.profiles()`), or the lines of a list. Without `opset` the nearest that it reads.
        verify: sets of designed inputs for the check; 0 turns it off.
        timeout: seconds a runtime may take for one set of inputs.
        proof: match the files first; what is proved needs few inputs.
        certificate: the file for the certificate of a proof; none is written where there is no proof.
        force: write the target also where it is the source.
        faithful: keep to the text of the formats where OpenVINO is known to do otherwise: see `passes.workarounds`.

    Raises:
        InvalidModel: the source can't be read, the target can't be written, or its library isn't installed.
        Unsupported: what the target can't express; where there are several reasons, all of them (`UnsupportedNodes`).
            Its notes (`__notes__`) say what can be done, where something is known.
        TypeError: `source` is no model.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(seldom())
        stack.enter_context(keeping_to_the_text(faithful))
        file = stack.enter_context(stored(source, from_format, args=args, constants=constants, static_args=static_args))
        target, shown, to_format = stack.enter_context(_destination(to, to_format))
        wanted = format_of(target, to_format, "--to").in_style(mdf_style)
        _check_target(target, None if force else file.path)
        if target.is_symlink():  # the name of what it leads to may have another suffix
            to_format = wanted.name
        notes: list[str] = []
        with judged(file.path, file.format):
            file = stack.enter_context(with_values(file, values or {}))
        notes += [f"input {name!r} is the constant {value}" for name, value in (values or {}).items()]
        notes += [f"argument {name!r} is constant (arrays: {len(arrays)})" for name, arrays in file.constants.items()]
        origin = format_of(file.path, file.format)
        if verify:
            start_runtimes((file.path, target), (file.format, to_format))

        def attempt() -> tuple[Graph, int, dict[str, Sequence[Dim]]]:
            """What the target gets, how many nodes the source has, and the shapes that its inputs were given."""
            graph = load(file.path, file.format)
            counted = _count(graph)
            known = dict(shapes or {})
            if batch is not None:
                known = with_batch(graph, batch, known)
            if known:
                set_shapes(graph, known)
            if static:
                check_static_inputs(graph)
            at, limited = opset, _unchanged
            if only_ops is not None:
                at, limited = _limited(operator_list(only_ops), wanted, opset, graph)
            asked: list[ReportingPass] = [FuseRecurrent(wanted.objection_to_recurrence)] if fuse_recurrent else []
            asked += [UnrollLoops(unroll)] if unroll else []
            asked += map(user_pass, passes)
            if wanted.goes_by_hub(graph.dialect, at):
                graph = to_hub(graph)  # the file's own graph isn't asked for any more
                release(counted)
            stage(f"converting to {wanted.name}")
            made = limited(to_dialect_after(asked, graph, wanted, at, given=True))
            if static:
                check_static_outputs(made)
            return made, counted, known

        with judged(file.path, file.format):
            made, counted, known = with_every_refusal(attempt, f"opset {opset}" if opset else wanted.name)
        release(counted)  # what was lowered isn't needed any more
        report = ConversionReport(
            file.name,
            shown,
            origin.name,
            wanted.name,
            made.opsets.get(""),
            (counted, _count(made)),
            dict(sorted(Counter(node.op_type for _, node in made.walk()).items())),
            list(made.meta.get("changes", ())),
            [*notes, *made.meta.get(NOTES, ())],
        )
        stage(f"writing {target.name}")
        with drafted(target, lasting=shown == str(target)) as place:
            draft = place.path
            with judged(file.path, file.format):
                wanted.write(made, draft)
            if verify:
                try:
                    report.verification = verify_files(
                        file.path,
                        draft,
                        trials=verify,
                        shapes=known,
                        timeout=timeout,
                        formats=(file.format, to_format),
                        names=(file.name, shown),
                        proof=proof,
                        certificate=certificate,
                    )
                except InvalidModel:
                    report.refusal = _unreadable(draft, to_format)
                    if not report.refusal:
                        raise
                else:
                    _check_source(report.verification, origin, file.path)
                if report.verdict != "different":
                    _check(report, wanted, draft, origin, file.path)
                report.written = report.verdict != "different"
            if report.written:
                place.put()
        if report.written:
            if isinstance(to, str) and to in FORMATS:
                report.model = wanted.to_object(target)
            elif not isinstance(to, str | os.PathLike):
                _copy(target, to)
    return report


@contextlib.contextmanager
def _destination(
    to: str | os.PathLike[str] | BinaryIO, to_format: str | None
) -> Iterator[tuple[Path, str, str | None]]:
    """The file to be written, what reports call it, its format: for an object or an open file a temporary one."""
    if isinstance(to, os.PathLike) or (isinstance(to, str) and to not in FORMATS):
        yield Path(to), str(Path(to)), to_format
        return
    name = to if isinstance(to, str) else _named(to_format)
    if isinstance(to, str):
        FORMATS[name].require_library()
    shown = f"<{to}>" if isinstance(to, str) else str(getattr(to, "name", "<file>"))
    with scratch() as folder:
        yield folder / f"model{FORMATS[name].suffixes[0]}", shown, name


def _named(format: str | None) -> str:
    """
    Raises:
        InvalidModel: it isn't said, or there is none of this name.
    """
    if format is None:
        raise InvalidModel("what is written to an open file is of no format: to_format says it")
    return format_of(Path(), format).name


def _copy(written: Path, stream: BinaryIO) -> None:
    """
    Raises:
        InvalidModel: the model is of several files.
    """
    others = sorted(path.name for path in written.parent.iterdir() if path != written)
    if others:
        raise InvalidModel(
            f"such a model is of several files, {', '.join([written.name, *others])}: write it to a path"
        )
    stream.write(written.read_bytes())
    stream.flush()


def _check_target(target: Path, source: Path | None) -> None:
    """
    Raises:
        InvalidModel: nothing can be written there, or it is the source.
    """
    place_of(target)
    if source is not None and target.exists() and source.exists() and target.samefile(source):
        raise InvalidModel(f"{target} is the source itself; --force (force=True) replaces it")


def _unreadable(draft: Path, format: str | None) -> str:
    """Why we can't read what we wrote; "" where we can."""
    try:
        load(draft, format)
    except InvalidModel as error:
        return f"it can't be read back: {str(error).replace(str(draft.parent), '...')}"
    return ""


def _check_source(comparison: Report, origin: Format, source: Path) -> None:
    """Where nothing was found to be equal, since the source is no model of its format, that is what there is to tell.

    A runtime that doesn't load a file may only lack one of its operators. So its format's own checker must refuse it,
    too; and where that is the same runtime, our executor must have failed, or our reader found that the types don't
    agree, or what contradicts itself.

    Raises:
        InvalidModel: it is none.
    """
    if comparison:
        return
    runs = [run for trial in comparison.trials for run in trial.a]
    if {run.status for run in runs if run.runnable == origin.runtime} != {"load"}:
        return
    ours = {run.status for run in runs if not run.own}
    has_failed = (
        comparison.verdict == "different"
        or ours == {"run"}
        or not origin.check.by_loading
        or (ours == {"load"} and _contradicts_itself(source, origin))
    )
    if has_failed and (told := objection(source, origin)):
        raise InvalidModel(f"{source}: {told}")


def _contradicts_itself(source: Path, origin: Format) -> bool:
    """Whether our reader finds a fault in a file, rather than something that it can't express."""
    try:
        to_hub(load(source, origin.name))
    except BackedgeError as error:
        return isinstance(error, InvalidModel)
    return False


def _check(report: ConversionReport, wanted: Format, draft: Path, origin: Format, source: Path) -> None:
    """Ask the target format's own reader or checker whether it takes what was written.

    Raises:
        InvalidModel: it doesn't, nor does the source's own take the source, or nobody could run it.
    """
    if wanted.check.by_loading and report.verification is not None and _was_loaded(report.verification, wanted.runtime):
        return
    found = wanted.check.objection(draft)
    if not found:
        return
    with as_a_file_of(wanted, source, origin) as (own, given):
        is_alike = own.check == wanted.check and wanted.check.objects_alike(found, draft, given)
        told = "" if is_alike else own.check.objection(given)
    if is_alike:
        report.notes.append(f"{wanted.check.name} objects as to the source: {found}")
    elif told:
        raise InvalidModel(f"{source}: {own.check.name} refuses it: {told}")
    elif report.verification is not None and (told := _failure(report.verification, origin.runtime)):
        raise InvalidModel(
            f"{source}: it can't be run ({told}), and {wanted.check.name} refuses what it becomes: {found}"
        )
    else:
        report.refusal = f"{wanted.check.name} refuses it: {found}"


def _failure(comparison: Report, runtime: str) -> str:
    """Why nobody, neither the format's own runtime nor our executor, could run the source; "" where somebody could."""
    runs = [run for trial in comparison.trials for run in trial.a if run.status != "skipped"]
    tried = {run.runnable for run in runs if run.status in ("load", "run")}
    if any(run.status == "ok" for run in runs) or runtime not in tried or all(run.own for run in runs):
        return ""
    return f"{runtime}: {next(run.error for run in runs if run.runnable == runtime):.300}"


def _was_loaded(comparison: Report, runtime: str) -> bool:
    runs = (run for trial in comparison.trials for run in trial.b if run.runnable == runtime)
    return any(run.status not in ("load", "skipped") for run in runs)


def _unchanged(graph: Graph) -> Graph:
    return graph


def _limited(
    operators: OperatorList, target: Format, opset: Opset, graph: Graph
) -> tuple[int, Callable[[Graph], Graph]]:
    """The opset to write a model at that is limited to a list of operators, and what limits it once it is there.

    Raises:
        InvalidModel: the list is for another format, or doesn't go with the opset.
    """
    if target.listed is None:
        raise InvalidModel(f"--only-ops is for ONNX, not for {target.name}")
    if opset == "min":
        raise InvalidModel("--only-ops takes no opset min: name one, or none")
    limited = target.listed.limited
    return target.listed.opset(operators, graph, opset), lambda made: limited(made, operators)


def _count(graph: Graph) -> int:
    return sum(1 for _ in graph.walk())
