"""A hook of mkdocs: the pages of the site have their paths in the project, so that links are those of the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

_PATTERNS = ("*.md", "docs/**/*.md", "docs/**/*.svg", "docs/notebooks/*", "samples/*.svg")


def on_files(files: Files, config: Any) -> Files:
    """Take what `_PATTERNS` name instead of what is in `docs_dir`."""
    root = Path(config.config_file_path).parents[1]
    kept = [file for file in files if file.src_dir != config.docs_dir]
    found = sorted(path for pattern in _PATTERNS for path in root.glob(pattern) if path.is_file())
    pages = [
        File(path.relative_to(root).as_posix(), str(root), config.site_dir, config.use_directory_urls)
        for path in dict.fromkeys(found)
    ]
    return Files([*kept, *pages])
