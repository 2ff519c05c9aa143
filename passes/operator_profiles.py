"""The lists of operators that come with this package, see `operator_list`."""

from __future__ import annotations

from pathlib import Path

CORE = "core"
"""The name of the list of the operators in `core.CORE`, which has no file."""

_FOLDER = Path(__file__).parent / "profiles"


def profiles() -> list[str]:
    """The names of the lists."""
    return [CORE, *sorted(path.stem for path in _FOLDER.glob("*.ops"))]


def profile_path(name: str) -> Path:
    """The file of a list."""
    return _FOLDER / f"{name}.ops"
