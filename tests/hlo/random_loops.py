"""Loops, branches and calls of random modules: counters of all kinds, near-misses of what a scan is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from .random_folds import OPERATORS
from .random_modules import FLOATS, INTS, Missing, Scope, attempt
from .random_operators import braces
from .random_values import DTYPES, Value, is_float

_MOST_TRIPS = 40
_DEPTH = 2
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "NE": lambda a, b: a != b,
}
_TURNED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}


@dataclass
class _Counter:
    """A counter of a loop, and what it is compared with."""

    dtype: str
    start: int
    step: int
    limit: int
    growth: int  # of the limit, in each pass
    sense: str

    def wrap(self, number: int) -> int:
        info = np.iinfo(DTYPES[self.dtype])
        low, span = int(info.min), int(info.max) - int(info.min) + 1
        return (number - low) % span + low

    def asks(self) -> Iterator[bool]:
        """Whether the comparison holds, before each pass."""
        number, limit = self.start, self.limit
        while True:
            yield _COMPARE[self.sense](number, limit)
            number, limit = self.wrap(number + self.step), self.wrap(limit + self.growth)

    def trips(self) -> int | None:
        """How often the loop runs; None for too often."""
        return _first_false(self.asks())


def _first_false(asked: Iterator[bool]) -> int | None:
    return next((trip for trip, goes in enumerate(islice(asked, _MOST_TRIPS)) if not goes), None)


def _counter(scope: Scope) -> _Counter:
    random = scope.random
    dtype = random.choice(("s32", "s32", "s32", "s32", "s64", "s8", "u8", "u32"))
    info = np.iinfo(DTYPES[dtype])
    least, most = int(info.min), int(info.max)
    for _ in range(50):
        step = random.choice((1, 1, 1, 1, 2, 3, -1, -1, -2))
        trips = random.choice((0, 1, 1, 2, 3, 3, 4, 4, 5, 6))
        start = (
            random.choice((0, 0, 0, 0, 1, 2, -2, most - 3, least + 1, most - 1))
            if step > 0
            else random.choice((trips - 1, trips, 3, 5, least + 2, most))
        )
        if step < 0 and random.random() < 0.6:
            start = -step * (trips - 1) + random.choice((0, 0, 0, 1))
        sense = random.choice(("LT", "LT", "LE", "NE")) if step > 0 else random.choice(("GT", "GE", "GE", "NE"))
        limit = start + trips * step - ((step > 0) - (step < 0) if sense in ("LE", "GE") else 0)
        limit += random.choice((0, 0, 0, 0, 1, -1))
        growth = random.choice((0,) * 12 + (1, -1))
        counter = _Counter(dtype, start, step, limit, growth, sense)
        if random.random() < 0.15:
            counter.limit = counter.wrap(counter.limit)
        if all(least <= number <= most for number in (counter.start, counter.limit)) and counter.trips() is not None:
            return counter
    raise Missing


@dataclass
class _Slot:
    """One value of the state: what it is outside, in the body, and behind it."""

    initial: Value
    inside: Value
    after: Value | None = None
    role: str = ""


def _number(scope: Scope, dtype: str, number: int) -> Value:
    """A number: a constant, sometimes one that is only known when the module runs."""
    if not scope.depth and scope.random.random() < 0.25:
        array = np.asarray(number, DTYPES[dtype])
        scope.maker.inputs.append(array)
        return scope.emit(Value.of(dtype, array), "parameter", [str(len(scope.maker.inputs) - 1)])
    made = scope.number(dtype, number)
    if scope.random.random() < 0.08:
        return scope.emit(made, "copy", [made])
    return made


def while_loop(scope: Scope) -> list[Value]:
    if scope.depth >= _DEPTH:
        raise Missing
    random = scope.random
    counters = [_counter(scope) for _ in range(random.choice((1, 1, 1, 2)))]
    trips = counters[0].trips() or 0
    initial: list[tuple[Value, str]] = []
    for counter in counters:
        initial.append((_number(scope, counter.dtype, counter.start), "counter"))
    limits = {}
    for place, counter in enumerate(counters):
        if counter.growth or random.random() < 0.3:
            limits[place] = len(initial)
            initial.append((_number(scope, counter.dtype, counter.limit), "limit"))
    steps = {}
    for place, counter in enumerate(counters):
        if random.random() < 0.15:
            steps[place] = len(initial)
            initial.append(
                (
                    _number(
                        scope,
                        counter.dtype,
                        counter.step if not counter.dtype.startswith("u") else counter.wrap(counter.step),
                    ),
                    "step",
                )
            )
    for role, least in (("sequence", 0), ("buffer", 0), ("state", 1), ("idle", 0), ("rotating", 0)):
        for _ in range(random.choice((least, 1, 1, 2)) if role != "rotating" else random.choice((0, 0, 0, 2, 3))):
            initial.append((_initial(scope, role, trips, initial), role))
    if random.random() < 0.15:  # one value in two slots
        value, _ = random.choice(initial)
        initial.append((value, random.choice(("state", "idle", "sequence"))))
    order = list(range(len(initial)))
    if random.random() < 0.4:
        random.shuffle(order)
    place_of = {old: new for new, old in enumerate(order)}
    state = [initial[old] for old in order]
    inner = Scope(scope.maker, scope.depth + 1)
    slots = _enter(inner, state)
    body = _body(inner, slots, counters, place_of, limits, steps, trips)
    condition = _condition(scope, slots, counters, place_of, limits)
    types = f"({', '.join(slot.initial.type for slot in slots)})"
    name = scope.maker.name()
    scope.lines.append(f"{name} = {types} tuple({', '.join(slot.initial.name for slot in slots)})")
    loop = scope.maker.name()
    scope.lines.append(f"{loop} = {types} while({name}), condition={condition}, body={body}")
    results = []
    for place, slot in enumerate(slots):
        assert slot.after is not None
        like = _wider(replace(slot.initial, known=None), slot.after)
        results.append(scope.emit(like, "get-tuple-element", [loop], f"index={place}"))
    return results


def _wider(one: Value, other: Value) -> Value:
    return replace(
        one,
        bound=max(one.bound, other.bound),
        fraction=max(one.fraction, other.fraction),
        error=max(one.error, other.error),
    )


def _initial(scope: Scope, role: str, trips: int, before: Sequence[tuple[Value, str]]) -> Value:
    random = scope.random
    rotating = [value for value, kind in before if kind == "rotating"]
    if rotating:
        return scope.like(replace(rotating[0], known=None))
    dtype = random.choice((*FLOATS, *INTS, "pred"))
    if role in ("sequence", "buffer"):
        shape = [random.choice((1, 2, 3)) for _ in range(random.choice((0, 1, 1)))]
        length = max(trips * random.choice((1, 1, 1, 1, 2)) + random.choice((0, 0, 0, 0, 1, -1)), 1)
        shape.insert(random.randint(0, len(shape)), min(length, 12))
        same = [
            value
            for value in scope.values
            if len(value.shape) in (1, 2)
            and value.dtype in (*FLOATS, *INTS, "pred")
            and max(value.shape) >= length
            and not value.error
        ]
        if same and random.random() < 0.3:
            return random.choice(same)
        return scope.new(dtype, tuple(shape))
    if random.random() < 0.4:
        try:
            return scope.pick(lambda one: one.size <= 30 and one.dtype != "c64" and one.bound <= 64)
        except Missing:
            pass
    shape = tuple(random.choice((1, 2, 3)) for _ in range(random.choice((0, 0, 1, 2))))
    return scope.new(dtype, shape)


def _enter(inner: Scope, state: Sequence[tuple[Value, str]]) -> list[_Slot]:
    """The parameter of a body or a condition, and its parts."""
    name = inner.maker.name()
    inner.lines.append(f"{name} = ({', '.join(value.type for value, _ in state)}) parameter(0)")
    slots = []
    for place, (value, role) in enumerate(state):
        like = replace(value, known=None)
        if role not in ("sequence", "idle") and is_float(value.dtype):
            like = replace(like, bound=max(value.bound, 64.0), fraction=max(value.fraction, 3))
        slots.append(_Slot(value, inner.emit(like, "get-tuple-element", [name], f"index={place}"), None, role))
    return slots


def _place(inner: Scope, counter: Value, other: Value, trips: int, length: int) -> Value:
    """Where a pass takes or puts a part: near the counter."""
    random, dtype = inner.random, counter.dtype
    kind = random.random()
    plain = replace(counter, known=None)

    def number(value: int) -> Value:
        info = np.iinfo(DTYPES[dtype])
        return inner.number(dtype, min(max(value, int(info.min)), int(info.max)))

    if kind < 0.45:
        return counter
    if kind < 0.55:
        return inner.emit(plain, "subtract", [number(random.choice((trips - 1, trips, length - 1))), counter])
    if kind < 0.65:
        return inner.emit(plain, "add", [counter, number(random.choice((1, -1, 2)))])
    if kind < 0.72:
        return inner.emit(plain, "clamp", [number(0), counter, number(random.choice((length - 1, length, 1)))])
    if kind < 0.82:
        zero = number(0)
        negative = inner.emit(Value("", "pred", ()), "compare", [counter, zero], "direction=LT")
        moved = inner.emit(plain, "add", [counter, number(length)])
        return inner.emit(plain, "select", [negative, moved, counter])
    if kind < 0.88:
        return inner.emit(plain, "multiply", [counter, number(random.choice((2, -1, 3)))])
    if kind < 0.92:
        return inner.emit(plain, random.choice(("maximum", "minimum")), [counter, number(random.randint(0, 3))])
    if kind < 0.95:
        wide = random.choice(("s64", "s32", "s8"))
        return inner.emit(replace(plain, dtype=wide), "convert", [counter])
    return other


def _others(inner: Scope, place: Value, shape: Sequence[int], axis: int) -> list[Value]:
    """Starts along all axes: the place along one, along the others mostly nothing."""
    zero = inner.number(place.dtype, 0)
    return [place if k == axis else (zero if inner.random.random() < 0.85 else place) for k in range(len(shape))]


def _body(
    inner: Scope,
    slots: list[_Slot],
    counters: Sequence[_Counter],
    place_of: dict[int, int],
    limits: dict[int, int],
    steps: dict[int, int],
    trips: int,
) -> str:
    random = inner.random
    inside = [slots[place_of[k]] for k in range(len(counters))]
    nexts = []
    for k, counter in enumerate(counters):
        slot = inside[k]
        step = counter.step
        unsigned = counter.dtype.startswith("u")
        if k in steps:
            other = slots[place_of[steps[k]]].inside
            made = inner.emit(slot.inside, "add", random.choice(([slot.inside, other], [other, slot.inside])))
        elif (step < 0 and (unsigned or random.random() < 0.7)) or (not unsigned and random.random() < 0.1):
            made = inner.emit(slot.inside, "subtract", [slot.inside, inner.number(counter.dtype, -step)])
        else:
            one = inner.number(counter.dtype, step)
            made = inner.emit(slot.inside, "add", random.choice(([slot.inside, one], [one, slot.inside])))
        nexts.append(made)
        slot.after = made
    for k, where in limits.items():
        slot = slots[place_of[where]]
        growth = counters[k].growth
        if growth:
            one = inner.number(counters[k].dtype, abs(growth))
            slot.after = inner.emit(slot.inside, "add" if growth > 0 else "subtract", [slot.inside, one])
    index = inside[0].inside

    def place(length: int) -> Value:
        other = random.choice([inside[-1].inside, nexts[0]])
        return _place(inner, index, other, trips, length)

    sequences = [slot for slot in slots if slot.role == "sequence" and slot.inside.shape]
    for slot in sequences:
        shape = slot.inside.shape
        axis = random.randrange(len(shape))
        size = min(random.choice((1, 1, 1, 1, 2)), shape[axis])
        sizes = tuple(size if k == axis else dim for k, dim in enumerate(shape))
        starts = _others(inner, place(shape[axis]), shape, axis)
        part = inner.emit(
            replace(slot.inside, shape=sizes),
            "dynamic-slice",
            [slot.inside, *starts],
            f"dynamic_slice_sizes={braces(sizes)}",
        )
        if random.random() < 0.6 and size == 1:
            inner.emit(replace(part, shape=sizes[:axis] + sizes[axis + 1 :]), "reshape", [part])
    for slot in slots:
        if slot.role == "buffer" and random.random() < 0.15:  # looked at
            attempt(inner, lambda scope, slot=slot: scope.emit(slot.inside, "copy", [slot.inside]))
    for _ in range(random.randint(1, 5)):
        attempt(inner, random.choice(OPERATORS if random.random() < 0.85 else LOOPS))
    for slot in slots:
        if slot.role == "buffer" and slot.inside.shape:
            _write(inner, slot, place)
    rotating = [slot for slot in slots if slot.role == "rotating"]
    for slot, other in zip(rotating, [*rotating[1:], *rotating[:1]], strict=True):
        slot.after = other.inside
    for slot in slots:
        if slot.after is None:
            slot.after = _next(inner, slot) if slot.role == "state" else slot.inside
    outputs = [slot.after for slot in slots if slot.after is not None]
    root = inner.maker.name()
    inner.lines.append(
        f"{root} = ({', '.join(one.type for one in outputs)}) tuple({', '.join(one.name for one in outputs)})"
    )
    return inner.maker.add(inner, root)


def _write(inner: Scope, slot: _Slot, place: Callable[[int], Value]) -> None:
    random, buffer = inner.random, slot.inside
    shape = buffer.shape
    axis = random.randrange(len(shape))
    size = min(random.choice((1, 1, 1, 1, 2)), shape[axis])
    sizes = tuple(size if k == axis else dim for k, dim in enumerate(shape))
    flat = tuple(dim for k, dim in enumerate(shape) if k != axis)

    def fits(one: Value) -> bool:
        right = one.dtype == buffer.dtype and not one.error and one.bound <= 64 and one.fraction <= buffer.fraction
        return right and one.shape in ((sizes, flat) if size == 1 else (sizes,))

    try:
        update = inner.pick(fits)
    except Missing:
        numbers = [
            one
            for one in inner.values
            if one.shape == () and one.dtype == buffer.dtype and fits(replace(one, shape=sizes))
        ]
        scalar = random.choice(numbers) if numbers else inner.new(buffer.dtype, ())
        update = inner.emit(replace(scalar, shape=sizes, known=None), "broadcast", [scalar], "dimensions={}")
    if update.shape != sizes:
        update = inner.emit(replace(update, shape=sizes), "reshape", [update])
    starts = _others(inner, place(shape[axis]), shape, axis)
    slot.after = inner.emit(buffer, "dynamic-update-slice", [buffer, update, *starts])


def _next(inner: Scope, slot: _Slot) -> Value:
    """What becomes of a value of the state: something of its type, made small again if it is a float."""
    random, old = inner.random, slot.inside
    found = [one for one in inner.values if one.dtype == old.dtype and one.shape == old.shape and one is not old]
    found = [one for one in found if not one.error]
    if not found or random.random() < 0.2:
        other = inner.new(old.dtype, old.shape)
        opcode = "xor" if old.dtype == "pred" else "add"
        bound, fraction = old.bound + other.bound, max(old.fraction, other.fraction)
        found = [inner.emit(replace(old, bound=bound, fraction=fraction, known=None), opcode, [old, other])]
    made = random.choice(found[-5:])
    if not is_float(old.dtype) or (made.bound <= old.bound and made.fraction <= old.fraction):
        return made
    most = {"bf16": 16.0, "f16": 32.0}.get(old.dtype, 64.0)
    if made.fraction > old.fraction:
        made = inner.emit(replace(made, bound=made.bound + 1, fraction=0), "floor", [made])
    low, high = (inner.number(old.dtype, number) for number in (-most, most))
    return inner.emit(replace(made, bound=most), "clamp", [low, made, high])


def _condition(
    scope: Scope, slots: list[_Slot], counters: Sequence[_Counter], place_of: dict[int, int], limits: dict[int, int]
) -> str:
    random, inner = scope.random, Scope(scope.maker, _DEPTH + 1)
    twins = [slot.inside for slot in _enter(inner, [(slot.initial, "idle") for slot in slots])]

    def against(k: int) -> Value:
        counter, own = counters[k], twins[place_of[k]]
        limit = twins[place_of[limits[k]]] if k in limits else inner.number(counter.dtype, counter.limit)
        sense, operands = counter.sense, [own, limit]
        if random.random() < 0.2:
            sense, operands = _TURNED[sense], operands[::-1]
        return inner.emit(Value("", "pred", ()), "compare", operands, f"direction={sense}")

    go = against(0)
    pred = Value("", "pred", ())
    if len(counters) == 2 and random.random() < 0.4:
        opcode = random.choice(("and", "and", "or"))
        first, second = (counter.asks() for counter in counters)
        if opcode == "or" and _first_false(one or other for one, other in zip(first, second, strict=True)) is None:
            raise Missing
        go = inner.emit(pred, opcode, random.choice(([go, against(1)], [against(1), go])))
    extra = random.random()
    if extra < 0.1:
        go = inner.emit(pred, "and", [go, inner.constant("pred", True)])
    elif extra < 0.25:
        flags = [one for one in twins if one.type == "pred[]"]
        if flags:
            go = inner.emit(pred, "and", [random.choice(flags), go])
    elif extra < 0.4:
        numbers = [one for one in twins if one.shape == () and one.dtype in ("s32", "f32", "s8")]
        if numbers:
            one = random.choice(numbers)
            bound = inner.number(one.dtype, random.randint(-2, 9))
            small = inner.emit(pred, "compare", [one, bound], f"direction={random.choice(('LT', 'NE', 'LE', 'GT'))}")
            go = inner.emit(pred, "and", random.choice(([small, go], [go, small])))
    return inner.maker.add(inner, go.name)


# branches, calls -------------------------------------------------------------------------------------


def _callee(
    scope: Scope, given: Sequence[Value], wanted: Sequence[Value] | None, packed: bool
) -> tuple[str, list[Value]]:
    """A computation of some values, with results like the wanted ones, or any."""
    random, inner = scope.random, Scope(scope.maker, scope.depth + 1)
    if packed:
        _enter(inner, [(value, "idle") for value in given])
    else:
        for place, value in enumerate(given):
            inner.emit(replace(value, known=None), "parameter", [str(place)])
    for _ in range(random.randint(0, 4)):
        attempt(inner, random.choice(OPERATORS if random.random() < 0.8 else LOOPS))
    if wanted is None:
        results = random.choices(inner.values, k=random.randint(1, 3))
    else:
        results = [_result(inner, one) for one in wanted]
    root = inner.maker.name()
    types = ", ".join(one.type for one in results)
    inner.lines.append(f"{root} = ({types}) tuple({', '.join(one.name for one in results)})")
    return inner.maker.add(inner, root), results


def _result(inner: Scope, like: Value) -> Value:
    found = [one for one in inner.values if one.dtype == like.dtype and one.shape == like.shape]
    return inner.random.choice(found[-4:]) if found else inner.new(like.dtype, like.shape)


def conditional(scope: Scope) -> list[Value]:
    if scope.depth > _DEPTH:
        raise Missing
    random = scope.random
    count = random.choice((2, 2, 2, 3, 4, 1))
    if count == 2 and random.random() < 0.5:
        chooser = scope.like(Value("", "pred", ()))
    else:
        chooser = scope.like(Value("", "s32", ()))
    results: list[Value] = []
    names, operands, bounds = [], [], []
    for branch in range(count):
        given = random.choices(scope.values, k=random.randint(1, 4))
        name, made = _callee(scope, given, results if branch else None, packed=True)
        results = results or made
        bounds.append(made)
        names.append(name)
        operand = scope.maker.name()
        types = ", ".join(one.type for one in given)
        scope.lines.append(f"{operand} = ({types}) tuple({', '.join(one.name for one in given)})")
        operands.append(operand)
    if chooser.dtype == "pred" and random.random() < 0.7:
        told = f"true_computation={names[0]}, false_computation={names[1]}"
    else:
        if chooser.dtype == "pred":
            chooser = scope.emit(Value("", "s32", ()), "convert", [chooser])
        told = f"branch_computations={{{', '.join(names)}}}"
    likes = [_widest(column) for column in zip(*bounds, strict=True)]
    loop = scope.maker.name()
    types = f"({', '.join(one.type for one in likes)})"
    scope.lines.append(f"{loop} = {types} conditional({', '.join([chooser.name, *operands])}), {told}")
    return [scope.emit(one, "get-tuple-element", [loop], f"index={k}") for k, one in enumerate(likes)]


def _widest(values: Sequence[Value]) -> Value:
    widest = replace(values[0], known=None)
    for value in values[1:]:
        widest = _wider(widest, value)
    return widest


def call(scope: Scope) -> list[Value]:
    if scope.depth > _DEPTH:
        raise Missing
    given = scope.random.choices(scope.values, k=scope.random.randint(1, 3))
    name, results = _callee(scope, given, None, packed=False)
    results = [replace(one, known=None) for one in results]
    return scope.emit_tuple(results, "call", given, f"to_apply={name}")


LOOPS: list[Callable[[Scope], Any]] = [while_loop] * 6 + [conditional] * 3 + [call]
