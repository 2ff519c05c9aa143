"""What hands its operand on: copies, tokens, views of memory, and what goes between devices when there is one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

from backedge.convert.hlo.raising.collectives import refuse_more_devices
from backedge.convert.hlo.write import to_text
from backedge.passes.errors import Unsupported
from backedge.passes.graph import NOTES
from jaxlib import _hlo

from .single_op import check, entry, graph_of, hub_of, operators, xla

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"


def test_copies_and_tokens() -> None:
    text = """HloModule m ENTRY e { x = f32[2,3,4] parameter(0) a = f32[2,3,4] copy(x) t = token[] after-all()
      b = f32[2,3,4] add-dependency(a, t) u = token[] after-all(t, t)
      ROOT c = f32[2,3,4] domain(b), domain={kind="sharding", entry={replicated}, exit={replicated}} }"""
    assert operators(check(text, [X], wanted=[X])) == ["Identity"]


# views of memory -------------------------------------------------------------------------------------

BITCASTS = [
    ("f32[2,3,4]{2,1,0}", "f32[6,4]{1,0}", X.reshape(6, 4)),
    ("f32[2,3,4]{2,1,0}", "f32[4,2,3]{0,2,1}", X.transpose(2, 0, 1)),
    ("f32[2,3,4]{0,1,2}", "f32[4,3,2]{2,1,0}", X.transpose(2, 1, 0)),
    ("f32[2,3,4]{1,2,0}", "f32[2,12]{1,0}", X.transpose(0, 2, 1).reshape(2, 12)),
    ("f32[2,3,4]", "f32[24]{0}", X.reshape(24)),
    ("f32[2,3,4]", "s32[2,3,4]", X.view(np.int32)),
    ("f32[2,3,4]{0,1,2}", "s32[2,3,4]{0,1,2}", X.view(np.int32)),
    ("f32[2,3,4]{2,1,0}", "s32[4,2,3]{0,2,1}", X.transpose(2, 0, 1).copy().view(np.int32)),
    ("f32[2,3,4]{1,2,0}", "u16[2,24]{1,0}", X.transpose(0, 2, 1).copy().view(np.uint16).reshape(2, 24)),
    ("f32[2,3,4]", "f64[3,4]", X.reshape(24).view(np.float64).reshape(3, 4)),
]


@pytest.mark.parametrize(("operand", "result", "wanted"), BITCASTS)
def test_bitcast(operand: str, result: str, wanted: np.ndarray) -> None:
    """The elements in memory stay where they are, and their bits as they are."""
    text = f"HloModule m ENTRY e {{ x = {operand} parameter(0) ROOT y = {result} bitcast(x) }}"
    check(text, [X], wanted=[wanted])


def test_bitcast_of_a_tuples_element() -> None:
    """How it lies in memory stands in the tuple's shape."""
    text = """HloModule m
swap { p = (f32[2,3]{0,1}, f32[2,3]{1,0}) parameter(0) a = f32[2,3]{0,1} get-tuple-element(p), index=0
  b = f32[2,3]{1,0} get-tuple-element(p), index=1
  ROOT r = (f32[3,2]{1,0}, f32[3,2]{1,0}) tuple(f32[3,2]{1,0} bitcast(a), f32[3,2]{1,0} bitcast(b)) }
ENTRY e { p = (f32[2,3]{0,1}, f32[2,3]{1,0}) parameter(0)
  ROOT c = (f32[3,2]{1,0}, f32[3,2]{1,0}) call(p), to_apply=swap }"""
    x = X[0, :2, :3].copy()
    check(text, [x, x], wanted=[x.T, x.reshape(3, 2)])


@pytest.mark.parametrize(
    ("operand", "result", "reason"),
    [
        ("f32[8,128]{1,0:T(8,128)}", "f32[1024]{0}", "layout"),
        ("pred[4]", "s8[4]", "reinterprets bool"),
        ("s4[8]", "s8[4]", "memory"),
        ("c64[2]", "f32[4]", "reinterprets complex64"),
    ],
)
def test_bitcasts_that_have_no_form(operand: str, result: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        hub_of(f"ENTRY e {{ x = {operand} parameter(0) ROOT y = {result} bitcast(x) }}")


FLIP = "i = s32[] {0}(v) m = s32[] constant(4194304) k = s32[] xor(i, m) w = f32[] {0}(k)"
PLACES = {
    "map": "f {{ v = f32[] parameter(0) {bits} ROOT r = f32[] copy(w) }}\n"
    "ENTRY e {{ x = f32[6] parameter(0) ROOT r = f32[6] map(x), dimensions={{0}}, to_apply=f }}",
    "comparator": "f {{ v = f32[] parameter(0) o = f32[] parameter(1) {bits} ROOT r = pred[] compare(w, o), "
    "direction=LT }}\nENTRY e {{ x = f32[6] parameter(0) ROOT r = f32[6] sort(x), dimensions={{0}}, to_apply=f }}",
    "keys": "f {{ a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] {op}(a) j = s32[] {op}(b) "
    "ROOT r = pred[] compare(i, j), direction=GT }}\n"
    "ENTRY e {{ x = f32[6] parameter(0) ROOT r = f32[6] sort(x), dimensions={{0}}, to_apply=f }}",
    "reduce": "f {{ a = f32[] parameter(0) v = f32[] parameter(1) {bits} ROOT r = f32[] maximum(a, w) }}\n"
    "ENTRY e {{ x = f32[6] parameter(0) z = f32[] constant(-9) "
    "ROOT r = f32[] reduce(x, z), dimensions={{0}}, to_apply=f }}",
    "window": "f {{ a = s32[] parameter(0) b = s32[] parameter(1) i = f32[] {op}(b) j = f32[] {op}(a) "
    "s = f32[] add(i, j) ROOT r = s32[] {op}(s) }}\nENTRY e {{ x = f32[6] parameter(0) y = s32[6] {op}(x) "
    "z = s32[] constant(0) w = s32[5] reduce-window(y, z), window={{size=2}}, to_apply=f ROOT r = f32[5] {op}(w) }}",
    "scatter": "f {{ a = f32[] parameter(0) v = f32[] parameter(1) {bits} ROOT r = f32[] add(a, w) }}\n"
    "ENTRY e {{ x = f32[6] parameter(0) n = s32[2,1] constant({{{{1}}, {{1}}}}) u = f32[2] constant({{2, 3}}) "
    "ROOT r = f32[6] scatter(x, n, u), update_window_dims={{}}, inserted_window_dims={{0}}, "
    "scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=f }}",
    "while": "b {{ p = (s32[], f32[]) parameter(0) n = s32[] get-tuple-element(p), index=0 o = s32[] constant(1) "
    "v = f32[] get-tuple-element(p), index=1 {bits} s = f32[] add(w, w) l = s32[] add(n, o) "
    "ROOT t = (s32[], f32[]) tuple(l, s) }}\n"
    "c {{ p = (s32[], f32[]) parameter(0) v = f32[] get-tuple-element(p), index=1 i = s32[] {op}(v) "
    "m = s32[] constant(1120403456) ROOT l = pred[] compare(i, m), direction=LT }}\n"
    "ENTRY e {{ x = f32[6] parameter(0) y = f32[1] slice(x), slice={{[1:2]}} v = f32[] reshape(y) "
    "z = s32[] constant(0) t = (s32[], f32[]) tuple(z, v) ROOT r = (s32[], f32[]) while(t), condition=c, body=b }}",
    "conditional": "f {{ v = f32[] parameter(0) {bits} ROOT r = f32[] add(w, v) }}\n"
    "g {{ v = f32[] parameter(0) ROOT r = f32[] negate(v) }}\n"
    "ENTRY e {{ x = f32[6] parameter(0) y = f32[1] slice(x), slice={{[1:2]}} v = f32[] reshape(y) i = s32[] {op}(v) "
    "z = s32[] constant(0) p = pred[] compare(i, z), direction=GT "
    "ROOT r = f32[] conditional(p, v, v), true_computation=f, false_computation=g }}",
    "call": "f {{ v = f32[6] parameter(0) i = s32[6] {op}(v) n = s32[6] negate(i) ROOT r = f32[6] {op}(n) }}\n"
    "ENTRY e {{ x = f32[6] parameter(0) ROOT r = f32[6] call(x), to_apply=f }}",
    "fusion": "f {{ v = f32[6] parameter(0) i = s32[6] {op}(v) n = s32[6] not(i) ROOT r = f32[6] {op}(n) }}\n"
    "ENTRY e {{ x = f32[6] parameter(0) ROOT r = f32[6] fusion(x), kind=kLoop, calls=f }}",
}
SOME = np.array([1.0, 3.5, -1.25, 0.75, 6.0, 2.5], np.float32)


@pytest.mark.parametrize("place", PLACES)
def test_a_bitcast_means_the_same_everywhere(place: str) -> None:
    """XLA refuses bitcasts, and says what bitcast-converts give."""
    bits = {op: PLACES[place].format(op=op, bits=FLIP.format(op)) for op in ("bitcast", "bitcast-convert")}
    plain = bits["bitcast-convert"].replace("fusion(x), kind=kLoop, calls=", "call(x), to_apply=")
    check(f"HloModule m\n{bits['bitcast']}", [SOME], wanted=xla(f"HloModule m\n{plain}", [SOME]))


HANDED_ON = [
    "c = {0} copy(v)",
    "c = {0} opt-barrier(v)",
    'c = {0} domain(v), domain={{kind="sharding", entry={{replicated}}, exit={{replicated}}}}',
    "k = token[] after-all() c = {0} add-dependency(v, k)",
]


@pytest.mark.parametrize("line", HANDED_ON, ids=["copy", "opt-barrier", "domain", "add-dependency"])
def test_whole_tuples_are_handed_on(line: str) -> None:
    """In the entry, and in a loop's body; written again they are what XLA reads."""
    pair = "(s32[], f32[3])"
    text = f"""HloModule m
b {{ v = {pair} parameter(0) {line.format(pair)} i = s32[] get-tuple-element(c), index=0
  x = f32[3] get-tuple-element(c), index=1 o = s32[] constant(1)
  ROOT t = {pair} tuple(s32[] add(i, o), f32[3] add(x, x)) }}
c {{ v = {pair} parameter(0) {line.format(pair)} i = s32[] get-tuple-element(c), index=0 n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT }}
ENTRY e {{ x = f32[3] parameter(0) z = s32[] constant(0) v = {pair} tuple(z, x) {line.format(pair)}
  ROOT w = {pair} while(c), condition=c, body=b }}"""
    x = np.array([1, -2, 0.5], np.float32)
    hub = check(text, [x], wanted=[np.int32(4), 16 * x])
    assert operators(hub).count("Loop") == 1
    again = to_text(graph_of(text))
    _hlo.hlo_module_from_text(again)
    opcode = line.rpartition("(")[0].split()[-1] if "domain" not in line else "domain"
    assert again.count(f" {opcode}(") == 3
    check(again, [x], wanted=[np.int32(4), 16 * x])


def test_a_loop_that_sends_something_away_carries_tokens() -> None:
    text = """b { p = (s32[], f32[3], token[]) parameter(0) i = s32[] get-tuple-element(p), index=0
  x = f32[3] get-tuple-element(p), index=1 k = token[] get-tuple-element(p), index=2 n = s32[] constant(1)
  o = token[] outfeed(x, k), outfeed_shape=f32[3]{0}
  ROOT t = (s32[], f32[3], token[]) tuple(s32[] add(i, n), f32[3] add(x, x), o) }
c { p = (s32[], f32[3], token[]) parameter(0) i = s32[] get-tuple-element(p), index=0 n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[3] parameter(0) z = s32[] constant(0) k = token[] after-all()
  v = (s32[], f32[3], token[]) tuple(z, x, k) w = (s32[], f32[3], token[]) while(v), condition=c, body=b
  ROOT r = f32[3] get-tuple-element(w), index=1 }"""
    x = np.array([1, -2, 0.5], np.float32)
    hub = check(text, [x], wanted=[16 * x])
    assert any("outfeed" in note for note in hub.meta[NOTES])


@pytest.mark.parametrize("opcode", ["outfeed", "send"])
def test_what_is_sent_away_is_left_out_and_told(opcode: str) -> None:
    more = {
        "outfeed": "o = token[] outfeed(x, k), outfeed_shape=f32[3]{0}",
        "send": "o = (f32[3], u32[], token[]) send(x, k), channel_id=1 d = token[] send-done(o), channel_id=1",
    }
    text = f"ENTRY e {{ x = f32[3] parameter(0) k = token[] after-all() {more[opcode]} ROOT y = f32[3] negate(x) }}"
    hub = hub_of(text)
    assert operators(hub) == ["Neg"]
    assert any(opcode in note and "left out" in note for note in hub.meta[NOTES])


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
