"""Building blocks of rules: `values` has functions of values of the hub, `expression` arithmetic on them, `loops` loops
around them."""

from .arrays import arange, concat, expr, length_of, product, shape_of, size_of, where
from .expression import Expr, Inconsistent, Operand, computed
from .loop_builder import loop
from .open_sizes import size_scalar
from .values import (
    MOST_FOLDED,
    MOST_MOVED,
    broadcast_to,
    cast,
    constant_like,
    pad,
    reshape,
    shape_vector,
    slice_axes,
    squeeze,
    stack,
    taken,
    transpose,
    unsqueeze,
    where_values,
)

__all__ = [
    "MOST_FOLDED",
    "MOST_MOVED",
    "Expr",
    "Inconsistent",
    "Operand",
    "arange",
    "broadcast_to",
    "cast",
    "computed",
    "concat",
    "constant_like",
    "expr",
    "length_of",
    "loop",
    "pad",
    "product",
    "reshape",
    "shape_of",
    "shape_vector",
    "size_of",
    "size_scalar",
    "slice_axes",
    "squeeze",
    "stack",
    "taken",
    "transpose",
    "unsqueeze",
    "where",
    "where_values",
]
