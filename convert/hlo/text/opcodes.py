"""Which attributes an opcode takes, and which it can't do without."""

from __future__ import annotations

from collections.abc import Mapping

_REDUCTION = "to_apply dimensions"
_CONTRACTION = " | lhs_contracting_dims rhs_contracting_dims lhs_batch_dims rhs_batch_dims operand_precision"
_COLLECTIVE = "channel_id constrain_layout use_global_device_ids replica_groups mode"
_CHANNEL = " | channel_id is_host_transfer"
_ASYNC = " | calls async_execution_thread async_group_id"

_ROWS: dict[str, str] = {
    "all-gather all-gather-start": f"dimensions | {_COLLECTIVE}",
    "all-reduce all-reduce-start": f"to_apply | {_COLLECTIVE}",
    "all-to-all ragged-all-to-all": f" | dimensions {_COLLECTIVE}",
    "async-start async-update async-done": _ASYNC,
    "batch-norm-training batch-norm-inference batch-norm-grad": "epsilon feature_index",
    "broadcast concatenate reverse transpose get-dimension-size set-dimension-size": "dimensions",
    "call": "to_apply | is_composite",
    "cholesky": " | lower",
    "collective-broadcast": f" | {_COLLECTIVE}",
    "collective-permute collective-permute-start": f"source_target_pairs | slice_sizes {_COLLECTIVE}",
    "compare": "direction | type",
    "conditional": " | branch_computations true_computation false_computation",
    "convolution": "dim_labels | window feature_group_count batch_group_count operand_precision convolution_kind",
    "copy-start": " | cross_program_prefetch_index is_cross_program_prefetch",
    "custom-call": "custom_call_target | api_version batch_group_count called_computations custom_call_has_side_effect"
    " dim_labels feature_group_count operand_precision padding_type schedule to_apply window",
    "dot": f"{_CONTRACTION} algorithm",
    "dynamic-slice": "dynamic_slice_sizes",
    "fft": "fft_type fft_length",
    "fusion": "kind calls",
    "gather": "offset_dims collapsed_slice_dims start_index_map index_vector_dim slice_sizes |"
    " operand_batching_dims start_indices_batching_dims indices_are_sorted",
    "get-tuple-element": "index",
    "infeed": " | infeed_config",
    "iota": "iota_dimension",
    "map": "to_apply | dimensions",
    "outfeed": " | outfeed_config outfeed_shape",
    "pad": "padding",
    "ragged-dot": f"{_CONTRACTION} lhs_ragged_dims rhs_group_dims",
    "reduce": _REDUCTION,
    "reduce-precision": "exponent_bits mantissa_bits",
    "reduce-scatter": f"{_REDUCTION} | {_COLLECTIVE}",
    "reduce-window": "to_apply | window",
    "reshape dynamic-reshape": " | inferred_dimension",
    "rng": "distribution",
    "rng-bit-generator": "algorithm",
    "rng-get-and-update-state": "delta",
    "scaled-dot": f"{_CONTRACTION} algorithm",
    "scan": "to_apply dimensions | is_associative is_reverse num_carries",
    "scatter": "to_apply update_window_dims inserted_window_dims scatter_dims_to_operand_dims index_vector_dim |"
    " input_batching_dims scatter_indices_batching_dims indices_are_sorted unique_indices",
    "select-and-scatter": "select scatter | window",
    "send send-done recv recv-done": _CHANNEL,
    "slice": "slice",
    "sort": "to_apply | dimensions is_stable",
    "topk": "k | largest",
    "triangular-solve": " | left_side lower unit_diagonal transpose_a",
    "while": "condition body",
}
"""Opcodes -> the attributes they need | those they may have; the others have none that mean anything."""

REQUIRED: dict[str, tuple[str, ...]] = {}
ALLOWED: dict[str, frozenset[str]] = {}
for _opcodes, _names in _ROWS.items():
    for _opcode in _opcodes.split():
        REQUIRED[_opcode] = tuple(_names.partition("|")[0].split())
        ALLOWED[_opcode] = frozenset(_names.replace("|", " ").split())

_WRAPPED = ("-start", "-update", "-done")
_NONE: frozenset[str] = frozenset()
_BRANCHES = frozenset(("true_computation", "false_computation"))
_ANYWHERE = frozenset(("control-predecessors",))


def misplaced(opcode: str, attributes: Mapping[str, object], known: Mapping[str, object]) -> str | None:
    """What is wrong with an instruction's attributes, if anything: one that is missing, or that another opcode takes.

    Names that aren't in `known` pass. `call-start`, `fusion-done` and the like take what is taken by what they wrap.
    """
    allowed, required = ALLOWED.get(opcode), REQUIRED.get(opcode, ())
    if allowed is None:
        base = next((opcode.removesuffix(suffix) for suffix in _WRAPPED if opcode.endswith(suffix)), None)
        allowed = _NONE if base is None else ALLOWED.get(base, _NONE) | ALLOWED["async-start"]
    for name in required:
        if name not in attributes:
            return f"{opcode} needs {name}="
    if opcode == "conditional" and "branch_computations" not in attributes and not attributes.keys() >= _BRANCHES:
        return "conditional needs branch_computations=, or true_computation= and false_computation="
    for name in attributes:
        if name in known and name not in allowed and name not in _ANYWHERE:
            return f"{opcode} takes no {name}="
    return None
