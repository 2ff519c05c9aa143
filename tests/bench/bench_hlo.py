"""HLO text to a graph, beside XLA's own parser on the same text; and from there to ONNX and back to text.

    python tests/bench/bench_hlo.py [instructions]

XLA's parser is compiled C++ and makes XLA's own objects; it is what there is to compare with. Every figure is seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


def chain(count: int) -> str:
    """A module of so many instructions, as JAX writes them: metadata on each."""
    lines = ["HloModule chain", "", "ENTRY main {", "  x0 = f32[4,4]{1,0} parameter(0)"]
    for at in range(count):
        operands = f"x{at}, x{max(at - 5, 0)}" if at % 3 else f"x{at}"
        opcode = "add" if at % 3 else "tanh"
        meta = f'metadata={{op_name="jit(f)/{opcode}" source_file="f.py" source_line={at % 900}}}'
        root = "ROOT " if at == count - 1 else ""
        lines.append(f"  {root}x{at + 1} = f32[4,4]{{1,0}} {opcode}({operands}), {meta}")
    return "\n".join([*lines, "}", ""])


def weights(count: int) -> str:
    """A module that is one constant of so many numbers, and an addition."""
    numbers = np.random.default_rng(0).standard_normal(count).astype(np.float32)
    body = ", ".join(map(repr, map(float, numbers)))
    return (
        f"HloModule weights\n\nENTRY main {{\n  x = f32[{count}] parameter(0)\n"
        f"  w = f32[{count}] constant({{{body}}})\n  ROOT y = f32[{count}] add(x, w)\n}}\n"
    )


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    made = function()
    return time.perf_counter() - start, made


def main(count: int) -> None:
    from backedge.convert.files import to_dialect, to_hub
    from backedge.convert.format import FORMATS
    from backedge.convert.hlo.read import from_text
    from backedge.convert.hlo.write import to_text
    from jaxlib import _hlo

    print(f"{'module':8} {'MB':>6} {'read':>6} {'XLA':>6} {'ratio':>6} {'to ONNX':>8} {'write':>6}")
    texts = [("chain", chain(count // 4)), ("chain", chain(count)), ("weights", weights(20 * count))]
    for name, text in texts:
        mine, graph = seconds(lambda text=text: from_text(text))
        theirs, _ = seconds(lambda text=text: _hlo.hlo_module_from_text(text))
        there, _ = seconds(lambda graph=graph: to_dialect(to_hub(graph), FORMATS["onnx"], 21))
        back, _ = seconds(lambda graph=graph: to_text(graph))
        size = len(text) / 1e6
        print(
            f"{name:8} {size:6.1f} {mine:6.2f} {theirs:6.2f} {mine / theirs:6.2f} {there:8.2f} {back:6.2f}", flush=True
        )


@pytest.mark.bench
def test_reading_is_linear() -> None:
    """Prints the figures; asserts only what no machine's speed changes."""
    pytest.importorskip("jaxlib")
    main(40_000)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
