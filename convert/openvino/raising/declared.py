"""The sizes that a file tells of layers and of the parameters of bodies.

OpenVINO infers them anew when it reads a file: only those of the model's own Parameters and of constants count, and a
body's parameter has the sizes of what is fed to it. ONNX's inference finds less than OpenVINO's, so that a file is
believed as long as nothing that is inferred contradicts it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....passes.graph import Graph, Node, Value
from ....passes.infer import widen
from ....passes.rewrite import Builder
from ....passes.types import TensorType, Type, conflict, merge
from ..dialect import BODY_MAPS, INPUT_MAPS
from ..portmaps import ITERATION


@dataclass
class Contradictions:
    """Whether what a file tells was found to be wrong: of sizes only, or of a rank, too."""

    sizes: bool = False
    ranks: bool = False

    def compare(self, declared: Type | None, found: Type | None) -> bool:
        """Whether the sizes of a value are others than the file tells, which is remembered."""
        is_other = conflict(_shape(declared), _shape(found))
        if is_other and isinstance(declared, TensorType) and isinstance(found, TensorType):
            self.sizes = True
            self.ranks = self.ranks or declared.rank != found.rank
        return is_other

    def entering(self, declared: Type | None, fed: Type | None, is_carried: bool) -> Type | None:
        """The type of a body's parameter to which a value of this type is fed, in the first pass if it is carried."""
        is_other = self.compare(declared, fed)
        if not is_carried:
            return merge(fed, declared)
        return widen(declared, fed) if is_other else declared


def contradictions_of(op: Builder) -> Contradictions:
    """What was found so far while a graph is raised."""
    return op.rewriter.context.contradictions


class Believing(Builder):
    """A builder of the hub that believes the sizes that a file tells of layers, and remembers where inference finds
    others: then a file is wrong about them."""

    def _carry(self, old: Value, new: Value) -> None:
        if new.producer is not None:
            contradictions_of(self).compare(old.type, new.type)
        super()._carry(old, new)


def without_sizes(graph: Graph) -> Graph:
    """A graph without the sizes that its file tells of layers.

    Ranks count, which a file tells of other layers than ONNX's inference knows them of; so do the sizes of what loops
    and branches give, which are those of no pass, and of variables, which are attributes.
    """
    made = graph.copy()
    for _, node in made.walk():
        for value in () if node.regions or node.op_type == "ReadValue" else node.outputs:
            if isinstance(value.type, TensorType) and value.type.rank is not None:
                value.type = TensorType(value.type.dtype, (None,) * value.type.rank)
    return made


def without_ranks(graph: Graph) -> Graph:
    """A graph without anything that its file tells of the sizes of layers and of what is fed to bodies, but for
    variables, and for what a TensorIterator without sequences gives, which tells how often it runs."""
    made = graph.copy()
    for _, node in made.walk():
        values = [] if node.op_type == "ReadValue" or _counts_by_results(node) else list(node.outputs)
        for name, region in node.regions.items():
            counters = {entry.parameter for entry in node.attributes[BODY_MAPS[name][0]] if entry.purpose == ITERATION}
            values += [value for index, value in enumerate(region.inputs) if index not in counters]
        for value in values:
            if isinstance(value.type, TensorType):
                value.type = TensorType(value.type.dtype)
    return made


def _counts_by_results(node: Node) -> bool:
    return node.op_type == "TensorIterator" and all(entry.axis is None for entry in node.attributes[INPUT_MAPS])


def _shape(type: Type | None) -> Type | None:
    return TensorType(None, type.shape) if isinstance(type, TensorType) else None
