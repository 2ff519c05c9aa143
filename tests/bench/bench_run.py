"""The public `run` on loops against ONNX Runtime (one thread each): how many times as fast.

    python -m bench.bench_run [part of a name]      (from the folder tests)

Both are timed in turns, and the least time of each counts. "first" is the first call in a process that has imported
everything, machine code on disk from an earlier one; "second" a later call, when loops that are worth it are compiled.
Answers are compared before.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import load
from backedge.runtime import run
from backedge.runtime.compiled import cache
from bench.bench_executor import _benches

_SECONDS = 0.4  # of measuring for each side of a row
_WARM_UP = 3.0  # seconds at most, of two calls or more
_OPTIONS: Any = {"check": True, "capture_output": True, "text": True, "cwd": Path(__file__).parents[1]}
_SAMPLES = Path(__file__).parents[2] / "samples"
Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Row:
    """A model as ONNX text (or its file), its inputs, and how many times as fast as ONNX Runtime it should be."""

    name: str
    text: str | Path
    inputs: Arrays
    wanted: float
    opset: int = 18

    def model(self) -> onnx.ModelProto:
        if isinstance(self.text, Path):
            return onnx.load(self.text)
        return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {self.opset}]>\n{self.text}')


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    drawn = np.asarray(np.random.default_rng(len(shape)).standard_normal(shape), np.float32)
    return np.asarray(drawn / np.float32(8))


def _state(shape: str, code: str, captured: str = "") -> str:
    """A loop of n passes over one state v, whose next value `code` calls w."""
    return f"""g (int64 n, float[{shape}] x{captured}) => (float[{shape}] y) {{
      y = Loop (n, , x) <body = b (int64 i, bool c, float[{shape}] v) => (bool go, float[{shape}] w) {{
        go = Identity (c) {code} }}> }}"""


def _chain(length: int, shape: str) -> str:
    steps = [f"t{k + 1} = {('Add', 'Mul')[k % 2]} (t{k}, {('s', 'f')[k % 2]})" for k in range(length)]
    constants = "s = Constant <value_float = 0.001> () f = Constant <value_float = 0.999> ()"
    return _state(shape, f"{constants} t0 = Identity (v) {' '.join(steps)} w = Identity (t{length})")


RNN = """g (float[T, B, H] xs, float[B, H] h0, float[H, H] w, float[H, H] r) => (float[B, H] h, float[T, B, H] hs) {
  h, hs = Scan <num_scan_inputs = 1, body = b (float[B, H] p, float[B, H] x) => (float[B, H] q, float[B, H] o) {
    a = MatMul (x, w) e = MatMul (p, r) s = Add (a, e) q = Tanh (s) o = Identity (q) }> (h0, xs) }"""
CUMSUM = """g (float[64] s0, float[T, 64] xs) => (float[64] s, float[T, 64] all) {
  s, all = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
    body = b (float[64] p, float[64] x) => (float[64] q, float[64] o) { q = Add (p, x) o = Identity (q) }> (s0, xs) }"""

_HALVES = """g (int64 n, float16[4, 64] x, float16[4, 64] k) => (float16[4, 64] y) {
  y = Loop (n, , x) <body = b (int64 i, bool c, float16[4, 64] v) => (bool go, float16[4, 64] w) {
    go = Identity (c) a = Mul (v, k) t = Tanh (a) w = Add (t, v) }> }"""
_DECODING = """g (int64 n, float[1, 64] x, float[4, P, 16] keys, float[4, P, 16] values,
   float[64, 64] wq, float[64, 64] wk, float[64, 64] wv, float[64, 64] wo)
   => (float[1, 64] y, float[4, T, 16] all_keys, float[4, T, 16] all_values) {
  y, all_keys, all_values = Loop (n, , x, keys, values) <
    body = b (int64 i, bool c, float[1, 64] h, float[4, t, 16] seen_k, float[4, t, 16] seen_v)
      => (bool go, float[1, 64] after, float[4, u, 16] k, float[4, u, 16] v) {
      go = Identity (c)
      heads = Constant <value_ints = [4, 1, 16]> () flat = Constant <value_ints = [1, 64]> ()
      scale = Constant <value_float = 0.25> ()
      hq = MatMul (h, wq) hk = MatMul (h, wk) hv = MatMul (h, wv)
      q = Reshape (hq, heads) nk = Reshape (hk, heads) nv = Reshape (hv, heads)
      k = Concat <axis = 1> (seen_k, nk) v = Concat <axis = 1> (seen_v, nv)
      kt = Transpose <perm = [0, 2, 1]> (k) s = MatMul (q, kt) scaled = Mul (s, scale)
      p = Softmax <axis = -1> (scaled) a = MatMul (p, v) joined = Reshape (a, flat)
      o = MatMul (joined, wo) after = Tanh (o) }> }"""


def _rnn(steps: int, batch: int, size: int) -> tuple[str, Arrays]:
    text = RNN.replace("float[T", f"float[{steps}").replace("B", str(batch)).replace("H", str(size))
    made = {"xs": _floats(steps, batch, size), "h0": _floats(batch, size)}
    narrow = np.float32(4 / size**0.5)  # a state that wider weights drive goes its own way in each runtime
    return text, made | {name: _floats(size, size) * narrow for name in "wr"}


def rows() -> Iterator[Row]:
    """Most of them short enough that the time of a pass counts, not that of the elements."""
    wanted = {"LCG, scan output": 330, "nested, triangular": 330, "Mandelbrot 256x256": 12, "RNN, 32 wide": 3}
    for bench in _benches():
        yield Row(bench.name, bench.text, bench.inputs, wanted.get(bench.name, 500))
    cumsum = CUMSUM.replace("float[T", "float[2000")
    yield Row("cumsum, backwards", cumsum, {"s0": _floats(64), "xs": _floats(2000, 64)}, 2.5)
    for batch, size, least in ((1, 4, 3), (1, 128, 3), (16, 128, 1), (16, 512, 1)):
        yield Row(f"RNN, {size} wide, batch {batch}", *_rnn(500, batch, size), least)
    for passes, size, least in ((20_000, "", 500), (500, "1000", 10), (20, "100000", 3)):
        inputs = {"n": np.array(passes), "x": _floats(*map(int, size.split()))}
        yield Row(f"1000 operators, [{size}]", _chain(1000, size) if size else _chain(1000, ""), inputs, least)
    image, n = {"x": _floats(1, 8, 16, 16), "k": _floats(8, 8, 3, 3)}, {"n": np.array(20_000)}
    conv = _state("1, 8, 16, 16", "w = Conv <pads = [1, 1, 1, 1]> (v, k)", ", float[8, 8, 3, 3] k")
    yield Row("Conv in a body", conv, n | image, 1)
    vector = {"x": _floats(4, 64), "k": _floats(64)}
    norm = "w = LayerNormalization <axis = -1> (v, k)"
    yield Row("LayerNorm in a body", _state("4, 64", norm, ", float[64] k"), n | vector, 1)
    product = 'w = Einsum <equation = "ij,jk->ik"> (v, k)'
    matrices = {"x": _floats(4, 64), "k": _floats(64, 64)}
    yield Row("Einsum in a body", _state("4, 64", product, ", float[64, 64] k"), n | matrices, 1)
    top = "k = Constant <value_ints = [8]> () t, j = TopK <axis = -1> (v, k) s = ReduceSum (t) w = Div (v, s)"
    yield Row("TopK in a body", _state("4, 64", top), n | {"x": np.abs(_floats(4, 64)) + 1}, 1)
    steps = """s = Constant <value_float = 0.01> () z = Constant <value = uint8 {128}> ()
      q = QuantizeLinear (v, s, z) d = DequantizeLinear (q, s, z) w = Neg (d)"""
    yield Row("(De)QuantizeLinear in a body", _state("4, 64", steps), n | {"x": _floats(4, 64)}, 1)
    yield Row("float16 in a body", _HALVES, n | {name: _floats(4, 64).astype(np.float16) for name in "xk"}, 1)
    weights = {f"w{name}": _floats(64, 64) for name in "qkvo"}
    for tokens in (64, 512):
        empty = {name: np.zeros((4, 0, 16), np.float32) for name in ("keys", "values")}
        given = {"n": np.array(tokens), "x": _floats(1, 64), **empty, **weights}
        yield Row(f"decoding, {tokens} tokens", _DECODING, given, 1.5)
    random = np.random.default_rng(0)
    corners = random.uniform(0, 100, (1000, 2))
    boxes = np.concatenate([corners, corners + random.uniform(1, 21, (1000, 2))], 1).astype(np.float32)
    given = {"boxes": boxes, "scores": random.random(1000, np.float32), "threshold": np.array(0.5, np.float32)}
    yield Row("greedy NMS, 1000 boxes", _SAMPLES / "greedy_nms.onnx", given, 10)


def least(calls: list[Callable[[], object]]) -> list[float]:
    """The least seconds of each, taken in turns."""
    found, end = [float("inf")] * len(calls), time.perf_counter() + _SECONDS * len(calls)
    while time.perf_counter() < end:
        for k, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            found[k] = min(found[k], time.perf_counter() - begin)
    return found


def warmed_up(call: Callable[[], Any], seconds: float = _WARM_UP) -> Any:
    """The first result; and so many calls that what is worth it is compiled: short loops, and operators, are once they
    have taken as long as that takes."""
    found = call()
    end = time.perf_counter() + seconds
    for _ in range(300):
        call()
        if time.perf_counter() > end:
            break
    return found


def measure(row: Row, folder: Path) -> tuple[float, float]:
    """How many times as fast the first and the second call are."""
    path, given = folder / "model.onnx", folder / "inputs.pickle"
    onnx.save(row.model(), path)
    given.write_bytes(pickle.dumps(dict(row.inputs)))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    graph = load(path)
    names = [value.name for value in graph.outputs]
    found = warmed_up(lambda: run(graph, row.inputs))
    for name, value in zip(names, session.run(names, row.inputs), strict=True):
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-4)
    theirs, ours = least([lambda: session.run(names, row.inputs), lambda: run(graph, row.inputs)])
    command = [sys.executable, "-m", "bench.bench_run", "--first", str(path), str(given)]
    first = min(float(subprocess.run(command, **_OPTIONS).stdout) for _ in range(3))
    return theirs / first, theirs / ours


def _first(path: Path, inputs: Path) -> float:
    """Seconds of the first call in this process."""
    import numba  # noqa: F401  as its users have it

    plain = '<ir_version: 8, opset_import: ["" : 18]> g (float x) => (float y) { y = Neg (x) }'
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(onnx.parser.parse_model(plain), Path(folder, "plain.onnx"))
        run(load(Path(folder, "plain.onnx")), {"x": np.float32(1)})  # imports what any call does
    graph, given = load(path), pickle.loads(inputs.read_bytes())
    begin = time.perf_counter()
    run(graph, given)
    return time.perf_counter() - begin


def main(part: str = "") -> None:
    """Print the table."""
    print(f"{'':30}{'first':>9}{'second':>9}{'wanted':>9}   times as fast as ONNX Runtime {onnxruntime.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ[cache.VARIABLE] = str(Path(folder) / "cache")
        for row in rows():
            if part in row.name:
                first, second = measure(row, Path(folder))
                print(f"{row.name:30}{first:9.2f}{second:9.2f}{row.wanted:9.1f}", flush=True)


@pytest.mark.bench
def test_run() -> None:
    """Prints the figures; what they should be depends on the machine."""
    main()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--first"]:
        print(_first(Path(sys.argv[2]), Path(sys.argv[3])))
    else:
        main(*sys.argv[1:])
