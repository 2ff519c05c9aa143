"""Copies, tokens and collectives: a program for one device hands its operands on (more devices are refused)."""

from __future__ import annotations

import math
import re

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ....passes.words import words
from ..dialect import DOMAIN, form_of
from ..text.tree import Raw
from .arrays import full
from .support import Results, shape_of


@rule(DOMAIN, "copy", "copy-done")
def copy(op: Builder, node: Node) -> Results:
    """copy, copy-done (of what its copy-start hands on): the same values."""
    return [input_of(node, index) for index in range(len(node.outputs))]


@rule(DOMAIN, "copy-start")
def copy_start(op: Builder, node: Node) -> Results:
    """copy-start: the copy, the source, and a context that says nothing."""
    x = input_of(node, 0)
    return [x, x, op.const(0, DType.UINT32)][: len(node.outputs)]


@rule(DOMAIN, "after-all")
def after_all(op: Builder, node: Node) -> Results:
    """after-all: a token, which nothing reads."""
    return op.const(False, DType.BOOL, "token")


_COUNTS = ("replica_count", "num_partitions")


def refuse_more_devices(graph: Graph) -> None:
    """Refuse an HLO module that is to run on several devices, told by its header, and exchanges something.

    Raises:
        Unsupported: naming the first instruction that does.
    """
    header = form_of(graph).attributes
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
        raise Unsupported(node, f"it names several devices: {name}={text}")
    return groups


@rule(DOMAIN, "all-reduce", "all-gather", "all-to-all", "reduce-scatter")
def exchanged(op: Builder, node: Node) -> Results:
    """all-reduce, all-gather, all-to-all, reduce-scatter among one device."""
    _groups(node, "replica_groups")
    operands = [input_of(node, at) for at in range(len(node.outputs))]
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
    operands = [input_of(node, at) for at in range(len(node.outputs))]
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
    return [input_of(node, 0), op.const(0, DType.UINT32), *made[2:]] if node.op_type == "send" else made


@rule(DOMAIN, "infeed", "recv", "recv-done", "ragged-all-to-all")
def refused(op: Builder, node: Node) -> Results:
    """What comes from elsewhere while the program runs."""
    raise Unsupported(node, f"{node.op_type} communicates with the host")


HOST = frozenset(["infeed", "outfeed", "recv", "send"])
"""Opcodes that exchange values with the host: in a model that is converted, nothing depends on what they give."""


_LIST = re.compile(r"\{\s*(?:\{[\d,\s]*\}\s*,?\s*)*\}", re.ASCII)
_GROUP = re.compile(r"\{([\d,\s]*)\}", re.ASCII)
_IOTA = re.compile(r"\[([\d,]+)\]\s*<=\s*\[([\d,]+)\](?:\s*T\(([\d,]+)\))?", re.ASCII)
_MOST = 1 << 20  # devices


def replica_groups(text: str) -> tuple[tuple[int, ...], ...] | None:
    """The groups that `replica_groups=` (or the pairs that `source_target_pairs=`) lists.

    `{{0,1},{2,3}}`, `{}` (one group of all replicas: empty here), `[2,4]<=[8]`, `[4,2]<=[2,4]T(1,0)`. None where the
    text says it in a way of which only a device mesh gives the meaning.
    """
    text = text.strip()
    if _LIST.fullmatch(text):
        groups = [_integers(group) for group in _GROUP.findall(text[1:-1])]
        return None if None in groups else tuple(group for group in groups if group is not None)
    match = _IOTA.fullmatch(text)
    if not match:
        return None
    shape, reshaped = _integers(match[1]), _integers(match[2])
    order = _integers(match[3]) if match[3] else tuple(range(len(reshaped or ())))
    if not shape or not reshaped or order is None or sorted(order) != list(range(len(reshaped))):
        return None
    count = math.prod(reshaped)
    if count != math.prod(shape) or count > _MOST or len(reshaped) > 32 or len(shape) != 2:
        return None
    devices = np.arange(count).reshape(reshaped).transpose(order).reshape(shape)
    return tuple(tuple(row) for row in devices.tolist())


def _integers(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(map(int, parts)) if all(part.isdigit() and len(part) < 19 for part in parts) else None


RULES = collect(globals())
