"""Random JAX programs with control flow, converted and run in each format's own runtime; JAX itself is the judge.

python -m fuzz.programs --count N [--seed S] [--targets onnx,ir,mdf] [--minutes M]

(from the folder tests). Modules of HLO itself, with near-misses of what a scan is, are those of `hlo.differ`.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.passes.errors import Unsupported
from jax import lax
from trust.judge import ROUNDING

from .by_seed import main
from .judging import Event, apart, shown, told
from .running import Ours, run_file, run_in

TARGETS = {"onnx": ("made.onnx", "onnxruntime"), "ir": ("made.xml", "openvino"), "mdf": ("made.json", "")}
Arrays = list[Any]
Step = Callable[[Arrays], Any]
_FLOATS, _INTS = ("float32",) * 4 + ("float16",), ("int32", "int32", "uint8", "int8")

_UNARY: dict[str, Step] = {
    "sin": lambda a: jnp.sin(a[0]),
    "tanh": lambda a: jnp.tanh(a[0]),
    "exp": lambda a: jnp.exp(jnp.clip(a[0], -3, 2)),
    "abs": lambda a: jnp.abs(a[0]),
    "sign": lambda a: jnp.sign(a[0]),
    "logistic": lambda a: lax.logistic(a[0]),
    "rsqrt": lambda a: lax.rsqrt(jnp.abs(a[0]) + 1),
    "erf": lambda a: lax.erf(a[0]),
    "log1p": lambda a: jnp.log1p(jnp.abs(a[0])),
    "square": lambda a: jnp.square(a[0]),
    "softmax": lambda a: jax.nn.softmax(a[0]),
    "cumsum": lambda a: jnp.cumsum(a[0], -1, dtype=a[0].dtype),
    "cummax": lambda a: lax.cummax(a[0], a[0].ndim - 1, reverse=True),
    "sum": lambda a: jnp.sum(a[0], -1, dtype=a[0].dtype),
    "max": lambda a: jnp.max(a[0], 0, keepdims=True),
    "argmax": lambda a: jnp.argmax(a[0], -1),
    "sort": lambda a: jnp.sort(a[0], 0),
    "argsort": lambda a: jnp.argsort(a[0]),
    "flip": lambda a: jnp.flip(a[0], -1),
    "roll": lambda a: jnp.roll(a[0], 1, 0),
    "transpose": lambda a: a[0].T,
    "ravel": lambda a: a[0].ravel()[:24],
    "expand": lambda a: a[0][None],
    "pad": lambda a: lax.pad(a[0], jnp.zeros((), a[0].dtype), [(1, -1 if n > 1 else 0, 1) for n in a[0].shape]),
    "tri": lambda a: jnp.tril(a[0]),
    "float": lambda a: a[0].astype(jnp.float32),
    "int": lambda a: jnp.clip(jnp.nan_to_num(a[0].astype(jnp.float32)), -100, 100).astype(jnp.int32),
    "bool": lambda a: a[0] > 0,
    "not": lambda a: ~a[0],
    "popcount": lambda a: lax.population_count(a[0]),
    "stride": lambda a: a[0][::2],
    "negative stride": lambda a: a[0][::-2],
}
_BINARY: dict[str, Step] = {
    "add": lambda a: a[0] + a[1],
    "sub": lambda a: a[0] - a[1],
    "mul": lambda a: a[0] * a[1],
    "max": lambda a: jnp.maximum(a[0], a[1]),
    "where": lambda a: jnp.where(a[0] > a[1], a[0], a[1] * 2),
    "less": lambda a: a[0] <= a[1],
    "mod": lambda a: a[0] % 3 + a[1] // 2,
    "matmul": lambda a: a[0] @ a[1],
    "outer": lambda a: jnp.outer(a[0], a[1])[:5, :5],
    "concatenate": lambda a: jnp.concatenate([a[0], a[1]], 0),
    "take": lambda a: jnp.take(a[0], a[1].astype(jnp.int32), axis=0, mode="clip"),
    "wrap": lambda a: jnp.take(a[0], a[1].astype(jnp.int32), axis=-1, mode="wrap"),
    "set": lambda a: a[0].at[a[1].astype(jnp.int32) % a[0].shape[0]].set(1),
    "add at": lambda a: a[0].at[a[1].astype(jnp.int32) % a[0].shape[0]].add(1),
    "dynamic slice": lambda a: lax.dynamic_slice_in_dim(a[0], a[1].ravel()[0].astype(jnp.int32), 1, 0),
    "update slice": lambda a: lax.dynamic_update_slice_in_dim(a[0], a[0][:1] + 1, a[1].ravel()[0].astype(jnp.int32), 0),
    "segment sum": lambda a: jax.ops.segment_sum(a[0], a[1].astype(jnp.int32).ravel()[: a[0].shape[0]], 3),
    "searchsorted": lambda a: jnp.searchsorted(jnp.sort(a[0].ravel()), a[1].ravel()),
}


_LACKING = "MLFloat16 data type is not supported with Scatter"
"""What ONNX Runtime says of float16 that is added in a scatter; HLO rounds each sum, which no wider type does."""


class Program:
    """One program in the making; `steps` take all values so far and give one more, or several."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"programs {seed}")
        self.numbers = np.random.default_rng(seed)
        self.inputs = [self.array() for _ in range(self.random.randint(2, 4))]
        specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in self.inputs]
        self.block, results = self.steps(specs, self.random.randint(2, 7), 0)
        last = range(len(specs), len(results))
        self.chosen = self.random.sample(list(last), min(3, len(last))) or [0]

    def __call__(self, *args: Any) -> Any:
        values = self.block([jnp.asarray(x) for x in args])
        return [values[k] for k in self.chosen]

    def array(self) -> np.ndarray[Any, Any]:
        kind = self.random.choice((*_FLOATS, *_INTS, "bool"))
        shape = tuple(self.random.choice((1, 2, 3, 3, 4)) for _ in range(self.random.choice((0, 1, 1, 2, 2, 3))))
        if kind in _FLOATS:
            return np.asarray(self.numbers.normal(size=shape)).astype(kind)
        low, high = 0 if kind[0] in "ub" else -3, 2 if kind == "bool" else 6
        return np.asarray(self.numbers.integers(low, high, shape)).astype(kind)

    def steps(self, specs: Sequence[Any], count: int, depth: int) -> tuple[Callable[[Arrays], Arrays], Sequence[Any]]:
        """A block: values -> these and what its steps give; and the types of all."""
        done: list[Step] = []
        known = list(specs)
        tries = 0
        while len(done) < count and tries < 60:
            tries += 1
            step = self.step(known, depth)
            try:
                made = jax.eval_shape(lambda *v, step=step: step(list(v)), *known)
            except Exception:
                continue  # shapes or types that don't go together
            leaves = jax.tree.leaves(made)
            if not leaves or any(math.prod(one.shape) > 64 or not one.dtype.isbuiltin for one in leaves):
                continue
            done.append(step)
            known += leaves

        def block(values: Arrays) -> Arrays:
            values = list(values)
            for step in done:
                values += jax.tree.leaves(step(values))
            return values

        return block, known

    def step(self, known: Sequence[Any], depth: int) -> Step:
        dice = self.random
        if depth < 2 and dice.random() < 0.35:
            kinds = (self.loop, self.scan, self.cond, self.switch, self.fori, self.vmap, self.grad)
            return dice.choice(kinds)(known, depth)
        table = dice.choice((_UNARY, _BINARY))
        function = table[dice.choice(sorted(table))]
        picks = [dice.choice(range(max(0, len(known) - 6), len(known))) for _ in range(2)]
        return lambda v: function([v[k] for k in picks])

    def carried(self, known: Sequence[Any]) -> list[int]:
        return [self.random.randrange(len(known)) for _ in range(self.random.randint(1, 2))]

    def body(
        self, known: Sequence[Any], more: Sequence[Any], depth: int
    ) -> tuple[Callable[[Arrays], Arrays], list[Any]]:
        block, types = self.steps([*known, *more], self.random.randint(1, 4), depth + 1)
        return block, list(types)

    def back(self, types: Sequence[Any], like: Any, first: int) -> int | None:
        """The place of a value of this type, made in the body."""
        same = [k for k in range(first, len(types)) if (types[k].shape, types[k].dtype) == (like.shape, like.dtype)]
        return self.random.choice(same) if same else None

    def nexts(self, known: Sequence[Any], types: Sequence[Any], state: list[int], skip: int) -> list[int]:
        found = [self.back(types, known[k], len(known) + skip) for k in state]
        return [len(known) + n if place is None else place for n, place in enumerate(found)]

    def loop(self, known: Sequence[Any], depth: int) -> Step:
        state = self.carried(known)
        limit, by_value = self.random.randint(0, 5), self.random.random() < 0.4
        block, types = self.body(known, [known[k] for k in state], depth)
        nexts = self.nexts(known, types, state, 0)

        def run(v: Arrays) -> Any:
            def ask(c: Any) -> Any:
                small = jnp.sum(c[1][0].astype(jnp.float32)) < 30 if by_value else True
                return (c[0] < limit) & small

            def go(c: Any) -> Any:
                values = block([*v, *c[1]])
                return c[0] + 1, [values[k] for k in nexts]

            return lax.while_loop(ask, go, (jnp.int32(0), [v[k] for k in state]))[1]

        return run

    def fori(self, known: Sequence[Any], depth: int) -> Step:
        state = self.carried(known)
        low, high = self.random.randint(-1, 1), self.random.randint(0, 4)
        block, types = self.body(known, [*[known[k] for k in state], jax.ShapeDtypeStruct((), np.int32)], depth)
        nexts = self.nexts(known, types, state, 0)

        def run(v: Arrays) -> Any:
            def go(i: Any, c: Any) -> Any:
                values = block([*v, *c, i.astype(jnp.int32)])
                return [values[k] for k in nexts]

            return lax.fori_loop(low, high, go, [v[k] for k in state])

        return run

    def scan(self, known: Sequence[Any], depth: int) -> Step:
        state = self.carried(known)
        rows = [k for k, one in enumerate(known) if one.shape]
        xs = self.random.choice(rows) if rows else None
        row = [] if xs is None else [jax.ShapeDtypeStruct(known[xs].shape[1:], known[xs].dtype)]
        block, types = self.body(known, [*[known[k] for k in state], *row], depth)
        nexts = self.nexts(known, types, state, 0)
        out = self.random.randrange(len(known), len(types))
        reverse, unroll = self.random.random() < 0.3, self.random.choice((1, 1, 2))

        def run(v: Arrays) -> Any:
            def go(c: Any, x: Any) -> Any:
                values = block([*v, *c, *([] if xs is None else [x])])
                return [values[k] for k in nexts], values[out]

            given = None if xs is None else v[xs]
            return lax.scan(go, [v[k] for k in state], given, None if xs is not None else 3, reverse, unroll)

        return run

    def branches(self, known: Sequence[Any], depth: int, count: int) -> list[Step]:
        made = [self.body(known, [], depth) for _ in range(count)]
        first = self.random.randrange(len(made[0][1]))
        like = made[0][1][first]
        places = [first]
        for _, types in made[1:]:
            place = self.back(types, like, len(known))
            places.append(first if place is None and first < len(known) else -1 if place is None else place)
        return [lambda v, block=block, k=k: block(v)[k] for (block, _), k in zip(made, places, strict=True)]

    def cond(self, known: Sequence[Any], depth: int) -> Step:
        ask = self.random.randrange(len(known))
        one, other = self.branches(known, depth, 2)
        return lambda v: lax.cond(jnp.sum(v[ask].astype(jnp.float32)) > 0.5, one, other, v)

    def switch(self, known: Sequence[Any], depth: int) -> Step:
        ask = self.random.randrange(len(known))
        many = self.branches(known, depth, 3)
        return lambda v: lax.switch(jnp.sum(jnp.sign(v[ask].astype(jnp.float32))).astype(jnp.int32), many, v)

    def vmap(self, known: Sequence[Any], depth: int) -> Step:
        rows = [k for k, one in enumerate(known) if one.shape]
        if not rows:
            return lambda v: v[0]
        over = self.random.choice(rows)
        block, types = self.body(known, [jax.ShapeDtypeStruct(known[over].shape[1:], known[over].dtype)], depth)
        out = self.random.randrange(len(known), len(types))
        return lambda v: jax.vmap(lambda row: block([*v, row])[out])(v[over])

    def grad(self, known: Sequence[Any], depth: int) -> Step:
        floats = [k for k, one in enumerate(known) if one.dtype.kind == "f"]
        if not floats:
            return lambda v: v[0]
        over = self.random.choice(floats)
        block, types = self.body(known, [known[over]], depth)
        out = self.random.randrange(len(known), len(types))
        return lambda v: jax.grad(lambda x: jnp.sum(block([*v, x])[out].astype(jnp.float32)))(v[over])


def examine(seed: int, targets: Sequence[str]) -> Iterator[Event]:
    """What is seen of the program of a seed."""
    jax.config.update("jax_platforms", "cpu")
    yield Event("source", "")
    program = Program(seed)
    try:
        runs = [[np.asarray(x) for x in jax.jit(program)(*program.inputs)]]
    except Exception as error:  # reverse-mode of a while loop, for instance
        yield Event("source", "no program", type(error).__name__)
        return
    near = [np.nextafter(x, np.asarray(np.inf, x.dtype)) if x.dtype.kind == "f" else x for x in program.inputs]
    runs.append([np.asarray(x) for x in jax.jit(program)(*map(np.asarray, near))])
    noise = apart(runs[0], runs[1])
    if not np.isfinite(noise):
        yield Event("source", "no program", "it amplifies rounding")
        return
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        for target in targets:
            yield Event(target, "")
            file, runtime = TARGETS[target]
            made = Path(name) / file
            try:
                convert(jax.jit(program, keep_unused=True), made, args=program.inputs, verify=0)
            except Exception as error:
                yield Event(target, "refused" if isinstance(error, Unsupported) else "crashed", told(error))
                continue
            for way in filter(None, (runtime, "executor")):
                yield from _run(target, way, made, program.inputs, runs[0], max(ROUNDING, 8 * noise))


def _run(target: str, way: str, made: Path, inputs: Arrays, wanted: Arrays, limit: float) -> Iterator[Event]:
    hub = to_hub(load(made))
    feed = dict(zip([value.name for value in hub.inputs], inputs, strict=False))
    if len(hub.inputs) != len(inputs):
        yield Event(target, "inputs", f"{len(hub.inputs)} of {len(inputs)}")
        return
    names = [value.name for value in hub.outputs]
    run = run_in(Ours(hub), [feed]) if way == "executor" else run_file(way, made, [feed], names)
    if run.refused or run.outputs[0] is None:
        told = run.refused or run.errors[0]
        yield Event(target, "fault" if told.startswith("fault") or _LACKING in told else "not run", f"{way}: {told}")
    elif apart(wanted, run.outputs[0]) > limit:
        yield Event(target, "wrong", f"{way}: {shown(wanted, run.outputs[0])}")
    else:
        yield Event(target, f"fine in {way}")


if __name__ == "__main__":
    main(__doc__, "programs", examine, TARGETS)
