"""Graph work on a large model: load, raise, lower and save, beside what onnx's own tools take for less.

    python tests/bench/bench_graph.py [nodes]

The peer is `onnx.load` and `onnx.version_converter` to the next opset, in the same run.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper, version_converter


def chain(nodes: int) -> onnx.ModelProto:
    """An elementwise graph of so many nodes, each value used twice."""
    made = []
    previous, current = "x", "x"
    for number in range(nodes):
        kind = ("Add", "Mul", "Sub", "Max")[number % 4]
        made.append(helper.make_node(kind, [current, previous], [f"v{number}"], name=f"n{number}"))
        previous, current = current, f"v{number}"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    y = helper.make_tensor_value_info(current, TensorProto.FLOAT, ["N", 4])
    graph = helper.make_graph(made, "chain", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def ours(source: Path, target: Path) -> dict[str, float]:
    """Seconds of each step."""
    from backedge.convert.files import load, to_hub
    from backedge.convert.onnx.lowering import lower_graph
    from backedge.convert.onnx.write import write

    seconds: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> object:
        start = time.perf_counter()
        result = work()
        seconds[name] = time.perf_counter() - start
        return result

    graph = timed("load", lambda: load(source))
    hub = timed("raise", lambda: to_hub(graph))  # type: ignore[arg-type]
    lowered = timed("lower", lambda: lower_graph(hub, 22))  # type: ignore[arg-type]
    timed("save", lambda: write(lowered, target))  # type: ignore[arg-type]
    return seconds


def peer(source: Path) -> float:
    start = time.perf_counter()
    version_converter.convert_version(onnx.load(source), 22)
    return time.perf_counter() - start


def measure(nodes: int) -> dict[str, float]:
    """Seconds of our steps, of the peer, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "m.onnx", Path(folder) / "n.onnx"
        source.write_bytes(chain(nodes).SerializeToString())
        theirs = peer(source)
        steps = ours(source, target)
        assert len(onnx.load(target).graph.node) == nodes
    total = sum(steps.values())
    return {**steps, "total": total, "peer": theirs, "ratio": total / theirs}


def peak_memory(nodes: int) -> float:
    """MB at most, in a process of its own."""
    command = [sys.executable, __file__, "--memory", str(nodes)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout)


@pytest.mark.bench
def test_graph_work_is_linear() -> None:
    """Prints the figures; asserts only what no machine's speed changes."""
    main(100_000)


def main(nodes: int) -> None:
    print(
        f"{'nodes':>8} "
        + " ".join(f"{name:>7}" for name in ("load", "raise", "lower", "save", "total", "peer", "ratio"))
    )
    for count in (nodes // 4, nodes // 2, nodes):
        row = measure(count)
        print(f"{count:8d} " + " ".join(f"{value:7.2f}" for value in row.values()) + f"   {peak_memory(count):6.0f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "m.onnx"
            file.write_bytes(chain(int(sys.argv[2])).SerializeToString())
            ours(file, Path(scratch) / "n.onnx")
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
