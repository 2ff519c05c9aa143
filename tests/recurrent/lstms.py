"""LSTMs as exporters write them."""

from __future__ import annotations

import numpy as np

from .models import UNITS, Case, scan

STATES = "float[B,H] h; float[B,H] c"
APART = {
    name: shape for gate in "ifgo" for name, shape in ((f"w{gate}", "I,H"), (f"r{gate}", "H,H"), (f"b{gate}", "H"))
}
CELL = """
  fc = Mul(f, c)
  ig = Mul(i, g)
  c_next = Add(fc, ig)
  tc = Tanh(c_next)
  h_next = Mul(o, tc)
  y = Identity(h_next)"""
ACTIVATED = """
  i = Sigmoid(zi)
  f = Sigmoid(zf)
  g = Tanh(zg)
  o = Sigmoid(zo)"""


def split(order: str, source: str = "z") -> str:
    return f"{', '.join(f'z{gate}' for gate in order)} = Split<axis = 1, num_outputs = 4>({source})\n"


def separate(gate: str) -> str:
    return f"""
  x{gate} = MatMul(x, w{gate})
  h{gate} = MatMul(h, r{gate})
  s{gate} = Add(h{gate}, b{gate})
  z{gate} = Add(x{gate}, s{gate})"""


SEPARATE = "".join(map(separate, "ogfi"))

PYTORCH = Case(  # a scripted module: a Loop that looks its input up, gates i, f, g, o, two biases
    "pytorch_loop",
    """recurrent (float[T,B,I] xs, float[B,H] h0, float[B,H] c0) => (float[T,B,H] ys, float[B,H] hn, float[B,H] cn) {
      shape = Shape(xs)
      zero = Constant<value = int64 {0}>()
      steps = Gather<axis = 0>(shape, zero)
      yes = Constant<value = bool {1}>()
      hn, cn, ys = Loop(steps, yes, h0, c0) <body = step (
        int64 k, bool before, float[B,H] h, float[B,H] c
      ) => (bool on, float[B,H] h_next, float[B,H] c_next, float[B,H] y) {
        on = Identity(before)
        x = Gather<axis = 0>(xs, k)
        zx = Gemm<transB = 1>(x, wih, bih)
        zh = Gemm<transB = 1>(h, whh, bhh)
        z = Add(zx, zh)
        """
    + split("ifgo")
    + ACTIVATED
    + CELL
    + "\n}>\n}",
    {"wih": "4H,I", "whh": "4H,H", "bih": "4H", "bhh": "4H"},
    "LSTM",
)

KERAS = Case(  # one kernel for the input and the state together, gates i, f, c, o
    "keras_scan",
    scan(
        """xh = Concat<axis = 1>(x, h)
        zw = MatMul(xh, kernel)
        z = Add(zw, bias)
        """
        + split("ifgo")
        + ACTIVATED
        + CELL,
        STATES,
    ),
    {"kernel": np.random.default_rng(3).standard_normal((7, 16)).astype(np.float32) * 0.5, "bias": "4H"},
    "LSTM",
)

BASIC = Case(  # gates i, c, f, o, one added to the forget gate
    "basic_lstm_forget_bias",
    scan(
        """xh = Concat<axis = -1>(x, h)
        z = Gemm(xh, kernel, bias)
        """
        + split("igfo")
        + """
        one = Constant<value = float {1.0}>()
        zf1 = Add(zf, one)
        i = Sigmoid(zi)
        f = Sigmoid(zf1)
        g = Tanh(zg)
        o = Sigmoid(zo)"""
        + CELL,
        STATES,
    ),
    {"kernel": np.random.default_rng(4).standard_normal((7, 16)).astype(np.float32) * 0.5, "bias": "4H"},
    "LSTM",
)

FLAX = Case("flax_dense_per_gate", scan(SEPARATE + ACTIVATED + CELL, STATES), APART, "LSTM")

SLICED = Case(  # one activation for three gates, cut afterwards
    "sigmoid_before_slices",
    scan(
        """zx = MatMul(x, w)
        zh = MatMul(h, r)
        zs = Sum(zx, b, zh)
        start = Constant<value = int64[1] {0}>()
        middle = Constant<value = int64[1] {<<3H>>}>()
        end = Constant<value = int64[1] {9223372036854775807}>()
        last = Constant<value = int64[1] {-1}>()
        gates = Slice(zs, start, middle, last)
        zg = Slice(zs, middle, end, last)
        active = Sigmoid(gates)
        f, o, i = Split<axis = 1, num_outputs = 3>(active)
        g = Tanh(zg)"""
        + CELL,
        STATES,
    ),
    {"w": "I,4H", "r": "H,4H", "b": "1,4H"},
    "LSTM",
)

HARD = Case(  # Keras' hard sigmoid, spelled out
    "hard_sigmoid_spelled_out",
    scan(
        SEPARATE
        + "".join(
            f"""
        m{gate} = Mul(z{gate}, fifth)
        a{gate} = Add(m{gate}, half)
        {gate} = Clip(a{gate}, zero, one)"""
            for gate in "ifo"
        )
        + "\ng = Tanh(zg)"
        + CELL,
        STATES,
    ),
    {**APART, **{k: np.array(v, np.float32) for k, v in {"fifth": 0.2, "half": 0.5, "zero": 0, "one": 1}.items()}},
    "LSTM",
    {"activations": ["HardSigmoid", "Tanh", "Tanh"]},
)

COUPLED_INPUT = Case(
    "coupled_f_is_1_minus_i",
    scan(
        SEPARATE.replace(separate("f"), "")
        + """
        one = Constant<value = float {1.0}>()
        i = Sigmoid(zi)
        f = Sub(one, i)
        g = Tanh(zg)
        o = Sigmoid(zo)"""
        + CELL,
        STATES,
    ),
    {name: shape for name, shape in APART.items() if name[1] != "f"},
    "LSTM",
)

COUPLED_FORGET = Case(
    "coupled_i_is_1_minus_f",
    scan(
        SEPARATE.replace(separate("i"), "")
        + """
        f = Sigmoid(zf)
        g = Tanh(zg)
        o = Sigmoid(zo)
        gc = Sub(c, g)
        fgc = Mul(f, gc)
        c_next = Add(g, fgc)
        tc = Tanh(c_next)
        h_next = Mul(tc, o)
        y = Identity(h_next)""",
        STATES,
    ),
    {name: shape for name, shape in APART.items() if name[1] != "i"},
    "LSTM",
)

PEEPHOLES = Case(
    "peepholes",
    scan(
        SEPARATE
        + """
        pic = Mul(pi, c)
        pfc = Mul(c, pf)
        zip = Add(zi, pic)
        zfp = Add(pfc, zf)
        i = Sigmoid(zip)
        f = Sigmoid(zfp)
        g = Tanh(zg)
        fc = Mul(f, c)
        ig = Mul(i, g)
        c_next = Add(fc, ig)
        poc = Mul(po, c_next)
        zop = Add(zo, poc)
        o = Sigmoid(zop)
        tc = Tanh(c_next)
        h_next = Mul(o, tc)
        y = Identity(h_next)""",
        STATES,
    ),
    {**APART, "pi": "H", "pf": "H", "po": "1,H"},
    "LSTM",
)

HOISTED = Case(  # the input's product made for all steps before the loop
    "hoisted",
    """recurrent (float[B,T,I] xs, float[B,H] h0, float[B,H] c0) => (float[B,T,H] ys, float[B,H] hn, float[B,H] cn) {
      zw = MatMul(xs, w)
      zb = Add(b, zw)
      hn, cn, ys = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], body = step (
        float[B,H] h, float[B,H] c, float[B,4H] zx
      ) => (float[B,H] h_next, float[B,H] c_next, float[B,H] y) {
        zh = MatMul(h, r)
        z = Add(zx, zh)
        """
    + split("ofgi")
    + ACTIVATED
    + CELL
    + "\n}>(h0, c0, zb)\n}",
    {"w": "I,4H", "b": "4H", "r": "H,4H"},
    "LSTM",
)

HOISTED_TURNED = Case(  # the same, made time-first behind the product, one sequence for each gate
    "hoisted_transposed_split",
    """recurrent (float[B,T,I] xs, float[B,H] h0, float[B,H] c0) => (float[T,B,H] ys, float[B,H] hn) {
      zw = MatMul(xs, w)
      zt = Transpose<perm = [1, 0, 2]>(zw)
      zxi, zxf, zxg, zxo = Split<axis = 2, num_outputs = 4>(zt)
      hn, cn, ys = Scan<num_scan_inputs = 4, body = step (
        float[B,H] h, float[B,H] c, float[B,H] xi, float[B,H] xf, float[B,H] xg, float[B,H] xo
      ) => (float[B,H] h_next, float[B,H] c_next, float[B,H] y) {
        """
    + "".join(
        f"""
        h{gate} = MatMul(h, r{gate})
        s{gate} = Add(h{gate}, b{gate})
        z{gate} = Add(x{gate}, s{gate})"""
        for gate in "ifgo"
    )
    + ACTIVATED
    + CELL
    + "\n}>(h0, c0, zxi, zxf, zxg, zxo)\n}",
    {"w": "I,4H", **{name: shape for name, shape in APART.items() if name[0] != "w"}},
    "LSTM",
)

VECTORS = Case(  # no batch, weights from the left
    "vectors_without_batch",
    scan(
        """zx = MatMul(w, x)
        zh = MatMul(r, h)
        zs = Add(zx, zh)
        z = Add(zs, b)
        zi, zf, zg, zo = Split<axis = 0, num_outputs = 4>(z)
        """
        + ACTIVATED
        + CELL,
        "float[H] h; float[H] c",
        "float[T,I] xs",
        "float[T,H] ys",
    ),
    {"w": "4H,I", "r": "4H,H", "b": "4H"},
    "LSTM",
)

COLUMNS = Case(  # one column for each entry of the batch
    "columns",
    scan(
        """zx = MatMul(w, x)
        zh = MatMul(r, h)
        zs = Add(zx, zh)
        z = Add(zs, b)
        zi, zf, zg, zo = Split<axis = 0, num_outputs = 4>(z)
        """
        + ACTIVATED
        + CELL,
        "float[H,B] h; float[H,B] c",
        "float[T,I,B] xs",
        "float[T,H,B] ys",
    ),
    {"w": "4H,I", "r": "4H,H", "b": "4H,1"},
    "LSTM",
)

THREE = Case(  # states with an axis of directions in front, weights as well
    "states_of_rank_3",
    scan(
        """front = Constant<value = int64[1] {0}>()
        x1 = Unsqueeze(x, front)
        zx = MatMul(x1, w)
        zh = MatMul(h, r)
        z = Add(zx, zh)
        zi, zf, zg, zo = Split<axis = 2, num_outputs = 4>(z)
        i = Sigmoid(zi)
        f = Sigmoid(zf)
        g = Tanh(zg)
        o = Sigmoid(zo)
        fc = Mul(f, c)
        ig = Mul(i, g)
        c_next = Add(fc, ig)
        tc = Tanh(c_next)
        h_next = Mul(o, tc)
        y = Squeeze(h_next, front)""",
        "float[1,B,H] h; float[1,B,H] c",
    ),
    {"w": "1,I,4H", "r": "1,H,4H"},
    "LSTM",
)

BACKWARDS = Case(
    "backwards",
    scan(SEPARATE + ACTIVATED + CELL, STATES, options=", scan_input_directions = [1], scan_output_directions = [1]"),
    APART,
    "LSTM",
    {"direction": "reverse"},
)

BACKWARDS_STACKED_FORWARDS = Case(
    "backwards_stacked_as_it_comes",
    scan(SEPARATE + ACTIVATED + CELL, STATES, options=", scan_input_directions = [1]"),
    APART,
    "LSTM",
    {"direction": "reverse"},
)

AXIS_1 = Case(
    "batch_first",
    scan(
        SEPARATE + ACTIVATED + CELL,
        STATES,
        "float[B,T,I] xs",
        "float[B,T,H] ys",
        ", scan_input_axes = [1], scan_output_axes = [1]",
    ),
    APART,
    "LSTM",
)

MASKED = Case(
    "by_length",
    """recurrent (float[T,B,I] xs, float[B,H] h0, float[B,H] c0, int64[B] lengths) => (
      float[T,B,H] ys, float[B,H] hn, float[B,H] cn
    ) {
      shape = Shape<start = 0, end = 1>(xs)
      none = Constant<value = int64[0] {}>()
      steps = Reshape(shape, none)
      last = Constant<value = int64[1] {-1}>()
      column = Unsqueeze(lengths, last)
      nothing = Constant<value = float {0.0}>()
      hn, cn, ys = Loop(steps, , h0, c0) <body = step (
        int64 k, bool before, float[B,H] h, float[B,H] c
      ) => (bool on, float[B,H] h_kept, float[B,H] c_kept, float[B,H] seen) {
        on = Constant<value = bool {1}>()
        x = Gather<axis = 0>(xs, k)
        running = Less(k, column)
        """
    + (SEPARATE + ACTIVATED + CELL).replace("y = Identity(h_next)", "")
    + """
        h_kept = Where(running, h_next, h)
        c_kept = Where(running, c_next, c)
        seen = Where(running, h_next, nothing)
      }>
    }""",
    APART,
    "LSTM",
)

LOGISTIC = Case(  # a sigmoid as compilers write it
    "logistic_spelled_out",
    scan(
        SEPARATE
        + "\none = Constant<value = float {1.0}>()"
        + "".join(
            f"""
        n{gate} = Neg(z{gate})
        e{gate} = Exp(n{gate})
        d{gate} = Add(e{gate}, one)
        {gate} = Div(one, d{gate})"""
            for gate in "ifo"
        )
        + "\ng = Tanh(zg)"
        + CELL,
        STATES,
    ),
    APART,
    "LSTM",
)

CASES = [
    PYTORCH,
    KERAS,
    BASIC,
    FLAX,
    SLICED,
    HARD,
    COUPLED_INPUT,
    COUPLED_FORGET,
    PEEPHOLES,
    HOISTED,
    HOISTED_TURNED,
    VECTORS,
    COLUMNS,
    THREE,
    BACKWARDS,
    BACKWARDS_STACKED_FORWARDS,
    AXIS_1,
    MASKED,
    LOGISTIC,
]
assert UNITS == 4  # the joined kernels are drawn for this
