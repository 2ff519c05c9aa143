"""LSTM, GRU and RNN, recognised by the normal forms of the next states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .algebra import Applied, Atom, Dense, NotRecurrent, Product, Source, Sum, as_sum, product

Array = np.ndarray[Any, Any]
Function = tuple[str, tuple[float, ...]]
"""An activation and its parameters."""

_INTERNAL = ("Clip", "Exp", "AtMostOne")  # no activations


@dataclass
class Gate:
    """What goes into one gate's activation: constant + inputs @ weights + h @ recurrent."""

    constant: Array
    inputs: dict[str, list[tuple[Source, Array]]] = field(default_factory=dict)  # by sequence: its columns, weights
    recurrent: list[tuple[Source, Array]] = field(default_factory=list)
    peephole: Array | None = None

    def negated(self) -> Gate:
        """What gives 1 - sigmoid."""
        return Gate(
            -self.constant,
            {name: [(source, -matrix) for source, matrix in parts] for name, parts in self.inputs.items()},
            [(source, -matrix) for source, matrix in self.recurrent],
            None if self.peephole is None else -self.peephole,
        )


@dataclass
class Cell:
    """A recurrence as ONNX's operators have it; gates in their order (LSTM i, o, f, c; GRU z, r, h)."""

    kind: str
    functions: list[Function]
    gates: list[Gate]
    clip: float | None = None
    linear_before_reset: bool = False
    reset_constant: Array | None = None  # GRU's bias of h, added before the reset


@dataclass(frozen=True)
class _Pre:
    """An activation and what goes into it."""

    function: Function
    clip: float | None
    of: Sum


def _activation(atom: Atom) -> _Pre:
    if not isinstance(atom, Applied) or atom.function in _INTERNAL:
        raise NotRecurrent("a gate has no activation")
    before, clip = atom.of, None
    inner = before.atom
    if isinstance(inner, Applied) and inner.function == "Clip":
        before, clip = inner.of, inner.parameters[0]
    return _Pre((atom.function, atom.parameters), clip, before)


def _gate(before: Sum, h: Source, cell: Product | Sum | None = None) -> Gate:
    """A gate's weights. `cell`: what it may look at through a peephole.

    Raises:
        NotRecurrent: something else goes into it than one step's input and h.
    """
    gate = Gate(before.constant)
    for item, matrix in before.dense.items():
        source = item.atoms[0]
        if len(item.atoms) > 1 or not isinstance(source, Source):
            raise NotRecurrent("a gate depends on what is computed in the same step")
        if source.name == h.name:
            gate.recurrent.append((source, matrix))
        elif source.name.startswith("sequence "):
            gate.inputs.setdefault(source.name, []).append((source, matrix))
        else:
            raise NotRecurrent("a gate depends on another state than h")
    if before.terms:
        gate.peephole = _peephole(before, cell)
    return gate


def _peephole(before: Sum, cell: Product | Sum | None) -> Array:
    """The factors with which a gate sees the cell state, if that is what its other terms are."""
    seen = cell if isinstance(cell, Sum) else None if cell is None else as_sum(cell.atoms[0])
    if seen is not None and before.terms.keys() == seen.terms.keys() and not seen.dense:
        found = [before.terms[item] for item in seen.terms]
        if all((factor == found[0]).all() for factor in found) and all((c == 1).all() for c in seen.terms.values()):
            return found[0]
    sources = [atom for item in before.terms for atom in item.atoms if isinstance(atom, Source)]
    if any(source.name.startswith("sequence ") for source in sources):
        raise NotRecurrent("its input enters a gate without weights")
    raise NotRecurrent("a gate has a term that no gate of an LSTM, GRU or RNN has")


def _clip(pres: Sequence[_Pre]) -> float | None:
    clips = {pre.clip for pre in pres}
    if len(clips) > 1:
        raise NotRecurrent("its gates are bounded differently")
    return clips.pop()


def _is_close(coefficient: Array, value: float) -> bool:
    return bool((coefficient == value).all())


def _plain(after: Sum) -> dict[Product, Array]:
    """The terms of a sum that has nothing else."""
    if after.dense or after.constant.any():
        raise NotRecurrent("the next state is neither an activation nor a sum of gated values")
    return after.terms


def rnn(h: Source, after: Sum) -> Cell:
    """h' = f(W x + R h + b)."""
    atom = after.atom
    if atom is None:
        raise NotRecurrent("the next state is neither an activation nor a sum of gated values")
    pre = _activation(atom)
    return Cell("RNN", [pre.function], [_gate(pre.of, h)], pre.clip)


def gru(h: Source, after: Sum) -> Cell:
    """h' = (1 - z) * n + z * h, or with z and 1 - z in each other's place."""
    terms = _plain(after)
    lone = [item for item in terms if len(item.atoms) == 1]
    pairs = [item for item in terms if len(item.atoms) == 2]
    if (len(lone), len(pairs), len(terms)) != (1, 2, 3) or not _is_close(terms[lone[0]], 1):
        raise NotRecurrent("the next state isn't weighed up between a new one and the last")
    old = next((item for item in pairs if h.key in [atom.key for atom in item.atoms]), None)
    if old is None:
        raise NotRecurrent("the next state isn't weighed up between a new one and the last")
    z = _other(old, h)
    other = pairs[0] if pairs[1] is old else pairs[1]
    if z.key not in [atom.key for atom in other.atoms]:
        raise NotRecurrent("the new state and the last are weighed with different gates")
    new, turned = _other(other, z), lone[0].atoms[0].key == h.key
    if not turned and lone[0].atoms[0].key != new.key:
        raise NotRecurrent("the next state isn't weighed up between a new one and the last")
    sign = 1 if turned else -1
    if not _is_close(terms[other], sign) or not _is_close(terms[old], -sign):
        raise NotRecurrent("the weights of the new state and the last don't add up to 1")
    update, fresh = _activation(z), _activation(new)
    gate = _gate(update.of, h)
    if turned:
        if update.function[0] != "Sigmoid":
            raise NotRecurrent("its update gate is the complement of what the operator's is")
        gate = gate.negated()
    return _reset(Cell("GRU", [update.function, fresh.function], [gate]), h, update, fresh)


def _other(pair: Product, one: Atom) -> Atom:
    first, second = pair.atoms
    return second if first.key == one.key else first


def _reset(cell: Cell, h: Source, update: _Pre, fresh: _Pre) -> Cell:
    """The other gates of a GRU: r, which the new state looks at h through, and the new state itself."""
    before = fresh.of
    if before.terms:  # r * (h @ R + b)
        gated = [item for item in before.terms if any(isinstance(atom, Dense) for atom in item.atoms)]
        if len(gated) != 1 or len(gated[0].atoms) != 2 or not _is_close(before.terms[gated[0]], 1):
            raise NotRecurrent("the new state depends on the last one in a way that no GRU has")
        dense = next(atom for atom in gated[0].atoms if isinstance(atom, Dense))
        r = _other(gated[0], dense)
        rest = [item for item in before.terms if item != gated[0]]
        if rest not in ([], [product(r)]):
            raise NotRecurrent("the new state depends on the last one in a way that no GRU has")
        cell.linear_before_reset = True
        cell.reset_constant = before.terms[rest[0]] if rest else np.zeros(before.width)
        new = _gate(Sum(before.constant, {}, before.dense), h)
        recurrent = _gate(dense.of, h)
        if new.recurrent or recurrent.inputs:
            raise NotRecurrent("the new state depends on the last one in a way that no GRU has")
        new.recurrent = recurrent.recurrent
    else:  # (r * h) @ R
        gated = [item for item in before.dense if len(item.atoms) == 2 and h.key in [atom.key for atom in item.atoms]]
        if len(gated) != 1:
            raise NotRecurrent("the new state depends on the last one in a way that no GRU has")
        r = _other(gated[0], h)
        new = _gate(Sum(before.constant, {}, {k: v for k, v in before.dense.items() if k != gated[0]}), h)
        if new.recurrent:
            raise NotRecurrent("the new state depends on the last one without the reset gate")
        new.recurrent = [(h, before.dense[gated[0]])]
    reset = _activation(r)
    if reset.function != update.function:
        raise NotRecurrent("its gates have different activations")
    cell.gates += [_gate(reset.of, h), new]
    cell.clip = _clip([update, reset, fresh])
    return cell


def lstm(states: Sequence[Source], after: Sequence[Sum]) -> Cell:
    """c' = f * c + i * g, h' = o * tanh(c'); the gates i and f may be coupled. `states`: h and c."""
    h, c = states
    after_h, after_c = after
    output = after_h.single_product
    seen = None
    if output is not None and len(output.atoms) == 2:
        seen = next((atom for atom in output.atoms if isinstance(atom, Applied) and atom.of.key == after_c.key), None)
    if output is None or seen is None:
        raise NotRecurrent("h isn't a gate times an activation of the new cell state")
    o, last = _activation(_other(output, seen)), (seen.function, seen.parameters)
    forget, keep, new, coupled = _cell_state(c, after_c, o.function)
    if coupled and o.function[0] != "Sigmoid":
        raise NotRecurrent("its gates are coupled, and the activation isn't Sigmoid")
    if {forget.function, keep.function} != {o.function}:
        raise NotRecurrent("its gates have different activations")
    before = product(c)
    gates = [_gate(keep.of, h, before), _gate(o.of, h, after_c), _gate(forget.of, h, before), _gate(new.of, h)]
    if coupled == "forget":
        gates[2] = gates[0].negated()
    elif coupled == "input":
        gates[0] = gates[2].negated()
    return Cell("LSTM", [o.function, new.function, last], gates, _clip([o, forget, keep, new]))


def _cell_state(c: Source, after: Sum, usual: Function) -> tuple[_Pre, _Pre, _Pre, str]:
    """The forget gate, the input gate, the new value, and which of both gates is 1 - the other."""
    terms = _plain(after)
    singles = [item for item in terms if len(item.atoms) == 1]
    pairs = [item for item in terms if len(item.atoms) == 2]
    old = next((item for item in pairs if c.key in [atom.key for atom in item.atoms]), None)
    if old is None or len(pairs) != 2 or len(pairs) + len(singles) != len(terms) or len(singles) > 1:
        raise NotRecurrent("the next cell state isn't the last one and a new value, both gated")
    gate = _other(old, c)
    fresh = pairs[0] if pairs[1] is old else pairs[1]
    if not singles:  # f * c + i * g
        if not (_is_close(terms[old], 1) and _is_close(terms[fresh], 1)):
            raise NotRecurrent("the next cell state isn't the last one and a new value, both gated")
        pres = [_activation(atom) for atom in fresh.atoms]
        keep, new = pres if pres[0].function == usual else pres[::-1]
        return _activation(gate), keep, new, ""
    lone = singles[0].atoms[0]
    if gate.key not in [atom.key for atom in fresh.atoms] or not _is_close(terms[singles[0]], 1):
        raise NotRecurrent("the next cell state isn't the last one and a new value, both gated")
    new, pre = _other(fresh, gate), _activation(gate)
    if lone.key == c.key and _is_close(terms[old], -1) and _is_close(terms[fresh], 1):  # c - i * c + i * g
        return pre, pre, _activation(new), "forget"
    if lone.key == new.key and _is_close(terms[old], 1) and _is_close(terms[fresh], -1):  # f * c + g - f * g
        return pre, pre, _activation(new), "input"
    raise NotRecurrent("the next cell state isn't the last one and a new value, both gated")
