"""What stands in a model under the name of something outside it."""

from __future__ import annotations

from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.preconditions import given
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from .lapack import routine
from .sort import topk_call
from .support import CallsHost, Results

_ANNOTATIONS = frozenset(
    """
    LayoutConstraint MoveToDevice MoveToHost SPMDFullToShardShape SPMDShardToFullShape ShardBarrierFrom ShardBarrierTo
    Sharding annotate_device_placement
    """.split()  # noqa: SIM905
)
"""Targets that say where a value is to be, and leave it as it is."""

_HOST = frozenset(
    [
        "xla_ffi_partitioned_python_cpu_callback",
        "xla_ffi_python_cpu_callback",
        "xla_python_cpu_callback",
    ]
)

_UNARY = {
    name: op_type
    for op_type in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Erf", "Sinh", "Tan")
    for name in (f"chlo.{op_type.lower()}", f"mhlo.{op_type.lower()}")
}
"""Targets that are one operator of ONNX."""


@rule(DOMAIN, "custom-call")
def custom_call(op: Builder, node: Node) -> Results:
    """Annotations, LAPACK's routines, TopK, and functions that StableHLO has no operator for."""
    target = str(node.attributes.get("custom_call_target", ""))
    if target in _ANNOTATIONS or target.startswith("xla.sdy."):
        types = [value.type for value in node.outputs], [value.type for value in node.inputs if value is not None]
        if types[0] != types[1]:
            raise Unsupported(node, f"{target} that makes another shape: the model runs on several devices")
        return [op.Identity(given(node, index)) for index in range(len(node.outputs))]
    if target in _UNARY:
        return op.call(_UNARY[target], given(node, 0))
    if target in _HOST:
        raise CallsHost(node, f"{target} calls Python")
    if target == "TopK":
        return topk_call(op, node)
    found = routine(op, node, target)
    if found is None:
        raise Unsupported(node, f"custom call to {target!r}")
    return found


RULES = collect(globals())
