"""ONNX text as native MDF, and what MDF's engine makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from backedge.convert.files import to_hub
from backedge.convert.mdf.lowering import lower_stateful
from backedge.convert.mdf.model import Model
from backedge.convert.mdf.structure import tree_from_model
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Graph
from control_flow.case import parse

from .engine import engine


def graph_of(text: str, opset: int = 21) -> Graph:
    """The hub graph."""
    return to_hub(read_model(parse(text, opset)))


def model_of(text: str, opset: int = 21) -> Model:
    return lower_stateful(graph_of(text, opset))


def run(text: str, **feeds: Any) -> list[np.ndarray[Any, Any]]:
    """The outputs in MDF's engine."""
    return list(engine(tree_from_model(model_of(text)), feeds).values())


def same(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> None:
    """They are of one type and shape, and close."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


SCANNED = """g (float[3, 2] xs, float[2] h) => (float[2] last, float[2, 3] states, float[3, 2] back) {
  last, states, back = Scan <num_scan_inputs = 2, scan_input_directions = [0, 1], scan_output_axes = [1, 0],
      scan_output_directions = [0, 1],
      body = b (float[2] a, float[2] x, float[2] z) => (float[2] n, float[2] s, float[2] r) {
    t = Sub (x, z)
    n = Add (a, t)
    s = Identity (n)
    r = Mul (a, x)
  }> (h, xs, xs)
}"""
"""A Scan over the same sequence from both ends, whose outputs stack along axis 1, and backwards."""
