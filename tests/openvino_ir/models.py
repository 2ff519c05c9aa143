"""Models built with OpenVINO's own API, and what it saves them as: the input of the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import Dimension, Model, PartialShape, Type, opset1, opset6
from openvino import opset13 as op

FLOAT = np.float32


def chain() -> Model:
    x = op.parameter([-1, 3], FLOAT, name="in,put")
    x.output(0).set_names({"a,b", "c\\d", "z"})
    shifted = op.add(x, op.constant(np.arange(3, dtype=FLOAT).reshape(1, 3)), name="Add<&>\"'1")
    twice = op.multiply(shifted, op.constant(np.float32(2)))
    return Model([op.result(twice), op.result(x)], [x], "na\nme\t&")


def scalars() -> Model:
    x = op.parameter([], FLOAT, name="x")
    y = op.parameter([2, 2], FLOAT, name="y")
    total = op.reduce_sum(y, op.constant(np.array([0, 1])), False)
    return Model([op.result(op.add(x, total))], [x, y], "scalars")


def dynamic() -> Model:
    unknown = op.parameter(PartialShape.dynamic(), FLOAT, name="unknown")
    bounded = op.parameter(
        PartialShape([Dimension(2, 5), Dimension(3, -1), Dimension(0, 7), -1, 4]), FLOAT, name="bounded"
    )
    shape = op.parameter([-1], np.int64, name="shape")
    cast = op.parameter([3], Type.dynamic, name="cast")
    results = [op.relu(unknown), op.relu(bounded), op.reshape(bounded, shape, True), op.relu(cast)]
    return Model([op.result(node) for node in results], [unknown, bounded, shape, cast], "dynamic")


def many_outputs() -> Model:
    x = op.parameter([4, 6], FLOAT, name="x")
    parts = op.split(x, op.constant(1), 3)
    top = op.topk(parts.output(2), op.constant(2), 0, "max", "value")
    return Model([op.result(parts.output(0)), op.result(top.output(1))], [x], "many outputs")


def attributes() -> Model:
    x = op.parameter([1, 2, 8, 8], FLOAT, name="x")
    weights = op.constant(np.ones((2, 2, 3, 3), FLOAT))
    nodes = [
        op.convolution(x, weights, [2, 1], [1, 0], [0, 2], [1, 1]),
        op.clamp(x, -np.inf, 3.5),
        op.clamp(x, 1e-6, 0.1),
        op.elu(x, 0.3),
        op.convert(x, "i64"),
        op.mvn(x, op.constant(np.array([2, 3])), True, 1e-9, "INSIDE_SQRT"),
        op.strided_slice(
            x,
            op.constant(np.array([0, 0])),
            op.constant(np.array([1, 1])),
            op.constant(np.array([1, 1])),
            [1, 0],
            [0, 1],
            [0, 0],
            [1, 0],
            [0, 0],
        ),
    ]
    return Model([op.result(node) for node in nodes], [x], "attributes")


def variables() -> Model:
    x = op.parameter([1, 3], FLOAT, name="x")
    state = opset6.read_value(op.constant(np.zeros((1, 3), FLOAT)), "v1", Type.f32, PartialShape([1, 3]))
    total = op.add(x, state)
    return Model([op.result(total)], [opset6.assign(total, "v1")], [x], "variables")


def strings() -> Model:
    words = op.constant(ov.Tensor(np.array([["ab", "", "üx"], ["日本", "c,d", " "]])))
    return Model([op.result(words)], [], "strings")


def empty() -> Model:
    x = op.parameter([0, 3], FLOAT, name="x")
    return Model([op.result(op.concat([x, op.constant(np.zeros((0, 3), FLOAT))], 0))], [x], "empty")


def no_constants() -> Model:
    x = op.parameter([2], FLOAT, name="x")
    return Model([op.result(op.relu(x))], [x], "no constants")


def shared_constants() -> Model:
    x = op.parameter([2], FLOAT, name="x")
    pair = np.array([1, 2], FLOAT)
    return Model([op.result(op.add(op.multiply(x, op.constant(pair)), op.constant(pair)))], [x], "shared")


def info() -> Model:
    model = chain()
    model.set_rt_info("hello", ["framework", "x"])
    model.set_rt_info([1, 2], ["framework", "no tag name"])
    model.set_rt_info(True, ["a", "b", "c"])
    return model


def _accumulate(rows: int) -> tuple[Model, dict[str, ov.Node]]:
    """A body: acc' = acc + row * weight."""
    iteration = op.parameter([], np.int64, name="i")
    row = op.parameter([rows, 2], FLOAT, name="row")
    acc = op.parameter([1, 2], FLOAT, name="acc")
    weight = op.parameter([1, 2], FLOAT, name="w")
    total = op.add(acc, op.multiply(op.reduce_sum(row, op.constant(np.array([0])), True), weight))
    go_on = op.result(op.constant(np.array(True)))
    body = Model([go_on, op.result(total)], [iteration, row, acc, weight], "body")
    return body, {"i": iteration, "row": row, "acc": acc, "w": weight}


def _loop(x: ov.Node, trip: int = 3) -> ov.Node:
    body, inner = _accumulate(1)
    loop = op.loop(op.constant(np.int64(trip)), op.constant(np.array(True)))
    loop.set_function(body)
    loop.set_special_body_ports([0, 0])
    result = body.results[1].output(0)
    loop.set_sliced_input(inner["row"], x.output(0), 0, 1, 1, -1, 0)
    loop.set_merged_input(inner["acc"], op.constant(np.zeros((1, 2), FLOAT)).output(0), result)
    loop.set_invariant_input(inner["w"], op.constant(np.full((1, 2), 3, FLOAT)).output(0))
    loop.get_iter_value(result, -1)
    loop.get_concatenated_slices(result, 0, 1, 1, -1, 0)
    return loop


def loop() -> Model:
    x = op.parameter([3, 2], FLOAT, name="x")
    node = _loop(x)
    return Model([op.result(node.output(0)), op.result(node.output(1))], [x], "loop")


def nested_loops() -> Model:
    """A loop in an If in a loop, state of the outer one carried through."""
    x = op.parameter([3, 2], FLOAT, name="x")
    iteration = op.parameter([], np.int64, name="i")
    acc = op.parameter([3, 2], FLOAT, name="acc")
    chosen = op.if_op(op.less(iteration, op.constant(np.int64(2))).output(0))
    inner_x = op.parameter([3, 2], FLOAT, name="x")
    then_body = Model([op.result(_loop(inner_x).output(1))], [inner_x], "then")
    else_x = op.parameter([3, 2], FLOAT, name="x")
    else_body = Model([op.result(op.negative(else_x))], [else_x], "else")
    chosen.set_then_body(then_body)
    chosen.set_else_body(else_body)
    chosen.set_input(acc.output(0), inner_x, else_x)
    out = chosen.set_output(then_body.results[0], else_body.results[0])
    go_on = op.result(op.constant(np.array(True)))
    body = Model([go_on, op.result(out)], [iteration, acc], "body")
    outer = op.loop(op.constant(np.int64(4)), op.constant(np.array(True)))
    outer.set_function(body)
    outer.set_special_body_ports([0, 0])
    outer.set_merged_input(acc, x.output(0), body.results[1].output(0))
    result = outer.get_iter_value(body.results[1].output(0), -1)
    return Model([op.result(result)], [x], "nested")


def tensor_iterator() -> Model:
    """Two rows at a time, from the end; totals collected forwards."""
    x = op.parameter([6, 2], FLOAT, name="x")
    row = op.parameter([2, 2], FLOAT, name="row")
    acc = op.parameter([1, 2], FLOAT, name="acc")
    total = op.add(acc, op.reduce_sum(row, op.constant(np.array([0])), True))
    body = Model([op.result(total)], [row, acc], "body")
    node = op.tensor_iterator()
    node.set_body(body)
    node.set_sliced_input(row, x.output(0), -1, -2, 2, 0, 0)
    node.set_merged_input(acc, op.constant(np.zeros((1, 2), FLOAT)).output(0), body.results[0].output(0))
    last = node.get_iter_value(body.results[0].output(0), -1)
    every = node.get_concatenated_slices(body.results[0].output(0), 0, 1, 1, -1, 0)
    return Model([op.result(last), op.result(every)], [x], "tensor iterator")


def branches() -> Model:
    """An If with an input that one branch alone takes, and a branch that takes nothing."""
    condition = op.parameter([], np.bool_, name="condition")
    x = op.parameter([3, 2], FLOAT, name="x")
    y = op.parameter([3, 2], FLOAT, name="y")
    a, b = op.parameter([3, 2], FLOAT, name="a"), op.parameter([3, 2], FLOAT, name="b")
    then_body = Model([op.result(op.subtract(a, b)), op.result(a)], [a, b], "then")
    zeros = op.constant(np.zeros((3, 2), FLOAT))
    else_body = Model([op.result(zeros), op.result(op.negative(zeros))], [], "else")
    node = op.if_op(condition)
    node.set_then_body(then_body)
    node.set_else_body(else_body)
    node.set_input(x.output(0), a, None)
    node.set_input(y.output(0), b, None)
    outs = [node.set_output(then_body.results[k], else_body.results[k]) for k in (0, 1)]
    return Model([op.result(out) for out in outs], [condition, x, y], "branches")


def old_cell() -> Model:
    """LSTMCell of opset1 hides its peephole input: its output ports don't follow on its input ports."""
    x, h, c = (op.parameter([1, 4], FLOAT, name=name) for name in "xhc")
    w, r = (op.constant(np.full((16, 4), 0.1, FLOAT)) for _ in range(2))
    cell = opset1.lstm_cell(x, h, c, w, r, op.constant(np.zeros(16, FLOAT)), 4)
    return Model([op.result(cell.output(0)), op.result(cell.output(1))], [x, h, c], "old cell")


MODELS: dict[str, Callable[[], Model]] = {
    build.__name__: build
    for build in (
        chain,
        scalars,
        dynamic,
        many_outputs,
        attributes,
        variables,
        strings,
        empty,
        no_constants,
        shared_constants,
        info,
        loop,
        nested_loops,
        tensor_iterator,
        branches,
        old_cell,
    )
}


def saved(model: Model, path: Path, version: str = "UNSPECIFIED") -> Path:
    """What OpenVINO writes of a model that it has read: only then do an Assign and its ReadValue know each other."""
    ov.serialize(model, path, path.with_suffix(".bin"), version)
    again = ov.Core().read_model(path)
    target = path.with_name(f"{path.stem}_saved.xml")
    ov.serialize(again, target, target.with_suffix(".bin"))
    return target
