"""What stands for a file: paths, bytes, file objects, graphs, and models of other libraries, each stored as a file
while something is done with it, since runtimes in processes of their own must read it, too."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..passes.depth import admit
from ..passes.errors import InvalidModel, Unsupported
from ..passes.graph import Graph
from ..passes.limits import one_call
from ..passes.outputs import settle
from ..passes.schemas import HUB_OPSET
from ..passes.scratch import scratch
from .format import FORMATS, Arguments, Format, Traced, format_by_suffix, format_of, format_of_dialect

Source = Any
"""A model as a path (text or `os.PathLike`), bytes, a file object, or an object of a type that `FORMATS` lists; see
`stored`. Annotations can't name types of libraries that may not be installed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A model as a file.

    Attributes:
        path: the file, which is gone afterwards unless it was a path from the start.
        format: its format's name; None where the path's suffix says it.
        name: what messages and reports call it.
        constants: an argument of what was traced -> its arrays, by names of inputs; see `specialize.with_values`.
    """

    path: Path
    format: str | None
    name: str
    constants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@contextlib.contextmanager
def stored(
    source: Source,
    format: str | None = None,
    *,
    args: Sequence[Any] | None = None,
    constants: Arguments = (),
    static_args: Arguments = (),
) -> Iterator[Stored]:
    """A model as a file, as long as the context lasts.

    Args:
        source: a path, or what is written to a temporary file: bytes or a file object (whose content says the format
            unless `format` does), a `Graph`, an object of a type that `FORMATS` lists, or, with `args`, a function.
        args: what a Python function is traced with, where it is one.
        constants: those of its arguments that become constants, see `convert`.
        static_args: those that are values of Python.

    Raises:
        TypeError: `source` is nothing of this.
        InvalidModel: it can't be stored. Whatever is raised inside names the source, not the temporary file.
    """
    with one_call():
        yield from _stored(source, format, args, constants, static_args)


def _stored(
    source: Source,
    format: str | None,
    args: Sequence[Any] | None,
    constants: Arguments,
    static_args: Arguments,
) -> Iterator[Stored]:
    settled: Mapping[str, Mapping[str, Any]] = {}
    called = None
    if args is not None or _any(constants) or _any(static_args):
        called = getattr(source, "__name__", None) if args is not None else None
        made = _traced(source, args, constants, static_args)
        source, settled = made.model, made.constants
    if isinstance(source, str | os.PathLike):
        settle(Path(source))
        with _with_its_suffix(Path(source), format) as path, _named(path, str(source)):
            yield Stored(path, format, str(source), settled)
        return
    with scratch() as folder:
        made = _store(source, format, folder)
        made = replace(made, name=f"<function {called}>" if called else made.name, constants=settled)
        with _named(made.path, made.name):
            yield made


@contextlib.contextmanager
def _named(path: Path, name: str) -> Iterator[None]:
    """Around work on a temporary file that stands for a source: what is raised names the source, not the file."""
    if path == Path(name):
        yield
        return
    try:
        yield
    except InvalidModel as error:
        text = str(error).replace(str(path), name).replace(f"{path.parent}{os.sep}", "")
        if text == str(error):
            raise
        raise type(error)(text) from error.__cause__


@contextlib.contextmanager
def _with_its_suffix(path: Path, format: str | None) -> Iterator[Path]:
    """The file, or a link to it with a suffix of its format: runtimes tell formats by that, in small letters."""
    entry = format_by_suffix(path) if format is None else FORMATS.get(format)
    if entry is None or path.name.endswith(entry.suffixes) or not path.is_file():  # what is wrong is said by its reader
        yield path
        return
    stem, suffix = entry.split(path.name)
    with scratch() as folder:
        for other in path.absolute().parent.glob(f"{glob.escape(path.stem)}.*"):  # weights and external data beside it
            (folder / other.name).symlink_to(other)
            if other.suffix != other.suffix.lower():
                (folder / (other.stem + other.suffix.lower())).symlink_to(other)
        made = folder / (stem + (suffix or entry.suffixes[0]))
        if not made.exists():
            made.symlink_to(path.absolute())
        yield made


def _store(source: Source, format: str | None, folder: Path) -> Stored:
    if isinstance(source, Graph):
        return store_graph(source, folder)
    if isinstance(source, bytes | bytearray | memoryview):
        return _content(bytes(source), format, folder, "<bytes>")
    if callable(getattr(source, "read", None)):
        content = source.read()
        name = getattr(source, "name", None)
        shown = name if isinstance(name, str) else f"<{type(source).__name__}>"
        return _content(content.encode() if isinstance(content, str) else bytes(content), format, folder, shown)
    for entry in FORMATS.values():
        for kind in entry.objects:
            if kind.includes(source):
                if format not in (None, entry.name):
                    raise InvalidModel(f"{kind.shown} is of format {entry.name}, not {format}")
                return Stored(kind.store(source, folder), entry.name, f"<{kind.shown}>")
    raise TypeError(f"backedge takes no {_type_name(source)} for a model; it takes {', '.join(taken())}")


def taken() -> list[str]:
    """What is taken for a model, in words."""
    kinds = [kind.shown for entry in FORMATS.values() for kind in entry.objects]
    return [
        "a path",
        "bytes",
        "a file object",
        "backedge.Graph",
        *kinds,
        "a function with args=(...), or lowered: jax.jit(f).lower(...)",
    ]


def _type_name(source: Any) -> str:
    kind = type(source)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def store_graph(graph: Graph, folder: Path) -> Stored:
    """A graph in its own dialect, as the first of the formats which share that that can hold it (HLO text has no open
    sizes, StableHLO has); one of the hub as the format that has all of the hub's operators."""
    admit(graph)
    shown = f"<Graph {graph.name}>" if graph.name else "<Graph>"
    first = format_of_dialect(graph.dialect)
    if graph.dialect == "hub":
        graph = first.lower_graph(graph, HUB_OPSET)
    refusals: list[Unsupported] = []
    for target in (entry for entry in FORMATS.values() if entry.dialect == first.dialect):
        path = folder / f"model{target.suffixes[0]}"
        try:
            target.write(graph, path)
        except Unsupported as refusal:
            refusals.append(refusal)
        else:
            return Stored(path, target.name, shown)
    raise refusals[0]


def _content(data: bytes, format: str | None, folder: Path, shown: str) -> Stored:
    entry, suffix = format_of_content(data, format, shown)
    path = folder / f"model{suffix}"
    path.write_bytes(data)
    return Stored(path, entry.name, shown)


def format_of_content(data: bytes, format: str | None, shown: str) -> tuple[Format, str]:
    """The format of a file's content, and the suffix for such a file.

    Raises:
        InvalidModel: nothing tells.
    """
    if format is not None:
        entry = format_of(Path(shown), format)
        return entry, entry.suffix_of(data) or entry.suffixes[0]
    for entry in FORMATS.values():
        suffix = entry.suffix_of(data)
        if suffix:
            return entry, suffix
    raise InvalidModel(f"{shown}: {'empty' if not data else 'of no known format'}; name one of {', '.join(FORMATS)}")


def _any(arguments: Arguments) -> bool:
    return isinstance(arguments, int | str) or len(arguments) > 0


def _traced(source: Any, args: Sequence[Any] | None, constants: Arguments, static_args: Arguments) -> Traced:
    """A Python function, traced for arguments by the format that can do that."""
    if args is not None and not callable(source):
        raise TypeError(f"args=... go with a Python function, not with {_type_name(source)}")
    if args is not None and not isinstance(args, list | tuple):
        raise TypeError(f"args=... is a tuple of the function's arguments, not {_type_name(args)}: write args=(x,)")
    trace = next(entry.trace for entry in FORMATS.values() if entry.trace is not None)
    return trace(source, args, constants, static_args)
