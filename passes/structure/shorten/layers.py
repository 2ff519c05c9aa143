"""Layers with what belongs to them: a convolution's bias, a recurrent layer's inputs that say nothing."""

from __future__ import annotations

from ...graph import Graph, Node, Value
from ...words import words
from .context import Context, Table, made_by, part_of_shape, permutation, static
from .norms import by_channel

RECURRENT = words("GRU LSTM RNN")
_BIAS, _LENGTHS, _STATES = 3, 4, (5, 6)
_SPARE_OUTPUTS = RECURRENT | words("Dropout LayerNormalization MaxPool")


def bias(context: Context, node: Node) -> Value | None:
    """Add(Conv(x, w), b) with a number for each channel is Conv(x, w, b)."""
    for index in (0, 1):
        conv = made_by(node.inputs[index], "Conv", "ConvTranspose")
        added = node.inputs[1 - index]
        if conv is None or added is None or conv.input(2) is not None or not context.used_once(conv.output):
            continue
        vector = by_channel(context, added, _channels(conv), conv.output.rank)
        if vector is not None:
            options = {"_types": [node.output.type], "_name": node.name, **conv.attributes}
            return context.op.call(conv.op_type, *conv.inputs[:2], vector, **options)
    return None


def _channels(conv: Node) -> int | None:
    """How many channels a convolution gives."""
    weights = static(conv.inputs[1])
    if weights is None:
        return None
    return weights[0] if conv.op_type == "Conv" else weights[1] * conv.attributes.get("group", 1)


def spare_inputs(context: Context, node: Node) -> bool:
    """Take away what a recurrent layer does without: biases and first states of 0, lengths that are the whole one."""
    inputs = list(node.inputs)
    for index in (_BIAS, *_STATES):
        if index < len(inputs) and _is_zero(context, inputs[index]):
            inputs[index] = None
    if len(inputs) > _LENGTHS and _is_whole(context, inputs[_LENGTHS], inputs[0], node.attributes.get("layout", 0)):
        inputs[_LENGTHS] = None
    while inputs[-1] is None:
        inputs.pop()
    changed = inputs != node.inputs
    if changed:
        context.graph.set_inputs(node, inputs)
    return changed


def _is_zero(context: Context, value: Value | None) -> bool:
    while (filled := made_by(value, "Expand", "Transpose", "Reshape", "Squeeze", "Unsqueeze")) is not None:
        value = filled.inputs[0]
    array = context.constant(value)
    return array is not None and bool((array == 0).all())


def _is_whole(context: Context, lengths: Value | None, data: Value | None, axis: int) -> bool:
    """Whether all sequences are as long as the data's axis says."""
    shape = data.tensor.shape if data is not None else None
    array = context.known(lengths)
    if array is not None:
        return shape is not None and bool((array == shape[axis]).all())
    while (node := made_by(lengths, "Expand", "Cast")) is not None:
        lengths = node.inputs[0]
    while (node := made_by(data, "Transpose")) is not None and (perm := permutation(node)) is not None:
        data, axis = node.inputs[0], perm[axis]
    size = made_by(lengths, "Shape")
    return size is not None and size.inputs[0] is data and part_of_shape(size) == (axis, axis + 1)


def spare_outputs(graph: Graph) -> bool:
    """Take away the outputs that nobody uses and that need not be."""
    changed = False
    for node in graph.nodes:
        if node.domain or node.op_type not in _SPARE_OUTPUTS:
            continue
        used = [bool(value.name) and (value in graph.outputs or bool(graph.uses(value))) for value in node.outputs]
        count = max((index + 1 for index, is_used in enumerate(used) if is_used), default=1)
        if count < len(node.outputs):
            graph.replace_node(node, node.inputs, node.outputs[:count])
            changed = True
        if node.op_type in RECURRENT and count > 1 and not used[0] and node.outputs[0].name:
            node.outputs[0].name = ""
            changed = True
    return changed


RULES: Table = {"Add": [bias]}
