"""The samples: each script makes its committed file again, and each file computes what it says."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

SAMPLES = Path(__file__).parents[1] / "samples"
CHILD = Path(__file__).with_name("sample_child.py")
SCRIPTS = sorted(path for path in SAMPLES.glob("make_*.py") if path.stem != "make_viterbi")  # that one needs jax
Arrays = dict[str, np.ndarray]


def f32(value: object) -> np.ndarray:
    return np.array(value, np.float32)


def i64(value: object) -> np.ndarray:
    return np.array(value, np.int64)


@dataclass(frozen=True)
class Sample:
    """A sample, inputs for it, and an independent formula: formula(weights, **inputs) gives the outputs by name."""

    file: str
    formula: Callable[..., Arrays]
    inputs: list[Arrays]
    openvino: bool = True


def elman(x: np.ndarray, h: np.ndarray, w: np.ndarray, r: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    states = []
    for row in x:
        h = np.tanh(row @ w + h @ r + b)
        states.append(h)
    return states


def rnn(weights: Arrays, initial_h: np.ndarray, sequence: np.ndarray, reverse: bool = False) -> Arrays:
    step = -1 if reverse else 1
    states = elman(sequence[::step], initial_h, weights["W"], weights["R"], weights["b"])
    return {"hidden_states": np.stack(states[::step]), "last_h": states[-1]}


def rnn_reverse(weights: Arrays, **inputs: np.ndarray) -> Arrays:
    return rnn(weights, **inputs, reverse=True)


def rnn_both(weights: Arrays, **inputs: np.ndarray) -> Arrays:
    back = {name: weights[f"{name}_back"] for name in ("W", "R", "b")}
    forward, backward = rnn(weights, **inputs), rnn(back, **inputs, reverse=True)
    return {
        "hidden_states": np.concatenate([forward["hidden_states"], backward["hidden_states"]], axis=2),
        "last_forward": forward["last_h"],
        "last_backward": backward["last_h"],
    }


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def gru(weights: Arrays, encoded: np.ndarray, start_token: np.ndarray, max_length: np.ndarray) -> Arrays:
    h, token, tokens = encoded, int(start_token), []
    while len(tokens) < max_length:
        x_update, x_reset, x_new = np.split(weights["embedding"][[token]] @ weights["W"], 3, axis=1)
        h_update, h_reset, h_new = np.split(h @ weights["R"], 3, axis=1)
        update = sigmoid(x_update + h_update)
        new = np.tanh(x_new + sigmoid(x_reset + h_reset) * h_new)
        h = update * h + (1 - update) * new
        token = int((h @ weights["output_weights"]).argmax())
        tokens.append(token)
        if token == 0:
            break
    return {"tokens": i64(tokens), "last_state": h}


def newton(weights: Arrays, x: np.ndarray) -> Arrays:
    y, steps, go = x, 0, x > 0
    while go:
        y_next = (y + x / y) * np.float32(0.5)
        go = abs(y_next - y) > y_next * np.float32(1e-4)
        y, steps = y_next, steps + 1
    return {"root": f32(y), "iterations": i64(steps)}


def mandelbrot(weights: Arrays, real: np.ndarray, imaginary: np.ndarray, iterations: np.ndarray) -> Arrays:
    counts = np.zeros((len(imaginary), len(real)), np.int32)
    for row, im in enumerate(imaginary):
        for column, re in enumerate(real):
            z, c = 0j, complex(re, im)
            for _ in range(int(iterations)):
                if abs(z) > 2:
                    break
                z = z * z + c
                counts[row, column] += 1
    return {"escape_time": counts}


def bisection(weights: Arrays, coefficients: np.ndarray, low: np.ndarray, high: np.ndarray, tolerance: np.ndarray,
              most_steps: np.ndarray) -> Arrays:  # fmt: skip
    """In Python's numbers: the intervals are halves of small integers, exact in both types."""
    a, b, steps = float(low), float(high), 0
    while steps < most_steps:
        middle = (a + b) / 2
        a, b = (a, middle) if np.polyval(coefficients.astype(float), middle) > 0 else (middle, b)
        steps += 1
        if b - a < tolerance:
            break
    return {"root": f32((a + b) / 2), "steps": i64(steps)}


def collatz(weights: Arrays, start: np.ndarray) -> Arrays:
    path = [int(start)]
    while path[-1] > 1:
        path.append(3 * path[-1] + 1 if path[-1] & 1 else path[-1] >> 1)
    return {"steps": i64(len(path) - 1), "highest": i64(max(path))}


def lcg(weights: Arrays, seed: np.ndarray, count: np.ndarray) -> Arrays:
    s, values = int(seed), []
    for _ in range(int(count)):
        s = (75 * s + 74) % 65537
        values.append(s)
    return {"values": i64(values), "last": i64(s)}


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return width * height / (sum(areas) - width * height)


def nms(weights: Arrays, boxes: np.ndarray, scores: np.ndarray, threshold: np.ndarray) -> Arrays:
    kept: list[int] = []
    for k in np.argsort(-scores, kind="stable"):
        if all(overlap(boxes[k], boxes[other]) <= threshold for other in kept):
            kept.append(int(k))
    return {"kept": i64(kept)}


def triangular(weights: Arrays, x: np.ndarray, y: np.ndarray) -> Arrays:
    rows = x * np.cumsum(y)
    return {"total": f32(rows.sum()), "rows": f32(rows)}


def ball(weights: Arrays, height: np.ndarray, velocity: np.ndarray, step: np.ndarray, restitution: np.ndarray,
         steps: np.ndarray) -> Arrays:  # fmt: skip
    h, v, heights, bounces = height, velocity, [], 0
    for _ in range(int(steps)):
        moved = h + v * step
        if moved < 0:
            h, v, bounces = f32(0), v * -restitution, bounces + 1
        else:
            h, v = moved, v - np.float32(9.81) * step
        heights.append(h)
    return {"heights": f32(heights), "bounces": i64(bounces)}


def averages(weights: Arrays, lengths: np.ndarray, values: np.ndarray, initial: np.ndarray) -> Arrays:
    last, every = initial.copy(), np.zeros_like(values)
    for row, length in enumerate(lengths):
        for k in range(length):
            last[row] += (values[row, k] - last[row]) * np.float32(0.25)
            every[row, k] = last[row]
    return {"last_average": last, "averages": every}


def lstm(weights: Arrays, sequence: np.ndarray, initial_h: np.ndarray, initial_c: np.ndarray) -> Arrays:
    """Gates in OpenVINO's order: forget, input, candidate, output."""
    h, c, states = initial_h, initial_c, []
    for x in sequence.swapaxes(0, 1):
        gates = x @ weights["W"].T + h @ weights["R"].T + weights["b"]
        forget, enter, new, out = np.split(gates, 4, axis=1)
        c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(new)
        h = sigmoid(out) * np.tanh(c)
        states.append(h)
    return {"hidden_states": np.stack(states, axis=1), "last_h": h, "last_c": c}


def accumulators(weights: Arrays, evidence: np.ndarray) -> Arrays:
    """One accumulator after the other, in Python's numbers."""
    activity, passes = [0.0] * len(evidence), 0
    while max(activity) < 1 and passes < 200:
        total = sum(activity)
        activity = [
            max(a + 0.1 * (e - 0.2 * a - 0.4 * (total - a)), 0.0) for a, e in zip(activity, evidence, strict=True)
        ]
        passes += 1
    return {
        "activities": np.array(activity),
        "winner": i64(activity.index(max(activity))),
        "decided_after": i64(passes),
    }


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rnn_inputs() -> list[Arrays]:
    return [{"initial_h": normal(t, n, 4), "sequence": normal(t + 9, t, n, 3)} for t, n in ((1, 1), (5, 2))]


def gru_inputs() -> list[Arrays]:
    settings = ((-1, 1, 6), (1, 1, 12), (3, 1, 12), (3, 2, 1))
    return [
        {"encoded": np.full((1, 6), value, np.float32), "start_token": i64(token), "max_length": i64(length)}
        for value, token, length in settings
    ]


BOXES = f32([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 10, 9], [21, 20, 30, 31], [50, 50, 51, 51]])
SCORES = f32([0.9, 0.8, 0.7, 0.95, 0.75, 0.1])
TABLE = [
    Sample("rnn_scan_forward.onnx", rnn, rnn_inputs()),
    Sample("rnn_scan_reverse.onnx", rnn_reverse, rnn_inputs()),
    Sample("rnn_scan_both.onnx", rnn_both, rnn_inputs()),
    Sample("gru_decoder.onnx", gru, gru_inputs()),
    Sample("newton_sqrt.onnx", newton, [{"x": f32(x)} for x in (1, 2, 1e6, 0.01, 0, -4)]),
    Sample(
        "mandelbrot.onnx",
        mandelbrot,
        [
            {
                "real": np.linspace(-2.25, 0.75, 13, dtype=np.float32),
                "imaginary": f32([-1.1, 0, 0.6]),
                "iterations": i64(n),
            }
            for n in (0, 1, 12)
        ],
    ),
    Sample(
        "bisection.onnx",
        bisection,
        [
            {"coefficients": f32(c), "low": f32(a), "high": f32(b), "tolerance": f32(t), "most_steps": i64(n)}
            for c, a, b, t, n in (
                ([1, 0, -1, -2], 1, 2, 1e-4, 50),  # stops early
                ([1, 0, -2], 0, 2, 0, 8),  # stops at the limit
                ([1, 0, -2], 0, 2, 1e-4, 0),
                ([1, 0, -2], 0, 2, 1e-4, 1),
                ([1, 0, -2], 0, 2, 8, 50),  # narrow enough after one step
                ([2, -1], 0, 1, 1e-2, 50),  # the first middle is the root
                ([], -1, 1, 0.3, 50),  # zero everywhere
            )
        ],
    ),
    Sample("collatz.onnx", collatz, [{"start": i64(n)} for n in (-5, 0, 1, 2, 3, 27, 1024)]),
    Sample("lcg.onnx", lcg, [{"seed": i64(s), "count": i64(n)} for s, n in ((0, 1), (42, 50), (65536, 3))]),
    Sample(
        "greedy_nms.onnx",
        nms,
        [{"boxes": BOXES, "scores": SCORES, "threshold": f32(t)} for t in (0.5, 0.05, 1)]
        + [{"boxes": BOXES[:n], "scores": SCORES[:n], "threshold": f32(0.5)} for n in (0, 1)],
        openvino=False,
    ),
    Sample(
        "triangular_sum.onnx",
        triangular,
        [{"x": f32(range(n)), "y": f32([k * k - 2 for k in range(n)])} for n in (1, 2, 6)],
    ),
    Sample(
        "bouncing_ball.onnx",
        ball,
        [
            {"height": f32(h), "velocity": f32(v), "step": f32(0.1), "restitution": f32(0.5), "steps": i64(n)}
            for h, v, n in ((1, 0, 30), (0, -3, 1), (5, 2, 4))
        ],
    ),
    Sample(
        "batch_average_scan8.onnx",
        averages,
        [
            {"lengths": i64(lengths), "values": normal(7, len(lengths), 4), "initial": normal(8, len(lengths))}
            for lengths in ([4], [4, 1, 3], [2, 2])
        ],
        openvino=False,
    ),
    Sample(
        "lstm_tensor_iterator.xml",
        lstm,
        [{"sequence": normal(4, 2, 5, 3), "initial_h": normal(5, 2, 4), "initial_c": normal(6, 2, 4)}],
    ),
    Sample(
        "leaky_accumulators.json",
        accumulators,
        [
            {"evidence": np.array(values)}
            for values in ([1.0, 0.9, 0.8], [0.5, 2.0, 1.9], [0.0, 20.0, -3.0], [0.1, 0.1, 0.0])
        ],
        openvino=False,
    ),
]


def weights(path: Path) -> Arrays:
    """A file's named weights."""
    if path.suffix == ".onnx":
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    if path.suffix == ".json":
        return {}
    found, data = {}, path.with_suffix(".bin").read_bytes()
    for layer in ElementTree.parse(path).iter("layer"):
        if layer.get("name") in ("W", "R", "b"):
            const = layer.find("data").attrib
            shape = [int(size) for size in const["shape"].split(",")]
            values = np.frombuffer(data, np.float32, math.prod(shape), int(const["offset"]))
            found[layer.get("name")] = values.reshape(shape)
    return found


def run(runtime: str, samples: list[Sample], folder: Path = SAMPLES) -> dict[str, list[Arrays] | str]:
    jobs = [(str(folder / sample.file), sample.inputs) for sample in samples]
    done = subprocess.run(
        [sys.executable, str(CHILD), runtime], input=pickle.dumps(jobs), capture_output=True, timeout=200
    )
    assert done.returncode == 0, done.stderr.decode()
    return {sample.file: result for sample, result in zip(samples, pickle.loads(done.stdout), strict=True)}


def assert_right(sample: Sample, results: list[Arrays] | str) -> None:
    assert isinstance(results, list), results
    known = weights(SAMPLES / sample.file)
    for inputs, outputs in zip(sample.inputs, results, strict=True):
        expected = sample.formula(known, **inputs)
        assert set(outputs) == set(expected)
        for name, value in expected.items():
            assert outputs[name].dtype == value.dtype
            np.testing.assert_allclose(outputs[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


IN_ONNXRUNTIME = [sample for sample in TABLE if sample.file.endswith(".onnx")]
IN_OPENVINO = [sample for sample in TABLE if sample.openvino]
IN_MDF = [sample for sample in TABLE if sample.file.endswith(".json")]


@pytest.fixture(scope="module")
def onnxruntime_results() -> dict[str, list[Arrays] | str]:
    return run("onnxruntime", IN_ONNXRUNTIME)


@pytest.fixture(scope="module")
def openvino_results() -> dict[str, list[Arrays] | str]:
    return run("openvino", IN_OPENVINO)


def per_sample(samples: list[Sample]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("sample", samples, ids=[sample.file for sample in samples])


@per_sample(IN_ONNXRUNTIME)
def test_onnxruntime(sample: Sample, onnxruntime_results: dict[str, list[Arrays] | str]) -> None:
    assert_right(sample, onnxruntime_results[sample.file])


@per_sample(IN_OPENVINO)
def test_openvino(sample: Sample, openvino_results: dict[str, list[Arrays] | str]) -> None:
    assert_right(sample, openvino_results[sample.file])


@per_sample(IN_MDF)
def test_mdf(sample: Sample) -> None:
    assert_right(sample, run("mdf", [sample])[sample.file])


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what all scripts write today."""
    folder = tmp_path_factory.mktemp("samples")
    code = "import runpy, sys\nfor script in sys.argv[2:]: runpy.run_path(script, run_name='__main__')"
    command = [sys.executable, "-c", code, str(folder), *map(str, SCRIPTS)]
    environment = {**os.environ, "PYTHONPATH": str(SAMPLES), "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr.decode()
    return folder


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix in (".onnx", ".xml", ".bin", ".json")}


def test_scripts_make_every_sample(remade: Path) -> None:
    assert files(remade) == files(SAMPLES)
    assert {sample.file for sample in TABLE} == {name for name in files(SAMPLES) if not name.endswith(".bin")}


@per_sample(IN_ONNXRUNTIME)
def test_script_makes_the_same_graph(sample: Sample, remade: Path) -> None:
    onnx.checker.check_model(SAMPLES / sample.file, full_check=True)
    assert onnx.load(remade / sample.file) == onnx.load(SAMPLES / sample.file)


def test_openvino_script_makes_the_same_model(remade: Path) -> None:
    samples = [sample for sample in TABLE if sample.file.endswith(".xml")]
    for sample, results in zip(samples, run("openvino", samples, remade).values(), strict=True):
        assert_right(sample, results)


@per_sample(IN_MDF)
def test_mdf_script_makes_the_same_file(sample: Sample, remade: Path) -> None:
    assert (remade / sample.file).read_text() == (SAMPLES / sample.file).read_text()


def test_samples_are_small() -> None:
    assert all((SAMPLES / name).stat().st_size < 20_000 for name in files(SAMPLES))


def test_api_sample(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SAMPLES / "api.py"), str(tmp_path)], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:4] == [
        "sqrt(2) = 1.414214 after 4 iterations",
        "copy: proved",
        "conversion: proved",
        "OpenVINO IR: proved",
    ]
    assert "100 at 50 % for 3 years: 337.5" in lines and lines[-1] == "rewritten: equal"
    assert (tmp_path / "newton_sqrt.xml").is_file()
