"""Control flow, constants, attention; operators that stand alone."""

from __future__ import annotations

from ..attention_sizes import key_count
from ..constants import constant_node_data
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..protos import SparseData, sparse_to_dense
from ..tensor import TensorData
from .build import StepBuilder
from .regular_steps import added
from .steps import Made, Step, changed, same, static_shape, wanted, with_input

_VALUES = ("value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings", "sparse_value")


def _one_tensor(op: StepBuilder, node: Node) -> Made:
    """A Constant's other ways of saying its value, as a tensor."""
    if "value" in node.attributes:
        return None
    sparse = node.attributes.get("sparse_value")
    data = TensorData.of(sparse_to_dense(sparse)) if isinstance(sparse, SparseData) else constant_node_data(node)
    if data is None:
        raise Unsupported(node, "its value is given by the function around it; inline the function first")
    return changed(node, without=_VALUES, value=data)


def _same_shapes(op: StepBuilder, node: Node) -> Made:
    """If-1: both branches give the same shapes."""
    branches = [[static_shape(node, value) for value in region.outputs] for region in node.regions.values()]
    if any(branch != branches[0] for branch in branches):
        raise Unsupported(node, "branches with different shapes came with version 11")
    return None


def _covers_all(node: Node) -> bool:
    """Whether the mask certainly has an entry for each key."""
    mask, keys = required(node, 3).tensor.shape, key_count(node)
    return bool(mask) and keys is not None and mask is not None and mask[-1] == keys


def _whole_mask(op: StepBuilder, node: Node) -> Made:
    """Attention-23: one entry was for all keys, where version 24 fills a mask that is too short up."""
    if node.input(3) is None or _covers_all(node):
        return None
    lengths = [op.Shape(value, start=-2, end=-1) for value in (node.input(1), node.input(4)) if value is not None]
    total = lengths[0] if len(lengths) == 1 else op.Add(*lengths)
    return changed(node, inputs=with_input(node.formal_inputs, 3, op.Expand(required(node, 3), total)))


def _mask_of_all(op: StepBuilder, node: Node) -> Made:
    """Attention-23: the mask covers all keys, and all of them are valid."""
    if node.input(6) is not None:
        raise Unsupported(node, "its input nonpad_kv_seqlen came with version 24")
    if node.input(3) is not None and not _covers_all(node):
        raise Unsupported(node, "a mask that may be shorter than the keys came with version 24")
    return None


_HEAD_COUNTS = ("q_num_heads", "kv_num_heads")


def _stricter(op: StepBuilder, node: Node) -> Made:
    """Before Attention-25 tensors of rank 4 might also be told their numbers of heads, and present_key be asked for
    without present_value, or the other way round."""
    if node.attributes.keys() & set(_HEAD_COUNTS) and required(node, 0).rank == 4:
        node = changed(node, without=_HEAD_COUNTS)
    if wanted(node, 1) == wanted(node, 2):
        return node
    every = op.call("Attention", *node.formal_inputs, _outputs=max(3, len(node.outputs)), **node.attributes)
    return [every[index] if value.name else Value("") for index, value in enumerate(node.outputs)]


ROWS = {
    ("Constant", 11): Step(same, _one_tensor),
    ("Constant", 12): Step(same, _one_tensor),
    ("If", 11): Step(same, _same_shapes),
    ("Attention", 24): Step(_whole_mask, _mask_of_all),
    ("Attention", 25): Step(_stricter, added(left_window_size=-1, right_window_size=-1).down),
}
