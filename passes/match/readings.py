"""How a hub node's operator is read into terms: defaults filled in, axes and sizes resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..attributes import NodeAttributes, attributes_of
from ..core import REDUCTIONS
from ..graph import Node
from ..schemas import schema
from ..tensor import TensorData
from . import readings_layout, readings_parts
from .choice import IF
from .layout import reshape
from .maker import Attributes, Maker, Operands
from .reading import Read, Reading, axis_of, ints_of, readings_of, reads
from .terms import Contradiction, Term


@reads("Identity")
def _identity(r: Reading) -> Term | None:
    return r.operand(0)


@reads("Constant")
def _constant(r: Reading) -> Term | None:
    value = r.node.attributes.get("value")
    if isinstance(value, TensorData):
        return r.m.table.constant(value)
    for name, dtype in (
        ("value_int", np.int64),
        ("value_ints", np.int64),
        ("value_float", np.float32),
        ("value_floats", np.float32),
    ):
        if name in r.node.attributes:
            return r.m.array(np.asarray(r.node.attributes[name], dtype))
    return None


@reads("Cast", "CastLike")
def _cast(r: Reading) -> Term | None:
    x, like = r.operand(0), r.operand(1)
    to = r.attributes.dtype("to") if r.node.op_type == "Cast" else None if like is None else like.dtype
    if x is None or to is None:
        return None
    return r.m.make("Cast", x, to=to, saturate=r.attributes.int("saturate", 1), **_rounding(r))


def _rounding(r: Reading) -> dict[str, Any]:
    mode = r.attributes.get("round_mode")
    return {} if mode in (None, "up", b"up") else {"round_mode": mode}


@reads("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool")
def _window(r: Reading) -> Sequence[Term] | None:
    """With every default of the windows written out."""
    x, weights = r.operand(0), r.operand(1)
    kernel = r.attributes.get("kernel_shape")
    if kernel is None and weights is not None and weights.static_shape is not None:
        kernel = weights.static_shape[2:]
    if x is None or kernel is None:
        return None
    axes = len(kernel)
    known = dict(attributes_of(r.node))
    known["kernel_shape"] = tuple(kernel)
    known.setdefault("strides", (1,) * axes)
    known.setdefault("dilations", (1,) * axes)
    if known.get("auto_pad") == "VALID":
        known["auto_pad"] = "NOTSET"
        known.pop("pads", None)
    if known.get("auto_pad", "NOTSET") == "NOTSET":
        known.setdefault("pads", (0,) * (2 * axes))
    if r.node.op_type == "ConvTranspose":
        known.setdefault("output_padding", (0,) * axes)
    attributes = tuple(sorted(known.items()))
    return applied(r.m, r.node, r.node.op_type, r.operands, attributes)


@reads(*REDUCTIONS)
def _reduction(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None:
        return None
    if x.shape is None and r.operand(1) is None and not r.attributes.flag("keepdims"):
        return None if r.attributes.flag("noop_with_empty_axes") else _whole_reduction(r, x)
    if x.shape is None:
        return None
    axes = list(range(len(x.shape))) if r.operand(1) is None else ints_of(r.sizes(1))
    if axes is None:
        return None
    if not axes:
        if r.attributes.flag("noop_with_empty_axes"):
            return None
        axes = list(range(len(x.shape)))
    gone = sorted({axis_of(axis, len(x.shape)) for axis in axes})
    if not gone:
        return None
    if len(gone) < len(axes):
        raise Contradiction
    made = r.m.make(r.node.op_type, x, r.m.table.listed(gone), keepdims=0, noop_with_empty_axes=0)
    if not r.attributes.flag("keepdims"):
        return made
    return reshape(r.m, made, [1 if axis in gone else size for axis, size in enumerate(x.shape)])


def _whole_reduction(r: Reading, x: Term) -> Term:
    """Of a tensor of any rank along all axes."""
    return r.m.make(r.node.op_type, x, keepdims=0, noop_with_empty_axes=0)


READINGS: Mapping[str, Read] = {**readings_of(globals()), **readings_layout.READINGS, **readings_parts.READINGS}
"""Operator of ai.onnx -> how it is read."""


def read(m: Maker, node: Node, operands: Sequence[Term | None]) -> list[Term]:
    """The terms of a node's outputs; of one without regions."""
    operands = tuple(operands)
    while operands and operands[-1] is None:
        operands = operands[:-1]
    if not node.domain:
        m.check_element_types(node.op_type, operands)
    function = READINGS.get(node.op_type) if not node.domain else None
    chosen = _of_branches(m, node, operands)
    if chosen is not None:
        return [chosen]
    if function is not None:
        made = function(Reading(m, node, NodeAttributes(node), operands))
        if made is not None:
            return [made] if isinstance(made, Term) else list(made)
    return opaque(m, node, operands)


def _of_branches(m: Maker, node: Node, operands: tuple[Term | None, ...]) -> Term | None:
    """What reads the shape of what a branch gives, read in each branch, where their shapes differ."""
    x = operands[0] if operands and not node.domain else None
    if x is None or x.op != IF or node.op_type not in _OF_SHAPES:
        return None
    condition, *branches = x.operands
    shapes = [branch.shape for branch in branches if branch is not None]
    if x.container is not None or None in shapes or shapes[0] == shapes[1]:
        return None
    if x.shape is not None and node.op_type not in _TO_SHAPES:  # which is known as well as those of the branches
        return None
    try:
        found = [read(m, node, (branch, *operands[1:])) for branch in branches]
    except Contradiction:  # in a branch that is never taken, perhaps
        return None
    return m.make(IF, condition, *(terms[0] for terms in found))


_TO_SHAPES = ("Reshape", "Flatten", "Squeeze")
_OF_SHAPES = (*_TO_SHAPES, "Shape", "Size")


def opaque(m: Maker, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
    """The operator itself, its attributes in order and complete."""
    op = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    return applied(m, node, op, operands, attributes_of(node))


def applied(m: Maker, node: Node, op: str, operands: Operands, attributes: Attributes) -> list[Term]:
    """The terms of an operator's outputs; how many of them a node asks for makes no difference to any."""
    known = schema(node.domain, node.op_type, node.version)
    if len(node.outputs) == 1 and (known is None or known.max_output == 1):
        return [m.apply(op, operands, attributes)]
    return m.outputs(op, operands, attributes, len(node.outputs))
