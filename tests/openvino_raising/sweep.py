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


def made_by_openvino(folder: Path, source: str, show: bool = True) -> list[Path]:
    """The IR files of a source that OpenVINO itself runs, in a folder below `folder`; what is there is used again."""
    own = folder / source
    done = own / "made.txt"
    if not done.exists():
        own.mkdir(parents=True, exist_ok=True)
        making = make(own, source)
        done.write_text("\n".join(name for name, reason in making.reasons.items() if not reason))
        if show:
            for name, reason in making.reasons.items():
                if reason:
                    print(f"OpenVINO  {name}: {reason}")
    return [own / f"{name}.xml" for name in done.read_text().splitlines()]


def sweep(folder: Path, source: str, show: bool = True) -> tuple[int, int, dict[str, str]]:
    """(files, right ones, misses with reasons) of a source; the files stay in `folder` and are used again."""
    paths = made_by_openvino(folder, source, show)
    misses: dict[str, str] = {}
    for path in paths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = check(path)
        if told:
            misses[path.stem] = told
            if show:
                print(f"{path.stem}: {told}")
    return len(paths), len(paths) - len(misses), misses


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
