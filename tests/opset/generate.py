"""Writes the node tests of the installed onnx into a folder, laid out as its older wheels have them.

python generate.py FOLDER
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, TypeProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.case.test_case import TestCase


def _bytes(value: Any, type: TypeProto) -> bytes:
    if isinstance(value, TensorProto):
        return value.SerializeToString()
    if type.HasField("sequence_type"):
        return numpy_helper.from_list(value).SerializeToString()
    if type.HasField("optional_type"):
        return numpy_helper.from_optional(value).SerializeToString()
    return numpy_helper.from_array(np.asarray(value)).SerializeToString()


def found() -> list[TestCase]:
    """All of them."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return collect_testcases(None)


def write(case: TestCase, folder: Path) -> Path:
    """Write one into a folder of its name; its model's path."""
    here = folder / case.name
    for number, (inputs, outputs) in enumerate(case.data_sets or ()):
        data = here / f"test_data_set_{number}"
        data.mkdir(parents=True, exist_ok=True)
        for kind, values, infos in (
            ("input", inputs, case.model.graph.input),
            ("output", outputs, case.model.graph.output),
        ):
            for index, (value, info) in enumerate(zip(values, infos, strict=False)):
                (data / f"{kind}_{index}.pb").write_bytes(_bytes(value, info.type))
    path = here / "model.onnx"
    path.write_bytes(case.model.SerializeToString())
    return path


if __name__ == "__main__":
    for one in found():
        write(one, Path(sys.argv[1]))
