"""What the command prints: progress that appears when work takes long, errors in one line, values as a table."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from ..passes import outputs
from ..passes.errors import InvalidModel
from ..passes.opset import Change
from ..passes.outputs import output
from ..passes.progress import listening
from .ending import Ending
from .request import Request, request

_PATIENCE = 2.0  # seconds before progress shows

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(*parts: RenderableType) -> None:
    """Print for people, unless they want to hear nothing."""
    asked = request()
    if not asked.quiet and asked.json_file != "-":
        for part in parts:
            (err if asked.to_stdout else out).print(part)


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner with the stage of the work if it takes more than two seconds and somebody watches."""
    asked = request()
    if asked.verbose:
        start = time.monotonic()
        with listening(lambda text: err.print(f"{time.monotonic() - start:7.2f} s  {escape(text)}", soft_wrap=True)):
            yield
        return
    if not err.is_terminal or asked.quiet:
        yield
        return
    status = err.status(escape(what))
    timer = threading.Timer(_PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        with listening(lambda text: status.update(f"{escape(what)}: {escape(text)}")):
            yield
    finally:
        timer.cancel()
        status.stop()


def fail(error: object) -> None:
    """One line on stderr."""
    err.print(f"[bold red]backedge:[/] {escape(' '.join(str(error).split()))}", soft_wrap=True)


def tell(end: Ending, asked: Request) -> None:
    """Say how the command ended, in one line and in the JSON file that was asked for."""
    fail(end.message)
    for text in end.refusals:
        err.print(f"  {escape(text)}", soft_wrap=True)
    for text in end.hints:
        err.print(f"hint: {escape(text)}", soft_wrap=True)
    if asked.json_file is not None:
        with contextlib.suppress(InvalidModel):
            write_json(end.to_json(), asked.json_file)


def write_json(content: Any, target: str) -> None:
    """JSON to a file, or to stdout for "-"."""
    write_text(json.dumps(content, indent=2) + "\n", Path(target))


def values_table(values: Mapping[str, Any], title: str) -> Table:
    """Names, types and the first entries of values."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in ("name", "type", "value"):
        table.add_column(heading, style="cyan" if heading == "name" else None)
    for name, value in values.items():
        table.add_row(escape(name), escape(_type(value)), escape(_shown(value)))
    return table


def changes_table(changes: Sequence[Change]) -> Table:
    """What became of the operators that didn't stay as they were, the dearest first."""
    table = Table(title="operators changed", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in ("operator", "", "count", "nodes more"):
        table.add_column(heading, justify="right" if heading in ("count", "nodes more") else "left")
    for change in sorted(changes, key=lambda change: (-change.cost, change.operator)):
        table.add_row(escape(f"{change.operator}-{change.version}"), change.how, str(change.count), f"{change.cost:+}")
    return table


def _type(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"seq of {len(value)}"
    array = np.asarray(value)
    return f"{'string' if array.dtype.kind in 'OUS' else array.dtype}{list(array.shape)}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value[:3]) + (", ..." if len(value) > 3 else "")
    if value is None:
        return ""
    return " ".join(np.array2string(np.asarray(value), threshold=8, edgeitems=3, precision=6, separator=", ").split())


def save_npz(values: Mapping[str, Any], target: str) -> None:
    """Outputs as a .npz file.

    Raises:
        InvalidModel: a value is no plain array, or the file can't be written.
    """
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in values.items():
        if value is None or isinstance(value, list):
            raise InvalidModel(f"{target}: output {name!r} is {_type(value)}, which a .npz file can't store")
        array = np.asarray(value)
        arrays[name] = array.astype(str) if array.dtype.kind == "O" else array
    if target == "-":
        np.savez(sys.stdout.buffer, **arrays)  # type: ignore[arg-type]
        return
    with output(Path(target)) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def write_text(text: str, target: Path) -> None:
    """Text to a file, or to standard output for "-"."""
    if str(target) == "-":
        sys.stdout.write(text)
        return
    outputs.write_text(text, target)
