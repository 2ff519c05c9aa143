"""Functions that HLO spells out, as JAX does, and that ONNX has an operator for: activations.

They are looked for in HLO, where exponential-minus-one and log-plus-one are one operation each. Those that are spelled
out with ONNX's own operators, whatever wrote them, are found later (`passes.structure.shorten`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....passes.graph import Graph, Node, Value
from ....passes.hub import HUB
from ....passes.patterns import Pattern, Vocabulary
from ....passes.rewrite import Builder, Key, Rule
from ....passes.types import DType
from ..dialect import DOMAIN

_FLOATS = (DType.FLOAT16, DType.FLOAT32)  # of ONNX Runtime's kernels


def _number(value: Value) -> float | None:
    """The number that all elements of a value are."""
    while value.producer is not None and value.producer.op == (DOMAIN, "broadcast"):
        source = value.producer.inputs[0]
        assert source is not None
        value = source
    data = value.data
    if data is None or data.size != 1 or not (data.dtype.is_float or data.dtype.is_integer):
        return None
    return float(data.numpy().reshape(()))


_VOCABULARY = Vocabulary(
    DOMAIN,
    lambda name: name.replace("_", "-"),
    _number,
    frozenset(["add", "maximum", "minimum", "multiply"]).__contains__,
)


def _elu(hlo: Any, x: Any) -> Any:
    above = hlo.compare(x, 0.0, direction="GT")
    return hlo.select(above, x, hlo.exponential_minus_one(hlo.select(above, 0.0, x)))


def _elu_of(hlo: Any, x: Any, alpha: Any) -> Any:
    above = hlo.compare(x, 0.0, direction="GT")
    return hlo.select(above, x, hlo.multiply(alpha, hlo.exponential_minus_one(hlo.select(above, 0.0, x))))


def _celu(hlo: Any, x: Any) -> Any:
    return hlo.add(hlo.maximum(x, 0.0), hlo.exponential_minus_one(hlo.minimum(x, 0.0)))


def _celu_of(hlo: Any, x: Any, alpha: Any) -> Any:
    below = hlo.exponential_minus_one(hlo.divide(hlo.minimum(x, 0.0), alpha))
    return hlo.add(hlo.maximum(x, 0.0), hlo.multiply(alpha, below))


def _softplus(hlo: Any, x: Any) -> Any:
    """logaddexp(x, 0)."""
    difference = hlo.subtract(x, 0.0)
    far = hlo.log_plus_one(hlo.exponential(hlo.negate(hlo.abs(difference))))
    is_nan = hlo.compare(difference, difference, direction="NE")
    return hlo.select(is_nan, hlo.add(x, 0.0), hlo.add(hlo.maximum(x, 0.0), far))


# Cephes' approximations of erfc in single precision, highest powers first: of |x| < 1, of |x| < 2, of larger x
_INSIDE = (7.8538615e-05, -8.0101937e-04, 5.1883277e-03, -2.6853813e-02, 1.1283585e-01, -3.7612626e-01, 1.1283791)
_MIDDLE = (
    *(2.326819970068386e-02, -1.387039388740657e-01, 3.687424674597105e-01, -5.824733027278666e-01),
    *(6.210004621745983e-01, -4.944515323274145e-01, 3.404879937665872e-01, -2.741127028184656e-01),
    5.638259427386472e-01,
)
_OUTSIDE = (
    *(-1.047766399936249e01, 1.297719955372516e01, -7.495518717768503, 2.921019019210786),
    *(-1.015265279202700, 4.218463358204948e-01, -2.820767439740514e-01, 5.641895067754075e-01),
)


def _polynomial(hlo: Any, coefficients: Sequence[float], x: Any) -> Any:
    total: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        total = hlo.add(hlo.multiply(total, x), coefficient)
    return total


def _erfc(hlo: Any, x: Any) -> Any:
    """The complementary error function of float32 as XLA and JAX's bindings write it: 1 - x P(x^2) near 0, else
    exp(-x^2) / |x| Q(1 / x^2), and 2 less that of negative x."""
    square, size = hlo.multiply(x, x), hlo.abs(x)
    exponent, inverse = hlo.negate(square), hlo.divide(1.0, square)
    middle, outside = (_polynomial(hlo, row, inverse) for row in (_MIDDLE, _OUTSIDE))
    factor = hlo.select(hlo.compare(size, 2.0, direction="LT"), middle, outside)
    tail = hlo.multiply(hlo.multiply(hlo.exponential(exponent), hlo.divide(1.0, size)), factor)
    tail = hlo.select(hlo.compare(exponent, -88.722839, direction="LT"), 0.0, tail)
    far = hlo.select(hlo.compare(x, 0.0, direction="LT"), hlo.subtract(2.0, tail), tail)
    near = hlo.subtract(1.0, hlo.multiply(x, _polynomial(hlo, _INSIDE, square)))
    return hlo.select(hlo.compare(size, 1.0, direction="LT"), near, far)


def _gelu(hlo: Any, x: Any) -> Any:
    return hlo.multiply(hlo.multiply(x, 0.5), _erfc(hlo, hlo.multiply(hlo.negate(x), 0.7071067811865476)))


_PATTERNS = [
    (Pattern(function, _VOCABULARY), op_type)
    for function, op_type in (
        (_elu, "Elu"),
        (_elu_of, "Elu"),
        (_celu, "Celu"),
        (_celu_of, "Celu"),
        (_softplus, "Softplus"),
        (_gelu, "Gelu"),
    )
]
"""What is spelled out, and the operator of ai.onnx; parameters behind the first are numbers, its attributes."""
RULES: Mapping[Key, list[Rule]] = {("", op_type): [Builder.copy] for _, op_type in _PATTERNS}
"""The operators stand in the graph as they are to be."""


def compose(graph: Graph) -> None:
    """Put operators of the hub in the place of what is found in a graph of dialect "hlo" without calls."""
    for inner in graph.graphs():
        for node in inner.topological():
            if node.op in _ROOTS and node.output.tensor.dtype in _FLOATS:
                _compose(inner, node)


_ROOTS = frozenset(pattern.op for pattern, _ in _PATTERNS)


def _compose(graph: Graph, node: Node) -> None:
    for pattern, op_type in _PATTERNS:
        found = pattern.match(node) if pattern.op == node.op else None
        if found is None:
            continue
        x, *parameters = pattern.names
        numbers = {name: None if (value := found[name]) is None else _number(value) for name in parameters}
        if None in numbers.values():
            continue
        domain, version = HUB.resolve(op_type)
        made = Node(domain, op_type, version, node.name)
        made.inputs, made.attributes, made.meta = [found[x]], dict(numbers), node.meta
        made.outputs = [Value(node.output.name, node.output.type, made, 0)]
        graph.add_nodes([made])
        graph.replace_uses(node.output, made.output)
        return
