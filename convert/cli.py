"""The `backedge` command; its exit codes stand in `passes.exit_codes`.

What a command needs is imported when it runs: help and completion answer at once.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..passes.errors import InvalidModel
from ..passes.exit_codes import OF_VERDICT, ExitCode
from ..passes.operator_profiles import profiles
from .budget import TRIALS
from .cli_options import (
    FILE,
    FORMAT,
    RUNTIMES,
    Number,
    OpsetNumber,
    Request,
    certificate_option,
    json_option,
    memory_option,
    proof_option,
    shape_option,
    timeout_option,
    writable,
)
from .ending import ending
from .format import FORMATS, MdfStyle

if TYPE_CHECKING:
    from ..passes.graph import Graph
    from ..runtime.compare.record import Report
    from .files import Opset


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="backedge", message="%(prog)s %(version)s")
def cli() -> None:
    """Carry models with control flow between formats, and check by running both that nothing changed.

    Exit codes: 0 proved or equal (or done), 1 different (nothing is written), 2 bad usage or a file that can't be read,
    3 not expressible in the target, 4 unconfirmed or incomparable (convert has written), 70 a fault of backedge.
    """


@cli.command()
@click.argument("source", type=FILE)
@click.argument("target", type=FILE)
@click.option("--from", "from_format", type=FORMAT, help="Format of SOURCE, if its suffix doesn't say.")
@click.option("--to", "to_format", type=FORMAT, help="Format of TARGET, if its suffix doesn't say.")
@click.option(
    "--opset",
    type=OpsetNumber(),
    help="Opset of an ONNX target, or min for the lowest it can reach. Default: the source's own, else 21.",
)
@shape_option
@click.option(
    "--mdf-style",
    type=click.Choice(["function", "stateful"]),
    help="For MDF targets: onnx:: functions, or states and a ConditionSet, which MDF's own engine runs.",
)
@click.option(
    "--fuse-recurrent",
    is_flag=True,
    help="Turn loops that are an LSTM, GRU or RNN into the operator, which runs faster.",
)
@click.option(
    "--unroll",
    type=click.IntRange(0),
    is_flag=False,
    flag_value=64,
    default=0,
    help="Write out the passes of loops that certainly make no more than this many; 64 where no number is given.",
)
@click.option(
    "--pass",
    "passes",
    metavar="FILE:NAME",
    multiple=True,
    help="Rules or a pass out of a Python file of your own, which is run.",
)
@click.option(
    "--only-ops",
    metavar="FILE|PROFILE",
    help=f"For ONNX: write the model with the operators of a list only; profiles: {', '.join(profiles())}.",
)
@click.option(
    "--verify",
    "trials",
    type=click.IntRange(0),
    default=TRIALS,
    show_default=True,
    help="Check the result on so many designed inputs; 0: don't.",
)
@proof_option
@certificate_option
@timeout_option
@json_option
def convert(
    source: Path,
    target: Path,
    from_format: str | None,
    to_format: str | None,
    opset: Opset,
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    mdf_style: MdfStyle | None,
    fuse_recurrent: bool,
    unroll: int,
    passes: Sequence[str],
    only_ops: str | None,
    trials: int,
    proof: bool,
    certificate: Path | None,
    timeout: float,
    json_file: str | None,
) -> int:
    """Convert SOURCE into TARGET and check the result by running both."""
    from . import conversion
    from .conversion_report import rendered
    from .terminal import fail, out, working, write_json

    with working(f"converting {source.name}"):
        report = conversion.convert(
            source,
            target,
            from_format=from_format,
            to_format=to_format,
            opset=opset,
            shapes=dict(shapes),
            mdf_style=mdf_style,
            fuse_recurrent=fuse_recurrent,
            unroll=unroll,
            passes=passes,
            only_ops=only_ops,
            verify=trials,
            timeout=timeout,
            proof=proof,
            certificate=certificate,
        )
    code = report.exit_code
    if json_file is not None:
        write_json(report.to_json(), json_file)
    if json_file != "-":
        for part in rendered(report).renderables:
            out.print(part)
    if not report.written:
        why = report.refusal or f"it would differ from {source}"
        fail(f"{target} was not written: {why} (--verify 0 writes it all the same)")
    elif code:
        fail(f"{target} was written, but the check is {report.verdict}: {_reason(report.verification)}")
    return code


@cli.command()
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
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
    help="Compare on so many designed inputs.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the designed inputs.")
@click.option("--rtol", type=Number(zero=True), help="Relative tolerance. Default: by element type.")
@click.option("--atol", type=Number(zero=True), help="Absolute tolerance. Default: by element type.")
@shape_option
@proof_option
@certificate_option
@timeout_option
@memory_option
@click.option(
    "--repro",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where they differ, make this folder: the smallest pair of models that do, inputs, results, a script.",
)
@json_option
@click.option(
    "--html",
    "html_file",
    type=FILE,
    callback=writable,
    help="Write the report as a page with a picture of the error.",
)
def verify(
    a: Path,
    b: Path,
    inputs: Path | None,
    trials: int,
    seed: int,
    rtol: float | None,
    atol: float | None,
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    proof: bool,
    certificate: Path | None,
    timeout: float,
    memory: int,
    repro: Path | None,
    json_file: str | None,
    html_file: Path | None,
) -> int:
    """Say whether A and B compute the same, and where they first differ."""
    from . import verification
    from .locating import Looking
    from .repro import check_folder
    from .samples import read_samples
    from .terminal import out, working, write_json, writing

    if repro is not None:
        check_folder(repro)
    samples = None if inputs is None else read_samples(inputs)
    command = shlex.join(["backedge", *sys.argv[1:]])
    with working(f"comparing {a.name} with {b.name}"):
        report = verification.verify(
            a,
            b,
            trials=trials,
            seed=seed,
            rtol=rtol,
            atol=atol,
            inputs=samples,
            shapes=dict(shapes),
            timeout=timeout,
            proof=proof,
            certificate=certificate,
            looking=Looking(memory, timeout, repro, command),
        )
    code = OF_VERDICT[report.verdict]
    if json_file is not None:
        write_json({**report.to_json(), "exit_code": code}, json_file)
    if html_file is not None:
        from ..runtime.compare.page import write_html
        from .compared_picture import compared_picture

        with writing(html_file):
            write_html(report, html_file, compared_picture(a, b, report.location), command)
    if json_file != "-":
        from ..runtime.compare.report import print_report

        print_report(report, out)
    return code


@cli.command()
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@json_option
@click.option("--html", "html_file", type=FILE, callback=writable, help="Write the differences as a page.")
def diff(a: Path, b: Path, json_file: str | None, html_file: Path | None) -> int:
    """Match A and B without running them, and list the operators that they don't share.

    Exit code 0 if every output is proved equal, 1 if they part.
    """
    from . import diff as differ
    from .terminal import working, write_json, writing

    with working(f"matching {a.name} and {b.name}"):
        report = differ.diff(a, b)
    if json_file is not None:
        write_json(report.to_json(), json_file)
    if html_file is not None:
        with writing(html_file):
            html_file.write_text(differ.page(report), encoding="utf-8")
    if json_file != "-":
        for line in report.lines():
            click.echo(line)
    return report.exit_code


@cli.command()
@click.argument("certificate", type=FILE)
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@json_option
def check(certificate: Path, a: Path, b: Path, json_file: str | None) -> int:
    """Check that CERTIFICATE shows A and B to compute the same, without any part of what found the proof.

    Exit code 0 if it does, 1 if it doesn't.
    """
    from .check import Rejected
    from .check import check as checked
    from .files import judged, load, to_hub
    from .terminal import fail, working, write_json

    graphs: list[Graph] = []
    with working(f"checking {certificate.name}"):
        for path in (a, b):
            with judged(path):
                graphs.append(to_hub(load(path)))
        try:
            shown = checked(certificate, graphs[0], graphs[1])
        except Rejected as error:
            if json_file is not None:
                write_json({"accepted": False, "reason": str(error)}, json_file)
            fail(f"{certificate} is rejected: {error}")
            return ExitCode.DIFFERENT
    if json_file is not None:
        write_json(shown.to_json(), json_file)
    if json_file != "-":
        for line in shown.lines():
            click.echo(line)
    return ExitCode.OK


def _reason(report: Report | None) -> str:
    """The first reason for a verdict."""
    return report.reasons[0] if report is not None and report.reasons else "nothing could be compared"


@cli.command()
@click.argument("model", type=FILE)
@click.option("--inputs", type=FILE, help="A .npz file with one array for each input. Default: designed inputs.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the designed inputs.")
@click.option(
    "--on", type=click.Choice(["executor", *RUNTIMES]), default="executor", show_default=True, help="Where to run it."
)
@click.option("--output", type=str, callback=writable, help="Write the outputs to this .npz file.")
def run(model: Path, inputs: Path | None, seed: int, on: str, output: str | None) -> int:
    """Run MODEL once and show what it gives."""
    from . import running
    from .samples import as_declared, designed_inputs, read_inputs
    from .terminal import out, save_npz, values_table, working

    with working(f"running {model.name}"):
        given = designed_inputs(model, seed) if inputs is None else as_declared(model, read_inputs(inputs))
        outputs = running.run(model, given, on)
    if output is not None:
        save_npz(outputs, output)
    out.print(values_table(given, "inputs"))
    out.print(values_table(outputs, f"outputs ({on})"))
    return 0


@cli.command()
@click.argument("model", type=FILE)
@click.option("--hub", is_flag=True, help="Show the hub's form, with canonical loops, instead of the file's own.")
@click.option("--svg", type=FILE, callback=writable, help="Draw the graph and its loops' wiring into this file.")
def show(model: Path, hub: bool, svg: Path | None) -> int:
    """Print MODEL as text that a person can read."""
    from ..passes.text import lines
    from .files import judged, load, to_hub
    from .terminal import working, writing

    with working(f"reading {model.name}"), judged(model):
        graph = load(model)
        if hub or svg is not None:
            graph = to_hub(graph)
    if svg is not None:
        from ..passes.picture import write_svg

        with writing(svg):
            write_svg(graph, svg)
        return 0
    for line in lines(graph):
        sys.stdout.write(line + "\n")
    return 0


@cli.command()
def formats() -> int:
    """List the formats and the runtimes that are installed."""
    from rich.table import Table

    from ..runtime.oracles import why_unavailable
    from .terminal import out

    table = Table(box=None, pad_edge=False)
    for heading in ("format", "files", "runtime", ""):
        table.add_column(heading)
    for entry in FORMATS.values():
        reason = why_unavailable(entry.runtime)
        table.add_row(
            entry.name, " ".join(entry.suffixes), f"{entry.runtime}{f' ({reason})' if reason else ''}", entry.about
        )
    out.print(table)
    return 0


@cli.command()
@click.argument("action", type=click.Choice(["where", "size", "clear"]), required=False)
def cache(action: str | None) -> int:
    """Show what is kept of compiled loops on disk, or clear it.

    where: the folder. size: bytes. clear: remove all. Nothing: folder, loops, size. $BACKEDGE_CACHE names another
    folder; where it is empty nothing is kept.
    """
    from ..runtime.compiled import cache as kept
    from ..runtime.compiled import stored
    from .terminal import out

    folder = kept.folder()
    entries = [] if folder is None else stored.entries(folder)
    size = sum(entry.size for entry in entries)
    if action == "where":
        click.echo("" if folder is None else str(folder))
    elif action == "size":
        click.echo(size)
    elif action == "clear":
        for entry in entries:
            entry.remove()
        out.print(f"removed {len(entries)} compiled loops, {size / 1e6:.1f} MB")
    elif folder is None:
        out.print(f"compiled loops aren't kept: ${kept.VARIABLE} is empty")
    else:
        out.print(f"{folder}: {len(entries)} compiled loops, {size / 1e6:.1f} of at most {stored.MOST / 1e6:.0f} MB")
    return 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    request = Request()
    try:
        code = _run(arguments, request)
    except BrokenPipeError:  # the reader of our output has seen enough
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except (Exception, KeyboardInterrupt) as error:
        from rich.markup import escape

        from .terminal import err, fail, write_json

        end = ending(error)
        fail(end.message)
        for text in end.refusals:
            err.print(f"  {escape(text)}", soft_wrap=True)
        if request.json_file is not None:
            with contextlib.suppress(InvalidModel):
                write_json(end.to_json(), request.json_file)
        code = end.code
    sys.exit(code)


def _run(arguments: Sequence[str] | None, request: Request) -> int:
    """The command's code. click's own `main` would turn a closed pipe into exit code 1."""
    if "_BACKEDGE_COMPLETE" in os.environ:
        cli.main(prog_name="backedge")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with cli.make_context("backedge", given, obj=request) as context:
            code = cli.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as exit:
        return exit.exit_code


if __name__ == "__main__":
    main()
