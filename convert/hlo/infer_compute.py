"""Shape inference of the HLO opcodes that compute over dimensions: dot, convolution, reductions, sorts, solvers."""

from __future__ import annotations

from collections.abc import Callable

from ...passes.graph import Node
from ...passes.types import Dim, DType, Shape, TensorType, Type
from .dialect import NAMES
from .dimension_numbers import DotNumbers
from .infer_tools import (
    Found,
    arity,
    as_stated,
    axes,
    axis,
    bound,
    check_parameters,
    check_results,
    choice,
    ints,
    number,
    operand,
    operands,
    refuse,
    region,
    same_dim,
    same_shape,
    same_type,
    sized,
    stated_dtype,
    text,
    windowed,
    windows,
)
from .text.tree import Labels

_FFTS = ("FFT", "IFFT", "RFFT", "IRFFT")
_TRANSPOSES = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
_COMPLEX = {DType.FLOAT32: DType.COMPLEX64, DType.FLOAT64: DType.COMPLEX128}
_REAL = {whole: part for part, whole in _COMPLEX.items()}


def _dot(node: Node) -> Found:
    """`dot`, and `ragged-dot` where it contracts no ragged dimension; the element type may be a wider, stated one."""
    (dtype, lhs), (_, rhs) = operand(node), operand(node, 1)
    batch = axes(node, "lhs_batch_dims", len(lhs), ()), axes(node, "rhs_batch_dims", len(rhs), ())
    inner = axes(node, "lhs_contracting_dims", len(lhs), ()), axes(node, "rhs_contracting_dims", len(rhs), ())
    for what, (mine, theirs) in (("batch", batch), ("contracting", inner)):
        if len(mine) != len(theirs) or not all(map(same_dim, (lhs[a] for a in mine), (rhs[b] for b in theirs))):
            refuse(
                node, f"{what} dimensions of {text(TensorType(dtype, lhs))} and {text(TensorType(dtype, rhs))} differ"
            )
    if any(set(batch[side]) & set(inner[side]) for side in (0, 1)):
        refuse(node, "a dimension is both a batch and contracted")
    kept = DotNumbers(*batch, *inner)
    rows = [lhs[axis] for axis in (*kept.lhs_batch, *kept.rows(len(lhs)))]
    return [TensorType(stated_dtype(node, dtype), (*rows, *(rhs[axis] for axis in kept.columns(len(rhs)))))]


def _plain_dot(node: Node) -> Found:
    arity(node, 2)
    return _dot(node)


def _labels(node: Node) -> tuple[str, str, str, int]:
    found = node.attributes.get("dim_labels")
    if not isinstance(found, Labels):
        refuse(node, "the attribute dim_labels is missing")
    spatial = len(found.lhs) - 2
    digits = "".join(map(str, range(spatial))) if spatial <= 10 else ""
    for part, letters in ((found.lhs, "bf"), (found.rhs, "io"), (found.out, "bf")):
        if spatial < 0 or sorted(part) != sorted(digits + letters):
            refuse(node, f"dim_labels={found.lhs}_{found.rhs}->{found.out}")
    return found.lhs, found.rhs, found.out, spatial


def _convolution(node: Node) -> Found:
    arity(node, 2)
    left, right, out, spatial = _labels(node)
    (dtype, lhs), (_, rhs) = operand(node, 0, spatial + 2), operand(node, 1, spatial + 2)
    window = windows(node, spatial)
    groups, batches = number(node, "feature_group_count", 1), number(node, "batch_group_count", 1)
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        refuse(node, f"feature_group_count={groups}, batch_group_count={batches}")
    batch, features = lhs[left.index("b")], lhs[left.index("f")]
    reads, makes = rhs[right.index("i")], rhs[right.index("o")]
    inputs, outputs, many = bound(reads), bound(makes), bound(batch)
    if inputs is not None and not same_dim(features, inputs * groups):
        refuse(node, f"{bound(features)} features for {groups} groups of a kernel with {inputs}")
    if outputs is not None and (outputs % groups or outputs % batches):
        refuse(node, f"{outputs} output features don't come in {max(groups, batches)} groups")
    if many is not None and many % batches:
        refuse(node, f"a batch of {many} doesn't come in {batches} groups")
    dims: dict[str, Dim] = {"b": sized(batch, None if many is None else many // batches), "f": makes}
    for position, dim in enumerate(window):
        label = str(position)
        if not same_dim(rhs[right.index(label)], dim.size):
            refuse(node, f"the window has size {dim.size} along a kernel of {bound(rhs[right.index(label)])}")
        dims[label] = windowed(lhs[left.index(label)], dim)
    return [TensorType(stated_dtype(node, dtype), tuple(dims[label] for label in out))]


def _folding(node: Node, many: int, name: str = "to_apply") -> list[DType]:
    """Element types of what a computation folds: `many` values into as many; the last `many` operands start them."""
    if many < 1 or len(node.inputs) != 2 * many:
        refuse(node, f"{len(node.inputs)} operands where it takes as many starts as arrays")
    starts: list[Type | None] = [TensorType(operand(node, index, 0)[0], ()) for index in range(many, 2 * many)]
    values: list[Type | None] = [TensorType(operand(node, index)[0], ()) for index in range(many)]
    check_results(node, name, check_parameters(node, name, [*starts, *values], "values"), starts)
    return [operand(node, index)[0] for index in range(many, 2 * many)]


def _common_shape(node: Node, many: int) -> Shape:
    """The one shape of the first `many` operands."""
    shape = operand(node)[1]
    for _, other in operands(node, 1, many):
        if not same_shape(shape, other):
            refuse(node, "its operands have different shapes")
    return shape


def _reduce(node: Node) -> Found:
    many = len(node.inputs) // 2
    dtypes = _folding(node, many)
    shape = _common_shape(node, many)
    gone = axes(node, "dimensions", len(shape))
    return [TensorType(dtype, tuple(dim for at, dim in enumerate(shape) if at not in gone)) for dtype in dtypes]


def _reduce_window(node: Node) -> Found:
    many = len(node.inputs) // 2
    dtypes = _folding(node, many)
    shape = _common_shape(node, many)
    dims = tuple(map(windowed, shape, windows(node, len(shape))))
    return [TensorType(dtype, dims) for dtype in dtypes]


def _select_and_scatter(node: Node) -> Found:
    arity(node, 3)
    (dtype, shape), (other, source), (start, _) = operand(node), operand(node, 1), operand(node, 2, 0)
    if not dtype is other is start:
        refuse(node, "its operands have different element types")
    positions = tuple(map(windowed, shape, windows(node, len(shape))))
    if not same_shape(positions, source):
        refuse(node, f"source {text(TensorType(dtype, source))} for windows {text(TensorType(dtype, positions))}")
    scalar = TensorType(dtype, ())
    check_results(
        node, "select", check_parameters(node, "select", [scalar, scalar], "values"), [TensorType(DType.BOOL, ())]
    )
    check_results(node, "scatter", check_parameters(node, "scatter", [scalar, scalar], "values"), [scalar])
    return [TensorType(dtype, shape)]


def _map(node: Node) -> Found:
    shape = _common_shape(node, len(node.inputs))
    applied = check_parameters(node, "to_apply", [TensorType(dtype, ()) for dtype, _ in operands(node)], "values")
    found: list[Type | None] = []
    for value in applied.outputs:
        if value.tensor.dtype is None or value.rank != 0:
            refuse(node, f"to_apply results in {text(value.type)}, no scalar")
        found.append(TensorType(value.tensor.dtype, shape))
    return found


def _sort(node: Node) -> Found:
    shape = _common_shape(node, len(node.inputs))
    axis(node, len(shape))
    pairs = [TensorType(dtype, ()) for dtype, _ in operands(node) for _ in (0, 1)]
    check_results(node, "to_apply", check_parameters(node, "to_apply", pairs, "values"), [TensorType(DType.BOOL, ())])
    return [TensorType(dtype, dims) for dtype, dims in operands(node)]


def _topk(node: Node) -> Found:
    arity(node, 1)
    dtype, shape = operand(node)
    most, wanted = bound(shape[-1]) if shape else 0, number(node, "k")
    if not shape or wanted < 0 or (most is not None and wanted > most):
        refuse(node, f"k={wanted} of {text(TensorType(dtype, shape))}")
    dims = (*shape[:-1], wanted)
    return [TensorType(dtype, dims), TensorType(DType.INT32, dims)]


def _scan(node: Node) -> Found:
    """`scan`: how its operands and results are shared out is told by the stated types and `num_carries`."""
    found = as_stated(node)
    carries = number(node, "num_carries", 0)
    if not found or not 0 <= carries <= min(len(node.inputs), len(found)):
        refuse(node, f"{carries} carries of {len(node.inputs)} operands and {len(found)} results")
    region(node)
    return found


def _fft(node: Node) -> Found:
    arity(node, 1)
    dtype, shape = operand(node)
    kind, lengths = choice(node, "fft_type", _FFTS), ints(node, "fft_length")
    wanted = _COMPLEX if kind == "RFFT" else _REAL
    if dtype not in wanted:
        refuse(node, f"{kind} takes no {NAMES.get(dtype, dtype.value)}")
    if not 1 <= len(lengths) <= min(3, len(shape)):
        refuse(node, f"fft_length has {len(lengths)} entries for rank {len(shape)}")
    here: list[Dim] = list(lengths)
    last = lengths[-1] // 2 + 1 if lengths[-1] else 0
    if kind == "IRFFT":
        here[-1] = last
    first = len(shape) - len(lengths)
    if not same_shape(tuple(here), shape[first:]):
        refuse(node, f"{kind} of {text(TensorType(dtype, shape))} with fft_length={{{','.join(map(str, lengths))}}}")
    if kind == "RFFT":
        return [TensorType(_COMPLEX[dtype], (*shape[:-1], last))]
    if kind == "IRFFT":
        return [TensorType(_REAL[dtype], (*shape[:-1], lengths[-1]))]
    return [TensorType(dtype, shape)]


def _squares(node: Node, index: int) -> tuple[DType, Shape]:
    dtype, shape = operand(node, index)
    if len(shape) < 2 or not same_dim(shape[-1], shape[-2]) or not (dtype.is_float or dtype.is_complex):
        refuse(node, f"{text(TensorType(dtype, shape))} isn't a stack of square matrices")
    return dtype, shape


def _cholesky(node: Node) -> Found:
    arity(node, 1)
    return [TensorType(*_squares(node, 0))]


def _triangular_solve(node: Node) -> Found:
    arity(node, 2)
    dtype, a = _squares(node, 0)
    other, b = operand(node, 1, len(a))
    choice(node, "transpose_a", _TRANSPOSES, "NO_TRANSPOSE")
    side = -2 if node.attributes.get("left_side", False) else -1
    if other is not dtype or not same_shape(a[:-2], b[:-2]) or not same_dim(a[-1], b[side]):
        refuse(node, f"{text(TensorType(dtype, a))} and {text(TensorType(other, b))} don't fit")
    return [TensorType(dtype, b)]


def _batch_norm(node: Node) -> Found:
    count = {"batch-norm-training": 3, "batch-norm-inference": 5, "batch-norm-grad": 5}[node.op_type]
    arity(node, count)
    dtype, shape = operand(node)
    if not dtype.is_float:
        refuse(node, f"it doesn't take {NAMES.get(dtype, dtype.value)}")
    features = TensorType(dtype, (shape[axis(node, len(shape), "feature_index")],))
    for index in range(1, count):
        wanted = TensorType(dtype, shape) if (node.op_type, index) == ("batch-norm-grad", 4) else features
        found = TensorType(*operand(node, index))
        if not same_type(found, wanted):
            refuse(node, f"operand {index} is {text(found)}, not {text(wanted)}")
    whole = TensorType(dtype, shape)
    return [whole] if node.op_type == "batch-norm-inference" else [whole, features, features]


COMPUTING: dict[str, Callable[[Node], Found]] = {
    "dot": _plain_dot,
    "scaled-dot": _dot,
    "convolution": _convolution,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "select-and-scatter": _select_and_scatter,
    "map": _map,
    "sort": _sort,
    "topk": _topk,
    "scan": _scan,
    "fft": _fft,
    "cholesky": _cholesky,
    "triangular-solve": _triangular_solve,
    "batch-norm-training": _batch_norm,
    "batch-norm-inference": _batch_norm,
    "batch-norm-grad": _batch_norm,
    "ragged-dot": as_stated,
}
