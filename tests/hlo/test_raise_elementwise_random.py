"""Random bits are XLA's bit by bit, random numbers have XLA's distribution."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import NOTES
from backedge.runtime import run

from .single_op import check, entry, hub_of

PHILOX, THREEFRY = "rng_philox", "rng_three_fry"
STATES = [[5, 7], [2**64 - 3, 2**64 - 1], [5, 7, 9], [2**63 + 11, 2**64 - 2, 2**64 - 1]]


def generator(length: int, results: list[str], algorithm: str) -> str:
    """Bits of every shape, each with the state after them."""
    lines, names, shapes = [], [], []
    for place, result in enumerate(results):
        pair = f"(u64[{length}], {result})"
        lines.append(f"r{place} = {pair} rng-bit-generator(state), algorithm={algorithm}")
        for index, (name, shape) in enumerate((("after", f"u64[{length}]"), ("bits", result))):
            lines.append(f"{name}{place} = {shape} get-tuple-element(r{place}), index={index}")
            names.append(f"{name}{place}")
            shapes.append(shape)
    lines.append(f"ROOT all = ({', '.join(shapes)}) tuple({', '.join(names)})")
    return "\n".join(["HloModule bits", "ENTRY main {", f"state = u64[{length}] parameter(0)", *lines, "}", ""])


RESULTS = ["u32[]", "u32[1]", "u32[5]", "u32[8]", "u32[2,3]", "u32[3,4]", "u32[3,5,1]", "u32[0]"]
RESULTS += ["u64[]", "u64[3]", "u64[4]", "u64[3,2]", "u8[5]", "u16[2,3]"]


@pytest.mark.parametrize("algorithm", [PHILOX, THREEFRY])
def test_bits_and_state(algorithm):
    check(generator(2, RESULTS, algorithm), [np.array(STATES[0], np.uint64)])


@pytest.mark.parametrize("state", STATES[1:])
@pytest.mark.parametrize("algorithm", [PHILOX, THREEFRY, "rng_default"])
def test_counters_run_over(algorithm, state):
    if algorithm == THREEFRY and len(state) == 3:
        pytest.skip("two numbers are its state")
    check(generator(len(state), ["u32[11]", "u64[11]"], algorithm), [np.array(state, np.uint64)])


def test_the_default_is_told():
    assert "Philox" in hub_of(generator(2, ["u32[2]"], "rng_default")).meta[NOTES][0]


def test_what_no_algorithm_takes():
    with pytest.raises(Unsupported, match="state"):
        hub_of(generator(3, ["u32[2]"], THREEFRY))
    with pytest.raises(Unsupported, match="float32"):
        hub_of(generator(2, ["f32[2]"], PHILOX))


def numbers(distribution: str, name: str) -> str:
    line = f"y = {name}[4000] rng(a, b), distribution={distribution}"
    return entry({"a": f"{name}[]", "b": f"{name}[]"}, [line])


@pytest.mark.parametrize("name", ["f32", "f64", "s32", "u8"])
def test_uniform(name):
    hub = hub_of(numbers("rng_uniform", name))
    dtype = {"f32": np.float32, "f64": np.float64, "s32": np.int32, "u8": np.uint8}[name]
    (made,) = run(hub, dict(zip((value.name for value in hub.inputs), (dtype(2), dtype(12)), strict=True))).values()
    assert made.dtype == dtype and made.min() >= 2 and made.max() < 12
    assert abs(float(made.mean()) - (7 if name[0] == "f" else 6.5)) < 0.25
    if name[0] != "f":
        assert set(made.tolist()) == set(range(2, 12))
    assert "distribution" in hub.meta[NOTES][0]


def test_normal():
    hub = hub_of(numbers("rng_normal", "f32"))
    feeds = dict(zip((value.name for value in hub.inputs), (np.float32(3), np.float32(0.5)), strict=True))
    (made,) = run(hub, feeds).values()
    assert abs(float(made.mean()) - 3) < 0.05 and abs(float(made.std()) - 0.5) < 0.05


def test_a_state_of_the_process_is_refused():
    text = entry({"x": "f32[]"}, ["y = u64[2] rng-get-and-update-state(), delta=1"])
    with pytest.raises(Unsupported, match="survives"):
        hub_of(text)


def test_an_unknown_distribution():
    with pytest.raises((InvalidModel, Unsupported)):
        hub_of(numbers("rng_of_dice", "f32"))
