"""What OpenVINO can compute while it compiles: everything that hangs on constants and on static shapes alone."""

from __future__ import annotations

from ...passes.graph import Value
from ...passes.rewrite import Builder

_NATURAL_IF_INPUT_IS = frozenset(["Convert", "Gather", "Reshape", "Slice", "Squeeze", "Unsqueeze", "ReduceProd"])


class Foldable:
    """Which values of the graph being built are known while compiling (`rewriter.context`).

    A Parameter of a body is known as far as what feeds it is: OpenVINO moves constants into bodies.
    """

    def __init__(self) -> None:
        self._known: dict[Value, bool] = {}

    def note(self, parameter: Value, known: bool) -> None:
        """Say so of a body's Parameter; Parameters nobody spoke of are inputs of the model."""
        self._known[parameter] = known

    def __call__(self, value: Value) -> bool:
        known = self._known
        stack = [value]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
            elif top.data is not None:
                known[top] = True
            elif top.producer is None:
                known[top] = False
            else:
                stack.extend(self._step(top))
        return known[value]

    def _step(self, value: Value) -> list[Value]:
        """Settle a node's output, or give the inputs that must be settled before."""
        node = value.producer
        assert node is not None
        inputs = [item for item in node.inputs if item is not None]
        if node.op_type == "ShapeOf" and inputs[0].tensor.static_shape is not None:
            self._known[value] = True
            return []
        if any(self._known.get(item) is False for item in inputs):
            self._known[value] = False
            return []
        waiting = [item for item in inputs if item not in self._known]
        if not waiting:
            self._known[value] = True
        return waiting[:1]


def foldable(op: Builder) -> Foldable:
    """The knowledge of this conversion."""
    if not isinstance(op.rewriter.context, Foldable):
        op.rewriter.context = Foldable()
    return op.rewriter.context


def is_natural(value: Value) -> bool:
    """Whether an integer value is certainly not negative: a constant, or sizes of a shape."""
    while value.producer is not None:
        node = value.producer
        if node.op_type == "ShapeOf":
            return True
        first = node.inputs[0] if node.inputs else None
        if node.op_type not in _NATURAL_IF_INPUT_IS or first is None:
            return False
        value = first
    return value.data is not None and value.data.size > 0 and bool((value.data.numpy() >= 0).all())
