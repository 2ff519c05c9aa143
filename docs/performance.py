"""Writes docs/performance.md and its picture: measures the executor's `run` against ONNX Runtime on this machine.

python docs/performance.py     takes a quarter of an hour on an idle machine; networks are fetched with pip
"""

from __future__ import annotations

import datetime
import importlib.metadata
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from backedge.runtime.compiled import cache  # noqa: E402  the folder of the benches comes first
from bench import bench_networks, bench_run  # noqa: E402

Line = tuple[str, float | None, float, float]
"""A name, how many times as fast as ONNX Runtime the first call is and later ones are, and what they should be."""

_HEAD = """# Performance

Written by `python docs/performance.py`, on {machine}, {date}, with {versions}.

## How the executor runs a model

`backedge.runtime.run` and `Executor` start with NumPy, a kernel for each operator. What turns out to be worth it
becomes machine code (Numba, LLVM):

- **Loops.** A nest of loops becomes one function. It is compiled once the passes that were interpreted add up to about
  300,000 calls of operators, longer bodies after more, and at once where the trip count says that it will; if its
  machine code is on disk, after 5,000. A loop around others counts their work, so that a nest is compiled as a whole.
- **Whole graphs**, for inputs of one shape at a time: what they compute of sizes is folded, elementwise operators are
  fused, filters are packed. `backedge.runtime.prepare(graph, inputs)` compiles one at once, in about 0.2 s an operator;
  otherwise it is compiled after so many runs that they took as long. If its machine code is on disk, it is used once
  runs add up to 200,000 calls of operators (two million where Numba isn't imported yet).
- **Convolutions, products of 8-bit numbers.** These have machine code that all models share. It is used once a
  graph has done 50 thousand million products; if it is on disk, after 4 to 10.

Work is counted, not timed: compiled sums are made in another order than NumPy's, and a clock would let the last bits
of a result differ from run to run. Machine code that was used once is always used again. It is kept in a folder that
`backedge cache` shows, limits and clears.

## Against ONNX Runtime

One thread each, in turns, the least time of each counts, answers compared before. "first" is the first call in a new
process whose imports are done and whose machine code is on disk; "later" is any call after what is worth compiling is
compiled. Above 1 the executor is faster.

![How many times as fast as ONNX Runtime](performance.svg)

| | first | later | aim |
|---|---|---|---|
"""

_WIDTH, _ROW, _LEFT = 760, 18, 240
_POWERS = range(-2, 5)


def measured() -> Iterator[Line]:
    """All rows of the benches."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[cache.VARIABLE] = str(Path(folder) / "cache")
        for row in bench_run.rows():
            yield row.name, *bench_run.measure(row, Path(folder)), row.wanted
        for name, wanted in bench_networks.WANTED.items():
            yield name, None, bench_networks.measure_alone(name), wanted


def picture(lines: Sequence[Line]) -> str:
    """Bars on a logarithmic scale, a mark at each aim."""

    def across(ratio: float) -> float:
        power = min(max(math.log10(ratio), _POWERS[0]), _POWERS[-1])
        return _LEFT + (_WIDTH - _LEFT - 20) * (power - _POWERS[0]) / (_POWERS[-1] - _POWERS[0])

    height = _ROW * (len(lines) + 2)
    size = f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for power in _POWERS:
        x, colour = across(10.0**power), "#333" if power == 0 else "#dfe3ea"
        parts.append(f'<path d="M{x:.1f} 0V{height - _ROW}" stroke="{colour}"/>')
        label = f"{10.0**power:g}x"
        parts.append(f'<text x="{x:.1f}" y="{height - 4}" text-anchor="middle" fill="#687083">{label}</text>')
    for place, (name, _, later, wanted) in enumerate(lines):
        top, one, end = place * _ROW + 3, across(1.0), across(later)
        colour = "#16794c" if later >= wanted else "#c77700"
        parts.append(f'<text x="{_LEFT - 8}" y="{top + 11}" text-anchor="end">{escape(name)}</text>')
        left, width = min(one, end), max(abs(end - one), 1)
        parts.append(f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_ROW - 6}" fill="{colour}"/>')
        parts.append(f'<path d="M{across(wanted):.1f} {top - 2}v{_ROW - 2}" stroke="#333" stroke-width="2"/>')
    return "\n".join((*parts, "</svg>")) + "\n"


def _machine() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    model = next((line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")), "a CPU")
    return f"{os.cpu_count()} cores of {model}"


def main() -> None:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("onnxruntime", "numpy", "numba"))
    head = _HEAD.format(machine=_machine(), date=datetime.date.today(), versions=versions)
    lines: list[Line] = []
    for line in measured():  # written row by row: whoever has waited for half of it keeps that
        print(*line, flush=True)
        lines.append(line)
        table = (
            f"| {name} | {'' if first is None else f'{first:.2g}'} | {later:.3g} | {wanted:g} |\n"
            for name, first, later, wanted in lines
        )
        (HERE / "performance.md").write_text(head + "".join(table), encoding="utf-8")
        (HERE / "performance.svg").write_text(picture(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
