"""ONNX to OpenVINO IR and back, file to file, beside ov.convert_model on the same files.

    python tests/bench/bench_openvino.py [nodes]

A peer that raises, or takes more than its time limit, has no figure; nobody takes IR to ONNX. Every run is a process
of its own; the seconds are those of the conversion alone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
import pytest

_LIMIT = 300  # seconds


def ours(source: Path, target: Path) -> float:
    """Seconds from file to file."""
    from backedge.convert import load, save

    start = time.perf_counter()
    save(load(source), target)
    return time.perf_counter() - start


def peer(source: Path, target: Path) -> float:
    """Seconds from file to file."""
    import openvino as ov

    start = time.perf_counter()
    ov.save_model(ov.convert_model(source), target, compress_to_fp16=False)
    return time.perf_counter() - start


def _in_process(who: str, source: Path, target: Path) -> float | None:
    """The seconds that one of both takes; None where it raises or takes too long."""
    command = [sys.executable, __file__, "--one", who, str(source), str(target)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_LIMIT)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    return float(done.stdout.splitlines()[-1])


def main(nodes: int) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    from bench_opset import blocks

    print(f"{'model':8} {'nodes':>7} {'to IR':>7} {'peer':>7} {'ratio':>6} {'back':>7}")
    for kind in ("plain", "adapted"):
        for count in (nodes // 4, nodes // 2, nodes):
            with tempfile.TemporaryDirectory() as folder:
                source, ir, back = (Path(folder) / name for name in ("m.onnx", "m.xml", "n.onnx"))
                source.write_bytes(blocks(kind, count, 18).SerializeToString())
                mine = _in_process("ours", source, ir)
                returned = _in_process("ours", ir, back)
                assert mine is not None and returned is not None
                assert len(onnx.load(back).graph.node) >= count // 2
                theirs = _in_process("peer", source, Path(folder) / "p.xml")
            beside = "   none   none" if theirs is None else f"{theirs:7.2f} {mine / theirs:6.2f}"
            print(f"{kind:8} {count:7} {mine:7.2f} {beside} {returned:7.2f}", flush=True)


@pytest.mark.bench
def test_conversion_is_linear() -> None:
    """Prints the figures; asserts only what no machine's speed changes."""
    main(20_000)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print({"ours": ours, "peer": peer}[sys.argv[2]](Path(sys.argv[3]), Path(sys.argv[4])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
