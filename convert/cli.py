"""The `backedge` command. Exit codes: 0 done or equal, 1 different, 2 bad usage or input, 3 not expressible."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from ..passes.errors import BackedgeError
from ..passes.text import lines
from ..runtime.compare.record import Report
from ..runtime.compare.report import print_report, write_html
from ..runtime.oracles import ORACLES, why_unavailable
from . import conversion, verification
from .files import Opset, load, to_hub
from .format import FORMATS
from .terminal import changes_table, fail, out, save_npz, values_table, working, write_json

_EXIT_OF = {"equal": 0, "different": 1, "incomparable": 4, "unconfirmed": 4, "unverified": 0}
_FILE = click.Path(path_type=Path, dir_okay=False)


class _Shape(click.ParamType):
    name = "NAME=2,3,4"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if isinstance(value, tuple):
            return value
        name, _, dims = str(value).rpartition("=")
        try:
            sizes = tuple(int(dim) for dim in dims.split(",")) if dims else ()
        except ValueError:
            sizes = (-1,)
        if not name or any(size < 0 for size in sizes):
            self.fail(f"{value!r} is not of the form NAME=2,3,4", param, ctx)
        return name, sizes


class _Opset(click.ParamType):
    name = "N|min"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if value == "min" or isinstance(value, int):
            return value
        try:
            return int(str(value))
        except ValueError:
            self.fail(f"{value!r} is neither a number nor min", param, ctx)


_format = click.Choice(list(FORMATS))
_json = click.option("--json", "json_file", metavar="FILE", help="Write the report as JSON; - for stdout.")
_shape = click.option("--shape", "shapes", type=_Shape(), multiple=True, help="Static shape of an input.")
_timeout = click.option(
    "--timeout", type=float, default=verification.TIMEOUT, show_default=True, help="Seconds for one run in a runtime."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="backedge", message="%(prog)s %(version)s")
def cli() -> None:
    """Carry models with control flow between formats, and prove that nothing changed on the way."""


@cli.command()
@click.argument("source", type=_FILE)
@click.argument("target", type=_FILE)
@click.option("--from", "from_format", type=_format, help="Format of SOURCE, if its suffix doesn't say.")
@click.option("--to", "to_format", type=_format, help="Format of TARGET, if its suffix doesn't say.")
@click.option(
    "--opset",
    type=_Opset(),
    help="Opset of an ONNX target, or min for the lowest it can reach. Default: the source's own, else 21.",
)
@_shape
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
    "--verify",
    "trials",
    type=click.IntRange(0),
    default=conversion.TRIALS,
    show_default=True,
    help="Check the result on so many designed inputs; 0: don't.",
)
@_timeout
@_json
def convert(
    source: Path,
    target: Path,
    from_format: str | None,
    to_format: str | None,
    opset: Opset,
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    mdf_style: conversion.MdfStyle | None,
    fuse_recurrent: bool,
    unroll: int,
    trials: int,
    timeout: float,
    json_file: str | None,
) -> int:
    """Convert SOURCE into TARGET and check the result by running both."""
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
            verify=trials,
            timeout=timeout,
        )
    if json_file is not None:
        write_json(report.to_json(), json_file)
    if json_file != "-":
        opset_text = f" opset {report.opset}" if report.opset else ""
        out.print(
            f"[bold]{escape(report.source)}[/] ({report.source_format}, {report.nodes[0]} nodes) -> "
            f"[bold]{escape(report.target)}[/] ({report.target_format}{opset_text}, {report.nodes[1]} nodes)"
        )
        if report.changes:
            out.print(changes_table(report.changes))
        for note in report.notes:
            out.print(f"note: {escape(note)}")
        if report.verification is not None:
            print_report(report.verification, out)
    if not report.written:
        fail(f"{target} was not written: it would differ from {source} (--verify 0 writes it all the same)")
    return _EXIT_OF[report.verdict]


@cli.command()
@click.argument("a", type=_FILE)
@click.argument("b", type=_FILE)
@click.option(
    "--inputs", type=_FILE, help="A .npz file with one array for each input of A, instead of designed inputs."
)
@click.option("--trials", type=click.IntRange(1), default=verification.TRIALS, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--rtol", type=float, help="Relative tolerance. Default: by element type.")
@click.option("--atol", type=float, help="Absolute tolerance. Default: by element type.")
@_shape
@_timeout
@_json
@click.option("--html", "html_file", type=_FILE, help="Write the report as a page with a picture of the error.")
def verify(
    a: Path,
    b: Path,
    inputs: Path | None,
    trials: int,
    seed: int,
    rtol: float | None,
    atol: float | None,
    shapes: Sequence[tuple[str, tuple[int, ...]]],
    timeout: float,
    json_file: str | None,
    html_file: Path | None,
) -> int:
    """Say whether A and B compute the same, and where they first differ."""
    batches = None if inputs is None else [verification.read_inputs(inputs)]
    with working(f"comparing {a.name} with {b.name}"):
        report: Report = verification.verify(
            a,
            b,
            trials=trials,
            seed=seed,
            rtol=rtol,
            atol=atol,
            inputs=batches,
            shapes=dict(shapes),
            timeout=timeout,
        )
    if json_file is not None:
        write_json(report.to_json(), json_file)
    if html_file is not None:
        write_html(report, html_file)
    if json_file != "-":
        print_report(report, out)
    return _EXIT_OF[report.verdict]


@cli.command()
@click.argument("model", type=_FILE)
@click.option("--inputs", type=_FILE, help="A .npz file with one array for each input. Default: designed inputs.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the designed inputs.")
@click.option(
    "--on", type=click.Choice(["executor", *ORACLES]), default="executor", show_default=True, help="Where to run it."
)
@click.option("--output", type=str, help="Write the outputs to this .npz file.")
def run(model: Path, inputs: Path | None, seed: int, on: str, output: str | None) -> int:
    """Run MODEL once and show what it gives."""
    with working(f"running {model.name}"):
        given = verification.designed_inputs(model, seed) if inputs is None else verification.read_inputs(inputs)
        outputs = verification.run_on(model, given, on)
    if output is not None:
        save_npz(outputs, output)
    out.print(values_table(given, "inputs"))
    out.print(values_table(outputs, f"outputs ({on})"))
    return 0


@cli.command()
@click.argument("model", type=_FILE)
@click.option("--hub", is_flag=True, help="Show the hub's form, with canonical loops, instead of the file's own.")
@click.option("--svg", type=_FILE, help="Draw the graph and its loops' wiring into this file.")
def show(model: Path, hub: bool, svg: Path | None) -> int:
    """Print MODEL as text that a person can read."""
    with working(f"reading {model.name}"):
        graph = load(model)
        if hub or svg is not None:
            graph = to_hub(graph)
    if svg is not None:
        from .picture import write_svg

        write_svg(graph, svg)
        return 0
    for line in lines(graph):
        sys.stdout.write(line + "\n")
    return 0


@cli.command()
def formats() -> int:
    """List the formats and the runtimes that are installed."""
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    try:
        code = cli.main(arguments, standalone_mode=False)
    except click.exceptions.Abort:
        fail("interrupted")
        code = 130
    except click.ClickException as error:
        fail(error.format_message())
        code = error.exit_code
    except BackedgeError as error:
        fail(error)
        code = error.exit_code
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        code = 0
    except KeyboardInterrupt:
        fail("interrupted")
        code = 130
    except MemoryError:
        fail("out of memory")
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
