"""How much of what OpenVINO writes raises, and computes the same: a report.

    cd tests; python -m openvino_raising.sweep [FOLDER] [SOURCE ...]

SOURCE is "nodes" (onnx's node cases as OpenVINO converts them, the default) or a module of this folder with CASES.
"""

from __future__ import annotations

import collections
import sys
import tempfile
import warnings
from pathlib import Path

from .corpus import check, make


def sweep(folder: Path, source: str, show: bool = True) -> tuple[int, int, dict[str, str]]:
    """(files, right ones, misses with reasons) of a source; the files stay in `folder` and are used again."""
    done = folder / f"{source}.made"
    if not done.exists():
        making = make(folder, source)
        done.write_text("\n".join(name for name, reason in making.reasons.items() if not reason))
        if show:
            for name, reason in making.reasons.items():
                if reason:
                    print(f"OpenVINO  {name}: {reason}")
    names = done.read_text().splitlines()
    misses: dict[str, str] = {}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = check(folder / f"{name}.xml")
        if told:
            misses[name] = told
            if show:
                print(f"{name}: {told}")
    return len(names), len(names) - len(misses), misses


def main() -> None:
    arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(arguments[0]) if arguments else Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        for source in arguments[1:] or ["nodes"]:
            total, right, misses = sweep(folder, source)
            stages = collections.Counter(told.partition(":")[0] for told in misses.values())
            print(f"{source}: {right} of {total} right; {dict(stages)}")


if __name__ == "__main__":
    main()
