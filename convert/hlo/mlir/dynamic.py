"""StableHLO of what has open sizes: the sizes as values, and the operations that take them as operands.

A program is written as `jax.export` writes one with symbolic dimensions: a function that takes the sizes from its
inputs' types, checks what is demanded of them, and calls another one that is handed them. Sizes are computed in 64 bits
where a function begins, once, so that every region can use them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.sizes import Computed, Size, Symbol, as_operations, is_at_most, open_size, size_of, symbols, text_of
from ....passes.types import DType, TensorType
from ..text.tree import PadDim, SliceDim
from . import operations
from .spelling import spelled_type, type_of

if TYPE_CHECKING:
    from .writer import Block

WRAPPED = "_wrapped_jax_export_main"
_SIZE = spelled_type(TensorType(DType.INT64, ()))
TOLD = spelled_type(TensorType(DType.INT32, ()))  # what get_dimension_size gives
_TRUTH = spelled_type(TensorType(DType.BOOL, ()))
_FUNCTIONS = {"max": "maximum", "min": "minimum", "floordiv": "divide"}


def vector_type(count: int) -> str:
    """The type of so many sizes."""
    return spelled_type(TensorType(DType.INT64, (count,)))


@dataclass(slots=True)
class Sizes:
    """The sizes that a function has as values; `block` is its beginning."""

    block: Block
    given: dict[str, str] = field(default_factory=dict)  # symbols -> scalars of 32 bits
    places: set[tuple[Value, int]] = field(default_factory=set)  # where those were taken from
    atoms: dict[Symbol | Computed, str] = field(default_factory=dict)
    scalars: dict[Size, str] = field(default_factory=dict)
    vectors: dict[tuple[int | str, ...], str] = field(default_factory=dict)

    def symbols_of(self, graph: Graph) -> None:
        """Take the sizes from a function's inputs."""
        for value in graph.inputs:
            for axis, dim in enumerate(value.tensor.shape or ()):
                if isinstance(dim, str) and _is_symbol(dim) and dim not in self.given:
                    self.given[dim] = self.told(value, axis)
                    self.places.add((value, axis))

    def told(self, value: Value, axis: int) -> str:
        """One of the sizes of a value."""
        found = self.block.values[value]
        attributes = {"dimension": axis}
        return self.block.line("stablehlo.get_dimension_size", [found], [type_of(value)], [TOLD], attributes)[0]

    def scalar(self, dim: int | str) -> str:
        """A size.

        Raises:
            Unsupported: no input has a symbol that it depends on.
        """
        size = size_of(dim)
        assert size is not None
        return self._scalar(size)

    def vector(self, dims: Sequence[int | str]) -> str:
        """Sizes as a vector."""
        key = tuple(dims)
        if key not in self.vectors:
            parts = [self._row(dim) for dim in dims]
            types = [vector_type(1)] * len(parts)
            if all(isinstance(dim, int) for dim in dims):
                text = f"dense<{list(dims)}> : {vector_type(len(dims))}"
                found = self.block.line("stablehlo.constant", [], [], [vector_type(len(dims))], {"value": text})
            elif len(parts) == 1:
                found = parts
            else:
                whole = [vector_type(len(dims))]
                found = self.block.line("stablehlo.concatenate", parts, types, whole, {"dimension": 0})
            (self.vectors[key],) = found
        return self.vectors[key]

    def _row(self, dim: int | str) -> str:
        return self.block.line("stablehlo.reshape", [self.scalar(dim)], [_SIZE], [vector_type(1)])[0]

    def _scalar(self, size: Size) -> str:
        if size not in self.scalars:
            self.scalars[size] = self._computed(size)
        return self.scalars[size]

    def _computed(self, size: Size) -> str:
        if isinstance(size, int):
            return self.block.line("stablehlo.constant", [], [], [_SIZE], {"value": f"dense<{size}> : {_SIZE}"})[0]
        return as_operations(size, self._scalar, self._known_atom, self._pair)

    def _pair(self, name: str, left: str, right: str) -> str:
        return self.block.line(f"stablehlo.{name}", [left, right], [_SIZE] * 2, [_SIZE])[0]

    def _known_atom(self, atom: Symbol | Computed) -> str:
        if atom not in self.atoms:
            self.atoms[atom] = self._atom(atom)
        return self.atoms[atom]

    def _atom(self, atom: Symbol | Computed) -> str:
        if isinstance(atom, Symbol):
            if atom.name not in self.given:
                raise Unsupported("size", f"no input has the size {atom.name}")
            return self.block.line("stablehlo.convert", [self.given[atom.name]], [TOLD], [_SIZE])[0]
        left, right = self._scalar(atom.left), self._scalar(atom.right)
        if atom.function != "floordiv" or (is_at_most(0, atom.left) and is_at_most(1, atom.right)):
            return self._pair(_FUNCTIONS[atom.function], left, right)
        if not is_at_most(1, atom.right):
            raise Unsupported("size", f"{text_of(atom.right)}, which a size is divided by, may be less than 1")
        writer = self.block.writer
        writer.floor = writer.floor or writer.names.fresh("floor_divide")  # divide rounds toward zero
        return self.block.line("func.call", [left, right], [_SIZE] * 2, [_SIZE], {"callee": writer.floor})[0]


def _is_symbol(dim: str) -> bool:
    size = size_of(dim)
    return size is not None and symbols(size) == {dim}


def floor_function(name: str) -> str:
    """Division by what is above 0 that rounds down, as JAX's own function of this name."""
    lines = [
        f'"func.func"() ({{\n^bb0(%x: {_SIZE}, %y: {_SIZE}):',
        f'%q = "stablehlo.divide"(%x, %y) : ({_SIZE}, {_SIZE}) -> {_SIZE}',
        f'%r = "stablehlo.remainder"(%x, %y) : ({_SIZE}, {_SIZE}) -> {_SIZE}',
        f'%zero = "stablehlo.constant"() {{value = dense<0> : {_SIZE}}} : () -> {_SIZE}',
        f'%one = "stablehlo.constant"() {{value = dense<1> : {_SIZE}}} : () -> {_SIZE}',
        '%c = "stablehlo.compare"(%r, %zero) {comparison_direction = #stablehlo<comparison_direction LT>} : '
        f"({_SIZE}, {_SIZE}) -> {_TRUTH}",
        f'%less = "stablehlo.subtract"(%q, %one) : ({_SIZE}, {_SIZE}) -> {_SIZE}',
        f'%f = "stablehlo.select"(%c, %less, %q) : ({_TRUTH}, {_SIZE}, {_SIZE}) -> {_SIZE}',
        f'"func.return"(%f) : ({_SIZE}) -> ()',
        f'}}) {{sym_name = "{name}", function_type = ({_SIZE}, {_SIZE}) -> {_SIZE},'
        ' sym_visibility = "private"} : () -> ()',
    ]
    return "\n".join(lines)


def has_open_sizes(graph: Graph) -> bool:
    """Whether an input of a graph has an open size."""
    return any(isinstance(dim, str) for value in graph.inputs for dim in value.tensor.shape or ())


def entry_lines(block: Block, graph: Graph, callee: str) -> list[str]:
    """What a program begins with: sizes from the inputs' types, what must hold of them, and the call.

    Returns:
        The names of the symbols, in the order in which the called function takes them.
    """
    sizes = block.sizes
    sizes.symbols_of(graph)
    for name, found in sizes.given.items():
        _assert(block, "GE", sizes, (found, TOLD), 1, f"the size {name} is {{0}}, and has to be at least 1")
    for value in graph.inputs:
        for axis, dim in enumerate(value.tensor.shape or ()):
            if isinstance(dim, str):
                told = f"the size of {value.name!r} along {axis} is {{0}}, not {dim}"
                if dim not in sizes.given:
                    _assert(block, "EQ", sizes, (sizes.told(value, axis), TOLD), dim, told)
                elif (value, axis) not in sizes.places:
                    _assert_same(block, sizes.told(value, axis), sizes.given[dim], told)
    names = [*sizes.given]
    operands = [*sizes.given.values(), *(block.values[value] for value in graph.inputs)]
    types = [*[TOLD] * len(names), *map(type_of, graph.inputs)]
    results = list(map(type_of, graph.outputs))
    made = block.line("func.call", operands, types, results, {"callee": callee})
    block.line("func.return", made, results, [])
    return names


def _assert(block: Block, direction: str, sizes: Sizes, one: tuple[str, str], dim: int | str, told: str) -> None:
    (wide,) = block.line("stablehlo.convert", [one[0]], [one[1]], [_SIZE])
    pair = [wide, sizes.scalar(dim)]
    (found,) = block.line("stablehlo.compare", pair, [_SIZE] * 2, [_TRUTH], {"comparison_direction": direction})
    _demand(block, found, one[0], told)


def _assert_same(block: Block, one: str, other: str, told: str) -> None:
    """Two sizes as they are: so readers see that they are one."""
    attributes = {"comparison_direction": "EQ"}
    (found,) = block.line("stablehlo.compare", [one, other], [TOLD] * 2, [_TRUTH], attributes)
    _demand(block, found, one, told)


def _demand(block: Block, found: str, size: str, told: str) -> None:
    attributes = {"call_target_name": "shape_assertion", "error_message": told, "has_side_effect": True}
    block.line("stablehlo.custom_call", [found, size], [_TRUTH, TOLD], [], {**attributes, "api_version": 2})


# operations ------------------------------------------------------------------------------------------


def _is_open(dims: Sequence[Any] | None) -> bool:
    return any(isinstance(dim, str) for dim in dims or ())


def _emit(block: Block, node: Node, name: str, sizes: Sequence[tuple[str, str]], attributes: Mapping[str, Any]) -> None:
    """A dynamic operation: the node's operands, then values that hold sizes, with their types."""
    given = [value for value in node.inputs if value is not None]
    operands = [*(block.values[value] for value in given), *(value for value, _ in sizes)]
    types = [*map(type_of, given), *(type for _, type in sizes)]
    made = block.line(name, operands, types, list(map(type_of, node.outputs)), attributes, (), node.origin)
    block.values.update(zip(node.outputs, made, strict=True))


def _vector(block: Block, dims: Sequence[int | str]) -> tuple[str, str]:
    return block.sizes.vector(dims), vector_type(len(dims))


def _shape(block: Block, node: Node) -> tuple[str, str]:
    return _vector(block, node.output.tensor.shape or ())  # type: ignore[arg-type]


def _broadcast(block: Block, node: Node) -> bool:
    if not _is_open(node.output.tensor.shape):
        return False
    attributes = {"broadcast_dimensions": list(node.attributes.get("dimensions", ()))}
    _emit(block, node, "stablehlo.dynamic_broadcast_in_dim", [_shape(block, node)], attributes)
    return True


def _reshape(block: Block, node: Node) -> bool:
    if not _is_open(node.output.tensor.shape):
        return False
    _emit(block, node, "stablehlo.dynamic_reshape", [_shape(block, node)], {})
    return True


def _iota(block: Block, node: Node) -> bool:
    if not _is_open(node.output.tensor.shape):
        return False
    attributes = {"iota_dimension": node.attributes["iota_dimension"]}
    _emit(block, node, "stablehlo.dynamic_iota", [_shape(block, node)], attributes)
    return True


def _slice(block: Block, node: Node) -> bool:
    dims: Sequence[SliceDim] = node.attributes["slice"]
    lists = [[getattr(dim, part) for dim in dims] for part in ("start", "limit", "stride")]
    if not any(map(_is_open, lists)):
        return False
    _emit(block, node, "stablehlo.real_dynamic_slice", [_vector(block, one) for one in lists], {})
    return True


def _pad(block: Block, node: Node) -> bool:
    dims: Sequence[PadDim] = node.attributes["padding"]
    lists = [[getattr(dim, part) for dim in dims] for part in ("low", "high", "interior")]
    if not any(map(_is_open, lists)):
        return False
    _emit(block, node, "stablehlo.dynamic_pad", [_vector(block, one) for one in lists], {})
    return True


def _dynamic_slice(block: Block, node: Node) -> bool:
    """Starts are clamped, which the operation that takes sizes leaves to whoever uses it."""
    sizes = node.attributes.get("dynamic_slice_sizes", ())
    if not _is_open(sizes):
        return False
    x, *starts = (value for value in node.inputs if value is not None)
    parts: list[str] = []
    for start in starts:
        (wide,) = block.line("stablehlo.convert", [block.values[start]], [type_of(start)], [_SIZE])
        parts += block.line("stablehlo.reshape", [wide], [_SIZE], [vector_type(1)])
    type = vector_type(len(sizes))
    if len(parts) > 1:
        parts = block.line("stablehlo.concatenate", parts, [vector_type(1)] * len(parts), [type], {"dimension": 0})
    whole = x.tensor.shape or ()
    highest = [open_size((size_of(dim) or 0) - (size_of(size) or 0)) for dim, size in zip(whole, sizes, strict=True)]
    bounds = [block.sizes.vector(dims) for dims in ([0] * len(sizes), highest)]
    (first,) = block.line("stablehlo.clamp", [bounds[0], *parts, bounds[1]], [type] * 3, [type])
    (limit,) = block.line("stablehlo.add", [first, block.sizes.vector(sizes)], [type] * 2, [type])
    operands = [block.values[x], first, limit, block.sizes.vector([1] * len(sizes))]
    types = [type_of(x), type, type, type]
    made = block.line("stablehlo.real_dynamic_slice", operands, types, [type_of(node.output)], {}, (), node.origin)
    block.values[node.output] = made[0]
    return True


def _gather(block: Block, node: Node) -> bool:
    sizes = node.attributes.get("slice_sizes", ())
    if not _is_open(sizes):
        return False
    attributes = operations.write_gather(node)
    del attributes["slice_sizes"]
    _emit(block, node, "stablehlo.dynamic_gather", [_vector(block, sizes)], attributes)
    return True


def _rows(block: Block, rows: Sequence[Sequence[int | str]]) -> tuple[str, str]:
    """Pairs of sizes as a matrix."""
    value, type = _vector(block, [dim for row in rows for dim in row])
    wanted = spelled_type(TensorType(DType.INT64, (len(rows), 2)))
    return block.line("stablehlo.reshape", [value], [type], [wanted])[0], wanted


def _convolution(block: Block, node: Node) -> bool:
    attributes = operations.write_convolution(node)
    if not any(map(_is_open, attributes["padding"])):
        return False
    rows = attributes.pop("padding")
    _emit(block, node, "stablehlo.dynamic_conv", [_rows(block, rows)], attributes)
    return True


def _reduce_window(block: Block, node: Node) -> bool:
    """As jax.export writes it; the computation is a function."""
    lists = operations.window_lists(node, operations.REDUCED)
    rows = lists.pop("padding")
    if not any(map(_is_open, (*lists.values(), *rows))):
        return False
    name = block.writer.named_function(node.regions["to_apply"], "reducer")
    sizes = [_vector(block, lists[name]) for name in operations.REDUCED]
    attributes = {"call_target_name": "stablehlo.dynamic_reduce_window", "called_computations": [name]}
    _emit(block, node, "stablehlo.custom_call", [*sizes, _rows(block, rows)], attributes)
    return True


def write_size(block: Block, node: Node) -> None:
    """A size as a value of the program."""
    found, type = block.sizes.scalar(node.attributes["size"]), type_of(node.output)
    (block.values[node.output],) = block.line("stablehlo.convert", [found], [_SIZE], [type])


DYNAMIC: Mapping[str, Callable[[Block, Node], bool]] = {
    "broadcast": _broadcast,
    "convolution": _convolution,
    "dynamic-slice": _dynamic_slice,
    "gather": _gather,
    "iota": _iota,
    "pad": _pad,
    "reduce-window": _reduce_window,
    "reshape": _reshape,
    "slice": _slice,
}
"""Opcodes with a form that takes sizes as operands: whether they have been written so, which open sizes demand."""
