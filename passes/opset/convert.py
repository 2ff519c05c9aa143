"""A whole graph to other opsets: one walk with the Rewriter, every node by its own version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import InvalidModel, Unsupported
from ..garbage import bulk
from ..graph import Graph, Node
from ..infer import infer_node
from ..rewrite import Rewriter
from ..schemas import HUB_OPSETS, schema, since_version
from ..types import Type
from .allowed import check, element_types
from .changes import Log
from .steps import KindOf
from .version_walk import Walk


@dataclass
class OpsetDialect:
    """ONNX at given opsets, under the name of the graph's dialect."""

    name: str
    opsets: Mapping[str, int]

    def resolve(self, op_type: str) -> tuple[str, int]:
        for domain, opset in self.opsets.items():
            version = since_version(domain, op_type, opset)
            if version is not None:
                return domain, version
        raise Unsupported(op_type, f"opset {self.opsets.get('', 0)} has no such operator")

    def infer(self, node: Node) -> Sequence[Type | None]:
        return infer_node(node)


def convert_opset(graph: Graph, target: Mapping[str, int], log: Log | None = None) -> Graph:
    """The same model with every operator at the version that the target opsets have; the graph itself stays.

    Args:
        graph: of dialect "onnx" or "hub"; nodes count by their own `version`, which may be mixed.
        target: domain ("" is ai.onnx) -> opset. Other domains pass untouched, their regions don't. Model-local
            functions stay as they are: they have opsets of their own.
        log: takes up what is done to which operator.

    Raises:
        InvalidModel: there is no such opset, or an operator doesn't exist at its version.
        Unsupported: an operator, an attribute or a type can't be expressed at the target.
    """
    for domain, opset in target.items():
        newest = HUB_OPSETS.get(domain, opset)
        if not 1 <= opset <= newest:
            raise InvalidModel(f"there is no opset {opset} of {domain or 'ai.onnx'}; 1 to {newest} exist")
    dialect = OpsetDialect(graph.dialect, dict(target))
    walk = Walk(target, log=log)
    with bulk():
        new = Rewriter(dialect, {}, fallback=walk, stamp=walk.stamp).run(graph)
        for _, node in new.walk():  # also those that no adapter made, as what gives a result its name
            if node.domain in target and schema(node.domain, node.op_type, node.version) is not None:
                check(node, node, None)
        new.functions = dict(graph.functions)
    new.opsets = _opsets(graph.opsets, target)
    return new


def restamped(graph: Graph, target: Mapping[str, int]) -> Graph | None:
    """A copy at other opsets of a graph without regions to which nothing else has to be done; None where it has.

    Types aren't needed but for the elements', so that this is much cheaper than `convert_opset`.
    """
    walk = Walk(target)
    nodes = graph.nodes
    if any(node.regions for node in nodes):
        return None
    versions = _versions(walk, nodes)
    if versions is None and not any(walk.changes(node) for node in nodes):
        versions = _versions(walk, nodes, element_types(graph).get)
    if versions is None:
        return None
    new = graph.copy()
    for node, version in zip(new.nodes, versions, strict=True):
        node.version = version
    new.opsets = _opsets(graph.opsets, target)
    return new


def _versions(walk: Walk, nodes: Sequence[Node], *kind_of: KindOf) -> list[int] | None:
    """The version of each node; None where one doesn't stay as it is."""
    versions: list[int] = []
    for node in nodes:
        version = walk.stamp(node, *kind_of)
        if version is None:
            return None
        versions.append(version)
    return versions


def _opsets(old: Mapping[str, int], target: Mapping[str, int]) -> dict[str, int]:
    return {domain: target.get(domain, opset) for domain, opset in old.items()}
