"""Operators whose code comes from their kernels.

NumPy asks an operand that isn't an array what its functions are to do with it. So a `Traced` tensor stands in for the
array, and a kernel that is called with it writes its code instead of computing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...passes.types import DType
from ..kernels import lookup
from ..kernels.base import Attributes
from ..kernels.reduce import reduction
from .elementwise import Emit, cast_to, given, pointwise, reshaped_scalar
from .emitter import Emitter
from .reduction import dropped, mean, number, reduced
from .scalar import INNER, ROWS, apply, select
from .shapes import numbers
from .tensors import FLOATS, Decline, Tensor

_UFUNCS: dict[Any, str] = {
    **{np.add: "Add", np.subtract: "Sub", np.multiply: "Mul", np.true_divide: "Div", np.bitwise_and: "And"},
    **{np.less: "Less", np.greater: "Greater", np.maximum: "Max", np.minimum: "Min", np.isinf: "Infinite"},
    **{np.negative: "Neg", np.absolute: "Abs", np.sqrt: "Sqrt", np.exp: "Exp", np.log: "Log", np.tanh: "Tanh"},
    **{np.expm1: "Expm1", np.log1p: "Log1p"},
}
_REDUCTIONS: dict[Any, str] = {np.sum: "Add", np.prod: "Mul", np.max: "Max", np.min: "Min"}


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A tensor that NumPy's functions write code for.

    Raises:
        Decline: a function that isn't known here.
    """

    def __init__(self, em: Emitter, tensor: Tensor) -> None:
        self.em, self.tensor = em, tensor
        self.dtype, self.ndim = np.dtype(tensor.kind), len(tensor.dims)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **_: Any) -> Traced:
        if method != "__call__" or ufunc not in _UFUNCS:
            raise Decline(f"no code for {ufunc.__name__}")
        return self._written(_UFUNCS[ufunc], *operands)

    def __array_function__(self, function: Any, _: Any, operands: Sequence[Any], settings: dict[str, Any]) -> Any:
        if function is np.empty_like:
            return self  # for `out`, which isn't written
        if function is np.clip:
            value, low, high = operands
            return np.minimum(np.maximum(value, low), high)
        if function is np.where:
            condition, *choices = operands
            like = next(one for one in choices if isinstance(one, Traced))
            tensors = [condition.tensor, *map(like._tensor_of, choices)]
            return Traced(self.em, pointwise(self.em, like.tensor.kind, tensors, partial(select, self.em, None)))
        if function not in _REDUCTIONS:
            raise Decline(f"no code for {function.__name__}")
        axis = settings["axis"]
        axes = axis if isinstance(axis, tuple) else (axis,)
        return self._dropped(reduced(self.em, _REDUCTIONS[function], self.tensor, axes), axes, settings["keepdims"])

    def erf(self) -> Traced:
        return self._written("Erf", self)

    def mean(self, axes: Sequence[int], keep: bool) -> Traced:
        return self._dropped(mean(self.em, self.tensor, axes), axes, keep)

    def astype(self, dtype: np.dtype[Any], copy: bool = True) -> Traced:
        return Traced(self.em, cast_to(self.em, self.tensor, DType.of(dtype).value))

    def reshape(self, shape: tuple[int, ...]) -> Traced:
        """As a scalar."""
        return Traced(self.em, reshaped_scalar(self.em, self.tensor))

    def _written(self, name: str, *operands: Any) -> Traced:
        """A row of the scalar table."""
        kind = (ROWS.get(name) or INNER[name]).result or self.tensor.kind
        tensors = list(map(self._tensor_of, operands))
        return Traced(self.em, pointwise(self.em, kind, tensors, partial(apply, self.em, name)))

    def _tensor_of(self, operand: Any) -> Tensor:
        """An operand's tensor; numbers are of this one's kind."""
        return operand.tensor if isinstance(operand, Traced) else number(self.tensor.kind, np.asarray(operand).item())

    def _dropped(self, tensor: Tensor, axes: Sequence[int], keep: bool) -> Traced:
        return Traced(self.em, dropped(self.em, tensor, axes, keep))


def traced(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """An operator on tensors of any numbers."""
    made: Any = lookup("", attrs.node.op_type)(attrs, *(None if one is None else Traced(em, one) for one in inputs))
    return made.tensor


def traced_floats(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """An operator on floats."""
    tensors = given(inputs)
    if tensors[0].kind not in FLOATS:
        raise Decline(f"no code for {tensors[0].kind}")
    return traced(em, attrs, inputs)


_mean = reduction(lambda x, axes, keep: x.mean(axes, keep))  # type: ignore[reportAttributeAccessIssue]


def traced_reduction(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """A reduction over constant axes."""
    tensor, axes = given(inputs[:1])[0], inputs[1] if len(inputs) > 1 else None
    kernel = _mean if attrs.node.op_type == "ReduceMean" else lookup("", attrs.node.op_type)
    if tensor.kind == "bool":
        raise Decline("reductions of bool")
    return kernel(attrs, Traced(em, tensor), None if axes is None else np.array(numbers(em, axes), np.int64)).tensor


OPERATORS: dict[str, Emit] = {
    **dict.fromkeys(("Sum", "Max", "Min", "Clip"), traced),
    **dict.fromkeys(("HardSigmoid", "HardSwish", "LeakyRelu", "ThresholdedRelu", "Elu", "Selu", "Celu"), traced_floats),
    **dict.fromkeys(("Softplus", "Softsign", "Mish", "Swish", "Gelu", "Softmax", "LogSoftmax"), traced_floats),
    **dict.fromkeys(("Mean", "IsInf"), traced_floats),
    **{f"Reduce{name}": traced_reduction for name in ("Sum", "Prod", "Max", "Min", "L1", "L2", "SumSquare", "Mean")},
}
