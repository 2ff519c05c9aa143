"""MDF beside modeci_mdf in one run: files read, ONNX graphs imported, a stateful model evaluated.

    python tests/bench/bench_mdf.py [size]

Every figure is seconds; the ratio is ours to theirs.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def chain(length: int) -> onnx.ModelProto:
    """Additions and rectifiers one after the other, named as the peer's importer wants them."""
    nodes, last = [], "x"
    for at in range(length):
        inputs = [last, "x"] if at % 2 else [last]
        nodes.append(helper.make_node("Add" if at % 2 else "Relu", inputs, [f"v{at}"], name=f"n{at}"))
        last = f"v{at}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", last)]
    return helper.make_model(
        helper.make_graph(nodes, "chain", ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 15)]
    )


def weights(count: int) -> onnx.ModelProto:
    """One constant of so many numbers, and an addition."""
    numbers = np.random.default_rng(0).standard_normal(count).astype(np.float32)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [count]) for name in ("x", "y")]
    node = helper.make_node("Add", ["x", "w"], ["y"], name="add")
    graph = helper.make_graph([node], "weights", ends[:1], ends[1:], [numpy_helper.from_array(numbers, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)])


def oscillator() -> dict[str, Any]:
    """Two parameters with time derivatives, and a counter."""
    parameters = {
        "count": {"value": "count + 1"},
        "level": {"default_initial_value": 0.0, "time_derivative": "6.3 * rate"},
        "rate": {"default_initial_value": 1.0, "time_derivative": "-6.3 * level"},
    }
    node = {"parameters": parameters, "output_ports": {"out": {"value": "3 * level"}}}
    return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"A": node}}}}}


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        function()
    return time.perf_counter() - start


def report(name: str, mine: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    first, second = seconds(mine), seconds(theirs)
    print(f"{name:42} {first:8.3f} {second:8.3f} {first / second:8.3f}", flush=True)


def main(size: int) -> None:
    from backedge.convert import load, to_hub
    from backedge.convert.conversion import convert
    from backedge.convert.mdf.document import write_document
    from backedge.runtime.executor import Executor
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.interfaces.onnx.importer import onnx_to_mdf
    from modeci_mdf.utils import load_mdf

    print(f"{'':42} {'backedge':>8} {'modeci':>8} {'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        for length in (size // 100, size // 50):
            onnx.save(chain(length), at / "chain.onnx")
            model = onnx.load(at / "chain.onnx")
            report(
                f"ONNX -> MDF, {length} operators",
                lambda: convert(at / "chain.onnx", at / "chain.json", verify=0),
                lambda model=model: onnx_to_mdf(model).to_json_file(str(at / "theirs.json")),
            )
        for suffix in ("json", "yaml", "bson"):
            onnx.save(weights(size), at / "w.onnx")
            convert(at / "w.onnx", at / f"w.{suffix}", verify=0)
            path = at / f"w.{suffix}"
            report(
                f"read {size} numbers, {suffix}", lambda path=path: load(path), lambda path=path: load_mdf(str(path))
            )
        write_document(oscillator(), at / "o.json")
        steps = size // 100
        hub = Executor(to_hub(load(at / "o.json")))
        hub.run({"steps": np.int64(1), "time_increment": np.float64(0.01)})

        def engine() -> None:
            graph = EvaluableGraph(load_mdf(str(at / "o.json")).graphs[0])
            graph.evaluate()
            for _ in range(steps):
                graph.evaluate(time_increment=0.01)

        feeds = {"steps": np.int64(steps), "time_increment": np.float64(0.01)}
        report(f"a state's {steps} steps", lambda: hub.run(feeds), engine)


@pytest.mark.bench
def test_figures() -> None:
    """Prints the figures; asserts only what no machine's speed changes."""
    pytest.importorskip("modeci_mdf")
    main(20_000)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
