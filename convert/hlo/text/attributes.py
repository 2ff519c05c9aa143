"""Attributes: which kind of value each name has, how a kind is read and written, which opcode takes or needs which."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .lexer import NAME, Scanner, quoted, spelled, token
from .tree import Labels, PadDim, Raw, SliceDim, WindowDim

_WORD = token(f"({NAME})")
_FLOAT = token(r"(-?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|inf|nan))(?![\w.])")
_LABELS = token(r"([0-9bf?]{2,})_([0-9io?]{2,})->([0-9bf?]{2,})(?![\w.])")
_SIZES = token(r"(-?\d+(?:x-?\d+)*)(?![\w.])")
_PADS = token(r"(-?\d+_-?\d+(?:_-?\d+)?(?:x-?\d+_-?\d+(?:_-?\d+)?)*)(?![\w.])")
_PLAIN_INTS = token(r"\{((?:\d{1,9}(?>(?:,\s*+\d{1,9})*))?)\}")
_FIELD = token(f"({NAME})=")
_LONGEST = 19  # digits


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value is: `read` passes it in a text, `write` gives its text."""

    read: Callable[[Scanner], Any]
    write: Callable[[Any], str]


def _word(scanner: Scanner) -> str:
    match = scanner.match(_WORD)
    if not match:
        scanner.expected("a word")
    return match[1]


def _flag(scanner: Scanner) -> bool:
    start = scanner.skip()
    word = _word(scanner)
    if word not in ("true", "false"):
        scanner.fail(f"true or false expected, {word[:30]!a} found", start)
    return word == "true"


def _one_of(choices: str) -> Kind:
    """One of some words."""
    words = choices.split()

    def read(scanner: Scanner) -> str:
        start = scanner.skip()
        word = _word(scanner)
        if word not in words:
            scanner.fail(f"{', '.join(words[:-1])} or {words[-1]} expected, {word[:30]!a} found", start)
        return word

    return Kind(read, str)


def _number(scanner: Scanner) -> float:
    match = scanner.match(_FLOAT)
    if not match:
        scanner.expected("a number")
    return float(match[1])


def braced(item: Callable[[Scanner], Any]) -> Callable[[Scanner], tuple[Any, ...]]:
    """`{item, item}`."""

    def read(scanner: Scanner) -> tuple[Any, ...]:
        scanner.expect("{")
        items: list[Any] = []
        while not scanner.accept("}"):
            if items:
                scanner.expect(",")
            items.append(item(scanner))
        return tuple(items)

    return read


_any_integers = braced(Scanner.integer)


def _integers(scanner: Scanner) -> tuple[int, ...]:
    match = scanner.match(_PLAIN_INTS)
    if match:
        return tuple(map(int, match[1].split(","))) if match[1] else ()
    return _any_integers(scanner)


def _range(scanner: Scanner) -> SliceDim:
    scanner.expect("[")
    numbers = [scanner.integer()]
    while len(numbers) < 3 and scanner.accept(":"):
        numbers.append(scanner.integer())
    if len(numbers) == 1:
        scanner.expected("':'")
    scanner.expect("]")
    return SliceDim(*numbers)


def _write_range(dim: SliceDim) -> str:
    return f"[{dim.start}:{dim.limit}:{dim.stride}]" if dim.stride != 1 else f"[{dim.start}:{dim.limit}]"


def _numbers(scanner: Scanner, match: re.Match[str], separator: str) -> list[tuple[int, ...]]:
    parts = [part.split(separator) for part in match[1].split("x")]
    if any(len(number) > _LONGEST for part in parts for number in part):
        scanner.fail("a number doesn't fit 64 bits", match.start(1))
    return [tuple(map(int, part)) for part in parts]


def _padding(scanner: Scanner) -> tuple[PadDim, ...]:
    match = scanner.match(_PADS)
    return tuple(PadDim(*dim) for dim in _numbers(scanner, match, "_")) if match else ()


def _write_padding(dims: tuple[PadDim, ...]) -> str:
    return "x".join(f"{dim.low}_{dim.high}_{dim.interior}" if dim.interior else f"{dim.low}_{dim.high}" for dim in dims)


_WINDOW = {
    "size": "size",
    "stride": "stride",
    "lhs_dilate": "lhs_dilate",
    "rhs_dilate": "rhs_dilate",
    "rhs_reversal": "reversal",
}


def _window(scanner: Scanner) -> tuple[WindowDim, ...]:
    """`{size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x0}`: size alone must be there."""
    start = scanner.skip()
    scanner.expect("{")
    fields: dict[str, list[tuple[int, ...]]] = {}
    while not scanner.accept("}"):
        at = scanner.skip()
        name = scanner.match(_FIELD)
        if not name:
            scanner.expected("a field of the window or '}'")
        if name[1] not in (*_WINDOW, "pad"):
            scanner.fail(f"a window has no {name[1][:30]!a}", at)
        if name[1] in fields:
            scanner.fail(f"{name[1]} appears twice in the window", at)
        match = scanner.match(_PADS if name[1] == "pad" else _SIZES)
        if not match:
            scanner.expected("a number for each dimension")
        fields[name[1]] = _numbers(scanner, match, "_")
    rank = len(fields.get("size", ()))
    for name, values in fields.items():
        if len(values) != rank or (name == "pad" and any(len(value) != 2 for value in values)):
            scanner.fail(f"the window's {name} doesn't have {rank} dimensions as its size has", start)
    dims: list[WindowDim] = []
    for axis in range(rank):
        dim: dict[str, Any] = {field: fields[name][axis][0] for name, field in _WINDOW.items() if name in fields}
        if "pad" in fields:
            dim["low"], dim["high"] = fields["pad"][axis]
        dim["reversal"] = bool(dim.get("reversal"))
        dims.append(WindowDim(**dim))
    return tuple(dims)


def _write_window(dims: tuple[WindowDim, ...]) -> str:
    fields = {name: [int(getattr(dim, field)) for dim in dims] for name, field in _WINDOW.items()}
    plain = WindowDim(1)
    texts = {
        name: "x".join(map(str, values))
        for name, values in fields.items()
        if name == "size" or any(value != getattr(plain, _WINDOW[name]) for value in values)
    }
    if any(dim.low or dim.high for dim in dims):
        texts["pad"] = "x".join(f"{dim.low}_{dim.high}" for dim in dims)
    order = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")
    return "{" + " ".join(f"{name}={texts[name]}" for name in order if name in texts) + "}"


def _labels(scanner: Scanner) -> Labels:
    match = scanner.match(_LABELS)
    if not match:
        scanner.expected("labels as in b01f_01io->b01f")
    return Labels(match[1], match[2], match[3])


def _each(write: Callable[[Any], str]) -> Callable[[tuple[Any, ...]], str]:
    return lambda values: "{" + ", ".join(map(write, values)) + "}"


def _write_ints(values: tuple[int, ...]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


_INT = Kind(Scanner.integer, str)
_FLAG = Kind(_flag, lambda value: "true" if value else "false")
_NUMBER = Kind(_number, lambda value: repr(float(value)))
_ENUM = Kind(_word, str)
_ENUMS = Kind(braced(_word), _each(str))
_STRING = Kind(Scanner.string, quoted)
NAMED = Kind(Scanner.name, spelled)
ALL_NAMED = Kind(braced(Scanner.name), _each(spelled))
_INTS = Kind(_integers, _write_ints)
_SLICES = Kind(braced(_range), _each(_write_range))
RAW = Kind(lambda scanner: Raw(scanner.raw()), lambda value: value.text)

_BY_KIND: tuple[tuple[Kind, str], ...] = (
    (
        _INT,
        "index iota_dimension inferred_dimension index_vector_dim feature_index feature_group_count batch_group_count"
        " exponent_bits mantissa_bits k num_carries channel_id delta cross_program_prefetch_index async_group_id",
    ),
    (
        _FLAG,
        "indices_are_sorted unique_indices is_stable largest is_reverse is_associative left_side lower unit_diagonal"
        " use_global_device_ids constrain_layout is_host_transfer custom_call_has_side_effect is_composite"
        " is_cross_program_prefetch",
    ),
    (_NUMBER, "epsilon"),
    (_one_of("EQ NE GE GT LE LT"), "direction"),
    (_one_of("FLOAT TOTALORDER SIGNED UNSIGNED"), "type"),
    (_one_of("FFT IFFT RFFT IRFFT"), "fft_type"),
    (_one_of("NO_TRANSPOSE TRANSPOSE ADJOINT"), "transpose_a"),
    (_one_of("rng_uniform rng_normal"), "distribution"),
    (_ENUM, "algorithm kind schedule api_version padding_type mode convolution_kind"),
    (_ENUMS, "operand_precision"),
    (_STRING, "custom_call_target infeed_config outfeed_config async_execution_thread"),
    (
        NAMED,
        "to_apply condition body select scatter calls true_computation false_computation",
    ),
    (ALL_NAMED, "branch_computations called_computations control-predecessors"),
    (
        _INTS,
        "dimensions dynamic_slice_sizes slice_sizes fft_length offset_dims collapsed_slice_dims start_index_map"
        " operand_batching_dims start_indices_batching_dims update_window_dims inserted_window_dims"
        " scatter_dims_to_operand_dims input_batching_dims scatter_indices_batching_dims lhs_contracting_dims"
        " rhs_contracting_dims lhs_batch_dims rhs_batch_dims lhs_ragged_dims rhs_group_dims",
    ),
    (_SLICES, "slice"),
    (Kind(_padding, _write_padding), "padding"),
    (Kind(_window, _write_window), "window"),
    (Kind(_labels, lambda labels: f"{labels.lhs}_{labels.rhs}->{labels.out}"), "dim_labels"),
)

KINDS: dict[str, Kind] = {name: kind for kind, names in _BY_KIND for name in names.split()}
"""Attributes that mean something to a computation; any other is carried as text (`RAW`)."""


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
            return f"{opcode} doesn't take {name}="
    return None
