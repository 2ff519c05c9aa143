"""Limits of memory, time and depth: small files that make much of themselves end in one line."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.passes.errors import Endless, InvalidModel, OverLimit, TooLarge
from backedge.passes.limits import FEW_NODES
from onnx import TensorProto, helper, numpy_helper

from .starting import Start

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def model(nodes: list[onnx.NodeProto], functions: tuple[onnx.FunctionProto, ...] = (), **constants: Any) -> bytes:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, [2])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid("own", 1)] if functions else [])]
    return helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=8).SerializeToString()


def filled(op: str, *inputs: str, **constants: Any) -> bytes:
    """A model whose one answer needs a tensor of which the constants say how large it is."""
    nodes = [
        helper.make_node(op, list(inputs), ["c"]),
        helper.make_node("Cast", ["c"], ["f"], to=FLOAT),
        helper.make_node("ReduceMax", ["f"], ["m"], keepdims=0),
        helper.make_node("Add", ["x", "m"], ["y"]),
    ]
    return model(nodes, **constants)


def loop(*, trip: int | None, ends: bool, stacks: int = 0) -> bytes:
    """A loop of that many passes; one that `ends` by its condition, which it never comes to."""
    condition = ["Less", "v", "most"] if ends else ["Identity", "k"]
    nodes = [
        helper.make_node(condition[0], condition[1:], ["k2"]),
        helper.make_node("Sin", ["v"], ["w"]),
        *([helper.make_node("Expand", ["w", "many"], ["s"])] if stacks else []),
    ]
    formal = [("i", INT64), ("k", BOOL), ("v", FLOAT)]
    body = helper.make_graph(
        nodes,
        "body",
        [helper.make_tensor_value_info(name, kind, []) for name, kind in formal],
        [helper.make_tensor_value_info("k2", BOOL, []), helper.make_tensor_value_info("w", FLOAT, [])]
        + ([helper.make_tensor_value_info("s", FLOAT, [stacks])] if stacks else []),
    )
    return model(
        [
            helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0),
            helper.make_node("Loop", ["" if trip is None else "n", "t", "m"], ["l", *["z"] * bool(stacks)], body=body),
            *([helper.make_node("ReduceMax", ["z"], ["h"], keepdims=0)] if stacks else []),
            helper.make_node("Add", ["x", "h" if stacks else "l"], ["y"]),
        ],
        t=True,
        n=np.int64(trip or 0),
        most=np.float32(9),
        many=np.array([stacks], np.int64),
    )


def doubling(levels: int) -> bytes:
    """Functions each of which calls the one before twice."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    functions = [helper.make_function("own", "F0", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], opsets)]
    for level in range(1, levels):
        called = f"F{level - 1}"
        nodes = [helper.make_node(called, [a], [b], domain="own") for a, b in ("at", "tb")]
        functions.append(helper.make_function("own", f"F{level}", ["a"], ["b"], nodes, opsets))
    return model([helper.make_node(f"F{levels - 1}", ["x"], ["y"], domain="own")], tuple(functions))


def endless_function() -> bytes:
    opsets = [helper.make_opsetid("own", 1)]
    calls = [helper.make_node("F", ["a"], ["b"], domain="own")]
    return model(
        [helper.make_node("F", ["x"], ["y"], domain="own")],
        (helper.make_function("own", "F", ["a"], ["b"], calls, opsets),),
    )


def sizes(*numbers: int) -> np.ndarray[Any, Any]:
    return np.array(numbers, np.int64)


HOSTILE: dict[str, tuple[Callable[[], bytes], type[Exception], str]] = {
    "ConstantOfShape": (
        lambda: filled("ConstantOfShape", "s", s=sizes(2500, 1000, 1000)),
        TooLarge,
        "10 GB",
    ),
    "no number of bytes": (lambda: filled("ConstantOfShape", "s", s=sizes(1 << 40, 1 << 40)), TooLarge, "EB"),
    "Expand": (
        lambda: filled("Expand", "o", "s", o=np.array([1], np.float32), s=sizes(1 << 18, 1 << 20)),
        TooLarge,
        "1.1 TB",
    ),
    "Pad": (
        lambda: filled("Pad", "o", "s", o=np.zeros(2, np.float32), s=sizes(0, 1 << 31)),
        TooLarge,
        "8.59 GB",
    ),
    "Tile": (
        lambda: filled("Tile", "o", "s", o=np.zeros(9, np.float32), s=sizes(1 << 28)),
        TooLarge,
        "9.66 GB",
    ),
    "Range": (lambda: filled("Range", "a", "b", "o", a=0, b=1 << 40, o=1), TooLarge, "8.8 TB"),
    "negative": (lambda: filled("ConstantOfShape", "s", s=sizes(-1)), InvalidModel, "no sizes"),
    "stacks": (lambda: loop(trip=10**12, ends=False, stacks=1000), TooLarge, "4 PB"),
    "no end": (lambda: loop(trip=None, ends=False), Endless, "nothing ends this loop"),
    "functions that double": (lambda: doubling(30), TooLarge, "60 nodes become over 2000000"),
    "functions that double a little": (lambda: doubling(16), TooLarge, "32 nodes become 32768"),
    "a function that calls itself": (endless_function, Endless, "own.F calls itself"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_certain_to_be_too_much_is_refused_before_it_is_made(name: str, tmp_path: Path) -> None:
    make, error, words = HOSTILE[name]
    (tmp_path / "m.onnx").write_bytes(make())
    with pytest.raises(error, match=words):
        to_hub(load(tmp_path / "m.onnx"))


@pytest.mark.parametrize("name", ["Tile", "no end"])
@pytest.mark.parametrize(
    "command", ["convert m.onnx o.xml", "convert m.onnx o.onnx --opset 13", "verify m.onnx m.onnx"]
)
def test_commands_refuse_it_in_a_line(name: str, command: str, start: Start, tmp_path: Path) -> None:
    make, _, words = HOSTILE[name]
    (tmp_path / "m.onnx").write_bytes(make())
    done = start(tmp_path, *command.split())
    assert done.code == 2 and words in done.message
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("target", ["o.hlo", "o.json", "o.yaml", "o.bson"])
def test_constants_that_are_too_large_for_a_text(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = numpy_helper.from_array(np.arange(1 << 18, dtype=np.float32), "w")
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1 << 18]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", infos[:1], infos[1:], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    monkeypatch.setenv("BACKEDGE_ROOM", "4000000")
    with pytest.raises(TooLarge, match=r"constants of 1\.05 MB as text take \d"):
        convert(tmp_path / "m.onnx", tmp_path / target, verify=0)
    assert not (tmp_path / target).exists()


def test_passes_that_no_runtime_makes_in_time(start: Start, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(loop(trip=10**9, ends=False))
    done = start(tmp_path, *["verify", "m.onnx", "m.onnx", "--timeout", "10"])
    assert done.code == 2 and "makes 1000000000 passes, more than a runtime can in 10 s" in done.message


def test_functions_may_make_many_nodes_of_many(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(doubling(8))
    assert sum(node.op_type == "Neg" for _, node in to_hub(load(tmp_path / "m.onnx")).walk()) == 1 << 7 < FEW_NODES


def test_a_run_that_does_not_end_is_ended_by_its_time_limit(start: Start, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(loop(trip=None, ends=True))
    done = start(tmp_path, *["run", "m.onnx", "--timeout", "0.1"])
    assert done.code == 2 and re.search(r"takes longer than 0\.\d+ s \(running; --timeout\)", done.message)


def test_a_run_that_fills_the_memory_is_ended_by_its_limit(start: Start, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(loop(trip=None, ends=True, stacks=5000))
    done = start(tmp_path, *["run", "m.onnx", "--memory", "100M"])
    assert done.code == 2 and "more memory than 105 MB (--memory)" in done.message


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere machine code is waited for")
def test_a_run_in_machine_code_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(loop(trip=None, ends=True))
    command = [sys.executable, "-m", "backedge", "run", "m.onnx", "-v"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "running" in line:
                break
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().split(":")[-1].strip() == "interrupted"
    assert process.returncode in (130, -signal.SIGINT)  # the latter where Numba's import was interrupted


def growing(levels: int) -> bytes:
    """Loops in loops each of which carries a value of its own that grows."""
    body: onnx.GraphProto | None = None
    for level in range(levels, 0, -1):
        nodes = [
            helper.make_node("Identity", [f"k{level}"], [f"q{level}"]),
            helper.make_node("Concat", [f"v{level}", "x"], [f"w{level}"], axis=0),
        ]
        if body is not None:
            nodes.append(helper.make_node("Loop", ["n", "", "x"], [f"u{level}"], body=body))
            nodes.append(helper.make_node("ReduceSum", [f"u{level}"], [f"r{level}"], keepdims=1))
            nodes.append(helper.make_node("Concat", [f"w{level}", f"r{level}"], [f"o{level}"], axis=0))
        made = [
            helper.make_tensor_value_info(f"q{level}", BOOL, []),
            helper.make_tensor_value_info(nodes[-1].output[0], FLOAT, [None]),
        ]
        formal = [(f"i{level}", INT64, []), (f"k{level}", BOOL, []), (f"v{level}", FLOAT, [None])]
        body = helper.make_graph(nodes, f"b{level}", [helper.make_tensor_value_info(*one) for one in formal], made)
    return model([helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)], n=np.int64(1))


def test_thirty_loops_in_each_other_whose_values_grow(tmp_path: Path) -> None:
    """Each would be looked at twice for each look at the one around it: 2 to the 30."""
    (tmp_path / "m.onnx").write_bytes(growing(30))
    graph = to_hub(load(tmp_path / "m.onnx"))
    depth, inner = 0, graph
    while loops := [node for node in inner.nodes if node.regions]:
        depth, inner = depth + 1, loops[0].regions["body"]
    assert depth == 30 and graph.outputs[0].tensor.shape == (None,)


def test_over_a_limit_is_no_exception_that_work_could_swallow() -> None:
    assert not issubclass(OverLimit, Exception)
