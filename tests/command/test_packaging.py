"""The package lists every folder it consists of, and imports run one way."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP = ("convert", "passes", "runtime")
MAY_IMPORT = {"passes": {"passes"}, "runtime": {"passes", "runtime"}, "convert": {"passes", "runtime", "convert"}}
MODULES = sorted(path for top in TOP for path in (ROOT / top).rglob("*.py"))


def test_every_folder_is_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {"backedge." + ".".join(path.parent.relative_to(ROOT).parts) for path in MODULES}
    assert sorted(listed) == sorted(found)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module(path: Path) -> None:
    """Imports go convert -> runtime -> passes, networkx stands in one module, and a module is one idea long."""
    text = path.read_text()
    assert len(text.splitlines()) <= 500
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            target = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            assert target[0] in MAY_IMPORT[package[0]], ast.unparse(node)
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        for name in names:
            assert not name.startswith("backedge"), f"{path.name}: relative imports inside the package"
            assert name.split(".")[0] != "networkx" or path.name == "graph.py"
            assert "version_converter" not in name
