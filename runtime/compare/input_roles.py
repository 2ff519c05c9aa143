"""What each input of a hub graph is used for, found by walking back from the places that decide it.

A trip count, a condition, an index or a shape is followed backwards (`backwards`) until it ends in inputs, and so are
the constants that a value is compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest

from ...passes.core import DRAWING
from ...passes.defaults import default_of
from ...passes.graph import Graph, Node, Value
from ...passes.loop import Loop, is_if, is_loop
from ...passes.types import Dim
from .backwards import COMPARISONS, Walk
from .matching import match_names
from .operands import CATEGORIES, LAST_AXIS, OPERANDS, Operand, Use
from .signature import ROLES, Edge, InputSpec, Kind, Role, Signature, numeric

_LIMITS = ("Max", "Min", "Clip")
_MOST_CONSTANTS = 64
_MOST_EDGES = 24
_LARGEST_SIZE = 4096  # no dimension is compared with more, as far as inputs are made for it

# Attributes of functions of one number at which these have a corner: operator -> from the attributes to the numbers.
_CORNERS: dict[str, tuple[str, ...]] = {
    "ThresholdedRelu": ("alpha",),
    "Shrink": ("lambd",),
}


def signature_of(graph: Graph, other: Graph | None = None, *, allow_empty: bool = False) -> Signature:
    """The inputs of a hub graph, each with its role, bounds and the constants it is compared with.

    Args:
        graph: dialect "hub".
        other: what is held against it: the constants and operands of both count.
        allow_empty: let dynamic dimensions be 0 as well.
    """
    mine, sizes = _specs(graph)
    if other is not None:
        others, more = _specs(other)
        pairs = match_names([spec.name for spec in mine], [spec.name for spec in others]).pairs
        known = {spec.name: spec for spec in others}
        mine = [_merged(spec, known[pairs[spec.name]]) if spec.name in pairs else spec for spec in mine]
        sizes = (*sizes, *more)
    return Signature(mine, allow_empty, tuple(dict.fromkeys(sizes)))


def _specs(graph: Graph) -> tuple[list[InputSpec], tuple[int, ...]]:
    """The inputs, and the integers that something is compared with."""
    seeds = _Seeds(graph)
    found: dict[Value, list[Use]] = {value: [] for value in graph.inputs}
    sizes: dict[int, None] = {}
    for value, use in seeds.all():
        if _is_integer(value):
            numbers = numeric(use.constants)
            sizes.update(dict.fromkeys(int(number) for number in numbers if 0 < number <= _LARGEST_SIZE))
        for reached, there in seeds.walk.inputs_of(value, use):
            found[reached].append(there)
    return [_spec(value, uses) for value, uses in found.items()], tuple(sizes)


def _merged(mine: InputSpec, other: InputSpec) -> InputSpec:
    """An input of A with what B does with it as well; what it may be is A's to say, wherever that says anything."""
    alternating = (number for pair in zip_longest(mine.constants, other.constants) for number in pair)
    return replace(
        mine,
        constants=tuple(dict.fromkeys(number for number in alternating if number is not None))[:_MOST_CONSTANTS],
        optional=mine.optional and other.optional,
        edges=mine.edges or other.edges,
    )


def random_operators(graph: Graph) -> list[str]:
    """The operators whose results the inputs don't determine (a Dropout only where it surely drops)."""
    found = dict.fromkeys(node.op_type for _, node in graph.walk() if node.op in DRAWING)
    walk = Walk(graph)
    for _, node in graph.walk():
        if node.op == ("", "Dropout") and walk.constant(node.input(2)) == (1.0,):
            found["Dropout"] = None
    return sorted(found)


def _spec(value: Value, uses: list[Use]) -> InputSpec:
    strongest: Role = "data"
    for role in ROLES:
        if any(use.role == role for use in uses):
            strongest = role
    deciding = [use for use in uses if use.role == strongest]
    default = default_of(value)
    constants = dict.fromkeys(number for use in uses for number in use.constants)
    lowers = [use.lower for use in deciding if use.lower is not None]
    uppers = [use.upper for use in deciding if use.upper is not None]
    return InputSpec(
        value.name,
        value.type,
        strongest,
        gate=bool(deciding) and all(use.in_loop for use in deciding),
        lower=max(lowers, default=None),
        upper=min(uppers, default=None),
        bound=_tightest([use.bound for use in deciding]),
        wrap=bool(deciding) and all(use.wrap for use in deciding),
        nonzero=any(use.nonzero for use in uses),
        constants=tuple(constants)[:_MOST_CONSTANTS],
        default=None if default is None else default.numpy(),
        optional=default is not None,
        edges=tuple(dict.fromkeys(use.edge for use in uses if use.edge is not None))[:_MOST_EDGES],
    )


def _tightest(bounds: list[Dim]) -> Dim:
    """The smallest known size; a symbol if there are only symbols."""
    sizes = [bound for bound in bounds if isinstance(bound, int)]
    return min(sizes) if sizes else next((bound for bound in bounds if isinstance(bound, str)), None)


class _Seeds:
    """The places of a graph at which something is decided."""

    def __init__(self, graph: Graph) -> None:
        self.walk = Walk(graph)
        self.names = {value: value.name for value in graph.inputs}

    def all(self) -> Iterator[tuple[Value, Use]]:
        """Every value whose use says something, with what it says."""
        for _, node in self.walk.graph.walk():
            found: Iterable[tuple[Value | None, Use]]
            if is_loop(node):
                found = _loop_seeds(Loop(node), Edge("trip", f"{node.op_type} {_name(node)!r}"))
            elif is_if(node):
                found = [(node.inputs[0], Use("condition"))]
            elif node.domain == "":
                found = self._operator_seeds(node)
            else:
                found = _category_seeds(node)
            yield from ((value, use) for value, use in found if value is not None)
            if node.domain == "":
                yield from self._edge_seeds(node)

    def _operator_seeds(self, node: Node) -> Iterator[tuple[Value | None, Use]]:
        name = node.op_type
        for place, row in OPERANDS.get(name, {}).items():
            if row.use is not None:
                is_open = row.use.role == "index" and row.use.bound is None
                yield node.input(place), replace(row.use, bound=_bound(node, row)) if is_open else row.use
        if name in COMPARISONS or name in _LIMITS:
            yield from self.walk.compared(node, Use("data"))
        if name in _CORNERS:
            numbers = [abs(float(node.attributes.get(key, 1.0))) for key in _CORNERS[name]]
            yield node.input(0), Use("data", tuple(sign * number for number in numbers for sign in (1, -1)))
        if name == "Where":
            yield node.input(0), Use("condition")
        if name in ("Div", "Mod") and _is_integer(node.input(1)):
            yield node.input(1), Use("data", nonzero=True)
        if name == "Pow" and _is_integer(node.input(0)) and _is_integer(node.input(1)):
            yield node.input(1), Use("data", lower=0, upper=5)

    def _edge_seeds(self, node: Node) -> Iterator[tuple[Value, Use]]:
        """Operands with few sensible values, for trials of the extraordinary ones."""
        for place, row in OPERANDS.get(node.op_type, {}).items():
            value = node.input(place)
            if row.kind is not None and value is not None and value.data is None:
                yield value, Use("data", edge=self._edge(node, row.kind, row))
        divisor = node.input(1)
        if node.op_type in ("Div", "Mod", "Pow") and divisor is not None and _is_integer(divisor):
            kind: Kind = "exponent" if node.op_type == "Pow" else "divisor"
            yield divisor, Use("data", edge=self._edge(node, kind, Operand(data=None)))

    def _edge(self, node: Node, kind: Kind, row: Operand) -> Edge:
        data = None if row.data is None else node.input(row.data)
        size = None if row.axis is None else _bound(node, row)
        where = f"{node.op_type} {_name(node)!r}"
        shape = None if data is None else data.tensor.shape
        return Edge(kind, where, size, shape, self.names.get(data, "") if data is not None else "", id(node))


def _loop_seeds(loop: Loop, edge: Edge) -> Iterator[tuple[Value | None, Use]]:
    yield loop.trip, Use("trip", lower=-1, edge=edge)
    yield loop.initial_condition, Use("condition", in_loop=True)
    if loop.condition is not None:
        yield loop.condition.body_output, Use("condition", in_loop=True)


def _category_seeds(node: Node) -> Iterator[tuple[Value | None, Use]]:
    """What encoders know; some refuse anything else."""
    for key in CATEGORIES.get(node.op_type, ()):
        known = node.attributes.get(key) or ()
        texts = [one.decode(errors="replace") if isinstance(one, bytes) else one for one in known]
        yield node.input(0), Use("data", tuple(texts[:_MOST_CONSTANTS]))


def _bound(node: Node, row: Operand) -> Dim:
    """What bounds an operator's axes, indices or lengths: the rank or dimension of its data; None if it isn't known."""
    data, indices, named = None if row.data is None else node.input(row.data), node.input(1), row.axis
    shape = data.tensor.shape if data is not None else None
    if row.kind == "axes":
        return None if shape is None else len(shape)
    if named is None:
        return None
    if not shape:
        return None
    default = -1 if node.op_type in LAST_AXIS else 0
    axis = node.attributes.get(named, default) if isinstance(named, str) else named
    if named == "batch_dims":
        width = indices.tensor.shape[-1] if indices is not None and indices.tensor.shape else None
        return _tightest(list(shape[axis : axis + width])) if isinstance(width, int) else None
    return shape[axis] if -len(shape) <= axis < len(shape) else None


def _is_integer(value: Value | None) -> bool:
    return value is not None and value.tensor.dtype is not None and value.tensor.dtype.is_integer


def _name(node: Node) -> str:
    return node.name or (node.outputs[0].name if node.outputs else "")
