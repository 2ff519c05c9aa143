"""StableHLO, through jaxlib: MLIR text and bytecode, what `jax.export` writes; serialized HLO protos.

jaxlib works in a process of its own with a time limit, because a damaged file can end or hang it. Which kind a file is
shows in its first bytes, not in its name.
"""

from __future__ import annotations

import json
import mmap
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from ...passes.errors import InvalidModel, Unsupported
from ...passes.graph import Graph
from ...passes.libraries import require
from ...passes.limits import allow_calls
from ...passes.outputs import writing
from ...passes.scratch import scratch
from ...runtime.oracles.driver import Child, Died, Timeout
from ...runtime.oracles.xla_files import Kind as FileKind
from ...runtime.oracles.xla_files import kind_of
from .mlir.reader import from_description
from .mlir.writer import to_module
from .read import from_text

Kind = Literal["mlir", "mlirbc"]
_Read = TypeVar("_Read")

_TOLD_BY = 1 << 20  # so many bytes at the beginning tell of which kind a file is
_READ_AT_ONCE = 1 << 30  # bytes of a file
TIMEOUT = 120.0
"""Seconds that jaxlib may take for one file."""


def read(path: Path) -> Graph:
    """The model in `path`, as a graph of dialect "hlo"; open sizes are symbols, and what follows of them.

    Raises:
        InvalidModel: the file can't be read, is of no kind that jaxlib reads, or jaxlib isn't installed.
        Unsupported: an operation that HLO hasn't, or a size that doesn't follow from the inputs' sizes.
    """
    path = Path(path)
    try:
        if _kind_of_file(path) in ("proto", "hlo"):
            return from_text(to_hlo(path.read_bytes()))
        return _described(path, TIMEOUT)
    except OSError as error:
        raise InvalidModel(f"{path}: {error.strerror or error}") from None
    except InvalidModel as error:
        raise InvalidModel(f"{path}: {error}") from None


def write(graph: Graph, path: Path) -> None:
    """Write a graph of dialect "hlo" as StableHLO: a portable artifact where the name ends in `.mlirbc`, else text.

    Raises:
        InvalidModel: the file can't be written, or jaxlib isn't installed.
        Unsupported: an operation that StableHLO hasn't.
    """
    path = Path(path)
    kind: Kind = "mlirbc" if path.name.lower().endswith(".mlirbc") else "mlir"
    with scratch() as folder, writing(path):
        shutil.copyfile(_written(graph, kind, TIMEOUT, folder), path)


def to_bytes(graph: Graph, kind: Kind = "mlir", timeout: float = TIMEOUT) -> bytes:
    """A graph of dialect "hlo" as StableHLO: text, or a portable artifact.

    Raises:
        InvalidModel: jaxlib isn't installed.
        Unsupported: an operation that StableHLO hasn't.
    """
    with scratch() as folder:
        return _written(graph, kind, timeout, folder).read_bytes()


def _written(graph: Graph, kind: Kind, timeout: float, folder: Path) -> Path:
    """A file in this folder that jaxlib has made of a graph."""
    source, target = folder / "module", folder / "written"
    with source.open("wb") as file:
        file.writelines(to_module(graph).parts())
    _ask(kind, timeout, source, target)
    return target


def from_bytes(data: bytes, timeout: float = TIMEOUT) -> Graph:
    """The model in a file's content: StableHLO as it is, serialized HLO protos by way of HLO text.

    Raises:
        InvalidModel, Unsupported: as `read`.
    """
    if kind_of(data) in ("proto", "hlo"):
        return from_text(to_hlo(data, timeout))
    with scratch() as folder:
        path = folder / "module"
        path.write_bytes(data)
        return _described(path, timeout)


def with_settled(
    path: Path, values: Mapping[str, np.ndarray[Any, Any]], named: Collection[str], folder: Path
) -> Path | None:
    """A StableHLO module in which inputs have values.

    Args:
        values: name of an input, whose sizes are known -> its value, of its type.
        named: those that are constants of these names in the graph, and in the hub's; others are computed with.
    Returns:
        The file, as bytecode in `folder`; None where the old one holds HLO.
    """
    if _kind_of_file(path) in ("proto", "hlo"):
        return None
    arrays = {name: np.ascontiguousarray(value) for name, value in values.items()}
    stored, target = folder / "values", folder / "model.mlirbc"
    with stored.open("wb") as file:
        file.write(json.dumps([(name, array.nbytes, name in named) for name, array in arrays.items()]).encode() + b"\n")
        for array in arrays.values():
            file.write(array.reshape(-1).view(np.uint8).data)
    try:
        _ask("settled", TIMEOUT, path.absolute(), target.absolute(), stored)
    finally:
        stored.unlink()
    return target


def _kind_of_file(path: Path) -> FileKind:
    """What a file holds, which its beginning tells of most."""
    with path.open("rb") as file:
        start = file.read(_TOLD_BY)
    try:
        return kind_of(start)
    except InvalidModel:
        return kind_of(path.read_bytes())


def _described(path: Path, timeout: float) -> Graph:
    """The graph of a file with StableHLO.

    Most of a large file is constants. They are read from where they stand in it rather than written by one process for
    the other, but for those of files so large that the memory may not hold them: these stay in a file that nobody else
    writes to. Either way the graph doesn't change when somebody writes to the model's file.
    """
    at_once = path.stat().st_size <= _READ_AT_ONCE
    with scratch() as folder:
        target = folder / "description"
        _ask("outline" if at_once else "graph", timeout, path.absolute(), target)
        with target.open("rb") as file:
            text = file.read(int.from_bytes(file.read(8), "little"))
            description = _at_any_depth(lambda: json.loads(text))
            if not at_once:
                content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
                return _at_any_depth(lambda: from_description(description, content[file.tell() :]))
            with path.open("rb") as source:
                constants = _constants(file, target.stat().st_size - file.tell(), source, description["copies"])
    return _at_any_depth(lambda: from_description(description, constants))


def _at_any_depth(read: Callable[[], _Read]) -> _Read:
    """What is read. Only where that is nested so deeply are more calls allowed, which let endless ones take the whole
    stack of the machine."""
    try:
        return read()
    except RecursionError:
        allow_calls()
        return read()


def _constants(
    others: BufferedReader, length: int, source: BufferedReader, copies: Sequence[tuple[int, int, int]]
) -> memoryview:
    """The constants' bytes: those that have a place in `source`, and between them the `length` others."""
    found = np.empty(length + sum(size for _, size, _ in copies), np.uint8).data
    filled = 0
    for place, size, in_source in copies:
        others.readinto(found[filled:place])
        source.seek(in_source)
        source.readinto(found[place : place + size])
        filled = place + size
    others.readinto(found[filled:])
    return found


def to_hlo(data: bytes, timeout: float = TIMEOUT) -> str:
    """HLO text of a file of any of these kinds.

    Raises:
        InvalidModel: it is none of them, it is damaged, or jaxlib isn't installed.
        Unsupported: its shapes depend on its inputs' shapes.
    """
    with scratch() as folder:
        source, target = folder / "module", folder / "text"
        source.write_bytes(data)
        _ask("hlo", timeout, source, target)
        return target.read_text()


def _ask(to: str, timeout: float, source: Path, *files: Path) -> None:
    """Let jaxlib make a file of another one: see `xla_bridge.py`."""
    require("jaxlib", "StableHLO")
    with scratch() as folder:
        child = Child("xla_bridge", source, {"to": to, "files": list(map(str, files))}, folder)
        try:
            answer = child.receive(timeout)
        except Timeout:
            raise InvalidModel(f"jaxlib gave no answer within {timeout:g} s") from None
        except Died as death:
            raise InvalidModel(f"jaxlib can't read this: {str(death).partition(':')[0]}") from None
        finally:
            child.close()
    found = json.loads(answer.note) if answer.note else {"error": answer.error}
    if "reason" in found:
        raise Unsupported(found["node"], found["reason"])
    if "error" in found:
        raise InvalidModel(found["error"])
