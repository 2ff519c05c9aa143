"""What is to be done with many models: one job for each conversion or comparison."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...passes.errors import InvalidModel
from ...passes.outputs import settle_all
from ...passes.scratch import JOURNAL, is_scratch
from ..files import Opset
from ..format import FORMATS, format_by_suffix, format_of

Kind = Literal["convert", "verify"]


@dataclass(frozen=True, slots=True)
class Target:
    """What models are converted to: `openvino`, `onnx@13`.

    Attributes:
        text: as it was asked for; the folder of a sweep's results.
    """

    text: str
    format: str
    opset: Opset = None

    @property
    def arguments(self) -> dict[str, Any]:
        """Of `conversion.convert`."""
        return {"to_format": self.format, "opset": self.opset}

    @property
    def suffix(self) -> str:
        """Of the files that are written."""
        return FORMATS[self.format].suffixes[0]


@dataclass(frozen=True)
class Job:
    """One conversion or comparison, as plain values: it is sent to other processes and machines.

    Attributes:
        name: what tables call it.
        source: the model, or the original of a comparison.
        target: the file to be written, or what is held against the original.
        options: keyword arguments of `convert` or `verify`.
    """

    kind: Kind
    name: str
    source: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `Job(**value)` is the job again."""
        return {
            "kind": self.kind,
            "name": self.name,
            "source": self.source,
            "target": self.target,
            "options": dict(self.options),
        }

    @functools.cached_property
    def key(self) -> str:
        """What tells whether a result is of this job: the files' paths, sizes and times, and the options; as the files
        are when it is asked for first."""
        files = [self.source] if self.kind == "convert" else [self.source, self.target]
        parts = [self.to_json(), [_stamp(Path(file)) for file in files]]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def _stamp(path: Path) -> list[int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def targets_of(text: str) -> list[Target]:
    """The targets of `--to onnx@13,openvino`.

    Raises:
        InvalidModel: there is no such format, or an opset is none.
    """
    return [target_of(part) for part in text.split(",")]


def target_of(text: str) -> Target:
    """The target of `onnx@13`.

    Raises:
        InvalidModel: there is no such format, or the opset is none.
    """
    name, at, opset = text.strip().partition("@")
    format_of(Path(name), name)
    if at and opset != "min" and not re.fullmatch(r"[0-9]{1,4}", opset):
        raise InvalidModel(f"{text}: after @ stands an opset, a number or min")
    return Target(text.strip(), name, None if not at else "min" if opset == "min" else int(opset))


def models_in(folder: Path) -> list[Path]:
    """All models below a folder, by suffix, in the order of their paths; files of a general suffix by their content.

    Raises:
        InvalidModel: there is no such folder, or no model in it.
    """
    if not folder.is_dir():
        raise InvalidModel(f"{folder}: no such folder")
    for journal in folder.rglob(f"*{JOURNAL}"):
        settle_all(journal.parent)
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not is_scratch(path) and _is_model(path)]
    if not found:
        raise InvalidModel(f"{folder}: no model in this folder")
    return found


def _is_model(path: Path) -> bool:
    entry = format_by_suffix(path)
    return entry is not None and (entry.is_model is None or entry.is_model(path))


def stem_of(path: Path) -> str:
    """The name of a model's file without the suffix of its format."""
    entry = format_by_suffix(path)
    return path.stem if entry is None else entry.split(path.name)[0]


def conversions(
    sources: Sequence[Path], target: Target, into: Path, options: Mapping[str, Any], root: Path | None = None
) -> list[Job]:
    """A job for each source; the files are written into a folder, by their names, or below it by their paths from
    `root`.

    Raises:
        InvalidModel: two would be written to one file.
    """
    jobs: list[Job] = []
    for source in sources:
        folder = into if root is None else into / source.parent.relative_to(root)
        path = folder / f"{stem_of(source)}{target.suffix}"
        name = str(source if root is None else source.relative_to(root))
        given = {**options, **target.arguments}
        jobs.append(Job("convert", f"{name} -> {target.text}", str(source.absolute()), str(path.absolute()), given))
    _unique((job.target for job in jobs), "would be written twice: the sources need different names")
    return jobs


def comparisons(pairs: Iterable[tuple[Path, Path]], options: Mapping[str, Any]) -> list[Job]:
    """A job for each pair."""
    return [Job("verify", f"{a} | {b}", str(a.absolute()), str(b.absolute()), options) for a, b in pairs]


def pairs_of(first: Path, second: Path | None) -> list[tuple[Path, Path]]:
    """The pairs of a list, or of two folders.

    Args:
        first: a file with two paths in each line, separated by a comma, a tab or spaces; # begins a comment; paths are
            relative to the file. With `second` a folder.
        second: the other folder: models belong together whose paths without suffix are the same.

    Raises:
        InvalidModel: there is no such file, a line isn't of this form, or nothing belongs together.
    """
    if second is None:
        return _listed(first)
    a, b = (_by_stem(folder) for folder in (first, second))
    pairs = [(path, b[stem]) for stem, path in a.items() if stem in b]
    alone = [str(path) for stem, path in a.items() if stem not in b] + [
        str(path) for stem, path in b.items() if stem not in a
    ]
    if alone:
        raise InvalidModel(f"no model of that name in the other folder: {', '.join(alone[:5])}")
    return pairs


def _by_stem(folder: Path) -> dict[Path, Path]:
    models = models_in(folder)
    stems = [path.parent.relative_to(folder) / stem_of(path) for path in models]
    _unique((str(stem) for stem in stems), f"stands for several models of {folder}")
    return dict(zip(stems, models, strict=True))


def _listed(path: Path) -> list[tuple[Path, Path]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text with two paths in each line"
        raise InvalidModel(f"{path}: {reason}") from None
    pairs: list[tuple[Path, Path]] = []
    for number, line in enumerate(lines, 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        parts = [part.strip() for part in re.split(r"\s*[,\t]\s*", line)]
        parts = line.split() if len(parts) == 1 else parts
        if len(parts) != 2 or not all(parts):
            raise InvalidModel(f"{path}, line {number}: not two paths")
        pairs.append((path.parent / parts[0], path.parent / parts[1]))
    if not pairs:
        raise InvalidModel(f"{path}: no pair in this file")
    return pairs


def _unique(names: Iterable[str], what: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidModel(f"{twice[0]} {what}")
