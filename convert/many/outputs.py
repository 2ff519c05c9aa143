"""Results of many jobs for people (a table), for CI (JUnit XML, annotations of GitHub)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...passes.exit_codes import ExitCode
from ...passes.outputs import output
from ...runtime.compare.report import COLOURS
from ...runtime.locate.telling import lines as location_lines
from .results import Row, counts, outcome

_COLOURS = {**COLOURS, "unverified": "green", "failed": "red"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_TOLD = 100


def table(rows: Sequence[Row]) -> Group:
    """What isn't as it should be, one by one, and how many there are of each outcome."""
    parts: list[RenderableType] = []
    told = [one for one in rows if one["exit_code"]]
    if told:
        grid = Table(box=None, pad_edge=False, header_style="bold")
        grid.add_column("")
        grid.add_column("model", overflow="fold")
        grid.add_column("why", overflow="fold")
        for one in told[:_MOST_TOLD]:
            grid.add_row(Text(outcome(one), style=_colour(outcome(one))), Text(one["name"]), Text(why(one)))
        parts.append(grid)
        if len(told) > _MOST_TOLD:
            parts.append(Text(f"... and {len(told) - _MOST_TOLD} more"))
    total = Text(f"{len(rows)} models: ", style="bold")
    for number, (name, count) in enumerate(counts(rows).most_common()):
        total.append(f"{', ' if number else ''}{count} ")
        total.append(name, style=_colour(name))
    parts.append(total)
    return Group(*parts)


def _colour(name: str) -> str:
    return _COLOURS.get(name, "yellow")


def why(one: Row) -> str:
    """The reason in one line: all refused nodes, else the message."""
    refusals = one["refusals"]
    if len(refusals) > 1:
        more = f"; and {len(refusals) - 3} more nodes" if len(refusals) > 3 else ""
        return f"{'; '.join(refusals[:3])}{more}"
    return one["message"]


def _parting(one: Row) -> list[str]:
    """Where two files part, in lines; none where that isn't known."""
    report = one["report"] or {}
    location = (report.get("verification") or report).get("location")
    return [f"{label}: {text}" for label, text in location_lines(location)] if location else []


def write_junit(rows: Iterable[Row], path: Path, suite: str) -> None:
    """JUnit XML: a test case for each model; "different", refusals and "unconfirmed" are failures, what broke off an
    error.

    Raises:
        InvalidModel: the file can't be written.
    """
    found = list(rows)
    errors = [one for one in found if _is_error(one)]
    failures = [one for one in found if one["exit_code"] and not _is_error(one)]
    root = ElementTree.Element("testsuites")
    head = {"name": suite, "tests": str(len(found)), "failures": str(len(failures)), "errors": str(len(errors))}
    seconds = sum(one["seconds"] for one in found)
    element = ElementTree.SubElement(root, "testsuite", {**head, "time": f"{seconds:.3f}"})
    for one in found:
        attributes = {"classname": f"backedge.{one['kind']}", "name": one["name"], "time": f"{one['seconds']:.3f}"}
        case = ElementTree.SubElement(element, "testcase", {key: _plain(value) for key, value in attributes.items()})
        if one["exit_code"]:
            tag = "error" if _is_error(one) else "failure"
            said = ElementTree.SubElement(case, tag, {"type": outcome(one), "message": _plain(why(one))})
            said.text = _plain("\n".join([one["message"], *one["refusals"], *_parting(one)]))
    with output(path) as file:
        ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _is_error(one: Row) -> bool:
    return one["exit_code"] in (ExitCode.UNUSABLE, ExitCode.INTERNAL, ExitCode.INTERRUPTED)


def _plain(text: str) -> str:
    return _NOT_XML.sub("�", text)


def github_annotations(rows: Iterable[Row]) -> Iterator[str]:
    """Lines that GitHub Actions shows beside the files: errors, and warnings for what is only not confirmed."""
    for one in rows:
        if one["exit_code"]:
            kind = "warning" if one["exit_code"] == ExitCode.NOT_CONFIRMED else "error"
            file = os.path.relpath(one["source"])
            title = f"{outcome(one)}: {one['name']}"
            text = "\n".join([why(one), *_parting(one)])
            yield f"::{kind} file={_property(file)},title={_property(title)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
