"""`backedge run`, `show`, `formats` and `cache`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..budget import OWN
from ..format import FORMATS
from ..request import request
from .convert import given
from .options import (
    FILE,
    RUNTIMES,
    faithful_option,
    from_option,
    limits_options,
    memory_option,
    quiet_option,
    timeout_option,
    verbose_option,
    writable,
)


@click.command()
@click.argument("model", type=FILE)
@click.option("--inputs", type=FILE, help="A .npz file with one array for each input. Default: designed inputs.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Seed of the designed inputs."
)
@click.option(
    "--on", type=click.Choice(["executor", *RUNTIMES]), default="executor", show_default=True, help="Where to run it."
)
@click.option("--output", type=str, callback=writable, help="Write the outputs to this .npz file.")
@from_option
@faithful_option()
@timeout_option(OWN)
@memory_option(used=False)
@quiet_option
@verbose_option
def run(
    model: Path,
    inputs: Path | None,
    seed: int,
    on: str,
    output: str | None,
    format: str | None,
    timeout: float,
    faithful: bool,
) -> int:
    """Run MODEL once and show what it gives.

    A runtime that doesn't read MODEL's format, or can't load the file, is given a conversion of it. - is standard
    input or output.

    \b
    Examples:
      backedge run model.onnx
      backedge run model.onnx --on openvino --inputs in.npz --output out.npz
    """
    from .. import running
    from ..objects import stored
    from ..samples import as_declared, designed_inputs, read_inputs
    from ..terminal import save_npz, say, values_table, working

    request().to_stdout = output == "-"
    with working(f"running {model.name}"), stored(given(model), format) as file:
        fed = (
            designed_inputs(file.path, seed, file.format)
            if inputs is None
            else as_declared(file.path, read_inputs(inputs), file.format)
        )
        outputs = running.run(file.path, fed, on, format=file.format, timeout=timeout, faithful=faithful)
    if output is not None:
        save_npz(outputs, output)
    say(values_table(fed, "inputs"), values_table(outputs, f"outputs ({on})"))
    return 0


@click.command()
@click.argument("model", type=FILE)
@click.option("--hub", is_flag=True, help="Show the hub's form, with canonical loops, instead of the file's own.")
@click.option("--svg", type=FILE, callback=writable, help="Draw the graph and its loops' wiring into this file.")
@from_option
@faithful_option(used=False)
@limits_options
@quiet_option
@verbose_option
def show(model: Path, hub: bool, svg: Path | None, format: str | None) -> int:
    """Print MODEL as text that a person can read, or draw it.

    \b
    Examples:
      backedge show model.onnx
      backedge show model.xml --hub
      backedge show model.onnx --svg model.svg
    """
    from ...passes.text import lines
    from ..files import hub_of, judged, load
    from ..objects import stored
    from ..terminal import working

    with working(f"reading {model.name}"), stored(given(model), format) as file:
        if hub or svg is not None:
            graph = hub_of(file.path, file.format)
        else:
            with judged(file.path, file.format):
                graph = load(file.path, file.format)
    if svg is not None:
        from ...passes.picture import svg_text, write_svg

        if str(svg) == "-":
            sys.stdout.write(svg_text(graph))
        else:
            write_svg(graph, svg)
        return 0
    for line in lines(graph):
        sys.stdout.write(line + "\n")
    return 0


@click.command()
def formats() -> int:
    """List the formats and the runtimes that are installed."""
    from rich.markup import escape
    from rich.table import Table

    from ...runtime.oracles import why_unavailable
    from ..terminal import out

    table = Table(box=None, pad_edge=False)
    for heading in ("format", "files", "runtime", ""):
        table.add_column(heading)
    for entry in FORMATS.values():
        reason = why_unavailable(entry.runtime)
        runtime = f"{entry.runtime} ({reason})" if reason else entry.runtime
        table.add_row(entry.name, " ".join(entry.suffixes), escape(runtime), entry.about)
    out.print(table)
    return 0


@click.command()
@click.argument("action", type=click.Choice(["where", "size", "clear"]), required=False)
def cache(action: str | None) -> int:
    """Show what is kept of compiled loops on disk, or clear it.

    where: the folder. size: bytes. clear: remove all. Nothing: folder, loops, size and limit. $BACKEDGE_CACHE names
    another folder; where it is empty nothing is kept. $BACKEDGE_CACHE_MB is another limit, in million bytes.
    """
    from ...runtime.compiled import cache as kept
    from ...runtime.compiled import stored
    from ..terminal import out

    folder = kept.folder()
    try:
        limit = stored.most()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    entries = [] if folder is None else stored.entries(folder)
    size = sum(entry.size for entry in entries)
    if action == "where":
        click.echo("" if folder is None else str(folder))
    elif action == "size":
        click.echo(size)
    elif action == "clear":
        if folder is not None:
            stored.clear(folder)
        out.print(f"removed {len(entries)} compiled loops, {size / 1e6:.1f} MB")
    elif folder is None:
        out.print(f"compiled loops aren't kept: ${kept.VARIABLE} is empty")
    else:
        out.print(f"{folder}: {len(entries)} compiled loops, {size / 1e6:.1f} of at most {limit / 1e6:.0f} MB")
        reason = stored.why_unused(folder)
        if reason:
            out.print(f"it isn't used: {reason}")
    return 0
