"""Fourier transforms and random numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax, random

from .base import Program, normal, u32

KEY = u32([3, 141592])


def parts(z):
    return z.real, z.imag


def fft(x):
    return parts(jnp.fft.fft(x))


def fft_complex(re, im):
    z = lax.complex(re, im)
    return parts(jnp.fft.fft(z)), parts(jnp.fft.ifft(z))


def real_round_trip(x):
    return jnp.fft.irfft(jnp.fft.rfft(x), x.shape[-1]), jnp.abs(jnp.fft.rfft(x))


def inverse_real(re, im):
    return jnp.fft.irfft(lax.complex(re, im)), jnp.fft.irfft(lax.complex(re, im), 7)


def planes(x):
    return parts(jnp.fft.fft2(x)), jnp.fft.irfft2(jnp.fft.rfft2(x)), jnp.fft.fftshift(x), jnp.fft.fftfreq(5)


def cubes(x):
    return parts(jnp.fft.fftn(x)), parts(jnp.fft.rfftn(x))


def filtered(x, k):
    return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(k, x.shape[-1]), x.shape[-1])


def spectral_gradient(x):
    return jax.grad(lambda x: (jnp.abs(jnp.fft.rfft(x)) ** 2).sum())(x)


def fft_in_scan(xs):
    return lax.scan(lambda c, x: (c * 0.5 + jnp.abs(jnp.fft.fft(x)), c), jnp.zeros(xs.shape[1]), xs)


def bits(key):
    return random.bits(key, (5,)), random.bits(key, (3,), jnp.uint8), random.bits(key, (3,), jnp.uint16)


def keys(key):
    return random.split(key, 3), random.fold_in(key, 7)


def threefry_odd(key):
    return random.bits(key, (2, 3, 3))


def continuous(key):
    return random.uniform(key, (4,), minval=-1, maxval=3), random.normal(key, (5,)), random.exponential(key, (3,))


def discrete(key):
    return random.randint(key, (6,), -3, 9), random.bernoulli(key, 0.3, (5,)), random.permutation(key, 7)


def categorical(key, logits):
    return random.categorical(key, logits), random.gumbel(key, (3,)), random.choice(key, 10, (4,), replace=False)


def gamma(key):
    """Rejection sampling: a while loop that ends where its random numbers say so."""
    return random.gamma(key, jnp.array([0.5, 2.0, 5.0])), random.poisson(key, 3.0, (4,))


def truncated(key):
    return random.truncated_normal(key, -1, 1, (4,)), random.laplace(key, (3,)), random.cauchy(key, (2,))


def walk(key):
    def step(state, key):
        state = state + random.normal(key, (2,))
        return state, state

    return lax.scan(step, jnp.zeros(2), random.split(key, 5))


def split_in_loop(key):
    def step(_, state):
        key, total = state
        key, sub = random.split(key)
        return key, total + random.uniform(sub)

    return lax.fori_loop(0, 4, step, (key, 0.0))


def metropolis(key):
    def step(x, key):
        proposal_key, accept_key = random.split(key)
        new = x + random.normal(proposal_key)
        accept = jnp.log(random.uniform(accept_key)) < 0.5 * (x * x - new * new)
        x = jnp.where(accept, new, x)
        return x, x

    return lax.scan(step, jnp.float32(0), random.split(key, 6))


def generator(algorithm, shape=(4,), dtype=jnp.uint32):
    return lambda key: lax.rng_bit_generator(key, shape, dtype, algorithm)


def uniform_of_platform(low, high):
    return lax.rng_uniform(low, high, (6,))


def half_uniform(key):
    return random.uniform(key, (4,), jnp.bfloat16), random.normal(key, (4,), jnp.float16)


def uniform_x64(key):
    return random.uniform(key, (3,), jnp.float64), random.bits(key, (2,), jnp.uint64), random.normal(key, (2,))


THREEFRY, PHILOX = lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX
FOUR = u32([1, 2, 3, 4])
PROGRAMS = [
    Program("fft", "fft", fft, [normal(3, 8)]),
    Program("fft_odd", "fft", fft, [normal(7)]),
    Program("fft_complex", "fft complex", fft_complex, [normal(2, 6), normal(2, 6)]),
    Program("rfft", "fft", real_round_trip, [normal(2, 8)]),
    Program("rfft_odd", "fft", real_round_trip, [normal(9)]),
    Program("irfft", "fft complex", inverse_real, [normal(5), normal(5)]),
    Program("fft2", "fft", planes, [normal(4, 6)]),
    Program("fft3", "fft", cubes, [normal(2, 3, 4)]),
    Program("fft_filter", "fft complex", filtered, [normal(16), normal(4)]),
    Program("fft_grad", "fft grad", spectral_gradient, [normal(8)]),
    Program("fft_in_scan", "fft scan", fft_in_scan, [normal(3, 4)]),
    Program("random_bits", "random int", bits, [KEY]),
    Program("random_keys", "random int", keys, [KEY]),
    Program("random_bits_odd", "random int", threefry_odd, [KEY]),
    Program("random_continuous", "random", continuous, [KEY]),
    Program("random_discrete", "random sort", discrete, [KEY]),
    Program("random_categorical", "random sort", categorical, [KEY, normal(4, 3)]),
    Program("random_gamma", "random while", gamma, [KEY]),
    Program("random_truncated", "random", truncated, [KEY]),
    Program("random_walk", "random scan", walk, [KEY]),
    Program("random_split_in_loop", "random fori", split_in_loop, [KEY]),
    Program("random_metropolis", "random scan", metropolis, [KEY]),
    Program("random_half", "random dtypes", half_uniform, [KEY]),
    Program("random_x64", "random x64", uniform_x64, [KEY], x64=True),
    Program("generator_threefry", "random int", generator(THREEFRY), [FOUR]),
    Program("generator_threefry_odd", "random int", generator(THREEFRY, (3, 3)), [FOUR]),
    Program("generator_philox", "random int", generator(PHILOX), [FOUR]),
    Program("generator_philox_u8", "random int", generator(PHILOX, (7,), jnp.uint8), [FOUR]),
    Program("generator_x64", "random int x64", generator(THREEFRY, (3,), jnp.uint64), [FOUR], x64=True),
    Program("generator_default", "random int", generator(lax.RandomAlgorithm.RNG_DEFAULT), [FOUR], drawn=True),
    Program("rng_uniform", "random", uniform_of_platform, [0.0, 1.0], drawn=True),
]
