"""Random ONNX models of one seed each: loops, scans, branches, sequences and operators with integer operands, nested.

Most models run on most plain inputs, which the sweep finds out by running them; what doesn't is left out there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import onnx

from .build import BOOL, DOUBLE, FLOAT, HALF, INT8, INT32, INT64, STRING, UINT8, Dim, Scope, Value

T = TypeVar("T")

OPSETS = (11, 11, 12, 13, 13, 14, 15, 16, 17, 18, 18, 19, 20, 21, 21, 22, 23)
DEEPEST = 2


def make(seed: int) -> onnx.ModelProto:
    """The model of this seed."""
    return Maker(seed).model()


class Maker:
    """One model in the making. A pool holds the values in reach, those of outer graphs included."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"trust {seed}")
        self.size = self.random.choice((2, 3, 4))
        self.scope = Scope(self.random.choice(OPSETS))
        a = self.size
        self.inputs = {
            "m": Value("m", INT64, ()),
            "m2": Value("m2", INT64, ()),
            "go": Value("go", BOOL, ()),
            "flag": Value("flag", BOOL, ()),
            "x": Value("x", FLOAT, ("N", a)),
            "y": Value("y", FLOAT, (a,)),
            "q": Value("q", FLOAT, (a, a)),
            "w": Value("w", FLOAT, ("T", a)),
            "t": Value("t", FLOAT, ()),
            "k": Value("k", INT64, (1,)),
            "ids": Value("ids", INT64, (4,)),
            "ns": Value("ns", INT64, (a,)),
            "small": Value("small", INT32, (a,)),
        }
        self.last: list[Value] = []
        """Results to be given out, whatever else is."""

    # choosing ----------------------------------------------------------------------------------------

    def one(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def some(self, pool: list[Value], type: int = FLOAT, shape: tuple[Dim, ...] | None = None) -> list[Value]:
        found = [v for v in pool if v.type == type and v.known and not v.sequence]
        return found if shape is None else [v for v in found if v.shape == shape]

    def pick(self, s: Scope, pool: list[Value], shape: tuple[Dim, ...], type: int = FLOAT) -> Value:
        """A value of that type and (static) shape: the newer the likelier, or made of others."""
        found = self.some(pool, type, shape)
        if found:
            return self.one(found[-4:]) if self.chance(0.7) else self.one(found)
        if not shape:
            rows = [v for v in self.some(pool, type) if v.shape]
            if rows:
                return s.total(self.one(rows))
        scalar = self.some(pool, type, ())
        if scalar and all(isinstance(dim, int) for dim in shape):
            return s.op("Expand", self.one(scalar), s.ints(*[int(dim or 0) for dim in shape]), shape=shape)
        numbers = self.some(pool, FLOAT, shape)
        if numbers:
            return s.cast(self.one(numbers), type)
        return s.constant(np.full([d if isinstance(d, int) else 1 for d in shape], 0.5), type)

    def number(self) -> float:
        return self.one((0.25, 0.5, -0.5, 1.5, 0.75, -1.25, 0.1, 2.0, round(self.random.uniform(-2, 2), 2)))

    def count(self, s: Scope, pool: list[Value]) -> Value:
        """A trip count."""
        kind = self.random.random()
        scalars = self.some(pool, INT64, ())
        if kind < 0.15 or not scalars:
            return s.constant(self.random.randint(1, 5), INT64)
        value = self.one(scalars)
        if kind < 0.3:
            value = s.op("Add", value, s.constant(self.one((1, 2, -1)), INT64))
        if kind < 0.75:
            value = s.least(value, s.constant(self.random.randint(3, 9), INT64))
        return value

    # numbers -----------------------------------------------------------------------------------------

    def floats(self, s: Scope, pool: list[Value]) -> None:
        """One float operator on values of the pool."""
        a = self.one(self.some(pool)[-8:])
        assert a.shape is not None
        same = self.some(pool, FLOAT, a.shape)
        b = self.one(same) if self.chance(0.8) else self.pick(s, pool, ())
        rank = len(a.shape)
        kind = self.random.randrange(26)
        half = s.constant(self.number())
        if kind < 3:
            made = s.op("Add", s.op("Mul", a, half), b)
        elif kind == 3:
            made = s.op("Sub", a, b)
        elif kind == 4:
            made = s.op(self.one(("Max", "Min")), a, b)
        elif kind == 5:
            made = s.op(
                "Where",
                s.op(self.one(("Less", "Greater")), a, b, type=BOOL),
                a,
                s.op("Neg", a),
                type=FLOAT,
                shape=a.shape,
            )
        elif kind == 6:
            made = s.op("Div", a, s.op("Add", s.op("Abs", b), s.constant(self.one((1.0, 0.5, 1e-3)))), shape=a.shape)
        elif kind == 7:
            made = s.op("Sqrt", s.op("Add", s.op("Mul", a, a), s.constant(self.one((1e-3, 1.0, 1e-2)))))
        elif kind == 8:
            low, high = s.constant(-abs(self.number())), s.constant(abs(self.number()))
            made = s.op("Clip", a, *self.one([(low, high), (low,), (None, high)]))
        elif kind == 9:
            made = s.op(self.one(("Elu", "LeakyRelu", "ThresholdedRelu", "Selu")), a)
            s.nodes[-1].attribute.append(onnx.helper.make_attribute("alpha", self.one((0.3, 1.2, 0.05))))
        elif kind == 10:
            made = s.op("HardSigmoid", a, alpha=self.one((0.2, 0.4)), beta=self.one((0.5, 0.3)))
        elif kind == 11:
            made = s.op(self.one(("Round", "Floor", "Ceil", "Sign")), a)
        elif kind == 12 and rank:
            made = s.op("Softmax", a, axis=self.random.randrange(-rank, rank))
        elif kind == 13 and rank:
            axis = self.random.randrange(rank)
            op = self.one(("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSum"))
            made = s.op("Sub", a, s.reduce(op, a, [axis - rank if self.chance(0.4) else axis]))
        elif kind == 14 and rank and a.shape[-1] == self.size:
            made = s.op("MatMul", a, self.pick(s, pool, (self.size, self.size)))
            made = s.op("Mul", made, s.constant(0.3))
        elif kind == 15 and rank == 2:
            made = s.op("Transpose", a, perm=[1, 0], shape=(a.shape[1], a.shape[0]))
        elif kind == 16 and rank:
            made = s.op(
                "CumSum",
                a,
                s.constant(self.random.randrange(-rank, rank), INT64),
                exclusive=int(self.chance(0.4)),
                reverse=int(self.chance(0.4)),
            )
        elif kind == 17:
            made = s.op("Exp", s.op("Clip", a, s.constant(-4.0), s.constant(2.0)))
        elif kind == 18:
            made = s.op("Where", s.op("Greater", s.op("Abs", a), half, type=BOOL), a, half, type=FLOAT, shape=a.shape)
        elif kind == 19 and rank:
            axis = self.random.randrange(rank)
            shape = tuple(1 if k == axis else d for k, d in enumerate(a.shape))
            found = s.op(self.one(("ArgMax", "ArgMin")), a, type=INT64, shape=shape, axis=axis)
            made = s.op("Add", a, s.cast(found, FLOAT))
        elif kind == 20:
            both = s.op(self.one(("And", "Or", "Xor")), *(self.truth(s, pool) for _ in range(2)), shape=())
            made = s.op("Where", both, a, b, type=FLOAT, shape=a.shape)
        elif kind == 21:
            made = s.op("Mul", s.op("Sigmoid", a), b, shape=a.shape)
        elif kind == 22:
            made = s.op("Mul", a, s.cast(self.pick(s, pool, (), INT64), FLOAT))
            made = s.op("Tanh", made)
        elif kind == 23:
            made = s.op("Concat", s.unsqueeze(a, 0), s.unsqueeze(a, 0), axis=0, shape=(2, *a.shape))
            made = s.reduce(self.one(("ReduceSum", "ReduceProd")), made, [0], 0)
        else:
            made = s.op(self.one(("Tanh", "Sin", "Abs", "Relu", "Sigmoid", "Erf", "Softplus")), a)
        pool.append(made)

    def truth(self, s: Scope, pool: list[Value]) -> Value:
        """A condition: a bool in reach, or a comparison of two numbers."""
        found = self.some(pool, BOOL, ())
        if found and self.chance(0.35):
            return self.one(found)
        if self.chance(0.5):
            a, limit = self.pick(s, pool, (), INT64), s.constant(self.random.randint(0, 4), INT64)
            op = self.one(("Less", "Greater", "Equal"))
        else:
            a = self.pick(s, pool, ())
            limit = s.constant(self.number())
            op = self.one(("Less", "Greater"))
        made = s.op(op, a, limit, type=BOOL, shape=())
        return s.op("Not", made) if self.chance(0.2) else made

    def integers(self, s: Scope, pool: list[Value]) -> None:
        """One integer operator."""
        a = self.one(self.some(pool, INT64)[-6:] or [s.ints(3, -2)])
        one = s.constant(self.one((1, 2, 3, -2, 5)), INT64)
        kind = self.random.randrange(8)
        if kind == 0:
            made = s.op("Mod", a, one, fmod=int(self.chance(0.4)))
        elif kind == 1:
            made = s.op("Div", a, one)
        elif kind == 2:
            made = s.op("Sub", s.op("Mul", a, one), one)
        elif kind == 3:
            made = s.most(s.least(a, s.constant(4, INT64)), s.constant(self.one((0, 1, -1)), INT64))
        elif kind == 4:
            made = s.op("Abs", a)
        elif kind == 5:
            made = s.op("Where", s.op("Less", a, one, type=BOOL), s.op("Neg", a), a, type=INT64)
        elif kind == 6:
            made = s.cast(s.op("Mul", self.pick(s, pool, ()), s.constant(2.5)), INT64)
        else:
            made = s.cast(s.op("Less", a, one, type=BOOL), INT64)
        pool.append(made)

    # operators with integer operands -----------------------------------------------------------------

    def edge(self, s: Scope, pool: list[Value]) -> None:
        """One operator of those in which integers go wrong; open sizes are summed away where they don't fit."""
        table: list[Callable[[Scope, list[Value]], Value]] = [
            self.topk,
            self.slices,
            self.pads,
            self.gathers,
            self.reshapes,
            self.splits,
            self.onehot,
            self.ranges,
            self.tiles,
            self.lengths,
            self.division,
            self.shifts,
            self.scatters,
            self.types,
            self.triangles,
            self.places,
            self.recurrence,
        ]
        made = self.one(table)(s, pool)
        if not made.known:
            if s is self.scope and self.chance(0.6):
                self.last.append(made)
            pool.append(
                s.total(made)
                if made.type in (FLOAT, INT64)
                else s.op("Shape", made, type=INT64, shape=(len(made.shape or ()),))
            )
        else:
            pool.append(made)

    def rows(self, pool: list[Value]) -> Value:
        return self.one([v for v in self.some(pool) if v.shape])

    def index(self, s: Scope, pool: list[Value], low: int, high: int) -> Value:
        """An int64[1] between two bounds: from an input mostly."""
        ones = self.some(pool, INT64, (1,))
        if not ones or self.chance(0.25):
            return s.ints(self.random.randint(low, high))
        kept = s.least(self.one(ones), s.ints(high))
        return s.most(kept, s.ints(low))

    def topk(self, s: Scope, pool: list[Value]) -> Value:
        a = self.one([v for v in self.some(pool) if v.shape and v.shape[-1] == self.size] or [self.inputs["y"]])
        assert a.shape is not None
        k = self.index(s, pool, 0 if self.chance(0.3) else 1, self.size)
        attributes = {"axis": self.one((-1, len(a.shape) - 1)), "largest": int(self.chance(0.7)), "sorted": 1}
        shape = (*a.shape[:-1], None)
        values, order = s.ops("TopK", [a, k], [(FLOAT, shape), (INT64, shape)], **attributes)
        if self.chance(0.5):
            self.extra(s, order)
        return values

    def extra(self, s: Scope, value: Value) -> None:
        """A further result to be given out, where it can be."""
        if s is self.scope:
            self.last.append(value)

    def slices(self, s: Scope, pool: list[Value]) -> Value:
        a = self.rows(pool)
        assert a.shape is not None
        axis = self.random.randrange(len(a.shape))
        start, end = self.index(s, pool, -3, 2), s.ints(self.one((2, 1, -1, 100, 2**63 - 1)))
        if self.chance(0.3):
            start, end = s.ints(self.one((0, 1, -2))), self.index(s, pool, -3, 4)
        step = self.one((1, 1, 1, 2, -1))
        if step < 0:
            start, end = s.ints(-1), self.one([s.ints(-(2**63)), self.index(s, pool, -4, 2)])
        shape = tuple(None if k == axis else d for k, d in enumerate(a.shape))
        return s.op("Slice", a, start, end, s.ints(axis - self.one((0, len(a.shape)))), s.ints(step), shape=shape)

    def pads(self, s: Scope, pool: list[Value]) -> Value:
        a = self.one(self.some(pool, FLOAT, (self.size,)) or [self.inputs["y"]])
        mode = self.one(("constant", "constant", "edge", "reflect"))
        low = -1 if mode == "constant" else 0
        pads = s.op(
            "Concat",
            self.index(s, pool, low, 3 if mode == "constant" else 1),
            s.ints(self.random.randint(low, 1)),
            axis=0,
            shape=(2,),
        )
        fill = [s.constant(self.number())] if mode == "constant" and self.chance(0.7) else []
        return s.op("Pad", a, pads, *fill, shape=(None,), mode=mode)

    def gathers(self, s: Scope, pool: list[Value]) -> Value:
        a = self.one([v for v in self.some(pool) if v.shape and v.shape[-1] == self.size] or [self.inputs["y"]])
        assert a.shape is not None
        ids = self.one([v for v in self.some(pool, INT64) if v.shape is not None and len(v.shape) <= 1] or [s.ints(-1)])
        n = s.constant(self.size, INT64)
        ids = s.op("Mod", ids, n, fmod=int(self.chance(0.6)))
        assert ids.shape is not None
        if self.chance(0.75):
            return s.op("Gather", a, ids, axis=-1, shape=(*a.shape[:-1], *ids.shape))
        flat = self.pick(s, pool, (self.size,))
        if not ids.shape:
            ids = s.unsqueeze(ids, 0)
        return s.op("GatherElements", flat, ids, axis=self.one((0, -1)), shape=ids.shape)

    def reshapes(self, s: Scope, pool: list[Value]) -> Value:
        a = self.rows(pool)
        assert a.shape is not None
        n = self.size
        if len(a.shape) == 2 and a.shape[1] == n:
            kind = self.random.randrange(4)
            if kind == 0:
                return s.op("Reshape", a, s.ints(-1), shape=(None,))
            if kind == 1:
                return s.op("Reshape", a, s.ints(n, -1), shape=(n, None))
            if kind == 2:
                return s.op("Reshape", a, s.ints(0, 1, -1), shape=(a.shape[0], 1, n))
            order = s.op("Concat", s.ints(n), s.op("Shape", a, type=INT64, shape=(2,)), axis=0, shape=(3,))
            order = s.op("Gather", order, s.ints(2, 1), shape=(2,))
            return s.op("Reshape", a, order, shape=(n, a.shape[0]))
        return s.op("Flatten", a, axis=self.random.randint(0, len(a.shape)), shape=(None, None))

    def splits(self, s: Scope, pool: list[Value]) -> Value:
        a = self.one([v for v in self.some(pool) if v.shape and v.shape[-1] == self.size] or [self.inputs["y"]])
        assert a.shape is not None
        first = self.random.randint(0 if self.chance(0.2) else 1, self.size - 1)
        parts = s.split(a, [first, self.size - first], self.one((-1, len(a.shape) - 1)))
        self.extra(s, parts[0])
        joined = s.op("Concat", parts[1], parts[0], axis=-1, shape=a.shape)
        return joined

    def onehot(self, s: Scope, pool: list[Value]) -> Value:
        ids = self.one([v for v in self.some(pool, INT64) if v.shape and len(v.shape) == 1] or [s.ints(0, 2, -1)])
        values = s.constant([self.number(), 3.0])
        depth = s.constant(self.size, INT64)
        assert ids.shape is not None
        axis = self.one((-1, 0))
        shape = (*ids.shape, self.size) if axis else (self.size, *ids.shape)
        return s.op("OneHot", ids, depth, values, type=FLOAT, shape=shape, axis=axis)

    def ranges(self, s: Scope, pool: list[Value]) -> Value:
        limit = s.least(self.pick(s, pool, (), INT64), s.constant(20, INT64))
        delta = self.one((1, 2, 3, -1, -2))
        start = s.constant(self.one((0, 1, -2, 5)), INT64)
        if self.chance(0.3):
            start, limit = limit, s.constant(self.one((0, 6, -3)), INT64)
            start = s.most(start, s.constant(-20, INT64))
        limit = s.most(limit, s.constant(-20, INT64))
        return s.op("Range", start, limit, s.constant(delta, INT64), shape=(None,))

    def tiles(self, s: Scope, pool: list[Value]) -> Value:
        a = self.pick(s, pool, (self.size,))
        n = self.index(s, pool, 0, 3)
        kind = self.random.randrange(3)
        if kind == 0:
            return s.op("Tile", a, n, shape=(None,))
        if kind == 1:
            order = s.op("Concat", n, s.ints(self.size), axis=0, shape=(2,))
            return s.op("Expand", a, order, shape=(None, self.size))
        fill = onnx.numpy_helper.from_array(np.array([self.number()], np.float32))
        return s.op("ConstantOfShape", n, type=FLOAT, shape=(None,), value=fill)

    def lengths(self, s: Scope, pool: list[Value]) -> Value:
        a = self.pick(s, pool, (self.size, self.size))
        lens = self.pick(s, pool, (self.size,), INT64)
        lens = s.most(s.least(lens, s.constant(self.size, INT64)), s.constant(self.one((0, 1)), INT64))
        time = self.random.randrange(2)
        return s.op("ReverseSequence", a, lens, time_axis=time, batch_axis=1 - time)

    def division(self, s: Scope, pool: list[Value]) -> Value:
        a = self.one(self.some(pool, INT64)[-6:] or [s.ints(7, -7)])
        b = self.one(self.some(pool, INT64, a.shape))
        kind = self.random.randrange(3)
        if kind == 2:
            x, y = self.rows(pool), s.constant(self.one((0.75, -1.5)))
            return s.op("Mod", x, y, fmod=1)
        b = s.op("Where", s.op("Equal", b, s.constant(0, INT64), type=BOOL), s.constant(3, INT64), b, type=INT64)
        b = Value(b.name, INT64, a.shape)
        if kind == 0:
            return s.op("Div", a, b)
        return s.op("Mod", a, b, fmod=int(self.chance(0.5)))

    def shifts(self, s: Scope, pool: list[Value]) -> Value:
        a = s.cast(s.op("Abs", self.pick(s, pool, (self.size,), INT64)), UINT8)
        by = s.constant([self.random.randint(0, 7) for _ in range(self.size)], UINT8)
        return s.cast(s.op("BitShift", a, by, direction=self.one(("LEFT", "RIGHT"))), INT64)

    def scatters(self, s: Scope, pool: list[Value]) -> Value:
        a, b = self.pick(s, pool, (self.size,)), self.pick(s, pool, (self.size,))
        ids = s.op("Mod", self.pick(s, pool, (self.size,), INT64), s.constant(self.size, INT64), fmod=self.one((0, 1)))
        plain = s.opset < 16 or self.chance(0.4)
        if plain:  # the result of twice the same place isn't defined, so no place comes twice
            ids = s.constant(self.random.sample(range(self.size), self.size), INT64)
        extra: dict[str, Any] = {} if plain else {"reduction": self.one(("add", "mul"))}
        if self.chance(0.5):
            return s.op("ScatterElements", a, ids, b, axis=self.one((0, -1)), **extra)
        return s.op("ScatterND", a, s.unsqueeze(ids, 1), b, **extra)

    def types(self, s: Scope, pool: list[Value]) -> Value:
        """Through another element type and back."""
        a = self.rows(pool)
        kind = self.random.randrange(4)
        if kind == 0:
            h = s.op("Mul", s.cast(a, HALF), s.constant(self.one((0.7, 1.3, 0.55)), HALF))
            return s.cast(s.op("Add", h, s.constant(self.number(), HALF)), FLOAT)
        if kind == 1:
            d = s.op("Add", s.cast(a, DOUBLE), s.constant(1e8 + 0.1, DOUBLE))
            return s.cast(s.op("Sub", d, s.constant(1e8, DOUBLE)), FLOAT)
        if kind == 2:
            c = s.op("Mul", s.cast(self.pick(s, pool, (), INT64), DOUBLE), s.constant(1234567.0, DOUBLE))
            c = s.cast(s.op("Mul", c, s.constant(4321.0, DOUBLE)), INT64)
            return s.op("Mod", c, s.constant(1000003, INT64))
        i = s.cast(s.op("Clip", s.op("Mul", a, s.constant(40.0)), s.constant(-127.0), s.constant(127.0)), INT8)
        return s.cast(s.cast(i, INT32), FLOAT)

    def triangles(self, s: Scope, pool: list[Value]) -> Value:
        a = self.pick(s, pool, (self.size, self.size))
        if s.opset < 14 or self.chance(0.4):
            eye = s.op("EyeLike", a, k=self.one((-1, 0, 1)), dtype=FLOAT)
            return s.op("Mul", a, eye)
        k = s.op("Squeeze", self.index(s, pool, -2, 3), shape=())
        return s.op("Trilu", a, k, upper=self.one((0, 1)))

    def places(self, s: Scope, pool: list[Value]) -> Value:
        a = self.pick(s, pool, (self.size,))
        positive = s.op("Greater", a, s.constant(self.number()), type=BOOL)
        kind = self.random.randrange(3)
        if kind == 0:
            return s.op("NonZero", positive, type=INT64, shape=(1, None))
        if kind == 1:
            return s.op("Compress", a, positive, shape=(None,), axis=0)
        ids = s.op("Mod", self.pick(s, pool, (self.size,), INT64), s.constant(2, INT64))
        values, _, back, count = s.ops(
            "Unique", [ids], [(INT64, (None,)), (INT64, (None,)), (INT64, (None,)), (INT64, (None,))], sorted=1
        )
        self.extra(s, back)
        self.extra(s, count)
        return values

    def recurrence(self, s: Scope, pool: list[Value]) -> Value:
        """A recurrent operator over the sequence w, of batch 1, with lengths."""
        if s is not self.scope:
            return self.pads(s, pool)
        gates, op = self.one(((1, "RNN"), (3, "GRU"), (4, "LSTM")))
        n = self.size
        ways = self.one(("forward", "reverse", "bidirectional"))
        d = 2 if ways == "bidirectional" else 1
        data = np.random.default_rng(self.random.randrange(1000))
        x = s.unsqueeze(self.inputs["w"], 1)
        weights = s.constant(data.normal(size=(d, gates * 2, n)) * 0.7)
        again = s.constant(data.normal(size=(d, gates * 2, 2)) * 0.5)
        bias = s.constant(data.normal(size=(d, gates * 4)) * 0.5) if self.chance(0.6) else None
        start = s.constant(data.normal(size=(d, 1, 2))) if self.chance(0.5) else None
        y, last = s.ops(
            op,
            [x, weights, again, bias, None, start],
            [(FLOAT, ("T", d, 1, 2)), (FLOAT, (d, 1, 2))],
            hidden_size=2,
            direction=ways,
        )
        self.extra(s, last)
        return y

    # control flow ------------------------------------------------------------------------------------

    def fill(self, s: Scope, pool: list[Value], depth: int) -> None:
        """A body's operators."""
        for _ in range(self.random.randint(1, 4)):
            self.floats(s, pool)
        if self.chance(0.4):
            self.integers(s, pool)
        if self.chance(0.35):
            self.edge(s, pool)
        if depth < DEEPEST and self.chance(0.35):
            self.control(s, pool, depth + 1)
            self.floats(s, pool)

    def control(self, s: Scope, pool: list[Value], depth: int) -> None:
        kind = self.random.random()
        if kind < 0.5:
            self.loop(s, pool, depth)
        elif kind < 0.75:
            self.branch(s, pool, depth)
        else:
            self.scan(s, pool, depth)

    def loop(self, s: Scope, pool: list[Value], depth: int) -> None:
        body = s.inner()
        carried = [self.one(self.some(pool)[-6:]) for _ in range(self.random.randint(1, 3))]
        if self.chance(0.4):
            carried.append(self.pick(s, pool, (), INT64))
        i, c = Value(body.fresh("i"), INT64), Value(body.fresh("c"), BOOL)
        inside = [Value(body.fresh("a"), v.type, v.shape) for v in carried]
        reach = [*pool, i, *inside]
        if self.chance(0.5):
            cast = body.cast(i, FLOAT)
            reach.append(cast)
        self.fill(body, reach, depth)
        results: list[Value] = []
        for value in inside:
            new = [v for v in self.some(reach, value.type, value.shape) if v not in pool and v is not value]
            if not new or self.chance(0.4):
                own = self.one(new) if new else value
                step = body.constant(self.one((1, 2)) if value.type == INT64 else self.number(), value.type)
                own = body.op("Add", own, step)
                if value.type == FLOAT and self.chance(0.6):
                    own = body.op(self.one(("Tanh", "Sin")), own)
                new = [own]
            results.append(self.one(new))
        stops = self.chance(0.55)
        if stops:
            condition = self.stop(body, [*results, *inside, i])
        else:
            condition = body.op("Identity", c)
        stacked = []
        for _ in range(self.random.randint(0 if carried else 1, 2)):
            known = [v for v in self.some(reach) if v not in pool]
            stacked.append(self.one(known or inside))
        graph = body.graph(
            body.fresh("body"), [i, c, *inside], [condition, *results, *stacked], shaped=self.chance(0.8)
        )
        trips = self.count(s, pool)
        start = None
        if self.chance(0.5):
            start = self.truth(s, pool) if stops or self.chance(0.4) else s.constant(True, BOOL)
        elif stops:
            start = s.constant(True, BOOL)
        made = s.ops(
            "Loop",
            [trips, start, *carried],
            [
                *((v.type, v.shape) for v in carried),
                *((v.type, None if v.shape is None else (None, *v.shape)) for v in stacked),
            ],
            body=graph,
        )
        pool.extend(made[: len(carried)])
        for value in made[len(carried) :]:
            self.stack(s, pool, value)

    def stop(self, body: Scope, pool: list[Value]) -> Value:
        """Whether to go on."""
        value = self.one([v for v in pool if v.type in (FLOAT, INT64)])
        if value.type == INT64:
            number = self.pick(body, [value], (), INT64)
            return body.op("Less", number, body.constant(self.random.randint(2, 6), INT64), type=BOOL, shape=())
        top = body.op(self.one(("ReduceMax", "ReduceSum", "ReduceMean")), value, shape=(), keepdims=0)
        return body.op("Less", top, body.constant(self.one((0.7, 1.0, 0.9, 2.5))), type=BOOL, shape=())

    def stack(self, s: Scope, pool: list[Value], value: Value) -> None:
        """What is done with a stack: given out, summed, or its last element taken."""
        if s is self.scope and self.chance(0.7):
            self.last.append(value)
        if value.shape is not None and len(value.shape) > 1:
            pool.append(s.reduce("ReduceSum", value, [0], 0))
        elif self.chance(0.5):
            pool.append(s.total(value))

    def branch(self, s: Scope, pool: list[Value], depth: int) -> None:
        condition = self.truth(s, pool)
        wanted = [self.one(self.some(pool)[-6:]) for _ in range(self.random.randint(1, 2))]
        graphs = []
        for name in ("then", "else"):
            region = s.inner()
            reach = list(pool)
            if self.chance(0.8):
                self.fill(region, reach, depth)
            outputs = []
            for value in wanted:
                assert value.shape is not None
                new = [v for v in self.some(reach, value.type, value.shape) if v not in pool]
                outputs.append(self.one(new) if new else region.op("Mul", value, region.constant(self.number())))
            graphs.append(region.graph(region.fresh(name), [], outputs, shaped=self.chance(0.8)))
        pool.extend(
            s.ops(
                "If",
                [condition],
                [(v.type, v.shape) for v in wanted],
                then_branch=graphs[0],
                else_branch=graphs[1],
            )
        )

    def scan(self, s: Scope, pool: list[Value], depth: int) -> None:
        body = s.inner()
        sequences = [v for v in self.some(pool) if v.shape is not None and len(v.shape) == 2]
        first = self.one(sequences)
        assert first.shape is not None
        axis = 0 if isinstance(first.shape[0], str) else self.random.randrange(2)
        over = [first]
        if self.chance(0.3):
            over.append(self.one([v for v in sequences if v.shape is not None and v.shape[axis] == first.shape[axis]]))
        states = [self.one([v for v in self.some(pool) if v.shape is not None][-6:])]
        if self.chance(0.4):
            states.append(self.one(self.some(pool)))
        inside = [Value(body.fresh("a"), v.type, v.shape) for v in states]
        parts = [Value(body.fresh("e"), v.type, (v.shape[1 - axis],)) for v in over if v.shape is not None]
        reach = [*pool, *inside, *parts]
        self.fill(body, reach, depth)
        results = []
        for value in inside:
            new = [v for v in self.some(reach, value.type, value.shape) if v not in pool and v is not value]
            own = self.one(new) if new else body.op("Tanh", body.op("Add", value, body.constant(self.number())))
            if self.chance(0.5):
                flat = self.one(parts)
                own = body.op("Add", own, body.op("ReduceMean", flat, shape=(), keepdims=0))
            results.append(own)
        stacked = [self.one([v for v in self.some(reach) if v not in pool]) for _ in range(self.random.randint(1, 2))]
        graph = body.graph(body.fresh("body"), [*inside, *parts], [*results, *stacked])
        attributes: dict[str, object] = {}
        if axis or self.chance(0.3):
            attributes["scan_input_axes"] = [axis - self.one((0, 2))] * len(over)
        if self.chance(0.45):
            attributes["scan_input_directions"] = [self.random.randrange(2) for _ in over]
        if self.chance(0.35):
            attributes["scan_output_directions"] = [self.random.randrange(2) for _ in stacked]
        length = first.shape[axis]
        shapes = []
        ways = []
        for value in stacked:
            assert value.shape is not None
            way = len(value.shape) if value.shape and self.chance(0.3) else 0
            ways.append(way)
            shapes.append((*value.shape[:way], length, *value.shape[way:]))
        if any(ways):
            attributes["scan_output_axes"] = ways
        made = s.ops(
            "Scan",
            [*states, *over],
            [*((v.type, v.shape) for v in states), *((v.type, dims) for v, dims in zip(stacked, shapes, strict=True))],
            body=graph,
            num_scan_inputs=len(over),
            **attributes,
        )
        pool.extend(made[: len(states)])
        for value in made[len(states) :]:
            self.last.append(value) if s is self.scope and self.chance(0.7) else pool.append(value)

    def sequence(self, s: Scope, pool: list[Value]) -> None:
        """A sequence: taken apart or collected in a loop, joined or an element of it taken."""
        n = self.size
        if self.chance(0.4) or s.opset < 13:  # loops carry sequences since opset 13
            a = self.pick(s, pool, (n, n))
            kept = self.one((0, 1))
            results = s.op("SplitToSequence", a, axis=0, keepdims=kept)
            element_shape: tuple[Dim, ...] = (1, n) if kept else (n,)
            made = Value(results.name, FLOAT, None, True)
        else:
            empty = s.op("SequenceEmpty", dtype=FLOAT, shape=None)
            empty = Value(empty.name, FLOAT, None, True)
            body = s.inner()
            i, c = Value(body.fresh("i"), INT64), Value(body.fresh("c"), BOOL)
            inside = Value(body.fresh("l"), FLOAT, None, True)
            row = self.pick(s, pool, (n,))
            element = body.op("Add", row, body.cast(i, FLOAT))
            reach = [*pool, element, i]
            self.floats(body, reach)
            element = self.one(self.some(reach, FLOAT, (n,)))
            where = [body.constant(self.one((0, -1)), INT64)] if self.chance(0.4) else []
            if where and self.chance(0.5):  # -1 isn't a position of an empty sequence's end: 0 is always one
                where = [body.constant(0, INT64)]
            elif where:
                where = []
            grown = body.op("SequenceInsert", inside, element, *where, shape=None)
            grown = Value(grown.name, FLOAT, None, True)
            graph = body.graph(body.fresh("body"), [i, c, inside], [body.op("Identity", c, type=BOOL, shape=()), grown])
            trips = s.most(s.least(self.count(s, pool), s.constant(6, INT64)), s.constant(1, INT64))
            result = s.ops("Loop", [trips, s.constant(True, BOOL), empty], [(FLOAT, None)], body=graph)[0]
            made = Value(result.name, FLOAT, None, True)
            element_shape = (n,)
        kind = self.random.randrange(3)
        length = s.op("SequenceLength", made, type=INT64, shape=())
        if kind == 0:
            new = self.one((0, 1))
            shape = (None, *element_shape[1 - new :])
            joined = s.op("ConcatFromSequence", made, type=FLOAT, shape=shape, axis=0, new_axis=new)
            self.last.append(joined)
            self.last.append(length)
        elif kind == 1:
            at = s.op("Mod", self.pick(s, pool, (), INT64), length, fmod=1)
            self.last.append(s.op("SequenceAt", made, at, type=FLOAT, shape=element_shape))
        else:
            shorter = s.op("SequenceErase", made, *([s.constant(self.one((0, -1)), INT64)] if self.chance(0.5) else []))
            shorter = Value(shorter.name, FLOAT, None, True)
            self.last.append(s.op("SequenceLength", shorter, type=INT64, shape=()))
            first = s.op("SequenceAt", made, s.constant(self.one((0, -1)), INT64), type=FLOAT, shape=element_shape)
            self.last.append(first)
        pool.append(length)

    def texts(self, s: Scope, pool: list[Value]) -> None:
        """Strings: chosen by a condition, normalized, compared, joined, cut."""
        names = self.inputs.setdefault("names", Value("names", STRING, (3,)))
        kind = self.random.randrange(5)
        words = s.constant(self.one((["ab", "Cd", "e f"], ["x", "", "A"])), STRING)
        if kind == 0:
            made = s.op("Where", self.truth(s, pool), names, words, type=STRING, shape=(3,))
        elif kind == 1:
            made = s.op(
                "StringNormalizer",
                names,
                shape=(None,),
                case_change_action=self.one(("LOWER", "UPPER", "NONE")),
                is_case_sensitive=self.one((0, 1)),
                stopwords=["ab", "x"],
                locale="C",
            )
        elif kind == 2:
            ids = s.op("Mod", self.inputs["ids"], s.constant(3, INT64), fmod=1)
            made = s.op("Gather", names, ids, shape=(4,))
        elif kind == 3 and s.opset >= 20:
            made = s.op("StringConcat", names, words)
        elif s.opset >= 20:
            parts, counts = s.ops(
                "StringSplit", [names], [(STRING, (3, None)), (INT64, (3,))], delimiter=self.one((" ", "b", ","))
            )
            self.last.append(counts)
            made = parts
        else:
            made = s.op("Concat", names, words, axis=0, shape=(6,))
        self.last.append(made)

    # the whole ---------------------------------------------------------------------------------------

    def model(self) -> onnx.ModelProto:
        s = self.scope
        pool = list(self.inputs.values())
        self.floats(s, pool)
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.55:
                self.control(s, pool, 0)
            elif kind < 0.85:
                self.edge(s, pool)
            elif kind < 0.93:
                self.sequence(s, pool)
            else:
                self.texts(s, pool)
            if self.chance(0.5):
                self.floats(s, pool)
            if self.chance(0.3):
                self.integers(s, pool)
        made = {name for node in s.nodes for name in node.output}
        results = [v for v in pool if v.name in made and not v.sequence]
        outputs = list(dict.fromkeys([*self.last, *results[-self.random.randint(2, 5) :]]))
        model = s.model(list(self.inputs.values()), outputs)
        return tidy(model)


def tidy(model: onnx.ModelProto) -> onnx.ModelProto:
    """Without nodes and inputs that no output needs."""
    while True:
        needed = {value.name for value in model.graph.output} | names_read(model.graph)
        kept = [node for node in model.graph.node if any(name in needed for name in node.output)]
        if len(kept) == len(model.graph.node):
            break
        del model.graph.node[:]
        model.graph.node.extend(kept)
    kept_inputs = [value for value in model.graph.input if value.name in needed]
    del model.graph.input[:]
    model.graph.input.extend(kept_inputs)
    return model


def names_read(graph: onnx.GraphProto) -> set[str]:
    """The names that nodes read, those of inner graphs included."""
    names: set[str] = set()
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= names_read(attribute.g) | {value.name for value in attribute.g.output}
    return names
