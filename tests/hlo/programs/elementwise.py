"""Integer semantics, element types, complex numbers, special functions and special values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.scipy import special, stats

from .base import Program, booleans, f32, i32, integers, normal, u32, uniform

NAN, INF = float("nan"), float("inf")
LEAST = -(2**31)


def division(x, y):
    return lax.div(x, y), lax.rem(x, y)


def floor_division(x, y):
    return x // y, x % y, jnp.divmod(x, y), x / y


def shifts(x, by):
    return lax.shift_left(x, by), lax.shift_right_logical(x, by), lax.shift_right_arithmetic(x, by)


def wrapping(x, y):
    return x + y, x - y, x * y, -x, jnp.abs(x), jnp.sign(x), lax.integer_pow(x, 3), ~x


def counting(x):
    return lax.population_count(x), lax.clz(x), x & (x - 1), x | 5, x ^ 3


def logic(a, b):
    return a & b, a | b, a ^ b, ~a, a == b, a < b, jnp.logical_xor(a, b), a.astype(jnp.int32) + b, a * b, jnp.any(a)


def to_integers(x):
    return tuple(x.astype(t) for t in (jnp.int32, jnp.uint32, jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.bool_))


def between(x):
    return tuple(x.astype(t) for t in (jnp.float32, jnp.bfloat16, jnp.float16, jnp.int8, jnp.uint32, jnp.bool_))


def to_int64(x):
    return x.astype(jnp.int64), x.astype(jnp.uint64), x.astype(jnp.float32), x.astype(jnp.int32)


def arithmetic(x, y):
    return x + y, x - y, x * y, x / y, jnp.maximum(x, y), x**2, -x, jnp.abs(x), x < y, x @ y


def float8(x):
    return tuple(
        x.astype(t).astype(jnp.float32)
        for t in (jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float8_e4m3fnuz, jnp.float8_e5m2fnuz)
    )


def float8_kept(x):
    return x.astype(jnp.float8_e4m3fn), x.astype(jnp.float8_e5m2)


def four_bits(x):
    return x.astype(jnp.int4).astype(jnp.int8), x.astype(jnp.uint4).astype(jnp.int32), x.astype(jnp.int4) + 1


def four_bit_weights(w, scale, x):
    return x @ (w.astype(jnp.float32) * scale)


def bitcasts(x):
    return (
        lax.bitcast_convert_type(x, jnp.int32),
        lax.bitcast_convert_type(x, jnp.uint8),
        lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.uint32) ^ jnp.uint32(1 << 31), jnp.float32),
        lax.bitcast_convert_type(x.astype(jnp.float16), jnp.int16),
    )


def bitcast_wider(x):
    return lax.bitcast_convert_type(x, jnp.float32), lax.bitcast_convert_type(x[..., :2], jnp.uint16)


def reduced_precision(x):
    return lax.reduce_precision(x, 5, 10), lax.reduce_precision(x, 8, 7), lax.reduce_precision(x, 4, 3)


def complex_parts(re, im):
    z = lax.complex(re, im)
    return z.real, z.imag, jnp.abs(z), jnp.angle(z), z.conj().imag


def complex_arithmetic(re, im):
    z = lax.complex(re, im)
    w = z * (2 - 1j) + 1j
    return [(r.real, r.imag) for r in (z + w, z - w, z * w, z / w, -z, z.sum(), z.prod())] + [z == w, z != z]


def complex_functions(re, im):
    z = lax.complex(re, im)
    functions = (jnp.exp, jnp.log, jnp.sqrt, jnp.sin, jnp.cos, jnp.tanh, lax.rsqrt, jnp.square, jnp.sign)
    return [(f(z).real, f(z).imag) for f in functions] + [(z**1.5).real]


def complex_matmul(re, im):
    z = lax.complex(re, im)
    y = z @ z.T.conj()
    return y.real, y.imag, jnp.where(re > 0, z, 0).imag, z.T[::-1].real, z.reshape(-1)[1:].imag


def complex_out(re, im):
    return lax.complex(re, im) * 1j


def complex_scan(re, im):
    c, ys = lax.scan(lambda c, z: (c * 0.5j + z, c), jnp.complex64(1 + 1j), lax.complex(re, im))
    return c.real, c.imag, ys.real, ys.imag


def elementary(x):
    names = "exp expm1 sin cos tan tanh sinh cosh arcsinh arctan square floor ceil round rint trunc sign cbrt exp2"
    return [getattr(jnp, name)(x) for name in names.split()] + [lax.logistic(x), jnp.sinc(x), jnp.signbit(x)]


def positive(x):
    return jnp.log(x), jnp.log1p(x), jnp.sqrt(x), lax.rsqrt(x), jnp.log2(x), jnp.log10(x), jnp.arccosh(x + 1), x**0.3


def unit(x):
    return jnp.arcsin(x), jnp.arccos(x), jnp.arctanh(x), special.erfinv(x), special.logit(x * 0.4 + 0.5)


def two(x, y):
    functions = (jnp.arctan2, jnp.hypot, jnp.logaddexp, jnp.fmod, jnp.remainder, jnp.copysign, jnp.maximum)
    return [f(x, y) for f in functions] + [jnp.abs(x) ** y, jnp.nextafter(x, y), jnp.heaviside(x, y), lax.rem(x, y)]


def comparisons(x, y):
    return x == y, x != y, x < y, x <= y, x > y, x >= y, jnp.isclose(x, y), jnp.isnan(x), jnp.isfinite(x), jnp.isinf(x)


def roundings(x):
    return jnp.round(x), lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), jnp.floor(x), jnp.trunc(x), jnp.round(x, 1)


def powers(x, y):
    return x**y, x**0, x**-1, x**0.5, jnp.power(x, 3), jnp.float_power(x, 2)


def selecting(x):
    return jnp.nan_to_num(x), jnp.where(jnp.isnan(x), 0.0, x), lax.clamp(-1.0, x, 1.0), jnp.sign(x), jnp.maximum(x, 0.0)


def error_functions(x):
    return lax.erf(x), lax.erfc(x), special.ndtr(x), special.log_ndtr(x), stats.norm.pdf(x)


def gammas(x):
    return lax.lgamma(x), lax.digamma(x), special.gammaln(x + 1), special.beta(x, x + 1), special.polygamma(1, x)


def incomplete(a, x):
    return special.gammainc(a, x), special.gammaincc(a, x), special.betainc(a, x + 0.5, x / 9)


def bessel(x):
    return special.i0e(x), special.i1e(x), special.i0(x), special.zeta(x + 2, 1.0), special.xlogy(x, x), special.entr(x)


def quantized(x, scale):
    q = jnp.clip(jnp.round(x / scale), -128, 127).astype(jnp.int8)
    return q, q.astype(jnp.float32) * scale, lax.dot(q, q.T, preferred_element_type=jnp.int32)


def casts_in_a_loop(x):
    return lax.fori_loop(0, 5, lambda i, c: (c.astype(jnp.float32) * 1.5 + i).astype(c.dtype), x)


EDGES = i32([7, -7, LEAST, 0, 5, LEAST, 2**31 - 1])
BY = i32([0, 2, -1, 0, -3, 1, 2**31 - 1])
FLOATS = f32([0, -0.0, 0.5, 1.5, -2.5, 3e9, -3e9, 300.7, -129.2, NAN, INF, -INF, 1e-30])
FINITE = f32([0, -0.0, 0.5, 1.5, 2.5, -2.5, -0.3, 1e-3, 30, -30, 1e10, 3.999])
OTHER = f32([NAN, -0.0, 0.0, -2, 2, NAN, 1, INF, INF, NAN, INF, INF, 0])
PROGRAMS = [
    Program("int_division", "int", division, [EDGES, BY]),
    Program("int_floor_division", "int", floor_division, [i32([7, -7, 7, -7, 0]), i32([2, 2, -2, -2, 3])]),
    Program("int_division_u32", "int", division, [u32([7, 2**32 - 1, 5]), u32([2, 3, 0])]),
    Program("int_division_i8", "int dtypes", division, [np.int8([-128, 7, -7, 5]), np.int8([-1, 2, 2, 0])]),
    Program("int_shifts", "int", shifts, [i32([1, -1, LEAST, 12345, -77, 5]), i32([31, 4, 1, 32, 40, -1])]),
    Program("int_shifts_u8", "int dtypes", shifts, [np.uint8([1, 255, 129, 7]), np.uint8([7, 3, 8, 200])]),
    Program("int_wrapping", "int", wrapping, [EDGES, BY]),
    Program("int_wrapping_u32", "int", wrapping, [u32([0, 2**32 - 1, 7]), u32([1, 2, 8])]),
    Program("int_wrapping_i8", "int dtypes", wrapping, [np.int8([-128, 127, 100]), np.int8([-1, 1, 100])]),
    Program("int_counting", "int", counting, [EDGES]),
    Program("int_counting_u8", "int dtypes", counting, [np.uint8([0, 1, 128, 255])]),
    Program("int_x64", "int x64", wrapping, [np.int64([2**62, -(2**63), 3]), np.int64([2**62, -1, 4])], x64=True),
    Program("int_shifts_u64", "int x64", shifts, [np.uint64([1, 2**63 + 5]), np.uint64([63, 64])], x64=True),
    Program("bool_logic", "bool", logic, [booleans(6), booleans(6)]),
    Program("convert_float_to_int", "convert", to_integers, [FLOATS]),
    Program("convert_int", "convert int", between, [EDGES]),
    Program("convert_u8", "convert int", between, [np.uint8([0, 1, 127, 200, 255])]),
    Program("convert_bool", "convert bool", between, [booleans(4)]),
    Program("convert_x64", "convert x64", to_int64, [np.float64([1e19, -1e19, NAN, 2.0**53 + 2, -3.5])], x64=True),
    Program("f64_arithmetic", "x64", arithmetic, [normal(3, dtype="float64"), normal(3, dtype="float64")], x64=True),
    Program("bf16_arithmetic", "dtypes", arithmetic, [normal(4, dtype=jnp.bfloat16), normal(4, dtype=jnp.bfloat16)]),
    Program("f16_arithmetic", "dtypes", arithmetic, [normal(4, dtype="float16"), normal(4, dtype="float16")]),
    Program("float8", "dtypes f8 convert", float8, [f32([0, -0.0, 1.1, -3.3, 500, 1e-3, NAN])]),
    Program("float8_kept", "dtypes f8 convert", float8_kept, [normal(5)]),
    Program("int4", "dtypes int4 convert", four_bits, [i32([-8, -1, 0, 3, 7])]),
    Program(
        "int4_weights",
        "dtypes int4 dot",
        four_bit_weights,
        [integers(-8, 8, 4, 3, dtype=ml_dtypes.int4), f32(0.1), normal(2, 4)],
    ),
    Program("quantized", "int dtypes dot", quantized, [normal(3, 4), f32(0.02)]),
    Program("bf16_loop", "dtypes fori", casts_in_a_loop, [normal(3, dtype=jnp.bfloat16)]),
    Program("u8_loop", "dtypes fori int", casts_in_a_loop, [np.uint8([1, 100, 250])]),
    Program("bitcasts", "bitcast", bitcasts, [f32([1.0, -2.5, 0.0, 1e-3])]),
    Program("bitcast_wider", "bitcast", bitcast_wider, [integers(0, 255, 3, 4, dtype="uint8")]),
    Program(
        "reduce_precision", "convert", reduced_precision, [f32([1.2345678, -1e5, 1e-6, 3.3e38, 0.0, 240.5, 1e-30])]
    ),
    Program("complex_parts", "complex", complex_parts, [normal(4), normal(4)]),
    Program("complex_arithmetic", "complex", complex_arithmetic, [normal(4), normal(4)]),
    Program("complex_functions", "complex", complex_functions, [normal(4), normal(4)]),
    Program("complex_matmul", "complex dot", complex_matmul, [normal(2, 3), normal(2, 3)]),
    Program("complex_out", "complex", complex_out, [normal(3), normal(3)]),
    Program("complex_scan", "complex scan", complex_scan, [normal(5), normal(5)]),
    Program(
        "complex_in",
        "complex",
        lambda z: (z.real, (z * z).imag),
        [lambda g: (normal(3)(g) + 1j * normal(3)(g)).astype("complex64")],
    ),
    Program(
        "complex_x64",
        "complex x64",
        complex_arithmetic,
        [normal(2, dtype="float64"), normal(2, dtype="float64")],
        x64=True,
    ),
    Program("elementary", "elementwise", elementary, [normal(8)]),
    Program("elementary_special", "elementwise nan", lambda x: (jnp.exp(x), jnp.tanh(x), jnp.floor(x)), [FLOATS]),
    Program("positive", "elementwise", positive, [uniform(0.1, 9, 8)]),
    Program("positive_special", "elementwise nan", positive, [f32([0, -1, INF, NAN, -0.0])]),
    Program("unit", "elementwise", unit, [uniform(-0.99, 0.99, 8)]),
    Program("two", "elementwise", two, [normal(8), normal(8)]),
    Program(
        "two_special",
        "elementwise nan",
        lambda x, y: (jnp.maximum(x, y), jnp.minimum(x, y), jnp.arctan2(x, y)),
        [FLOATS, OTHER],
    ),
    Program("comparisons_special", "elementwise nan", comparisons, [FLOATS, OTHER]),
    Program("roundings", "elementwise", roundings, [FINITE]),
    Program("powers", "elementwise nan", powers, [f32([-2, -2, 0, 0, INF, NAN, 2]), f32([3, 0.5, 0, -1, -1, 0, NAN])]),
    Program("selecting_special", "elementwise nan", selecting, [FLOATS]),
    Program("error_functions", "special", error_functions, [uniform(-4, 4, 12)]),
    Program("gammas", "special", gammas, [uniform(0.2, 9, 8)]),
    Program(
        "gammas_special", "special nan", lambda x: (lax.lgamma(x), lax.digamma(x)), [f32([-1.5, 0, -2, 1e10, 1, 2])]
    ),
    Program("incomplete", "special while", incomplete, [uniform(0.5, 5, 6), uniform(0.1, 5, 6)]),
    Program("bessel", "special", bessel, [uniform(0.1, 20, 6)]),
    Program(
        "grad_special", "special grad", jax.vmap(jax.grad(lambda x: lax.lgamma(x) + lax.erf(x))), [uniform(0.5, 4, 5)]
    ),
]
