"""Programs of libraries that people write JAX with, with inputs and what jax computes of them: as HLO text, and, where
jax.export takes them so, as StableHLO whose first size of the data is open.

    python -m venv e; e/bin/pip install "jax==0.10.2" flax optax equinox diffrax numpyro blackjax dm-haiku jraph lineax
        optimistix jaxopt brax mujoco-mjx
    e/bin/python tests/hlo/libraries/make.py OUTDIR [name ...]

Runs where those libraries are installed; what they say goes to OUTDIR as NAME.hlo and NAME.npz, NAME.open.mlirbc and
NAME.open.SIZE.npz for `judge.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax import lax

PENDULUM = """<mujoco><worldbody><body>
<joint type="hinge" axis="0 1 0"/><geom type="capsule" size=".1 .3"/>
<body pos="0 0 .6"><joint type="hinge" axis="0 1 0"/><geom type="capsule" size=".1 .3"/></body>
</body></worldbody></mujoco>"""
PROGRAMS: dict[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]] = {}


def prog(function: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS[function.__name__] = function
    return function


key = jax.random.PRNGKey(0)


@prog
def flax_lstm():
    import flax.linen as nn

    m = nn.RNN(nn.LSTMCell(8))
    x = jax.random.normal(key, (2, 7, 5))
    v = m.init(key, x)
    return (lambda v, x: m.apply(v, x), (v, x))


@prog
def flax_gru_reverse():
    import flax.linen as nn

    m = nn.Bidirectional(nn.RNN(nn.GRUCell(6)), nn.RNN(nn.GRUCell(6)))
    x = jax.random.normal(key, (2, 7, 5))
    v = m.init(key, x)
    return (lambda v, x: m.apply(v, x, seq_lengths=jnp.array([4, 7])), (v, x))


@prog
def flax_attention():
    import flax.linen as nn

    m = nn.MultiHeadDotProductAttention(num_heads=4)
    x = jax.random.normal(key, (2, 6, 16))
    v = m.init(key, x)
    return (lambda v, x: m.apply(v, x, mask=nn.make_causal_mask(x[..., 0])), (v, x))


@prog
def flax_resnet_block():
    import flax.linen as nn

    class B(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            y = nn.Conv(8, (3, 3), strides=2)(x)
            y = nn.BatchNorm(use_running_average=not train)(y)
            y = nn.relu(y)
            y = nn.Conv(8, (3, 3))(y)
            y = nn.BatchNorm(use_running_average=not train)(y)
            r = nn.Conv(8, (1, 1), strides=2)(x)
            y = nn.relu(y + r)
            y = nn.max_pool(y, (2, 2), (2, 2))
            y = nn.avg_pool(y, (2, 2))
            return nn.Dense(3)(y.reshape(x.shape[0], -1))

    m = B()
    x = jax.random.normal(key, (2, 16, 16, 3))
    v = m.init(key, x, False)
    return (lambda v, x: m.apply(v, x, True, mutable=["batch_stats"]), (v, x))


@prog
def flax_resnet_grad():
    f, (v, x) = flax_resnet_block()
    return (
        lambda v, x: jax.grad(lambda p: f({"params": p, "batch_stats": v["batch_stats"]}, x)[0].sum())(v["params"]),
        (v, x),
    )


@prog
def flax_decode_cache():
    import flax.linen as nn

    m = nn.MultiHeadDotProductAttention(num_heads=2, decode=True)
    x = jax.random.normal(key, (1, 5, 8))
    v = m.init(key, x)

    def f(v, x):

        def step(c, xt):
            y, u = m.apply({"params": v["params"], "cache": c}, xt[:, None], mutable=["cache"])
            return (u["cache"], y)

        return lax.scan(step, v["cache"], x.swapaxes(0, 1))

    return (f, (v, x))


@prog
def flax_nnx_mlp():
    from flax import nnx

    class M(nnx.Module):
        def __init__(s, rngs):
            s.a = nnx.Linear(4, 16, rngs=rngs)
            s.n = nnx.LayerNorm(16, rngs=rngs)
            s.b = nnx.Linear(16, 2, rngs=rngs)

        def __call__(s, x):
            return s.b(nnx.gelu(s.n(s.a(x))))

    mod = M(nnx.Rngs(0))
    g, st = nnx.split(mod)
    x = jax.random.normal(key, (3, 4))
    return (lambda x: nnx.merge(g, st)(x), (x,))


@prog
def diffrax_tsit5():
    import diffrax as d

    def f(y0):
        t = d.ODETerm(lambda t, y, a: jnp.array([y[1], -y[0] + 0.1 * jnp.sin(t)]))
        return d.diffeqsolve(
            t,
            d.Tsit5(),
            0.0,
            2.0,
            0.1,
            y0,
            stepsize_controller=d.PIDController(0.0001, 0.0001),
            saveat=d.SaveAt(ts=jnp.linspace(0, 2, 5)),
            max_steps=64,
        ).ys

    return (f, (jnp.array([1.0, 0.0]),))


@prog
def diffrax_euler():
    import diffrax as d

    def f(y0):
        t = d.ODETerm(lambda t, y, a: -y)
        return d.diffeqsolve(t, d.Euler(), 0.0, 1.0, 0.1, y0).ys

    return (f, (jnp.array([1.0, 2.0]),))


@prog
def diffrax_implicit():
    import diffrax as d

    def f(y0):
        t = d.ODETerm(
            lambda t, y, a: jnp.array(
                [-0.04 * y[0] + 100.0 * y[1] * y[2], 0.04 * y[0] - 100.0 * y[1] * y[2], 0.0 * y[2]]
            )
        )
        return d.diffeqsolve(
            t, d.ImplicitEuler(root_finder=__import__("optimistix").Newton(0.0001, 0.0001)), 0.0, 1.0, 0.1, y0
        ).ys

    return (f, (jnp.array([1.0, 0.1, 0.2]),))


@prog
def diffrax_grad():
    import diffrax as d

    def f(y0):
        t = d.ODETerm(lambda t, y, a: -y * y)
        return jax.grad(lambda y: d.diffeqsolve(t, d.Heun(), 0.0, 1.0, 0.1, y, max_steps=16).ys.sum())(y0)

    return (f, (jnp.array([1.0, 2.0]),))


@prog
def optax_adam():
    import optax

    o = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.01))

    def f(w, x, y):
        s = o.init(w)

        def step(c, _):
            w, s = c
            loss, g = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
            u, s = o.update(g, s, w)
            return ((optax.apply_updates(w, u), s), loss)

        (w, s), ls = lax.scan(step, (w, s), None, length=10)
        return (w, ls)

    return (f, (jax.random.normal(key, (4, 2)), jax.random.normal(key, (8, 4)), jnp.ones((8, 2))))


@prog
def optax_lbfgs():
    import optax

    def f(x):
        def fun(x):
            return jnp.sum((x - jnp.arange(3.0)) ** 2 * jnp.array([1.0, 10.0, 3.0]))

        s = optax.lbfgs()
        st = s.init(x)
        vg = optax.value_and_grad_from_state(fun)

        def step(c, _):
            x, st = c
            v, g = vg(x, state=st)
            u, st = s.update(g, st, x, value=v, grad=g, value_fn=fun)
            return ((optax.apply_updates(x, u), st), v)

        (x, _), vs = lax.scan(step, (x, st), None, length=4)
        return (x, vs)

    return (f, (jnp.array([3.0, -1.0, 2.0]),))


@prog
def optax_ctc():
    import optax

    return (
        optax.ctc_loss,
        (
            jax.random.normal(key, (2, 8, 5)),
            jnp.zeros((2, 8)),
            jnp.array([[1, 2, 2], [3, 4, 0]]),
            jnp.array([[0.0, 0, 0], [0, 0, 1]]),
        ),
    )


@prog
def equinox_gru():
    import equinox as eqx

    c = eqx.nn.GRUCell(3, 5, key=key)
    return (lambda xs: lax.scan(lambda h, x: (c(x, h), None), jnp.zeros(5), xs)[0], (jax.random.normal(key, (6, 3)),))


@prog
def haiku_lstm():
    import haiku as hk

    def net(xs):
        c = hk.LSTM(6)
        return hk.dynamic_unroll(c, xs, c.initial_state(2))

    n = hk.without_apply_rng(hk.transform(net))
    x = jax.random.normal(key, (5, 2, 3))
    p = n.init(key, x)
    return (lambda p, x: n.apply(p, x), (p, x))


@prog
def haiku_vq():
    import haiku as hk

    n = hk.without_apply_rng(
        hk.transform_with_state(lambda x: hk.nets.VectorQuantizer(4, 8, 0.25)(x, is_training=True)["quantize"])
    )
    x = jax.random.normal(key, (6, 4))
    p, s = n.init(key, x)
    return (lambda x: n.apply(p, s, x)[0], (x,))


@prog
def numpyro_logp():
    import numpyro.distributions as dist

    def f(x, m):
        return (
            dist.Normal(m, 1.0).log_prob(x).sum(),
            dist.Gamma(2.0, 3.0).log_prob(jnp.abs(x) + 0.1).sum(),
            dist.StudentT(3.0).log_prob(x).sum(),
            dist.MultivariateNormal(jnp.zeros(3), jnp.eye(3) * 2).log_prob(x[:3]),
            dist.Beta(2.0, 3.0).log_prob(jax.nn.sigmoid(x)).sum(),
            dist.Categorical(logits=x).log_prob(jnp.array(1)),
            dist.Poisson(3.0).log_prob(jnp.arange(4)).sum(),
        )

    return (f, (jax.random.normal(key, (5,)), jnp.array(0.3)))


@prog
def numpyro_sample():
    import numpyro.distributions as dist

    def f(k):
        ks = jax.random.split(k, 6)
        return (
            dist.Normal(0, 1).sample(ks[0], (4,)),
            dist.Gamma(2.0, 3.0).sample(ks[1], (3,)),
            dist.Beta(2.0, 3.0).sample(ks[2], (3,)),
            dist.Categorical(probs=jnp.ones(4) / 4).sample(ks[3], (5,)),
            dist.Poisson(3.0).sample(ks[4], (3,)),
        )

    return (f, (key,))


@prog
def numpyro_verlet():
    from numpyro.infer.hmc_util import velocity_verlet

    i, u = velocity_verlet(lambda z: 0.5 * jnp.sum(z**2), lambda inv, r: 0.5 * jnp.sum(inv * r**2))

    def f(z, r):
        s = i(z, r)
        return lax.fori_loop(0, 20, lambda _, s: u(0.1, jnp.ones(3), s), s)

    return (f, (jnp.ones(3), jnp.array([0.1, 0.2, 0.3])))


@prog
def blackjax_nuts():
    import blackjax

    n = blackjax.nuts(
        lambda x: -0.5 * jnp.sum(x**2), step_size=0.3, inverse_mass_matrix=jnp.ones(2), max_num_doublings=4
    )

    def f(k, x):
        s = n.init(x)

        def one(s, k):
            s, _i = n.step(k, s)
            return (s, s.position)

        return lax.scan(one, s, jax.random.split(k, 4))[1]

    return (f, (key, jnp.array([1.0, -1.0])))


@prog
def blackjax_hmc():
    import blackjax

    n = blackjax.hmc(
        lambda x: -0.5 * jnp.sum(x**2), step_size=0.2, inverse_mass_matrix=jnp.ones(2), num_integration_steps=8
    )

    def f(k, x):
        s = n.init(x)

        def one(s, k):
            s, i = n.step(k, s)
            return (s, (s.position, i.is_accepted))

        return lax.scan(one, s, jax.random.split(k, 6))[1]

    return (f, (key, jnp.array([1.0, -1.0])))


@prog
def jraph_gn():
    import jraph

    g = jraph.GraphsTuple(
        nodes=jnp.arange(8.0).reshape(4, 2),
        edges=jnp.ones((5, 1)),
        senders=jnp.array([0, 1, 2, 3, 0]),
        receivers=jnp.array([1, 2, 3, 0, 2]),
        globals=jnp.ones((1, 1)),
        n_node=jnp.array([4]),
        n_edge=jnp.array([5]),
    )
    net = jraph.GraphNetwork(
        update_edge_fn=lambda e, s, r, gl: jnp.tanh(e + s.sum(-1, keepdims=True) - r.sum(-1, keepdims=True)),
        update_node_fn=lambda n, s, r, gl: n + r + s,
        update_global_fn=lambda n, e, gl: n.sum(-1, keepdims=True) + gl,
    )

    def f(nodes, edges):
        o = net(g._replace(nodes=nodes, edges=edges))
        return (o.nodes, o.edges, o.globals)

    return (f, (g.nodes, g.edges))


@prog
def lineax_cg():
    import lineax as lx

    A = jnp.array([[4.0, 1, 0], [1, 3, 0.5], [0, 0.5, 2]])
    return (
        lambda b: (
            lx.linear_solve(lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag), b, lx.CG(1e-05, 1e-05)).value
        ),
        (jnp.array([1.0, 2.0, 3.0]),),
    )


@prog
def lineax_gmres():
    import lineax as lx

    A = jnp.array([[4.0, 1, 0], [-1, 3, 0.5], [0, 0.5, 2]])
    return (
        lambda b: lx.linear_solve(lx.MatrixLinearOperator(A), b, lx.GMRES(1e-05, 1e-05)).value,
        (jnp.array([1.0, 2.0, 3.0]),),
    )


@prog
def lineax_qr():
    import lineax as lx

    A = jnp.array([[4.0, 1], [1, 3], [0, 0.5]])
    return (lambda b: lx.linear_solve(lx.MatrixLinearOperator(A), b, lx.QR()).value, (jnp.array([1.0, 2.0, 3.0]),))


@prog
def optimistix_newton():
    import optimistix as ox

    return (
        lambda y: (
            ox.root_find(lambda y, a: jnp.array([y[0] ** 2 + y[1] - 3, y[0] - y[1]]), ox.Newton(1e-05, 1e-05), y).value
        ),
        (jnp.array([1.0, 2.0]),),
    )


@prog
def optimistix_lm():
    import optimistix as ox

    return (
        lambda y: (
            ox.least_squares(
                lambda y, a: jnp.array([y[0] ** 2 + y[1] - 3, y[0] - y[1], y[0]]),
                ox.LevenbergMarquardt(0.0001, 0.0001),
                y,
            ).value
        ),
        (jnp.array([1.0, 2.0]),),
    )


@prog
def optimistix_bfgs():
    import optimistix as ox

    return (
        lambda y: (
            ox.minimise(lambda y, a: (1 - y[0]) ** 2 + 10 * (y[1] - y[0] ** 2) ** 2, ox.BFGS(0.001, 0.001), y).value
        ),
        (jnp.array([0.0, 0.5]),),
    )


@prog
def jaxopt_pgd():
    import jaxopt

    return (
        lambda x: (
            jaxopt.ProjectedGradient(
                lambda x: jnp.sum((x - jnp.arange(3.0)) ** 2),
                jaxopt.projection.projection_simplex,
                maxiter=20,
                implicit_diff=False,
            )
            .run(x)
            .params
        ),
        (jnp.ones(3) / 3,),
    )


@prog
def brax_step():
    from brax import envs

    e = envs.get_environment("inverted_pendulum", backend="generalized")
    s = jax.jit(e.reset)(key)
    leaves, tree = jax.tree.flatten(s)

    def f(act, *leaves):
        return [x for x in jax.tree.leaves(e.step(jax.tree.unflatten(tree, leaves), act))]

    return (f, (jnp.zeros(1), *leaves))


@prog
def mjx_step():
    import mujoco
    from mujoco import mjx

    m = mujoco.MjModel.from_xml_string(PENDULUM)
    mx = mjx.put_model(m)
    d = mjx.make_data(mx)

    def f(qpos, qvel):
        o = lax.fori_loop(0, 3, lambda _, d: mjx.step(mx, d), d.replace(qpos=qpos, qvel=qvel))
        return (o.qpos, o.qvel)

    return (f, (jnp.array([0.3, -0.2]), jnp.array([0.1, 0.0])))


@prog
def stax_conv():
    from jax.example_libraries import stax

    i, a = stax.serial(
        stax.Conv(4, (3, 3), padding="SAME"),
        stax.BatchNorm(),
        stax.Relu,
        stax.MaxPool((2, 2)),
        stax.Flatten,
        stax.Dense(3),
        stax.LogSoftmax,
    )
    _, p = i(key, (-1, 8, 8, 2))
    return (lambda p, x: a(p, x), (p, jax.random.normal(key, (2, 8, 8, 2))))


@prog
def jax_scipy_misc():
    import jax.scipy as js

    return (
        lambda x, A: (
            js.special.logsumexp(x),
            js.stats.norm.cdf(x),
            js.linalg.expm(A),
            js.signal.convolve(x, x),
            js.special.gammaln(jnp.abs(x) + 1),
            js.stats.gaussian_kde(x)(x[:3]),
            js.interpolate.RegularGridInterpolator((jnp.arange(5.0),), x)(jnp.array([0.5, 1.5])),
        ),
        (jax.random.normal(key, (5,)), jnp.eye(3) * 0.3 + 0.1),
    )


@prog
def jax_nn_misc():
    return (
        lambda x, q: (
            jax.nn.gelu(x),
            jax.nn.swish(x),
            jax.nn.glu(x),
            jax.nn.one_hot(jnp.argmax(x, -1), 6),
            jax.nn.standardize(x),
            jax.nn.dot_product_attention(q, q, q, is_causal=True),
            jax.image.resize(x, (8, 3), "bilinear"),
            jax.image.resize(x, (8, 3), "cubic"),
        ),
        (jax.random.normal(key, (4, 6)), jax.random.normal(key, (2, 5, 2, 4))),
    )


def plain(tree: Any) -> list[np.ndarray]:
    """The leaves as arrays, keys as their words."""
    leaves = jax.tree.leaves(tree)
    keyed = [hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves]
    return [np.asarray(jax.random.key_data(leaf) if key else leaf) for leaf, key in zip(leaves, keyed, strict=True)]


def with_open_batch(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bytes, list[bool]]:
    """The program exported with a symbol for the first size of all arrays that have it as the last argument has, of all
    but the first argument, or of the last one; and which of all arrays these are.

    Raises:
        Exception: jax's, where it takes none of this.
    """
    size = next((leaf.shape[0] for leaf in jax.tree.leaves(arguments[-1]) if leaf.ndim), None)
    failure = TypeError("no array has a first size")
    for first in dict.fromkeys((0, min(1, len(arguments) - 1), len(arguments) - 1)) if size is not None else ():
        chosen = [
            at >= first and leaf.ndim > 0 and leaf.shape[0] == size and leaf.dtype != jnp.uint32
            for at, argument in enumerate(arguments)
            for leaf in jax.tree.leaves(argument)
        ]
        scope = jax.export.SymbolicScope()
        (batch,) = jax.export.symbolic_shape("batch", scope=scope)
        leaves, tree = jax.tree.flatten(arguments)
        specs = [
            jax.ShapeDtypeStruct((batch, *leaf.shape[1:]) if open_ else leaf.shape, leaf.dtype)
            for leaf, open_ in zip(leaves, chosen, strict=True)
        ]
        try:
            exported = jax.export.export(jax.jit(function, keep_unused=True))(*jax.tree.unflatten(tree, specs))
            return exported.mlir_module_serialized, chosen
        except Exception as error:
            failure = error
    raise failure


def store(path: Path, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    given, wanted = plain(arguments), plain(jax.jit(function, keep_unused=True)(*arguments))
    arrays = {f"in_{at}": one for at, one in enumerate(given)} | {f"out_{at}": one for at, one in enumerate(wanted)}
    np.savez(path, **arrays)


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PROGRAMS.items():
        if names and name not in names:
            continue
        function, arguments = make()
        jitted = jax.jit(function, keep_unused=True)
        text = jitted.lower(*arguments).as_text("hlo")
        (folder / f"{name}.hlo").write_text(text)
        store(folder / f"{name}.npz", function, arguments)
        try:
            exported, chosen = with_open_batch(function, arguments)
            (folder / f"{name}.open.mlirbc").write_bytes(exported)
            leaves, tree = jax.tree.flatten(arguments)
            for change in (0, 1, 3):
                sized = [
                    jnp.asarray(np.resize(leaf, (leaf.shape[0] + change, *leaf.shape[1:]))) if open_ else leaf
                    for leaf, open_ in zip(leaves, chosen, strict=True)
                ]
                store(folder / f"{name}.open.{change}.npz", function, jax.tree.unflatten(tree, sized))
            said = "exported with an open size"
        except Exception as error:
            said = f"no open size: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
        print(f"{name}: {len(text)} characters, {text.count(' while(')} loops, {said}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
