"""What each operation of StableHLO and CHLO is in HLO: opcode and attributes, a row or a small function for each.

Source: the StableHLO specification (https://openxla.org/stablehlo/spec), whose operations have HLO's meaning; names of
attributes on HLO's side are those of `dialect.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....passes.sizes import dims_of
from ....passes.types import TensorType
from ..text.tree import Labels, PadDim, Raw, SliceDim, WindowDim

Attributes = Mapping[str, Any]

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


def _window(attributes: Attributes, rank: int) -> tuple[WindowDim, ...]:
    """The window of a convolution (whose sizes are the kernel's) or of reduce_window and select_and_scatter."""

    def items(name: str, default: Any) -> Sequence[Any]:
        found = attributes.get(name)
        return [default] * rank if found is None else found

    return tuple(
        WindowDim(size, stride, low, high, lhs, rhs, turned)
        for size, stride, (low, high), lhs, rhs, turned in zip(
            items("window_dimensions", 1),
            items("window_strides", 1),
            items("padding", (0, 0)),
            items("base_dilations", None) if "base_dilations" in attributes else items("lhs_dilation", 1),
            items("window_dilations", None) if "window_dilations" in attributes else items("rhs_dilation", 1),
            items("window_reversal", False),
            strict=True,
        )
    )


def _reduce_window(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return {"window": _window(attributes, len(attributes["window_dimensions"]))}


def convolution(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    """`convolution`, and `dynamic_conv` whose padding is known."""
    numbers = attributes["dimension_numbers"]
    spatial = len(numbers["input_spatial_dimensions"])
    kernel = dims_of(types[1].shape) or ()
    sizes = [kernel[axis] for axis in numbers["kernel_spatial_dimensions"]]
    groups = {name: attributes[name] for name in ("feature_group_count", "batch_group_count") if attributes[name] != 1}
    return {
        "window": _window({**attributes, "window_dimensions": sizes}, spatial),
        "dim_labels": Labels(
            _labels(spatial, numbers, "input", "bf", ("batch", "feature")),
            _labels(spatial, numbers, "kernel", "io", ("input_feature", "output_feature")),
            _labels(spatial, numbers, "output", "bf", ("batch", "feature")),
        ),
        **groups,
    }


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


def _dot(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return {"lhs_contracting_dims": ((types[0].rank or 1) - 1,), "rhs_contracting_dims": (0,)}


def gather(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    """`gather`, and `dynamic_gather` whose sizes are known."""
    found = _lists(attributes["dimension_numbers"])
    return {**found, "slice_sizes": tuple(attributes["slice_sizes"]), **_flag(attributes, "indices_are_sorted")}


def _scatter(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    found = _lists(attributes["scatter_dimension_numbers"])
    found["scatter_dims_to_operand_dims"] = found.pop("scattered_dims_to_operand_dims", ())
    return {**found, **_flag(attributes, "indices_are_sorted"), **_flag(attributes, "unique_indices")}


def _lists(numbers: Attributes) -> dict[str, Any]:
    """Dimension numbers as HLO has them: lists as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in numbers.items()}


def _flag(attributes: Attributes, name: str) -> dict[str, bool]:
    return {name: True} if attributes.get(name) else {}


def _renamed(**names: str) -> Callable[[Attributes, Sequence[TensorType]], dict[str, Any]]:
    """Attributes of StableHLO under HLO's names; lists as tuples."""

    def read(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
        return _lists({hlo: attributes[name] for hlo, name in names.items() if attributes.get(name) is not None})

    return read


def _compare(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    found = {"direction": attributes["comparison_direction"]}
    kind = attributes.get("compare_type", "NOTYPE")
    dtype = types[0].dtype
    if kind == "TOTALORDER" and dtype is not None and dtype.is_float:
        found["type"] = kind
    return found


def slice_dims(starts: Sequence[Any], limits: Sequence[Any], strides: Sequence[Any]) -> dict[str, Any]:
    """The attribute of a `slice`; starts and limits may be sizes as text."""
    return {"slice": tuple(SliceDim(*part) for part in zip(starts, limits, strides, strict=True))}


def _slice(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return slice_dims(attributes["start_indices"], attributes["limit_indices"], attributes["strides"])


def pad_dims(low: Sequence[Any], high: Sequence[Any], interior: Sequence[Any]) -> dict[str, Any]:
    """The attribute of a `pad`; numbers may be sizes as text."""
    return {"padding": tuple(PadDim(*part) for part in zip(low, high, interior, strict=True))}


def _pads(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return pad_dims(attributes["edge_padding_low"], attributes["edge_padding_high"], attributes["interior_padding"])


def _fft(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return {"fft_type": attributes["fft_type"], "fft_length": tuple(attributes["fft_length"])}


def _sort(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    found: dict[str, Any] = {"dimensions": (attributes.get("dimension", -1) % (types[0].rank or 1),)}
    return {**found, **_flag(attributes, "is_stable")}


def _random_bits(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    names = {"DEFAULT": "rng_default", "THREE_FRY": "rng_three_fry", "PHILOX": "rng_philox"}
    return {"algorithm": names[attributes["rng_algorithm"]]}


def _random(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return {"distribution": f"rng_{attributes['rng_distribution'].lower()}"}


def _triangular_solve(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    flags = {name: True for name in ("left_side", "lower", "unit_diagonal") if attributes.get(name)}
    return {**flags, "transpose_a": attributes["transpose_a"]}


def _top_k(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    return {"k": attributes["k"], "largest": True}


def _scan(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
    carries = attributes["operandSegmentSizes"][1]
    found = {"dimensions": (attributes["dimension"],), "num_carries": carries}
    return {**found, **_flag(attributes, "is_reverse")}


def _groups(name: str) -> Callable[[Attributes, Sequence[TensorType]], dict[str, Any]]:
    """An attribute that lists devices, as HLO's text."""

    def read(attributes: Attributes, types: Sequence[TensorType]) -> dict[str, Any]:
        rows = attributes.get(name) or []
        text = ",".join("{" + ",".join(str(device) for device in row if device >= 0) + "}" for row in rows)
        found: dict[str, Any] = {name: Raw(f"{{{text}}}" if isinstance(rows, list) else str(rows))}
        axis = next((attributes[one] for one in _GATHERED if one in attributes), None)
        return found if axis is None else {**found, "dimensions": (axis,)}

    return read


_GATHERED = ("all_gather_dim", "scatter_dimension", "split_dimension")

OPERATIONS: Mapping[str, tuple[str, Callable[[Attributes, Sequence[TensorType]], dict[str, Any]]]] = {
    "all_gather": ("all-gather", _groups("replica_groups")),
    "all_reduce": ("all-reduce", _groups("replica_groups")),
    "all_to_all": ("all-to-all", _groups("replica_groups")),
    "batch_norm_grad": ("batch-norm-grad", _renamed(epsilon="epsilon", feature_index="feature_index")),
    "batch_norm_inference": ("batch-norm-inference", _renamed(epsilon="epsilon", feature_index="feature_index")),
    "batch_norm_training": ("batch-norm-training", _renamed(epsilon="epsilon", feature_index="feature_index")),
    "cholesky": ("cholesky", lambda attributes, types: _flag(attributes, "lower")),
    "chlo.scan": ("scan", _scan),
    "chlo.top_k": ("topk", _top_k),
    "collective_broadcast": ("collective-broadcast", _groups("replica_groups")),
    "collective_permute": ("collective-permute", _groups("source_target_pairs")),
    "compare": ("compare", _compare),
    "concatenate": ("concatenate", lambda attributes, types: {"dimensions": (attributes["dimension"],)}),
    "convolution": ("convolution", convolution),
    "cross-replica-sum": ("all-reduce", _groups("replica_groups")),
    "dot": ("dot", _dot),
    "dot_general": ("dot", _dot_general),
    "dynamic_slice": ("dynamic-slice", _renamed(dynamic_slice_sizes="slice_sizes")),
    "dynamic_update_slice": ("dynamic-update-slice", _renamed()),
    "fft": ("fft", _fft),
    "gather": ("gather", gather),
    "get_dimension_size": ("get-dimension-size", lambda attributes, types: {"dimensions": (attributes["dimension"],)}),
    "infeed": ("infeed", _renamed()),
    "iota": ("iota", _renamed(iota_dimension="iota_dimension")),
    "map": ("map", _renamed(dimensions="dimensions")),
    "outfeed": ("outfeed", _renamed()),
    "pad": ("pad", _pads),
    "recv": ("recv", _renamed()),
    "reduce": ("reduce", _renamed(dimensions="dimensions")),
    "reduce_precision": (
        "reduce-precision",
        _renamed(exponent_bits="exponent_bits", mantissa_bits="mantissa_bits"),
    ),
    "reduce_scatter": ("reduce-scatter", _groups("replica_groups")),
    "reduce_window": ("reduce-window", _reduce_window),
    "reverse": ("reverse", _renamed(dimensions="dimensions")),
    "rng": ("rng", _random),
    "rng_bit_generator": ("rng-bit-generator", _random_bits),
    "scatter": ("scatter", _scatter),
    "select_and_scatter": ("select-and-scatter", _reduce_window),
    "send": ("send", _renamed()),
    "set_dimension_size": ("set-dimension-size", lambda attributes, types: {"dimensions": (attributes["dimension"],)}),
    "slice": ("slice", _slice),
    "sort": ("sort", _sort),
    "transpose": ("transpose", _renamed(dimensions="permutation")),
    "triangular_solve": ("triangular-solve", _triangular_solve),
}
"""Operations that are one opcode -> it, and its attributes out of StableHLO's and the operands' types."""

REGIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("all_reduce", "chlo.scan", "map", "reduce", "reduce_scatter", "reduce_window", "scatter", "sort"),
        ("to_apply",),
    ),
    "select_and_scatter": ("select", "scatter"),
}
"""Operations that apply computations of scalars -> what HLO calls those."""
