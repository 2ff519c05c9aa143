"""What a format is, and the table of those there are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..passes.errors import InvalidModel
from ..passes.graph import Graph
from ..runtime.oracles import why_unread
from .hlo import lowering as hlo_lowering
from .hlo import raising as hlo_raising
from .hlo import read as hlo_read
from .hlo import stablehlo
from .hlo import write as hlo_write
from .mdf import read as mdf_read
from .mdf import write as mdf_write
from .mdf.function_form import prepared
from .onnx import lowering as onnx_lowering
from .onnx import raising as onnx_raising
from .onnx import read as onnx_read
from .onnx import write as onnx_write
from .onnx.check import objection
from .onnx.opset import change_opset
from .openvino import lowering as openvino_lowering
from .openvino import raising as openvino_raising
from .openvino import read as openvino_read
from .openvino import write as openvino_write


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a file is one of its format, asked of somebody who isn't us.

    Attributes:
        name: who is asked.
        objection: path -> why it is refused, in one line; "" where it isn't, or nobody can tell.
        by_loading: the format's runtime asks the same when it loads a file: what it has loaded needs no check.
    """

    name: str
    objection: Callable[[Path], str]
    by_loading: bool = True


_READERS = {
    runtime: Check(name, functools.partial(why_unread, runtime))
    for runtime, name in (("openvino", "OpenVINO"), ("xla", "XLA"), ("mdf", "modeci-mdf"))
}


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Attributes:
        name: what `--from` and `--to` call it.
        suffixes: file names that end so are of this format.
        dialect: of its graphs; formats may share one.
        read, write: file <-> graph in this dialect, syntax only.
        raise_graph: dialect -> hub.
        lower_graph: hub -> dialect, at an opset where the format has them (None: its own choice).
        runtime: the oracle that runs its files.
        about: one line for `backedge formats`.
        check: who accepts or refuses a file of this format.
        from_onnx: dialect "onnx" -> what this format writes, at an opset; for those whose files hold ONNX's operators,
            which needn't pass through the hub then.
    """

    name: str
    suffixes: tuple[str, ...]
    dialect: str
    read: Callable[[Path], Graph]
    write: Callable[[Graph, Path], None]
    raise_graph: Callable[[Graph], Graph]
    lower_graph: Callable[[Graph, int | None], Graph]
    runtime: str
    about: str
    check: Check
    from_onnx: Callable[[Graph, int | None], Graph] | None = None


def _at_opset(graph: Graph, opset: int | None) -> Graph:
    return graph if opset in (None, graph.opsets.get("")) else change_opset(graph, opset or 0)


def _to_onnx(graph: Graph, opset: int | None) -> Graph:
    return onnx_lowering.lower_graph(graph, onnx_lowering.DEFAULT_OPSET if opset is None else opset)


def _to_openvino(graph: Graph, opset: int | None) -> Graph:
    if opset is not None:
        raise InvalidModel("OpenVINO IR takes no --opset: every layer names its own")
    return openvino_lowering.lower_graph(graph)


def _to_hlo(graph: Graph, opset: int | None) -> Graph:
    if opset is not None:
        raise InvalidModel("HLO takes no --opset: it has no versions")
    return hlo_lowering.lower_graph(graph)


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format(
            "onnx",
            (".onnx", ".onnxtxt"),
            "onnx",
            onnx_read.read,
            onnx_write.write,
            onnx_raising.raise_graph,
            _to_onnx,
            "onnxruntime",
            "ONNX, opset 1 to 28; Loop, Scan and If of every version",
            Check("ONNX's checker", objection, by_loading=False),
            _at_opset,
        ),
        Format(
            "openvino",
            (".xml",),
            "openvino",
            openvino_read.read,
            openvino_write.write,
            openvino_raising.raise_settled,
            _to_openvino,
            "openvino",
            "OpenVINO IR v10 and v11 (.xml + .bin); Loop, TensorIterator and If",
            _READERS["openvino"],
        ),
        Format(
            "hlo",
            (".hlo", ".hlo.txt"),
            "hlo",
            hlo_read.read,
            hlo_write.write,
            hlo_raising.raise_graph,
            _to_hlo,
            "xla",
            "XLA's HLO as text; while and conditional",
            _READERS["xla"],
        ),
        Format(
            "stablehlo",
            (".mlir", ".mlirbc", ".jax_export", ".hlo.pb"),
            "hlo",
            stablehlo.read,
            stablehlo.write,
            hlo_raising.raise_graph,
            _to_hlo,
            "xla",
            "StableHLO, what jax.export writes and HLO protos, through jaxlib",
            _READERS["xla"],
        ),
        Format(
            "mdf",
            (".json", ".yaml", ".yml", ".bson"),
            "mdf",
            mdf_read.read,
            mdf_write.write,
            mdf_read.raise_graph,
            mdf_write.lower_graph,
            "mdf",
            "ModECI MDF: onnx:: functions with Loop, Scan and If; native graphs with states and conditions",
            _READERS["mdf"],
            prepared,
        ),
    )
}


def format_of(path: Path, name: str | None = None) -> Format:
    """The format called `name`, else the one that the path's suffix says.

    Raises:
        InvalidModel: there is no such format, or the suffix says nothing.
    """
    if name is not None:
        if name not in FORMATS:
            raise InvalidModel(f"no format {name!r}; there are {', '.join(FORMATS)}")
        return FORMATS[name]
    lower = path.name.lower()
    for entry in FORMATS.values():
        if lower.endswith(entry.suffixes):
            return entry
    known = ", ".join(suffix for entry in FORMATS.values() for suffix in entry.suffixes)
    raise InvalidModel(f"{path}: its suffix is of no known format ({known}); name one with --from or --to")
