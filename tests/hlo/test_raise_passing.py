"""What hands its operand on: copies, tokens, views of memory, and what goes between devices when there is one."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.hlo.raising.collectives import refuse_more_devices
from backedge.convert.hlo.raising.passing import note_layouts
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph

from .single_op import check, entry, graph_of, hub_of, operators

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"


def test_copies_and_tokens() -> None:
    text = """HloModule m ENTRY e { x = f32[2,3,4] parameter(0) a = f32[2,3,4] copy(x) t = token[] after-all()
      b = f32[2,3,4] add-dependency(a, t) u = token[] after-all(t, t)
      ROOT c = f32[2,3,4] domain(b), domain={kind="sharding", entry={replicated}, exit={replicated}} }"""
    assert operators(check(text, [X], wanted=[X])) == ["Identity"]


def with_layouts(text: str) -> Graph:
    graph = graph_of(text)
    note_layouts(graph)
    return graph


BITCASTS = [
    ("f32[2,3,4]{2,1,0}", "f32[6,4]{1,0}", X.reshape(6, 4)),
    ("f32[2,3,4]{2,1,0}", "f32[4,2,3]{0,2,1}", X.transpose(2, 0, 1)),
    ("f32[2,3,4]{0,1,2}", "f32[4,3,2]{2,1,0}", X.transpose(2, 1, 0)),
    ("f32[2,3,4]{1,2,0}", "f32[2,12]{1,0}", X.transpose(0, 2, 1).reshape(2, 12)),
    ("f32[2,3,4]", "f32[24]{0}", X.reshape(24)),
]


@pytest.mark.parametrize(("operand", "result", "wanted"), BITCASTS)
def test_bitcast(operand: str, result: str, wanted: np.ndarray) -> None:
    """The elements in memory stay where they are."""
    text = f"HloModule m ENTRY e {{ x = {operand} parameter(0) ROOT y = {result} bitcast(x) }}"
    check(text, [X], wanted=[wanted], graph=with_layouts(text))


def test_bitcasts_that_have_no_form() -> None:
    with pytest.raises(Unsupported, match="sees"):
        hub_of("HloModule m ENTRY e { x = f32[4] parameter(0) ROOT y = s32[4] bitcast(x) }")
    with pytest.raises(Unsupported, match="layout"):
        hub_of(with_layouts("ENTRY e { x = f32[8,128]{1,0:T(8,128)} parameter(0) ROOT y = f32[1024]{0} bitcast(x) }"))


# between devices -------------------------------------------------------------------------------------

ALONE = [
    "a = f32[4] all-reduce(x), replica_groups={{0}}, to_apply=add",
    "b = f32[4] all-reduce(x), replica_groups={}, to_apply=add",
    "c = f32[4] collective-permute(x), source_target_pairs={{0,0}}",
    "d = f32[4] collective-permute(x), source_target_pairs={}",
    "e = f32[4] all-gather(x), replica_groups={}, dimensions={0}",
    "f = f32[4] all-gather(x), replica_groups=[1,1]<=[1], dimensions={0}",
    "g = f32[4] all-to-all(x), replica_groups={{0}}, dimensions={0}",
    "h = f32[4] reduce-scatter(x), replica_groups={{0}}, dimensions={0}, to_apply=add",
    "i = u32[] replica-id()",
    "j = u32[] partition-id()",
]


def test_one_device() -> None:
    """What nothing is sent to gets zeros."""
    check(entry({"x": "f32[4]"}, ALONE, ADD), [X[0, 0]])


def test_broadcast_among_one() -> None:
    """XLA:CPU doesn't have it."""
    lines = [
        "a = f32[4] collective-broadcast(x), replica_groups={{0}}",
        "b = f32[4] collective-broadcast(x), replica_groups={}",
    ]
    check(entry({"x": "f32[4]"}, lines), [X[0, 0]], wanted=[X[0, 0], X[0, 0]])


@pytest.mark.parametrize(
    "line",
    [
        "r = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=add",
        "r = f32[4] all-reduce(x), replica_groups=[1,2]<=[2], to_apply=add",
        "r = f32[8] all-gather(x), replica_groups={{0,1}}, dimensions={0}",
        "r = f32[8] all-gather(x), replica_groups={}, dimensions={0}",
        "r = f32[4] collective-permute(x), source_target_pairs={{0,1},{1,0}}",
    ],
)
def test_several_devices_are_refused(line: str) -> None:
    with pytest.raises(Unsupported, match="several devices"):
        hub_of(entry({"x": "f32[4]"}, [line], ADD))


@pytest.mark.parametrize("header", ["replica_count=2", "num_partitions=4"])
def test_modules_for_several_devices_are_refused(header: str) -> None:
    text = entry({"x": "f32[4]"}, ALONE[:1], ADD).replace("HloModule checked", f"HloModule checked, {header}")
    with pytest.raises(Unsupported, match=header):
        refuse_more_devices(graph_of(text))
    alone = entry({"x": "f32[4]"}, ["y = f32[4] copy(x)"]).replace("HloModule checked", f"HloModule checked, {header}")
    refuse_more_devices(graph_of(alone))


@pytest.mark.parametrize("opcode", ["infeed", "recv"])
def test_what_comes_from_elsewhere_is_refused(opcode: str) -> None:
    more = {"infeed": "(f32[2], token[]) infeed(t)", "recv": "(f32[2], u32[], token[]) recv(t), channel_id=1"}
    text = f"HloModule m ENTRY e {{ t = token[] after-all() i = {more[opcode]} "
    text += "ROOT r = f32[2] get-tuple-element(i), index=0 }"
    with pytest.raises(Unsupported, match=opcode):
        hub_of(text)
