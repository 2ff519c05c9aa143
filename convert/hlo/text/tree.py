"""What HLO text says, as the parser hands it over and the printer takes it: nothing is resolved or inferred here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....passes.sizes import largest
from ....passes.tensor import TensorData
from ....passes.types import Dim, DType

Attributes = dict[str, Any]
"""Name as HLO spells it -> int, float, bool, str (identifiers, strings), tuple of ints or of names, or one of the
classes below."""


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """`f32[2,<=3]{1,0}`. A dimension is a size, `Interval(0, n)` for `<=n`, None for `?`.

    `layout` is the text with its braces.
    """

    dtype: DType
    dims: tuple[Dim, ...] = ()
    layout: str = ""


@dataclass(frozen=True, slots=True)
class TupleShape:
    """`(f32[2], (s32[], pred[3]))`."""

    elements: tuple[HloShape, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenShape:
    """`token[]`."""


HloShape = ArrayShape | TupleShape | TokenShape


@dataclass(frozen=True, slots=True)
class Operand:
    """A use: `name`, and the path of indices after it (`name#0#1`)."""

    name: str
    path: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class WindowDim:
    """One dimension of `window={...}`."""

    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    lhs_dilate: int = 1
    rhs_dilate: int = 1
    reversal: bool = False

    @property
    def reach(self) -> int:
        """How many elements it spans, with what it leaves out."""
        return (self.size - 1) * self.rhs_dilate + 1

    @property
    def is_positive(self) -> bool:
        """Whether its size, stride and dilations are above 0, as those of every window are."""
        counts = (self.size, self.stride, self.lhs_dilate, self.rhs_dilate)
        return all(count >= 1 for count in counts)  # one by one: an open size can't be compared with a stride

    @property
    def is_whole(self) -> bool:
        """Whether it sees one element of the dimension after the other, none left out."""
        return (self.size, self.stride, self.low, self.high, self.lhs_dilate) == (1, 1, 0, 0, 1)

    def count(self, size: int) -> Any:
        """How many positions it has along a dimension of this size: an int, where no size is open."""
        room = (size - 1) * self.lhs_dilate + 1 if size else 0
        room += self.low + self.high - self.reach
        return largest(0, room // self.stride + 1)

    def __repr__(self) -> str:
        turned = "r" if self.reversal else ""
        dilated = f" / {self.lhs_dilate} x {self.rhs_dilate}" if (self.lhs_dilate, self.rhs_dilate) != (1, 1) else ""
        return f"{self.size}{turned}:{self.stride}[{self.low}_{self.high}]{dilated}"


@dataclass(frozen=True, slots=True, repr=False)
class PadDim:
    """One dimension of `padding=1_-2_3`."""

    low: int
    high: int
    interior: int = 0

    def __repr__(self) -> str:
        return f"{self.low}_{self.high}" + (f"_{self.interior}" if self.interior else "")


@dataclass(frozen=True, slots=True, repr=False)
class SliceDim:
    """One dimension of `slice={[0:4:2]}`."""

    start: int
    limit: int
    stride: int = 1

    def __repr__(self) -> str:
        return f"[{self.start}:{self.limit}" + (f":{self.stride}]" if self.stride != 1 else "]")


@dataclass(frozen=True, slots=True, repr=False)
class Labels:
    """`dim_labels=b01f_01io->b01f`."""

    lhs: str
    rhs: str
    out: str

    def __repr__(self) -> str:
        return f"{self.lhs}_{self.rhs}->{self.out}"


@dataclass(frozen=True, slots=True)
class Raw:
    """The text of an attribute that means nothing to a computation (sharding, metadata, ...), as it stood."""

    text: str


@dataclass(slots=True)
class Instruction:
    """`name = shape opcode(operands), attributes`.

    `literal` is a constant's value: data, or a tuple of them, nested as the shape is. `number` is a parameter's.
    """

    name: str
    shape: HloShape | None
    opcode: str
    operands: list[Operand] = field(default_factory=list)
    attributes: Attributes = field(default_factory=dict)
    literal: Any = None
    number: int = -1
    line: int = 0
    column: int = 0


@dataclass(slots=True)
class Computation:
    """A computation; `root` is an instruction's index."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    root: int = -1
    attributes: dict[str, Raw] = field(default_factory=dict)  # execution_thread
    line: int = 0
    column: int = 0


@dataclass(slots=True)
class Module:
    """A module; `entry` is a computation's name. `attributes` are the header's, and its stack tables, as text."""

    name: str
    computations: list[Computation] = field(default_factory=list)
    entry: str = ""
    attributes: dict[str, Raw] = field(default_factory=dict)


Literal = TensorData | tuple["Literal", ...]
