"""Writes docs/evidence.md from docs/evidence.json: how often conversions are right, and what measured it.

python docs/evidence.py                     writes the page
python docs/evidence.py --check             writes nothing, and fails where the page isn't what the data say
python docs/evidence.py --measure NAME...   runs the commands of these figures (hours for some), stores what they print

A figure has a name, cells of a table, the command (run in the folder tests), the date and the commit at which it was
recorded, and versions of what it depends on. `line` finds the line of the command's output that has the counts
("1884 cases: 1745 right, 117 refused"), and `fill` makes cells of them.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).with_suffix(".md")
TESTS = Path(__file__).parents[1] / "tests"
PACKAGES = ("onnx", "onnxruntime", "openvino", "jax", "modeci-mdf", "numpy", "numba")

_HEAD = """# Evidence

How often conversions give the right numbers. Written by `python docs/evidence.py` from `docs/evidence.json`.

Each command runs in the folder `tests`. The date and the commit are those at which a figure was recorded; versions
are named where they were recorded with it. `python docs/evidence.py --measure NAME` measures a figure again.
"""

Figure = dict[str, Any]


def page(data: dict[str, Any]) -> str:
    """The text of docs/evidence.md."""
    return _HEAD + "".join(line + "\n" for section in data["sections"] for line in _section(section))


def _section(section: dict[str, Any]) -> Iterator[str]:
    yield from ("", f"## {section['title']}", "", section["text"], "")
    yield _row([*section["columns"], "figure"])
    yield _row(["---"] * (len(section["columns"]) + 1))
    for figure in section["figures"]:
        yield _row([*figure["cells"], f"`{figure['name']}`"])
    yield ""
    if section["notes"]:
        yield from (f"- {note}" for note in section["notes"])
        yield ""
    yield _row(["measured by", "figures", "date", "commit", "versions"])
    yield _row(["---"] * 5)
    alike: dict[tuple[str, ...], list[str]] = {}
    for figure in section["figures"]:
        versions = ", ".join(f"{name} {version}" for name, version in figure["versions"].items())
        command = f"`{figure['command']}`" if figure["command"] else "no command recorded"
        key = command, figure["date"], figure["commit"], versions
        alike.setdefault(key, []).append(f"`{figure['name']}`")
    for (command, *rest), names in alike.items():
        yield _row([command, ", ".join(names), *rest])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def counts(line: str) -> Counter[str]:
    """What a sweep counted, from `3 cases: 2 right, 1 not run` or `peer: 3 models, {'right': 2, 'not run': 1}`."""
    if "{" in line:
        return Counter({word: int(number) for word, number in re.findall(r"'([^']+)': (\d+)", line)})
    found = re.findall(r"(\d+) ([^,]+)", line.partition(":")[2])
    return Counter({word.strip(): int(number) for number, word in found})


def filled(figure: Figure, printed: str) -> list[str]:
    """The cells of a figure, from what its command printed.

    Raises:
        ValueError: no line of it has the counts.
    """
    lines = [line for line in printed.splitlines() if re.search(figure["line"], line)]
    if not lines:
        raise ValueError(f"{figure['name']}: no line is like {figure['line']!r}")
    found = counts(lines[-1])
    found["total"] = found.total()
    return [cell.format_map(found) for cell in figure["fill"]]


def measure(data: dict[str, Any], names: list[str]) -> None:
    """Run the commands of some figures, each once, and store what they give.

    Raises:
        ValueError: no figure has such a name, or a command printed no counts.
        subprocess.CalledProcessError: a command failed.
    """
    figures = {figure["name"]: figure for section in data["sections"] for figure in section["figures"]}
    unknown = sorted(set(names) - set(figures))
    by_hand = [name for name in names if name in figures and "fill" not in figures[name]]
    if unknown or by_hand:
        told = [f"no such figure: {', '.join(unknown)}"] if unknown else []
        told += [f"{name} is entered by hand, from: {figures[name]['command'] or 'no command'}" for name in by_hand]
        raise ValueError("\n".join(told))
    printed: dict[str, str] = {}
    for figure in map(figures.__getitem__, names):
        command = figure["command"]
        if command not in printed:
            words = [sys.executable if word == "python" else word for word in shlex.split(command)]
            printed[command] = subprocess.run(words, cwd=TESTS, check=True, stdout=subprocess.PIPE, text=True).stdout
        figure["cells"] = filled(figure, printed[command])
        figure |= {"date": datetime.date.today().isoformat(), "commit": _commit(), "versions": _versions()}


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=TESTS, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _versions() -> dict[str, str]:
    installed = {entry.name.lower() for entry in importlib.metadata.distributions()}
    return {name: importlib.metadata.version(name) for name in PACKAGES if name in installed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", nargs="+", default=[], metavar="NAME")
    options = parser.parse_args()
    data = json.loads(DATA.read_text(encoding="utf-8"))
    if options.measure:
        try:
            measure(data, options.measure)
        except (ValueError, subprocess.CalledProcessError) as error:
            sys.exit(str(error))
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = page(data)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE.name} isn't what {DATA.name} says: run python docs/evidence.py")


if __name__ == "__main__":
    main()
