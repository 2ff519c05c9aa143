"""Faults in operators: constants, attributes, integer operands, rounding and special values."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from .faults import FLOATS, INTEGERS, Editor, attribute, drop, fault, integer, put

INT64, FLOAT, BOOL = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL

# constants -------------------------------------------------------------------------------------------


def _constant(e: Editor, types: tuple[int, ...], change, wanted=lambda array: True) -> bool:
    """Change one constant that is an operand."""
    names = [x for x, array in e.tensors.items() if e.type(x) in types and array.size and wanted(array)]
    e.random.shuffle(names)
    return any(e.change_constant(name, change) for name in names)


def _scaled(factor: float):
    return lambda array: (array.astype(np.float64) * factor).astype(array.dtype)


@fault("constant x (1 + 1e-3)")
def _(e, g, n):
    return _constant(e, (FLOAT, TensorProto.DOUBLE), _scaled(1.001))


@fault("constant x (1 + 1e-5)", apart=True)
def _(e, g, n):
    return _constant(e, (FLOAT, TensorProto.DOUBLE), _scaled(1.00001))


@fault("constant 1 ULP off", apart=True)
def _(e, g, n):
    return _constant(e, (FLOAT,), lambda a: np.nextafter(a, np.float32(np.inf)))


@fault("float16 constant 1 % off")
def _(e, g, n):
    return _constant(e, (TensorProto.FLOAT16,), _scaled(1.01))


@fault("integer constant + 1")
def _(e, g, n):
    return _constant(e, (INT64,), lambda a: a + 1, lambda a: a.max() < 2**62)


@fault("integer constant - 1")
def _(e, g, n):
    return _constant(e, (INT64,), lambda a: a - 1, lambda a: a.min() > -(2**62))


def _one(array, number):
    made = array.copy()
    made.reshape(-1)[-1] = number
    return made


@fault("one element of a constant")
def _(e, g, n):
    return _constant(e, FLOATS, lambda a: _one(a, a.reshape(-1)[0]), lambda a: a.size > 1)


@fault("constant transposed")
def _(e, g, n):
    def turned(a):
        return a.T if a.shape == a.T.shape else a.reshape(a.shape[::-1]).T.reshape(a.shape)

    return _constant(e, FLOATS, turned, lambda a: a.ndim > 1)


@fault("sign of a constant")
def _(e, g, n):
    return _constant(e, FLOATS, lambda a: -a)


@fault("epsilon dropped")
def _(e, g, n):
    return _constant(e, FLOATS, lambda a: a * 0, lambda a: a.size == 1 and 0 < abs(float(a.reshape(-1)[0])) <= 2e-2)


@fault("epsilon another", "LayerNormalization", "BatchNormalization", "InstanceNormalization")
def _(e, g, n):
    put(n, "epsilon", 1e-3 if (f := attribute(n, "epsilon")) is None or f.f < 5e-4 else 1e-5)


# attributes ------------------------------------------------------------------------------------------

_FLAGS = {
    "exclusive": 0,
    "reverse": 0,
    "upper": 1,
    "largest": 1,
    "select_last_index": 0,
    "fmod": 0,
    "new_axis": 0,
    "transA": 0,
    "transB": 0,
    "is_case_sensitive": 0,
}
_OWNERS = ("CumSum", "Trilu", "TopK", "ArgMax", "ArgMin", "ConcatFromSequence", "Gemm", "StringNormalizer")


@fault("flag turned", *_OWNERS)
def _(e, g, n):
    known = {"CumSum": ["exclusive", "reverse"], "Trilu": ["upper"], "TopK": ["largest"], "Gemm": ["transA", "transB"]}
    names = known.get(n.op_type) or [a.name for a in n.attribute if a.name in _FLAGS]
    if n.op_type.startswith("Arg") and e.opset >= 12:
        names = ["select_last_index"]
    if not names:
        return False
    name = e.random.choice(names)
    put(n, name, 1 - integer(n, name, _FLAGS[name]))


_REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2")
_KEPT = ("body", "then_branch", "else_branch", "to", "num_scan_inputs", "hidden_size", "value", "dtype")
_WITH_DEFAULTS = [
    "CumSum",
    "TopK",
    "Softmax",
    "Pad",
    "LeakyRelu",
    "Elu",
    "Selu",
    "ThresholdedRelu",
    "HardSigmoid",
    "Gather",
    "ArgMax",
    "ArgMin",
    "Trilu",
    "OneHot",
    "Mod",
    "RNN",
    "GRU",
    "LSTM",
    "Scan",
    "EyeLike",
    "GatherElements",
    "ScatterElements",
    "ScatterND",
    "Flatten",
    "Concat",
    "ReverseSequence",
    "SplitToSequence",
    "ConcatFromSequence",
    "StringNormalizer",
]


@fault("attribute left to its default", *_WITH_DEFAULTS, *_REDUCTIONS)
def _(e, g, n):
    found = [a.name for a in n.attribute if a.name not in _KEPT and not (n.op_type == "Concat" and a.name == "axis")]
    return bool(found) and drop(n, e.random.choice(found))


@fault("float attribute x 1.1", "Elu", "LeakyRelu", "ThresholdedRelu", "Selu", "HardSigmoid", "Gemm", "LRN")
def _(e, g, n):
    found = [a for a in n.attribute if a.type == a.FLOAT]
    if not found:
        return False
    e.random.choice(found).f *= 1.1


_AXIS = [
    "Softmax",
    "LogSoftmax",
    "Hardmax",
    "Concat",
    "Gather",
    "GatherElements",
    "ScatterElements",
    "Split",
    "ArgMax",
    "ArgMin",
    "TopK",
    "OneHot",
    "Compress",
    "Unique",
    "Flatten",
    "ConcatFromSequence",
    "SplitToSequence",
    "LayerNormalization",
]


@fault("axis", *_AXIS)
def _(e, g, n):
    rank = len(e.shape(n.input[0]) or ()) or 2
    old = integer(n, "axis", 0)
    others = [x for x in range(rank) if x != old % rank]
    if not others:
        return False
    put(n, "axis", e.random.choice(others))


@fault("axes of a reduction", *_REDUCTIONS)
def _(e, g, n):
    rank = len(e.shape(n.input[0]) or ())
    found = attribute(n, "axes")
    if rank < 2:
        return False
    if found is not None:
        put(n, "axes", [(x + 1) % rank for x in found.ints])
        return True
    if len(n.input) < 2 or n.input[1] not in e.tensors:
        return False
    n.input[1] = e.constant(g, n, [(int(x) + 1) % rank for x in e.tensors[n.input[1]].reshape(-1)], INT64)


@fault("permutation", "Transpose")
def _(e, g, n):
    found = attribute(n, "perm")
    if found is None or len(found.ints) < 2:
        return False
    put(n, "perm", [*found.ints[1:], found.ints[0]])


@fault("time and batch axes", "ReverseSequence")
def _(e, g, n):
    a, b = integer(n, "batch_axis", 1), integer(n, "time_axis", 0)
    put(n, "batch_axis", b)
    put(n, "time_axis", a)


@fault("direction of a recurrence", "RNN", "GRU", "LSTM")
def _(e, g, n):
    found = attribute(n, "direction")
    way = found.s.decode() if found is not None else "forward"
    if way == "bidirectional":
        return False
    put(n, "direction", "reverse" if way == "forward" else "forward")


@fault("initial state of a recurrence dropped", "RNN", "GRU", "LSTM")
def _(e, g, n):
    if len(n.input) < 6 or not n.input[5]:
        return False
    n.input[5] = ""


@fault("bias of a recurrence dropped", "RNN", "GRU", "LSTM")
def _(e, g, n):
    if len(n.input) < 4 or not n.input[3]:
        return False
    n.input[3] = ""


@fault("keepdims", *_REDUCTIONS, "ArgMax", "ArgMin", "SplitToSequence")
def _(e, g, n):
    put(n, "keepdims", 1 - integer(n, "keepdims", 1))


# comparisons and choices -----------------------------------------------------------------------------

_LOOSE = {"Less": "LessOrEqual", "Greater": "GreaterOrEqual", "LessOrEqual": "Less", "GreaterOrEqual": "Greater"}


@fault("strict for non-strict", *_LOOSE)
def _(e, g, n):
    if e.opset >= 12:
        n.op_type = _LOOSE[n.op_type]
        return
    n.op_type = {"Less": "Greater", "Greater": "Less"}[n.op_type]
    e.after(g, n, 0, helper.make_node("Not", ["*"], [""]))


@fault("comparison turned", *_LOOSE)
def _(e, g, n):
    n.input[0], n.input[1] = n.input[1], n.input[0]


@fault("and for or", "And", "Or", "Xor")
def _(e, g, n):
    n.op_type = e.random.choice([op for op in ("And", "Or", "Xor") if op != n.op_type])


@fault("choices swapped", "Where")
def _(e, g, n):
    if e.types.get(n.input[1]) != e.types.get(n.input[2]):
        return False
    n.input[1], n.input[2] = n.input[2], n.input[1]


@fault("not dropped", "Not")
def _(e, g, n):
    n.op_type = "Identity"


# arithmetic ------------------------------------------------------------------------------------------


@fault("operands swapped", "Sub", "Div", "Mod", "MatMul", "Pow", "Concat", "StringConcat", "BitShift")
def _(e, g, n):
    if len(n.input) < 2 or n.input[0] == n.input[1] or e.type(n.input[0]) != e.type(n.input[1]):
        return False
    n.input[0], n.input[1] = n.input[1], n.input[0]


_SIMILAR = {
    "Max": "Min",
    "Min": "Max",
    "ReduceMean": "ReduceSum",
    "ReduceSum": "ReduceMean",
    "ReduceMax": "ReduceMin",
    "ReduceL2": "ReduceL1",
    "ReduceProd": "ReduceSum",
    "Floor": "Round",
    "Ceil": "Floor",
    "Sigmoid": "HardSigmoid",
    "Tanh": "Softsign",
    "ArgMax": "ArgMin",
    "Softplus": "Relu",
    "Add": "Sub",
}


@fault("a similar operator", *_SIMILAR)
def _(e, g, n):
    new = _SIMILAR[n.op_type]
    if (new == "ReduceSum" and e.opset >= 13) != (n.op_type == "ReduceSum" and e.opset >= 13) and e.opset < 18:
        return False
    n.op_type = new


@fault("integer division rounds down", "Div")
def _(e, g, n):
    if e.type(n.output[0]) != INT64:
        return False
    a, b = n.input[0], n.input[1]
    rest = e.op(g, n, "Mod", a, b)
    n.op_type = "Div"
    n.input[0] = e.op(g, n, "Sub", a, rest)


@fault("sign of a remainder", "Mod")
def _(e, g, n):
    if e.type(n.output[0]) not in INTEGERS:
        return False
    put(n, "fmod", 1 - integer(n, "fmod", 0))


@fault("division by 2^k as a shift of the magnitude", "Div")
def _(e, g, n):
    if e.type(n.output[0]) not in INTEGERS:
        return False
    n.input[0] = e.op(g, n, "Abs", n.input[0])


@fault("ties rounded up", "Round")
def _(e, g, n):
    half = e.constant(g, n, 0.5, FLOAT)
    if e.type(n.input[0]) != FLOAT:
        return False
    n.op_type = "Floor"
    n.input[0] = e.op(g, n, "Add", n.input[0], half)


@fault("a cast that rounds", "Cast")
def _(e, g, n):
    if e.type(n.input[0]) != FLOAT or integer(n, "to", 0) not in INTEGERS:
        return False
    n.input[0] = e.op(g, n, "Round", n.input[0])


@fault("a cast to bool by sign", "Cast")
def _(e, g, n):
    if integer(n, "to", 0) != BOOL or e.type(n.input[0]) not in (FLOAT, INT64):
        return False
    n.input[0] = e.op(g, n, "Cast", n.input[0], to=FLOAT)
    n.input[0] = e.op(g, n, "Relu", n.input[0])


@fault("doubles through float32", "Add", "Sub", "Mul", "Cast")
def _(e, g, n):
    if e.type(n.output[0]) != TensorProto.DOUBLE:
        return False
    e.after(g, n, 0, *(helper.make_node("Cast", ["*"], [""], to=to) for to in (FLOAT, TensorProto.DOUBLE)))


@fault("floats through float16", "Add", "Sub", "Mul", "Tanh", "Div", "MatMul")
def _(e, g, n):
    if e.type(n.output[0]) != FLOAT:
        return False
    e.after(g, n, 0, *(helper.make_node("Cast", ["*"], [""], to=to) for to in (TensorProto.FLOAT16, FLOAT)))


@fault("int8 saturates", "Cast")
def _(e, g, n):
    if e.type(n.input[0]) != FLOAT or integer(n, "to", 0) not in (TensorProto.INT8, TensorProto.UINT8):
        return False
    low, high = (e.constant(g, n, x, FLOAT) for x in (-100.0, 100.0))
    n.input[0] = e.op(g, n, "Clip", n.input[0], low, high)


# special values --------------------------------------------------------------------------------------


@fault("NaN lost in a maximum", "Max", "Min")
def _(e, g, n):
    """As a comparison and a choice, where one of the two may be NaN."""
    if len(n.input) != 2 or e.type(n.output[0]) != FLOAT:
        return False
    compare = e.op(g, n, "Greater" if n.op_type == "Max" else "Less", *n.input)
    a, b = n.input
    n.op_type = "Where"
    n.input[:] = [compare, a, b]


@fault("NaN lost in Relu", "Relu")
def _(e, g, n):
    zero = e.constant(g, n, 0.0, FLOAT)
    x = n.input[0]
    n.op_type = "Where"
    n.input[:] = [e.op(g, n, "Greater", x, zero), x, zero]


@fault("NaN made 0", "Add", "Mul", "Div", "Sqrt", "Exp", "Sin")
def _(e, g, n):
    if e.type(n.output[0]) != FLOAT:
        return False
    name, fresh = n.output[0], e.fresh()
    n.output[0] = fresh
    nan = helper.make_node("IsNaN", [fresh], [e.fresh()])
    zero = e.constant(g, n, 0.0, FLOAT)
    where = helper.make_node("Where", [nan.output[0], zero, fresh], [name])
    place = next(k for k, node in enumerate(g.node) if list(node.output) == list(n.output))
    g.node.insert(place + 1, where)
    g.node.insert(place + 1, nan)


@fault("infinity clipped", "Exp", "Mul", "Div", "Add")
def _(e, g, n):
    if e.type(n.output[0]) != FLOAT:
        return False
    low, high = (e.constant(g, n, x, FLOAT) for x in (-65504.0, 65504.0))
    e.after(g, n, 0, helper.make_node("Clip", ["*", low, high], [""]))


@fault("a maximum that starts at 0", "ReduceMax")
def _(e, g, n):
    if e.type(n.output[0]) != FLOAT:
        return False
    e.after(g, n, 0, helper.make_node("Relu", ["*"], [""]))


@fault("clip bound dropped", "Clip")
def _(e, g, n):
    places = [k for k in (1, 2) if len(n.input) > k and n.input[k]]
    if not places:
        return False
    n.input[e.random.choice(places)] = ""


@fault("exp by a bounded argument", "Exp", "Tanh", "Sigmoid", "Softplus", "Sin")
def _(e, g, n):
    if e.type(n.input[0]) != FLOAT:
        return False
    low, high = (e.constant(g, n, x, FLOAT) for x in (-5.0, 5.0))
    n.input[0] = e.op(g, n, "Clip", n.input[0], low, high)


# integer operands ------------------------------------------------------------------------------------


def _operand(e: Editor, g: GraphProto, n: NodeProto, k: int, op: str, number: int) -> bool:
    """One operand changed by a number."""
    if len(n.input) <= k or not n.input[k] or e.type(n.input[k]) not in INTEGERS:
        return False
    n.input[k] = e.op(g, n, op, n.input[k], e.constant(g, n, number, e.type(n.input[k])))
    return True


@fault("slice start off by one", "Slice")
def _(e, g, n):
    return _operand(e, g, n, 1, "Add", e.random.choice((1, -1)))


@fault("slice end off by one", "Slice")
def _(e, g, n):
    return _operand(e, g, n, 2, e.random.choice(("Add", "Sub")), 1)


@fault("slice bounds not below 0", "Slice")
def _(e, g, n):
    """Negative positions taken for 0."""
    return e.opset >= 12 and _operand(e, g, n, e.random.choice((1, 2)), "Max", 0)


@fault("slice step dropped", "Slice")
def _(e, g, n):
    if len(n.input) < 5:
        return False
    n.input[4] = e.constant(g, n, [1], INT64)


@fault("slice axes", "Slice")
def _(e, g, n):
    rank = len(e.shape(n.input[0]) or ())
    if rank < 2 or len(n.input) < 4 or n.input[3] not in e.tensors:
        return False
    n.input[3] = e.constant(g, n, [(int(x) + 1) % rank for x in e.tensors[n.input[3]].reshape(-1)], INT64)


@fault("negative indices taken for 0", "Gather", "GatherElements", "ScatterElements", "ScatterND", "SequenceAt")
def _(e, g, n):
    return e.opset >= 12 and _operand(e, g, n, 1, "Max", 0)


@fault("negative indices without their sign", "Gather", "GatherElements", "GatherND", "SequenceAt", "OneHot")
def _(e, g, n):
    k = 0 if n.op_type == "OneHot" else 1
    if e.type(n.input[k]) not in INTEGERS:
        return False
    n.input[k] = e.op(g, n, "Abs", n.input[k])


@fault("indices off by one", "Gather", "GatherElements", "SequenceAt")
def _(e, g, n):
    return _operand(e, g, n, 1, "Sub", 1)


@fault("one-hot of what is out of range", "OneHot")
def _(e, g, n):
    """An index out of range taken for the nearest."""
    if e.opset < 12 or e.type(n.input[0]) != INT64:
        return False
    one = e.constant(g, n, 1, INT64)
    last = e.op(g, n, "Sub", n.input[1], one)
    n.input[0] = e.op(g, n, "Min", n.input[0], last)


@fault("one-hot values swapped", "OneHot")
def _(e, g, n):
    order = e.constant(g, n, [1, 0], INT64)
    n.input[2] = e.op(g, n, "Gather", n.input[2], order)


@fault("k at least 1", "TopK", "Tile", "Expand", "ConstantOfShape")
def _(e, g, n):
    k = 0 if n.op_type == "ConstantOfShape" else 1
    return e.opset >= 12 and _operand(e, g, n, k, "Max", 1)


@fault("k one less", "TopK", "Tile")
def _(e, g, n):
    return e.opset >= 12 and _operand(e, g, n, 1, "Sub", 1) and _operand(e, g, n, 1, "Max", 0)


@fault("top k by magnitude", "TopK")
def _(e, g, n):
    if e.type(n.input[0]) != FLOAT:
        return False
    n.input[0] = e.op(g, n, "Abs", n.input[0])


@fault("order of ties", "TopK", "ArgMax", "ArgMin")
def _(e, g, n):
    """From the other end: another one of equal elements."""
    if e.opset < 12 or not n.op_type.startswith("Arg"):
        return False
    put(n, "select_last_index", 1 - integer(n, "select_last_index", 0))


@fault("pad mode", "Pad")
def _(e, g, n):
    found = attribute(n, "mode")
    old = found.s.decode() if found is not None else "constant"
    put(n, "mode", e.random.choice([m for m in ("constant", "edge", "reflect") if m != old]))


@fault("pads swapped", "Pad")
def _(e, g, n):
    shape = e.shape(n.input[1])
    if not shape or shape[0] != 2:
        return False
    order = e.constant(g, n, [1, 0], INT64)
    n.input[1] = e.op(g, n, "Gather", n.input[1], order)


@fault("negative pads taken for 0", "Pad")
def _(e, g, n):
    return e.opset >= 12 and _operand(e, g, n, 1, "Max", 0)


@fault("pad value dropped", "Pad")
def _(e, g, n):
    if len(n.input) < 3 or not n.input[2]:
        return False
    n.input[2] = ""


@fault("range off by one", "Range")
def _(e, g, n):
    return _operand(e, g, n, 1, e.random.choice(("Add", "Sub")), 1)


@fault("range without its step", "Range")
def _(e, g, n):
    if n.input[2] not in e.tensors or abs(int(e.tensors[n.input[2]])) == 1:
        return False
    n.input[2] = e.constant(g, n, int(np.sign(e.tensors[n.input[2]])), e.type(n.input[2]))


@fault("parts swapped", "Split")
def _(e, g, n):
    if len(n.output) < 2 or e.shape(n.output[0]) is None or e.shape(n.output[0]) != e.shape(n.output[1]):
        return False
    n.output[0], n.output[1] = n.output[1], n.output[0]


@fault("sizes of parts", "Split")
def _(e, g, n):
    found = attribute(n, "split")
    if found is not None and len(found.ints) == 2:
        put(n, "split", [found.ints[1], found.ints[0]])
        return True
    if len(n.input) < 2 or n.input[1] not in e.tensors or e.tensors[n.input[1]].size != 2:
        return False
    n.input[1] = e.constant(g, n, e.tensors[n.input[1]][::-1], INT64)


@fault("a shape's order", "Reshape")
def _(e, g, n):
    """Rows and columns swapped: the same number of elements in other places."""
    shape = e.shape(n.input[0])
    if shape is None or len(shape) != 2:
        return False
    n.input[0] = e.op(g, n, "Transpose", n.input[0], perm=[1, 0])


@fault("lengths off by one", "ReverseSequence")
def _(e, g, n):
    return e.opset >= 12 and _operand(e, g, n, 1, "Sub", 1) and _operand(e, g, n, 1, "Max", 1)


@fault("lengths at least 1", "ReverseSequence")
def _(e, g, n):
    return e.opset >= 12 and _operand(e, g, n, 1, "Max", 1)


@fault("shift the other way", "BitShift")
def _(e, g, n):
    found = attribute(n, "direction")
    assert found is not None
    put(n, "direction", "LEFT" if found.s == b"RIGHT" else "RIGHT")


@fault("diagonal off by one", "Trilu", "EyeLike")
def _(e, g, n):
    if n.op_type == "EyeLike":
        put(n, "k", integer(n, "k", 0) + e.random.choice((1, -1)))
        return True
    return _operand(e, g, n, 1, "Add", 1)


@fault("reduction of a scatter dropped", "ScatterElements", "ScatterND")
def _(e, g, n):
    return drop(n, "reduction")


@fault("fill value", "ConstantOfShape")
def _(e, g, n):
    return drop(n, "value")


@fault("broadcast along another axis", "Add", "Sub", "Mul", "Div", "Max", "Min")
def _(e, g, n):
    """A row taken for a column, where both fit."""
    for k, other in ((0, 1), (1, 0)):
        a, b = e.shape(n.input[k]), e.shape(n.input[other])
        if a and b and len(a) == 1 and len(b) == 2 and b[0] == b[1] == a[0]:
            n.input[k] = e.op(g, n, "Reshape", n.input[k], e.constant(g, n, [-1, 1], INT64))
            return True
    return False


# sequences and strings -------------------------------------------------------------------------------


@fault("place of an insertion", "SequenceInsert", "SequenceErase")
def _(e, g, n):
    k = 2 if n.op_type == "SequenceInsert" else 1
    if len(n.input) > k and n.input[k]:
        del n.input[k]
    else:
        n.input.append(e.constant(g, n, 0, INT64))


@fault("last of a sequence taken for the first", "SequenceAt")
def _(e, g, n):
    n.input[1] = e.constant(g, n, 0, INT64)


@fault("a sequence turned about", "ConcatFromSequence", "SequenceAt")
def _(e, g, n):
    last = e.constant(g, n, -1, INT64)
    if n.op_type == "SequenceAt":
        n.input[1] = e.op(g, n, "Sub", last, n.input[1])
        return True
    first = e.op(g, n, "SequenceAt", n.input[0], e.constant(g, n, 0, INT64))
    shorter = e.op(g, n, "SequenceErase", n.input[0], e.constant(g, n, 0, INT64))
    n.input[0] = e.op(g, n, "SequenceInsert", shorter, first)


@fault("letter case", "StringNormalizer")
def _(e, g, n):
    found = attribute(n, "case_change_action")
    old = found.s.decode() if found is not None else "NONE"
    put(n, "case_change_action", e.random.choice([x for x in ("LOWER", "UPPER", "NONE") if x != old]))


@fault("stop words dropped", "StringNormalizer")
def _(e, g, n):
    return drop(n, "stopwords")


@fault("delimiter", "StringSplit")
def _(e, g, n):
    found = attribute(n, "delimiter")
    if found is None or found.s == b",":
        return False
    put(n, "delimiter", ",")


@fault("a text of a constant")
def _(e, g, n):
    def change(array):
        made = array.copy()
        made.reshape(-1)[0] = str(made.reshape(-1)[0]) + " "
        return made

    for name, array in e.tensors.items():
        tensor = e.constant_of(name) if array.dtype == object and array.size else None
        if tensor is not None:
            tensor.CopyFrom(numpy_helper.from_array(change(np.asarray(array, object).astype(str).astype(object)), name))
            return True
    return False
