"""What is mutated: the files of a model, and values that are chosen where no mutation has better ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

INTEGERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    16,
    -2,
    64,
    127,
    255,
    1000,
    2**31 - 1,
    -(2**31),
    2**32,
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 3.4e38, float("inf"), float("-inf"), float("nan"))
NAMES = (
    "",
    "x",
    "y",
    "0",
    "a b",
    "a\nb",
    'a"b',
    "a\\b",
    "a\x00b",
    "é",
    "<&>",
    "__class__",
    "main",
    "ai.onnx",
    "N",
    "-1",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A model as files: `data` under a suffix, and beside it, for OpenVINO IR, its weights."""

    suffix: str
    data: bytes
    weights: bytes | None = None

    def stored(self, folder: Path) -> Path:
        """The model's file in a folder."""
        path = folder / f"mutant{self.suffix}"
        path.write_bytes(self.data)
        if self.weights is not None:
            path.with_suffix(".bin").write_bytes(self.weights)
        return path

    def but(self, data: bytes) -> Sample:
        """The same with other content."""
        return replace(self, data=data)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return len(self.data) + len(self.weights or b"")
