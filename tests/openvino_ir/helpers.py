"""What the tests of this folder share: child processes, and ways to hold two models against each other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.openvino.dialect import META, PORT
from backedge.passes.graph import Graph, Value

HERE = Path(__file__).parent


def child(script: str, *arguments: str, text: str = "", timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a script of this folder; the exit code is the caller's to look at."""
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=timeout, check=False)


def verdicts(pairs: list[tuple[Path, Path]], what: str, timeout: float = 120) -> list[str]:
    """What `compare.py` says of the "model" or the "outputs" of each pair of files."""
    lines = "".join(f"{left}\t{right}\n" for left, right in pairs)
    done = child("compare.py", what, text=lines, timeout=timeout)
    said = done.stdout.splitlines()
    return said + ["died"] * (len(pairs) - len(said))


def text_of(path: Path) -> list[str]:
    """The lines of a file, neighbouring edges sorted: OpenVINO sorts those from one layer unstably."""
    lines = path.read_text().splitlines()
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and "<edge from-layer" in lines[end] and "from-port" in lines[end]:
            end += 1
        lines[start:end] = sorted(lines[start:end])
        start = max(end, start + 1)
    return lines


def describe(graph: Graph) -> dict[str, Any]:
    """Everything that a graph says, as plain data that can be compared."""
    numbers: dict[Value, Any] = {}

    def of(value: Value) -> dict[str, Any]:
        numbers[value] = len(numbers)
        meta = value.meta or {}
        return {"name": value.name, "type": value.type, "layer": meta.get(META), "port": meta.get(PORT)}

    return {
        "name": graph.name,
        "inputs": [of(value) for value in graph.inputs],
        "constants": [(of(value), value.data.numpy().tolist()) for value in graph.constants if value.data],
        "results": [[of(value) for value in node.outputs] for node in graph.nodes],
        "nodes": [
            (
                node.op,
                node.version,
                node.name,
                node.attributes,
                node.meta,
                [numbers[value] for value in node.inputs if value is not None],
                {name: describe(region) for name, region in node.regions.items()},
            )
            for node in graph.nodes
        ],
        "outputs": [numbers[value] for value in graph.outputs],
        "net": graph.meta[META],
    }


def load_everything(graph: Graph) -> list[np.ndarray[Any, Any]]:
    """The arrays of all constants."""
    return [value.data.numpy() for inner in graph.graphs() for value in inner.constants if value.data]


def tags(path: Path, pattern: str) -> list[str]:
    """What matches in a file."""
    return re.findall(pattern, path.read_text())
