"""From every version of Loop, Scan and If to every opset: the table.

PYTHONPATH=tests python -m opset.control.table [--match TEXT] [--catalogue]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from control_flow.cases import CASES

from . import branches, loops, scans, scans8, types
from .judge import TARGETS, Verdict, verdicts
from .refusals import is_accepted
from .row import Row

CATALOGUE_TARGETS = (28, 21, 18, 16, 13, 11, 9, 8)
ROWS: list[Row] = [*loops.ROWS, *scans.ROWS, *scans8.ROWS, *branches.ROWS, *types.ROWS]


@dataclass(frozen=True)
class Cell:
    """One model at one target."""

    name: str
    family: str
    source: int
    target: int
    verdict: Verdict
    accepted: bool

    def __str__(self) -> str:
        return f"{self.name} to {self.target}: {self.verdict.kind}: {self.verdict.what}"


def of_row(row: Row, targets: Sequence[int] = TARGETS) -> Iterator[Cell]:
    """A hand-made model's cells: right from its lowest opset on; below, right or refused for its one reason."""
    for target, verdict in zip(targets, verdicts(row.case, targets), strict=True):
        allowed = verdict.kind == "refused" and target < row.lowest and bool(re.search(row.reason, verdict.what))
        family = row.case.name.split("_")[0] if not row.case.name.startswith("type") else row.case.name.split("_")[1]
        yield Cell(row.case.name, family, row.opset, target, verdict, verdict.kind == "right" or allowed)


def of_catalogue(names: Sequence[str] = (), targets: Sequence[int] = CATALOGUE_TARGETS) -> Iterator[Cell]:
    """The catalogue's cells: right, or refused for a listed reason."""
    for case in CASES:
        if names and case.name not in names:
            continue
        for target, verdict in zip(targets, verdicts(case, targets), strict=True):
            allowed = verdict.kind == "refused" and is_accepted(verdict.what, target)
            source = case.model().opset_import[0].version
            yield Cell(case.name, "catalogue", source, target, verdict, verdict.kind == "right" or allowed)


_NAMES = re.compile(r"^.*?: | \('.*?'\)|\[.*?\]")  # where it is, and what is the model's own


def lines(cells: Iterable[Cell]) -> Iterator[str]:
    """For each family and source opset: right/refused at each target; then every cell that isn't accepted."""
    cells = list(cells)
    targets = sorted({cell.target for cell in cells})
    yield "right/refused; a fault is marked with !"
    yield " ".join([f"{'from':>14}", *(f"{target:>7}" for target in targets)])
    for family, source in sorted({(cell.family, cell.source) for cell in cells}):
        texts = []
        for target in targets:
            here = [cell for cell in cells if (cell.family, cell.source, cell.target) == (family, source, target)]
            counts = Counter(cell.verdict.kind for cell in here)
            mark = "" if all(cell.accepted for cell in here) else "!"
            texts.append(f"{mark}{counts['right']}/{counts['refused']}" if here else "")
        yield " ".join([f"{family:>10} {source:>3}", *(f"{text:>7}" for text in texts)])
    by = Counter(cell.verdict.what for cell in cells if cell.verdict.kind == "right")
    kinds = Counter(cell.verdict.kind for cell in cells)
    yield f"{len(cells)} cells: {dict(kinds)}; right by {dict(by)}"
    refused = Counter(_NAMES.sub("", cell.verdict.what) for cell in cells if cell.verdict.kind == "refused")
    yield from (f"{count:7} {reason}" for reason, count in refused.most_common())
    yield from (str(cell) for cell in cells if not cell.accepted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--match", default="", help="part of a model's name")
    parser.add_argument("--catalogue", action="store_true", help="the catalogue instead of the hand-made models")
    options = parser.parse_args()
    if options.catalogue:
        cells = list(of_catalogue([case.name for case in CASES if options.match in case.name]))
    else:
        cells = [cell for row in ROWS if options.match in row.case.name for cell in of_row(row)]
    print("\n".join(lines(cells)))
    sys.exit(any(not cell.accepted for cell in cells))


if __name__ == "__main__":
    main()
