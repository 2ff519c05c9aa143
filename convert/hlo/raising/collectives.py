"""What goes between devices: on one device it hands its operands on, on more it has no form here."""

from __future__ import annotations

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.infer import words
from ....passes.preconditions import dtype_of, given
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN, META, Form
from ..text.groups import replica_groups
from ..text.tree import Raw
from .arrays import full
from .support import Results, shape_of

_COUNTS = ("replica_count", "num_partitions")


def refuse_more_devices(graph: Graph) -> None:
    """Refuse an HLO module that is to run on several devices, told by its header, and exchanges something.

    Raises:
        Unsupported: naming the first instruction that does.
    """
    form = graph.meta.get(META)
    header = form.attributes if isinstance(form, Form) else {}
    many = [f"{name}={text}" for name in _COUNTS if (text := _text(header.get(name))) not in ("", "1")]
    if not many:
        return
    for inner in graph.graphs():
        for node in inner.nodes:
            if node.domain == DOMAIN and node.op_type in _EXCHANGES:
                raise Unsupported(node, f"the module runs on several devices ({', '.join(many)})")


_EXCHANGES = words(
    "all-gather all-reduce all-to-all collective-broadcast collective-permute partition-id ragged-all-to-all "
    "reduce-scatter replica-id"
)


def _text(attribute: Raw | None) -> str:
    return "" if attribute is None else attribute.text.strip()


def _groups(node: Node, name: str) -> tuple[tuple[int, ...], ...]:
    """The groups of devices (the pairs) that an attribute lists.

    Raises:
        Unsupported: it isn't a list of devices, or one of them isn't the only one.
    """
    text = _text(node.attributes.get(name)) or "{}"
    groups = replica_groups(text)
    if groups is None or any(device for group in groups for device in group):
        raise Unsupported(node, f"it speaks of several devices: {name}={text}")
    return groups


@rule(DOMAIN, "all-reduce", "all-gather", "all-to-all", "reduce-scatter")
def exchanged(op: Builder, node: Node) -> Results:
    """all-reduce, all-gather, all-to-all, reduce-scatter among one device."""
    _groups(node, "replica_groups")
    operands = [given(node, at) for at in range(len(node.outputs))]
    for old, new in zip(node.outputs, operands, strict=True):
        if old.tensor.shape != new.tensor.shape:
            raise Unsupported(node, f"it makes {old.type} of {new.type}, which several devices do")
    return operands


@rule(DOMAIN, "collective-broadcast")
def collective_broadcast(op: Builder, node: Node) -> Results:
    """collective-broadcast: a device that is in no group gets zeros."""
    groups = _groups(node, "replica_groups")
    return _received(op, node, not groups or any(groups))


@rule(DOMAIN, "collective-permute")
def collective_permute(op: Builder, node: Node) -> Results:
    """collective-permute: a device that nothing is sent to gets zeros."""
    pairs = _groups(node, "source_target_pairs")
    if any(len(pair) != 2 for pair in pairs) or len(node.inputs) != len(node.outputs):
        raise InvalidModel(f"{node!r}: its source_target_pairs aren't pairs")
    return _received(op, node, bool(pairs))


def _received(op: Builder, node: Node, arrives: bool) -> list[Value]:
    operands = [given(node, at) for at in range(len(node.outputs))]
    if arrives:
        return operands
    return [full(op, 0, dtype_of(node, value), shape_of(node, value)).value() for value in operands]


@rule(DOMAIN, "replica-id", "partition-id")
def device(op: Builder, node: Node) -> Results:
    """replica-id, partition-id: the only one's."""
    return op.const(0, dtype_of(node, node.outputs[0]))


@rule(DOMAIN, "outfeed", "send", "send-done")
def sent(op: Builder, node: Node) -> Results:
    """outfeed, send, send-done: the model gets nothing back but tokens (and of a send, what was sent)."""
    made = [op.const(False, DType.BOOL, "token") for _ in node.outputs]
    return [given(node, 0), op.const(0, DType.UINT32), *made[2:]] if node.op_type == "send" else made


@rule(DOMAIN, "infeed", "recv", "recv-done", "ragged-all-to-all")
def refused(op: Builder, node: Node) -> Results:
    """What comes from elsewhere while the program runs."""
    raise Unsupported(node, f"{node.op_type} exchanges values with something outside the model")


HOST = frozenset(["infeed", "outfeed", "recv", "send"])
"""Opcodes that exchange values with the host: in a model that is converted, nothing hangs on what they give."""

RULES = collect(globals())
