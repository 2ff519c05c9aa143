"""What a description of a module (see `mlir_module.py`) says: types, constants, whether sizes are open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Graph
from ....passes.sizes import size_of, symbols
from ....passes.tensor import TensorData
from ....passes.types import DType, Interval, TensorType
from ....runtime.oracles.hlo_names import last_step
from ....runtime.oracles.mlir_module import is_open
from ..dialect import DOMAIN
from . import integers
from .integers import Known
from .special import Operation
from .spelling import DTYPES

DEVICES: Mapping[str, str] = {"mhlo.num_replicas": "replica_count", "mhlo.num_partitions": "num_partitions"}
"""What a module's attributes say of devices -> what HLO's header calls it."""

_DYNAMIC = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("dynamic_broadcast_in_dim", "dynamic_conv", "dynamic_gather", "dynamic_iota", "dynamic_pad"),
        *("dynamic_reshape", "real_dynamic_slice"),
    )
)
"""Operations that take sizes as operands."""


def type_of(described: Any) -> TensorType | None:
    if described is None:
        return None
    element, sizes = described
    dtype = DTYPES.get(element)
    if dtype is None:
        raise Unsupported("module", f"values of the element type {element}")
    return TensorType(dtype, tuple(Interval(0, dim[1]) if isinstance(dim, list) else dim for dim in sizes))


def data_of(buffer: memoryview, dtype: DType, shape: tuple[int, ...]) -> TensorData:
    return TensorData(dtype, shape, load=lambda: np.frombuffer(buffer, dtype.numpy).reshape(shape))


def unchanged(block: Mapping[str, Any]) -> set[int]:
    """Which arguments a block returns as they are, at their own place."""
    returned = block["operations"][-1][1]
    return {place for place, (number, _) in enumerate(block["arguments"]) if returned[place] == number}


def has_open_sizes(functions: Mapping[str, Any]) -> bool:
    def in_block(block: Any) -> bool:
        return any(is_open(type) for _, type in block["arguments"]) or any(
            one[0] in _DYNAMIC or any(is_open(type) for _, type in one[3]) or any(map(in_block, one[4]))
            for one in block["operations"]
        )

    return any(one["block"] is not None and in_block(one["block"]) for one in functions.values())


def ordered_effects(description: Mapping[str, Any]) -> str:
    """What hands tokens on in a module, in words behind a colon: JAX's names of calls whose order counts."""

    def in_block(block: Any) -> Iterator[str]:
        for name, _, _, results, blocks, location in block["operations"]:
            if name == "stablehlo.custom_call" and any(type is None for _, type in results):
                yield last_step(location)
            for inner in blocks:
                yield from in_block(inner)

    functions = description["functions"].values()
    names = dict.fromkeys(name for one in functions if one["block"] is not None for name in in_block(one["block"]))
    return f": ordered effects ({', '.join(names)}) call Python" if any(names) else ""


def symbols_in(graph: Graph) -> set[str]:
    """The symbols of all sizes in a graph."""
    found: set[str] = set()
    texts: set[str] = set()
    for inner in graph.graphs():
        for value in inner.values():
            if isinstance(value.type, TensorType):
                texts.update(dim for dim in value.type.shape or () if isinstance(dim, str))
        for node in inner.nodes:
            if node.op == (DOMAIN, "size"):
                texts.add(node.attributes["size"])
    for text in texts:
        size = size_of(text)
        found |= set() if size is None else symbols(size)
    return found


def computed_scalar(functions: Mapping[str, Any], block: Any, found: dict[int, Known], constants: memoryview) -> Any:
    """The only result of a function of integer scalars; None where it isn't one."""
    for operation in block["operations"]:
        one = Operation(*operation)
        if one.name == "func.return":
            item = found.get(one.operands[0]) if len(one.operands) == 1 else None
            return None if item is None else item[()]
        if len(one.results) != 1 or (described := type_of(one.results[0][1])) is None or described.shape != ():
            return None
        number = one.results[0][0]
        if one.name == "stablehlo.constant":
            start, length, *_ = one.attributes["value"]
            item = data_of(constants[start : start + length], described.dtype or DType.INT32, ()).numpy().item()
            found[number] = integers.known(item, ())
            continue
        given = [found.get(operand, integers.unknown(())) for operand in one.operands]
        if one.name == "func.call":
            inner = functions[one.attributes["callee"]]["block"]
            arguments = {number: item for (number, _), item in zip(inner["arguments"], given, strict=True)}
            made = integers.known(computed_scalar(functions, inner, arguments, constants), ())
        else:
            made = integers.follow(one.name.removeprefix("stablehlo."), one.attributes, given, ())
        if made is None:
            return None
        found[number] = made
    return None
