"""Faults of inputs' shapes that ONNX's own inference doesn't look at, or only where it knows more."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from .axis_faults import axis_fault, listed_axes
from .constants import small_constant
from .core import ELEMENTWISE, REDUCTIONS
from .graph import Node
from .limits import MOST_AXES
from .operand_faults import differ, known_shape, operand_fault
from .window_faults import WINDOWS, window_fault

_LIST, _MATRIX, _SOME = (1, 1), (2, 2), (1, MOST_AXES)
_RANKS: Mapping[str, Mapping[int, tuple[int, int]]] = {
    "AffineGrid": {1: _LIST},
    "CenterCropPad": {1: _LIST},
    "Col2Im": {0: (3, 3), 1: _LIST, 2: _LIST},
    "Compress": {1: _LIST},
    "ConstantOfShape": {0: _LIST},
    "DepthToSpace": {0: (4, 4)},
    "Det": {0: (2, MOST_AXES)},
    "Dropout": {1: (0, 0), 2: (0, 0)},
    "Expand": {1: _LIST},
    "EyeLike": {0: _MATRIX},
    "Gemm": {0: _MATRIX, 1: _MATRIX},
    "ImageDecoder": {0: _LIST},
    "LogSoftmax": {0: _SOME},
    "Loop": {0: (0, 1), 1: (0, 1)},
    "MatMul": {0: _SOME, 1: _SOME},
    "MatMulInteger": {0: _SOME, 1: _SOME},
    "MaxUnpool": {2: _LIST},
    "OneHot": {0: _SOME, 2: _LIST},
    "Pad": {1: _LIST, 3: _LIST},
    "Reshape": {1: _LIST},
    "Resize": {1: _LIST, 2: _LIST, 3: _LIST},
    "ReverseSequence": {0: (2, MOST_AXES), 1: _LIST},
    "Slice": {1: _LIST, 2: _LIST, 3: _LIST, 4: _LIST},
    "Softmax": {0: _SOME},
    "SpaceToDepth": {0: (4, 4)},
    "Split": {1: _LIST},
    "StringNormalizer": {0: (1, 2)},
    "TfIdfVectorizer": {0: (1, 2)},
    "Trilu": {0: (2, MOST_AXES)},
    "Squeeze": {1: _LIST},
    "Upsample": {1: _LIST},
    **{name: {1: _LIST} for name in REDUCTIONS},
}
"""The least and the largest rank of inputs. What ONNX Runtime computes of other ranks, it loads from no file."""
_OF_ONE_RANK = {"GatherElements": (1,), "Scatter": (1, 2), "ScatterElements": (1, 2), "TensorScatter": (1,)}
"""Inputs that are of the rank of the first one."""
_ROWS = {
    (2,): ("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"),
    (1, 2): ("LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor"),
}
"""Of which rank the features of models of ai.onnx.ml are: one row may be a vector, as in ONNX Runtime."""
_FACTORS = {"Gemm": 1, "MatMul": 1, "MatMulInteger": 1, "QLinearMatMul": 3}
"""Products of matrices, and which input is the second one."""
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


_ALIKE = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
"""Operators whose operands were of one shape before version 7, but where `broadcast` said that B is laid along A."""


def shape_fault(node: Node) -> str:
    """Why no tensors of these shapes are inputs of an operator, to be read behind its name; "" where some may be."""
    if fault := operand_fault(node):
        return fault
    if node.domain:
        return _rows_fault(node) if node.domain == "ai.onnx.ml" else ""
    for index, (least, most) in _RANKS.get(node.op_type, {}).items():
        value = node.input(index)
        rank = None if value is None else value.rank
        if rank is not None and not least <= rank <= most:
            wanted = f"{least}" if least == most else f"{least} or {'more' if most == MOST_AXES else most}"
            return f": input {index} is of rank {rank}; it must be of rank {wanted}"
    for index in _OF_ONE_RANK.get(node.op_type, ()):
        ranks = [None if value is None else value.rank for value in (node.input(0), node.input(index))]
        if None not in ranks and ranks[0] != ranks[1]:
            return f": input {index} is of rank {ranks[1]}; it must be of rank {ranks[0]}"
    if fault := axis_fault(node):
        return fault
    if own := _OF_OPERATOR.get(node.op_type):
        return own(node)
    if node.op_type in _ALIKE and node.version < 7:
        return _unlike_fault(node)
    return _axes_fault(node) if _goes_along_axes(node) else ""


def _rows_fault(node: Node) -> str:
    """Why a tensor isn't the rows of features that a model takes."""
    rank = None if (data := node.input(0)) is None else data.rank
    ranks = next((ranks for ranks, operators in _ROWS.items() if node.op_type in operators), None)
    if rank is None or ranks is None or rank in ranks:
        return ""
    return f": rows of features of rank {rank}; it takes rank {' or '.join(map(str, ranks))}"


_FROM_SEVEN_ON = ELEMENTWISE - {"Clip"}  # whose bounds are scalars
_NEVER_OTHERWISE = frozenset(["Max", "Mean", "Min", "Sum"])
"""Those of them that had no other way to broadcast before version 7."""


def broadcast_fault(node: Node) -> str:
    """Why operands aren't broadcast to one another, to be read behind the node's name; "" where they may be: none with
    a size of 0 is told, since a stack over no passes has other sizes in ONNX Runtime than here."""
    if node.domain or node.op_type not in _FROM_SEVEN_ON or (node.version < 7 and node.op_type not in _NEVER_OTHERWISE):
        return ""
    sizes: dict[int, int] = {}
    for value in node.formal_inputs:
        shape = (None if value is None else value.tensor.shape) or ()
        for axis, size in enumerate(reversed(shape), 1):
            if isinstance(size, int) and size > 1 and sizes.setdefault(axis, size) != size:
                return f": {sizes[axis]} and {size} elements of axis {-axis} aren't broadcast to one another"
    return ""


def _product_fault(node: Node) -> str:
    """Why matrices aren't multiplied."""
    index = _FACTORS.get(node.op_type) if not node.domain else None
    if index is None:
        return ""
    a, b = known_shape(node, 0), known_shape(node, index)
    if not a or not b:
        return ""
    turned = [bool(node.attributes.get(name)) for name in ("transA", "transB")]
    inner = a[-2 if turned[0] and len(a) > 1 else -1], b[-1 if turned[1] or len(b) == 1 else -2]
    if differ(*inner):
        return f": rows of {inner[0]} elements by columns of {inner[1]}"
    for axis, (one, other) in enumerate(zip(a[-3::-1], b[-3::-1], strict=False), 3):
        if differ(one, other) and 1 not in (one, other):
            return f": {one} and {other} matrices along axis {-axis}"
    return ""


def _joined_fault(node: Node) -> str:
    """Why tensors aren't joined along an axis."""
    axis = node.attributes.get("axis", 1) if node.op == ("", "Concat") else None
    if not isinstance(axis, int):
        return ""
    shapes = [shape for index in range(len(node.formal_inputs)) if (shape := known_shape(node, index)) is not None]
    for shape in shapes[1:]:
        if len(shape) != len(shapes[0]):
            return f": tensors of rank {len(shapes[0])} and {len(shape)}"
        if 0 in (*shape, *shapes[0]):  # ONNX Runtime joins what is empty with anything
            continue
        for place, (one, other) in enumerate(zip(shapes[0], shape, strict=True)):
            if differ(one, other) and place != axis % len(shape):
                return f": {one} and {other} elements along axis {place}"
    return ""


def combined_fault(node: Node) -> str:
    """Why operands aren't broadcast, multiplied or joined, to be read behind the node's name; "" where they may be."""
    return broadcast_fault(node) or _product_fault(node) or _joined_fault(node)


_JOINING = _FROM_SEVEN_ON | _FACTORS.keys() | {"Concat"}


def certain_fault(node: Node) -> str:
    """Why inputs of the model and constants aren't operands of a node, to be read behind its name. Of what is computed
    a file may declare other sizes than it has."""
    if node.op_type not in _JOINING or any(value is not None and value.producer is not None for value in node.inputs):
        return ""
    return combined_fault(node)


def reshape_fault(node: Node) -> str:
    """Why elements can't be laid out anew, to be read behind the node's name; "" where they may be."""
    data = node.input(0) if node.op == ("", "Reshape") else None
    before = None if data is None else data.tensor.static_shape
    after = None if before is None else node.output.tensor.static_shape
    if before is None or after is None or math.prod(before) == math.prod(after):
        return ""
    return f": {math.prod(before)} elements can't be of the shape {list(after)}"


def _halves_fault(node: Node) -> str:
    """Why one half of a spectrum isn't that of a signal: only of a real one the other half follows."""
    shape = known_shape(node, 0)
    half = node.attributes.get("onesided", 0) and not node.attributes.get("inverse", 0)
    if not shape or not half or not isinstance(shape[-1], int) or shape[-1] == 1:
        return ""
    return f": one half of the spectrum of {shape[-1]} parts, which aren't real numbers"


def _recurrent_fault(node: Node) -> str:
    """Why the weights of an RNN, GRU or LSTM go with one another or with its input in no way."""
    gates = _GATES[node.op_type]
    x, w, r = (known_shape(node, index) for index in range(3))
    for name, shape in (("X", x), ("W", w), ("R", r)):
        if shape is not None and len(shape) != 3:
            return f": {name} is of rank {len(shape)}; it must be of rank 3"
    if x and w and differ(x[2], w[2]):
        return f": its input has {x[2]} features, its weights are for {w[2]}"
    if w and r and (differ(w[0], r[0]) or differ(w[1], r[1])):
        return f": W is {list(w)}, and R {list(r)}"
    if r and isinstance(r[2], int) and differ(r[1], r[2] * gates):
        return f": R is {list(r)}, which aren't {gates} gates of {r[2]} units"
    return ""


def _updates_fault(node: Node) -> str:
    """Why ScatterND's indices are none in the data, or updates don't fit them."""
    data, indices, updates = (known_shape(node, index) for index in range(3))
    if data is None or indices is None:
        return ""
    if not indices:
        return ": its indices are a scalar"
    depth = indices[-1]
    if fault := _depth_fault(node, 0):
        return fault
    if updates is None or not isinstance(depth, int):
        return ""
    wanted = len(data) + len(indices) - 1 - depth
    return "" if wanted == len(updates) else f": updates of rank {len(updates)} where the indices need rank {wanted}"


def _parts_fault(node: Node) -> str:
    """Why an axis doesn't have so many elements as its parts together."""
    shape, axis = known_shape(node, 0), node.attributes.get("axis", 0)
    length = shape[axis] if shape and isinstance(axis, int) else None
    listed, count = node.attributes.get("split"), len(node.outputs)
    given = small_constant(node.input(1)) if node.version > 2 else None
    if given is not None:
        listed = given.numpy().reshape(-1).tolist()
    if isinstance(listed, list | tuple):
        if len(listed) != count:  # parts below 0 stand in branches of functions that are never taken
            return f": {list(listed)!s:.100} are no {count} parts"
        told = isinstance(length, int) and sum(listed) != length
        return f": parts of {sum(listed)} elements, where its axis has {length}" if told else ""
    if node.version > 17 and node.input(1) is None and "num_outputs" not in node.attributes:
        return ": neither the sizes of its parts nor how many there are"
    told = node.version < 18 and node.input(1) is None and isinstance(length, int) and length % count
    return f": an axis of {length} elements has no {count} equal parts" if told else ""


def _grid_fault(node: Node) -> str:
    """Why points of a grid aren't places in an image."""
    x, grid = known_shape(node, 0), known_shape(node, 1)
    if x is not None and len(x) < 3:
        return f": an image of rank {len(x)}"
    if x is None or grid is None:
        return ""
    if len(grid) != len(x) or differ(grid[-1], len(x) - 2):
        return f": a grid of the shape {list(grid)} in an image of rank {len(x)}"
    return ""


def _batch_fault(node: Node) -> str:
    """Why so many axes aren't a batch that data and indices share."""
    count = node.attributes.get("batch_dims", 0)
    if not isinstance(count, int):
        return _depth_fault(node, 0)
    shapes = [shape for index in range(2) if (shape := known_shape(node, index)) is not None]
    ranks = [*map(len, shapes)]
    if count < 0 or (ranks and count >= max(min(ranks), 1)):
        return f": batch_dims is {count}, of tensors of the ranks {ranks}"
    batches = [list(shape[:count]) for shape in shapes]
    if len(batches) == 2 and any(map(differ, *batches)):
        return f": batches {batches[1]} of indices for {batches[0]} of data"
    return _depth_fault(node, count)


def _places_fault(node: Node) -> str:
    """Why the indices of elements name places along other axes that the data haven't."""
    data, indices = known_shape(node, 0), known_shape(node, 1)
    if data is None or indices is None:
        return ""
    along = node.attributes.get("axis", 0) % len(data)
    for axis, (size, count) in enumerate(zip(data, indices, strict=True)):
        if axis != along and isinstance(size, int) and isinstance(count, int) and count > size:
            return f": {count} indices along axis {axis}, where the data have {size}"
    return ""


def _depth_fault(node: Node, batch: int) -> str:
    """Why the indices of a GatherND or ScatterND name more axes than the data have behind a batch."""
    data, indices = known_shape(node, 0), known_shape(node, 1)
    depth = indices[-1] if indices else None
    if data is None or not isinstance(depth, int) or depth <= len(data) - batch:
        return ""
    return f": indices of {depth} axes in a tensor of rank {len(data) - batch}"


def _pads_fault(node: Node) -> str:
    """Why there aren't two amounts for each axis that is padded."""
    data, pads, axes = (known_shape(node, index) for index in (0, 1, 3))
    length = pads[0] if pads else None
    listed = node.attributes.get("pads", node.attributes.get("paddings"))
    if isinstance(listed, list | tuple):
        length = len(listed)
    count = (None if data is None else len(data)) if node.input(3) is None else axes[0] if axes else None
    if not isinstance(count, int) or not isinstance(length, int) or length == 2 * count:
        return ""
    return f": {length} amounts for {count} axes"


def _scales_fault(node: Node) -> str:
    """Why scales or zero points aren't those of a tensor, of an axis or of blocks."""
    data = known_shape(node, 0)
    for what, shape in (("scales", known_shape(node, 1)), ("zero points", known_shape(node, 2))):
        if shape is None or data is None:
            continue
        if not node.attributes.get("block_size"):
            if len(shape) > 1:
                return f": {what} of rank {len(shape)} for an axis"
        elif len(data) != len(shape):
            return f": {what} of rank {len(shape)} for blocks of a tensor of rank {len(data)}"
    return ""


def _order_fault(node: Node) -> str:
    """Why axes can't be in this order."""
    shape, order = known_shape(node, 0), node.attributes.get("perm")
    if shape is None or not isinstance(order, list | tuple) or sorted(order) == [*range(len(shape))]:
        return ""
    return f": perm is {list(order)}, of a tensor of rank {len(shape)}"


def _goes_along_axes(node: Node) -> bool:
    """Whether an operator has a list of a tensor's axes, all of them where it is left out."""
    named = node.op_type in ("MeanVarianceNormalization", "Slice", "Squeeze")
    return not node.domain and (named or node.op_type.startswith("Reduce"))


def _count_of_axes(node: Node) -> int | None:
    """How many axes are listed, or cut by as many starts, None where it isn't known."""
    axes, listed = known_shape(node, 1), listed_axes(node)
    count = len(listed) if isinstance(listed, list | tuple) else axes[0] if axes else None
    return count if isinstance(count, int) else None


def _axes_fault(node: Node) -> str:
    """Why there are more axes than a tensor has; of one that is declared as a scalar see `scalar_fault`."""
    shape, count = known_shape(node, 0), _count_of_axes(node)
    if shape is None or count is None or count <= max(len(shape), 1):
        return ""
    return f": {count} axes of a tensor of rank {len(shape)}"


def scalar_fault(node: Node) -> str:
    """Why nothing goes along axes, to be read behind the node's name: a scalar has none. "" where it may have one."""
    is_fault = _goes_along_axes(node) and known_shape(node, 0) == () and _count_of_axes(node)
    return ": a scalar has no axis" if is_fault else ""


def _unlike_fault(node: Node) -> str:
    """Why operands aren't of one shape, or B's isn't laid along A's. Without `broadcast` B is laid along A's last axes
    as NumPy does it: so onnx's reference has it, and models that onnx 1.13 recorded."""
    a, b = known_shape(node, 0), known_shape(node, 1)
    if a is None or b is None:
        return ""
    is_laid, longer = bool(node.attributes.get("broadcast", 0)), len(b) > len(a)
    axis = node.attributes.get("axis") if is_laid else None
    first = len(a) - len(b) if axis is None else axis + len(a) if axis < 0 else axis
    pairs = zip(a[first:], b, strict=False) if first >= 0 else ()
    wrong = any(size != 1 and differ(other, size) for other, size in pairs)
    if is_laid and longer:
        return f": B of rank {len(b)} is laid along A of rank {len(a)}"
    if is_laid:
        return f": B of {list(b)} can't be laid along A of {list(a)} from axis {first} on" if wrong else ""
    return f": {list(a)} and {list(b)} aren't of one shape, and nothing is broadcast" if wrong or longer else ""


def _axis_fault(node: Node) -> str:
    """Why an axis is none."""
    axis = node.input(1)
    shape = axis.tensor.static_shape if axis is not None else None
    count = 1 if shape is None else math.prod(shape)
    if count != 1:
        return f": an axis of {count} elements"
    return ": a scalar has no axis" if known_shape(node, 0) == () else ""


_OF_OPERATOR: Mapping[str, Callable[[Node], str]] = {
    **dict.fromkeys(WINDOWS, window_fault),
    **dict.fromkeys(_GATES, _recurrent_fault),
    **dict.fromkeys(("CumProd", "CumSum"), _axis_fault),
    **dict.fromkeys(("DequantizeLinear", "QuantizeLinear"), _scales_fault),
    "DFT": _halves_fault,
    **dict.fromkeys(("GatherElements", "Scatter", "ScatterElements"), _places_fault),
    "GatherND": _batch_fault,
    "GridSample": _grid_fault,
    "Pad": _pads_fault,
    "ScatterND": _updates_fault,
    "Split": _parts_fault,
    "Transpose": _order_fault,
}
"""What is told of one operator."""
