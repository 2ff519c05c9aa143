"""Faults in loops, scans, branches and at the border of the model."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from .faults import Editor, attribute, body, drop, fault, graphs, integer, put

INT64, BOOL = TensorProto.INT64, TensorProto.BOOL

# the trip count --------------------------------------------------------------------------------------


def _trip(e: Editor, graph: GraphProto, node: NodeProto, op: str, number: int) -> bool:
    if not node.input[0]:
        return False
    other = e.constant(graph, node, number, INT64)
    node.input[0] = e.op(graph, node, op, node.input[0], other)
    return True


@fault("trip count + 1", "Loop")
def _(e, g, n):
    return _trip(e, g, n, "Add", 1)


@fault("trip count - 1", "Loop")
def _(e, g, n):
    return _trip(e, g, n, "Sub", 1)


@fault("trip count capped", "Loop")
def _(e, g, n):
    """Written out so many times and no more."""
    return e.opset >= 12 and _trip(e, g, n, "Min", e.random.choice((3, 4, 5, 8)))


@fault("trip count at least 1", "Loop")
def _(e, g, n):
    """Tested after the first pass only."""
    return e.opset >= 12 and _trip(e, g, n, "Max", 1)


@fault("negative trip count", "Loop")
def _(e, g, n):
    if not n.input[0]:
        return False
    n.input[0] = e.op(g, n, "Abs", n.input[0])


@fault("zero trips give zeros", "Loop")
def _(e, g, n):
    """The state after no pass is zero instead of the initial value."""
    places = [k for k in range(len(n.input) - 2) if e.type(n.input[k + 2]) in (1, INT64) and n.output[k]]
    if not places or not n.input[0]:
        return False
    k = e.random.choice(places)
    none = e.op(g, n, "Less", n.input[0], e.constant(g, n, 1, INT64))
    zero = e.op(g, n, "Sub", n.input[k + 2], n.input[k + 2])
    e.after(g, n, k, helper.make_node("Where", [none, zero, "*"], [""]))


@fault("iteration counted from 1", "Loop")
def _(e, g, n):
    inner = body(n)
    name = inner.input[0].name
    if not any(name in node.input for one in graphs(inner) for node in one.node):
        return False
    inner.input[0].name = e.fresh()
    first = inner.node[0] if inner.node else None
    one = e.constant(inner, first, 1, INT64)
    made = e.op(inner, first, "Add", inner.input[0].name, one)
    for node in inner.node:
        for k, output in enumerate(node.output):
            if output == made:
                node.output[k] = name


# the condition ---------------------------------------------------------------------------------------


@fault("condition inverted", "Loop")
def _(e, g, n):
    if not n.input[0]:
        return False
    inner = body(n)
    inner.output[0].name = e.op(inner, None, "Not", inner.output[0].name)


@fault("condition dropped", "Loop")
def _(e, g, n):
    inner = body(n)
    maker = [node for node in inner.node if inner.output[0].name in node.output]
    if not n.input[0] or (maker and maker[0].op_type == "Identity" and maker[0].input[0] == inner.input[1].name):
        return False
    inner.output[0].name = e.constant(inner, None, True, BOOL)


@fault("initial condition dropped", "Loop")
def _(e, g, n):
    if len(n.input) < 2 or not n.input[1] or n.input[1] in e.tensors:
        return False
    n.input[1] = e.constant(g, n, True, BOOL)


@fault("condition one pass late", "Loop")
def _(e, g, n):
    """The condition of the state before instead of the one after."""
    inner = body(n)
    pairs = {inner.output[k + 1].name: inner.input[k + 2].name for k in range(len(inner.input) - 2)}
    maker = [node for node in inner.node if inner.output[0].name in node.output]
    found = [(node, k) for node in maker for k, name in enumerate(node.input) if name in pairs]
    if not found:
        return False
    node, k = found[0]
    if pairs[node.input[k]] == node.input[k]:
        return False
    node.input[k] = pairs[node.input[k]]


# what loops carry ------------------------------------------------------------------------------------


def _states(n: NodeProto) -> range:
    return range(len(n.input) - (2 if n.op_type == "Loop" else integer(n, "num_scan_inputs", 0)))


def _initial(n: NodeProto, k: int) -> int:
    """Which input is the initial value of a state."""
    return k + (2 if n.op_type == "Loop" else 0)


def _result(n: NodeProto, k: int) -> int:
    """Which of the body's outputs is the next value of a state."""
    return k + (1 if n.op_type == "Loop" else 0)


def _pairs(e: Editor, names: list[str]) -> list[tuple[int, int]]:
    """Two of the same type and shape."""
    return [
        (a, b)
        for a in range(len(names))
        for b in range(a)
        if names[a] != names[b] and e.types.get(names[a]) is not None and e.types.get(names[a]) == e.types.get(names[b])
    ]


@fault("carried slots swapped", "Loop", "Scan")
def _(e, g, n):
    inner = body(n)
    initial = [n.input[_initial(n, k)] for k in _states(n)]
    found = [(a, b) for a, b in _pairs(e, [inner.input[_initial(n, k)].name for k in _states(n)])] or _pairs(e, initial)
    found = [(a, b) for a, b in found if inner.output[_result(n, a)].name != inner.output[_result(n, b)].name]
    if not found:
        return False
    a, b = (_result(n, k) for k in e.random.choice(found))
    inner.output[a].name, inner.output[b].name = inner.output[b].name, inner.output[a].name


@fault("initial values swapped", "Loop", "Scan")
def _(e, g, n):
    found = _pairs(e, [n.input[_initial(n, k)] for k in _states(n)])
    if not found:
        return False
    a, b = (_initial(n, k) for k in e.random.choice(found))
    n.input[a], n.input[b] = n.input[b], n.input[a]


@fault("results swapped", "Loop", "Scan", "If")
def _(e, g, n):
    found = _pairs(e, list(n.output))
    if not found:
        return False
    a, b = e.random.choice(found)
    n.output[a], n.output[b] = n.output[b], n.output[a]


@fault("initial value changed", "Loop", "Scan")
def _(e, g, n):
    places = [_initial(n, k) for k in _states(n) if e.type(n.input[_initial(n, k)]) in (1, INT64)]
    if not places:
        return False
    k = e.random.choice(places)
    type = e.type(n.input[k])
    if e.random.random() < 0.5:
        n.input[k] = e.op(g, n, "Sub", n.input[k], n.input[k])
    else:
        n.input[k] = e.op(g, n, "Add", n.input[k], e.constant(g, n, 1, type))


@fault("state taken for an invariant", "Loop", "Scan")
def _(e, g, n):
    """Inside, the initial value stands where the state should be."""
    inner = body(n)
    places = [k for k in _states(n) if n.input[_initial(n, k)]]
    e.random.shuffle(places)
    for k in places:
        name = inner.input[_initial(n, k)].name
        uses = [(node, i) for one in graphs(inner) for node in one.node for i, x in enumerate(node.input) if x == name]
        if uses:
            node, i = e.random.choice(uses)
            node.input[i] = n.input[_initial(n, k)]
            return True
    return False


@fault("last state instead of the result", "Loop", "Scan")
def _(e, g, n):
    """What follows reads the value before the last pass: a state that lags behind."""
    inner = body(n)
    places = [k for k in _states(n) if inner.output[_result(n, k)].name != inner.input[_initial(n, k)].name]
    places = [k for k in places if n.output[k]]
    if not places:
        return False
    k = e.random.choice(places)
    inner.output[_result(n, k)].name = e.op(inner, None, "Identity", inner.input[_initial(n, k)].name)


@fault("capture replaced", "Loop", "Scan", "If")
def _(e, g, n):
    """A value of the outer graph instead of another one."""
    inner = [one for a in n.attribute if a.HasField("g") for one in graphs(a.g)]
    own = {v for one in inner for v in [x.name for x in one.input] + [o for node in one.node for o in node.output]}
    uses = [(node, i) for one in inner for node in one.node for i, x in enumerate(node.input) if x and x not in own]
    e.random.shuffle(uses)
    outside = [v.name for v in g.input]
    for node in g.node:
        if list(node.output) == list(n.output):
            break
        outside += [o for o in node.output if node.op_type != "Constant"]
    for node, i in uses:
        same = [v for v in outside if v != node.input[i] and v in e.types and e.types[v] == e.types.get(node.input[i])]
        if same:
            node.input[i] = e.random.choice(same)
            return True
    return False


# stacks ----------------------------------------------------------------------------------------------


def _stacks(n: NodeProto) -> list[int]:
    return [k for k in range(len(_states(n)), len(n.output)) if n.output[k]]


@fault("stack reversed", "Loop", "Scan")
def _(e, g, n):
    places = _stacks(n)
    if not places:
        return False
    k = e.random.choice(places)
    if n.op_type == "Scan":
        count = len(n.output) - len(_states(n))
        ways = list(found.ints) if (found := attribute(n, "scan_output_directions")) else [0] * count
        ways[k - len(_states(n))] ^= 1
        put(n, "scan_output_directions", ways)
        return True
    numbers = [e.constant(g, n, [x], INT64) for x in (-1, -(2**63), 0, -1)]
    e.after(g, n, k, helper.make_node("Slice", ["*", *numbers], [""]))


@fault("stack without its last element", "Loop", "Scan")
def _(e, g, n):
    places = _stacks(n)
    if not places:
        return False
    k = e.random.choice(places)
    numbers = [e.constant(g, n, [x], INT64) for x in (0, -1, 0)]
    e.after(g, n, k, helper.make_node("Slice", ["*", *numbers], [""]))


@fault("stack of the state before", "Loop", "Scan")
def _(e, g, n):
    inner = body(n)
    states = {inner.output[_result(n, k)].name: inner.input[_initial(n, k)].name for k in _states(n)}
    for k in range(_result(n, len(_states(n))), len(inner.output)):
        name = inner.output[k].name
        source = [node.input[0] for node in inner.node if node.op_type == "Identity" and name in node.output]
        for found in (name, *source):
            if found in states and states[found] != found:
                inner.output[k].name = e.op(inner, None, "Identity", states[found])
                return True
    return False


@fault("scan input reversed", "Scan")
def _(e, g, n):
    count = integer(n, "num_scan_inputs", 1)
    ways = list(found.ints) if (found := attribute(n, "scan_input_directions")) else [0] * count
    ways[e.random.randrange(count)] ^= 1
    put(n, "scan_input_directions", ways)


@fault("scan directions dropped", "Scan")
def _(e, g, n):
    found = [a.name for a in n.attribute if a.name.endswith("directions") and any(a.ints)]
    return bool(found) and drop(n, e.random.choice(found))


@fault("scan axis", "Scan")
def _(e, g, n):
    found = [a.name for a in n.attribute if a.name.endswith("_axes") and any(a.ints)]
    if found:
        return drop(n, e.random.choice(found))
    scanned = n.input[-1]
    if len(e.shape(scanned) or ()) != 2:
        return False
    put(n, "scan_input_axes", [1] * integer(n, "num_scan_inputs", 1))


# branches --------------------------------------------------------------------------------------------


@fault("branches swapped", "If")
def _(e, g, n):
    for one in n.attribute:
        one.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[one.name]


@fault("branch lost", "If")
def _(e, g, n):
    """One side only."""
    n.input[0] = e.constant(g, n, e.random.random() < 0.5, BOOL)


@fault("branch of the pass before", "If")
def _(e, g, n):
    """A result of one branch replaced by one of another of its values of the same type."""
    graph = e.random.choice([a.g for a in n.attribute])
    made = [o for node in graph.node for o in node.output]
    found = [
        (k, name)
        for k, value in enumerate(graph.output)
        for name in made
        if name != value.name and e.types.get(name) is not None and e.types.get(name) == e.types.get(value.name)
    ]
    found = [(k, name) for k, name in found if name not in {value.name for value in graph.output}]
    if not found:
        return False
    k, name = e.random.choice(found)
    graph.output[k].name = name


# the model's border ----------------------------------------------------------------------------------


@fault("outputs in another order")
def _(e, g, n):
    found = _pairs(e, [value.name for value in g.output])
    if not found:
        return False
    a, b = e.random.choice(found)
    first = copy.deepcopy(g.output[a])
    g.output[a].CopyFrom(g.output[b])
    g.output[b].CopyFrom(first)


@fault("output values swapped")
def _(e, g, n):
    """The names stay in order, what they stand for is swapped."""
    found = _pairs(e, [value.name for value in g.output])
    if not found:
        return False
    a, b = (g.output[k].name for k in e.random.choice(found))
    swapped = {a: b, b: a}
    read = {x for one in graphs(g) for node in one.node for x in node.input}
    if a in read or b in read or a in {v.name for v in g.input} or b in {v.name for v in g.input}:
        return False
    for node in g.node:
        for k, name in enumerate(node.output):
            node.output[k] = swapped.get(name, name)


@fault("output missing")
def _(e, g, n):
    if len(g.output) < 2:
        return False
    del g.output[e.random.randrange(len(g.output))]


@fault("output additional")
def _(e, g, n):
    given = {value.name for value in g.output}
    found = [o for node in g.node for o in node.output if o in e.types and o not in given]
    if not found:
        return False
    name = e.random.choice(found)
    g.output.append(helper.make_tensor_value_info(name, e.type(name), e.shape(name)))


@fault("open size declared fixed")
def _(e, g, n):
    found = [d for value in g.input for d in value.type.tensor_type.shape.dim if d.dim_param]
    if not found:
        return False
    name = e.random.choice(found).dim_param
    for dim in found:
        if dim.dim_param == name:
            dim.dim_value = 3


@fault("element type of an output")
def _(e, g, n):
    found = [value for value in g.output if value.type.tensor_type.elem_type in (1, INT64)]
    if not found:
        return False
    value = e.random.choice(found)
    other = {1: TensorProto.DOUBLE, INT64: TensorProto.INT32}[value.type.tensor_type.elem_type]
    read = {x for one in graphs(g) for node in one.node for x in node.input}
    if value.name in read:
        return False
    for node in g.node:
        if value.name in node.output:
            e.after(g, node, list(node.output).index(value.name), helper.make_node("Cast", ["*"], [""], to=other))
            value.type.tensor_type.elem_type = other
            return True
    return False


@fault("shape of an output")
def _(e, g, n):
    """A size of 1 too many: a reduction that keeps, a squeeze forgotten."""
    read = {x for one in graphs(g) for node in one.node for x in node.input}
    found = [value for value in g.output if value.type.HasField("tensor_type") and value.name not in read]
    e.random.shuffle(found)
    for value in found:
        for node in g.node:
            if value.name in node.output:
                axes = [e.constant(g, node, [0], INT64)] if e.opset >= 13 else []
                extra: dict[str, Any] = {} if axes else {"axes": [0]}
                k = list(node.output).index(value.name)
                e.after(g, node, k, helper.make_node("Unsqueeze", ["*", *axes], [""], **extra))
                value.type.tensor_type.ClearField("shape")
                return True
    return False


@fault("default of an optional input")
def _(e, g, n):
    found = [t for t in g.initializer if t.name in {value.name for value in g.input}]
    if not found:
        return False
    tensor = e.random.choice(found)
    array = np.array(e.tensors[tensor.name])
    if array.dtype.kind not in "fiu":
        return False
    tensor.CopyFrom(numpy_helper.from_array((array + 1).astype(array.dtype), tensor.name))


@fault("integers through 32 bits", "Loop", "Mod", "Div", "Mul", "Add", "Cast")
def _(e, g, n):
    if e.type(n.output[0]) != INT64:
        return False
    narrow, wide = (helper.make_node("Cast", ["*"], [""], to=to) for to in (TensorProto.INT32, INT64))
    e.after(g, n, 0, narrow, wide)
