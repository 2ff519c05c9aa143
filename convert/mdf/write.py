"""A graph as an MDF file: one of dialect "mdf" as the model that it keeps, one of dialect "onnx" in function form."""

from __future__ import annotations

from pathlib import Path

from ...passes.certain_size import check_text
from ...passes.errors import Unsupported
from ...passes.graph import NOTES, Graph
from ...passes.refusals import alternative
from ...runtime.oracles.mdf_names import METADATA
from ..onnx import lowering as onnx_lowering
from . import model as mdf
from .document import write_document
from .function_form import base64, prepared, to_model
from .lowering import lower_stateful
from .read import MODEL, as_graph
from .structure import tree_from_model

_TIMES = 5
"""Memory that constants take while they are written, by their bytes, which are written in words of 64 letters."""


def write(graph: Graph, path: Path) -> None:
    """Write a .json, .yaml or .bson file.

    Raises:
        InvalidModel: the file can't be written.
        Unsupported: what MDF can't express.
        TooLarge: the constants are, for a text.
    """
    check_text(graph, _TIMES)
    if graph.dialect == "mdf":
        model: mdf.Model = graph.meta[MODEL]
    else:
        model = to_model(graph, bytes if path.suffix.lower() == ".bson" else base64)  # the others have no bytes
    write_document(tree_from_model(model), path)


def lower_graph(graph: Graph, opset: int | None = None, *, given: bool = False) -> Graph:
    """A hub graph as ONNX's operators of `opset`; without one, of MDF's own where the model can be expressed so.

    A graph that is `given` away may be changed.

    Raises:
        Unsupported: an operator, type or attribute isn't supported at this opset.
    """
    if opset is not None:
        return prepared(onnx_lowering.lower_graph(graph, opset, given=given), opset)
    try:
        with alternative():
            return prepared(onnx_lowering.lower_graph(graph, mdf.ENGINE_OPSET), None)
    except Unsupported:
        return prepared(onnx_lowering.lower_graph(graph, given=given), None)


def lower_to_states(graph: Graph, opset: int | None = None, *, given: bool = False) -> Graph:
    """A hub graph as a native MDF model, of dialect "mdf": loops as stateful parameters, see `lowering`.

    The graph stays as it was, `given` away or not; the model has no opset.

    Raises:
        Unsupported: what MDF's engine can't be told.
    """
    model = lower_stateful(graph)
    made = as_graph(model)
    made.meta[NOTES] = [*graph.meta.get(NOTES, ()), *model.metadata[METADATA].get("notes", ())]
    return made
