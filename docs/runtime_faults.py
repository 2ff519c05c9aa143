"""Writes docs/runtime-faults.md: faults of runtimes, each with a minimal model, what it gives and what is right.

python docs/runtime_faults.py               runs every entry in a process of its own, and writes the page
python docs/runtime_faults.py --check       runs them, writes nothing, and fails where the page isn't what was found
python docs/runtime_faults.py --only NAME   runs one entry, and prints what it gives

An entry is a function of `runtime_faults_models.py` beside this file; its source is what the page shows. It returns
(what the runtime gives, what is right). An entry whose runtime gives what is right is told as gone.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import inspect
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import runtime_faults_models as models

PAGE = Path(__file__).with_name("runtime-faults.md")
_SECONDS = 40

_HEAD = """# Faults of runtimes

Faults that this project met in the runtimes that it asks, each by the smallest model that shows it. Written by
`python docs/runtime_faults.py`, which runs each entry in a process of its own with the versions named below; `--check`
fails where an entry gives something else by now. Other processors may give other wrong numbers. backedge doesn't hold
these against a model: a report names the fault where a trial met it.

The functions that run the models, `openvino_run`, `onnxruntime_run`, `reference_run` and `xla_run`, stand in
`docs/runtime_faults_models.py`.
"""


def found(name: str) -> tuple[str, str]:
    """What an entry's runtime gives, and what is right; how the process ended, where it died."""
    command = [sys.executable, str(Path(__file__)), "--only", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return "no answer", ""
    lines = [line for line in done.stdout.splitlines() if line.startswith('["')]
    if lines:
        given, right = json.loads(lines[-1])
        return given, right
    return f"the process {_ENDS.get(done.returncode, f'ends with status {done.returncode}')}", ""


_ENDS = {
    **dict.fromkeys((-signal.SIGABRT, -signal.SIGBUS, -signal.SIGSEGV), "ends by SIGABRT, SIGBUS or SIGSEGV"),
    -signal.SIGFPE: "ends by SIGFPE",
}
"""What writing beyond one's memory ends in is up to what stands there."""


def page() -> str:
    """The text of docs/runtime-faults.md; every entry is run."""
    return _HEAD + "".join(line + "\n" for line in _sections())


def _sections() -> Iterator[str]:
    results = {fault.name: found(fault.name) for fault in models.FAULTS}
    for runtime, (title, packages) in models.RUNTIMES.items():
        entries = [fault for fault in models.FAULTS if fault.runtime == runtime]
        if not entries:
            continue
        versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
        yield from ("", f"## {title}", "", f"Versions: {versions}.", "")
        yield from ("| fault | worked around |", "|---|---|")
        yield from (f"| [{fault.title}](#{fault.name}) | {fault.workaround} |" for fault in entries)
        for fault in entries:
            given, right = results[fault.name]
            yield from ("", f'<a id="{fault.name}"></a>', "", f"### {fault.title}", "")
            yield from ("```python", *source(fault).splitlines(), "```", "")
            yield f"- it gives: {_shown(given)}"
            yield f"- right: {_shown(right or fault.right)}; {fault.by}"
            if given == (right or fault.right):
                yield "- this version gives what is right"


def _shown(text: str) -> str:
    return text if text.startswith(("the process", "no answer", "an error", "any")) else f"`{text}`"


def source(fault: models.Fault) -> str:
    """The function of an entry, without what is told of it in front."""
    return "def " + inspect.getsource(fault.run).partition("\ndef ")[2].rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", metavar="NAME")
    options = parser.parse_args()
    if options.only:
        (fault,) = [one for one in models.FAULTS if one.name == options.only]
        sys.stdout.write(json.dumps([str(part) for part in fault.run()]) + "\n")
        return
    text = page()
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE.name} isn't what the runtimes give: run python docs/runtime_faults.py")


if __name__ == "__main__":
    main()
