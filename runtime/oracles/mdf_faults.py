"""Where MDF's engine gives an answer that isn't the model's, found by looking at the model."""

from __future__ import annotations

import re
from collections import Counter

from .mdf_guard import children, functions, texts
from .mdf_names import Interface, Tree, as_mapping, objects

RANDOM = "random functions draw other numbers every time"
UNORDERED = "MDF's engine takes the edges into one port in no order, and only the last counts"
IN_PLACE = "MDF's engine adds up the values of a port inside the first sender's array"

_RANDOM_FUNCTION = re.compile(r"onnx::(Random\w+|Bernoulli|Multinomial)")
_RANDOM_TEXT = re.compile(r"\bnumpy\.random\.")


def faults(graph: Tree, interface: Interface) -> str:
    """One line if what the engine computes for a graph of a document can't be trusted, else ""."""
    if _is_random(graph):
        return RANDOM
    return _shared_ports(graph, interface)


def endless(graph: Tree) -> bool:
    """Whether the engine never gets done with ordering the edges: some aren't reached from where it starts."""
    edges = [as_mapping(edge, f"edge {name!r}") for name, edge in objects(graph.get("edges"), "edges")]
    pairs = [(str(edge.get("sender")), str(edge.get("receiver"))) for edge in edges]
    nodes = {name: as_mapping(tree, name) for name, tree in objects(graph.get("nodes"), "nodes")}
    start = set(nodes) - {receiver for _, receiver in pairs}
    if not start:
        start = {name for name, tree in nodes.items() if any(_has_default(port) for port in _ports(tree, name))}
    after: dict[str, list[str]] = {}
    for sender, receiver in pairs:
        after.setdefault(sender, []).append(receiver)
    reached, stack = set(start), list(start)
    while stack:
        new = [name for name in after.get(stack.pop(), ()) if name not in reached]
        reached.update(new)
        stack += new
    return not reached.issuperset(after)


def _ports(node: Tree, name: str) -> list[Tree]:
    return [as_mapping(port, name) for _, port in objects(node.get("input_ports"), name)]


def _has_default(port: Tree) -> bool:
    return port.get("default_value") is not None


def _is_random(graph: Tree) -> bool:
    called = (function for where, child in children(graph) for function, _ in functions(child, where))
    return any(map(_RANDOM_FUNCTION.fullmatch, called)) or any(_draws(value) for _, value in texts(graph))


def _draws(text: object) -> bool:
    return isinstance(text, str) and bool(_RANDOM_TEXT.search(text))


def _shared_ports(graph: Tree, interface: Interface) -> str:
    """What goes wrong at ports with several edges.

    The engine keeps the edges in a set, and its `+=` on the first value changes the sender's array. Nobody sees that
    where every sender runs each time its receiver does and hands its value to nobody else.
    """
    edges = [as_mapping(edge, f"edge {name!r}") for name, edge in objects(graph.get("edges"), "edges")]
    into = Counter((str(edge.get("receiver")), str(edge.get("receiver_port"))) for edge in edges)
    shared = {port for port, count in into.items() if count > 1}
    if not shared:
        return ""
    reduced = {
        (node, port)
        for node, tree in objects(graph.get("nodes"), "nodes")
        for port, of in objects(as_mapping(tree, node).get("input_ports"), node)
        if (as_mapping(of, port).get("reduce") or "overwrite") != "overwrite"
    }
    if shared - reduced:
        return UNORDERED
    sent = Counter((str(edge.get("sender")), str(edge.get("sender_port"))) for edge in edges)
    seen = {(one.node, one.id) for one in interface.outputs} | {port for port, count in sent.items() if count > 1}
    senders = {
        (str(edge.get("sender")), str(edge.get("sender_port")))
        for edge in edges
        if (str(edge.get("receiver")), str(edge.get("receiver_port"))) in shared
    }
    if senders & seen or as_mapping(graph.get("conditions"), "conditions").get("node_specific"):
        return IN_PLACE
    return ""
