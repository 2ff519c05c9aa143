"""`backedge verify`, `diff` and `check`."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...passes.exit_codes import OF_VERDICT, ExitCode
from ..budget import TRIALS
from ..request import request
from .convert import given
from .many import done, ways_of
from .options import (
    FILE,
    Number,
    certificate_option,
    faithful_option,
    from_both_option,
    json_option,
    limits_options,
    many_options,
    memory_option,
    of_both,
    proof_option,
    quiet_option,
    shape_option,
    timeout_option,
    verbose_option,
    writable,
)

if TYPE_CHECKING:
    from ..objects import Stored


@contextlib.contextmanager
def _both(a: Path, b: Path, formats: tuple[str, ...]) -> Iterator[tuple[Stored, Stored]]:
    """Two models as files, one of them from standard input, perhaps."""
    from ..objects import stored

    if str(a) == str(b) == "-":
        raise click.UsageError("only one of both can come from standard input")
    first, second = of_both(formats)
    with stored(given(a), first) as one, stored(given(b), second) as other:
        yield one, other


@click.command()
@click.argument("a", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("b", type=click.Path(path_type=Path, allow_dash=True), required=False)
@from_both_option
@click.option(
    "--pairs",
    is_flag=True,
    help="Compare many: A is a file with two paths in each line, or A and B are folders with models of the same names.",
)
@click.option(
    "--inputs",
    type=click.Path(path_type=Path),
    help="A .npz file with one array for each input of A, or a folder of them, instead of designed inputs.",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=TRIALS,
    show_default=True,
    metavar="N",
    help="Number of trials (sets of designed inputs).",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Seed of the designed inputs."
)
@click.option("--rtol", type=Number(zero=True), help="Relative tolerance, instead of what rounding explains.")
@click.option("--atol", type=Number(zero=True), help="Absolute tolerance, instead of what rounding explains.")
@shape_option
@proof_option
@certificate_option
@timeout_option()
@faithful_option()
@memory_option()
@click.option(
    "--repro",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where they differ, write the smallest pair of models that still differs, with inputs, results and a script.",
)
@json_option
@click.option(
    "--html",
    "html_file",
    type=FILE,
    callback=writable,
    help="Write the report as an HTML page.",
)
@many_options
@quiet_option
@verbose_option
def verify(
    a: Path,
    b: Path | None,
    formats: tuple[str, ...],
    pairs: bool,
    inputs: Path | None,
    trials: int,
    seed: int,
    rtol: float | None,
    atol: float | None,
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    proof: bool,
    certificate: Path | None,
    timeout: float,
    faithful: bool,
    memory: int,
    repro: Path | None,
    json_file: str | None,
    html_file: Path | None,
    many: dict[str, Any],
) -> int:
    """Tell whether A and B compute the same, and where they first differ.

    proved: equal for all inputs, bit for bit. equal: the formats' own runtimes agree in all trials that could be
    compared. unconfirmed: nothing differs, but only backedge's own interpreter (the executor) could run one of the
    files, or too few trials could be compared. incomparable: no trial could be compared.

    \b
    Examples:
      backedge verify before.onnx after.xml
      backedge verify a.onnx b.onnx --repro smallest --html report.html
      backedge verify --pairs exported reference --jobs 4 --junit report.xml
    """
    plain: dict[str, Any] = {
        "trials": trials,
        "seed": seed,
        "rtol": rtol,
        "atol": atol,
        "shapes": dict(shapes),
        "timeout": timeout,
        "proof": proof,
        "faithful": faithful,
    }
    if pairs:
        alone = {"--inputs": inputs, "--certificate": certificate, "--repro": repro, "--html": html_file}
        for name, asked in alone.items():
            if asked is not None:
                raise click.UsageError(f"{name} is for one pair")
        return _verify_many(a, b, {**plain, "formats": of_both(formats)}, many, json_file)
    if b is None:
        raise click.UsageError("give A and B, or --pairs")
    return _verify_one(a, b, formats, inputs, certificate, memory, repro, json_file, html_file, plain)


def _verify_many(a: Path, b: Path | None, options: dict[str, Any], many: dict[str, Any], json_file: str | None) -> int:
    from ..many.jobs import comparisons, pairs_of

    return done(comparisons(pairs_of(a, b), options), ways_of(many, None), "verify", json_file)


def _verify_one(
    a: Path,
    b: Path,
    formats: tuple[str, ...],
    inputs: Path | None,
    certificate: Path | None,
    memory: int,
    repro: Path | None,
    json_file: str | None,
    html_file: Path | None,
    plain: dict[str, Any],
) -> int:
    from .. import verification
    from ..locating import Looking
    from ..repro import check_folder
    from ..samples import read_samples
    from ..terminal import say, working, write_json

    if repro is not None:
        check_folder(repro)
    samples = None if inputs is None else read_samples(inputs)
    command = shlex.join(["backedge", *sys.argv[1:]])
    with _both(a, b, formats) as (one, other):
        with working(f"comparing {a.name} with {b.name}"):
            report = verification.verify(
                one.path,
                other.path,
                inputs=samples,
                formats=(one.format, other.format),
                names=(one.name, other.name),
                certificate=certificate,
                looking=Looking(memory, plain["timeout"], repro, command),
                **plain,
            )
        code = OF_VERDICT[report.verdict]
        if json_file is not None:
            write_json({**report.to_json(), "exit_code": code}, json_file)
        if html_file is not None:
            from ...runtime.compare.page import html
            from ..compared_picture import compared_picture
            from ..terminal import write_text

            picture = compared_picture(one.path, other.path, report.location, (one.format, other.format))
            write_text(html(report, picture, command), html_file)
    from ...runtime.compare.report import rendered

    say(*rendered(report).renderables)
    return code


@click.command()
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@from_both_option
@limits_options
@json_option
@click.option("--html", "html_file", type=FILE, callback=writable, help="Write the differences as a page.")
@faithful_option()
@quiet_option
@verbose_option
def diff(
    a: Path, b: Path, formats: tuple[str, ...], json_file: str | None, html_file: Path | None, faithful: bool
) -> int:
    """Match A and B without running them, and list the operators that they don't share.

    Exit code 0 if every output is proved equal, 1 if they part.

    \b
    Example:
      backedge diff version1.onnx version2.onnx --html changes.html
    """
    from .. import diff as differ
    from ..terminal import working, write_json, write_text

    with working(f"matching {a.name} and {b.name}"), _both(a, b, formats) as (one, other):
        report = differ.diff(
            one.path, other.path, (one.format, other.format), (one.name, other.name), faithful=faithful
        )
    if json_file is not None:
        write_json(report.to_json(), json_file)
    if html_file is not None:
        write_text(differ.page(report), html_file)
    if json_file != "-" and not request().quiet:
        for line in report.lines():
            click.echo(line)
    return report.exit_code


@click.command()
@click.argument("certificate", type=FILE)
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@from_both_option
@limits_options
@json_option
@faithful_option(used=False)
@quiet_option
@verbose_option
def check(certificate: Path, a: Path, b: Path, formats: tuple[str, ...], json_file: str | None) -> int:
    """Check that CERTIFICATE shows A and B to compute the same, without any part of what found the proof.

    Exit code 0 if it does, 1 if it doesn't.

    \b
    Example:
      backedge convert m.onnx m.xml --certificate proof.json && backedge check proof.json m.onnx m.xml
    """
    from ..check import Rejected
    from ..check import check as checked
    from ..files import hub_of
    from ..terminal import fail, working, write_json

    with working(f"checking {certificate.name}"), _both(a, b, formats) as files:
        first, second = (hub_of(file.path, file.format) for file in files)
        try:
            shown = checked(certificate, first, second)
        except Rejected as error:
            if json_file is not None:
                write_json({"accepted": False, "reason": str(error)}, json_file)
            fail(f"{certificate} is rejected: {error}")
            return ExitCode.DIFFERENT
    if json_file is not None:
        write_json(shown.to_json(), json_file)
    if json_file != "-" and not request().quiet:
        for line in shown.lines():
            click.echo(line)
    return ExitCode.OK
