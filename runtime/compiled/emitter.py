"""Writing the code: names, buffers, and when a tensor is computed.

Scalar code goes out as it comes, one local variable per element. Array expressions wait (`Lazy`) until
somebody needs them whole; then everything of the same sizes that waits for the same reader is computed
in one loop nest. Buffers are allocated before the outermost loop in which their sizes are known, so
that a pass allocates nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...passes.tensor import TensorData
from .block import Block
from .tensors import (
    KINDS,
    SMALL,
    Atom,
    Decline,
    Dim,
    Dims,
    Index,
    Lazy,
    Small,
    Stored,
    Sym,
    Tensor,
    fixed_size,
    flat,
    is_single,
    level_of,
    literal,
    row_major,
    tuple_code,
)

_HEAVY = 100
"""Operators per element after which a waiting expression is computed: longer ones only spill registers."""

_UNROLLED = 64
"""So many elements LLVM may compute without a loop, outside of all loops."""

_PLAIN = re.compile(r"\d+|i\d+")
"""Indices that need no computing: literals and loop variables."""

Target = Callable[[Index], str]
"""The code of the place an element goes to."""


@dataclass
class Mark:
    """Where writing stood, to go back to."""

    lengths: list[tuple[Block, int]]
    depth: int
    constants: int
    uses: dict[Tensor, int]


class Emitter:
    """The function being written.

    Attributes:
        block: where statements go.
        before: for each loop around `block`, outermost first, the block right before it.
        constants: arrays handed over as further arguments: (name, data).
        uses: how many uses in its graph each waiting tensor has.
    """

    def __init__(self) -> None:
        self.root = Block()
        self._sizes = self.root.sub()
        self._opaque: set[int] = set()
        self.block = self.root
        self.before: list[Block] = []
        self.constants: list[tuple[str, TensorData]] = []
        self.uses: dict[Tensor, int] = {}
        self._names = 0
        self._scopes: list[dict[Any, Any]] = [{}]

    # statements ----------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """The number of loops around."""
        return len(self.before)

    def name(self, letter: str = "v") -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def let(self, code: str, kind: str) -> Atom:
        """A new local variable."""
        name = self.name()
        self.block.line(f"{name} = {code}")
        return Atom(name, kind, self.depth)

    def refuse_if(self, condition: str, why: str) -> None:
        """Leave the function, with no answer, if a condition holds at run time (asked once per scope)."""
        key = ("refuse", condition)
        if not self.known(key):
            self.block.sub(f"if {condition}:").line(f"raise ValueError({why!r})")
            self.keep(key, True)

    def at(self, level: int) -> Block:
        """The block before the loop at depth `level` + 1; the current one inside all loops of that level."""
        return self.before[level] if level < self.depth else self.block

    # what is known where -------------------------------------------------------------------------

    def known(self, key: Any) -> Any:
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        return None

    def keep(self, key: Any, value: Any) -> None:
        self._scopes[-1][key] = value

    @contextmanager
    def within(self, block: Block) -> Iterator[Block]:
        """Write into another block; what is learnt there isn't known outside it."""
        old, self.block = self.block, block
        self._scopes.append({})
        try:
            yield block
        finally:
            self._scopes.pop()
            self.block = old

    def mark(self) -> Mark:
        lengths = [(block, len(block.items)) for block in (*self.before, self.block)]
        return Mark(lengths, self.depth, len(self.constants), dict(self.uses))

    def rewind(self, mark: Mark) -> None:
        """Take back all that was written since `mark` (which must be of the same place)."""
        for block, length in mark.lengths:
            del block.items[length:]
        del self.before[mark.depth :]
        del self.constants[mark.constants :]
        self.uses = dict(mark.uses)

    # sizes ---------------------------------------------------------------------------------------

    def size(self, code: str) -> Sym:
        """A local variable for a size."""
        atom = self.let(f"np.int64({code})", "int64")
        return Sym(atom.code, atom.level)

    def same(self, a: Dim, b: Dim) -> Dim:
        """The size that both must be; checked at run time where that isn't clear."""
        if a == b:
            return a
        if isinstance(a, int) and isinstance(b, int):
            raise Decline(f"sizes {a} and {b} don't fit")
        self.refuse_if(f"{a} != {b}", "sizes differ")
        return a if isinstance(a, int) else b if isinstance(b, int) else min(a, b, key=lambda dim: dim.level)

    def broadcast(self, shapes: Sequence[Dims]) -> Dims:
        """The common shape. Of sizes that are only known at run time those are stretched that are 1 at most."""
        rank = max(map(len, shapes))
        result: list[Dim] = []
        for axis in range(-rank, 0):
            dim: Dim = 1
            for shape in shapes:
                other = shape[axis] if -axis <= len(shape) else 1
                dim = other if dim == 1 else dim if other == 1 else self._common(dim, other)
            result.append(dim)
        return tuple(result)

    def _common(self, a: Dim, b: Dim) -> Dim:
        """The size that both are stretched to, neither of which is known to be 1."""
        if is_single(a) == is_single(b):
            return self.same(a, b)
        single, other = (a, b) if is_single(a) else (b, a)
        self.refuse_if(f"{single} != 1", "nothing is stretched")
        return other

    def dim_of(self, atom: Atom) -> Dim:
        """A size from an element."""
        return int(atom.value) if atom.value is not None else Sym(atom.code, atom.level)

    def dim_atom(self, dim: Dim) -> Atom:
        """A size as an int64 element."""
        return literal("int64", dim) if isinstance(dim, int) else Atom(dim.name, "int64", dim.level)

    def product(self, dims: Sequence[Dim]) -> Dim:
        """The product of some sizes."""
        number = 1
        names: list[str] = []
        for dim in dims:
            if isinstance(dim, int):
                number *= dim
            else:
                names.append(dim.name)
        if not names or not number:
            return number
        if len(names) == 1 and number == 1:
            return next(dim for dim in dims if isinstance(dim, Sym))
        key = ("product", number, tuple(names))
        size = self.known(key)
        if size is None:
            size = self.size(" * ".join([*names, str(number)]))
            self.keep(key, size)
        return size

    # tensors -------------------------------------------------------------------------------------

    def constant(self, data: TensorData) -> Tensor:
        """A constant: literals if it is small, else one more argument."""
        kind = data.dtype.value
        if kind not in KINDS:
            raise Decline(f"element type {kind}")
        if data.size <= SMALL:
            return Small(kind, data.shape, tuple(literal(kind, item) for item in data.numpy().reshape(-1).tolist()))
        return self.argument(data)

    def argument(self, data: TensorData) -> Stored:
        """A constant as one more argument."""
        name = f"k{len(self.constants)}"
        self.constants.append((name, data))
        return Stored(data.dtype.value, data.shape, name, 0)

    def data_of(self, tensor: Tensor) -> TensorData | None:
        """The data of a constant that is an argument, None of anything else."""
        wanted = tensor.name if isinstance(tensor, Stored) else ""
        return next((data for name, data in self.constants if name == wanted), None)

    def buffer(self, kind: str, dims: Dims, fresh: bool = False) -> Stored:
        """A new array to be filled now; allocated as far outside as its sizes allow, or here if `fresh`."""
        made = self.depth if fresh else min(level_of(dims), self.depth)
        name = self.name("b")
        self.at(made).line(f"{name} = {empty(kind, dims)}")
        return Stored(kind, dims, name, self.depth, owned=True, made=made)

    def scalarized(self, tensor: Tensor) -> Tensor:
        """Few elements become local variables at once."""
        size = fixed_size(tensor.dims)
        if isinstance(tensor, Small) or size is None or size > SMALL:
            return tensor
        dims = tuple(dim for dim in tensor.dims if isinstance(dim, int))
        return Small(tensor.kind, dims, tuple(self.read(tensor, index) for index in row_major(dims)))

    def lazy(self, tensor: Lazy) -> Tensor:
        """A tensor to be computed later, or now where that is better."""
        settled = self.scalarized(tensor)
        return self.stored(tensor) if settled is tensor and tensor.weight > _HEAVY else settled

    def view(self, source: Tensor, dims: Dims, index: Callable[[Index], Index], alias: str | None = None) -> Tensor:
        """Elements of `source`, which is computed first, found through an index."""
        if not isinstance(source, Small):
            source = self.ready(source)
        elif len(source.atoms) != 1 and (fixed_size(dims) or SMALL + 1) > SMALL:
            source = self.spill(source)
        return self.lazy(
            Lazy(source.kind, dims, lambda reader, at: reader.read(source, index(at)), view=True, alias=alias)
        )

    def read(self, tensor: Tensor, index: Index) -> Atom:
        """One element; read or computed once per scope."""
        if isinstance(tensor, Small):
            if len(tensor.atoms) == 1:
                return tensor.atoms[0]
            position = flat(tensor.dims, index)
            if position is not None:
                return tensor.atoms[position]
            tensor = self.spill(tensor)
        key = (tensor, index)
        atom = self.known(key)
        if atom is None:
            kept = self.known(tensor)
            if kept is not None:
                atom = self.read(kept, index)
            elif isinstance(tensor, Lazy):
                atom = tensor.element(self, index)
            else:
                atom = self.let(element_of(tensor.name)(index), tensor.kind)
            self.keep(key, atom)
        return atom

    def spill(self, small: Small) -> Stored:
        """Local variables as an array, allocated outside all loops and filled as far outside as they are known."""
        found = self.known(small)
        if found is not None:
            return found
        level = min(max((atom.level for atom in small.atoms), default=0), self.depth)
        name, block = self.name("b"), self.at(level)
        self.at(0).line(f"{name} = {empty(small.kind, small.dims)}")
        for index, atom in zip(row_major(small.dims), small.atoms, strict=True):
            block.line(f"{name}[{', '.join(index) or '()'}] = {atom.code}")
        found = Stored(small.kind, small.dims, name, level)
        self.keep(small, found)
        return found

    def stored(self, tensor: Tensor) -> Stored:
        """The tensor as a contiguous array, computed now if it wasn't yet."""
        if isinstance(tensor, Stored):
            return tensor
        if isinstance(tensor, Small):
            return self.spill(tensor)
        array = self.known(tensor)
        if array is None:
            if tensor.alias is not None:
                array = Stored(tensor.kind, tensor.dims, self.let(tensor.alias, tensor.kind).code, self.depth)
            else:
                array = self.buffer(tensor.kind, tensor.dims)
                self.write([(tensor, element_of(array.name))])
            self.keep(tensor, array)
        return array

    def ready(self, tensor: Tensor) -> Tensor:
        """The tensor in a form of which elements cost nothing: whatever waits is computed."""
        waits = isinstance(tensor, Lazy) and not tensor.view and self.known(tensor) is None
        return self.stored(tensor) if waits else tensor

    # loop nests ----------------------------------------------------------------------------------

    @contextmanager
    def nest(self, dims: Dims) -> Iterator[Index]:
        """Loops over all of `dims`; gives the index inside them."""
        block = self.block
        index: list[str] = []
        size = fixed_size(dims)
        is_short = self.depth > 0 or (size is not None and size <= _UNROLLED)
        for axis, dim in enumerate(dims):
            if dim == 1:
                index.append("0")
                continue
            index.append(self.name("i"))
            literal = is_short or (axis == len(dims) - 1 and isinstance(dim, int) and dim <= SMALL)
            block = block.sub(f"for {index[-1]} in range({dim if literal else self._bound(dim)}):")
        with self.within(block):
            yield tuple(index)

    def _bound(self, dim: Dim) -> str:
        """A size as the end of a loop, unknown to LLVM.

        LLVM unrolls nests of known sizes whole: ten times the code and the compile time. In the bodies of loops that
        gains some per cent; outside of them nothing.
        """
        if not isinstance(dim, int):
            return str(dim)
        name = f"size{dim}"
        if dim not in self._opaque:
            self._opaque.add(dim)
            self._sizes.line(f"{name} = opaque({dim})")
        return name

    def write(self, jobs: Sequence[tuple[Tensor, Target]]) -> None:
        """Compute tensors into places; those of equal sizes share one loop nest.

        Parts that other readers will want as well are stored on the way.
        """
        groups: dict[Dims, list[tuple[Tensor, Target]]] = {}
        for tensor, target in jobs:
            groups.setdefault(tensor.dims, []).append((tensor, target))
        for dims, group in groups.items():
            kept = self._wanted_elsewhere([tensor for tensor, _ in group])
            buffers = [(tensor, self.buffer(tensor.kind, dims)) for tensor in kept]
            group = [(tensor, element_of(buffer.name)) for tensor, buffer in buffers] + group
            with self.nest(dims) as index:
                atoms = [(self.read(tensor, index), target(index)) for tensor, target in group]
                for atom, target in atoms:
                    self.block.line(f"{target} = {atom.code}")
            for tensor, buffer in buffers:
                self.keep(tensor, buffer)

    def _wanted_elsewhere(self, roots: list[Tensor]) -> list[Lazy]:
        """The waiting parts of `roots` that have uses outside of them."""
        inside: dict[Lazy, int] = {}
        seen: set[Lazy] = set()
        stack = [root for root in roots if isinstance(root, Lazy)]
        while stack:
            tensor = stack.pop()
            if tensor in seen or self.known(tensor) is not None:
                continue
            seen.add(tensor)
            for source in tensor.pointwise:
                inside[source] = inside.get(source, 0) + 1
                stack.append(source)
        return [
            tensor
            for tensor, count in inside.items()
            if tensor in seen and tensor not in roots and not tensor.view and self.uses.get(tensor, 0) > count
        ]


def empty(kind: str, dims: Sequence[object]) -> str:
    """Code that allocates an array."""
    return f"np.empty({tuple_code(dims)}, np.{'bool_' if kind == 'bool' else kind})"


def element_of(array: str) -> Target:
    """The place of an element in the array of that name.

    Computed indices (which are never negative) are made unsigned, so that Numba doesn't look for negative ones.
    """

    def place(index: Index) -> str:
        return f"{array}[{', '.join(part if _PLAIN.fullmatch(part) else f'np.uint64({part})' for part in index)}]"

    return place
