"""What each operation of StableHLO and CHLO is in HLO, and the other way: opcode and attributes, a row for each.

Attributes of StableHLO are plain values here, as descriptions of modules have them (`mlir_module.py`); how MLIR spells
them is in `spelling.py`. Source: the StableHLO specification (https://openxla.org/stablehlo/spec), whose operations
have HLO's meaning; names of attributes on HLO's side are those of `dialect.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node
from ....passes.sizes import dims_of
from ....passes.types import TensorType
from ..raising.collectives import replica_groups
from ..text.tree import Labels, PadDim, Raw, SliceDim, WindowDim

Attributes = Mapping[str, Any]
Read = Callable[[Attributes, Sequence[TensorType]], dict[str, Any]]
Write = Callable[[Node], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Form:
    """An operation that is one opcode: `read` makes its attributes of StableHLO's and the operands' types, `write`
    StableHLO's of a node's.
    """

    opcode: str
    read: Read
    write: Write


_SAME = """
abs add after_all and atan2 bitcast_convert cbrt ceil clamp complex convert cosine count_leading_zeros divide
exponential exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply negate not or
popcnt power real remainder replica_id reshape round_nearest_afz round_nearest_even rsqrt select shift_left
shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh xor partition_id
"""
_CHLO_SAME = "acos acosh asin asinh atanh cosh erf sinh tan mulhi"

PLAIN: Mapping[str, str] = {
    **{name: name.replace("_", "-") for name in _SAME.split()},
    **{f"chlo.{name}": name for name in _CHLO_SAME.split()},
    "create_token": "after-all",
    "optimization_barrier": "opt-barrier",
    "sdy.sharding_constraint": "copy",  # a module for several devices says so in its header
}
"""Operations without attributes -> HLO's opcode."""


def refuse(node: Node, what: str) -> Unsupported:
    """What to raise where StableHLO can't say something."""
    return Unsupported(node, f"StableHLO has no {what}")


def _window(attributes: Attributes, rank: int) -> tuple[WindowDim, ...]:
    """The window of a convolution (whose sizes are the kernel's) or of reduce_window and select_and_scatter."""

    def items(name: str, default: Any) -> Sequence[Any]:
        found = attributes.get(name)
        return [default] * rank if found is None or len(found) == 0 else found  # MLIR takes a list of none for none

    lists = (
        items("window_dimensions", 1),
        items("window_strides", 1),
        items("padding", (0, 0)),
        items("base_dilations", None) if "base_dilations" in attributes else items("lhs_dilation", 1),
        items("window_dilations", None) if "window_dilations" in attributes else items("rhs_dilation", 1),
        items("window_reversal", False),
    )
    if len(set(map(len, lists))) > 1:
        raise InvalidModel(f"a window whose lists have {', '.join(str(len(one)) for one in lists)} entries")
    return tuple(
        WindowDim(size, stride, low, high, lhs, rhs, turned)
        for size, stride, (low, high), lhs, rhs, turned in zip(*lists, strict=True)
    )


def _reduce_window(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    window = _window(attributes, len(attributes["window_dimensions"]))
    if not all(dim.is_positive for dim in window):
        raise InvalidModel("a size, a stride or a dilation of a window isn't positive")  # jaxlib's check may overflow
    return {"window": window}


_WINDOW = {
    "window_dimensions": "size",
    "window_strides": "stride",
    "base_dilations": "lhs_dilate",
    "window_dilations": "rhs_dilate",
    "lhs_dilation": "lhs_dilate",
    "rhs_dilation": "rhs_dilate",
    "window_reversal": "reversal",
}
"""Lists that make up a window -> what those of one dimension are called."""

REDUCED = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")


def window_lists(node: Node, names: Sequence[str]) -> dict[str, Any]:
    """The lists of these names, and the padding, of a node's window.

    Raises:
        Unsupported: the window has something that none of them says.
    """
    window: Sequence[WindowDim] = node.attributes.get("window") or ()
    said = {_WINDOW[name] for name in names} | {"size"}
    for part, usual in (("stride", 1), ("lhs_dilate", 1), ("rhs_dilate", 1), ("reversal", False)):
        if part not in said and any(getattr(dim, part) != usual for dim in window):
            raise refuse(node, f"{part} of a window here")
    found: dict[str, Any] = {name: [getattr(dim, _WINDOW[name]) for dim in window] for name in names}
    return {**found, "padding": [[dim.low, dim.high] for dim in window]}


def _write_reduce_window(node: Node) -> dict[str, Any]:
    return window_lists(node, REDUCED)


def _write_select_and_scatter(node: Node) -> dict[str, Any]:
    return window_lists(node, REDUCED[:2])


def convolution(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    """`convolution`, and `dynamic_conv` whose padding is known."""
    numbers = attributes["dimension_numbers"]
    spatial = len(numbers["input_spatial_dimensions"])
    kernel = dims_of(types[1].shape) or ()
    sizes = [kernel[axis] for axis in numbers["kernel_spatial_dimensions"]]
    groups = {name: attributes[name] for name in ("feature_group_count", "batch_group_count") if attributes[name] != 1}
    return {
        "window": _window({**attributes, "window_dimensions": sizes}, spatial),
        "dim_labels": Labels(*(_labels(spatial, numbers, *row) for row in _LABELED)),
        **groups,
    }


_LABELED = (
    ("input", "bf", ("batch", "feature")),
    ("kernel", "io", ("input_feature", "output_feature")),
    ("output", "bf", ("batch", "feature")),
)
"""What a convolution's labels are of, the letters of the dimensions that aren't spatial, and StableHLO's names."""
_CONVOLVED = ("window_strides", "lhs_dilation", "rhs_dilation", "window_reversal")


def write_convolution(node: Node) -> dict[str, Any]:
    labels: Labels = node.attributes["dim_labels"]
    numbers: dict[str, Any] = {}
    for text, (part, letters, names) in zip((labels.lhs, labels.rhs, labels.out), _LABELED, strict=True):
        numbers |= {f"{part}_{name}_dimension": text.index(letter) for letter, name in zip(letters, names, strict=True)}
        numbers[f"{part}_spatial_dimensions"] = [text.index(str(place)) for place in range(len(text) - 2)]
    groups = {name: node.attributes.get(name, 1) for name in ("feature_group_count", "batch_group_count")}
    return {**window_lists(node, _CONVOLVED), "dimension_numbers": numbers, **groups, **_precision(node)}


def _precision(node: Node) -> dict[str, Any]:
    found = node.attributes.get("operand_precision")
    return {"precision_config": [word.upper() for word in found]} if found else {}


def _labels(spatial: int, numbers: Attributes, part: str, letters: str, names: Sequence[str]) -> str:
    found = [""] * (spatial + 2)
    for letter, name in zip(letters, names, strict=True):
        found[numbers[f"{part}_{name}_dimension"]] = letter
    for place, axis in enumerate(numbers[f"{part}_spatial_dimensions"]):
        found[axis] = str(place)
    return "".join(found)


def _dot_general(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    numbers = attributes["dot_dimension_numbers"]
    found: dict[str, Any] = {}
    for side in ("lhs", "rhs"):
        if numbers[f"{side}_batching_dimensions"]:
            found[f"{side}_batch_dims"] = tuple(numbers[f"{side}_batching_dimensions"])
        found[f"{side}_contracting_dims"] = tuple(numbers[f"{side}_contracting_dimensions"])
    return found


def _write_dot(node: Node) -> dict[str, Any]:
    if "algorithm" in node.attributes:
        raise refuse(node, f"algorithm {node.attributes['algorithm']}")
    numbers = {
        f"{side}_{stablehlo}_dimensions": list(node.attributes.get(f"{side}_{hlo}_dims", ()))
        for stablehlo, hlo in (("batching", "batch"), ("contracting", "contracting"))
        for side in ("lhs", "rhs")
    }
    return {"dot_dimension_numbers": numbers, **_precision(node)}


def _dot(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return {"lhs_contracting_dims": ((types[0].rank or 1) - 1,), "rhs_contracting_dims": (0,)}


def gather(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    """`gather`, and `dynamic_gather` whose sizes are known."""
    found = _lists(attributes["dimension_numbers"])
    return {**found, "slice_sizes": tuple(attributes["slice_sizes"]), **_flag(attributes, "indices_are_sorted")}


_GATHER = (
    "offset_dims",
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
    "start_index_map",
    "index_vector_dim",
)
_SCATTER = (
    "update_window_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims",
    "index_vector_dim",
)


def _numbers(node: Node, names: Sequence[str]) -> dict[str, Any]:
    """Dimension numbers as StableHLO has them: those that are left out are empty lists."""
    found = {name: node.attributes.get(name, ()) for name in names}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def write_gather(node: Node) -> dict[str, Any]:
    return {
        "dimension_numbers": _numbers(node, _GATHER),
        "slice_sizes": list(node.attributes.get("slice_sizes", ())),
        **_flag(node.attributes, "indices_are_sorted"),
    }


def _write_scatter(node: Node) -> dict[str, Any]:
    numbers = _numbers(node, _SCATTER)
    numbers["scattered_dims_to_operand_dims"] = numbers.pop("scatter_dims_to_operand_dims")
    flags = (_flag(node.attributes, name) for name in ("indices_are_sorted", "unique_indices"))
    return {"scatter_dimension_numbers": numbers, **next(flags), **next(flags)}


def _scatter(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    found = _lists(attributes["scatter_dimension_numbers"])
    found["scatter_dims_to_operand_dims"] = found.pop("scattered_dims_to_operand_dims", ())
    return {**found, **_flag(attributes, "indices_are_sorted"), **_flag(attributes, "unique_indices")}


def _lists(numbers: Attributes) -> dict[str, Any]:
    """Dimension numbers as HLO has them: lists as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in numbers.items()}


def _flag(attributes: Attributes, name: str) -> dict[str, bool]:
    return {name: True} if attributes.get(name) else {}


def _renamed(opcode: str, **names: str) -> Form:
    """Attributes of StableHLO under HLO's names; lists as tuples."""

    def read(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
        return _lists({hlo: attributes[name] for hlo, name in names.items() if attributes.get(name) is not None})

    def write(node: Node) -> dict[str, Any]:
        found = {name: node.attributes.get(hlo) for hlo, name in names.items()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    return Form(opcode, read, write)


def _one_dimension(opcode: str, name: str = "dimension") -> Form:
    """One number of StableHLO that is a list in HLO, `dimensions`."""

    def write(node: Node) -> dict[str, Any]:
        found = node.attributes["dimensions"]
        return {name: found if isinstance(found, int) else found[0]}

    return Form(opcode, lambda attributes, types: {"dimensions": (attributes[name],)}, write)


def _compare(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    found = {"direction": attributes["comparison_direction"]}
    kind = attributes.get("compare_type", "NOTYPE")
    dtype = types[0].dtype
    if kind == "TOTALORDER" and dtype is not None and dtype.is_float:
        found["type"] = kind
    return found


def _write_compare(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {"comparison_direction": node.attributes["direction"]}
    kind = node.attributes.get("type")
    return {**found, "compare_type": kind} if kind == "TOTALORDER" else found


def slice_dims(starts: Sequence[Any], limits: Sequence[Any], strides: Sequence[Any]) -> dict[str, Any]:
    """The attribute of a `slice`; starts and limits may be sizes as text."""
    return {"slice": tuple(SliceDim(*part) for part in zip(starts, limits, strides, strict=True))}


def _slice(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return slice_dims(attributes["start_indices"], attributes["limit_indices"], attributes["strides"])


def write_slice(node: Node) -> dict[str, Any]:
    dims: Sequence[SliceDim] = node.attributes["slice"]
    names = {"start_indices": "start", "limit_indices": "limit", "strides": "stride"}
    return {name: [getattr(dim, part) for dim in dims] for name, part in names.items()}


def pad_dims(low: Sequence[Any], high: Sequence[Any], interior: Sequence[Any]) -> dict[str, Any]:
    """The attribute of a `pad`; numbers may be sizes as text."""
    return {"padding": tuple(PadDim(*part) for part in zip(low, high, interior, strict=True))}


def _pads(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return pad_dims(attributes["edge_padding_low"], attributes["edge_padding_high"], attributes["interior_padding"])


def write_pad(node: Node) -> dict[str, Any]:
    dims: Sequence[PadDim] = node.attributes["padding"]
    names = {"edge_padding_low": "low", "edge_padding_high": "high", "interior_padding": "interior"}
    return {name: [getattr(dim, part) for dim in dims] for name, part in names.items()}


def _sort(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    found: dict[str, Any] = {"dimensions": (attributes.get("dimension", -1) % (types[0].rank or 1),)}
    return {**found, **_flag(attributes, "is_stable")}


def _write_sort(node: Node) -> dict[str, Any]:
    (dimension,) = node.attributes.get("dimensions", (0,))
    return {"dimension": dimension, **_flag(node.attributes, "is_stable")}


_ALGORITHMS = {"DEFAULT": "rng_default", "THREE_FRY": "rng_three_fry", "PHILOX": "rng_philox"}


def _random_bits(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return {"algorithm": _ALGORITHMS[attributes["rng_algorithm"]]}


def _write_random_bits(node: Node) -> dict[str, Any]:
    names = {hlo: name for name, hlo in _ALGORITHMS.items()}
    return {"rng_algorithm": names[node.attributes["algorithm"]]}


def _write_random(node: Node) -> dict[str, Any]:
    return {"rng_distribution": node.attributes["distribution"].removeprefix("rng_").upper()}


def _random(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return {"distribution": f"rng_{attributes['rng_distribution'].lower()}"}


def _triangular_solve(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    flags = {name: True for name in ("left_side", "lower", "unit_diagonal") if attributes.get(name)}
    return {**flags, "transpose_a": attributes["transpose_a"]}


def _write_triangular_solve(node: Node) -> dict[str, Any]:
    flags = {name: bool(node.attributes.get(name)) for name in ("left_side", "lower", "unit_diagonal")}
    return {**flags, "transpose_a": node.attributes.get("transpose_a", "NO_TRANSPOSE")}


def _write_top_k(node: Node) -> dict[str, Any]:
    if not node.attributes.get("largest", True):
        raise refuse(node, "topk of the smallest")
    return {"k": node.attributes["k"]}


def _top_k(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return {"k": attributes["k"], "largest": True}


def _scan(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    carries = attributes["operandSegmentSizes"][1]
    found = {"dimensions": (attributes["dimension"],), "num_carries": carries}
    return {**found, **_flag(attributes, "is_reverse")}


def _write_scan(node: Node) -> dict[str, Any]:
    raise refuse(node, "scan, and jaxlib's bindings don't read CHLO's in every version")


def _collective(opcode: str, axis_name: str = "", name: str = "replica_groups") -> Form:
    """An attribute that lists devices, which is HLO's text; `axis_name` is what StableHLO calls its dimension."""

    def read(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
        rows = attributes.get(name) or []
        text = ",".join("{" + ",".join(str(device) for device in row if device >= 0) + "}" for row in rows)
        found: dict[str, Any] = {name: Raw(f"{{{text}}}" if isinstance(rows, list) else str(rows))}
        return {**found, "dimensions": (attributes[axis_name],)} if axis_name in attributes else found

    def write(node: Node) -> dict[str, Any]:
        text = node.attributes.get(name, Raw("{}")).text.strip()
        groups = replica_groups(text)
        if groups is None:
            raise refuse(node, f"{name}={text}")
        widest = max(map(len, groups), default=0)
        found: dict[str, Any] = {name: [[*group, *[-1] * (widest - len(group))] for group in groups]}
        if axis_name:
            if not node.attributes.get("dimensions"):
                raise refuse(node, f"{opcode} of several operands")
            (found[axis_name],) = node.attributes["dimensions"]
        if opcode == "all-to-all":
            found |= {"concat_dimension": found[axis_name], "split_count": widest}
        if "channel_id" in node.attributes:
            found["channel_handle"] = {"handle": node.attributes["channel_id"], "type": 1}
        return {**found, **_flag(node.attributes, "use_global_device_ids")}

    return Form(opcode, read, write)


OPERATIONS: Mapping[str, Form] = {
    "all_gather": _collective("all-gather", "all_gather_dim"),
    "all_reduce": _collective("all-reduce"),
    "all_to_all": _collective("all-to-all", "split_dimension"),
    "batch_norm_grad": _renamed("batch-norm-grad", epsilon="epsilon", feature_index="feature_index"),
    "batch_norm_inference": _renamed("batch-norm-inference", epsilon="epsilon", feature_index="feature_index"),
    "batch_norm_training": _renamed("batch-norm-training", epsilon="epsilon", feature_index="feature_index"),
    "cholesky": _renamed("cholesky", lower="lower"),
    "chlo.scan": Form("scan", _scan, _write_scan),
    "chlo.top_k": Form("topk", _top_k, _write_top_k),
    "collective_broadcast": _collective("collective-broadcast"),
    "collective_permute": _collective("collective-permute", name="source_target_pairs"),
    "compare": Form("compare", _compare, _write_compare),
    "concatenate": _one_dimension("concatenate"),
    "convolution": Form("convolution", convolution, write_convolution),
    "dot_general": Form("dot", _dot_general, _write_dot),
    "dynamic_slice": _renamed("dynamic-slice", dynamic_slice_sizes="slice_sizes"),
    "dynamic_update_slice": _renamed("dynamic-update-slice"),
    "fft": _renamed("fft", fft_type="fft_type", fft_length="fft_length"),
    "gather": Form("gather", gather, write_gather),
    "get_dimension_size": _one_dimension("get-dimension-size"),
    "infeed": _renamed("infeed"),
    "iota": _renamed("iota", iota_dimension="iota_dimension"),
    "map": _renamed("map", dimensions="dimensions"),
    "outfeed": _renamed("outfeed"),
    "pad": Form("pad", _pads, write_pad),
    "recv": _renamed("recv"),
    "reduce": _renamed("reduce", dimensions="dimensions"),
    "reduce_precision": _renamed("reduce-precision", exponent_bits="exponent_bits", mantissa_bits="mantissa_bits"),
    "reduce_scatter": _collective("reduce-scatter", "scatter_dimension"),
    "reduce_window": Form("reduce-window", _reduce_window, _write_reduce_window),
    "reverse": _renamed("reverse", dimensions="dimensions"),
    "rng": Form("rng", _random, _write_random),
    "rng_bit_generator": Form("rng-bit-generator", _random_bits, _write_random_bits),
    "scatter": Form("scatter", _scatter, _write_scatter),
    "select_and_scatter": Form("select-and-scatter", _reduce_window, _write_select_and_scatter),
    "send": _renamed("send"),
    "set_dimension_size": _one_dimension("set-dimension-size"),
    "slice": Form("slice", _slice, write_slice),
    "sort": Form("sort", _sort, _write_sort),
    "transpose": _renamed("transpose", dimensions="permutation"),
    "triangular_solve": Form("triangular-solve", _triangular_solve, _write_triangular_solve),
}
"""Operations that are one opcode, and how the attributes of the one are the other's."""

OLD: Mapping[str, Form] = {
    "cross-replica-sum": OPERATIONS["all_reduce"],
    "dot": Form("dot", _dot, _write_dot),
}
"""Operations that others have taken the place of: they are read, and not written."""

BY_OPCODE: Mapping[str, str] = {
    **{opcode: name for name, opcode in reversed([*PLAIN.items()])},
    **{form.opcode: name for name, form in OPERATIONS.items()},
}
"""HLO's opcodes -> the operations of StableHLO and CHLO."""


def in_stablehlo(node: Node) -> tuple[str, dict[str, Any]] | None:
    """The operation of StableHLO, and its attributes, that a node is, in plain values; None where it isn't one."""
    if node.op_type == "broadcast":
        return "broadcast_in_dim", {"broadcast_dimensions": list(node.attributes.get("dimensions", ()))}
    name = BY_OPCODE.get(node.op_type)
    if name is None:
        return None
    form = OPERATIONS.get(name)
    return name, {} if form is None else form.write(node)


REGIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("all_reduce", "chlo.scan", "map", "reduce", "reduce_scatter", "reduce_window", "scatter", "sort"),
        ("to_apply",),
    ),
    "select_and_scatter": ("select", "scatter"),
}
"""Operations that apply computations of scalars -> what HLO calls those."""
