"""Faults of single nodes of ONNX, to be read behind the node's name: of its form, its types, its lists."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import onnx

from .constraints import misfit
from .errors import BackedgeError, InvalidModel
from .graph import Node
from .infer import infer_node, infer_strictly, small_data
from .schema_check import problem
from .schemas import schema
from .shape_faults import shape_fault
from .tree_faults import tree_fault
from .types import conflict

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
        if conflict(value.type, found):
            return f": {value.name!r} is declared {value.type}, and is {found}"
    return misfit(node) or tree_fault(node)


@contextlib.contextmanager
def blaming(node: Node, is_given: bool = True) -> Iterator[None]:
    """Around work on an operator of a file: where that fails in a way that it never should, and something is wrong with
    the operator, the file is to blame.

    Args:
        is_given: whether it is a file's.

    Raises:
        InvalidModel: what is wrong with it.
    """
    try:
        yield
    except (BackedgeError, MemoryError):
        raise
    except Exception as error:
        if is_given and (fault := fault_of(node)):
            raise InvalidModel(f"{node!r}{fault}") from error
        raise


def contradiction(node: Node, of_any_type: bool = False) -> str:
    """Why an operator can't run on inputs of these types, in the words of its own inference function; "" if it may.

    Args:
        of_any_type: element types that ONNX's operator doesn't take are none, as the hub has some for which it stands.
    """
    if found := shape_fault(node):
        return found.removeprefix(": ")
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
