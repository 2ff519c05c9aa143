"""diff: two files matched, and where they part, as a structural difference for people and scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..passes.exit_codes import ExitCode
from ..passes.match.differences import Difference, differences
from ..passes.workarounds import keeping_to_the_text
from ..runtime.compare.page import render
from .files import hub_of
from .objects import Source, stored
from .proof import matched

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "follows": "."}
_SAYS = {
    "added": "only in B",
    "removed": "only in A",
    "changed": "changed",
    "follows": "the same operator on what differs before it",
}


@dataclass(slots=True)
class DiffReport:
    """What differs between two files; true if nothing is certain to: every output is proved equal.

    Attributes:
        outputs: name of A's output -> whether it is proved equal to B's.
        same, of: operators of B whose values A has, too; how many there are in A and in B.
        found: the others, each operator of A with the one of B that belongs to it.
        why: what kept the comparison from its end; "" if nothing did.
    """

    a: str
    b: str
    outputs: dict[str, bool]
    same: int
    of: tuple[int, int]
    found: list[Difference]
    why: str

    def __bool__(self) -> bool:
        return bool(self.outputs) and all(self.outputs.values()) and not self.why

    @property
    def exit_code(self) -> ExitCode:
        """0: every output is proved equal; 1: they part."""
        return ExitCode.OK if self else ExitCode.DIFFERENT

    def __str__(self) -> str:
        """As the command prints it."""
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "schema": 1,
            "a": self.a,
            "b": self.b,
            "equal": bool(self),
            "outputs": self.outputs,
            "operators": {"a": self.of[0], "b": self.of[1], "same": self.same},
            "differences": [one.to_json() for one in self.found],
            "why": self.why,
            "exit_code": int(self.exit_code),
        }

    def lines(self) -> Iterator[str]:
        """The report as text."""
        yield f"A {self.a}"
        yield f"B {self.b}"
        yield f"= {self.same} of {self.of[1]} operators of B give values that A has, too ({self.of[0]} operators in A)"
        yield from _lines(self.found, 0)
        for name, equal in self.outputs.items():
            yield f"output {name!r}: {'proved equal' if equal else 'not proved equal'}"
        if self.why:
            yield self.why


def _lines(found: list[Difference], depth: int) -> Iterator[str]:
    indent = "    " * depth
    follows = [one for one in found if one.kind == "follows"]
    for one in found:
        if one.kind != "follows":
            yield f"{indent}{_SIGNS[one.kind]} {one.name}"
            yield from (f"{indent}    {text}" for text in one.details)
            yield from _lines(one.inner, depth + 1)
    if follows:
        names = ", ".join(one.name for one in follows[:4])
        more = f" and {len(follows) - 4} more" if len(follows) > 4 else ""
        yield f"{indent}. the same operators on what differs before them: {names}{more}"


def diff(
    a: Source,
    b: Source,
    formats: tuple[str | None, str | None] = (None, None),
    names: tuple[str, str] | None = None,
    *,
    faithful: bool = False,
) -> DiffReport:
    """Match two models of any formats, and say where they part.

    Args:
        faithful: read files as the text of their formats says, where OpenVINO is known to do otherwise.

    Raises:
        InvalidModel: a file can't be read.
        Unsupported: what can't be taken to the hub.
    """
    with keeping_to_the_text(faithful), stored(a, formats[0]) as first, stored(b, formats[1]) as second:
        matching = matched(hub_of(first.path, first.format), hub_of(second.path, second.format))
    found = differences(matching)
    outputs = {name: one is not None and one is other for name, (one, other) in matching.outputs.items()}
    return DiffReport(*(names or (first.name, second.name)), outputs, found.same, found.of, found.found, matching.why)


def page(report: DiffReport) -> str:
    """The report as one HTML page that needs nothing else."""
    return render("diff.html", report=report, signs=_SIGNS, says=_SAYS)
