"""`while`s as HLO text, what they give by hand, and what loop each should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

F32 = np.float32
X = np.array([3.0, -1.0, 4.0, 1.5, -5.0, 9.0], F32)
ROWS = np.arange(12, dtype=F32).reshape(4, 3) ** 2 - 7


@dataclass(frozen=True)
class Case:
    """One module.

    Attributes:
        text: state, start, condition and body, put into a module by `module_of`.
        inputs: of the entry computation.
        outputs: what must come out, worked out by hand.
        slots: the kinds of the Loop's slots besides captured ones, sorted; None where no loop may be left.
        trip: whether the Loop has a trip count.
    """

    name: str
    state: str
    start: str
    condition: str
    body: str
    inputs: tuple[np.ndarray[Any, Any], ...]
    outputs: tuple[np.ndarray[Any, Any], ...]
    slots: str | None
    trip: bool = False


def module_of(case: Case) -> str:
    """The text of a whole module: `start` ends in a tuple `init`, `body` in a tuple `next`, `condition` in a pred."""
    types = [part.strip() for part in case.state.split(";")]
    state = f"({', '.join(types)})"

    def taken(prefix: str) -> str:
        return "\n".join(f"  {prefix}{k} = {t} get-tuple-element(p), index={k}" for k, t in enumerate(types))

    return f"""HloModule m

body {{
  p = {state} parameter(0)
{taken("t")}
{case.body}
}}

condition {{
  p = {state} parameter(0)
{taken("t")}
{case.condition}
}}

ENTRY main {{
{case.start}
  ROOT w = {state} while(init), condition=condition, body=body
}}
"""


def _i32(*numbers: int) -> np.ndarray[Any, Any]:
    return np.array(numbers[0] if len(numbers) == 1 else numbers, np.int32)


_ZERO = "  zero = s32[] constant(0)\n"
_ONE = "  one = s32[] constant(1)\n"
_NEXT = _ONE + "  i = s32[] add(t0, one)\n"


def _below(limit: int, direction: str = "LT") -> str:
    return f"  n = s32[] constant({limit})\n  ROOT go = pred[] compare(t0, n), direction={direction}"


def _sum(body: str, kept: str = "t2") -> str:
    """A body that adds to t1 what `body` calls `x`."""
    return f"{_NEXT}{body}\n  sum = f32[] add(t1, x)\n  ROOT next = (s32[], f32[], f32[6]) tuple(i, sum, {kept})"


_SUM_START = (
    "  xs = f32[6] parameter(0)\n  zero = s32[] constant(0)\n  f = f32[] constant(0)\n"
    "  ROOT init = (s32[], f32[], f32[6]) tuple(zero, f, xs)"
).replace("ROOT ", "")
_SUM = "s32[]; f32[]; f32[6]"
_AT = "  part = f32[1] dynamic-slice(t2, {at}), dynamic_slice_sizes={{1}}\n  x = f32[] reshape(part)"


def _summing(
    name: str, body: str, trips: int, total: float, slots: str, start: int = 0, step: int = 1, **more: Any
) -> Case:
    text = _sum(body).replace("constant(1)", f"constant({step})", 1)
    first = _SUM_START.replace("constant(0)", f"constant({start})", 1)
    end = start + trips * step
    condition = more.pop("condition", _below(start + trips * step))
    return Case(name, _SUM, first, condition, text, (X,), (_i32(end), F32(total), X), slots, **more)


SUMS = [
    _summing("forward", _AT.format(at="t0"), 6, X.sum(), "carried sliced"),
    _summing("first_four", _AT.format(at="t0"), 4, X[:4].sum(), "carried sliced"),
    _summing("from_two", _AT.format(at="t0"), 4, X[2:].sum(), "carried sliced", start=2),
    _summing("one_trip", _AT.format(at="t0"), 1, X[0], "carried sliced"),
    _summing("at_most", _AT.format(at="t0"), 6, X.sum(), "carried sliced", condition=_below(5, "LE")),
    _summing("until_equal", _AT.format(at="t0"), 6, X.sum(), "carried sliced", condition=_below(6, "NE")),
    _summing(
        "reverse",
        "  five = s32[] constant(5)\n  at = s32[] subtract(five, t0)\n" + _AT.format(at="at"),
        6,
        X.sum(),
        "carried sliced",
    ),
    _summing(
        "counts_down", _AT.format(at="t0"), 6, X.sum(), "carried sliced", start=5, step=-1, condition=_below(0, "GE")
    ),
    _summing(
        "from_the_end_if_negative",
        "  z = s32[] constant(0)\n  six = s32[] constant(6)\n  neg = pred[] compare(t0, z), direction=LT\n"
        "  wrapped = s32[] add(t0, six)\n  at = s32[] select(neg, wrapped, t0)\n" + _AT.format(at="at"),
        6,
        X.sum(),
        "carried sliced",
    ),
    # what leaves the sequence is clamped, so no slice says it
    _summing("past_the_end", _AT.format(at="t0"), 8, X.sum() + 2 * X[5], "carried iteration", trip=True),
    _summing("one_further", _AT.format(at="i"), 6, X[1:].sum() + X[5], "carried iteration", trip=True),
    # every other element: parts don't follow upon each other
    _summing("steps_of_two", _AT.format(at="t0"), 3, X[0] + X[2] + X[4], "carried iteration", step=2, trip=True),
    # the sequence changes while it is read
    Case(
        "changes",
        _SUM,
        _SUM_START,
        _below(6),
        _sum(_AT.format(at="t0") + "\n  turned = f32[6] negate(t2)", "turned"),
        (X,),
        (_i32(6), F32(X[0] - X[1] + X[2] - X[3] + X[4] - X[5]), X),
        "carried carried iteration",
        trip=True,
    ),
    # pairs
    Case(
        "pairs",
        "s32[]; f32[2]; f32[6]",
        _SUM_START.replace("f = f32[] constant(0)", "f = f32[2] constant({0, 0})").replace("f32[],", "f32[2],"),
        _below(6),
        "  two = s32[] constant(2)\n  i = s32[] add(t0, two)\n"
        "  x = f32[2] dynamic-slice(t2, t0), dynamic_slice_sizes={2}\n  sum = f32[2] add(t1, x)\n"
        "  ROOT next = (s32[], f32[2], f32[6]) tuple(i, sum, t2)",
        (X,),
        (_i32(6), np.array([X[0] + X[2] + X[4], X[1] + X[3] + X[5]], F32), X),
        "carried sliced",
    ),
    # stops early: the condition asks of the sum, too
    _summing(
        "early",
        _AT.format(at="t0"),
        3,
        6.0,
        "carried carried condition sliced",
        condition="  n = s32[] constant(6)\n  below = pred[] compare(t0, n), direction=LT\n  most = f32[] constant(5)\n"
        "  small = pred[] compare(t1, most), direction=LT\n  ROOT go = pred[] and(below, small)",
    ),
    _summing("no_trips", _AT.format(at="t0"), 0, 0.0, None, condition=_below(-3)),
]

_BUFFER = (
    "  init_buffer = f32[4,3] parameter(0)\n  zero = s32[] constant(0)\n"
    "  init = (s32[], f32[4,3]) tuple(zero, init_buffer)"
)


def _filling(name: str, body: str, outputs: np.ndarray[Any, Any], slots: str, limit: int = 4, **more: Any) -> Case:
    text = _NEXT + body + "\n  ROOT next = (s32[], f32[4,3]) tuple(i, filled)"
    return Case(name, "s32[]; f32[4,3]", _BUFFER, _below(limit), text, (ROWS,), (_i32(limit), outputs), slots, **more)


_VALUE = "  v = f32[] convert(t0)\n  row = f32[1,3] broadcast(v), dimensions={}\n  z = s32[] constant(0)\n"
_COUNTED = np.broadcast_to(np.arange(4, dtype=F32)[:, None], (4, 3))


def _put(at: str, column: str = "z") -> str:
    return f"{_VALUE}  filled = f32[4,3] dynamic-update-slice(t1, row, {at}, {column})"


BUFFERS = [
    _filling("stacks", _put("t0"), _COUNTED, "iteration stacked", trip=True),
    _filling(
        "stacks_in_reverse",
        "  three = s32[] constant(3)\n  at = s32[] subtract(three, t0)\n" + _put("at"),
        _COUNTED[::-1],
        "iteration stacked",
        trip=True,
    ),
    _filling(
        "stacks_some", _put("t0"), np.concatenate([_COUNTED[:2], ROWS[2:]]), "iteration stacked", limit=2, trip=True
    ),
    # the column's start is clamped to 0 whatever it is: the row is as wide as the buffer
    _filling("any_column", _put("t0", "t0"), _COUNTED, "iteration stacked", trip=True),
    # the last row is written twice
    _filling(
        "one_further",
        _put("i"),
        np.stack([ROWS[0], _COUNTED[0], _COUNTED[1], _COUNTED[3]]),
        "carried iteration",
        trip=True,
    ),
    # it looks at what it wrote
    _filling(
        "reads_back",
        "  z = s32[] constant(0)\n  old = f32[1,3] dynamic-slice(t1, z, z), dynamic_slice_sizes={1,3}\n"
        "  v = f32[] constant(1)\n  ones = f32[1,3] broadcast(v), dimensions={}\n  row = f32[1,3] add(old, ones)\n"
        "  filled = f32[4,3] dynamic-update-slice(t1, row, t0, z)",
        np.stack([ROWS[0] + 1, ROWS[0] + 2, ROWS[0] + 2, ROWS[0] + 2]),
        "carried iteration",
        trip=True,
    ),
    _filling(
        "columns",
        "  v = f32[] convert(t0)\n  column = f32[4,1] broadcast(v), dimensions={}\n  z = s32[] constant(0)\n"
        "  filled = f32[4,3] dynamic-update-slice(t1, column, z, t0)",
        np.broadcast_to(np.arange(3, dtype=F32), (4, 3)),
        "iteration stacked",
        limit=3,
        trip=True,
    ),
]

OTHERS = [
    # the limit is only known when the model runs
    Case(
        "open_limit",
        "s32[]; s32[]; f32[]",
        "  n = s32[] parameter(0)\n  x = f32[] parameter(1)\n  zero = s32[] constant(0)\n"
        "  init = (s32[], s32[], f32[]) tuple(zero, n, x)",
        "  ROOT go = pred[] compare(t0, t1), direction=LT",
        _NEXT + "  x = f32[] add(t2, t2)\n  ROOT next = (s32[], s32[], f32[]) tuple(i, t1, x)",
        (_i32(5), F32(1.5)),
        (_i32(5), _i32(5), F32(48)),
        "carried",
        trip=True,
    ),
    # it grows itself
    Case(
        "moving_limit",
        "s32[]; s32[]",
        "  n = s32[] parameter(0)\n  zero = s32[] constant(0)\n  init = (s32[], s32[]) tuple(zero, n)",
        "  ROOT go = pred[] compare(t0, t1), direction=LT",
        _ONE + "  two = s32[] constant(2)\n  i = s32[] add(t0, two)\n  n = s32[] add(t1, one)\n"
        "  ROOT next = (s32[], s32[]) tuple(i, n)",
        (_i32(4),),
        (_i32(8), _i32(8)),
        "carried carried condition",
    ),
    # nothing counts
    Case(
        "halves",
        "f32[]",
        "  x = f32[] parameter(0)\n  init = (f32[]) tuple(x)",
        "  one = f32[] constant(1)\n  ROOT go = pred[] compare(t0, one), direction=GT",
        "  half = f32[] constant(0.5)\n  x = f32[] multiply(t0, half)\n  ROOT next = (f32[]) tuple(x)",
        (F32(100),),
        (F32(0.78125),),
        "carried condition",
    ),
    # 250, 252, 254, 0 (u8), 2: it wraps, so no trip count says it
    Case(
        "wraps",
        "u8[]; s32[]",
        "  start = u8[] constant(250)\n  n = s32[] parameter(0)\n  init = (u8[], s32[]) tuple(start, n)",
        "  two = u8[] constant(2)\n  ROOT go = pred[] compare(t0, two), direction=NE",
        _ONE + "  step = u8[] constant(2)\n  i = u8[] add(t0, step)\n  n = s32[] add(t1, one)\n"
        "  ROOT next = (u8[], s32[]) tuple(i, n)",
        (_i32(0),),
        (np.array(2, np.uint8), _i32(4)),
        "carried carried condition",
    ),
]

CASES = [*SUMS, *BUFFERS, *OTHERS]
