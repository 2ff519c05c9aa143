"""Loops that are an LSTM, GRU or RNN -> the operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...graph import Graph, Node, Value
from ...hub import HUB
from ...loop import Loop, is_loop
from ...names import Names
from ...pipeline import PassResult
from ...rewrite import Builder, Rewriter
from ..simplify import Simplify
from .algebra import NotRecurrent
from .build import built, planned
from .loop_invariants import LoopInvariants
from .match import Found, found


@dataclass(frozen=True)
class FuseRecurrent:
    """A loop whose body is a recurrent cell becomes the operator, which runtimes run several times faster.

    Before::

        h: float32[2, 3], y: float32[9, 2, 3] = Loop(trip=_, condition=_) {
          sliced   x: float32[2, 4] = xs[axis=0]
          carried  h_before: float32[2, 3] = h0 <- h_after
          stacked  y[axis=0] <- h_after
          a: float32[2, 3] = MatMul(x, w)
          b: float32[2, 3] = MatMul(h_before, r)
          s: float32[2, 3] = Add(a, b)
          h_after: float32[2, 3] = Tanh(s)
        }

    After::

        rnn: float32[9, 1, 2, 3], rnn_1: float32[1, 2, 3] = RNN(xs, W, R, _, _, Unsqueeze(h0, [0]))
        y: float32[9, 2, 3] = Squeeze(rnn, [1])
        h: float32[2, 3] = Squeeze(rnn_1, [0])

    It is recognised by what the next states are, multiplied out, not by the operators that say it. Weights must be
    constant; what the loop gives must be what the operator gives. Where there may be no steps, or no batch, at which
    runtimes' operators give something else, the operator stands in an If.

    `objection` says why a target has no operator for a recurrence, None where it has. `notes` takes up what became of
    each loop.
    """

    objection: Callable[[Found], str | None] | None = None
    notes: list[str] = field(default_factory=list, compare=False)

    def __call__(self, graph: Graph) -> PassResult:
        names = Names.of(graph)
        invariants = LoopInvariants(graph)
        modified = False
        for inner in list(graph.graphs()):
            op = Builder(Rewriter(HUB, {}, names=names), inner)
            for node in inner.nodes:
                if is_loop(node):
                    modified |= self._fuse(op, node, invariants)
        if modified:
            Simplify()(graph)
        return PassResult(graph, modified)

    def _fuse(self, op: Builder, node: Node, invariants: LoopInvariants) -> bool:
        graph, loop = op.graph, Loop(node)
        title = f"the loop {node.name or ', '.join(value.name for value in node.outputs)!r}"
        try:
            plans = [planned(match, invariants) for match in found(graph, loop, invariants)]
            for plan in plans:
                objection = self.objection(plan.found) if self.objection is not None else None
                if objection is not None:
                    raise NotRecurrent(objection)
        except NotRecurrent as reason:
            self.notes.append(f"{title} is no recurrent operator: {reason}")
            return False
        named: set[Value] = set()
        for plan in plans:
            for old, new in built(op, plan).items():
                new = op.Identity(new) if new in named else new
                named.add(new)
                graph.replace_uses(old, new)
                new.name, new.meta = old.name, old.meta
        graph.remove_node(node)
        self.notes.append(f"{title} is {' and '.join(_description(plan.found) for plan in plans)}")
        return True


def _description(match: Found) -> str:
    kind = match.cell.kind
    article = "an" if kind in ("LSTM", "RNN") else "a"
    return f"{article} {kind} of {match.states[0].width} units{', backwards' if match.reverse else ''}"
