"""Nodes with regions, and functions: loops, scans and branches that capture, nested, on example values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import helper

from .evaluate import proto
from .maker import Maker, Missing, Scope, Value
from .operators import operator

_DEEPEST = 2


def _fill(m: Maker, s: Scope, most: int = 4) -> None:
    """Let a region have nodes."""
    for _ in range(m.random.randint(0, most) + 1):
        if s.depth < _DEEPEST and not s.closed and m.chance(0.15):
            m.attempt(s, m.one(REGIONS))
        else:
            m.attempt(s, operator)


def _graph(m: Maker, s: Scope, inputs: Sequence[Value], outputs: Sequence[Value]) -> onnx.GraphProto:
    """The region. An output that isn't made in it, or is given twice, gets an Identity."""
    made = {name for node in s.nodes for name in node.output}
    given: list[str] = []
    infos = []
    for value in outputs:
        name = value.name
        if name not in made or name in given:
            name = m.name("out")
            s.nodes.append(helper.make_node("Identity", [value.name], [name]))
        given.append(name)
        infos.append(helper.make_value_info(name, proto(value.type, [None] * value.rank if value.tensor else None)))
    shaped = m.chance(0.3)
    types = [proto(v.type, v.shape if v.tensor and (shaped or not v.rank) else None) for v in inputs]
    given_infos = [helper.make_value_info(v.name, type) for v, type in zip(inputs, types, strict=True)]
    return helper.make_graph(s.nodes, m.name("body"), given_infos, infos)


def _captures(m: Maker, s: Scope, graphs: Sequence[onnx.GraphProto]) -> list[Value]:
    """What the regions take from outside, in reach or new inputs of the model; the initializers, too."""
    names: set[str] = set()

    def walk(graph: onnx.GraphProto) -> None:
        for node in graph.node:
            names.update(node.input)
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    walk(attribute.g)

    for graph in graphs:
        walk(graph)
    found = {value.name: value for value in [*s.pool, *m.inputs] if value.name in names}
    for tensor in m.initializers:
        if tensor.name in names and tensor.name not in found:
            array = onnx.numpy_helper.to_array(tensor)
            if array.dtype.kind in "SU":
                array = array.astype(object)
            found[tensor.name] = Value(tensor.name, _type(tensor), array)
    return list(found.values())


def _type(tensor: onnx.TensorProto) -> str:
    from .evaluate import ELEMENTS

    return f"tensor({next(name for name, number in ELEMENTS.items() if number == tensor.data_type)})"


def _like(m: Maker, s: Scope, value: Value, known: set[str]) -> Value:
    """A value of the same type, made in the region if there is one, mostly of the same shape."""
    same = [v for v in s.pool if v.type == value.type and v.name not in known]
    shaped = [v for v in same if v.shape == value.shape] if value.tensor else same
    if shaped and m.chance(0.85):
        return m.one(shaped[-3:])
    if same and m.chance(0.15):
        return m.one(same)
    return value


def _condition(m: Maker, s: Scope) -> Value:
    found = [v for v in s.pool if v.type == "tensor(bool)" and v.shape == ()]
    if found and m.chance(0.5):
        return m.one(found[-4:])
    return m.new(s, np.asarray(m.chance(0.5)))


def branch(m: Maker, s: Scope) -> None:
    """If."""
    condition = m.input(np.asarray(m.chance(0.5))) if not s.closed and m.chance(0.5) else _condition(m, s)
    one = m.inner(s, [])
    _fill(m, one)
    known = {v.name for v in s.pool}
    made = [v for v in one.pool if v.name not in known] or one.pool
    if m.opset < 16:
        made = [v for v in made if v.tensor or m.opset >= 13]
    outputs = [m.one(made[-4:]) for _ in range(m.random.randint(1, 3))]
    other = m.inner(s, [])
    _fill(m, other)
    others = []
    for value in outputs:
        # of other ranks they would be no tensors of the rank that outputs declare
        same = [v for v in other.pool if v.type == value.type and (not value.tensor or v.rank == value.rank)]
        shaped = [v for v in same if v.shape == value.shape] if value.tensor else same
        if not same:
            raise Missing
        others.append(m.one(shaped if shaped and m.chance(0.8) else same))
    graphs = [_graph(m, one, [], outputs), _graph(m, other, [], others)]
    m.emit(
        s,
        "If",
        [condition],
        len(outputs),
        extra=_captures(m, s, graphs),
        then_branch=graphs[0],
        else_branch=graphs[1],
    )


def _carried(m: Maker, s: Scope, most: int) -> list[Value]:
    pool = [v for v in s.pool if v.tensor or (m.opset >= 13 and v.type.startswith("seq"))]
    return [m.one(pool[-8:]) for _ in range(m.random.randint(0, most))] if pool else []


def loop(m: Maker, s: Scope) -> None:
    """Loop: counted, by condition, or both; no pass, one, some."""
    trips = m.one((None, 0, 1, 2, 3, 3, 4))
    trip = None if trips is None else m.new(s, np.asarray(trips, np.int64).reshape(m.one(((), (), (1,)))))
    start = None if trips is not None and m.chance(0.5) else _condition(m, s)
    carried = _carried(m, s, 3)
    if m.opset < 13 and not carried:
        raise Missing
    i = Value(m.name("i"), "tensor(int64)", np.asarray(0, np.int64))
    go = Value(m.name("go"), "tensor(bool)", np.asarray(True))
    inside = [replace(v, name=m.name("v")) for v in carried]
    inner = m.inner(s, [i, go, *inside])
    _fill(m, inner)
    known = {v.name for v in s.pool} | {i.name, go.name}
    if trips is None or m.chance(0.3):
        limit = m.scalar(inner, m.random.randint(0, 3))
        if m.opset < 9:
            raise Missing  # no integers were compared
        (on,) = m.emit(inner, "Less", [i, limit])
    else:
        bools = [v for v in inner.pool if v.type == "tensor(bool)" and v.shape == () and v.name not in known]
        on = m.one(bools) if bools and m.chance(0.3) else go if m.chance(0.6) else m.constant(inner, np.asarray(True))
    outputs = [_like(m, inner, v, known) for v in inside]
    tensors = [v for v in inner.pool if v.tensor and (v.name not in known or m.chance(0.1))]
    scanned = [m.one(tensors[-5:]) for _ in range(m.random.randint(0 if outputs else 1, 2))] if tensors else []
    if not outputs and not scanned:
        raise Missing
    graph = _graph(m, inner, [i, go, *inside], [on, *outputs, *scanned])
    extra = _captures(m, s, [graph])
    made = m.emit(s, "Loop", [trip, start, *carried], len(outputs) + len(scanned), extra=extra, body=graph)
    for value in made[len(outputs) :]:
        if value.rank > 1 and not value.shape[0]:  # nobody says which sizes the others are: nothing is made of it
            s.pool.remove(value)
            s.ends.append(value)


def _scanned(value: Value) -> bool:
    """ONNX Runtime divides by the size of an element, and dies where that is nothing."""
    return value.rank > 0 and np.size(value.example) > 0


def _batched(value: Value) -> bool:
    return value.rank > 1 and np.size(value.example) > 0


def scan_of_batches(m: Maker, s: Scope) -> None:
    """Scan-8: the first axis is the batch's, the second one is scanned; lengths of their own, directions."""
    sequences = [m.find(s, ["float", "int64", "bool", "double"], _batched, ranks=(2, 4))]
    batch, length = sequences[0].shape[:2]
    sequences += [v for v in s.pool if v.tensor and v.shape[:2] == (batch, length) and _batched(v)][
        : m.random.randint(0, 1)
    ]
    found = [v for v in s.pool if v.tensor and v.rank and v.shape[0] == batch and np.size(v.example)]
    states = m.some(found[-3:]) if found else []
    inside = [Value(m.name("s"), v.type, np.asarray(v.example[0])) for v in states]
    parts = [Value(m.name("e"), v.type, np.asarray(v.example[0, 0])) for v in sequences]
    inner = m.inner(s, [*inside, *parts])
    _fill(m, inner)
    known = {v.name for v in s.pool}
    outputs = [_like(m, inner, v, known) for v in inside]
    made = [v for v in inner.pool if v.tensor and v.name not in known and np.size(v.example)]
    if any(not np.size(v.example) for v in outputs):
        raise Missing
    scanned = [m.one(made[-5:]) for _ in range(m.random.randint(0 if outputs else 1, 2))]
    graph = _graph(m, inner, [*inside, *parts], [*outputs, *scanned])
    attributes: dict[str, Any] = {"body": graph, "num_scan_inputs": len(sequences)}
    if m.chance(0.4):
        attributes["directions"] = [m.random.randint(0, 1) for _ in sequences]
    lengths = m.ints(s, *(m.random.randint(1, length) for _ in range(batch))) if m.chance(0.3) else None
    extra = _captures(m, s, [graph])
    m.emit(s, "Scan", [lengths, *states, *sequences], len(outputs) + len(scanned), extra=extra, **attributes)


def sequence_map(m: Maker, s: Scope) -> None:
    """SequenceMap: an operator body for each element, with a tensor that stays the same."""
    found = [v for v in s.pool if v.type.startswith("seq") and v.example]
    if m.opset < 17 or not found:
        raise Missing
    sequence = m.one(found)
    same = [v for v in s.pool if v.tensor][-m.random.randint(1, 3) :][: m.random.randint(0, 1)]
    first = Value(m.name("e"), f"tensor({sequence.element})", np.asarray(sequence.example[0]))
    given = [first, *(replace(v, name=m.name("v")) for v in same)]
    inner = m.inner(s, given)
    _fill(m, inner)
    known = {v.name for v in s.pool}
    made = [v for v in inner.pool if v.tensor and v.name not in known]
    outputs = [m.one(made[-3:]) for _ in range(m.random.randint(1, 2))]
    graph = _graph(m, inner, given, outputs)
    m.emit(s, "SequenceMap", [sequence, *same], len(outputs), extra=_captures(m, s, [graph]), body=graph)


def scan(m: Maker, s: Scope) -> None:
    """Scan since version 9: axes and directions, states that change, captures."""
    if m.opset < 8:
        raise Missing
    if m.opset == 8:
        return scan_of_batches(m, s)
    sequences = [m.find(s, ["float", "int64", "bool", "double"], _scanned, ranks=(1, 3))]
    first_axis = m.random.randrange(sequences[0].rank)
    length = sequences[0].shape[first_axis]
    axes = [first_axis]
    for _ in range(m.random.randint(0, 1)):
        found = [v for v in s.pool if v.tensor and length in v.shape and _scanned(v)]
        if found:
            more = m.one(found)
            sequences.append(more)
            axes.append(more.shape.index(length))
    states = [v for v in _carried(m, s, 2) if v.tensor and np.size(v.example)]
    inside = [replace(v, name=m.name("s")) for v in states]
    parts = []
    for value, axis in zip(sequences, axes, strict=True):
        shape = value.shape[:axis] + value.shape[axis + 1 :]
        example = np.take(value.example, 0, axis) if length else m.array(value.element, shape)
        parts.append(Value(m.name("e"), value.type, np.asarray(example)))
    inner = m.inner(s, [*inside, *parts])
    _fill(m, inner)
    known = {v.name for v in s.pool}
    outputs = [_like(m, inner, v, known) for v in inside]
    tensors = [v for v in inner.pool if v.tensor and v.name not in known and np.size(v.example)]
    if any(v.tensor and not np.size(v.example) for v in outputs):
        raise Missing
    scanned = [m.one(tensors[-5:]) for _ in range(m.random.randint(0 if outputs else 1, 2))]
    graph = _graph(m, inner, [*inside, *parts], [*outputs, *scanned])
    attributes: dict[str, Any] = {"body": graph, "num_scan_inputs": len(sequences)}
    if any(axes) or m.chance(0.3):
        negative = [
            axis - v.rank if m.chance(0.3) and m.opset >= 11 else axis for axis, v in zip(axes, sequences, strict=True)
        ]
        attributes["scan_input_axes"] = negative
    if m.chance(0.4):
        attributes["scan_input_directions"] = [m.random.randint(0, 1) for _ in sequences]
    if scanned and m.chance(0.4):
        attributes["scan_output_axes"] = [
            m.random.randint(-v.rank - 1 if m.opset >= 11 else 0, v.rank) for v in scanned
        ]
    if scanned and m.chance(0.4):
        attributes["scan_output_directions"] = [m.random.randint(0, 1) for _ in scanned]
    extra = _captures(m, s, [graph])
    m.emit(s, "Scan", [*states, *sequences], len(outputs) + len(scanned), extra=extra, **attributes)


def function(m: Maker, s: Scope) -> None:
    """A call of a function of the model's own."""
    if s.closed:
        raise Missing
    given = [m.one(s.pool[-6:]) for _ in range(m.random.randint(1, 3))] if s.pool else []
    if not given:
        raise Missing
    inside = [replace(v, name=m.name("p")) for v in given]
    inner = m.inner(s, inside, closed=True)
    _fill(m, inner, 3)
    made = [v for v in inner.pool if v not in inside]
    if not made:
        raise Missing
    outputs = list({v.name: v for v in (m.one(made[-3:]) for _ in range(m.random.randint(1, 2)))}.values())
    name = m.name("F").upper()
    imports = [helper.make_opsetid("", m.opset), helper.make_opsetid("ai.onnx.ml", 3)]
    m.functions.append(
        helper.make_function(
            "local", name, [v.name for v in inside], [v.name for v in outputs], inner.nodes, opset_imports=imports
        )
    )
    m.emit(s, name, given, len(outputs), domain="local")


REGIONS = [branch, branch, loop, loop, loop, scan, scan, function, sequence_map]
