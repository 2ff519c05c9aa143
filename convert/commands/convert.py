"""`backedge convert` and `backedge sweep`."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..request import request
from .many import done, ways_of
from .options import (
    FILE,
    FORMAT,
    OpsetNumber,
    certificate_option,
    conversion_options,
    json_option,
    many_options,
    quiet_option,
    verbose_option,
)

if TYPE_CHECKING:
    from ..files import Opset


def _arguments(asked: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    """The arguments of `conversion.convert`, plain values all."""
    plain = {**asked, **others, "verify": asked["trials"], "passes": list(asked["passes"])}
    del plain["trials"], plain["memory"]
    return {**plain, "shapes": dict(asked["shapes"]), "values": dict(asked["values"])}


@click.command()
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="SOURCE TARGET | SOURCE... --into DIR")
@click.option("--from", "from_format", type=FORMAT, help="Format of SOURCE, if its suffix doesn't say.")
@click.option("--to", metavar="FORMAT[@OPSET]", help="Format of TARGET, if its suffix doesn't say: openvino, onnx@13.")
@click.option(
    "--opset",
    type=OpsetNumber(),
    help="Opset of an ONNX target, or min for the lowest it can reach. Default: the source's own, else 21.",
)
@click.option("--into", type=click.Path(path_type=Path), help="Convert all files, of format --to, into this folder.")
@click.option("--force", is_flag=True, help="Write TARGET also where it is SOURCE.")
@conversion_options
@certificate_option
@json_option
@many_options
@quiet_option
@verbose_option
def convert(
    files: tuple[Path, ...],
    from_format: str | None,
    to: str | None,
    opset: Opset,
    into: Path | None,
    force: bool,
    certificate: Path | None,
    json_file: str | None,
    asked: dict[str, Any],
    many: dict[str, Any],
) -> int:
    """Convert SOURCE into TARGET and check the result: by proof, or by running both.

    With --into DIR all files are converted. - is standard input or output.

    \b
    Examples:
      backedge convert model.onnx model.xml
      backedge convert model.onnx old.onnx --opset 11 --batch 1
      backedge convert *.onnx --to openvino --into ir --jobs 4
    """
    from ..many.jobs import conversions, target_of

    options = _arguments(asked, from_format=from_format, force=force)
    target = None if to is None else target_of(to)
    if target is not None and opset is not None:
        target = replace(target, opset=opset)
    if into is not None:
        if target is None:
            raise click.UsageError("--into DIR needs --to")
        if certificate is not None:
            raise click.UsageError("--certificate is for one SOURCE and TARGET")
        return done(conversions(files, target, into, options), ways_of(many, into), "convert", json_file)
    if len(files) != 2:
        raise click.UsageError("give SOURCE and TARGET, or --into DIR for several sources")
    named = {"to_format": None, "opset": opset} if target is None else target.arguments
    return _convert_one(files[0], files[1], {**options, **named, "certificate": certificate}, json_file)


def _convert_one(source: Path, target: Path, options: dict[str, Any], json_file: str | None) -> int:
    from .. import conversion
    from ..conversion_report import rendered
    from ..terminal import fail, say, working, write_json

    to_stdout = str(target) == "-"
    if to_stdout:
        _check_stdout(options["to_format"])
    with working(f"converting {source.name}"):
        report = conversion.convert(given(source), sys.stdout.buffer if to_stdout else target, **options)
    code = report.exit_code
    if json_file is not None:
        write_json(report.to_json(), json_file)
    say(*rendered(report).renderables)
    if not report.written:
        why = report.refusal or f"it would differ from {report.source}"
        fail(f"{report.target} was not written: {why} (--verify 0 writes it all the same)")
    elif code:
        reason = report.reason or "nothing could be compared"
        fail(f"{report.target} was written, but the check is {report.verdict}: {reason}")
    return code


def given(path: Path) -> Path | io.BytesIO:
    """A path, or what comes from standard input for "-"."""
    if str(path) != "-":
        return path
    stream = io.BytesIO(sys.stdin.buffer.read())
    stream.name = "<stdin>"
    return stream


def _check_stdout(format: str | None) -> None:
    """
    Raises:
        click.UsageError: nothing says what is written there, or a report would be written there, too.
    """
    if format is None:
        raise click.UsageError("for standard output --to says the format")
    if request().json_file == "-":
        raise click.UsageError("the model and the report can't both go to standard output")
    request().to_stdout = True


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--to", "targets", required=True, metavar="FORMAT[@OPSET],...", help="Targets: onnx@13,openvino.")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder for what is written, one for each target.",
)
@click.option("--from", "from_format", type=FORMAT, help="Format of all models, if suffixes don't say.")
@conversion_options
@json_option
@many_options
@quiet_option
@verbose_option
def sweep(
    folder: Path,
    targets: str,
    into: Path,
    from_format: str | None,
    json_file: str | None,
    asked: dict[str, Any],
    many: dict[str, Any],
) -> int:
    """Convert all models below FOLDER to all targets, and check each.

    What --results has already isn't done again, so that a sweep goes on where it was stopped; one model that fails
    stops no other. Exit code: the worst of all models, in the order 70, 1, 2, 3, 4.

    \b
    Example:
      backedge sweep models --to onnx@13,openvino --into out --jobs 4 --junit report.xml
    """
    from ..many.jobs import conversions, models_in, targets_of

    options = _arguments(asked, from_format=from_format)
    models = models_in(folder)
    inside = into.absolute()
    models = [path for path in models if inside not in path.absolute().parents]
    jobs = [
        job
        for target in targets_of(targets)
        for job in conversions(models, target, into / target.text, options, root=folder)
    ]
    return done(jobs, ways_of(many, into), "sweep", json_file)
