"""Complex values become pairs of real ones; the rules that come after it never see a complex type.

    z = c64[3] parameter(0)              z = f32[3,2] parameter(0)
    y = c64[3] multiply(z, z)      ->    re = f32[3] part(z), index=0 ... y_re = f32[3] subtract(...), y_im = ...
    ROOT n = f32[3] abs(y)               ROOT n = f32[3] multiply(larger, sqrt(...))

The model's own inputs and outputs keep their names and their order: complex[S] is real[S, 2] there, the parts last;
`part` and `joined`, which are no opcodes of HLO, stand between. In regions, and in operators that take and give any
number of values, each complex value is two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.names import Names
from ....passes.rewrite import Builder, Rewriter
from ....passes.sizes import dims_of
from ....passes.types import DType, TensorType, Type
from ..build import HLO
from ..dialect import DOMAIN, META, Form, Origin
from ..expression import HloExpr
from ..text.tree import ArrayShape, HloShape, TupleShape
from .complex_math import FUNCTIONS, Pair

Part = Value | Pair | None
Rule = Callable[["Splitter", Node, list[Any]], "Value | Pair | Sequence[Part]"]

_UNSIZED = "complex values whose number is only known when the model runs"
_REAL = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}


def is_complex(value: Value | None) -> bool:
    dtype = value.tensor.dtype if value is not None else None
    return dtype is not None and dtype.is_complex


def real_type(type: Type | None) -> Type | None:
    """The type of each part of a complex value; any other type as it is."""
    if isinstance(type, TensorType) and type.dtype in _REAL:
        return TensorType(_REAL[type.dtype], type.shape)
    return type


def split_complex(graph: Graph) -> Graph:
    """A graph without complex values, of dialect "hlo" like the old one; the old one itself where it has none.

    Operators that take pairs as they are (`fft`, `cholesky`, `triangular-solve`, `custom-call`, variadic ones) stand
    there with two operands, or results, for each complex one. Calls must have been inlined.

    Raises:
        Unsupported: an operator that isn't understood over complex values, or a complex input of unknown size.
    """
    if not any(is_complex(value) for inner in graph.graphs() for value in inner.values()):
        return graph
    new = Graph(graph.dialect, graph.name)
    rewriter = Rewriter(HLO, {}, root=new)
    old = (value.name for inner in graph.graphs() for value in inner.values())
    rewriter.names = Names(old, [value.name for value in (*graph.inputs, *graph.outputs)])
    op = Splitter(rewriter, new)
    results = op.split(graph, [op.entered(value) for value in graph.inputs])
    new.outputs = [op.left(part, value) for part, value in zip(results, graph.outputs, strict=True)]
    new.meta = dict(graph.meta)
    form = graph.meta.get(META)
    if isinstance(form, Form):
        parameters = None if form.parameters is None else tuple(map(_real_shape, form.parameters))
        new.meta[META] = replace(
            form, parameters=parameters, result=None if form.result is None else _real_shape(form.result)
        )
    return new


def _real_shape(shape: HloShape) -> HloShape:
    """How the interface is written afterwards."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(_real_shape, shape.elements)))
    if isinstance(shape, ArrayShape) and shape.dtype in _REAL:
        return ArrayShape(_REAL[shape.dtype], (*shape.dims, 2))
    return shape


def _leaves(parts: Iterable[Part]) -> list[Value | None]:
    return [leaf for part in parts for leaf in (part if isinstance(part, Pair) else (part,))]


class Splitter(Builder):
    """Builds the new graph; old values stand for a value or a pair."""

    def split(self, graph: Graph, arguments: Sequence[Part]) -> list[Part]:
        """The old graph's nodes in this one; what stands for its outputs."""
        mapping: dict[Value | None, Part] = dict(zip(graph.inputs, arguments, strict=True))
        mapping[None] = None
        for value in graph.constants:
            if value not in mapping:
                mapping[value] = self._constant(value)
        for node in graph.topological():
            made = self._node(node, [mapping[value] for value in node.inputs])
            parts = [made] if isinstance(made, Value | Pair) else list(made)
            for old, part in zip(node.outputs, parts, strict=True):
                mapping[old] = part
                self._name(old, part)
        return [mapping[value] for value in graph.outputs]

    def _node(self, node: Node, parts: list[Part]) -> Value | Pair | Sequence[Part]:
        if not any(map(is_complex, (*node.inputs, *node.outputs))):
            return self.flat(node, parts)
        rule = SPLITS.get(node.op_type)
        if rule is None:
            raise Unsupported(node, f"complex {node.op_type}")
        return rule(self, node, parts)

    def _constant(self, value: Value) -> Part:
        assert value.data is not None
        if not is_complex(value):
            twin = self.graph.add_constant(value.data, self.claim(value.name or "const"))
            twin.meta = value.meta
            return twin
        array = value.data.numpy()
        return Pair(*(self.const(part.copy(), name=value.name) for part in (array.real, array.imag)))

    def _name(self, old: Value, part: Part) -> None:
        """Name what was made for an old value after it."""
        if isinstance(part, Pair):
            self._claim(part.re, f"{old.name}_re")
            self._claim(part.im, f"{old.name}_im")
        elif part is not None:
            self._claim(part, old.name)

    def _claim(self, value: Value, name: str) -> None:
        if value.producer is not None and value not in self.rewriter.claimed:
            self.rewriter.claimed.add(value)
            value.name = self.claim(name)

    def flat(self, node: Node, parts: Sequence[Part], regions: dict[str, Graph] | None = None) -> list[Part]:
        """The same operator over the leaves of its operands, its regions over the leaves of their parameters."""
        twin = Node(node.domain, node.op_type, node.version, node.name)
        twin.attributes, twin.meta = dict(node.attributes), _meta(node)
        twin.regions = (
            {name: self.flat_region(region) for name, region in node.regions.items()} if regions is None else regions
        )
        twin.inputs = _leaves(parts)
        results: list[Part] = []
        for old in node.outputs:
            new = [
                Value(self.rewriter.names.fresh(old.name), real_type(old.type), twin, len(twin.outputs) + index)
                for index in range(1 + is_complex(old))
            ]
            twin.outputs += new
            results.append(Pair(*new) if len(new) == 2 else new[0])
        for old, new in zip(node.outputs, results, strict=True):
            if isinstance(new, Value):
                new.meta = old.meta
        self.graph.add_nodes([twin])
        return results

    def flat_region(self, region: Graph, order: Sequence[tuple[int, int]] | None = None) -> Graph:
        """A region over leaves. `order` lists the parameters' leaves, as (parameter, part), if not one by one."""
        inner = self.region(region.name)
        if order is None:
            order = [(index, part) for index, v in enumerate(region.inputs) for part in range(1 + is_complex(v))]
        found: dict[tuple[int, int], Value] = {}
        for index, part in order:
            old = region.inputs[index]
            found[index, part] = inner.graph.add_input(inner.claim(old.name), real_type(old.type))
        arguments: list[Part] = [
            Pair(found[index, 0], found[index, 1]) if is_complex(old) else found[index, 0]
            for index, old in enumerate(region.inputs)
        ]
        inner.graph.outputs = [leaf for leaf in _leaves(inner.split(region, arguments)) if leaf is not None]
        return inner.graph

    # the model's own interface -----------------------------------------------------------------------

    def entered(self, value: Value) -> Part:
        """A model's input: a complex one is cut into its parts."""
        type, shape = real_type(value.type), dims_of(value.tensor.shape)
        if not is_complex(value) or not isinstance(type, TensorType):
            twin = self.graph.add_input(self.claim(value.name), value.type)
            twin.meta = value.meta
            return twin
        if shape is None:
            raise Unsupported(f"input {value.name!r}", _UNSIZED)
        twin = self.graph.add_input(self.claim(value.name), TensorType(type.dtype, (*shape, 2)))
        return Pair(*(self.call("part", twin, index=index, _domain=DOMAIN, _types=[type]) for index in (0, 1)))

    def left(self, part: Part, old: Value) -> Value:
        """A model's output under its old name: a pair has its parts put together again."""
        value = self._stacked(part, old) if isinstance(part, Pair) else part
        assert value is not None
        if value.name != old.name and self.rewriter.names.is_free(old.name):
            if value.producer is None or value in self.rewriter.claimed:
                value = self.call("copy", value)
            self._claim(value, old.name)
        return value

    def _stacked(self, pair: Pair, old: Value) -> Value:
        type, shape = pair.re.tensor, dims_of(pair.re.tensor.shape)
        if shape is None:
            raise Unsupported(f"output {old.name!r}", _UNSIZED)
        return self.call("stack", *pair, _domain=DOMAIN, _types=[TensorType(type.dtype, (*shape, 2))])


def _meta(node: Node) -> dict[str, Any] | None:
    """What rides with a node, without the shape that it doesn't have any more."""
    origin = (node.meta or {}).get(META)
    if node.meta is None or not isinstance(origin, Origin) or not any(map(is_complex, node.outputs)):
        return node.meta
    return {**node.meta, META: replace(origin, shape=None)}


# rules: (builder, old node, what stands for its operands) -> what stands for its results -----------


def _function(op: Splitter, node: Node, parts: list[Any]) -> Pair | Value:
    return FUNCTIONS[node.op_type](op, *parts)


def _by_component(op: Splitter, node: Node, parts: list[Any]) -> list[Part]:
    """Once for the real parts, once for the imaginary ones; real operands (indices, predicates) go to both."""
    types = [real_type(value.type) for value in node.outputs]
    made: list[Sequence[Value]] = []
    for index in (0, 1):
        operands = [part[index] if isinstance(part, Pair) else part for part in parts]
        result = op.call(node.op_type, *operands, _outputs=len(types), _types=types, **node.attributes)
        made.append((result,) if isinstance(result, Value) else result)
    return [Pair(re, im) if is_complex(old) else re for old, re, im in zip(node.outputs, *made, strict=True)]


def _flat(op: Splitter, node: Node, parts: list[Any]) -> list[Part]:
    return op.flat(node, parts)


def _real_only(op: Splitter, node: Node, parts: list[Any]) -> Value:
    """What depends on no more than the shape."""
    return op.call(node.op_type, *(part.re for part in parts), _types=[node.outputs[0].type], **node.attributes)


def _compare(op: Splitter, node: Node, parts: list[Any]) -> Pair | Value:
    """By EQ or NE; complex numbers have no order."""
    return FUNCTIONS[f"compare {node.attributes['direction']}"](op, *parts)


def _convert(op: Splitter, node: Node, parts: list[Any]) -> Pair:
    type, part = real_type(node.outputs[0].type), parts[0]
    if not is_complex(node.outputs[0]):
        raise Unsupported(node, "a complex number as a real one")
    re = op.convert(part.re if isinstance(part, Pair) else part, _types=[type])
    return Pair(re, op.convert(part.im, _types=[type]) if isinstance(part, Pair) else _zeros(op, re))


def _bits(op: Splitter, node: Node, parts: list[Any]) -> Pair:
    """`bitcast-convert` of complex numbers to their own type; those of another width would share a part's bits."""
    if node.inputs[0] is None or node.outputs[0].type != node.inputs[0].type:
        raise Unsupported(node, f"complex {node.op_type} to another type")
    return parts[0]


def _iota(op: Splitter, node: Node, parts: list[Any]) -> Pair:
    re = op.iota(_types=[real_type(node.outputs[0].type)], **node.attributes)
    return Pair(re, _zeros(op, re))


def _zeros(op: Splitter, like: Value) -> Value:
    return HloExpr(op, like).full_like(0).value()


def _bilinear(op: Splitter, node: Node, parts: list[Any]) -> Pair:
    """`dot`, `convolution`: what is linear in both operands, four times."""
    if not all(map(is_complex, (*node.inputs, *node.outputs))):
        raise Unsupported(node, "a product of complex and real numbers")
    x, y = parts

    def product(a: Value, b: Value) -> Value:
        return op.call(node.op_type, a, b, _types=[real_type(node.outputs[0].type)], **node.attributes)

    re = op.subtract(product(x.re, y.re), product(x.im, y.im))
    return Pair(re, op.add(product(x.re, y.im), product(x.im, y.re)))


def _sort(op: Splitter, node: Node, parts: list[Any]) -> list[Part]:
    """Each operand has two parameters in the comparator, the first for the left one of two rows."""
    order = [
        (2 * index + side, part)
        for index, value in enumerate(node.inputs)
        for part in range(1 + is_complex(value))
        for side in (0, 1)
    ]
    return op.flat(node, parts, {name: op.flat_region(region, order) for name, region in node.regions.items()})


def _folded(op: Splitter, node: Node, parts: list[Any]) -> list[Part]:
    """A computation over two values: where it keeps the parts apart, once for each part; else over pairs."""
    region = node.regions["to_apply"]
    if len(node.outputs) != 1 or not _is_componentwise(region):
        return op.flat(node, parts)
    made: list[Value] = []
    for index in (0, 1):
        twin = Node(node.domain, node.op_type, node.version)
        twin.regions["to_apply"] = _of_part(op, region)
        operands = [part[index] if isinstance(part, Pair) else part for part in parts]
        made.append(op.insert(twin, operands, dict(node.attributes), 1, [real_type(node.outputs[0].type)]))
    return [Pair(*made)]


def _is_componentwise(region: Graph) -> bool:
    """Whether a computation of two complex values is their sum, or one of them."""
    nodes = region.nodes
    if len(region.inputs) != 2 or len(region.outputs) != 1:
        return False
    if not nodes:
        return region.outputs[0] in region.inputs
    return len(nodes) == 1 and nodes[0].op_type == "add" and nodes[0].outputs[0] is region.outputs[0]


def _of_part(op: Splitter, region: Graph) -> Graph:
    """A computation that keeps the parts apart, for one of them."""
    inner = op.region(region.name)
    twins = {v: inner.graph.add_input(inner.claim(v.name), real_type(v.type)) for v in region.inputs}
    result = region.outputs[0]
    if result not in twins:
        assert result.producer is not None
        twins[result] = inner.add(*(twins[value] for value in result.producer.inputs if value is not None))
    inner.graph.outputs = [twins[result]]
    return inner.graph


def _all_reduce(op: Splitter, node: Node, parts: list[Any]) -> list[Part]:
    """One computation for all operands, each by itself."""
    region = node.regions["to_apply"]
    if not _is_componentwise(region):
        raise Unsupported(node, f"complex {node.op_type} by another computation than a sum")
    return op.flat(node, parts, {"to_apply": _of_part(op, region)})


_APART = """
    all-gather all-to-all broadcast collective-broadcast collective-permute concatenate copy dynamic-reshape
    dynamic-slice dynamic-update-slice gather pad reshape reverse select set-dimension-size slice transpose
"""
_FLAT = "after-all cholesky conditional custom-call fft map triangular-solve while"

SPLITS: dict[str, Rule] = {
    **dict.fromkeys(FUNCTIONS, _function),
    **dict.fromkeys(_APART.split(), _by_component),
    **dict.fromkeys(_FLAT.split(), _flat),
    "all-reduce": _all_reduce,
    "bitcast-convert": _bits,
    "compare": _compare,
    "convert": _convert,
    "convolution": _bilinear,
    "dot": _bilinear,
    "get-dimension-size": _real_only,
    "iota": _iota,
    "reduce": _folded,
    "reduce-scatter": _all_reduce,
    "reduce-window": _folded,
    "scatter": _folded,
    "sort": _sort,
}
"""Opcode -> how it is split; what isn't here is refused."""
