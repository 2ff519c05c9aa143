"""Where onnx's reference evaluator gives results of other element types than its operators' schemas allow.

Its kernels compute in the types that NumPy makes of mixed operands: an integer divided by its norm is a float64 there,
which a Cast or a comparison further on hides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto
from onnx.defs import OpSchema, SchemaError, get_schema
from onnx.helper import tensor_dtype_to_np_dtype

Results = Mapping[str, Any]
Check = Callable[[Results], str]
_Expected = Callable[[Results], "np.dtype[Any] | None"]

_NUMBERS = {
    f"tensor({name.lower()})": tensor_dtype_to_np_dtype(code)
    for name, code in TensorProto.DataType.items()
    if code not in (TensorProto.UNDEFINED, TensorProto.STRING)
}
"""NumPy's element types by the names that schemas have for them."""


def type_check(nodes: Sequence[NodeProto], opsets: Mapping[str, int]) -> Check:
    """A function of what nodes were given and gave, by name, that tells what has another element type than it must, in
    one line, or ""."""
    pairs: list[tuple[str, _Expected]] = []
    for node in nodes:
        try:
            schema = get_schema(node.op_type, opsets.get(node.domain, 0), node.domain)
        except SchemaError:
            continue
        pairs += _expectations(node, schema)

    def check(results: Results) -> str:
        for name, expected in pairs:
            dtype = _dtype(results.get(name))
            wanted = None if dtype is None else expected(results)
            if wanted is not None and dtype != wanted:
                return f"gives {name!r} as {dtype}, which is {wanted} by ONNX"
        return ""

    return check


def _expectations(node: NodeProto, schema: OpSchema) -> Iterator[tuple[str, _Expected]]:
    allowed = {one.type_param_str: list(one.allowed_type_strs) for one in schema.type_constraints}
    sources = {formal.type_str: name for name, formal in _bound(node.input, schema.inputs) if formal.is_homogeneous}
    for name, formal in _bound(node.output, schema.outputs):
        if formal.type_str in sources and formal.is_homogeneous:
            source = sources[formal.type_str]
            yield name, lambda results, source=source: _dtype(results.get(source))
        else:
            (first, *others) = allowed.get(formal.type_str, [formal.type_str])
            if not others and first in _NUMBERS:
                yield name, lambda _, first=first: _NUMBERS[first]


def _bound(names: Sequence[str], formals: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """What is there under its formal parameter, of which the last may take several."""
    for index, name in enumerate(names):
        if name and formals:
            yield name, formals[min(index, len(formals) - 1)]


def _dtype(value: Any) -> np.dtype[Any] | None:
    """Of numbers; strings have many in NumPy."""
    found = value.dtype if isinstance(value, np.ndarray | np.generic) else None
    return None if found is None or found.kind in "OUS" else found
