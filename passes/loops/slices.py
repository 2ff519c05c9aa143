"""Parts that a loop reads one after the other are sliced inputs; parts that it writes so are stacked outputs.

Before::

    ys = Loop(trip=4) {
      iteration i
      captured xs;  carried ys: float32[4] = zeros <- more
      x = Gather(xs, i);  more = ScatterND(ys, [i], Neg(x))
    }

After::

    ys = Loop {
      sliced   x: float32[] = xs[axis=0]
      stacked  ys[axis=0] <- Neg(x)
    }
"""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import Value
from ..loop import Captured, Carried, Sliced, Stacked
from ..sizes import dims_of, is_at_most, size_of
from ..types import TensorType
from .affine import Line
from .draft import DraftSlot, LoopDraft
from .vocabulary import Access


@dataclass(frozen=True, slots=True)
class _Part:
    """What is read or written along one axis: one part in each pass, one behind the other."""

    axis: int
    line: Line
    size: int

    @property
    def reverse(self) -> bool:
        return self.line.scale < 0

    @property
    def part(self) -> int | None:
        """As a slot says it: None is one element, without the axis."""
        return None if self.size == 1 else self.size

    def first(self, trips: int) -> int:
        """The smallest index of all passes."""
        found = self.line.offset - (trips - 1) * self.size if self.reverse else self.line.offset
        assert isinstance(found, int)
        return found

    def slot(self, trips: int, length: int) -> Sliced:
        start = self.first(trips)
        end = trips * self.size + start
        if end == length:
            end = -1
        assert isinstance(end, int)
        if self.reverse:
            return Sliced(self.axis, end, start, -self.size, self.part)
        return Sliced(self.axis, start, end, self.size, self.part)

    def element(self, type: TensorType) -> TensorType:
        """The type of one part of a value of a type."""
        assert type.shape is not None
        kept = () if self.part is None else (self.size,)
        return TensorType(type.dtype, (*type.shape[: self.axis], *kept, *type.shape[self.axis + 1 :]))


def _part(draft: LoopDraft, access: Access) -> _Part | None:
    """How an access moves along one axis from pass to pass; None where it doesn't do just that."""
    shape, sizes, trips = _shape(access.whole), access.sizes, draft.trips
    if shape is None or trips is None or not len(shape) == len(sizes) == len(access.starts):
        return None
    lines = [None if start is None else draft.lines.lines.get(start) for start in access.starts]
    axes = [axis for axis, (dim, size) in enumerate(zip(shape, sizes, strict=True)) if dim != size]
    if not axes and trips == 1:  # the one part is the whole
        axes = [axis for axis, line in enumerate(lines) if line is not None and line.scale]
    if len(axes) != 1:
        return None
    axis = axes[0]
    line, size = lines[axis], sizes[axis]
    if line is not None and trips == 1:
        line = Line(size, line.offset)
    if line is None or not isinstance(size, int) or not size or abs(line.scale) != size:
        return None
    part = _Part(axis, line, size)
    low, high = (size_of(end) for end in draft.lines.ends(line))
    last = size_of(shape[axis] - size)
    if low is None or high is None or last is None or not (is_at_most(0, low) and is_at_most(high, last)):
        return None
    first = line.offset - (trips - 1) * size if part.reverse else line.offset
    whole = isinstance(first, int) and (trips * size + first == shape[axis] or isinstance(trips, int))
    return part if whole else None  # a slot's ends are numbers


def _shape(value: Value) -> tuple[int, ...] | None:
    return dims_of(value.tensor.shape)


def slice_reads(draft: LoopDraft) -> None:
    """Make sliced inputs of what is read out of values that don't change."""
    if not draft.trips:
        return
    operands = {entry.body_input: entry.operand for entry in draft.of(Captured)}
    found: list[DraftSlot] = []
    for node in draft.body.nodes:
        access = draft.vocabulary.read(node, draft.lines)
        part = None
        if access is not None and (access.whole in operands or access.whole.data is not None):
            part = _part(draft, access)
        if access is None or part is None:
            continue
        whole = access.whole
        source = operands.get(whole) or draft.op.graph.add_constant(whole.data, draft.op.claim(whole.name))
        element = Value(f"{whole.name}_part", part.element(whole.tensor))
        slot = part.slot(draft.trips, (_shape(whole) or ())[part.axis])
        found.append(DraftSlot(slot, source, element))
        keeps_axis = node.output.rank == whole.rank
        type = TensorType(whole.tensor.dtype, tuple(access.sizes)) if keeps_axis else element.tensor
        draft.replace(node.output, draft.vocabulary.reshape(draft.inside, element, type))
    draft.slots += found
    draft.trip = None if found else draft.trip  # what is sliced says it


def stack_writes(draft: LoopDraft) -> None:
    """Make stacked outputs of what is written into values that nobody else looks at."""
    if not draft.trips or not draft.exact:
        return
    for entry in draft.of(Carried):
        maker = entry.body_output.producer if entry.body_output is not None else None
        written = draft.vocabulary.written(maker) if maker is not None else None
        if written is None or written[0].whole is not entry.body_input or not _is_only_written(draft, entry):
            continue
        access, update = written
        part = _part(draft, access)
        if part is not None:
            element = draft.vocabulary.reshape(draft.inside, update, part.element(access.whole.tensor))
            _stack(draft, entry, part, element)


def _is_only_written(draft: LoopDraft, entry: DraftSlot) -> bool:
    """Whether nobody looks at a carried value but what writes into it, nor at what that leaves."""
    buffer, result = entry.body_input, entry.body_output
    assert buffer is not None and result is not None
    leaves = [other.body_output for other in draft.slots]
    uses = draft.body.uses
    return len(uses(buffer)) == 1 and not uses(result) and leaves.count(result) == 1 and buffer not in leaves


def _stack(draft: LoopDraft, entry: DraftSlot, part: _Part, element: Value) -> None:
    """A carried slot as a stacked one; what doesn't fill the value is put inside of what was there before."""
    whole, trips, initial = entry.body_input, draft.trips, entry.operand
    assert whole is not None and trips is not None and initial is not None
    sizes = list(_shape(whole) or ())
    fills = sizes[part.axis] == trips * part.size
    sizes[part.axis] = trips * part.size
    stacked = DraftSlot(Stacked(part.axis, part.reverse, part.part), body_output=element, result=entry.result)
    stacked.type = TensorType(whole.tensor.dtype, tuple(sizes))
    draft.slots[draft.slots.index(entry)] = stacked

    def updated(made: Value | None) -> Value:
        assert made is not None
        return draft.vocabulary.inserted(draft.op, initial, made, part.axis, part.first(trips))

    if entry.result is not None and not fills:
        draft.finish[entry.result] = updated
