"""What is certain of two files before either is run: their hub graphs matched, see `passes.match`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..passes.errors import BackedgeError
from ..passes.graph import Graph, Node, Value
from ..passes.match.certificate import certificate
from ..passes.match.matching import Matching, match
from ..passes.schemas import HUB_OPSETS
from ..runtime.compare.matching import match_names
from .files import to_dialect, to_hub
from .folding import computed_arrays
from .format import Format
from .terminal import writing

_SMALL = 400
"""Operators of a model of which that is tried."""
TRIALS = 3
"""Sets of inputs on which what is proved is run all the same: the proof rests on our readers, runtimes on theirs."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What matching two files found.

    Attributes:
        outputs: name of A's output -> whether it is proved equal to B's.
        lemmas: operators that the proof takes for what our converter writes for them, or for what they are made of.
        matched, of: operators of B (regions aside) of which A has the same values; all of them.
        stops: at which operators of A and of B they part.
        why: what kept the proof from being tried to its end; "" if nothing did.
        matching: what found it.
    """

    outputs: dict[str, bool]
    lemmas: list[str] = field(default_factory=list[str])
    matched: int = 0
    of: int = 0
    stops: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    why: str = ""
    matching: Matching | None = field(default=None, repr=False, compare=False)

    @property
    def holds(self) -> bool:
        """Whether every output is proved equal, and nothing is left to be shown."""
        return bool(self.outputs) and all(self.outputs.values()) and not self.lemmas and not self.why

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "holds": self.holds,
            "outputs": self.outputs,
            "lemmas": self.lemmas,
            "matched": self.matched,
            "of": self.of,
            "stops": {"a": self.stops[0], "b": self.stops[1]},
            "why": self.why,
        }


def matched(a: Graph, b: Graph, target: Format | None = None, opset: int | None = None) -> Matching:
    """Two hub graphs matched; inputs and outputs belong together as `verify` has it.

    Args:
        target, opset: in what B is written; operators of A may then be taken for what is written for them there.
    """
    inputs = match_names([value.name for value in a.inputs], [value.name for value in b.inputs])
    outputs = match_names([value.name for value in a.outputs], [value.name for value in b.outputs])
    lowering = None if target is None else lowered_alone(target, opset)
    return match(a, b, inputs.pairs, outputs.pairs, computed_arrays, lowering)


def prove(a: Graph, b: Graph, target: Format | None = None, opset: int | None = None) -> Proof:
    """What is certain of two hub graphs; of small ones also what follows if operators are as `target` has them."""
    found = matched(a, b)
    if not found.proved and not found.why and target is not None and sum(1 for _ in a.walk()) <= _SMALL:
        modulo = matched(a, b, target, opset)
        found = modulo if modulo.proved else found
    common = set(found.terms[0].values())
    values = [[found.terms[1].get(value) for value in node.outputs] for node in b.nodes]
    return Proof(
        {name: one is not None and one is other for name, (one, other) in found.outputs.items()},
        sorted({node.op_type for node, _ in found.lemmas}),
        sum(all(term in common for term in terms) for terms in values),
        len(values),
        ([], []) if found.proved else found.frontier(),
        found.why,
        found,
    )


def write_certificate(proof: Proof, path: Path) -> None:
    """Write the certificate of a proof that holds.

    Raises:
        InvalidModel: it can't be written.
    """
    assert proof.matching is not None
    with writing(path):
        path.write_text(json.dumps(certificate(proof.matching), separators=(",", ":")), encoding="utf-8")


def alone(node: Node) -> Graph:
    """A hub graph of one operator, whose inputs are its own that are there; those that are constants stay it."""
    graph = Graph("hub", node.op_type)
    graph.opsets = dict(HUB_OPSETS)
    twins: dict[Value, Value] = {}
    for value in node.inputs:
        if value is None or value in twins:
            continue
        if value.data is not None:
            twins[value] = graph.add_constant(value.data, value.name)
        else:
            twins[value] = graph.add_input(value.name, value.type)
    made = graph.add_node(
        node.op_type,
        [None if value is None else twins[value] for value in node.inputs],
        [(value.name, value.type) for value in node.outputs],
        node.attributes,
        domain=node.domain,
        version=node.version,
    )
    graph.outputs = [value for value in made.outputs if value.name]
    return graph


def lowered_alone(target: Format, opset: int | None) -> Callable[[Node], Graph | None]:
    """What a format says for one operator alone, raised again."""

    def lowered(node: Node) -> Graph | None:
        try:
            graph = to_hub(to_dialect(alone(node), target, opset))
        except BackedgeError:
            return None
        inputs = {value.name: value for value in graph.inputs}
        given = [value for value in node.inputs if value is not None]
        graph.inputs = [inputs.get(value.name) or Value(value.name, value.type) for value in given]
        return graph

    return lowered
