"""The check of nodes against their operators' schemas: adapters rely on it, and so does ONNX's shape inference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from onnx.defs import OpSchema

from .constraints import allowed, never_taken, spelled_dtypes
from .equations import equation_fault
from .errors import InvalidModel
from .graph import Graph, Node, Value
from .list_faults import list_fault, resized_axes
from .protos import DTYPES, AttributeRef, SparseData
from .region_forms import region_fault
from .schemas import histories, schema
from .shape_faults import certain_fault, shape_fault
from .tensor import TensorData
from .tree_faults import tree_fault
from .types import DType
from .words import words

_KINDS = OpSchema.AttrType
_TEXT, _WHOLE, _REAL = (str, bytes), (int,), (int, float)
_ITEMS: Mapping[Any, tuple[type, ...]] = {
    _KINDS.INT: _WHOLE,
    _KINDS.FLOAT: _REAL,
    _KINDS.STRING: _TEXT,
    _KINDS.TENSOR: (TensorData,),
    _KINDS.SPARSE_TENSOR: (SparseData,),
}
_LISTS: Mapping[Any, tuple[type, ...]] = {_KINDS.INTS: _WHOLE, _KINDS.FLOATS: _REAL, _KINDS.STRINGS: _TEXT}


_ELEMENT_TYPES = frozenset(
    ("to", "dtype", "output_dtype", "output_datatype", "precision", "softmax_precision", "stash_type")
)
"""Attributes that hold a number of TensorProto.DataType."""
_TOLD = frozenset(("to", "dtype", "output_dtype", "output_datatype"))
"""Those of which a result is: 0 is none where the attribute must be given, or has another default."""
_BYTES = frozenset(("value_string",))
_CHOICES: Mapping[str, str] = {
    "activation": "none silu swish",
    "approximate": "none tanh",
    "auto_pad": "NOTSET SAME_UPPER SAME_LOWER VALID",
    "case_change_action": "LOWER UPPER NONE",
    "direction": "forward reverse bidirectional",
    "keep_aspect_ratio_policy": "stretch not_larger not_smaller",
    "nearest_mode": "round_prefer_floor round_prefer_ceil floor ceil",
    "padding_mode": "zeros border reflection",
    "round_mode": "up down nearest",
    "update_rule": "linear gated delta gated_delta",
    "BitShift direction": "LEFT RIGHT",
    "DepthToSpace mode": "DCR CRD",
    "GRU direction": "forward foward reverse bidirectional",
    "GridSample mode": "bilinear linear nearest bicubic cubic",
    "NegativeLogLikelihoodLoss reduction": "none mean sum",
    "Pad mode": "constant reflect edge wrap",
    "Resize coordinate_transformation_mode": "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners"
    " asymmetric tf_half_pixel_for_nn tf_crop_and_resize",
    "Resize mode": "nearest linear cubic",
    "RoiAlign coordinate_transformation_mode": "half_pixel output_half_pixel",
    "RoiAlign mode": "avg max",
    "ScatterElements reduction": "none add mul max min",
    "ScatterND reduction": "none add mul max min",
    "SoftmaxCrossEntropyLoss reduction": "none mean sum",
    "SpaceToDepth mode": "DCR CRD",
    "TensorScatter mode": "linear circular",
    "TfIdfVectorizer mode": "TF IDF TFIDF",
    "Upsample mode": "nearest linear bilinear trilinear cubic",
    "ai.onnx.ml.CastMap cast_to": "TO_FLOAT TO_STRING TO_INT64",
    "ai.onnx.ml.CastMap map_form": "DENSE SPARSE",
    "ai.onnx.ml.Normalizer norm": "MAX L1 L2",
    "aggregate_function": "AVERAGE SUM MIN MAX",
    "kernel_type": "LINEAR POLY RBF SIGMOID",
    "post_transform": "NONE SOFTMAX LOGISTIC SOFTMAX_ZERO PROBIT",
    "ai.onnx.preview.training.Momentum mode": "standard nesterov",
}
"""The texts that an attribute may be, of any operator or of one, at whatever version."""

LISTS_SIZES = {"ConstantOfShape": 0, "Expand": 1, "Reshape": 1, "Unsqueeze": 1}
"""Operators whose result has an axis for each element of an input: which one."""
_MOST_AXES = 1024
_LEAST = {
    **dict.fromkeys(("blocksize", "group", "num_groups", "offset_group", "p"), 1),
    **dict.fromkeys(("min_gram_length", "max_gram_length", "q_num_heads", "kv_num_heads", "LRN size"), 1),
    **dict.fromkeys(("TopK k", "max_skip_count", "num_heads", "rotary_embedding_dim"), 0),
    **dict.fromkeys(("output_height", "output_width", "sampling_ratio"), 0),
    **dict.fromkeys(("left_window_size", "right_window_size"), -1),
}
"""Attributes that are counts, of any operator or of one, and the least that they may be."""
_MOST = 1 << 31
"""More than any count that is at least 1 may be: work on windows and groups makes arrays of so many places."""
_FLAGS = frozenset(
    words(
        "allowzero align_corners antialias ceil_mode count_include_pad exclude_outside fmod inverse is_causal keepdims"
        " noop_with_empty_axes onesided training_mode transA transB upper"
    )
)
"""Attributes of which 0 means no, and of which ONNX's inference and runtimes read 32 bits."""
_LENGTHS = {"ConstantOfShape value": 1, "kernel_params": 3, "pooled_shape": 2}
"""Attributes, of any operator or of one, that hold just so many numbers."""
_TOLD_DEFAULTS = {("", "Concat"): {"axis"}}
"""Attributes whose default only the text of an old schema tells."""
_INTERNAL = "__"
"""How attributes begin that ONNX's checker and ONNX Runtime take at any operator, and don't look at."""


@dataclass(frozen=True, slots=True)
class _Signature:
    """What a schema says of a node's form. `required` are the inputs that can't be left out; from number `variadic` on
    none can, where it isn't None; `told` are the attributes that must be an element type."""

    inputs: tuple[int, int]
    outputs: tuple[int, int]
    required: Sequence[int]
    variadic: int | None
    attributes: Mapping[str, Any]
    told: Sequence[str]
    demanded: Sequence[str]
    graphs: Sequence[str]


@cache
def _signature(domain: str, op_type: str, version: int) -> _Signature | None:
    found = schema(domain, op_type, version)
    if found is None:
        return None
    options = OpSchema.FormalParameterOption
    graphs = [name for name, entry in found.attributes.items() if entry.type == _KINDS.GRAPH]
    least = found.min_input
    while least and found.inputs[min(least, len(found.inputs)) - 1].option == options.Optional:
        least -= 1  # what is left out at the end isn't there at all
    return _Signature(
        (least, found.max_input),
        (found.min_output, found.max_output),
        [index for index, formal in enumerate(found.inputs) if formal.option == options.Single],
        len(found.inputs) - 1 if found.inputs and found.inputs[-1].option == options.Variadic else None,
        {name: entry.type for name, entry in found.attributes.items()},
        [
            name
            for name, entry in found.attributes.items()
            if name in _TOLD and (entry.required or entry.default_value.i)
        ],
        [name for name in _demanded(found) if name not in graphs],
        [name for name in graphs if found.attributes[name].required],
    )


def _demanded(found: OpSchema) -> list[str]:
    """The attributes that must be given: also those which have no default and are only called optional, which a later
    version demands, as an attribute or as an input."""
    later: set[str] = set()
    for version in histories().get((found.domain, found.name), ()):
        newer = schema(found.domain, found.name, version) if version > found.since_version else None
        if newer is not None:
            later |= {name for name, entry in newer.attributes.items() if entry.required}
            later |= {formal.name for formal in newer.inputs if formal.option == OpSchema.FormalParameterOption.Single}
    later -= _TOLD_DEFAULTS.get((found.domain, found.name), set())
    return [
        name
        for name, entry in found.attributes.items()
        if entry.required or (name in later and not entry.default_value.name)
    ]


@cache
def _choices(domain: str, op_type: str, name: str) -> Sequence[str]:
    operator = f"{domain}.{op_type}" if domain else op_type
    return (_CHOICES.get(f"{operator} {name}") or _CHOICES.get(name, "")).split()


def check_forms(graph: Graph, *, given: bool = False) -> None:
    """Refuse a model of ONNX's operators in which a node isn't of its operator's form, functions and regions included.

    Args:
        given: it is a file's: what the hub computes beyond ONNX's types isn't in it.

    Raises:
        InvalidModel: the first such node, as `check_schema`.
    """
    own = {key[:2] for key in graph.functions}
    for root in (graph, *(function.graph for function in graph.functions.values())):
        for inner in root.graphs():
            for node in inner.nodes:
                found = _reference(node) if root is graph else ""
                if not found and node.op not in own:
                    found = problem(node) or tree_fault(node) or (never_taken(node) if given else "")
                if found:
                    raise InvalidModel(f"graph {inner.name!r:.80}: {node!r}{found}")


def _reference(node: Node) -> str:
    """An attribute that a function is given, at a node that is in none."""
    for name, value in node.attributes.items():
        if isinstance(value, AttributeRef):
            return f": attribute {name} is what a function is given as {value.name!r:.40}, and this is in no function"
    return ""


def check_schema(node: Node) -> None:
    """Refuse a node that doesn't have the inputs, outputs and attributes of its operator at its version.

    Raises:
        InvalidModel: it doesn't; the message says what is wrong.
    """
    found = problem(node)
    if found:
        raise InvalidModel(f"{node!r}{found}")


def check_attributes(node: Node) -> None:
    """Refuse a node with an attribute that is none of its operator's, as a constant input may become.

    Raises:
        InvalidModel: as `check_schema`.
    """
    known = _signature(node.domain, node.op_type, node.version)
    if known is not None and (fault := _attribute_fault(node, known.attributes, known.told)):
        raise InvalidModel(f"{node!r}{fault}")


def unknown(node: Node) -> InvalidModel:
    """What to raise of a node whose operator isn't there at its version."""
    return InvalidModel(f"{node!r}: opset {node.version} of {node.domain or 'ai.onnx'} has no such operator")


def problem(node: Node) -> str:
    """What is wrong with a node's form, to be read behind its name; "" where nothing is."""
    found = _signature(node.domain, node.op_type, node.version)
    if found is None:
        return ""
    for what, count, (least, most) in (
        ("inputs", _given(node.formal_inputs), found.inputs),
        ("outputs", len(node.outputs), found.outputs),
    ):
        if not least <= count <= most:
            return f" has {count} {what}; it takes {least} to {most}"
    more = () if found.variadic is None else range(found.variadic, len(node.formal_inputs))
    for index in (*found.required, *more):
        if node.input(index) is None:
            return f": input {index} is missing"
    for name in found.demanded:
        if name not in node.attributes:
            return f": attribute {name} is missing"
    for name in found.graphs:
        if name not in node.regions:
            return f": its graph {name} is missing"
    fault = _attribute_fault(node, found.attributes, found.told)
    if fault:
        return fault
    position = LISTS_SIZES.get(node.op_type) if not node.domain else None
    listed = node.input(position) if position is not None else None
    length = listed.tensor.shape[0] if listed is not None and listed.rank == 1 and listed.tensor.shape else None
    if isinstance(length, int) and length > _MOST_AXES:
        return f" lists {length} axes"
    fault = equation_fault(node) or shape_fault(node) or list_fault(node) or certain_fault(node)
    if fault:
        return fault
    parts = node.attributes.get("num_outputs") if node.op == ("", "Split") else None
    if isinstance(parts, int) and parts != len(node.outputs):
        return f" has {len(node.outputs)} outputs, and num_outputs={parts}"
    if node.op == ("", "BatchNormalization") and node.version > 13 and len(node.outputs) > 1:
        return "" if node.attributes.get("training_mode") else f" has {len(node.outputs)} outputs, and no training_mode"
    if node.op == ("", "Constant"):
        values = [name for name in node.attributes if not name.startswith(_INTERNAL)]
        return "" if len(values) == 1 else f" has {len(values)} values; it takes one"
    return _resize_fault(node) or _pool_fault(node) or region_fault(node)


def _pool_fault(node: Node) -> str:
    """Why a pool isn't one of n-grams, whose first ones of each length `ngram_counts` tells."""
    if node.op != ("", "TfIdfVectorizer"):
        return ""
    counts, given = node.attributes.get("ngram_counts"), node.attributes
    pool = given.get("pool_strings") or given.get("pool_int64s") or []
    starts = [*(counts if isinstance(counts, list | tuple) else ()), len(pool)]
    for length, (first, last) in enumerate(itertools.pairwise(starts), start=1):
        if not 0 <= first <= last or (last - first) % length:
            return f": entries {first} to {last} of its pool are no n-grams of {length}"
    places = given.get("ngram_indexes")
    if isinstance(places, list | tuple) and any(place < 0 for place in places):
        return f": ngram_indexes is {list(places)!s:.100}, which are no places"
    return ""


def _resize_fault(node: Node) -> str:
    """Why nothing says how large an image becomes along each axis."""
    if node.op not in (("", "Resize"), ("", "Upsample")):
        return ""
    sizes, listed = node.input(3), node.attributes.get("scales")
    told = sizes if sizes is not None else node.input(2 if node.version > 10 else 1)
    shape = (0,) if told is None and node.version > 10 else None if told is None else told.tensor.static_shape
    count = len(listed) if isinstance(listed, list | tuple) else shape[0] if shape else None
    if node.op_type == "Upsample" and node.version < 7:
        count = 4  # height and width of images
    if count == 0 and sizes is None:
        return ": neither scales nor sizes"
    wanted = resized_axes(node)
    return "" if None in (count, wanted) or count == wanted else f": {count} scales or sizes for {wanted} axes"


def _attribute_fault(node: Node, known: Mapping[str, Any], told: Sequence[str]) -> str:
    """Which attribute isn't one of the operator's or isn't of its type, where `known` are their types by name, and
    `told` those that must be an element type."""
    for name in (*node.regions, *node.attributes):
        if name not in known and not name.startswith(_INTERNAL):
            return f": {node.op_type} has no attribute {name!r:.40} at version {node.version}"
    for name in node.regions:
        kind = known.get(name, _KINDS.GRAPH)
        if kind != _KINDS.GRAPH:
            return f": attribute {name} is a graph, which is no {kind.name}"
    for name, value in node.attributes.items():
        if name in known and not _is_of(value, known[name]) and not _is_spelled(node, name):
            return f": attribute {name} is {value!r:.40}, which is no {known[name].name}"
        if name in _ELEMENT_TYPES and isinstance(value, int) and value not in DTYPES and (value or name in told):
            return f": attribute {name} is {value}, which is no element type"
        if name in _TOLD and isinstance(value, int) and not _may_give(node, value):
            return f": attribute {name} is {DTYPES[value].value}, which isn't what {node.op_type} gives"
        own = f"{node.op_type} {name}"
        least, size = _LEAST.get(own, _LEAST.get(name)), _LENGTHS.get(own, _LENGTHS.get(name))
        if least is not None and isinstance(value, int | float) and not least <= value < (_MOST if least else math.inf):
            return f": attribute {name} is {value}, which is no count"
        if name in _FLAGS and isinstance(value, int) and not -_MOST <= value < _MOST:
            return f": attribute {name} is {value}, which is no flag"
        if size is not None and isinstance(value, TensorData | list | tuple):
            found = value.size if isinstance(value, TensorData) else len(value)
            if found != size:
                return f": attribute {name} has {found} entries; it takes {size}"
        choices = _choices(node.domain, node.op_type, name)
        if choices and isinstance(value, str | bytes) and _text(value) not in choices:
            return f": attribute {name} is {value!r:.40}, not one of {', '.join(choices)}"
        if isinstance(value, bytes) and name not in _BYTES and not _is_text(value):
            return f": attribute {name} is {value!r:.40}, which is not UTF-8"
    return ""


def _may_give(node: Node, number: int) -> bool:
    """Whether a node's first result may be of an element type. Casts may be to types that came with later versions:
    there are such models."""
    dtype = DTYPES.get(number)
    if dtype is None or node.op_type in ("BitCast", "Cast"):
        return True
    results = allowed(node.domain, node.op_type, node.version)[1]
    types = spelled_dtypes(results[0]) if results else frozenset[DType]()
    return not types or dtype in types


def _given(inputs: Sequence[Value | None]) -> int:
    """How many inputs there are; what is left out at the end isn't there at all."""
    count = len(inputs)
    while count and inputs[count - 1] is None:
        count -= 1
    return count


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_spelled(node: Node, name: str) -> bool:
    """Cast-1 spelled its target type, and models of opset 6 went on doing so for a while."""
    return (node.op_type, node.version, name) == ("Cast", 6, "to")


def _is_of(value: Any, kind: Any) -> bool:
    if isinstance(value, AttributeRef):
        return True
    if kind in _ITEMS:
        return isinstance(value, _ITEMS[kind])
    if kind in _LISTS:
        return isinstance(value, list | tuple) and all(isinstance(item, _LISTS[kind]) for item in value)
    return True
