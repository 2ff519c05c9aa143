"""onnx's reference evaluator (runs in a child process). No options."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from .onnx_faults import reference_faults
from .outcome import Batch, Values
from .reference_operators import watched
from .session import Options, Path, match_feeds


def open_session(path: Path, options: Options) -> ReferenceSession:
    return ReferenceSession(path)


class ReferenceSession:
    coarse = False

    def __init__(self, path: Path) -> None:
        self._told: list[str] = []
        self._evaluator = watched(self._told.append)(str(path))
        self._fault = reference_faults(path)
        declared = {one.name: one.type.tensor_type.elem_type for one in self._evaluator.proto_.graph.output}
        numbers = {name: code for name, code in declared.items() if code not in (0, TensorProto.STRING)}
        self._dtypes = {name: tensor_dtype_to_np_dtype(code) for name, code in numbers.items()}

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        given = match_feeds([str(name) for name in self._evaluator.input_names], feeds)
        self._told.clear()
        with np.errstate(all="ignore"):
            results = self._evaluator.run(None, given)
        assert isinstance(results, list)
        found = dict(zip(map(str, self._evaluator.output_names), results, strict=True))
        return found, self._fault or self._seen() or next(self._wrong_types(found), "")

    def _seen(self) -> str:
        return f"onnx's reference evaluator {self._told[0]}" if self._told else ""

    def _wrong_types(self, results: dict[str, Values]) -> Iterator[str]:
        """Its kernels compute in the types that NumPy makes of mixed operands."""
        for name, declared in self._dtypes.items():
            value = results[name]
            if isinstance(value, np.ndarray | np.generic) and value.dtype != declared:
                yield f"it gives {name!r} as {value.dtype}, which is declared as {declared}"
