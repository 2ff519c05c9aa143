"""Random loop bodies: machine code gives what the NumPy tier gives.

Whole numbers and single operations on floats agree in every bit; sums, products and transcendental functions within a
few units of rounding, which is why floats are compared with a tolerance as soon as one of those is in the body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backedge.passes.graph import Graph, Value
from backedge.passes.loop import DOMAIN, Captured, Carried, Iteration, Slot, Stacked
from backedge.passes.types import TensorType, tensor
from backedge.runtime.compiled import compile_loop
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.kernels import lookup
from backedge.runtime.kernels.base import Attributes

from compiled.graphs import Body

TYPES = ("float32", "float64", "int32", "int64", "uint8", "bool")
SHAPES = ((), (3,), (1,), (2, 3), (2, 1), (1, 3), (3, 3), (2, 3, 4), (0,), (2, 0), (1, 1))
NODES = 14
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e30, 1e-40)

Random = np.random.Generator
Known = tuple[Value, np.ndarray[Any, Any]]
"""A value of the body, and one array that it may be."""


def numbers(random: Random, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return np.asarray(random.random(shape) < 0.5)
    if not dtype.startswith("float"):
        return random.integers(0 if dtype == "uint8" else -9, 9, shape).astype(dtype)
    made = np.asarray(random.standard_normal(shape) * 3).astype(dtype)
    special = np.asarray(random.choice(SPECIAL, shape)).astype(dtype)
    return np.where(random.random(shape) < 0.1, special, made).astype(dtype)


class Writer:
    """A body in the making, and what its values may be."""

    def __init__(self, random: Random) -> None:
        self.random, self.body, self.pool = random, Body(), list[Known]()
        self.is_exact = True

    def add(self, op_type: str, *operands: Known, outputs: int = 1, **attributes: Any) -> None:
        """A node, if it has a kernel for these; its results join the pool."""
        before = len(self.body.graph)
        made = getattr(self.body, op_type)(*(value for value, _ in operands), outputs=outputs, **attributes)
        node = self.body.graph.nodes[before]
        with np.errstate(all="ignore"):
            results = lookup("", op_type)(Attributes(node), *(array for _, array in operands))
        for value, array in zip(made if outputs > 1 else [made], results if outputs > 1 else [results], strict=True):
            found = np.asarray(array)
            value.type = tensor(found.dtype.name, *found.shape)
            self.pool.append((value, found))

    def constant(self, array: Any) -> Known:
        value = self.body.value(np.asarray(array))
        assert value is not None
        return value, np.asarray(array)

    def pick(self, fits: Callable[[np.ndarray[Any, Any]], bool]) -> Known | None:
        chosen = [one for one in self.pool if fits(one[1])]
        return chosen[int(self.random.integers(len(chosen)))] if chosen else None

    def pair(self, kinds: str) -> tuple[Known, Known] | None:
        """Two of one type that broadcast."""
        one = self.pick(lambda array: array.dtype.kind in kinds)
        if one is None:
            return None

        def fits(array: np.ndarray[Any, Any]) -> bool:
            try:
                np.broadcast_shapes(array.shape, one[1].shape)
            except ValueError:
                return False
            return array.dtype == one[1].dtype

        other = self.pick(fits)
        return None if other is None else (one, other)


def binary(w: Writer) -> None:
    names = ["Add", "Sub", "Mul", "Max", "Min"]
    found = w.pair("fi")
    if found is not None:
        w.add(str(w.random.choice([*names, "Div"] if found[0][1].dtype.kind == "f" else names)), *found)


def compared(w: Writer) -> None:
    found = w.pair("fiu")
    if found is not None:
        w.add(str(w.random.choice(["Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"])), *found)


def chosen(w: Writer) -> None:
    found = w.pair("fiub")
    condition = found and w.pick(lambda array: array.dtype.kind == "b" and array.shape in ((), found[0][1].shape))
    if found and condition:
        w.add("Where", condition, *found)


def unary(w: Writer) -> None:
    one = w.pick(lambda array: array.dtype.kind in "fi")
    if one is not None:
        floats = ["Abs", "Neg", "Sign", "Relu", "Floor", "Ceil", "Sqrt", "IsNaN"]
        w.add(str(w.random.choice(floats if one[1].dtype.kind == "f" else floats[:4])), one)


def smooth(w: Writer) -> None:
    one = w.pick(lambda array: array.dtype.kind == "f")
    if one is not None:
        w.is_exact = False
        w.add(str(w.random.choice(["Tanh", "Sigmoid", "Exp", "Softplus", "Erf"])), one)


def reduced(w: Writer) -> None:
    one = w.pick(lambda array: array.dtype.kind in "fi" and array.ndim > 0 and array.size > 0)
    if one is not None:
        axis = int(w.random.integers(-one[1].ndim, one[1].ndim))
        w.is_exact &= one[1].dtype.kind == "i"
        name = str(w.random.choice(["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "CumSum"]))
        if name == "CumSum":
            w.add(name, one, w.constant(axis), reverse=int(w.random.integers(2)), exclusive=int(w.random.integers(2)))
        elif name != "ReduceMean" or one[1].dtype.kind == "f":
            w.add(name, one, w.constant([axis]), keepdims=int(w.random.integers(2)))


def arranged(w: Writer) -> None:
    one = w.pick(lambda array: array.ndim > 0)
    if one is None:
        return
    rank, name = one[1].ndim, str(w.random.choice(["Transpose", "Unsqueeze", "Reshape", "Slice", "Concat"]))
    axis = int(w.random.integers(-rank, rank))
    if name == "Transpose":
        w.add(name, one, perm=[int(k) for k in w.random.permutation(rank)])
    elif name == "Unsqueeze":
        w.add(name, one, w.constant([axis]))
    elif name == "Reshape" and one[1].size:
        w.add(name, one, w.constant([-1]))
    elif name == "Slice":
        step = int(w.random.choice([1, 2, -1]))
        start, end = (0, 5) if step > 0 else (-1, -9)
        w.add(name, one, *(w.constant([number]) for number in (start, end, axis, step)))
    elif name == "Concat":
        w.add(name, one, one, axis=axis)


def multiplied(w: Writer) -> None:
    one = w.pick(lambda array: array.dtype.kind == "f" and array.ndim == 2)
    other = one and w.pick(lambda array: array.dtype == one[1].dtype and array.shape[:1] == one[1].shape[1:])
    if one and other and other[1].ndim == 2:
        w.is_exact = False
        w.add("MatMul", one, other)


def looked_up(w: Writer) -> None:
    one = w.pick(lambda array: array.ndim > 0 and array.shape[0] > 0)
    if one is not None:
        w.add("Gather", one, w.constant(w.random.integers(-one[1].shape[0], one[1].shape[0], (2,))), axis=0)


def sorted_(w: Writer) -> None:
    one = w.pick(lambda array: array.dtype.kind in "fi" and array.ndim > 0 and array.shape[-1] > 1)
    if one is not None:
        w.add("TopK", one, w.constant([2]), outputs=2, axis=-1, largest=int(w.random.integers(2)))


def normalized(w: Writer) -> None:
    one = w.pick(lambda array: array.dtype.kind == "f" and array.ndim > 0 and array.size > 0)
    if one is not None:
        w.is_exact = False
        w.add("Softmax", one, axis=-1)


def cast(w: Writer) -> None:
    one = w.pick(lambda array: array.dtype.kind in "iub")
    if one is not None:
        w.add("Cast", one, to=int(w.random.choice([1, 6, 7, 11])))


STEPS = (binary, binary, compared, chosen, unary, unary, smooth, reduced, arranged, arranged, multiplied, looked_up)
STEPS += (sorted_, normalized, cast)


def made(seed: int) -> tuple[Graph, list[np.ndarray[Any, Any]], bool]:
    """A graph of one Loop, inputs for it, and whether every operator in it gives the same bits in any order."""
    random = np.random.default_rng(seed)
    w = Writer(random)
    slots: list[Slot] = [Iteration()]
    w.pool.append((w.body.input(tensor("int64")), np.array(0)))
    inputs: list[np.ndarray[Any, Any]] = []
    kinds: list[TensorType] = []
    for slot in (Carried(), Carried(), Carried(), Captured(), Captured()):
        dtype, shape = str(random.choice(TYPES)), SHAPES[int(random.integers(len(SHAPES)))]
        kinds.append(tensor(dtype, *shape))
        inputs.append(numbers(random, dtype, shape))
        slots.append(slot)
        w.pool.append((w.body.input(kinds[-1]), inputs[-1]))
    for _ in range(NODES):
        STEPS[int(random.integers(len(STEPS)))](w)
    handed: list[Value] = []
    for kind, start in zip(kinds[:3], inputs, strict=False):
        last = [value for value, _ in w.pool if value.type == kind]
        handed.append(last[-1] if start.size else last[0])
    stacked = [w.pool[int(k)][0] for k in random.integers(len(w.pool), size=3)]
    w.body.give(*handed, *stacked)
    slots += [Stacked(reverse=bool(random.integers(2))) for _ in stacked]
    graph = Graph("hub")
    outer = [
        graph.add_input("trips", tensor("int64")),
        None,
        *(graph.add_input(f"x{k}", one) for k, one in enumerate(kinds)),
    ]
    node = graph.add_node(
        "Loop",
        outer,
        [(f"y{k}", None) for k in range(6)],
        {"slots": tuple(slots)},
        domain=DOMAIN,
        regions={"body": w.body.graph},
    )
    graph.outputs = list(node.outputs)
    return graph, inputs, w.is_exact


def check(seed: int) -> str:
    """Whether both tiers agree over no pass, one, and three; why the loop isn't compiled, "" if it is."""
    graph, inputs, is_exact = made(seed)
    run = compile_loop(graph.nodes[-1])
    if run is None:
        return "no code"
    plain = Executor(graph, never_compile)
    for trips in (3, 1, 0):
        given = {"trips": np.array(trips), **{f"x{k}": array for k, array in enumerate(inputs)}}
        found = run([given["trips"], None, *inputs])
        if found is None:
            return run.reason
        for value, wanted in zip(found, plain.run(given).values(), strict=True):
            assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape), seed
            if wanted.dtype.kind != "f" or is_exact:
                np.testing.assert_array_equal(value, wanted, str(seed))
            else:
                rounding = {"float32": 1e-5, "float64": 1e-13}[wanted.dtype.name]
                np.testing.assert_allclose(value, wanted, rounding, rounding, err_msg=str(seed))
    return ""


@pytest.mark.parametrize("seed", range(48))
def test_random_body(seed: int) -> None:
    check(seed)
