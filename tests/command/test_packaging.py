"""The package lists every folder it consists of, and imports run one way."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from backedge.convert import FORMATS

ROOT = Path(__file__).parents[2]
TOP = ("api", "convert", "passes", "runtime")
MAY_IMPORT = {
    "passes": {"passes"},
    "runtime": {"passes", "runtime"},
    "convert": {"passes", "runtime", "convert"},
    "api": set[str](),
}
_POSSESSIVE_GROUP = re.compile(r"^[^#\n]*r[fb]?\".*\)[*+?]\+", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*(?:from (\.*)([\w.]*) import\b|import (\w[\w., ]*))", re.MULTILINE)
MODULES = sorted(path for top in TOP for path in (ROOT / top).rglob("*.py"))


def test_every_folder_is_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {".".join(("backedge", *path.parent.relative_to(ROOT).parts)) for path in MODULES}
    assert sorted(listed) == sorted({"backedge" if name == "backedge.api" else name for name in found})


def test_every_file_of_tests_is_collected() -> None:
    """Tests stand in files that pytest looks at: those of `bench` have another name than the others."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["python_files"]
    with_marks = [path for path in (ROOT / "tests").rglob("*.py") if "\n@pytest.mark." in path.read_text()]
    assert any(path.name.startswith("bench_") for path in with_marks)
    assert not [path for path in with_marks if not any(path.match(pattern) for pattern in patterns)]


def test_modules() -> None:
    """Imports go api -> convert -> runtime -> passes, networkx stands in one module, and a module is one idea long."""
    assert len(MODULES) > 500
    found = [f"{path.relative_to(ROOT)}: {fault}" for path in MODULES for fault in faults(path)]
    assert not found, "\n".join(found)


def faults(path: Path) -> Iterator[str]:
    """What a module does that none should."""
    text = path.read_text()
    for found in _POSSESSIVE_GROUP.finditer(text):  # which Python before 3.11.5 matches wrongly, python/cpython#106052
        yield f"a possessive group: {found[0].strip()}"
    if len(text.splitlines()) > 500:
        yield "more than 500 lines"
    package = path.relative_to(ROOT).parts[:-1]
    for found in _IMPORT.finditer(text):
        dots, module, modules = found.groups()
        if dots:
            target = [*package[: len(package) - len(dots) + 1], *module.split(".")]
            if target[0] not in MAY_IMPORT[package[0]]:
                yield found[0].strip()
            continue
        for name in [module] if module else [one.split()[0] for one in modules.split(",")]:
            if name.startswith("backedge") and package[0] != "api":  # which is the package itself, found as installed
                yield f"imports {name}: inside the package imports are relative"
            if (name.split(".")[0] == "networkx" and path.name != "graph.py") or "version_converter" in name:
                yield f"imports {name}"


def test_the_table_of_sampled_tests_names_files_that_there_are() -> None:
    from conftest import SHARES

    assert [name for name in SHARES if not (ROOT / "tests" / name).is_file()] == []


def test_what_is_asked_about_a_format_stands_in_its_record() -> None:
    """The modules of `convert` that are about all formats name none of them, but for the table of formats."""
    folders = "|".join(path.name for path in (ROOT / "convert").iterdir() if (path / "read.py").is_file())
    names = "|".join(re.escape(name) for entry in FORMATS.values() for name in (entry.name, entry.runtime))
    suffixes = "|".join(re.escape(suffix) for entry in FORMATS.values() for suffix in entry.suffixes)
    named = re.compile(rf'"({names}|{suffixes})"|(from|import) \.+({folders})\b')
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in (ROOT / "convert").glob("*.py")
        if path.name != "format.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if named.search(line)
    ]
    assert folders and not found, "\n".join(found)


DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
_NAMED = re.compile(r"`((?:api|convert|passes|runtime|samples|docs|tests)/[\w/.]*\w/?)`")
_LINKED = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_the_documents_name_are_there(path: Path) -> None:
    """In code, seen from the project's folder (CHANGELOG.md also names files of the past), and in links."""
    text = path.read_text()
    named = set() if path.name == "CHANGELOG.md" else set(_NAMED.findall(text))
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
    assert sorted(link for link in set(_LINKED.findall(text)) if not (path.parent / link).exists()) == []


def test_documents_name_files() -> None:
    """Where they did not, the test above would hold nothing."""
    found = {path.name for path in DOCUMENTS if _NAMED.search(path.read_text()) and _LINKED.search(path.read_text())}
    assert found >= {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "command.md", "concepts.md", "formats.md"}


def test_the_document_on_fewer_libraries_names_all_dependencies() -> None:
    """What its command installs, and what its table says can be left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "docs" / "concepts.md").read_text().partition("## Fewer libraries")[2].partition("\n## ")[0]
    (installed,) = re.findall(r"^    pip install ([a-z].*)$", text, re.M)
    left_out = re.findall(r"^\| `(\w+)` \|", text, re.M)
    wanted = [re.split(r"[<>=]", one)[0] for one in project["dependencies"]]
    assert sorted([*installed.split(), *left_out]) == sorted(wanted)
