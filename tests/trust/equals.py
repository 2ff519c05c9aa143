"""Other ways to write a model that mean the same: a table of rewrites that are right to the bit, or up to rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from .faults import At, Editor, attribute, body, graphs, integer, put

INT64, FLOAT, BOOL, DOUBLE = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL, TensorProto.DOUBLE


@dataclass(frozen=True, slots=True)
class Same:
    """A rewrite: at one place, or at every place of its operators; `rounding`: right up to rounding only."""

    name: str
    ops: tuple[str, ...]
    make: At
    everywhere: bool
    rounding: bool


SAME: dict[str, Same] = {}


def same(name: str, *ops: str, everywhere: bool = True, rounding: bool = False) -> Callable[[At], At]:
    """Put a function into the table; it is as those of `faults`."""

    def enter(make: At) -> At:
        assert name not in SAME, name
        SAME[name] = Same(name, ops, make, everywhere, rounding)
        return make

    return enter


def rewrite(model: onnx.ModelProto, kind: Same, seed: str) -> onnx.ModelProto | None:
    """The model written in another way; None if there is nothing to rewrite."""
    editor = Editor(model, f"{kind.name} {seed}")
    places = editor.sites(kind.ops) if kind.ops else [(editor.model.graph, NodeProto())]
    done = False
    for graph, node in places:
        if kind.make(editor, graph, node) is not False:
            done = True
            if not kind.everywhere:
                break
    return editor.model if done else None


# the whole -------------------------------------------------------------------------------------------


@same("values renamed")
def _(e, g, n):
    fixed = {value.name for value in [*g.input, *g.output]}
    names: dict[str, str] = {"": ""}
    numbers = list(range(10000))
    e.random.shuffle(numbers)

    def new(name: str) -> str:
        if name not in names:
            names[name] = name if name in fixed else f"v{numbers[len(names)]}"
        return names[name]

    for graph in graphs(g):
        for value in [*graph.input, *graph.output]:
            value.name = new(value.name)
        for tensor in graph.initializer:
            tensor.name = new(tensor.name)
        del graph.value_info[:]
        for node in graph.node:
            node.input[:] = [new(name) for name in node.input]
            node.output[:] = [new(name) for name in node.output]


@same("nodes in another order")
def _(e, g, n):
    for graph in graphs(g):
        _shuffle(e, graph)


def _shuffle(e: Editor, graph: GraphProto) -> None:
    left = [NodeProto.FromString(node.SerializeToString()) for node in graph.node]
    waiting = {name for node in left for name in node.output}
    made: list[NodeProto] = []
    while left:
        ready = [node for node in left if not (_needs(node) & waiting)]
        node = e.random.choice(ready)
        left.remove(node)
        waiting -= set(node.output)
        made.append(node)
    del graph.node[:]
    graph.node.extend(made)


def _needs(node: NodeProto) -> set[str]:
    found = set(node.input) - {""}
    for one in node.attribute:
        if one.HasField("g"):
            found |= {x for inner in one.g.node for x in _needs(inner)} | {value.name for value in one.g.output}
    return found


@same("constants as initializers", "Constant")
def _(e, g, n):
    tensor = n.attribute[0].t
    if g.name != "g" or not n.attribute[0].HasField("t"):
        return False
    made = g.initializer.add()
    made.CopyFrom(tensor)
    made.name = n.output[0]
    g.node.remove(n)


@same("declared shapes of branches left out", "If")
def _(e, g, n):
    """Of branches only: the shape of a stack of no element is what a body declares."""
    for one in n.attribute:
        for value in one.g.output:
            value.type.tensor_type.ClearField("shape")


@same("a node that nobody reads")
def _(e, g, n):
    for value in g.input:
        if value.type.tensor_type.elem_type == FLOAT:
            e.op(g, None, "Neg", value.name)
            return True
    return False


_MANY = [
    "Add",
    "Sub",
    "Mul",
    "Tanh",
    "Loop",
    "If",
    "Scan",
    "Where",
    "Cast",
    "Div",
    "Gather",
    "Concat",
    "MatMul",
    "Relu",
    "Sigmoid",
    "Softmax",
]


@same("Identity put in", *_MANY)
def _(e, g, n):
    k = e.random.randrange(len(n.output))
    if not n.output[k] or e.random.random() < 0.5:
        return False
    e.after(g, n, k, helper.make_node("Identity", ["*"], [""]))


# operators -------------------------------------------------------------------------------------------


@same("operands commuted", "Add", "Mul", "And", "Or", "Xor", "Equal")
def _(e, g, n):
    n.input[0], n.input[1] = n.input[1], n.input[0]


@same("less for greater", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def _(e, g, n):
    n.op_type = {"L": "Greater", "G": "Less"}[n.op_type[0]] + n.op_type.removeprefix("Less").removeprefix("Greater")
    n.input[0], n.input[1] = n.input[1], n.input[0]


@same("a difference as a sum", "Sub")
def _(e, g, n):
    if e.type(n.input[1]) not in (FLOAT, INT64):
        return False
    n.op_type = "Add"
    n.input[1] = e.op(g, n, "Neg", n.input[1])


@same("negation as a product", "Neg")
def _(e, g, n):
    if e.type(n.input[0]) not in (FLOAT, INT64):
        return False
    n.op_type = "Mul"
    n.input.append(e.constant(g, n, -1, e.type(n.input[0])))


@same("choice the other way round", "Where")
def _(e, g, n):
    n.input[0] = e.op(g, n, "Not", n.input[0])
    n.input[1], n.input[2] = n.input[2], n.input[1]


@same("twice transposed", "Add", "Mul", "MatMul", "Tanh", "Softmax")
def _(e, g, n):
    rank = len(e.shape(n.output[0]) or ())
    if rank != 2 or e.type(n.output[0]) != FLOAT:
        return False
    turn = (helper.make_node("Transpose", ["*"], [""], perm=[1, 0]) for _ in range(2))
    e.after(g, n, 0, *turn)


@same("through float64", "Add", "Mul", "Tanh", "Sub")
def _(e, g, n):
    if e.type(n.output[0]) != FLOAT:
        return False
    e.after(g, n, 0, *(helper.make_node("Cast", ["*"], [""], to=to) for to in (DOUBLE, FLOAT)))


@same("a flat shape and back", "Add", "Mul", "Tanh", "Sub", "Where", everywhere=False)
def _(e, g, n):
    if e.type(n.output[0]) != FLOAT or not e.shape(n.output[0]) or e.opset < 14:
        return False  # without allowzero, a size of 0 would be taken from what stands in its place
    name, fresh = n.output[0], e.fresh()
    n.output[0] = fresh
    shape = helper.make_node("Shape", [fresh], [e.fresh()])
    extended = helper.make_node("Unsqueeze", [fresh], [e.fresh()])
    extended.input.append(e.constant(g, n, [0], INT64))
    back = helper.make_node("Reshape", [extended.output[0], shape.output[0]], [name], allowzero=1)
    place = next(k for k, node in enumerate(g.node) if list(node.output) == list(n.output))
    for node in (back, extended, shape):
        g.node.insert(place + 1, node)


@same("sigmoid by hand", "Sigmoid", rounding=True)
def _(e, g, n):
    if e.type(n.input[0]) != FLOAT:
        return False
    one = e.constant(g, n, 1.0, FLOAT)
    low = e.op(g, n, "Exp", e.op(g, n, "Neg", n.input[0]))
    n.op_type = "Div"
    n.input[:] = [one, e.op(g, n, "Add", one, low)]


@same("softmax by hand", "Softmax", rounding=True)
def _(e, g, n):
    rank = len(e.shape(n.input[0]) or ())
    if e.type(n.input[0]) != FLOAT or not rank or e.opset < 18:
        return False
    axis = e.constant(g, n, [integer(n, "axis", -1)], INT64)
    top = e.op(g, n, "ReduceMax", n.input[0], axis)
    high = e.op(g, n, "Exp", e.op(g, n, "Sub", n.input[0], top))
    n.op_type = "Div"
    del n.attribute[:]
    n.input[:] = [high, e.op(g, n, "ReduceSum", high, axis)]


@same("a quotient as a product", "Div", rounding=True)
def _(e, g, n):
    if e.type(n.output[0]) != FLOAT:
        return False
    n.op_type = "Mul"
    n.input[1] = e.op(g, n, "Reciprocal", n.input[1])


@same("a product of the transposed", "MatMul", rounding=True)
def _(e, g, n):
    if len(e.shape(n.input[0]) or ()) != 2 or len(e.shape(n.input[1]) or ()) != 2:
        return False
    a, b = (e.op(g, n, "Transpose", name, perm=[1, 0]) for name in n.input)
    n.input[:] = [b, a]
    e.after(g, n, 0, helper.make_node("Transpose", ["*"], [""], perm=[1, 0]))


@same("a sum in another order", "ReduceSum", "ReduceMean", rounding=True)
def _(e, g, n):
    """The elements turned about before they are added."""
    shape = e.shape(n.input[0])
    if not shape or e.type(n.input[0]) != FLOAT:
        return False
    numbers = [e.constant(g, n, [x], INT64) for x in (-1, -(2**63), 0, -1)]
    axes = attribute(n, "axes")
    kept = len(n.input) > 1 or (axes is not None and 0 not in [x % len(shape) for x in axes.ints])
    if kept and not (len(n.input) > 1 and n.input[1] in e.tensors and 0 in e.tensors[n.input[1]] % len(shape)):
        return False
    n.input[0] = e.op(g, n, "Slice", n.input[0], *numbers)


@same("a known index from the other end", "Gather")
def _(e, g, n):
    shape, axis = e.shape(n.input[0]), integer(n, "axis", 0)
    size = shape[axis] if shape else None
    if n.input[1] not in e.tensors or not isinstance(size, int):
        return False
    ids = e.tensors[n.input[1]]
    n.input[1] = e.constant(g, n, np.where(ids < 0, ids + size, ids - size), e.type(n.input[1]))


# control flow ----------------------------------------------------------------------------------------


@same("branches swapped and the condition turned", "If")
def _(e, g, n):
    n.input[0] = e.op(g, n, "Not", n.input[0])
    for one in n.attribute:
        one.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[one.name]


@same("a negative trip count as 0", "Loop")
def _(e, g, n):
    if not n.input[0] or e.opset < 12:
        return False
    n.input[0] = e.op(g, n, "Max", n.input[0], e.constant(g, n, 0, INT64))


@same("an iteration counted by hand", "Loop")
def _(e, g, n):
    """A state of its own in place of the iteration number."""
    inner = body(n)
    name = inner.input[0].name
    inner.input[0].name = e.fresh()
    states = len(n.input) - 2
    n.input.append(e.constant(g, n, 0, INT64))
    inner.input.append(helper.make_tensor_value_info(name, INT64, []))
    one = e.constant(inner, None, 1, INT64)
    after = e.op(inner, None, "Add", name, one)
    inner.output.insert(states + 1, helper.make_tensor_value_info(after, INT64, []))
    n.output.insert(states, e.fresh())


@same("the trip count in the condition", "Loop", everywhere=False)
def _(e, g, n):
    """Loop(M, c) as Loop("", c and i + 1 < M)."""
    if not n.input[0]:
        return False
    inner, trips = body(n), n.input[0]
    if any(trips in node.output for node in inner.node):
        return False
    start = e.op(g, n, "Less", e.constant(g, n, 0, INT64), trips)
    if len(n.input) > 1 and n.input[1]:
        start = e.op(g, n, "And", start, n.input[1])
        result = inner.output[0].name
    else:
        result = inner.output[0].name
    after = e.op(inner, None, "Add", inner.input[0].name, e.constant(inner, None, 1, INT64))
    inner.output[0].name = e.op(inner, None, "And", result, e.op(inner, None, "Less", after, trips))
    while len(n.input) < 2:
        n.input.append("")
    n.input[0], n.input[1] = "", start


@same("an additional state", "Loop")
def _(e, g, n):
    inner = body(n)
    name = e.fresh()
    states = len(n.input) - 2
    n.input.append(e.constant(g, n, 1.5, FLOAT))
    inner.input.append(helper.make_tensor_value_info(name, FLOAT, []))
    after = e.op(inner, None, "Mul", name, name)
    inner.output.insert(states + 1, helper.make_tensor_value_info(after, FLOAT, []))
    n.output.insert(states, e.fresh())


@same("a capture handed in as a state", "Loop", everywhere=False)
def _(e, g, n):
    inner = body(n)
    outside = {v.name for v in g.input} | {o for node in g.node for o in node.output}
    found = [x for node in inner.node for x in node.input if x in outside and e.type(x) in (FLOAT, INT64)]
    if not found:
        return False
    name, mine = e.random.choice(found), e.fresh()
    for graph in graphs(inner):
        for node in graph.node:
            node.input[:] = [mine if x == name else x for x in node.input]
        for value in graph.output:
            value.name = mine if value.name == name else value.name
    states = len(n.input) - 2
    n.input.append(name)
    inner.input.append(helper.make_tensor_value_info(mine, e.type(name), e.shape(name)))
    handed = e.op(inner, None, "Identity", mine)
    inner.output.insert(states + 1, helper.make_tensor_value_info(handed, e.type(name), e.shape(name)))
    n.output.insert(states, e.fresh())


@same("a scan of the reversed", "Scan", everywhere=False)
def _(e, g, n):
    """A sequence turned about, and scanned from its other end."""
    count = integer(n, "num_scan_inputs", 1)
    k = e.random.randrange(count)
    axes = list(found.ints) if (found := attribute(n, "scan_input_axes")) else [0] * count
    ways = list(found.ints) if (found := attribute(n, "scan_input_directions")) else [0] * count
    numbers = [e.constant(g, n, [x], INT64) for x in (-1, -(2**63), axes[k], -1)]
    place = len(n.input) - count + k
    n.input[place] = e.op(g, n, "Slice", n.input[place], *numbers)
    ways[k] ^= 1
    put(n, "scan_input_directions", ways)


@same("a stack turned about twice", "Scan", everywhere=False)
def _(e, g, n):
    states = len(n.input) - integer(n, "num_scan_inputs", 1)
    count = len(n.output) - states
    k = e.random.randrange(count)
    axes = list(found.ints) if (found := attribute(n, "scan_output_axes")) else [0] * count
    ways = list(found.ints) if (found := attribute(n, "scan_output_directions")) else [0] * count
    if not n.output[states + k]:
        return False
    ways[k] ^= 1
    put(n, "scan_output_directions", ways)
    numbers = [e.constant(g, n, [x], INT64) for x in (-1, -(2**63), axes[k], -1)]
    e.after(g, n, states + k, helper.make_node("Slice", ["*", *numbers], [""]))


@same("a scan along the other axis", "Scan", everywhere=False)
def _(e, g, n):
    """What is scanned transposed, and scanned along the axis where it then stands."""
    count = integer(n, "num_scan_inputs", 1)
    axes = list(found.ints) if (found := attribute(n, "scan_input_axes")) else [0] * count
    k = e.random.randrange(count)
    place = len(n.input) - count + k
    if len(e.shape(n.input[place]) or ()) != 2:
        return False
    n.input[place] = e.op(g, n, "Transpose", n.input[place], perm=[1, 0])
    axes[k] = 1 - axes[k] % 2
    put(n, "scan_input_axes", axes)


@same("a scan as a loop", "Scan", everywhere=False)
def _(e, g, n):
    """Elements taken by the iteration number; where all directions are forward and all axes the first."""
    if any(any(a.ints) for a in n.attribute if a.name.startswith("scan_")) or e.opset < 13:
        return False
    inner, count = body(n), integer(n, "num_scan_inputs", 1)
    sequences = list(n.input)[len(n.input) - count :]
    states = list(n.input)[: len(n.input) - count]
    elements = list(inner.input)[len(states) :]
    i, c = e.fresh(), e.fresh()
    first = inner.node[0] if inner.node else None
    for sequence, element in zip(sequences, elements, strict=True):
        made = e.op(inner, first, "Gather", sequence, i, axis=0)
        e.op(inner, first, "Identity", made)
        place = next(k for k, node in enumerate(inner.node) if node.input[:] == [made])
        inner.node[place].output[0] = element.name
    kept = [helper.make_tensor_value_info(i, INT64, []), helper.make_tensor_value_info(c, BOOL, [])]
    kept += list(inner.input)[: len(states)]
    going = e.op(inner, None, "Identity", c)
    outputs = [helper.make_tensor_value_info(going, BOOL, []), *inner.output]
    fresh = helper.make_graph(list(inner.node), inner.name, kept, outputs, initializer=list(inner.initializer))
    size = e.op(g, n, "Shape", sequences[0])
    trips = e.op(g, n, "Gather", size, e.constant(g, n, 0, INT64), axis=0)
    true = e.constant(g, n, True, BOOL)
    n.op_type = "Loop"
    del n.attribute[:]
    n.attribute.append(helper.make_attribute("body", fresh))
    n.input[:] = [trips, true, *states]


@same("constants of a body moved out", "Loop", "Scan", "If")
def _(e, g, n):
    done = False
    for one in n.attribute:
        if one.HasField("g"):
            results = {value.name for value in one.g.output}
            for node in list(one.g.node):
                if node.op_type == "Constant" and node.output[0] not in results:
                    moved = NodeProto.FromString(node.SerializeToString())
                    one.g.node.remove(node)
                    e._insert(g, moved, n, 0)
                    done = True
    return done


@same("a constant computed", "Constant", everywhere=False)
def _(e, g, n):
    """Folding the other way: the constant as the sum of itself and zero."""
    tensor = n.attribute[0].t
    if not n.attribute[0].HasField("t") or tensor.data_type not in (FLOAT, INT64):
        return False
    array = numpy_helper.to_array(tensor)
    if array.dtype.kind == "i" and array.size and abs(array.astype(float)).max() > 2**62:
        return False
    zero = e.constant(g, n, np.zeros_like(array), tensor.data_type)
    e.after(g, n, 0, helper.make_node("Add", ["*", zero], [""]))
