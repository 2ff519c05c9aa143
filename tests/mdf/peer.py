"""ONNX's node tests through modeci-mdf's own importer into its own engine.

    PYTHONPATH=tests python -m mdf.peer [--match TEXT] [--every N] [--release RELEASE]

Its nodes are named first, since it loses those without a name; each test runs in a process of its own. To be read
beside `python -m mdf.round_trip --engine`, which counts the same tests by the same rule.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from corpus.test_round_trip import examine_all
from corpus.wheel import Recorded
from opset.releases import GENERATED, cases

from .round_trip import RIGHT, limited, same_numbers, summary


def in_peer(case: Recorded, folder: Path) -> str:
    """ "right", "wrong", or why it isn't run."""
    try:
        return RIGHT if all(_runs(case)) else "wrong"
    except Exception as error:
        return f"refused: {type(error).__name__}: {' '.join(str(error).split())[:120]}"


def _runs(case: Recorded) -> list[bool]:
    """Whether each recorded set of inputs gives the recorded outputs."""
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.interfaces.onnx.importer import id_to_port, onnx_to_mdf

    model = onnx.load(case.path)
    for index, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{index}"
    found = []
    for inputs, outputs in case.sets():
        feeds = {
            id_to_port(value.name): array
            for value, array in zip(model.graph.input, inputs, strict=True)
            if array is not None
        }
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), np.errstate(all="ignore"):
            graph: Any = EvaluableGraph(onnx_to_mdf(model).graphs[0])
            graph.evaluate(initializer=feeds)
        ports = {name: port for node in graph.enodes.values() for name, port in node.evaluable_outputs.items()}
        results = [ports[id_to_port(value.name)].curr_value for value in model.graph.output]
        found.append(all(map(same_numbers, outputs, results)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--release", default=GENERATED)
    options = parser.parse_args()
    chosen = [case for case in cases(options.release) if options.match in case.name][:: options.every]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # runtimes write there what they then raise, too
    with tempfile.TemporaryDirectory() as folder:
        found = examine_all(chosen, Path(folder), limited(in_peer))
    print(f"peer: {len(found)} models, {dict(summary(found))}")


if __name__ == "__main__":
    main()
