"""Conversions take work in proportion to the size of a model, counted in calls of functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx.parser
import pytest
from backedge.convert.files import load, save, to_hub
from backedge.convert.proof import prove

SIZE = 12
HEAD = '<ir_version: 9, opset_import: ["" : 18]> g (float[4] x0, bool k, int64 n) => (float[4] y) {'
STEPS = (
    "Add({0}, {0})",
    "Relu({0})",
    "Reshape<allowzero = 0>({0}, s)",
    "LeakyRelu<alpha = 0.1>({0})",
    "Sigmoid({0})",
    "Softmax<axis = 0>({0})",
)


def operators(size: int) -> str:
    """A chain of so many operators, most of which some format has to make of others."""
    lines = [f"x{at + 1} = {STEPS[at % len(STEPS)].format(f'x{at}')}" for at in range(size)]
    return "\n".join(["s = Constant<value = int64[1] {4}>()", *lines])


def branches(size: int) -> str:
    """So many branches, one after the other."""
    return "\n".join(
        f"x{at + 1} = If(k) <then_branch = t{at} () => (float[4] a{at}) {{ a{at} = Neg(x{at}) }}, "
        f"else_branch = e{at} () => (float[4] b{at}) {{ b{at} = Abs(x{at}) }}>"
        for at in range(size)
    )


def loops(size: int) -> str:
    """So many loops, one after the other."""
    return "\n".join(
        f"x{at + 1} = Loop(n, k, x{at}) <body = l{at} (int64 i{at}, bool c{at}, float[4] u{at}) => "
        f"(bool d{at}, float[4] w{at}) {{ d{at} = Identity(c{at}) v{at} = Sin(u{at}) w{at} = Mul(v{at}, u{at}) }}>"
        for at in range(size)
    )


def calls(work: Callable[[], Any]) -> int:
    """How many calls of functions some work takes, whether they are written in Python or not."""
    found = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


def grows_with_size(work: Callable[[int], Callable[[], Any]]) -> None:
    """`work` gives what is done to a model of a size; twice as much of a model is twice as much work, once begun."""
    work(2 * SIZE)()  # imports, and what is remembered
    small, middle, large = (calls(work(times * SIZE)) for times in (1, 2, 4))
    assert large - middle < 2.2 * (middle - small), (small, middle, large)


def test_what_grows_with_the_square_is_seen() -> None:
    with pytest.raises(AssertionError):
        grows_with_size(lambda size: lambda: [abs(at) for at in range(size**2)])


MODELS = pytest.mark.parametrize("body", [operators, branches, loops])


def written(body: Callable[[int], str], size: int, folder: Path) -> Path:
    path = folder / f"{size}.onnx"
    onnx.save(onnx.parser.parse_model(f"{HEAD}\n{body(size)}\ny = Identity(x{size})\n}}"), path)
    return path


@pytest.mark.full
@MODELS
@pytest.mark.parametrize("suffix", [".hlo", ".mlir", ".xml", ".json", ".onnx"])
def test_there_and_back(body: Callable[[int], str], suffix: str, tmp_path: Path) -> None:
    def there(size: int) -> Callable[[], None]:
        source = written(body, size, tmp_path)
        return lambda: save(load(source), tmp_path / f"{size}.there{suffix}", opset=13 if suffix == ".onnx" else None)

    def back(size: int) -> Callable[[], None]:
        return lambda: save(load(tmp_path / f"{size}.there{suffix}"), tmp_path / f"{size}.back.onnx", opset=20)

    grows_with_size(there)
    grows_with_size(back)


@pytest.mark.full
@MODELS
def test_proofs(body: Callable[[int], str], tmp_path: Path) -> None:
    def proving(size: int) -> Callable[[], None]:
        source, target = written(body, size, tmp_path), tmp_path / f"{size}.hlo"
        save(load(source), target)

        def work() -> None:
            proof = prove(to_hub(load(source)), to_hub(load(target)))
            assert not proof.given_up

        return work

    grows_with_size(proving)
