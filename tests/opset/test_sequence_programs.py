"""Random programs over sequences, at opsets that have none: the same results as the program itself gives."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.files import to_hub
from backedge.convert.onnx.opset import change_opset
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import Unsupported
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor

TENSOR = "float[2]"
SEQUENCE = f"seq({TENSOR})"


@dataclass
class Scope:
    """The statements of one graph, and the names that they see."""

    tensors: list[str]
    sequences: list[str]
    positions: list[str] = field(default_factory=lambda: ["zero", "minus"])
    lines: list[str] = field(default_factory=list)

    def inner(self) -> Scope:
        return Scope([*self.tensors], [*self.sequences], [*self.positions])


class Program:
    """ONNX text made at random: sequences built, cut, counted, joined, chosen and carried."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def any(self, names: list[str]) -> str:
        return self.random.choice(names)

    def text(self, statements: int) -> str:
        scope = Scope(["x", "u"], ["q"], lines=["q = SequenceConstruct (x, u)"])
        self.fill(scope, statements, depth=2)
        made = self.any(scope.sequences[-3:])
        scope.lines += [
            f"length = SequenceLength ({made})",
            f"last = Identity ({scope.tensors[-1]})",
            f"more = SequenceInsert ({made}, x)",
            "joined = ConcatFromSequence <axis = 0> (more)",
        ]
        body = "\n".join(scope.lines)
        return (
            f'<ir_version: 8, opset_import: ["" : 16]>\n'
            f"g ({TENSOR} x, {TENSOR} u, float[3, 2] rows, bool p, int64 m)"
            f" => (int64 length, {TENSOR} last, float[k] joined)\n"
            "<int64 zero = {0}, int64 minus = {-1}, int64 two = {2}, bool yes = {1}, bool no = {0}> {\n" + body + "\n}"
        )

    def fill(self, scope: Scope, statements: int, depth: int) -> None:
        kinds = [self.construct, self.insert, self.insert, self.erase, self.at, self.count, self.join, self.split]
        for _ in range(statements):
            if depth and self.random.random() < 0.25:
                self.random.choice([self.branch, self.loop])(scope, depth - 1)
            else:
                self.random.choice(kinds)(scope)

    def position(self, scope: Scope) -> str:
        return f", {self.any(scope.positions)}" if self.random.random() < 0.6 else ""

    def add(self, scope: Scope, names: list[str], kind: str, made: str) -> None:
        names.append(self.name(kind))
        scope.lines.append(f"{names[-1]} = {made}")

    def construct(self, scope: Scope) -> None:
        given = [self.any(scope.tensors) for _ in range(self.random.randint(0, 3))]
        made = f"SequenceConstruct ({', '.join(given)})" if given else "SequenceEmpty <dtype = 1> ()"
        self.add(scope, scope.sequences, "q", made)

    def insert(self, scope: Scope) -> None:
        given = f"{self.any(scope.sequences)}, {self.any(scope.tensors)}{self.position(scope)}"
        self.add(scope, scope.sequences, "q", f"SequenceInsert ({given})")

    def erase(self, scope: Scope) -> None:
        self.add(scope, scope.sequences, "q", f"SequenceErase ({self.any(scope.sequences)}{self.position(scope)})")

    def at(self, scope: Scope) -> None:
        given = f"{self.any(scope.sequences)}, {self.any(scope.positions)}"
        self.add(scope, scope.tensors, "t", f"SequenceAt ({given})")

    def count(self, scope: Scope) -> None:
        self.add(scope, scope.positions, "n", f"SequenceLength ({self.any(scope.sequences)})")

    def join(self, scope: Scope) -> None:
        axis, new = self.random.choice([(0, 0), (-1, 0), (0, 1), (-1, 1), (-2, 1)])
        whole, least = self.name("c"), self.name("r")
        given = self.any(scope.sequences)
        scope.lines.append(f"{whole} = ConcatFromSequence <axis = {axis}, new_axis = {new}> ({given})")
        scope.lines.append(f"{least} = ReduceMin <keepdims = 0> ({whole})")
        self.add(scope, scope.tensors, "t", f"Add ({least}, {self.any(scope.tensors)})")

    def split(self, scope: Scope) -> None:
        self.add(scope, scope.sequences, "q", "SplitToSequence <axis = 0, keepdims = 0> (rows)")

    def body(self, scope: Scope, depth: int) -> list[str]:
        """More statements; what they hand out: a sequence, two tensors."""
        self.fill(scope, self.random.randint(1, 4), depth)
        found = [self.any(scope.sequences[-2:]), self.any(scope.tensors), self.any(scope.tensors)]
        names = [self.name("out") for _ in found]
        scope.lines += [f"{name} = Identity ({value})" for name, value in zip(names, found, strict=True)]
        return names

    def branch(self, scope: Scope, depth: int) -> None:
        sides: list[str] = []
        for side in ("then_branch", "else_branch"):
            inner = scope.inner()
            sequence, tensor, _ = self.body(inner, depth)
            lines = "\n".join(inner.lines)
            sides.append(f"{side} = {self.name('g')} () => ({SEQUENCE} {sequence}, {TENSOR} {tensor}) {{ {lines} }}")
        q, t = self.name("q"), self.name("t")
        scope.lines.append(f"{q}, {t} = If ({self.any(['p', 'yes', 'no'])}) <{', '.join(sides)}>")
        scope.sequences.append(q)
        scope.tensors.append(t)

    def loop(self, scope: Scope, depth: int) -> None:
        start = f"{self.any(['m', 'two'])}, {self.any(['p', 'yes'])}, {self.any(scope.sequences)}, u"
        inner = scope.inner()
        i, c, go_on, q, t = (self.name(kind) for kind in ("i", "c", "go", "q", "t"))
        inner.positions.append(i)
        inner.sequences.append(q)
        inner.tensors.append(t)
        sequence, tensor, stacked = self.body(inner, depth)
        lines = "\n".join([f"{go_on} = Identity ({c})", *inner.lines])
        region = (
            f"{self.name('g')} (int64 {i}, bool {c}, {SEQUENCE} {q}, {TENSOR} {t})"
            f" => (bool {go_on}, {SEQUENCE} {sequence}, {TENSOR} {tensor}, {TENSOR} {stacked}) {{ {lines} }}"
        )
        q, t, stack = self.name("q"), self.name("t"), self.name("s")
        scope.lines.append(f"{q}, {t}, {stack} = Loop ({start}) <body = {region}>")
        scope.sequences.append(q)
        scope.tensors.append(t)


def _runs(seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "x": rng.integers(-4, 5, 2).astype(np.float32),
            "u": rng.integers(-4, 5, 2).astype(np.float32),
            "rows": rng.integers(-4, 5, (3, 2)).astype(np.float32),
            "p": np.array(condition),
            "m": np.array(passes),
        }
        for condition, passes in ((True, 2), (False, 0), (True, 0))
    ]


def _results(executor: Executor, feeds: dict[str, Any]) -> list[Any] | None:
    """None where the program fails, as one does that looks for what isn't there."""
    try:
        return list(executor.run(feeds).values())
    except Exception:
        return None


def differences(seed: int, target: int, statements: int) -> int | None:
    """How many runs were compared; None where the program is refused."""
    model = onnx.parser.parse_model(Program(seed).text(statements))
    try:
        made = to_model(verify(change_opset(read_model(model), target)))
    except Unsupported:
        return None
    onnx.checker.check_model(made, full_check=True)
    original, lowered = (Executor(to_hub(read_model(proto))) for proto in (model, made))
    compared = 0
    for feeds in _runs(seed):
        expected = _results(original, feeds)
        if expected is None:
            continue
        for wanted, found in zip(expected, lowered.run(feeds).values(), strict=True):
            np.testing.assert_array_equal(found, wanted, strict=True)
        compared += 1
    return compared


@pytest.mark.parametrize("target", [9, 12])
def test_programs(target: int) -> None:
    """Nearly all can be expressed (but those that look for what is never there), and most of them run."""
    found = [differences(seed, target, statements=8) for seed in range(30)]
    assert sum(count is None for count in found) <= 6
    assert sum(bool(count) for count in found) >= 20
