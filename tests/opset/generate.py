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


def _bytes(value: Any, type: TypeProto) -> bytes:
    if isinstance(value, TensorProto):
        return value.SerializeToString()
    if type.HasField("sequence_type"):
        return numpy_helper.from_list(value).SerializeToString()
    if type.HasField("optional_type"):
        return numpy_helper.from_optional(value).SerializeToString()
    return numpy_helper.from_array(np.asarray(value)).SerializeToString()


def main(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    for case in found:
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
        (here / "model.onnx").write_bytes(case.model.SerializeToString())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
