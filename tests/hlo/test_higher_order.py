"""JAX's higher-order functions with open sizes, and on one device: ONNX Runtime gives what JAX gives. What calls Python
is refused by its name.

`programs` has many more at fixed sizes, which `sweep.py` and `symbolic.py` go through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import backedge
import numpy as np
import pytest

from .test_open_sizes import check

jax = pytest.importorskip("jax", reason="jax isn't installed")
experimental = pytest.importorskip("jax.experimental", reason="jax isn't installed")
jnp, lax = jax.numpy, jax.lax

F32 = np.float32
ROWS = jax.ShapeDtypeStruct(("time", 3), F32)
BATCH = jax.ShapeDtypeStruct(("batch", 3), F32)
SQUARE = jax.ShapeDtypeStruct((3, 3), F32)


def carried_tree(xs: Any) -> Any:
    """Forwards, then backwards over what came out; the state is a dictionary of an array and a tuple."""

    def step(state: Any, x: Any) -> Any:
        last, (count, largest) = state["last"], state["seen"]
        new = {"last": 0.5 * last + x, "seen": (count + 1, jnp.maximum(largest, x.max()))}
        return new, {"sum": last + x, "count": count}

    start = {"last": jnp.zeros(3), "seen": (0, jnp.float32(-jnp.inf))}
    state, out = lax.scan(step, start, xs)
    return state, lax.scan(lambda c, one: (c - one["sum"], c * one["count"]), state["last"], out, reverse=True)


def masked_whiles(xs: Any) -> Any:
    """Each row ends after another number of passes, none for some."""
    return jax.vmap(
        lambda x: lax.while_loop(lambda s: jnp.abs(s[0]).sum() > 1, lambda s: (s[0] / 2, s[1] + 1), (x, jnp.int32(0)))
    )(xs)


def masked_fori(xs: Any) -> Any:
    """Numbers of passes that differ by row, 0 and below included."""
    return jax.vmap(lambda x: lax.fori_loop(0, jnp.round(x[0] * 3).astype(int), lambda i, s: s * 1.5 + i, x))(xs)


def branches(xs: Any) -> Any:
    """A cond and a switch on what the data say, and a switch by row."""
    which = (jnp.abs(xs).sum() * 3).astype(int) % 4
    double, half, sine = (lambda v: v * 2, lambda v: v / 2, jnp.sin)
    rows = jax.vmap(lambda x: lax.switch((jnp.abs(x[0]) * 3).astype(int), [double, half, sine], x))(xs)
    return lax.cond(xs.sum() > 0, double, half, xs), lax.switch(which, [double, half, sine], xs), rows


def associative(xs: Any) -> Any:
    """Affine maps, one after the other, along the axis whose size is known."""

    def then(a: Any, b: Any) -> Any:
        return b[0] * a[0], b[0] * a[1] + b[1]

    return lax.associative_scan(then, (jnp.tanh(xs), xs), axis=1), lax.associative_scan(
        jnp.maximum, xs, axis=1, reverse=True
    )


def mapped(xs: Any) -> Any:
    return lax.map(lambda x: jnp.sort(x) - x.mean(), xs)


@jax.custom_vjp
def clipped(x: Any) -> Any:
    return jnp.exp(x)


clipped.defvjp(lambda x: (jnp.exp(x), jnp.exp(x)), lambda kept, g: (jnp.clip(g * kept, -1, 1),))


@jax.custom_jvp
def softplus(x: Any) -> Any:
    return jnp.logaddexp(x, 0)


softplus.defjvps(lambda g, _, x: g * jax.nn.sigmoid(x))


def own_gradients(xs: Any) -> Any:
    """Forwards, and by the rules that are written for the derivative."""
    return clipped(xs), jax.grad(lambda x: clipped(x).sum())(xs), jax.jvp(softplus, (xs,), (xs + 1,))


def rnn(w: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(h @ w + x)
        return h, h

    return (lax.scan(step, jnp.zeros(3), xs)[1] ** 2).mean()


def through_scan(w: Any, xs: Any) -> Any:
    """What JAX stacks on the way forwards, a scan in reverse reads."""
    return jax.value_and_grad(rnn, argnums=(0, 1))(w, xs)


def recomputed(w: Any, xs: Any) -> Any:
    """The same with each step computed again on the way back."""

    @jax.checkpoint
    def step(h: Any, x: Any) -> Any:
        h = jnp.sin(jnp.tanh(h @ w) + x)
        return h, h.sum()

    return jax.grad(lambda w: lax.scan(step, jnp.ones(3), xs)[1].sum())(w)


def hessians(xs: Any) -> Any:
    """Forwards over backwards, for each row."""
    return jax.vmap(jax.hessian(lambda x: lax.fori_loop(0, 3, lambda _, s: jnp.sin(s) * s, x).sum()))(xs)


def while_in_scan_in_cond(xs: Any) -> Any:
    def halved(x: Any) -> Any:
        return lax.while_loop(lambda v: jnp.abs(v).max() > 0.5, lambda v: v / 2, x)

    def scanned(xs: Any) -> Any:
        return lax.scan(lambda c, x: (c + halved(x), c), jnp.zeros(3), xs)

    return lax.cond(xs[0, 0] < 10, scanned, lambda xs: (xs[0], xs), xs)


TIME, ROWWISE = [{"time": size} for size in (1, 4)], [{"batch": size} for size in (1, 5)]
PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any], list[dict[str, int]]]] = {
    "carried_tree": (carried_tree, [ROWS], TIME),
    "masked_whiles": (masked_whiles, [BATCH], ROWWISE),
    "masked_fori": (masked_fori, [BATCH], ROWWISE),
    "branches": (branches, [BATCH], ROWWISE),
    "associative": (associative, [BATCH], ROWWISE),
    "mapped": (mapped, [BATCH], ROWWISE),
    "own_gradients": (own_gradients, [BATCH], ROWWISE),
    "through_scan": (through_scan, [SQUARE, ROWS], TIME),
    "recomputed": (recomputed, [SQUARE, ROWS], TIME),
    "hessians": (hessians, [BATCH], ROWWISE),
    "while_in_scan_in_cond": (while_in_scan_in_cond, [ROWS], TIME),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_open_sizes(name: str, tmp_path: Any) -> None:
    function, specs, sizes = PROGRAMS[name]
    check(function, specs, sizes, tmp_path)


def on_one_device() -> dict[str, Callable[..., Any]]:
    spec = jax.sharding.PartitionSpec
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, spec("i"))
    return {
        "pmap": jax.pmap(lambda x: lax.psum(x, "i") + lax.axis_index("i"), axis_name="i"),
        "shard_map": jax.shard_map(
            lambda x: lax.all_gather(x, "i") * lax.psum(x, "i"),
            mesh=mesh,
            in_specs=spec("i"),
            out_specs=spec(None, "i"),
        ),
        "sharded": lambda x: jnp.sin(lax.with_sharding_constraint(x * 2, sharding)),
    }


@pytest.mark.parametrize("name", ["pmap", "shard_map", "sharded"])
def test_on_one_device(name: str, tmp_path: Any) -> None:
    check(on_one_device()[name], [jax.ShapeDtypeStruct((1, 3), F32)], [{}], tmp_path)


def effects() -> dict[str, tuple[Callable[[Any], Any], str]]:
    """Name -> what calls Python, what the refusal says."""
    io_callback = experimental.io_callback
    like = jax.ShapeDtypeStruct((2, 3), F32)
    number = jax.ShapeDtypeStruct((), F32)
    ordered = r"main: a token is one of its inputs: ordered effects \({}\) call Python"
    return {
        "pure_callback": (
            lambda x: jax.pure_callback(np.sin, like, x),
            r": pure_callback \(xla_ffi_\w+\) calls Python",
        ),
        "io_callback": (lambda x: io_callback(np.sin, like, x), r": io_callback \(xla_ffi_\w+\) calls Python"),
        "ordered": (lambda x: io_callback(np.sin, like, x, ordered=True), ordered.format("io_callback")),
        "ordered_print": (lambda x: (jax.debug.print("{}", x, ordered=True), x)[1], ordered.format("debug_print")),
        "in_a_loop": (
            lambda x: lax.scan(lambda c, row: (c + jax.pure_callback(np.sum, number, row), None), F32(0), x)[0],
            r": pure_callback \(xla_ffi_\w+\) calls Python",
        ),
    }


@pytest.mark.parametrize("name", ["pure_callback", "io_callback", "ordered", "ordered_print", "in_a_loop"])
def test_what_calls_python_is_refused_by_name(name: str) -> None:
    function, message = effects()[name]
    with pytest.raises(backedge.Unsupported, match=message):
        backedge.convert(function, to="onnx", args=(jax.ShapeDtypeStruct((2, 3), F32),), verify=0)


def test_what_only_prints_is_left_out_and_told() -> None:
    def printing(x: Any) -> Any:
        jax.debug.print("x is {}", x)
        return x + 1

    report = backedge.convert(printing, to="onnx", args=(jax.ShapeDtypeStruct((2,), F32),), verify=0)
    (note,) = report.notes
    assert "debug_print (xla_ffi_python_cpu_callback) returns nothing to the model (it may print)" in note
    assert report.operators == {"Add": 1}
