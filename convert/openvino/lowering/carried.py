"""Carried values that OpenVINO's CPU gets right only when they are computed in another way.

1. It takes a Parameter away that no result needs, with its initial value: without a pass the result is then wrong.
2. Without a pass the result has the sizes of the body's value, where those are known and differ from the initial one's;
   where it is known only that they are larger, as those of a value that grows by a Concat, or smaller, as those of a
   part, the run fails.
3. Before a pass it first fills the Parameters of slices, then one back edge after the other. A value that stands in
   the memory of a Parameter is gone by then: one that is a Parameter, and one that was computed in place.
   Elementwise operators work in place on a reshaped Parameter (though not on a Parameter), SoftMax and its kin on
   any, and behind what it takes out as it does nothing, such as a Tile by 1; also where SoftMax or MVN is written in
   smaller operators, of which it makes one, and where it writes an Einsum as products of what is reshaped. Updates of
   elements work in place on a Parameter that nobody else reads: that is harmless only where each pass gets a new one.
4. It fails to compile some loops that hand a Parameter on as it is.
"""

from __future__ import annotations

from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import required
from ....passes.types import Dim, conflict
from .. import result_types as types
from ..layers import LAYERS
from .assembly import Assembly
from .large_integers import chosen
from .tools import i64, nought_of, range_of, shape_of, vector

_VIEWS = frozenset(["Identity", "Reshape", "Squeeze", "Unsqueeze"])
_FRESH = frozenset(
    [
        *("Convolution", "ConvolutionBackpropData", "GroupConvolution", "GroupConvolutionBackpropData", "MatMul"),
        *("GRUSequence", "LSTMSequence", "RNNSequence", "If", "Loop"),
        *("Gather", "GatherElements", "GatherND", "NonZero", "ShapeOf", "TopK"),
    ]
)
"""Operators that put their result into memory of its own."""
_IN_PLACE = frozenset(["Einsum", "GroupNormalization", "MVN", "NormalizeL2", "SoftMax"])
"""Operators that put their result into the memory of a Parameter, whoever else reads it, in this pass or the next."""
_SHIFTS = frozenset(["ReduceMax", "ReduceMean"])
"""What a SoftMax and an MVN subtract from their operand."""
_UPDATES = frozenset(["ScatterElementsUpdate", "ScatterNDUpdate", "ScatterUpdate"])
"""Operators that put their result into the memory of a Parameter that is nobody else's."""
_TAKEN_OUT = frozenset(["Broadcast", "Gather", "Pad", "Select", "Slice", "Split", "Tile", "Transpose", "VariadicSplit"])
"""Operators that aren't there for OpenVINO where they hand on what they are given."""

_SAME_SIZES = frozenset(name for name, layer in LAYERS.items() if layer.result in (types.SAME, types.CONVERT))
_PARTS = _SAME_SIZES | {"Slice", "Split", "VariadicSplit"}
"""Layers whose result is no larger than what they are given first."""


def _certain_size(value: Value, axis: int) -> int:
    """The least size that OpenVINO knows an axis of open size to have: what is joined to something else."""
    found = 0
    while (node := value.producer) is not None:
        if node.op_type == "Concat" and int(node.attributes["axis"]) % (value.rank or 1) == axis:
            sizes = [(one, (one.tensor.shape or ())[axis]) for one in node.inputs if one is not None]
            found += sum(size for _, size in sizes if isinstance(size, int))
            (value, *_) = [one for one, size in sizes if not isinstance(size, int)]
        elif node.op_type in _SAME_SIZES and node.inputs[0] is not None:
            value = node.inputs[0]
        else:
            break
    return found


def _largest_size(value: Value, axis: int) -> int | None:
    """The largest size that OpenVINO knows an axis to have: of what a part is taken."""
    while not isinstance(size := (value.tensor.shape or ())[axis], int):
        node = value.producer
        source = None if node is None or node.op_type not in _PARTS else node.inputs[0]
        if source is None or source.rank != value.rank:
            return None
        value = source
    return size


def _is_short(value: Value, axis: int, first: Dim) -> bool:
    """Whether the initial value of a carried one may be larger along an axis than OpenVINO knows this one to be."""
    most = _largest_size(value, axis)
    return most is not None and first != most and (not isinstance(first, int) or first > most)


def _differs(value: Value, axis: int, first: Dim) -> bool:
    """Whether what OpenVINO knows of a carried value's size excludes the initial one's, or may."""
    size = (value.tensor.shape or ())[axis]
    if isinstance(size, int):
        return size != first
    return _certain_size(value, axis) > (first if isinstance(first, int) else 0) or _is_short(value, axis, first)


def losing_initial_value(assembly: Assembly, carried: dict[Value, Value]) -> set[Value]:
    """The carried Parameters that don't reach their own value, not even over several passes.

    OpenVINO takes such a Parameter away, and its initial value with it; after no pass the result is then wrong.
    `carried`: Parameter -> value that is fed back.
    """
    bit = {parameter: 1 << index for index, parameter in enumerate(carried)}
    reached = dict(bit)
    for node in assembly.body.graph.topological():
        found = 0  # what happens inside of other loops, and to sizes, OpenVINO may find out not to matter
        for value in node.inputs if node.op_type != "ShapeOf" and not node.regions else ():
            found |= reached.get(value, 0) if value is not None else 0
        reached.update(dict.fromkeys(node.outputs, found))
    next_ = {parameter: reached.get(value, 0) for parameter, value in carried.items()}
    changed = True
    while changed:
        changed = False
        for parameter, mask in next_.items():
            more = mask
            for other, its_bit in bit.items():
                more |= next_[other] if mask & its_bit else 0
            changed |= more != mask
            next_[parameter] = more
    return {parameter for parameter, mask in next_.items() if not mask & bit[parameter]}


def with_initial_value(assembly: Assembly, value: Value, entered: Value, operand: Value, losing: bool) -> Value:
    """A carried value so that after no pass OpenVINO gives the initial one.

    For that the Parameter `entered` must have a part in it, and OpenVINO must not know a size that differs from
    the initial one, or that is larger: it would be the size of the result.
    """
    body = assembly.body
    sizes, first = value.tensor.shape or (), operand.tensor.shape or ()
    differing = [axis for axis in range(len(sizes)) if _differs(value, axis, first[axis])]
    if losing and not differing and value.tensor.static_shape is not None:
        return chosen(body, assembly.counting(), value, entered)
    axes = list(range(len(sizes))) if losing else differing
    if not axes:
        return value
    nothing = nought_of(body, vector(body, entered))
    if any(_is_short(value, axis, first[axis]) for axis in axes):  # of a part OpenVINO would know how large it can be
        own = own_memory(assembly, value)
        hidden = body.Add(shape_of(body, value), nothing)
        if len(sizes) == 1:  # it leaves out a Reshape of a vector to a vector
            return body.Gather(own, range_of(body, hidden), i64(body, 0))
        return body.Reshape(own, hidden, special_zero=False)
    sized = body.Gather(shape_of(body, value), i64(body, axes), i64(body, 0))
    ones = [1] * len(axes)
    return body.Slice(value, i64(body, [0] * len(axes)), body.Add(sized, nothing), i64(body, ones), i64(body, axes))


def _copied(assembly: Assembly, value: Value) -> Value:
    """A copy in memory of its own."""
    return _first_of_two(assembly, assembly.body.Unsqueeze(value, i64(assembly.body, [0])), 0)


def _first_of_two(assembly: Assembly, value: Value, axis: int) -> Value:
    """`value` without its axis of size 1: the first of two copies, but OpenVINO can't know that.

    Of one copy it would know that it is the only one, and take it in place.
    """
    body = assembly.body
    return body.Gather(body.Concat(value, value, axis=axis), assembly.nought(), i64(body, axis))


def own_memory(assembly: Assembly, value: Value) -> Value:
    """A carried value that is computed in the body: Parameters and constants are copied."""
    return value if value.producer is not None else _copied(assembly, value)


def copy_exposed_parameters(assembly: Assembly) -> None:
    """Let what may be computed in place on a Parameter, as it is or reshaped, be computed on a copy of it."""
    graph = assembly.body.graph
    for port in list(assembly.ports):
        in_place = _IN_PLACE if port.slices or port.result is not None else _IN_PLACE | _UPDATES
        exposed = [use for use in graph.uses(port.parameter) if _is_exposed(graph, use[0], in_place)]
        if not exposed:
            continue
        if port.slices and len(exposed) == 1 and exposed[0][0].op_type == "Squeeze":
            old = exposed[0][0].output
            graph.replace_uses(old, _first_of_two(assembly, port.parameter, port.slices["axis"]))
            graph.remove_node(exposed[0][0])
            continue
        copy = _copied(assembly, port.parameter)
        for node, index in exposed:
            graph.set_input(node, index, copy)


def _is_exposed(graph: Graph, node: Node, in_place: frozenset[str]) -> bool:
    """Whether a user of a Parameter computes in place, or looks at it in another shape, or at all of it as it is, and
    hands that on to be. `in_place`: the layers that do."""
    seen, left = {node}, [node]
    while left:
        node = left.pop()
        if node.op_type in in_place or _begins_normalization(graph, node):
            return True
        is_view = node.op_type in _VIEWS
        if not is_view and not hands_on(node):
            continue
        users = {user for value in node.outputs for user, _ in graph.uses(value)}
        if is_view and (node.output in graph.outputs or any(user.op_type not in _FRESH for user in users)):
            return True
        left += users - seen
        seen |= users
    return False


def _begins_normalization(graph: Graph, node: Node) -> bool:
    """Whether a user of a Parameter is the first operator of a SoftMax or MVN: x - max(x), x - mean(x), or exp(x) that
    is divided by its sum."""
    if node.op_type == "Exp":
        return {"ReduceSum", "Divide"} <= {user.op_type for user, _ in graph.uses(node.output)}
    if node.op_type != "Subtract":
        return False
    x, less = (required(node, index) for index in range(2))
    return less.producer is not None and less.producer.op_type in _SHIFTS and less.producer.input(0) is x


def hands_on(node: Node) -> bool:
    """Whether a layer may hand on what it is given first, as it is, and not be there for OpenVINO."""
    return node.op_type in _VIEWS | _TAKEN_OUT and _may_do_nothing(node)


def _may_do_nothing(node: Node) -> bool:
    """Whether neither type nor sizes tell that the result is another array than each operand."""
    return any(value is not None and not conflict(value.type, node.outputs[0].type) for value in node.inputs)
