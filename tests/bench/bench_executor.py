"""Loops on the executor against ONNX Runtime (one thread): nanoseconds per pass.

    python tests/bench/bench_executor.py

Compiling is reported apart: once from nothing, once from the disk. Answers are compared before anything is timed.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from backedge.convert.files import load, to_hub
from backedge.passes.loop import is_loop
from backedge.runtime import machine_code
from backedge.runtime.compiled import CompiledLoop, cache
from backedge.runtime.executor import Executor

PASSES = 100_000


@dataclass(frozen=True)
class Bench:
    """A model as ONNX text, its inputs, and how many passes of its innermost body one run makes."""

    name: str
    text: str
    inputs: dict[str, np.ndarray]
    passes: int
    target: float


def f32(value: float) -> np.ndarray:
    return np.array(value, np.float32)


NEWTON = """
newton (int64 n, float x, float a, float limit) => (float y) {
  yes = Constant<value = bool {1}>()
  y = Loop(n, yes, x) <body = step (int64 i, bool c, float u) => (bool go, float w) {
    half = Constant<value = float {0.5}>()
    q = Div(a, u)
    s = Add(u, q)
    w = Mul(s, half)
    d = Sub(w, u)
    e = Abs(d)
    go = Greater(e, limit)
  }>
}"""
LCG = """
lcg (int64 n, int64 seed) => (int64 last, int64[N] all) {
  yes = Constant<value = bool {1}>()
  last, all = Loop(n, yes, seed) <body = step (int64 i, bool c, int64 s) => (bool go, int64 t, int64 u) {
    go = Identity(c)
    a = Constant<value = int64 {1103515245}>()
    b = Constant<value = int64 {12345}>()
    m = Constant<value = int64 {2147483648}>()
    p = Mul(s, a)
    q = Add(p, b)
    t = Mod(q, m)
    u = Identity(t)
  }>
}"""
TRIANGLE = """
triangle (int64 n, float x) => (float y) {
  yes = Constant<value = bool {1}>()
  y = Loop(n, yes, x) <body = outer (int64 i, bool c, float u) => (bool go, float w) {
    go = Identity(c)
    w = Loop(i, c, u) <body = inner (int64 j, bool d, float v) => (bool on, float z) {
      on = Identity(d)
      k = Cast<to = 1>(j)
      h = Constant<value = float {0.999}>()
      m = Mul(v, h)
      z = Add(m, k)
    }>
  }>
}"""
BRANCH = """
branch (int64 n, float x) => (float y) {
  yes = Constant<value = bool {1}>()
  y = Loop(n, yes, x) <body = step (int64 i, bool c, float u) => (bool go, float w) {
    go = Identity(c)
    one = Constant<value = float {1.0}>()
    high = Greater(u, one)
    w = If(high) <then_branch = down () => (float p) {
      half = Constant<value = float {0.5}>()
      p = Mul(u, half)
    }, else_branch = up () => (float q) {
      bit = Constant<value = float {0.37}>()
      q = Add(u, bit)
    }>
  }>
}"""
RNN = """
rnn (float[T, 1, 32] xs, float[1, 32] h0, float[32, 32] w, float[32, 32] r) => (float[1, 32] h, float[T, 1, 32] hs) {
  h, hs = Scan<num_scan_inputs = 1, body = step (float[1, 32] p, float[1, 32] x) => (float[1, 32] q, float[1, 32] o) {
    a = MatMul(x, w)
    b = MatMul(p, r)
    s = Add(a, b)
    q = Tanh(s)
    o = Identity(q)
  }>(h0, xs)
}"""
MANDELBROT = """
mandelbrot (int64 n, float[256, 256] x, float[256, 256] y, float[256, 256] zero) => (float[256, 256] count) {
  yes = Constant<value = bool {1}>()
  re, im, count = Loop(n, yes, zero, zero, zero) <body = sweep (
      int64 i, bool c, float[256, 256] a, float[256, 256] b, float[256, 256] k
    ) => (bool go, float[256, 256] a2, float[256, 256] b2, float[256, 256] k2) {
    go = Identity(c)
    four = Constant<value = float {4.0}>()
    two = Constant<value = float {2.0}>()
    one = Constant<value = float {1.0}>()
    aa = Mul(a, a)
    bb = Mul(b, b)
    size = Add(aa, bb)
    inside = LessOrEqual(size, four)
    diff = Sub(aa, bb)
    na = Add(diff, x)
    ab = Mul(a, b)
    twice = Mul(ab, two)
    nb = Add(twice, y)
    nk = Add(k, one)
    a2 = Where(inside, na, a)
    b2 = Where(inside, nb, b)
    k2 = Where(inside, nk, k)
  }>
}"""


def _random(*shape: int) -> np.ndarray:
    return (np.random.default_rng(len(shape)).standard_normal(shape) * 0.2).astype(np.float32)


def _benches() -> list[Bench]:
    n = np.array(PASSES)
    rows = 447  # 447 * 446 / 2 passes of the inner loop
    x, y = np.meshgrid(np.linspace(-2, 0.5, 256, dtype=np.float32), np.linspace(-1.2, 1.2, 256, dtype=np.float32))
    plane = {"n": np.array(200), "x": x, "y": y, "zero": np.zeros_like(x)}
    newton = {"n": n, "x": f32(1.0), "a": f32(2.0), "limit": f32(-1.0)}
    rnn = {"xs": _random(2000, 1, 32), "h0": _random(1, 32), "w": _random(32, 32), "r": _random(32, 32)}
    return [
        Bench("Newton, while", NEWTON, newton, PASSES, 300),
        Bench("LCG, scan output", LCG, {"n": n, "seed": np.array(42)}, PASSES, 300),
        Bench("nested, triangular", TRIANGLE, {"n": np.array(rows), "x": f32(0.5)}, rows * (rows - 1) // 2, 300),
        Bench("If in Loop", BRANCH, {"n": n, "x": f32(0.1)}, PASSES, 300),
        Bench("RNN, 32 wide", RNN, rnn, 2000, 5),
        Bench("Mandelbrot 256x256", MANDELBROT, plane, 200, 5),
    ]


@dataclass(frozen=True)
class Result:
    """Nanoseconds per pass, seconds of compiling."""

    onnxruntime: float
    executor: float
    cold: float
    warm: float

    @property
    def ratio(self) -> float:
        return self.onnxruntime / self.executor


def timed(run: Callable[[], object], passes: int, repeats: int) -> float:
    """Nanoseconds per pass: the median of some runs after a first one."""
    run()
    seconds: list[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds) / passes * 1e9


def measure(bench: Bench, folder: Path) -> Result:
    """One bench on both; raises AssertionError if they don't agree."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\n{bench.text}')
    path = folder / "model.onnx"
    onnx.save(model, path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    graph = to_hub(load(path))
    made: list[CompiledLoop] = []

    def compiler(node: object) -> CompiledLoop:
        made.append(CompiledLoop(node))  # type: ignore[arg-type]
        return made[-1]

    executor = Executor(graph, compiler)
    names = [value.name for value in graph.outputs]
    expected = session.run(names, bench.inputs)
    found = executor.run(bench.inputs)
    for name, value in zip(names, expected, strict=True):
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5)
    assert made and not made[0].reason, f"{bench.name} was declined: {made and made[0].reason}"
    cold = made[0].seconds
    theirs = timed(lambda: session.run(names, bench.inputs), bench.passes, 3)
    ours = timed(lambda: executor.run(bench.inputs), bench.passes, 7)
    (loop,) = (node for node in graph.nodes if is_loop(node))
    cache._loaded.clear()
    again = CompiledLoop(loop)
    assert again.prepare(_loop_inputs(executor, loop, bench))
    return Result(theirs, ours, cold, again.seconds)


def _loop_inputs(executor: Executor, loop: object, bench: Bench) -> list[np.ndarray | None]:
    """What the loop node gets: graph inputs and constants."""
    values = loop.inputs  # type: ignore[attr-defined]
    return [None if v is None else v.array() if v.data is not None else bench.inputs[v.name] for v in values]


HEADER = f"{'':20}{'ORT ns':>12}{'executor ns':>14}{'ratio':>9}{'cold s':>9}{'warm s':>9}"


def line(bench: Bench, result: Result) -> str:
    return (
        f"{bench.name:20}{result.onnxruntime:12.0f}{result.executor:14.2f}{result.ratio:9.0f}"
        f"{result.cold:9.2f}{result.warm:9.3f}"
    )


@pytest.mark.bench
@pytest.mark.parametrize("bench", _benches(), ids=lambda bench: bench.name)
def test_faster_than_onnxruntime(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 0)
    result = measure(bench, tmp_path)
    print(f"\n{HEADER}\n{line(bench, result)}")
    assert result.ratio >= bench.target


def main() -> None:
    """Print the table."""
    begin = time.perf_counter()
    import numba

    machine_code.COMPILE_AFTER = 0
    print(f"numba {numba.__version__}, onnxruntime {onnxruntime.__version__}; import numba", end=" ")
    print(f"{time.perf_counter() - begin:.2f} s; compile times without it\n{HEADER}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ[cache.VARIABLE] = str(Path(folder) / "cache")
        for bench in _benches():
            print(line(bench, measure(bench, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
