"""Building OpenVINO layers by name: which opset each is taken from, and the types of what it produces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.rewrite import Builder
from ...passes.tensor import TensorData
from ...passes.types import DType, Type
from .dialect import DOMAIN
from .empty_images import empty_image, no_images, one_image, pools_nothing
from .empty_products import empty_product
from .layers import LAYERS


class OpenVINO:
    """The dialect that the hub is lowered to. `op.Add` is OpenVINO's Add of opset1."""

    name = "openvino"

    def resolve(self, op_type: str) -> tuple[str, int]:
        spec = LAYERS.get(op_type)
        if spec is None or not spec.opset:
            raise Unsupported(op_type, "not among the OpenVINO operators that are built here")
        return DOMAIN, spec.opset

    def infer(self, node: Node) -> Sequence[Type | None]:
        spec = LAYERS.get(node.op_type)
        return [None] * len(node.outputs) if spec is None or spec.result is None else spec.result(node)


OPENVINO = OpenVINO()


def _is_miscopied(dtype: DType | None) -> bool:
    """Whether Identity of OpenVINO's CPU copies something else: pointers to text; a byte for each element of 4 bits or
    less, beyond the memory of both tensors."""
    return dtype is not None and dtype.bits < 8


class LayerBuilder(Builder):
    """A builder of layers, which writes the attributes that the table of layers has defaults for."""

    def call(self, op_type: str, *inputs: Any, _domain: str | None = None, **options: Any) -> Any:
        """As `Builder.call`."""
        if op_type == "Identity" and _is_miscopied(inputs[0].tensor.dtype):
            op_type, inputs = "Reshape", (inputs[0], self._shape(inputs[0]))
        spec = LAYERS.get(op_type) if _domain is None else None
        if spec is not None:
            zeros = empty_product(self, op_type, inputs, options) or empty_image(self, op_type, inputs, options)
            if zeros is not None:
                return zeros
            if pools_nothing(op_type, inputs):
                pooled = self.call(op_type, one_image(self, inputs[0]), *inputs[1:], **options)
                return (
                    no_images(self, pooled) if isinstance(pooled, Value) else [no_images(self, one) for one in pooled]
                )
        made = super().call(op_type, *inputs, _domain=_domain, **{**({} if spec is None else spec.defaults), **options})
        return self._empty(made) if op_type == "Gather" and spec is not None else made

    def _empty(self, gathered: Value) -> Value:
        """A constant for what is gathered out of nothing, or nowhere: OpenVINO's CPU divides by its size."""
        shape, dtype = gathered.tensor.static_shape, gathered.tensor.dtype
        if shape is None or 0 not in shape or dtype is None or dtype is DType.STRING:
            return gathered
        return self.const(TensorData(dtype, shape, np.zeros(shape, dtype.numpy)))

    def _shape(self, value: Value) -> Value:
        sizes = value.tensor.static_shape
        return self.ShapeOf(value) if sizes is None else self.const(np.array(sizes, np.int64))
