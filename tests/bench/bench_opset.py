"""Opset conversion of large models, file to file, beside onnx's C++ version_converter on the same files.

    python tests/bench/bench_opset.py [nodes]

"plain": only version numbers change. "adapted": two of ten operators change their signature (ReduceMean's axes).
A peer that raises, or takes more than its time limit, has no figure.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper, version_converter

_LIMIT = 100  # seconds for the peer


def _plain(number: int, before: str, opset: int) -> list[NodeProto]:
    p = f"b{number}_"
    make = helper.make_node
    return [
        make("MatMul", [before, "w"], [p + "a"]),
        make("Tanh", [p + "a"], [p + "b"]),
        make("Max", [p + "b", before], [p + "c"]),
        make("Sum", [p + "c", "e"], [p + "d"]),
        make("Softmax", [p + "d"], [p + "f"], axis=1),
        make("Sigmoid", [p + "f"], [p + "g"]),
        make("Transpose", [p + "g"], [p + "h"], perm=[1, 0]),
        make("Transpose", [p + "h"], [p + "i"], perm=[1, 0]),
        make("Min", [p + "i", p + "c"], [p + "j"]),
        make("Sum", [p + "j", before], [p + "o"]),
    ]


def _adapted(number: int, before: str, opset: int) -> list[NodeProto]:
    p = f"b{number}_"
    make = helper.make_node

    def mean(x: str, y: str) -> NodeProto:
        if opset < 18:
            return make("ReduceMean", [x], [y], axes=[-1])
        return make("ReduceMean", [x, "axes"], [y])

    return [
        mean(before, p + "m"),
        make("Sub", [before, p + "m"], [p + "d"]),
        make("Mul", [p + "d", p + "d"], [p + "q"]),
        mean(p + "q", p + "v"),
        make("Sqrt", [p + "v"], [p + "s"]),
        make("Add", [p + "s", "e"], [p + "t"]),
        make("Div", [p + "d", p + "t"], [p + "n"]),
        make("MatMul", [p + "n", "w"], [p + "y"]),
        make("Relu", [p + "y"], [p + "r"]),
        make("Add", [before, p + "r"], [p + "o"]),
    ]


def blocks(kind: str, nodes: int, opset: int) -> onnx.ModelProto:
    """A model of so many nodes, ten in a block, each block fed by the one before."""
    block = _plain if kind == "plain" else _adapted
    made: list[NodeProto] = []
    current = "x"
    for number in range(nodes // 10):
        made += block(number, current, opset)
        current = made[-1].output[0]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])
    y = helper.make_tensor_value_info(current, TensorProto.FLOAT, ["N", 8])
    constants = {"w": np.eye(8, dtype=np.float32), "e": np.float32([1]), "axes": np.int64([-1])}
    if kind == "plain" or opset < 18:
        del constants["axes"]
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(made, kind, [x], [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7 if opset < 15 else 10)


def ours(source: Path, target: Path, opset: int) -> float:
    """Seconds from file to file."""
    from backedge.convert import load, save

    start = time.perf_counter()
    save(load(source), target, opset=opset)
    return time.perf_counter() - start


def peer(source: Path, target: Path, opset: int) -> float:
    """Seconds from file to file."""
    start = time.perf_counter()
    onnx.save(version_converter.convert_version(onnx.load(source), opset), target)
    return time.perf_counter() - start


def _in_process(who: str, source: Path, target: Path, opset: int) -> float | None:
    """The seconds that one of both takes in a process of its own; None where it raises or takes too long."""
    command = [sys.executable, __file__, "--one", who, str(source), str(target), str(opset)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_LIMIT)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    return float(done.stdout)


def main(nodes: int) -> None:
    print(f"{'model':8} {'opsets':>8} {'nodes':>7} {'ours':>7} {'peer':>7} {'ratio':>6}")
    for kind in ("plain", "adapted"):
        for before, after in ((13, 21), (21, 13)):
            for count in (nodes // 4, nodes // 2, nodes):
                with tempfile.TemporaryDirectory() as folder:
                    source, target = Path(folder) / "m.onnx", Path(folder) / "n.onnx"
                    source.write_bytes(blocks(kind, count, before).SerializeToString())
                    mine = _in_process("ours", source, target, after)
                    assert mine is not None and len(onnx.load(target).graph.node) >= count
                    theirs = _in_process("peer", source, target, after)
                beside = "   none   none" if theirs is None else f"{theirs:7.2f} {mine / theirs:6.2f}"
                print(f"{kind:8} {before:3} ->{after:3} {count:7} {mine:7.2f} {beside}", flush=True)


@pytest.mark.bench
def test_opset_conversion_is_linear() -> None:
    """Prints the figures; asserts only what no machine's speed changes."""
    main(100_000)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        run = {"ours": ours, "peer": peer}[sys.argv[2]]
        print(run(Path(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
