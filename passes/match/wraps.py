"""What a carried value is made of in every pass, so that this can be what is carried.

Where the value before the first pass is `f(x)`, and a pass turns `f(y)` into `f(z)`, then it is `f` of something in
every pass. `f` is a Cast that loses nothing, an Optional that holds something, or a sequence of a tensor's elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..types import DType, SequenceType
from .choice import IF
from .containers import elements_of, given, tensor_of
from .layout import expand
from .maker import Maker
from .terms import Term, depends

_CAST, _OPTIONAL, _SEQUENCE = "Cast", "Optional", "sequence"


@dataclass(frozen=True, slots=True)
class Wrap:
    """`f`.

    Attributes:
        kind: which one.
        to: the element type that a Cast gives.
    """

    kind: str
    to: DType | None = None

    def of(self, m: Maker, x: Term) -> Term:
        """`f(x)`."""
        if self.kind == _SEQUENCE:
            return elements_of(m, x)
        return m.make(_OPTIONAL, x) if self.kind == _OPTIONAL else m.make(_CAST, x, to=self.to, saturate=1)

    def taken_off(self, m: Maker, value: Term, like: Term) -> Term | None:
        """The `x` of which a value is `f(x)`, of the element type of another; None where it isn't known to be one."""
        if self.kind == _OPTIONAL:
            inner = value.operands[0] if value.op == _OPTIONAL and value.operands else None
        elif self.kind == _SEQUENCE:
            inner = tensor_of(m, value)
            if inner is not None and (inner.shape is None or like.shape is None or inner.shape[1:] != like.shape[1:]):
                return None
        else:
            assert like.dtype is not None
            inner = _narrow(m, value, like.dtype)
        if inner is None or inner.dtype is not like.dtype or inner.container != like.container:
            return None
        return inner


def wrap_of(m: Maker, initial: Term, became: Term, context: int) -> tuple[Wrap, Term] | None:
    """What a carried value may be made of, and the first one of that.

    Args:
        became: what a pass makes of it; it isn't certain yet of every pass.
        context: of the variables of the body.
    """
    if initial.op == _OPTIONAL:
        inner = initial.operands[0] if initial.operands else None
        return None if inner is None or inner.dtype is None else (Wrap(_OPTIONAL), inner)
    if isinstance(initial.container, SequenceType):
        tensor = _no_elements(m, became, context) if initial.op == "SequenceEmpty" else tensor_of(m, initial)
        return None if tensor is None else (Wrap(_SEQUENCE), tensor)
    narrow = became.operands[0].dtype if became.op == _CAST and became.operands[0] is not None else None
    if narrow is None or initial.dtype is None or initial.dtype is narrow or not initial.dtype.holds(narrow):
        return None
    inner = _narrow(m, initial, narrow)
    return None if inner is None else (Wrap(_CAST, initial.dtype), inner)


def _narrow(m: Maker, value: Term, narrow: DType) -> Term | None:
    """What a value is a Cast of that loses nothing."""
    if value.dtype is None or value.dtype is DType.STRING or not value.dtype.holds(narrow):
        return None
    inner = m.make(_CAST, value, to=narrow, saturate=1)
    return inner if m.make(_CAST, inner, to=value.dtype, saturate=1) is value else None


def _no_elements(m: Maker, became: Term, context: int) -> Term | None:
    """The tensor without elements to which a pass adds some."""
    one = _some_element(became)
    if one is None or one.shape is None or one.dtype in (None, DType.STRING):
        return None
    if any(depends(size, context) for size in one.shape):
        return None
    zero = m.array(one.dtype.numpy.type(0), one.dtype)
    return expand(m, zero, (0, *one.shape))


def _some_element(sequence: Term | None) -> Term | None:
    if sequence is None:
        return None
    if sequence.op == IF:
        return _some_element(sequence.operands[1]) or _some_element(sequence.operands[2])
    parts = given(sequence)
    return parts[0] if parts else None
