"""Numerical and discrete algorithms."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from .base import Program, definite, f32, i32, integers, normal, u32, uniform


def pendulum(y):
    return jnp.stack([y[1], -jnp.sin(y[0])])


def euler(y):
    return lax.scan(lambda y, _: (y + 0.1 * pendulum(y), y), y, None, length=12)


def runge_kutta(y):
    def step(y, h):
        a = pendulum(y)
        b = pendulum(y + 0.5 * h * a)
        c = pendulum(y + 0.5 * h * b)
        d = pendulum(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
        return y, y

    return lax.scan(step, y, jnp.full(8, 0.2))


def adaptive(y):
    """Heun's method with a step that fits the error."""

    def step(state):
        t, y, h, taken = state
        a = pendulum(y)
        b = pendulum(y + h * a)
        error = jnp.abs(0.5 * h * (b - a)).max()
        accept = error < 1e-2
        t, y = jnp.where(accept, t + h, t), jnp.where(accept, y + 0.5 * h * (a + b), y)
        h = jnp.minimum(h * jnp.clip(0.9 * jnp.sqrt(1e-2 / (error + 1e-9)), 0.3, 2.0), 2.0 - t + 1e-3)
        return t, y, h, taken + 1

    return lax.while_loop(lambda s: s[0] < 2.0, step, (0.0, y, 0.5, 0))[1::2]


def newton(x):
    def step(state):
        x, _ = state
        new = x - (x**3 - 2 * x - 5) / (3 * x**2 - 2)
        return new, jnp.abs(new - x)

    return lax.while_loop(lambda s: s[1] > 1e-6, step, (x, jnp.float32(1.0)))[0]


def bisection(low, high):
    def step(_, bounds):
        low, high = bounds
        mid = 0.5 * (low + high)
        above = jnp.cos(mid) - mid < 0
        return jnp.where(above, low, mid), jnp.where(above, mid, high)

    return lax.fori_loop(0, 20, step, (low, high))


def mandelbrot(re, im):
    def step(state):
        i, x, y, count = state
        inside = x * x + y * y <= 4.0
        x, y = jnp.where(inside, x * x - y * y + re, x), jnp.where(inside, 2 * x * y + im, y)
        return i + 1, x, y, count + inside.astype(jnp.int32)

    def condition(state):
        i, x, y, _ = state
        return (i < 16) & jnp.any(x * x + y * y <= 4.0)

    zero = jnp.zeros_like(re)
    return lax.while_loop(condition, step, (0, zero, zero, zero.astype(jnp.int32)))[3]


def mandelbrot_complex(re, im):
    c = lax.complex(re, im)

    def step(_, state):
        z, count = state
        z = jnp.where(jnp.abs(z) <= 2, z * z + c, z)
        return z, count + (jnp.abs(z) <= 2)

    z, count = lax.fori_loop(0, 8, step, (jnp.zeros_like(c), jnp.zeros(re.shape, jnp.int32)))
    return z.real, z.imag, count


def congruential(seed):
    def step(state, _):
        state = state * jnp.uint32(1664525) + jnp.uint32(1013904223)
        return state, state >> 16

    return lax.scan(step, seed, None, length=6)


def xorshift(seed):
    def step(state, _):
        state = state ^ (state << 13)
        state = state ^ (state >> 17)
        state = state ^ (state << 5)
        return state, (state >> 8).astype(jnp.float32) / 2**24

    return lax.scan(step, seed, None, length=6)


def greatest_divisor(a, b):
    return lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))[0]


def collatz(n):
    def step(state):
        n, count = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    return lax.while_loop(lambda s: s[0] != 1, step, (n, 0))


def power_modulo(base, exponent):
    def step(state):
        base, exponent, result = state
        result = jnp.where(exponent & 1 == 1, result * base % 1009, result)
        return base * base % 1009, exponent >> 1, result

    return lax.while_loop(lambda s: s[1] > 0, step, (base, exponent, jnp.int32(1)))[2]


def sieve(n):
    del n

    def strike(i, flags):
        multiples = jnp.arange(40)
        return jnp.where((multiples % i == 0) & (multiples > i), False, flags)

    return lax.fori_loop(2, 7, strike, jnp.arange(40) > 1)


def bubble_sort(x):
    n = x.shape[0]

    def inner(j, x):
        a, b = x[j], x[j + 1]
        return x.at[j].set(jnp.minimum(a, b)).at[j + 1].set(jnp.maximum(a, b))

    return lax.fori_loop(0, n - 1, lambda i, x: lax.fori_loop(0, n - 1 - i, inner, x), x)


def insertion_sort(x):
    def insert(i, x):
        def shift(state):
            j, x = state
            a, b = x[j - 1], x[j]
            return j - 1, x.at[j - 1].set(b).at[j].set(a)

        return lax.while_loop(lambda s: (s[0] > 0) & (s[1][s[0] - 1] > s[1][s[0]]), shift, (i, x))[1]

    return lax.fori_loop(1, x.shape[0], insert, x)


def binary_search(x, wanted):
    def step(state):
        low, high = state
        mid = (low + high) // 2
        return jnp.where(x[mid] < wanted, mid + 1, low), jnp.where(x[mid] < wanted, high, mid)

    return lax.while_loop(lambda s: s[0] < s[1], step, (0, x.shape[0]))[0]


def k_means(points, centres):
    def step(_, centres):
        distances = jnp.sum((points[:, None] - centres[None]) ** 2, -1)
        member = (distances.argmin(1)[:, None] == jnp.arange(centres.shape[0])).astype(points.dtype)
        return member.T @ points / jnp.maximum(member.sum(0), 1)[:, None]

    return lax.fori_loop(0, 4, step, centres)


def power_iteration(a, x):
    def step(state):
        x, _, old = state
        y = a @ x
        norm = jnp.linalg.norm(y)
        return y / norm, old, norm

    return lax.while_loop(lambda s: jnp.abs(s[1] - s[2]) > 1e-4 * s[2], step, (x, 0.0, 1.0))[2]


def conjugate_gradient(a, b):
    def step(state):
        x, r, p, rs = state
        ap = a @ p
        alpha = rs / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        return x, r, r + new / rs * p, new

    return lax.while_loop(lambda s: s[3] > 1e-8, step, (jnp.zeros_like(b), b, b, b @ b))[0]


def jacobi(a, b):
    diagonal = jnp.diag(a)
    return lax.fori_loop(0, 10, lambda _, x: (b - a @ x + diagonal * x) / diagonal, jnp.zeros_like(b))


def kalman(observations):
    f = jnp.array([[1.0, 0.1], [0.0, 1.0]])
    h = jnp.array([[1.0, 0.0]])

    def step(state, z):
        mean, cov = state
        mean, cov = f @ mean, f @ cov @ f.T + 0.01 * jnp.eye(2)
        s = h @ cov @ h.T + 0.1
        gain = cov @ h.T / s
        mean = mean + gain @ (z - h @ mean)
        cov = (jnp.eye(2) - gain @ h) @ cov
        return (mean, cov), mean

    return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), observations)


def life(board):
    def step(_, board):
        around = sum(jnp.roll(board, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
        return ((around == 3) | ((board == 1) & (around == 2))).astype(jnp.int32)

    return lax.fori_loop(0, 4, step, board)


def heat(u):
    def step(u, _):
        inner = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = u.at[1:-1].set(inner)
        return u, u.sum()

    return lax.scan(step, u, None, length=6)


def trapezoid(x):
    return jnp.trapezoid(jnp.sin(x), x), jnp.interp(jnp.array([0.1, 0.5, 5.0]), x, x * x)


def polynomial(p, x):
    return jnp.polyval(p, x), jnp.convolve(p, p), jnp.vander(p, 3)


def gram_schmidt(a):
    def step(i, q):
        column = a[:, i]
        column = column - q @ (q.T @ column)
        return q.at[:, i].set(column / jnp.linalg.norm(column))

    return lax.fori_loop(0, a.shape[1], step, jnp.zeros_like(a))


def gaussian_elimination(a):
    def step(k, a):
        rows = jnp.arange(a.shape[0])
        factors = jnp.where(rows > k, a[:, k] / a[k, k], 0.0)
        return a - factors[:, None] * a[k][None]

    return lax.fori_loop(0, a.shape[0], step, a)


def floyd_warshall(d):
    return lax.fori_loop(0, d.shape[0], lambda k, d: jnp.minimum(d, d[:, k][:, None] + d[k][None]), d)


def knapsack(weights, values):
    def step(best, item):
        weight, value = item
        room = jnp.arange(best.shape[0])
        taken = jnp.where(room >= weight, best[jnp.maximum(room - weight, 0)] + value, 0)
        return jnp.maximum(best, taken), None

    return lax.scan(step, jnp.zeros(12, jnp.int32), (weights, values))[0]


PROGRAMS = [
    Program("euler", "scan ode", euler, [f32([1.0, 0.0])]),
    Program("runge_kutta", "scan ode", runge_kutta, [f32([1.0, 0.5])]),
    Program("adaptive_step", "while ode", adaptive, [f32([1.0, 0.0])]),
    Program("newton", "while", newton, [f32(2.0)]),
    Program("bisection", "fori", bisection, [f32(0.0), f32(1.5)]),
    Program("mandelbrot", "while", mandelbrot, [uniform(-2, 0.5, 4, 5), uniform(-1, 1, 4, 5)]),
    Program("mandelbrot_complex", "while complex", mandelbrot_complex, [uniform(-2, 0.5, 6), uniform(-1, 1, 6)]),
    Program("congruential", "scan int random", congruential, [u32(42)]),
    Program("xorshift", "scan int random", xorshift, [u32(2463534242)]),
    Program("gcd", "while int", greatest_divisor, [i32(1071), i32(462)]),
    Program("collatz", "while int", collatz, [i32(27)]),
    Program("power_modulo", "while int", power_modulo, [i32(7), i32(560)]),
    Program("sieve", "fori int bool", sieve, [i32(0)]),
    Program("bubble_sort", "fori sort", bubble_sort, [normal(6)]),
    Program("insertion_sort", "fori while sort", insertion_sort, [normal(6)]),
    Program("binary_search", "while int", binary_search, [f32([1, 3, 4, 8, 9, 12, 20]), f32(8.5)]),
    Program("k_means", "fori", k_means, [normal(12, 2), normal(3, 2)]),
    Program("power_iteration", "while", power_iteration, [definite(4), f32([1, 0, 0, 0])]),
    Program("conjugate_gradient", "while", conjugate_gradient, [definite(5), normal(5)]),
    Program("jacobi", "fori", jacobi, [definite(4), normal(4)]),
    Program("kalman", "scan", kalman, [normal(6, 1)]),
    Program("life", "fori int", life, [integers(0, 2, 6, 6)]),
    Program("heat", "scan", heat, [uniform(0, 1, 8)]),
    Program("trapezoid_interp", "gather", trapezoid, [f32([0, 0.25, 0.75, 1.0, 2.0])]),
    Program("polynomial", "conv", polynomial, [normal(4), normal(5)]),
    Program("gram_schmidt", "fori", gram_schmidt, [normal(4, 3)]),
    Program("gaussian_elimination", "fori", gaussian_elimination, [definite(4)]),
    Program("floyd_warshall", "fori", floyd_warshall, [uniform(1, 10, 5, 5)]),
    Program("knapsack", "scan gather int", knapsack, [i32([3, 4, 5, 2]), i32([4, 5, 6, 3])]),
]
