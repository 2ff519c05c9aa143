"""Faults of single nodes of ONNX, to be read behind the node's name: of its form, its types, its lists."""

from __future__ import annotations

import math

import onnx

from .constraints import misfit
from .graph import Node
from .infer import infer_node, infer_strictly, small_data
from .schema_check import problem
from .schemas import schema
from .tree_faults import tree_fault
from .types import TensorType, Type

_UNTAKEN = "has unsupported type"  # in the words of ONNX's inference


def fault_of(node: Node) -> str:
    """What is wrong with an operator of ONNX, to be read behind its name: its form, its types; "" where nothing is."""
    found = problem(node)
    if found:
        return found
    if schema(node.domain, node.op_type, node.version) is None:
        return ""
    reason = contradiction(node)
    if reason:
        return f" contradicts its operator: {reason:.200}"
    for value, found in zip(node.outputs, infer_node(node), strict=False):
        if _conflict(value.type, found):
            return f": {value.name!r} is declared {value.type}, and is {found}"
    return misfit(node) or tree_fault(node)


def _conflict(declared: Type | None, found: Type | None) -> bool:
    """Whether no tensor is of both types."""
    if not isinstance(declared, TensorType) or not isinstance(found, TensorType):
        return False
    if declared.dtype and found.dtype and declared.dtype is not found.dtype:
        return True
    if declared.shape is None or found.shape is None:
        return False
    return len(declared.shape) != len(found.shape) or any(
        isinstance(one, int) and isinstance(other, int) and one != other
        for one, other in zip(declared.shape, found.shape, strict=True)
    )


def contradiction(node: Node, of_any_type: bool = False) -> str:
    """Why an operator can't run on inputs of these types, in the words of its own inference function; "" if it may.

    Args:
        of_any_type: element types that ONNX's operator doesn't take are none, as the hub has some for which it stands.
    """
    if node.op in _OWN and (found := _OWN[node.op](node)):
        return found
    if node.regions:  # its captures are inputs here, which ONNX's own function doesn't know
        return ""
    try:
        infer_strictly(node, [None if value is None else small_data(value) for value in node.inputs])
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError) as error:
        reason = " ".join(str(error).split())
        return "" if of_any_type and _UNTAKEN in reason else reason
    except (RuntimeError, ValueError):
        return ""
    return ""


def _updates_fault(node: Node) -> str:
    """Why updates don't fit ScatterND's indices, which ONNX's own inference doesn't look at; "" if they may."""
    shapes = [value.tensor.shape if value is not None else None for value in node.inputs[:3]]
    if len(shapes) < 3 or any(shape is None for shape in shapes):
        return ""
    data, indices, updates = (shape or () for shape in shapes)
    depth = indices[-1] if indices else 0
    wanted = len(data) + len(indices) - 1 - depth if isinstance(depth, int) else len(updates)
    return "" if wanted == len(updates) else f"updates of rank {len(updates)} where the indices need rank {wanted}"


def _axis_fault(node: Node) -> str:
    """Why an axis is none, whose size ONNX's own inference doesn't look at; "" if it may be one."""
    axis = node.input(1)
    shape = axis.tensor.static_shape if axis is not None else None
    count = 1 if shape is None else math.prod(shape)
    return "" if count == 1 else f"an axis of {count} elements"


_OWN = {
    ("", "ScatterND"): _updates_fault,
    ("", "CumSum"): _axis_fault,
    ("", "CumProd"): _axis_fault,
}
