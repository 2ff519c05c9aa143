"""What a conversion did, as data: the report that people and scripts read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..passes.exit_codes import OF_VERDICT
from ..passes.opset import Change
from ..runtime.compare.record import Report
from ..runtime.compare.report import as_html, as_text
from ..runtime.compare.report import rendered as comparison
from .terminal import changes_table


@dataclass(slots=True)
class ConversionReport:
    """What a conversion did.

    Attributes:
        source, target: the files.
        source_format, target_format: their formats.
        opset: the opset of the written file (ONNX, MDF's functions), else None.
        nodes: number of operators before and after, regions included.
        operators: operators of the written file and how often each occurs.
        changes: between opsets of ONNX, what became of operators that didn't stay as they were.
        verification: the comparison of both files; None if it was turned off.
        refusal: who refuses the file that was to be written, and why; "" where nobody does.
        written: whether the target was made (not if the verdict is "different").
        model: where the target is a format instead of a file: the object (`Format.to_object`), None if it wasn't made.
    """

    source: str
    target: str
    source_format: str
    target_format: str
    opset: int | None
    nodes: tuple[int, int]
    operators: dict[str, int] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verification: Report | None = None
    refusal: str = ""
    written: bool = True
    model: Any = field(default=None, repr=False)

    @property
    def verdict(self) -> str:
        """The verification's verdict, "unverified" where there was none; "different" for a file that is refused."""
        if self.refusal:
            return "different"
        return "unverified" if self.verification is None else self.verification.verdict

    def __bool__(self) -> bool:
        """Whether the verdict is "proved" or "equal"."""
        return self.verdict in ("proved", "equal")

    @property
    def exit_code(self) -> int:
        """What the command ends with, see `passes.exit_codes`."""
        return OF_VERDICT[self.verdict]

    @property
    def reason(self) -> str:
        """The verification's most important reason; "" where there is none."""
        return "" if self.verification is None else self.verification.reason

    def __str__(self) -> str:
        """As the command prints it, without colours."""
        return as_text(Group(*rendered(self).renderables, *self._why_not_written()))

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return as_html(Group(*rendered(self).renderables, *self._why_not_written()))

    def _why_not_written(self) -> list[RenderableType]:
        return [Text(f"not written: {self.refusal}", overflow="fold")] if self.refusal else []

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "schema": 1,
            "source": {"path": self.source, "format": self.source_format, "nodes": self.nodes[0]},
            "target": {
                "path": self.target,
                "format": self.target_format,
                "opset": self.opset,
                "nodes": self.nodes[1],
                "operators": self.operators,
            },
            "changes": [{**asdict(change), "cost": change.cost} for change in self.changes],
            "notes": self.notes,
            "refusal": self.refusal,
            "written": self.written,
            "verdict": self.verdict,
            "exit_code": int(self.exit_code),
            "verification": None if self.verification is None else self.verification.to_json(),
        }


def rendered(report: ConversionReport) -> Group:
    """The report as something rich can print."""
    opset = f" opset {report.opset}" if report.opset else ""
    before, after = report.nodes
    parts: list[RenderableType] = [
        Text.assemble(
            (report.source, "bold"),
            f" ({report.source_format}, {before} nodes) -> ",
            (report.target, "bold"),
            f" ({report.target_format}{opset}, {after} nodes)",
            overflow="fold",
        )
    ]
    parts += [changes_table(report.changes)] if report.changes else []
    parts += [Text(f"note: {note}", overflow="fold") for note in report.notes]
    parts += comparison(report.verification).renderables if report.verification is not None else []
    return Group(*parts)
