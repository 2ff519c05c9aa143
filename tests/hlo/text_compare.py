"""When two syntax trees say the same."""

from __future__ import annotations

from backedge.convert.hlo.text.tree import Computation, Instruction, Literal, Module


def same_literal(one: Literal | None, other: Literal | None) -> bool:
    """Equal bit by bit: minus zero isn't zero, a NaN is itself."""
    if one is None or other is None:
        return one is other
    if isinstance(one, tuple) or isinstance(other, tuple):
        pair = isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other)
        return pair and all(map(same_literal, one, other))
    left, right = one.numpy(), other.numpy()
    return (one.dtype, one.shape) == (other.dtype, other.shape) and left.tobytes() == right.tobytes()


def _said(instruction: Instruction) -> tuple[object, ...]:
    plain = (instruction.name, instruction.shape, instruction.opcode, instruction.number)
    return (*plain, instruction.operands, instruction.attributes)


def assert_same(one: Module, other: Module, header: bool = True) -> None:
    """Equal, where in a text things stood and the computations' order aside.

    Args:
        header: whether the header's attributes must be equal, too.
    """
    assert (one.name, one.entry) == (other.name, other.entry)
    assert not header or one.attributes == other.attributes
    left, right = ({found.name: found for found in module.computations} for module in (one, other))
    assert left.keys() == right.keys() and len(left) == len(one.computations) == len(other.computations)
    for name, computation in left.items():
        _assert_same(computation, right[name])


def _assert_same(one: Computation, other: Computation) -> None:
    assert (one.root, one.attributes) == (other.root, other.attributes), one.name
    assert list(map(_said, one.instructions)) == list(map(_said, other.instructions))
    for left, right in zip(one.instructions, other.instructions, strict=True):
        assert same_literal(left.literal, right.literal), left.name
