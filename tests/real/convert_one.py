"""One conversion in a process of its own, measured: python convert_one.py (ours|peer) SOURCE TARGET [OPSET]

Prints JSON: seconds of the conversion alone, MB that the process took at most, and had taken before it began.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path


def _most() -> float:
    """The most memory this process has taken (getrusage would count what the parent took before)."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def main(tool: str, source: Path, target: Path, opset: int | None) -> dict[str, object]:
    if tool == "peer":
        import openvino as ov

        before, begin = _most(), time.perf_counter()
        ov.save_model(ov.convert_model(source), target, compress_to_fp16=False)
        notes: list[str] = []
    else:
        from backedge.convert import load, save
        from backedge.convert.files import to_dialect
        from backedge.convert.format import format_of

        before, begin = _most(), time.perf_counter()
        graph = to_dialect(load(source), format_of(target), opset)
        save(graph, target)
        notes = graph.meta.get("notes", [])
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "before": before, "most": _most(), "notes": notes}


if __name__ == "__main__":
    print(
        json.dumps(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]) if sys.argv[4:] else None))
    )
