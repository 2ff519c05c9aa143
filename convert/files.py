"""load and save: any model of any format, as a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ..passes.certain_size import check_sizes
from ..passes.depth import admit
from ..passes.errors import BackedgeError, InvalidModel, TooLarge
from ..passes.garbage import bulk, seldom
from ..passes.graph import FILE_BYTES, RAISER, Graph, Value
from ..passes.infer import infer
from ..passes.inferred_faults import check_inferred
from ..passes.limits import FileBytes
from ..passes.outputs import drafted
from ..passes.pipeline import Pipeline
from ..passes.progress import stage
from ..passes.schema_check import check_forms
from ..passes.scratch import scratch
from ..passes.structure.canonical import canonicalize
from ..passes.structure.sequences import SequencesToStacks
from ..passes.structure.simplify import RemoveDead
from ..passes.types import SequenceType
from .file_state import FileState
from .format import FORMATS, Format, format_of, format_of_dialect
from .objects import Source, stored

Opset = int | Literal["min"] | None


def load(source: Source, format: str | None = None) -> Graph:
    """Read a model into a graph of its own dialect and version.

    Args:
        source: a file, whose suffix says the format unless `format` does, or what `objects.stored` takes; a `Graph` is
            given back as it is.

    Raises:
        InvalidModel: the model can't be read, or contradicts itself.
        TypeError: `source` is no model.
    """
    if isinstance(source, Graph):
        return source
    with stored(source, format) as file:
        return _read(file.path, file.format)


def _read(path: Path, format: str | None) -> Graph:
    found = format_of(path, format)
    stage(f"reading {path.name}")
    if not path.is_file():
        raise InvalidModel(f"{path}: {'it is no regular file' if path.exists() else 'no such file'}")
    before = FileState.of(path)
    held = FileBytes(before.size)
    try:
        with _unchanged(before):
            graph = found.read(path)
        graph.meta[RAISER] = to_hub  # so that `runtime.run`, which knows no format, can run it
        graph.meta[FILE_BYTES] = held
        return graph
    except RecursionError:
        raise TooLarge(f"{path}: nested too deeply") from None
    except MemoryError:
        raise TooLarge(f"{path}: larger than the memory") from None


@contextlib.contextmanager
def _unchanged(before: FileState) -> Iterator[None]:
    """While a file is read, whose state was this before.

    Raises:
        InvalidModel: it was written to or replaced. What was read, or failed to be, may be of both, and what stands
            beside it of the other.
    """
    failed: Exception | None = None
    try:
        yield
    except Exception as error:
        failed = error
    if change := before.change():
        raise InvalidModel(f"{before.path}: it was {change} while it was read") from failed
    if failed is not None:
        raise failed


@contextlib.contextmanager
def judged(path: Path, format: str | None = None) -> Iterator[None]:
    """Around work on a file: a failure that no error of ours describes is the file's where its format's own checker
    refuses the file, and ours where it doesn't.

    Raises:
        InvalidModel: what the checker says.
    """
    try:
        yield
    except (BackedgeError, MemoryError):
        raise
    except RecursionError:
        raise TooLarge(f"{path}: nested too deeply") from None
    except Exception as error:
        found = objection(path, format_of(path, format))
        if not found:
            raise
        raise InvalidModel(f"{path}: {found}") from error


def objection(path: Path, format: Format) -> str:
    """Who refuses a file of a format, and why; "" where nobody does.

    That is the format's own checker; where the file holds a graph of another format's dialect, as of ONNX's operators
    in MDF, also that format's.
    """
    found = format.check.objection(path)
    if found:
        return f"{format.check.name} refuses it: {found}"
    with contextlib.ExitStack() as stack:
        try:
            other = format_of_dialect(load(path, format.name).dialect)
            other, written = stack.enter_context(as_a_file_of(other, path, format))
        except Exception:  # that is what is being looked into
            return ""
        found = "" if other is format else other.check.objection(written)
    return f"{other.check.name} refuses it: {found}" if found else ""


@contextlib.contextmanager
def as_a_file_of(wanted: Format, path: Path, format: Format) -> Iterator[tuple[Format, Path]]:
    """A file that holds a graph of another format's dialect as a file of that, with its format; else as it is."""
    graph = load(path, format.name)
    if format.dialect == wanted.dialect or graph.dialect != wanted.dialect:
        yield format, path
        return
    with scratch() as folder:
        made = folder / f"model{wanted.suffixes[0]}"
        try:
            wanted.write(to_dialect(graph, wanted), made)
        except BackedgeError:
            made, wanted = path, format
        yield wanted, made


def to_hub(graph: Graph) -> Graph:
    """A hub graph of a graph of any dialect, with all types that inference finds; the old one stays as it was.

    Raises:
        InvalidModel: an operator's inputs, outputs or attributes aren't of the form that it must have.
        TooLarge: more regions stand in each other than may.
        Unsupported: an operator that the hub can't express.
        NeverRuns: what the model computes is certain not to fit into the memory, or not to end.
    """
    admit(graph)
    if graph.dialect == "hub":
        return graph
    raised = _of_same_files(FORMATS[graph.dialect].raise_graph(graph), graph)
    check_forms(raised)
    canonicalize(raised)
    check_inferred(raised)
    check_sizes(raised)
    return raised


def hub_of(source: Source, format: str | None = None) -> Graph:
    """A model as a hub graph; a failure that no error of ours describes is told as the file's where it is.

    Raises:
        InvalidModel: the model can't be read.
        Unsupported: the hub can't express it.
    """
    if isinstance(source, Graph):
        return to_hub(source)
    with seldom(), stored(source, format) as file, judged(file.path, file.format):
        return to_hub(_read(file.path, file.format))


def to_dialect(graph: Graph, target: Format, opset: Opset = None, *, given: bool = False) -> Graph:
    """The graph in the target's dialect; the same object where there is nothing to do.

    Args:
        opset: of ONNX; "min" is the lowest that can say a model which is ONNX already.
        given: the graph isn't needed any more; a hub graph may then be changed.

    Raises:
        InvalidModel: there is no such opset.
        Unsupported: what can't be expressed there, with the node and the reason.
    """
    if opset == "min":
        if target.lowest is None or graph.dialect != target.dialect:
            raise InvalidModel('opset "min" is for conversions from ONNX to ONNX')
        return target.lowest(graph)
    if not target.goes_by_hub(graph.dialect, opset):
        direct = target.direct.get(graph.dialect)
        return graph if direct is None else _of_same_files(direct(graph, opset), graph)
    hub = to_hub(graph)
    given = given or hub is not graph
    if not target.has_sequences and any(isinstance(value.type, SequenceType) for value in _all_values(hub)):
        hub, given = hub if given else hub.copy(), True
        Pipeline([SequencesToStacks(), RemoveDead()])(hub)
        infer(hub)
    return _of_same_files(target.lower_graph(hub, opset, given=given), hub)


def _of_same_files(made: Graph, graph: Graph) -> Graph:
    """A graph that was made of another one, as one that takes as much memory."""
    if FILE_BYTES in graph.meta:
        made.meta[FILE_BYTES] = graph.meta[FILE_BYTES]
    return made


def _all_values(graph: Graph) -> Iterator[Value]:
    for inner in graph.graphs():
        yield from inner.values()


def save(graph: Graph, path: str | Path, *, format: str | None = None, opset: Opset = None) -> None:
    """Write a graph to a file, converted first if it is of another format or opset.

    Raises:
        InvalidModel: no such format, or the file can't be written.
        Unsupported: what the target can't express; then nothing is written.
    """
    path = Path(path)
    target = format_of(path, format)
    admit(graph)
    with bulk(), drafted(path) as draft:
        target.write(to_dialect(graph, target, opset), draft.path)
        draft.put()
