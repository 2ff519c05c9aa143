"""Run in a process of its own: what OpenVINO makes of the two files in each line `LEFT<tab>RIGHT`.

    python compare.py model     both are read and saved again by OpenVINO: the same bytes?
    python compare.py outputs   both run on the same random inputs: the same outputs?

Prints "same", or what differs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov


def resaved(core: ov.Core, source: str, folder: Path) -> tuple[bytes, bytes]:
    target = folder / "model.xml"
    ov.serialize(core.read_model(source), target, target.with_suffix(".bin"))
    return target.read_bytes(), target.with_suffix(".bin").read_bytes()


def outputs(core: ov.Core, source: str) -> list[np.ndarray[Any, Any]]:
    compiled = core.compile_model(source, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    random = np.random.default_rng(0)
    for number, port in enumerate(compiled.inputs):
        shape = [dim.get_length() if dim.is_static else 3 for dim in port.get_partial_shape()]
        kind = port.get_element_type().to_dtype()
        request.set_input_tensor(number, ov.Tensor(np.array(random.integers(0, 4, shape), kind)))
    runs = 2  # state shows in the second
    found = []
    for _ in range(runs):
        request.infer()
        found += [np.array(request.get_output_tensor(number).data) for number in range(len(compiled.outputs))]
    return found


def verdict(core: ov.Core, left: str, right: str, what: str, folder: Path) -> str:
    if what == "model":
        a, b = resaved(core, left, folder), resaved(core, right, folder)
        return "same" if a == b else "xml differs" if a[0] != b[0] else "bin differs"
    first, second = outputs(core, left), outputs(core, right)
    return "same" if len(first) == len(second) and all(map(np.array_equal, first, second)) else "outputs differ"


def main(what: str) -> None:
    core = ov.Core()
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            try:
                print(verdict(core, *line.rstrip("\n").split("\t"), what, Path(folder)), flush=True)
            except Exception as error:
                print("error", " ".join(str(error).split())[-200:], flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
