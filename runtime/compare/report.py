"""A report for people and scripts: tables on a terminal, and JSON; `page` has it as HTML.

Trials that went alike on every runnable share a row, so that 64 trials read like five.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from ..locate.telling import lines as location_lines
from .record import Finding, Report, SideRun, Status, Trial

COLOURS = {"proved": "green", "equal": "green", "unconfirmed": "yellow", "different": "red", "incomparable": "yellow"}
"""Of verdicts, on a terminal."""

STATUSES: dict[Status, tuple[str, str]] = {
    "equal": ("agree", "green"),
    "different": ("differ", "red"),
    "only-a": ("B fails", "red"),
    "only-b": ("A refuses", "yellow"),
    "neither": ("both refuse", "yellow"),
    "unknown": ("not compared", "bright_black"),
    "inconclusive": ("inconclusive", "bright_black"),
}
"""Text and colour on a terminal."""


_MIDDLE = [(0, 0, 0), (200, 60, 60), (60, 150, 60), (170, 120, 0), (70, 120, 200), (160, 80, 180), (0, 140, 150)]
_COLOURS_OF_PAGES = TerminalTheme(
    (255, 255, 255), (128, 128, 128), [*_MIDDLE, (128, 128, 128)], [(128, 128, 128), *_MIDDLE[1:], (128, 128, 128)]
)


@dataclass(slots=True)
class Row:
    """Trials with the same status whose runs all ended the same way."""

    numbers: list[int]
    status: Status
    cells: list[str]
    units: float | None

    @property
    def texts(self) -> list[str]:
        """How many trials, the first of them, what each runnable gave, the largest error."""
        return [str(len(self.numbers)), str(self.numbers[0]), *self.cells, _units(self.units)]


def columns(report: Report) -> list[str]:
    """Headings of `Row.texts`."""
    trial = report.trials[0]
    names = [f"{side}\n{run.runnable}" for side, runs in (("A", trial.a), ("B", trial.b)) for run in runs]
    return ["trials", "first", *names, "largest\nerror"]


def rows(report: Report) -> list[Row]:
    """The trials, those that went alike together."""
    found: dict[tuple[str, ...], Row] = {}
    for trial in report.trials:
        cells = [_cell(run) for run in (*trial.a, *trial.b)]
        row = found.setdefault((trial.status, *cells), Row([], trial.status, cells, None))
        row.numbers.append(trial.number)
        if trial.units is not None:
            row.units = max(row.units or 0.0, trial.units)
    return list(found.values())


def _cell(run: SideRun) -> str:
    if run.fault:
        return "not believed" if run.status == "ok" else run.status
    return "values" if run.status == "ok" else {"load": "not loaded", "run": "error"}.get(run.status, run.status)


def _units(units: float | None) -> str:
    return "" if units is None else f"{units:.2g}"


def finding_lines(found: Finding) -> Iterator[tuple[str, str]]:
    """What is to be said of the first difference, as labels and texts."""
    difference = found.difference
    yield "where", f"trial {found.trial}, output {difference.place}"
    yield f"A ({found.a})", str(difference.expected) if difference.kind != "missing" else "given"
    yield f"B ({found.b})", str(difference.actual)
    if difference.kind == "value":
        yield "how much", f"{difference.count} of {difference.total} elements, by up to {difference.max_abs:.3g}"
        yield "allowed", found.text or f"the largest error is {difference.max_units:.3g} times that"
    else:
        yield "differs in", difference.kind
    if difference.iteration is not None:
        yield "iteration", f"{difference.iteration} is the first that differs (counted from 0)"


@dataclass(frozen=True, slots=True)
class _Trials:
    """The trials as a table, or one in each line where the terminal is too narrow for that."""

    report: Report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        headings, found = columns(self.report), rows(self.report)
        for gap in (2, 1):
            table = Table(box=None, padding=(0, gap, 0, 0), header_style="bold")
            for heading in ("", *headings):
                table.add_column(heading, no_wrap=True)
            for row in found:
                table.add_row(Text(*STATUSES[row.status]), *row.texts)
            if table.__rich_measure__(console, options.update(max_width=_UNLIMITED)).maximum <= options.max_width:
                yield table
                return
        for row in found:
            named = zip(headings, row.texts, strict=True)
            texts = (f"{' '.join(heading.split())}: {text}" for heading, text in named if text)
            yield Text.assemble(STATUSES[row.status], "  ", "; ".join(texts))


def rendered(report: Report) -> Group:
    """The report as something rich can print."""
    colour = COLOURS[report.verdict]
    head = Text.assemble((report.verdict, f"bold {colour}"), f"   A {report.a}   B {report.b}", overflow="fold")
    parts: list[RenderableType] = [head]
    if report.trials:
        parts.append(_Trials(report))
    if report.first is not None:
        grid = Table.grid(padding=(0, 2))
        for label, text in finding_lines(report.first):
            grid.add_row(Text(label, style="bold"), Text(text, overflow="fold"))
        for name, text in _trial(report, report.first.trial).inputs.items():
            grid.add_row(Text(f"input {name}", style="bright_black"), Text(text, style="bright_black"))
        parts.append(Panel(grid, title="first difference", title_align="left", border_style=colour, expand=False))
    if report.location is not None:
        grid = Table.grid(padding=(0, 2))
        for label, text in location_lines(report.location):
            grid.add_row(Text(label, style="bold"), Text(text, overflow="fold"))
        parts.append(Panel(grid, title="where they part", title_align="left", border_style=colour, expand=False))
    parts += [Text(f"- {reason}", overflow="fold") for reason in report.reasons]
    return Group(*parts)


_UNLIMITED = 10**6
_WIDTH = 120  # columns, where nobody's terminal says


def as_text(content: RenderableType) -> str:
    """What rich prints of something, without colours."""
    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(content)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def as_html(content: RenderableType) -> str:
    """The same as a block of HTML, with colours that are readable on light and dark pages."""
    console = Console(file=io.StringIO(), width=_WIDTH, record=True, force_jupyter=False, highlight=False)
    console.print(content)
    block = '<pre style="font-family: monospace; line-height: 1.3; overflow-x: auto">{code}</pre>'
    return console.export_html(inline_styles=True, code_format=block, theme=_COLOURS_OF_PAGES)


def _trial(report: Report, number: int) -> Trial:
    return next(trial for trial in report.trials if trial.number == number)


def write_json(report: Report, path: Path) -> None:
    """Write `report.to_json()`."""
    path.write_text(json.dumps(report.to_json(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
