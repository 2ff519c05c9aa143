"""One node at a time, run on example values: so it is known to be valid, and what its results are."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from backedge.runtime.oracles.onnx_faults import own_nodes
from backedge.runtime.oracles.reference_operators import watched
from onnx import TensorProto, helper

ELEMENTS: dict[str, int] = {
    "float": TensorProto.FLOAT,
    "double": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
    "string": TensorProto.STRING,
    "float8e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8e5m2": TensorProto.FLOAT8E5M2,
    "int4": TensorProto.INT4,
    "uint4": TensorProto.UINT4,
}
"""Element types by their names in schemas, without complex numbers and those that no runtime here computes with."""

FLOATS = frozenset({"float", "double", "float16", "bfloat16"})

NARROW = frozenset({"bfloat16", "float8e4m3fn", "float8e5m2", "int4", "uint4"})
"""Those that ONNX Runtime's NumPy interface doesn't take."""


def element(type: str) -> str:
    """The element type of a tensor, or of the tensors in a sequence or an optional."""
    return type.rstrip(")").rpartition("(")[2]


def dtype(name: str) -> np.dtype[Any]:
    return np.dtype(object) if name == "string" else helper.tensor_dtype_to_np_dtype(ELEMENTS[name])


def proto(type: str, shape: Sequence[int | str | None] | None = None) -> onnx.TypeProto:
    """`tensor(float)`, `seq(tensor(float))`, `optional(...)` as a TypeProto; the shape is the tensor's."""
    outer, _, inner = type.partition("(")
    if outer == "seq":
        return helper.make_sequence_type_proto(proto(inner[:-1]))
    if outer == "optional":
        return helper.make_optional_type_proto(proto(inner[:-1]))
    return helper.make_tensor_type_proto(ELEMENTS[inner[:-1]], shape)


def type_of(value: Any) -> str:
    """The type of an example, without telling optionals; "" for what there is no name for."""
    if isinstance(value, list):
        return f"seq({type_of(value[0])})" if value else ""
    array = np.asarray(value)
    if array.dtype.kind in "OUT":
        return "tensor(string)"
    found = [name for name in ELEMENTS if dtype(name) == array.dtype]
    return f"tensor({found[0]})" if found else ""


def settings(level: ort.GraphOptimizationLevel) -> ort.SessionOptions:
    made = ort.SessionOptions()
    made.log_severity_level = 4
    made.intra_op_num_threads = made.inter_op_num_threads = 1
    made.graph_optimization_level = level
    return made


def single(
    node: onnx.NodeProto,
    types: Mapping[str, str],
    opset: int,
    ir: int,
    functions: Iterable[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    """A model of one node; whatever its regions capture is an input, too."""
    inputs = [helper.make_value_info(name, proto(type)) for name, type in types.items()]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "g", inputs, outputs)
    return model_of(graph, opset, ir, functions)


def model_of(
    graph: onnx.GraphProto, opset: int, ir: int, functions: Iterable[onnx.FunctionProto] = ()
) -> onnx.ModelProto:
    """A model of a graph that may have classical operators, and calls of these functions."""
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    functions = list(functions)
    if functions:
        imports.append(helper.make_opsetid("local", 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=ir, functions=functions)


def results(model: onnx.ModelProto, feeds: Mapping[str, Any], reference: bool = True) -> list[Any] | None:
    """What ONNX Runtime gives; where that has no kernel, and its `reference` will do, what onnx's gives, or None."""
    if not _narrow(feeds):
        try:
            session = ort.InferenceSession(
                model.SerializeToString(),
                settings(ort.GraphOptimizationLevel.ORT_DISABLE_ALL),
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:
            if not reference or ("NOT_IMPLEMENTED" not in str(error) and "opset" not in str(error).lower()):
                return None
        else:
            try:
                return list(session.run(None, dict(feeds)))
            except Exception:
                return None
    if not reference or any(
        node.op_type in ("Loop", "Scan") for part in (model.graph, *model.functions) for node in own_nodes(part)
    ):
        return None  # the reference is wrong for loops
    told: list[str] = []
    try:
        known = onnx.shape_inference.infer_shapes(model, strict_mode=True)  # the reference takes what isn't valid, too
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found: Any = watched(told.append)(model).run(None, dict(feeds))
        return list(found) if not told and _has_types(found, known) else None
    except Exception:
        return None


def _has_types(found: Sequence[Any], model: onnx.ModelProto) -> bool:
    """Whether results are of the types that the one node of a model gives, by inference or by its schema alone.

    The reference gives the types that NumPy makes of its operands.
    """
    node = model.graph.node[0]
    version = next((one.version for one in model.opset_import if one.domain == node.domain), 0)
    formal = onnx.defs.get_schema(node.op_type, version, node.domain).outputs if node.domain != "local" else ()
    for place, (value, entry) in enumerate(zip(found, model.graph.output, strict=True)):
        kind = type_of(value)
        if formal and not kind.startswith("seq") and kind not in formal[min(place, len(formal) - 1)].types:
            return False
        declared = entry.type.tensor_type.elem_type
        if declared and declared != proto(kind).tensor_type.elem_type:
            return False
    return True


def _narrow(feeds: Mapping[str, Any]) -> bool:
    flat = [one for value in feeds.values() for one in (value if isinstance(value, list) else [value])]
    return any(np.asarray(one).dtype.kind == "V" or "ml_dtypes" in str(type(np.asarray(one).dtype)) for one in flat)
