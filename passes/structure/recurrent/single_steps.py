"""Readings of an LSTM, GRU or RNN of one step, which is how OpenVINO's cells stand in a loop's body."""

from __future__ import annotations

from ...decompose.recurrent import recurrent
from ...errors import BackedgeError
from ...graph import Graph, Node, Value
from ...hub import HUB
from ...rewrite import Builder, Rewriter, view
from ...types import TensorType
from ..unroll import UnrollLoops
from .algebra import NotRecurrent
from .operators import ACTIVATIONS
from .reader import BodyValue, Reader, Readings

_ACTIVATIONS = frozenset(name.lower() for name in ACTIVATIONS)


def _operator(reader: Reader, node: Node) -> list[BodyValue]:
    """What the operators give that it decomposes into."""
    lengths = node.input(4)
    ones = reader.array(lengths)
    if lengths is not None and (ones is None or (ones != 1).any()):
        raise NotRecurrent(f"the {node.op_type} in its body has lengths of its own")
    if node.attributes.get("layout") or node.attributes.get("direction", "forward") == "bidirectional":
        raise NotRecurrent(f"the {node.op_type} in its body is none of one step, one direction, batch second")
    x = reader.vector(node.inputs[0])
    if len(x.axes) != 3 or x.axes[0] != "one" or x.axes[2] != "feature":
        raise NotRecurrent(f"the {node.op_type} in its body isn't of one step")
    odd = [name for name in node.attributes.get("activations") or () if name.lower() not in _ACTIVATIONS]
    if odd:
        raise NotRecurrent(f"no activation {odd[0]} is known here")
    graph = Graph(HUB.name)
    op = Builder(Rewriter(HUB, {}), graph)
    inputs: list[Value | None] = []
    known: list[BodyValue] = []
    for index, value in enumerate(node.inputs):
        array = reader.array(value)
        if value is None or index == 4:
            inputs.append(None)
        elif array is not None:
            inputs.append(op.const(array, value.tensor.dtype))
        elif index in (0, 5, 6):
            vector = reader.vector(value)
            if index and vector.axes != x.axes:
                raise NotRecurrent("the layout of a state isn't what the operator in the body needs")
            known.append(vector)
            inputs.append(op.input("x", TensorType(value.tensor.dtype, (1, None, vector.width))))
        else:
            raise NotRecurrent(f"the weights of the {node.op_type} in its body aren't constant")
    try:
        made = recurrent(op, view(node, inputs))
    except BackedgeError as error:
        raise NotRecurrent(str(error)) from None
    assert isinstance(made, list)
    graph.outputs = made
    step = UnrollLoops(1)(graph).graph
    reader.values.update(zip(step.inputs, known, strict=True))
    reader.evaluate(step.topological())
    return [reader.vector(value) for value in step.outputs]


READINGS: Readings = dict.fromkeys(("LSTM", "GRU", "RNN"), _operator)
