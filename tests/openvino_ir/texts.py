"""IR written by hand, and ways to change it."""

from __future__ import annotations

import struct
from pathlib import Path


def port(number: int, *dims: int, precision: str = "FP32") -> str:
    given = f' precision="{precision}"' if precision else ""
    return f'<port id="{number}"{given}>' + "".join(f"<dim>{dim}</dim>" for dim in dims) + "</port>"


def layer(number: int, name: str, kind: str, body: str = "", version: str = "opset1") -> str:
    return f'<layer id="{number}" name="{name}" type="{kind}" version="{version}">{body}</layer>'


def parameter(number: int, name: str, shape: str = "2", kind: str = "f32", precision: str = "FP32") -> str:
    dims = [int(dim) for dim in shape.split(",") if dim]
    data = f'<data shape="{shape}" element_type="{kind}"/>'
    return layer(number, name, "Parameter", f"{data}<output>{port(0, *dims, precision=precision)}</output>")


def constant(
    number: int, name: str, shape: str, offset: int, size: int, kind: str = "f32", precision: str = "FP32"
) -> str:
    data = f'<data element_type="{kind}" shape="{shape}" offset="{offset}" size="{size}"/>'
    dims = [int(dim) for dim in shape.split(",") if dim.strip().isdigit() and len(dim) < 10]
    return layer(number, name, "Const", f"{data}<output>{port(0, *dims, precision=precision)}</output>")


def result(number: int, name: str, *dims: int) -> str:
    return layer(number, name, "Result", f"<input>{port(0, *dims)}</input>")


def add(number: int, name: str) -> str:
    ports = f"<input>{port(0, 2)}{port(1, 2)}</input><output>{port(2, 2)}</output>"
    return layer(number, name, "Add", f'<data auto_broadcast="numpy"/>{ports}')


def edges(*ends: tuple[int, int, int, int]) -> str:
    return (
        "<edges>"
        + "".join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in ends)
        + "</edges>"
    )


def net(layers: str, joined: str, version: str = "11") -> str:
    return f'<?xml version="1.0"?>\n<net name="m" version="{version}"><layers>{layers}</layers>{joined}</net>'


ADD = net(
    parameter(0, "x") + constant(1, "c", "2", 0, 8) + add(2, "sum") + result(3, "y", 2),
    edges((0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)),
)
"""y = x + c."""

_SCALAR = "<port id='{}' precision='{}'/>"
_BODY = (
    "<body><layers>"
    + parameter(0, "i", "", "i64", "I64")
    + parameter(1, "acc")
    + constant(2, "true", "", 8, 1, "boolean", "BOOL")
    + add(3, "sum")
    + result(4, "again")
    + result(5, "next", 2)
    + "</layers>"
    + edges((1, 0, 3, 0), (1, 0, 3, 1), (2, 0, 4, 0), (3, 2, 5, 0))
    + "</body>"
)
LOOP = net(
    parameter(0, "x")
    + constant(1, "three", "", 9, 8, "i64", "I64")
    + constant(2, "true", "", 8, 1, "boolean", "BOOL")
    + layer(
        3,
        "loop",
        "Loop",
        '<port_map><input external_port_id="2" internal_layer_id="1"/>'
        '<output external_port_id="3" internal_layer_id="5"/>'
        '<output axis="0" external_port_id="4" internal_layer_id="5" stride="2" part_size="2"/>'
        '<input external_port_id="-1" internal_layer_id="0" purpose="current_iteration"/>'
        '<output external_port_id="-1" internal_layer_id="4" purpose="execution_condition"/></port_map>'
        '<back_edges><edge from-layer="5" to-layer="1"/></back_edges>'
        f"<input>{_SCALAR.format(0, 'I64')}{_SCALAR.format(1, 'BOOL')}{port(2, 2)}</input>"
        f"<output>{port(3, 2)}{port(4, 6)}</output>{_BODY}",
        "opset5",
    )
    + result(4, "last", 2)
    + result(5, "all", 6),
    edges((1, 0, 3, 0), (2, 0, 3, 1), (0, 0, 3, 2), (3, 3, 4, 0), (3, 4, 5, 0)),
)
"""Doubles x three times: the last value, and all of them."""


def _branch(tag: str, name: str) -> str:
    layers = parameter(0, name) + add(1, "double") + result(2, "out", 2)
    return f"<{tag}><layers>{layers}</layers>{edges((0, 0, 1, 0), (0, 0, 1, 1), (1, 2, 2, 0))}</{tag}>"


def _branch_map(tag: str) -> str:
    return (
        f'<{tag}><input external_port_id="1" internal_layer_id="0"/>'
        f'<output external_port_id="2" internal_layer_id="2"/></{tag}>'
    )


IF = net(
    parameter(0, "condition", "", "boolean", "BOOL")
    + parameter(1, "x")
    + layer(
        2,
        "choice",
        "If",
        _branch_map("else_port_map")
        + _branch_map("then_port_map")
        + f"<input>{_SCALAR.format(0, 'BOOL')}{port(1, 2)}</input><output>{port(2, 2)}</output>"
        + _branch("then_body", "a")
        + _branch("else_body", "b"),
        "opset8",
    )
    + result(3, "y", 2),
    edges((0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)),
)
"""x doubled, one way or the other."""

WEIGHTS = struct.pack("<ff?q", 1.0, 2.0, True, 3)


def changed(text: str, old: str, new: str, count: int = 1) -> str:
    """`text` with `old`, which must be there, replaced."""
    assert old in text, old
    return text.replace(old, new, count)


def placed(text: str | bytes, folder: Path, weights: bytes | None = WEIGHTS) -> Path:
    """The files of a model; without a .bin if `weights` is None."""
    path = folder / "model.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if weights is not None:
        path.with_suffix(".bin").write_bytes(weights)
    return path
