"""How OpenVINO IR stands in a Graph of dialect "openvino".

- Domain `openvino`, op_type the layer's type as IR spells it (`Const`, `ReLU`, `PReLU`, `SoftMax`; a known type
  in other letter case is put right), version the number of its opset ("opset5" -> 5). Layers of other opsets
  ("extension", ...) keep that string as their domain and version 0.
- `Parameter` layers are `graph.inputs`, `Result` layers `graph.outputs`, `Const` layers `graph.constants`;
  they aren't nodes. Their order is the order of the file (a body's port maps count by it).
- `node.attributes` hold the layer's `<data>` attributes, typed by `attributes.py` (int, float, bool, str,
  list); an attribute the table doesn't know stays the string it was. Only what the file says is there: a left
  out attribute is left out. Element types stay strings ("f32") for `types.DTYPES`, `variable_shape` too, for
  `types.parse_shape`.
- Loop, TensorIterator and If nodes have the regions "body", or "then_body" and "else_body", and the port maps
  below as attributes. Regions capture nothing, `node.captured` is 0.
- A value's shape is None where the file doesn't tell a scalar from an unknown rank (a port without dimensions
  may be either; see `ranks.py`).
- `value.name` is the port's first tensor name, else the layer's name, made unique over the model. A node's name is
  its friendly name, which need not be unique.
- What only OpenVINO knows rides in `meta["openvino"]` of graphs, nodes and values: `Layer`, `Port`, `Net`. All of
  it may be missing; then the writer names tensors by `value.name` and layers by `node.name` or `value.name`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DOMAIN = "openvino"
META = "openvino"  # key of Layer (nodes, Parameters, Consts) and Net (graphs) in meta
PORT = "port"  # key of Port in value.meta

Tree = tuple[str, dict[str, str], tuple["Tree", ...]]
"""An XML element that is carried through as it is: tag, attributes, children."""


@dataclass(frozen=True, slots=True)
class InputMap:
    """`<port_map><input>`: what the body's Parameter number `parameter` is fed with.

    `external` is the node's input index, -1 for a `purpose`. `axis` None: the whole value, unsliced.
    """

    external: int
    parameter: int
    axis: int | None = None
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1
    purpose: str = ""  # "current_iteration"


@dataclass(frozen=True, slots=True)
class OutputMap:
    """`<port_map><output>`: where the body's Result number `result` goes.

    `external` is the node's output index, -1 for a `purpose`. `axis` None: the last pass' value,
    else all passes' values concatenated.
    """

    external: int
    result: int
    axis: int | None = None
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1
    purpose: str = ""  # "execution_condition"


@dataclass(frozen=True, slots=True)
class BackEdge:
    """`<back_edges><edge>`: Result number `result` of one pass is Parameter number `parameter` of the next."""

    result: int
    parameter: int


# attributes of a Loop or TensorIterator node:
INPUT_MAPS = "input_maps"  # tuple[InputMap, ...]
OUTPUT_MAPS = "output_maps"  # tuple[OutputMap, ...]
BACK_EDGES = "back_edges"  # tuple[BackEdge, ...]
# attributes of an If node (axis and the like unused):
THEN_INPUTS, THEN_OUTPUTS = "then_inputs", "then_outputs"  # tuple[InputMap, ...], tuple[OutputMap, ...]
ELSE_INPUTS, ELSE_OUTPUTS = "else_inputs", "else_outputs"

BODY_MAPS: dict[str, tuple[str, str]] = {
    "body": (INPUT_MAPS, OUTPUT_MAPS),
    "else_body": (ELSE_INPUTS, ELSE_OUTPUTS),
    "then_body": (THEN_INPUTS, THEN_OUTPUTS),
}
"""Region -> the attributes of its node that hold the region's port maps."""


@dataclass(slots=True)
class Port:
    """What a port has beside its type: `value.meta["port"]` for an output port."""

    names: list[str] | None = None  # tensor names; None: the file gives none
    rt_info: list[dict[str, Any]] = field(default_factory=list)
    user_data: list[Tree] = field(default_factory=list)
    dynamic: bool = False  # the file says that the element type isn't known


@dataclass(slots=True)
class Layer:
    """What a layer has beside its operator: `node.meta["openvino"]`, or a Parameter's or Const's in `value.meta`."""

    name: str = ""  # friendly name
    rt_info: list[dict[str, Any]] = field(default_factory=list)  # attributes of each <attribute>
    user_data: list[Tree] = field(default_factory=list)  # what else stands in <rt_info>
    input_ports: dict[int, Port] = field(default_factory=dict)  # of those that have rt_info


FUSED = "fused_names"
"""The attribute of `<rt_info>` with the names of what a layer was made of."""


def fused(name: str) -> dict[str, Any]:
    """That attribute."""
    return {"name": FUSED, "version": "0", "value": name}


@dataclass(slots=True)
class Result:
    """What a Result layer has: `graph.meta["openvino"].results`, beside `graph.outputs`."""

    name: str = ""
    output_names: list[str] | None = None
    rt_info: list[dict[str, Any]] = field(default_factory=list)
    user_data: list[Tree] = field(default_factory=list)
    input_ports: dict[int, Port] = field(default_factory=dict)


NO_RT_INFO: Tree = ("rt_info", {}, ())


@dataclass(slots=True)
class Net:
    """What a net has: `graph.meta["openvino"]`."""

    version: int = 11
    results: list[Result] = field(default_factory=list)
    rt_info: Tree | None = NO_RT_INFO  # the net's <rt_info>; None: the file has none, which OpenVINO tells apart
    legacy: list[Tree] = field(default_factory=list)  # <meta_data> and <quantization_parameters> of old files
