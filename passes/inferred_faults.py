"""What is wrong with a whole graph once its types are inferred."""

from __future__ import annotations

from collections.abc import Iterator

from .errors import InvalidModel
from .faults import contradiction
from .graph import Graph, Node
from .infer import REFUSED, infer
from .loop import Loop, Sliced, is_if, is_loop
from .shape_faults import combined_fault, reshape_fault, scalar_fault, shape_fault
from .type_faults import type_fault


def check_inferred(graph: Graph) -> None:
    """Refuse a hub graph in which the types that inference found are no operands of the operators that get them.

    Shapes in a branch may contradict each other where it is never taken; element types may nowhere. Sizes that a file
    declares for what it computes are wrong in some models that run all the same: what isn't broadcast, or what an
    operator's own inference doesn't take, is refused where it follows from inputs and constants.

    Raises:
        InvalidModel: the first such node, which may be in a region.
    """
    is_doubtful = False
    for inner, node, shapes in _operators(graph):
        if found := (shapes and (shape_fault(node) or _sliced_fault(node))) or type_fault(node):
            raise _refusal(inner, node, found)
        is_doubtful = is_doubtful or (shapes and (REFUSED in (node.meta or {}) or bool(_operand_fault(node))))
    if not is_doubtful:
        return
    undeclared = graph.copy()
    for inner in undeclared.graphs():
        for value in () if inner is undeclared else inner.inputs:
            value.type, value.meta = None, None
        for node in inner.nodes:
            (node.meta or {}).pop(REFUSED, None)
            for value in node.outputs:
                value.type = None
    infer(undeclared, known=True)
    for inner, node, shapes in _operators(undeclared):
        if found := shapes and _operand_fault(node):
            raise _refusal(inner, node, found)


def _refusal(graph: Graph, node: Node, found: str) -> InvalidModel:
    return InvalidModel(f"graph {graph.name!r:.80}: {node!r}{found}")


def _operators(graph: Graph) -> Iterator[tuple[Graph, Node, bool]]:
    """Every node that calls no function of the model, with the graph that it is in, and whether that is no branch."""
    own = {key[:2] for key in graph.functions}
    inside = [(graph, True)]
    for inner, shapes in inside:
        for node in inner.nodes:
            if node.op not in own:
                yield inner, node, shapes
            inside += [(region, shapes and not is_if(node)) for region in node.regions.values()]


def _operand_fault(node: Node) -> str:
    """Why a node's operands aren't any, to be read behind its name. ONNX's own inference is asked where nothing is
    known of what it gives."""
    if found := combined_fault(node) or reshape_fault(node) or scalar_fault(node):
        return found
    known = [value.tensor.shape is not None for value in node.inputs if value is not None]
    is_told = any(value.tensor.shape is not None for value in node.outputs) and REFUSED not in (node.meta or {})
    if node.regions or not all(known) or is_told:
        return ""
    reason = contradiction(node, of_any_type=True)
    return f" contradicts its operator: {reason:.200}" if reason else ""


def _sliced_fault(node: Node) -> str:
    """Why a loop can't take parts of a value, to be read behind its name."""
    for entry in Loop(node).of(Sliced) if is_loop(node) else ():
        rank = None if entry.operand is None else entry.operand.rank
        axis = entry.slot.axis if isinstance(entry.slot, Sliced) else 0
        if entry.operand is not None and rank is not None and not -rank <= axis < rank:
            return f": it goes along axis {axis} of {entry.operand.name!r}, which is of rank {rank}"
    return ""
