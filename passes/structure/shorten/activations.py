"""Activations that are written out: Clip, LeakyRelu, Selu, and those of a table of patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...attributes import NodeAttributes, attributes_of
from ...decompose.library import begun
from ...graph import Graph, Node, Value
from ...patterns import WithNumbers, is_same, pattern_rule
from ...rewrite import Builder, Rule, combine
from .context import FLOATS, SHORT_FLOATS, Context, Shorter, Table, made_by


def _number(context: Context, value: Value | None) -> float | None:
    """The number that a scalar constant is."""
    array = context.constant(value)
    return float(array) if array is not None and array.ndim == 0 and array.dtype.kind == "f" else None


def _with_number(context: Context, node: Node | None) -> tuple[Value, float, Value] | None:
    """An operand, the number that the other one is, and the constant it stands in; of floats."""
    if node is None or len(node.inputs) != 2 or node.output.tensor.dtype not in FLOATS:
        return None
    for x, other in (node.inputs, node.inputs[::-1]):
        number = _number(context, other)
        if number is not None and x is not None and other is not None:
            return x, number, other
    return None


def clip(context: Context, node: Node) -> Value | None:
    """Min(Max(x, low), high), or the other way round, where low <= high: NaN stays NaN in all of them.

    A bound of 0 stays a Max or Min, which make +0 of -0 there; Clip and Relu hand it on.
    """
    outer = _with_number(context, node)
    if outer is None or not context.used_once(outer[0]):
        return None
    is_upper = node.op_type == "Min"
    bounds = _with_number(context, made_by(outer[0], "Max" if is_upper else "Min"))
    if bounds is None or 0 in (bounds[1], outer[1]):
        return None
    x, (low, high) = bounds[0], (bounds, outer) if is_upper else (outer, bounds)
    return context.op.Clip(x, low[2], high[2], _types=[node.output.type]) if low[1] <= high[1] else None


def leaky_relu(context: Context, node: Node) -> Value | None:
    """Where(x >= 0, x, slope * x): a NaN isn't >= 0, and stays one as a product."""
    condition, x, otherwise = node.inputs
    if node.output.tensor.dtype not in SHORT_FLOATS:
        return None
    compared = _with_number_behind(context, made_by(condition, "GreaterOrEqual", "Greater"))
    product = made_by(otherwise, "Mul")
    scaled = _with_number(context, product)
    if compared is None or scaled is None or (compared, scaled[0]) != (x, x) or node.output.type != scaled[0].type:
        return None
    return context.op.LeakyRelu(x, alpha=scaled[1], _types=[node.output.type])


def _with_number_behind(context: Context, node: Node | None) -> Value | None:
    """What is compared with 0."""
    return node.inputs[0] if node is not None and _number(context, node.inputs[1]) == 0 else None


def selu(context: Context, node: Node) -> Value | None:
    """gamma * Elu(x)."""
    found = _with_number(context, node)
    elu = made_by(found[0], "Elu") if found is not None else None
    if found is None or elu is None or not context.used_once(elu.output):
        return None
    alpha = NodeAttributes(elu).float("alpha")
    return context.op.Selu(elu.inputs[0], alpha=alpha, gamma=found[1], _types=[node.output.type])


# patterns ------------------------------------------------------------------------------------------


def _hard_tanh(op: Any, x: Any) -> Any:
    return op.Where(op.Greater(x, 1.0), 1.0, op.Where(op.Less(x, -1.0), -1.0, x))


def _hard_sigmoid(op: Any, x: Any) -> Any:
    return op.Div(op.Clip(op.Add(x, 3.0), 0.0, 6.0), 6.0)


def _hard_sigmoid_by_extremes(op: Any, x: Any) -> Any:
    return op.Div(op.Min(op.Max(op.Add(x, 3.0), 0.0), 6.0), 6.0)


_SIXTH = {"alpha": 1 / 6, "beta": 0.5}


def _tanh(op: Any, x: Any, cube: Any) -> Any:
    return op.Tanh(op.Mul(op.Add(x, op.Mul(cube, 0.044715)), 0.7978845608028654))


_GELUS: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ("tanh", lambda op, x: _tanh(op, x, op.Mul(op.Mul(x, x), x))),
    ("tanh", lambda op, x: _tanh(op, x, op.Pow(x, 3.0))),
    ("none", lambda op, x: op.Erf(op.Div(x, 1.4142135623730951))),
    ("none", lambda op, x: op.Erf(op.Mul(x, 0.7071067811865476))),
)
_ORDERS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda op, x, total: op.Mul(x, op.Mul(total, 0.5)),
    lambda op, x, total: op.Mul(op.Mul(x, 0.5), total),
    lambda op, x, total: op.Mul(op.Mul(x, total), 0.5),
)


class _WrittenOut(NamedTuple):
    """An operator as it is written out.

    Attributes:
        since: the opset that brought it.
        long, short: `(op, x)`, see `pattern_rule`.
    """

    since: int
    long: Callable[[Any, Any], Any]
    short: Callable[[Any, Any], Any]


def _gelu(order: Callable[[Any, Any, Any], Any], approximate: str, function: Callable[[Any, Any], Any]) -> _WrittenOut:
    """x / 2 * (1 + f(x)), which is Gelu-20, its factors in one order."""

    def written_out(op: Any, x: Any) -> Any:
        return order(op, x, op.Add(function(op, x), 1.0))

    def gelu(op: Any, x: Any) -> Any:
        return op.Gelu(x, approximate=approximate)

    return _WrittenOut(20, written_out, gelu)


_PATTERNS = (
    _WrittenOut(11, _hard_tanh, lambda op, x: op.Clip(x, -1.0, 1.0)),
    _WrittenOut(1, lambda op, x: op.Div(x, op.Add(op.Abs(x), 1.0)), lambda op, x: op.Softsign(x)),
    *(
        _WrittenOut(6, written_out, lambda op, x: op.HardSigmoid(x, **_SIXTH))
        for written_out in (_hard_sigmoid, _hard_sigmoid_by_extremes)
    ),
    _WrittenOut(14, lambda op, x: op.Mul(x, op.HardSigmoid(x, **_SIXTH)), lambda op, x: op.HardSwish(x)),
    _WrittenOut(18, lambda op, x: op.Mul(x, op.Tanh(op.Softplus(x))), lambda op, x: op.Mish(x)),
    _WrittenOut(24, lambda op, x: op.Mul(x, op.Sigmoid(x)), lambda op, x: op.Swish(x)),
    *(_gelu(order, *function) for order in _ORDERS for function in _GELUS),
)


def written_out(node: Node) -> Iterator[Graph]:
    """Hub graphs of what an operator of one operand may have been put together of, that their input."""
    attributes = dict(attributes_of(node))
    for row in _PATTERNS if len(node.inputs) == 1 else ():
        short = _built(row.short, node).outputs[0].producer
        if short is None or short.op != node.op:
            continue
        known = dict(attributes_of(short))
        if known.keys() == attributes.keys() and all(is_same(attributes[name], value) for name, value in known.items()):
            yield _built(row.long, node)


def _built(function: Callable[[Any, Any], Any], node: Node) -> Graph:
    op, inputs = begun(node, Builder.copy, [])
    op.graph.outputs = [function(WithNumbers(op), inputs[0])]
    return op.graph


def _since(opset: int, rule: Rule) -> Shorter:
    """A rule of patterns as one of `Shorten`, from an opset on."""

    def shorter(context: Context, node: Node) -> Value | None:
        if context.opset < opset or node.output.tensor.dtype not in SHORT_FLOATS:
            return None
        made = rule(context.op, node)
        assert made is None or isinstance(made, Value)
        return made

    return shorter


def _matching() -> Table:
    found: dict[str, list[Shorter]] = {}
    for row in _PATTERNS:
        for (_, op_type), rules in pattern_rule(row.long, row.short).items():
            found.setdefault(op_type, []).extend(_since(row.since, rule) for rule in rules)
    return found


RULES: Table = combine(
    {"Max": [clip], "Min": [clip], "Mul": [selu], "Where": [leaky_relu]},
    _matching(),
)
