"""The hub -> ONNX at a given opset."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from ...passes.errors import InvalidModel, Unsupported
from ...passes.garbage import bulk
from ...passes.graph import DEFAULT, NOTES, Graph
from ...passes.hub import HUB
from ...passes.infer import infer
from ...passes.loop import DOMAIN as CONTROL
from ...passes.opset import Log, convert_opset
from ...passes.opset.constants import with_wider_constants
from ...passes.protos import DTYPES, SparseData, enum_of
from ...passes.rewrite import Builder, Rewriter
from ...passes.schemas import HUB_OPSET, since_version
from ...passes.structure.branches import resolve_branches
from ...passes.structure.containers import check_interface, lower_containers
from ...passes.structure.shorten import Shorten
from ...passes.structure.simplify import RemoveDead
from ...passes.tensor import TensorData
from ...passes.types import DType, TensorType
from .lowering_loops import rules
from .metadata import PRODUCER, put_notes
from .write import IR_OF_OPSET, IR_WITH_DEFAULTS, IR_WITH_SPARSE_CONSTANTS

DEFAULT_OPSET = 21
"""What a model gets that doesn't come from ONNX: the runtimes in the field take it."""

# the newest ai.onnx.ml that came no later than an opset of ai.onnx; 5 dropped operators that 4 has
_ML_OF_OPSET = ((19, 4), (13, 3), (9, 2), (1, 1))
_ML_5 = frozenset({"TreeEnsemble"})


def lower_graph(graph: Graph, opset: int | None = None, *, given: bool = False) -> Graph:
    """A graph of dialect "onnx" at `opset`, as short as a person would have written it; the hub graph stays as it was,
    unless it is given away.

    Args:
        opset: `DEFAULT_OPSET` if it is None.

    Raises:
        Unsupported: an operator, type or attribute isn't supported at this opset.
        InvalidModel: there is no such opset.
    """
    opset = DEFAULT_OPSET if opset is None else opset
    with bulk():
        new = Shorten(opset)(graph if given else graph.copy()).graph
    new = lower_operators(new, opset)
    RemoveDead()(new)  # what adapters began and gave up
    for value in new.inputs:
        if value.data is None and value.meta and DEFAULT in value.meta:
            value.data = value.meta[DEFAULT]
            new.constants.append(value)
    return finished(new, opset)


def finished(graph: Graph, opset: int) -> Graph:
    """A graph of operators of `opset` as a model: its own fields, its constants where that time had them."""
    _state(graph, opset)
    for inner in graph.graphs():
        inner.name = inner.name or "graph"  # ONNX's checker wants one
    if IR_OF_OPSET[opset] < IR_WITH_SPARSE_CONSTANTS:
        for inner in graph.graphs():
            for value in inner.constants:
                if value.data is not None and isinstance(value.data.origin, SparseData):
                    value.data = TensorData.of(value.data.numpy(), value.data.dtype)
    if IR_OF_OPSET[opset] < IR_WITH_DEFAULTS:
        _place_constants(graph, opset)
    return graph


def lower_operators(graph: Graph, opset: int, log: Log | None = None) -> Graph:
    """The operators of a graph at `opset`, whatever holds the graph (a model or a function).

    Where that asks for the rank of what an If gives in several ranks, what depends on it goes into the branches.
    `log` takes up what is done on the way.
    """
    before = None if log is None else {key: list(frames) for key, frames in log.frames.items()}
    try:
        return _lower_operators(graph, opset, log)
    except Unsupported as refusal:
        try:
            settled, notes = resolve_branches(graph)
            if settled is graph:
                raise refusal
            if log is not None and before is not None:
                log.frames = before
            made = _lower_operators(settled, opset, log)
        except Unsupported:
            raise refusal from None
    made.meta[NOTES] = [*made.meta.get(NOTES, ()), *notes]
    return made


def _lower_operators(graph: Graph, opset: int, log: Log | None) -> Graph:
    targets = targets_of(graph, opset)
    with bulk():
        check_interface(graph, opset)
        graph = with_wider_constants(lower_containers(graph, opset), opset)
        if any(node.domain == CONTROL for _, node in graph.walk()):
            graph = Rewriter(HUB, rules(opset), fallback=Builder.copy).run(graph)
            RemoveDead()(graph)
            infer(graph)
        new = convert_opset(graph, targets, log)
    new.dialect = "onnx"
    for inner in new.graphs():
        inner.dialect = "onnx"
    used: dict[str, int] = {node.domain: node.version for _, node in new.walk()}
    new.opsets = {"": opset}
    for domain, version in sorted(used.items()):
        if domain:
            new.opsets[domain] = targets.get(domain) or version
    return new


def targets_of(graph: Graph, opset: int) -> dict[str, int]:
    """The opset of each of ONNX's domains that goes with one of ai.onnx.

    Raises:
        InvalidModel: there is no such opset.
    """
    if not 1 <= opset <= HUB_OPSET:
        raise InvalidModel(f"there is no opset {opset}; 1 to {HUB_OPSET} exist")
    targets: dict[str, int] = {"": opset, "ai.onnx.ml": next(ml for least, ml in _ML_OF_OPSET if opset >= least)}
    if opset >= 21 and any(node.domain == "ai.onnx.ml" and node.op_type in _ML_5 for _, node in graph.walk()):
        targets["ai.onnx.ml"] = 5
    return targets


_CONSTANT_1 = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)


def _place_constants(graph: Graph, opset: int) -> None:
    """Before IR 4 an initializer had to be a graph input too, which a region can't do: Constant nodes there.

    Constant-1 holds floats only; what else a region needs is cast from float64, where that is exact.
    """
    known = set(graph.inputs)
    graph.inputs += [value for value in graph.constants if value not in known]
    for inner in graph.graphs():
        if inner is graph:
            continue
        for value in inner.constants:
            data = value.data
            assert data is not None
            stored, name = data, value.name
            if data.dtype not in _CONSTANT_1:
                array = data.numpy()
                if data.dtype is DType.STRING or (array.astype(np.float64).astype(array.dtype) != array).any():
                    raise Unsupported(
                        f"constant {name!r}", f"opset {opset} has no {data.dtype.value} constants in bodies"
                    )
                stored = TensorData.of(array.astype(np.float64))
            spec = [(name if stored is data else f"{name}_float64", TensorType(stored.dtype, stored.shape))]
            made = inner.add_node("Constant", [], spec, {"value": stored}, version=1).output
            if stored is not data:
                version = since_version("", "Cast", opset) or 1
                to: int | str = enum_of(data.dtype, name) if version > 1 else _CAST_1[data.dtype]
                made = inner.add_node("Cast", [made], [(name, value.type)], {"to": to}, version=version).output
            inner.replace_uses(value, made)
        inner.constants = []


# Cast-1 spelled its target
_CAST_1 = {DTYPES[number]: name for name, number in TensorProto.DataType.items() if number in DTYPES}


def _state(graph: Graph, opset: int) -> None:
    """The model's own fields: kept where it came from ONNX, the IR version that the opset came with."""
    old = graph.meta.get("onnx.model")
    model = ModelProto()
    if isinstance(old, ModelProto):
        model.CopyFrom(old)
        del model.opset_import[:]
    else:
        model.producer_name = PRODUCER
        put_notes(graph, model)
    model.ir_version = IR_OF_OPSET[opset]
    graph.meta["onnx.model"] = model
