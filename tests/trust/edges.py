"""Pairs by hand that differ at one edge of an integer operand, or at one special value: a table.

A row is a model as text in which `$` stands for the one place where the two differ, both fillings, and a witness:
inputs on which they differ. Constants are written by name: `i_3` is the int64 scalar 3, `v_m1` the int64[1] with -1,
`f_0p5` the float scalar 0.5, `f_1em3` 1e-3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, parser

_NAMED = re.compile(r"\b([ivf])_(m?(?:\d[\w]*|inf|nan))\b")


@dataclass(frozen=True, slots=True)
class Edge:
    """A row; `group` is "integer" or "special"."""

    name: str
    group: str
    text: str
    right: str
    wrong: str
    witness: Mapping[str, Any] = field(default_factory=dict)

    def models(self) -> tuple[onnx.ModelProto, onnx.ModelProto]:
        return model_of(self.text.replace("$", self.right)), model_of(self.text.replace("$", self.wrong))

    def feed(self) -> dict[str, Any]:
        """The witness as arrays of the model's element types."""
        made = {}
        for value in self.models()[0].graph.input:
            if value.name in self.witness:
                dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
                made[value.name] = np.asarray(self.witness[value.name], dtype)
        return made


def model_of(text: str, opset: int = 21) -> onnx.ModelProto:
    """A model from its text, with the constants that it names at its beginning."""
    found = dict.fromkeys(match.group(0) for match in _NAMED.finditer(text))
    made = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> g {text}')
    for number, name in enumerate(found):
        kind, digits = name[0], name[2:]
        digits = re.sub("^m", "-", digits).replace("em", "e-").replace("p", ".")
        array = np.array(float(digits), np.float32) if kind == "f" else np.array(int(digits), np.int64)
        tensor = onnx.numpy_helper.from_array(array.reshape(1) if kind == "v" else array)
        made.graph.node.insert(number, helper.make_node("Constant", [], [name], value=tensor))
    return made


def loop(trip: str, step: str = "e = Add(a, x)") -> str:
    """`y = Loop(trip, true, x)` whose state `a` becomes `e`."""
    body = f"(int64 i, bool c, float[N] a) => (bool d, float[N] e) {{ d = Identity(c) {step} }}"
    return f"t = Constant<value=bool {{1}}>() y = Loop({trip}, t, x) <body = b {body}>"


TRIPS = "(int64 M, float[N] x) => (float[N] y) { "
X3 = [1.0, 2.0, 3.0]

from .edges_integer import INTEGER_EDGES  # noqa: E402  the tables need what is above
from .edges_special import SPECIAL  # noqa: E402

EDGES: dict[str, Edge] = {edge.name: edge for edge in (*INTEGER_EDGES, *SPECIAL)}
assert len(EDGES) == len(INTEGER_EDGES) + len(SPECIAL)
