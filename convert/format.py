"""What a format is, and the table of those there are."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..passes.errors import InvalidModel
from ..passes.graph import Graph
from ..runtime.oracles import why_unread


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a file is one of its format, asked of somebody who isn't us.

    Attributes:
        name: who is asked.
        objection: path -> why it is refused, in one line; "" where it isn't, or nobody can tell.
        by_loading: the format's runtime asks the same when it loads a file: what it has loaded needs no check.
        misdeclared: file, its source -> whether it is only refused for what the source declares of its outputs, too.
    """

    name: str
    objection: Callable[[Path], str]
    by_loading: bool = True
    misdeclared: Callable[[Path, Path], bool] = lambda path, source: False


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


def _in(module: str, name: str) -> Callable[..., Any]:
    """A function of a module of this package that is imported when it is called: nobody waits for a format that they
    don't use."""

    def call(*arguments: Any) -> Any:
        return getattr(importlib.import_module(module, __package__), name)(*arguments)

    return call


def _at_opset(graph: Graph, opset: int | None) -> Graph:
    return graph if opset in (None, graph.opsets.get("")) else _in(".onnx.opset", "change_opset")(graph, opset or 0)


def _to_openvino(graph: Graph, opset: int | None) -> Graph:
    if opset is not None:
        raise InvalidModel("OpenVINO IR takes no --opset: every layer names its own")
    return _in(".openvino.lowering", "lower_graph")(graph)


def _to_hlo(graph: Graph, opset: int | None) -> Graph:
    if opset is not None:
        raise InvalidModel("HLO takes no --opset: it has no versions")
    return _in(".hlo.lowering", "lower_graph")(graph)


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format(
            "onnx",
            (".onnx", ".onnxtxt"),
            "onnx",
            _in(".onnx.read", "read"),
            _in(".onnx.write", "write"),
            _in(".onnx.raising", "raise_graph"),
            _in(".onnx.lowering", "lower_graph"),
            "onnxruntime",
            "ONNX, opset 1 to 28; Loop, Scan and If of every version",
            Check(
                "ONNX's checker",
                _in(".onnx.check", "objection"),
                by_loading=False,
                misdeclared=_in(".onnx.check", "misdeclared"),
            ),
            _at_opset,
        ),
        Format(
            "openvino",
            (".xml",),
            "openvino",
            _in(".openvino.read", "read"),
            _in(".openvino.write", "write"),
            _in(".openvino.raising", "raise_canonical"),
            _to_openvino,
            "openvino",
            "OpenVINO IR v10 and v11 (.xml + .bin); Loop, TensorIterator and If",
            _READERS["openvino"],
        ),
        Format(
            "hlo",
            (".hlo", ".hlo.txt"),
            "hlo",
            _in(".hlo.read", "read"),
            _in(".hlo.write", "write"),
            _in(".hlo.raising", "raise_graph"),
            _to_hlo,
            "xla",
            "XLA's HLO as text; while and conditional",
            _READERS["xla"],
        ),
        Format(
            "stablehlo",
            (".mlir", ".mlirbc", ".jax_export", ".hlo.pb"),
            "hlo",
            _in(".hlo.stablehlo", "read"),
            _in(".hlo.stablehlo", "write"),
            _in(".hlo.raising", "raise_graph"),
            _to_hlo,
            "xla",
            "StableHLO, what jax.export writes and HLO protos, through jaxlib",
            _READERS["xla"],
        ),
        Format(
            "mdf",
            (".json", ".yaml", ".yml", ".bson"),
            "mdf",
            _in(".mdf.read", "read"),
            _in(".mdf.write", "write"),
            _in(".mdf.read", "raise_graph"),
            _in(".mdf.write", "lower_graph"),
            "mdf",
            "ModECI MDF: onnx:: functions with Loop, Scan and If; native graphs with states and conditions",
            _READERS["mdf"],
            _in(".mdf.function_form", "prepared"),
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
