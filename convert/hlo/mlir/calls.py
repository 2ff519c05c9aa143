"""Calls of functions by name, `custom-call`: what stands in StableHLO beside the name, as HLO has it and back.

HLO says which order the called function wants the elements in as layouts of shapes, `{0,1}` where the first dimension
is the one along which elements are next to each other; StableHLO as lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.types import TensorType
from ..dialect import CALLED, Origin, origin_of
from ..text.lexer import quoted
from ..text.shapes import write_shape
from ..text.tree import ArrayShape, HloShape, Raw, TokenShape, TupleShape
from .spelling import string

_VERSIONS = {
    1: "API_VERSION_ORIGINAL",
    2: "API_VERSION_STATUS_RETURNING",
    3: "API_VERSION_STATUS_RETURNING_UNIFIED",
    4: "API_VERSION_TYPED_FFI",
}
_CONSTRAINTS = "operand_layout_constraints"
_LAYOUT = re.compile(r"\w+\[[^\]]*\](?:\{([\d,]*)[^}]*\})?")
_ALIAS = re.compile(r"\{([\d,\s]*)\}:\s*\((\d+),\s*\{([\d,\s]*)\}")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def read_call(
    attributes: Mapping[str, Any], operands: Sequence[Value | None], types: Sequence[TensorType | None]
) -> tuple[dict[str, Any], Origin]:
    """The attributes of HLO's custom-call, and what else is known of it."""
    found: dict[str, Any] = {"custom_call_target": str(attributes.get("call_target_name", ""))}
    version = attributes.get("api_version", 1)
    if version in _VERSIONS and version != 1:
        found["api_version"] = _VERSIONS[version]
    if attributes.get("has_side_effect"):
        found["custom_call_has_side_effect"] = True
    origin = Origin()
    layouts = attributes.get("operand_layouts")
    if isinstance(layouts, list) and len(layouts) == len(operands):
        given = [None if value is None else value.tensor for value in operands]
        shapes = [_shape(type, layout) for type, layout in zip(given, layouts, strict=True)]
        found[_CONSTRAINTS] = Raw(f"{{{', '.join(map(write_shape, shapes))}}}")
        results = attributes.get("result_layouts")
        if isinstance(results, list) and len(results) == len(types):
            parts = tuple(_shape(type, layout) for type, layout in zip(types, results, strict=True))
            origin.shape = parts[0] if len(parts) == 1 else TupleShape(parts)
    config = attributes.get("mhlo.backend_config", attributes.get("backend_config"))
    if isinstance(config, dict):
        text = ", ".join(f"{name} = {_option(value)}" for name, value in config.items())
        origin.attributes["backend_config"] = Raw(f"{{{text}}}")
    elif config:
        origin.attributes["backend_config"] = Raw(quoted(str(config)))
    return found, origin


def _option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value} : i64" if isinstance(value, int) else str(value)


def _shape(type: TensorType | None, layout: Sequence[int]) -> HloShape:
    if type is None or type.dtype is None:
        return TokenShape()
    told = f"{{{','.join(map(str, layout))}}}" if layout else ""
    return ArrayShape(type.dtype, type.shape or (), told)


def write_call(node: Node) -> dict[str, Any]:
    """StableHLO's attributes of a custom-call.

    Raises:
        Unsupported: it calls computations, or wants something that isn't known.
    """
    if any(name.startswith(CALLED) for name in node.regions):
        raise Unsupported(node, "StableHLO can't hand a computation to what it calls by name")
    rest = dict(node.attributes)
    versions = {name: number for number, name in _VERSIONS.items()}
    version = rest.pop("api_version", _VERSIONS[1])
    if version not in versions:
        raise Unsupported(node, f"its api_version={version}")
    found: dict[str, Any] = {
        "call_target_name": rest.pop("custom_call_target"),
        "api_version": versions[version],
        "has_side_effect": rest.pop("custom_call_has_side_effect", None),
    }
    constraints, aliases = rest.pop(_CONSTRAINTS, None), rest.pop("output_to_operand_aliasing", None)
    if constraints is not None:
        found["operand_layouts"] = [_order(text) for text in _LAYOUT.findall(constraints.text)]
        found["result_layouts"] = _result_orders(node)
    if aliases is not None:
        parts = ", ".join(
            f"#stablehlo.output_operand_alias<output_tuple_indices = [{result}], operand_index = {operand},"
            f" operand_tuple_indices = [{path}]>"
            for result, operand, path in _ALIAS.findall(aliases.text)
        )
        found["output_operand_aliases"] = f"[{parts}]"
    config = origin_of(node).attributes.get("backend_config")
    if config is not None:
        text = config.text.strip()
        found["backend_config"] = text if text.startswith("{") or _QUOTED.fullmatch(text) else string(text)
    if rest:
        raise Unsupported(node, f"StableHLO has no {next(iter(rest))} of a custom call")
    return found


def _order(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _result_orders(node: Node) -> list[list[int]]:
    """The layouts of the results: the plain ones where nothing else is said."""
    shape = origin_of(node).shape
    parts = shape.elements if isinstance(shape, TupleShape) else () if shape is None else (shape,)
    texts = [part.layout if isinstance(part, ArrayShape) else "" for part in parts]
    if len(texts) != len(node.outputs):
        texts = [""] * len(node.outputs)
    plain = [list(range(value.rank or 0))[::-1] for value in node.outputs]
    orders = [_order(text[1:-1].partition(":")[0]) for text in texts]
    return [order or other for order, other in zip(orders, plain, strict=True)]
