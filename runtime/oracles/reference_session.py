"""onnx's reference evaluator (runs in a child process). No options."""

from __future__ import annotations

import numpy as np
from onnx.reference import ReferenceEvaluator

from .onnx_faults import reference_faults
from .outcome import Batch, Values
from .session import Options, Path, match_feeds


def open_session(path: Path, options: Options) -> ReferenceSession:
    return ReferenceSession(path)


class ReferenceSession:
    coarse = False

    def __init__(self, path: Path) -> None:
        self._evaluator = ReferenceEvaluator(str(path))
        self._fault = reference_faults(path)

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        given = match_feeds([str(name) for name in self._evaluator.input_names], feeds)
        with np.errstate(all="ignore"):
            results = self._evaluator.run(None, given)
        assert isinstance(results, list)
        return dict(zip(map(str, self._evaluator.output_names), results, strict=True)), self._fault
