"""What a run gives back: values, or one line that says why there are none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Values = Any
"""One value: an ndarray (ml_dtypes included, object for strings), a list of values (a sequence), a dict of
values (a map), or None (an empty optional)."""

Batch = Mapping[str, Values]
"""One set of inputs: name -> value."""

Stage = Literal["", "load", "run", "crash", "timeout", "skipped"]
"""How far a run without outputs came: the file was refused ("load"), the inputs were ("run"), the process died
("crash") or did not answer in time ("timeout"), or it wasn't tried at all ("skipped"). "" when there are outputs."""


@dataclass(slots=True)
class Outcome:
    """One run of one model on one set of inputs.

    Attributes:
        outputs: name -> value, None if there are none.
        error: one line why there are no outputs; "" if there are.
        seconds: time of the run itself, without loading the model.
        fault: a known fault of the runtime that makes this answer (or this failure) worthless; "" normally.
        stage: where it ended if it gave no outputs.
        coarse: 64-bit numbers were computed in 32 bits: float64 outputs are only as good as float32, and integers
            beyond int32 are wrong.
        note: what had to be changed in a copy of the file for the runtime to read it; "" normally.
    """

    outputs: dict[str, Values] | None = None
    error: str = ""
    seconds: float = 0.0
    fault: str = ""
    stage: Stage = ""
    coarse: bool = False
    note: str = ""

    @property
    def usable(self) -> bool:
        """It has outputs, and no known fault spoils them."""
        return self.outputs is not None and not self.fault


_NOISE = re.compile(r"^(Exception from |Check '.*' failed at |Traceback |File \"|\s*$)")
_TAGS = re.compile(
    r"^\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : |Load model from .*? failed:"  # codes and what is known
    r"|/onnxruntime_src/\S+ [^()]*\((?:[^()]|\([^()]*\))*\) (?:const )?"  # C++ functions
)


def one_line(text: str, limit: int = 300) -> str:
    """The useful part of a runtime's message: no source positions, no wrapping, its middle cut out beyond `limit`."""
    lines = [line.strip() for line in text.splitlines() if not _NOISE.match(line.strip())]
    telling = [line for line in lines if not line.endswith(":")] or lines
    line = " ".join(" ".join(telling[:3]).split())
    line = _TAGS.sub("", line)
    if len(line) <= limit:
        return line
    head = limit * 2 // 3
    return f"{line[:head]}…{line[head + 1 - limit :]}"
