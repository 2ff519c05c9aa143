"""Random loops and branches, nested: the executor and OpenVINO must agree, run after run on one compiled model.

python -m openvino_lowering.fuzz [how many] [first seed]      (from the folder tests)
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph, Value
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked
from backedge.passes.rewrite import Builder
from backedge.passes.types import DType, Shape, TensorType, tensor
from backedge.runtime.executor import Executor, never_compile

from .hub import Model
from .runner import Runner

F32, I64, BOOL = DType.FLOAT32, DType.INT64, DType.BOOL
SHAPES: list[Shape] = [(), (2,), (1, 2), (2, 2), (1,)]


class Fuzz:
    """One random model. `values` are those in reach, by graph."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.model = Model()
        self.dynamic = self.random.random() < 0.3  # the sequences' length is a symbol
        self.trips = [self.model.input(f"trip{k}", I64) for k in range(2)]
        self.flags = [self.model.input(f"flag{k}", BOOL) for k in range(2)]
        data = [self.model.input(f"x{k}", F32, *shape) for k, shape in enumerate(SHAPES[:4])]
        self.sequence = self.model.input("s", F32, "T" if self.dynamic else 3, 1, 2)
        pool = [*data, *self.trips, *self.flags]
        for _ in range(self.random.integers(1, 3)):
            self.control(self.model.op, pool, 0)
        outputs = [value for value in pool if value.producer is not None][-6:]
        self.graph: Graph = self.model.output(*outputs)

    # choosing ------------------------------------------------------------------------------------

    def one(self, items: Any) -> Any:
        return items[self.random.integers(len(items))]

    def floats(self, pool: list[Value], shape: Shape | None = None) -> list[Value]:
        found = [value for value in pool if value.tensor.dtype is F32 and value.tensor.static_shape is not None]
        return found if shape is None else [value for value in found if value.tensor.shape == shape]

    # operators -----------------------------------------------------------------------------------

    def shaped(self, op: Builder, value: Value, shape: Shape) -> Value:
        """A value made to have a shape, in one of several ways."""
        have = value.tensor.shape
        if have == shape:
            return value
        if have is not None and np.prod(have, dtype=int) == np.prod(shape, dtype=int):  # type: ignore[arg-type]
            return op.Reshape(value, op.const(np.array(shape, np.int64)))
        return op.Expand(op.ReduceMean(value, keepdims=0), op.const(np.array(shape, np.int64)))

    def compute(self, op: Builder, pool: list[Value]) -> None:
        a = self.one(self.floats(pool))
        shape = a.tensor.shape
        assert shape is not None
        b = self.shaped(op, self.one(self.floats(pool)), shape)
        kind = self.random.integers(12)
        half = op.const(0.5)
        if kind < 3:
            made = op.Add(op.Mul(a, half), op.Mul(b, half))
        elif kind == 3:
            made = op.Max(a, b)
        elif kind == 4:
            made = op.Tanh(a)
        elif kind == 5:
            made = op.Sub(op.Mul(a, half), b)
        elif kind == 6:
            made = self.shaped(op, a, self.one(SHAPES))
        elif kind == 7:
            made = op.Where(op.Less(a, b), a, op.Neg(b))
        elif kind == 8 and len(shape) == 2:
            made = op.Transpose(a, perm=[1, 0]) if shape == (2, 2) else op.Squeeze(a, op.const([0]))
        elif kind == 9 and len(shape) == 2:
            made = op.MatMul(a, op.const([[0.5, -0.25], [0.25, 0.5]]))
        elif kind == 10:
            made = op.Unsqueeze(a, op.const([0])) if len(shape) == 1 else op.Identity(a)
        else:
            made = op.Sin(a)
        pool.append(op.Tanh(made) if self.random.random() < 0.2 else made)

    # control flow --------------------------------------------------------------------------------

    def control(self, op: Builder, pool: list[Value], depth: int) -> None:
        if self.random.random() < 0.3:
            self.branch(op, pool, depth)
        else:
            self.loop(op, pool, depth)

    def fill(self, op: Builder, pool: list[Value], depth: int) -> None:
        for _ in range(self.random.integers(1, 5)):
            self.compute(op, pool)
        if depth < 2 and self.random.random() < 0.4:
            self.control(op, pool, depth + 1)
            self.compute(op, pool)

    def captured(self, pool: list[Value]) -> list[Value]:
        found = [value for value in pool if self.random.random() < 0.6 and value.type is not None]
        return found or [self.one(self.floats(pool))]

    def branch(self, op: Builder, pool: list[Value], depth: int) -> None:
        flags = [value for value in pool if value.tensor.dtype is BOOL] or [op.const(True)]
        taken = self.captured(pool)
        shapes = [self.one(SHAPES) for _ in range(self.random.integers(1, 4))]
        regions = []
        for name in ("then", "else"):
            region = op.region(name)
            inner = [region.input("c", value.type) for value in taken]
            if not self.floats(inner):
                inner.append(region.const(1.5))
            self.fill(region, inner, depth)
            region.graph.outputs = [self.shaped(region, self.one(self.floats(inner)), shape) for shape in shapes]
            regions.append(region.graph)
        types = [TensorType(F32, shape) for shape in shapes]
        pool.extend(op.branch(self.one(flags), taken, *regions, types))

    def loop(self, op: Builder, pool: list[Value], depth: int) -> None:
        random = self.random
        region = op.region("body")
        slots: list[Slot] = []
        outside: list[Value] = []
        inner: list[Value] = []
        carried: list[Shape] = []
        trips = [value for value in pool if value.tensor.dtype is I64 and value.tensor.shape == ()]
        if random.random() < 0.5:
            slots.append(Iteration())
            inner.append(region.input("i", tensor(I64)))
        for _ in range(random.integers(0 if depth else 1, 4)):
            value = self.one(self.floats(pool))
            slots.append(Carried())
            outside.append(value)
            inner.append(region.input("a", value.type))
            carried.append(value.tensor.shape or ())
        taken = self.captured(pool)
        for value in taken:
            slots.append(Captured())
            outside.append(value)
            inner.append(region.input("c", value.type))
        if not depth and random.random() < 0.6:
            slots.append(Sliced() if random.random() < 0.6 else Sliced(start=-1, end=0, stride=-1))
            outside.append(self.sequence)
            inner.append(region.input("e", tensor(F32, 1, 2)))
        if not self.floats(inner):
            inner.append(region.const([0.25, -2.0]))
        own = [value for value in inner if value.tensor.dtype is F32]
        self.fill(region, inner, depth)
        sliced = any(isinstance(slot, Sliced) for slot in slots)
        stops = random.random() < 0.4
        results: list[Value] = []
        if stops:
            slots.insert(0, Condition())
            top = region.ReduceMax(self.one(self.floats(inner)), keepdims=0)
            results.append(region.Less(top, region.const(0.7)))
        made = self.floats(inner)
        for shape in carried:
            source = own if random.random() < 0.2 else made
            same = [value for value in source if value.tensor.shape == shape]
            results.append(self.one(same) if same else self.shaped(region, self.one(source), shape))
        for _ in range(random.integers(0 if carried else 1, 3)):
            slots.append(Stacked(axis=0, reverse=bool(random.random() < 0.2)))
            results.append(self.one(own if random.random() < 0.2 else made))
        region.graph.outputs = results
        limit: Value | None = (
            self.one(trips) if trips and random.random() < 0.8 else op.const(int(random.integers(0, 4)))
        )
        if sliced and random.random() < 0.5:
            limit = None
        start = self.one(self.flags) if stops and not depth and random.random() < 0.5 else None
        outs = op.loop(limit, start, slots, outside, region.graph)
        for value, slot in zip(outs, [slot for slot in slots if isinstance(slot, Carried | Stacked)], strict=True):
            if isinstance(slot, Stacked):
                pool.append(op.ReduceSum(value, op.const([0]), keepdims=0))
                pool.append(op.Shape(value))
            else:
                pool.append(value)

    # inputs --------------------------------------------------------------------------------------

    def feeds(self) -> list[dict[str, np.ndarray]]:
        found = []
        for trips, flags in (((2, 3), (1, 1)), ((0, 1), (1, 0)), ((3, 0), (0, 1)), ((1, 4), (1, 1)), ((-1, 2), (0, 0))):
            given: dict[str, np.ndarray] = {}
            for value in self.graph.inputs:
                dims = [dim if isinstance(dim, int) else int(self.one([3, 1, 4])) for dim in value.tensor.shape or ()]
                given[value.name] = self.random.normal(size=dims).astype(np.float32)
            for k in range(2):
                given[f"trip{k}"] = np.array(trips[k], np.int64)
                given[f"flag{k}"] = np.array(flags[k], np.bool_)
            found.append(given)
        return found


def check(seed: int, runner: Runner) -> str:
    """What is wrong with the model of this seed, or why it wasn't checked (in brackets); "" if nothing is."""
    fuzz = Fuzz(seed)
    executor = Executor(fuzz.graph, never_compile)
    feeds = fuzz.feeds()
    wanted = [list(executor.run(given).values()) for given in feeds]
    try:
        found = runner.lowered(fuzz.graph, feeds, recompile="never")
    except BackedgeError as error:
        return f"(refused) {error}"
    for number, (outputs, expected) in enumerate(zip(found, wanted, strict=True)):
        for index, (a, b) in enumerate(zip(outputs, expected, strict=True)):
            if a.shape != b.shape or a.dtype != b.dtype:
                return f"run {number}, output {index}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
            if not np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True):
                return f"run {number}, output {index}: {a.reshape(-1)[:4]}, not {b.reshape(-1)[:4]}"
    return ""


def main() -> None:
    warnings.simplefilter("ignore")
    count, first = (int(argument) for argument in (*sys.argv[1:], *("100", "0")[len(sys.argv) - 1 :]))
    runner = Runner()
    bad = 0
    for seed in range(first, first + count):
        try:
            reason = check(seed, runner)
        except (RuntimeError, TimeoutError) as error:
            reason = str(error)
        if reason:
            bad += not reason.startswith("(")
            print(seed, reason[:300])
    runner.close()
    print(f"{count} models, {bad} wrong")


if __name__ == "__main__":
    main()
