"""What is certain of two files before either is run: their hub graphs matched, see `passes.match`."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..passes.errors import BackedgeError
from ..passes.graph import Graph, Node, Value
from ..passes.match.certificate import certificate
from ..passes.match.maker import Maker
from ..passes.match.matching import Matching, match
from ..passes.match.reals import over_the_reals
from ..passes.match.rules import TYPES
from ..passes.match.terms import Table
from ..passes.outputs import write_text
from ..passes.scratch import scratch
from ..runtime.compare.matching import match_names
from .files import to_dialect, to_hub
from .folding import computed_arrays
from .format import Format
from .lemmas import alone, tried

_MOST_LEMMAS = 24  # that are tried
_SMALL = 400
"""Operators of a model of which that is tried."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What matching two files found.

    Attributes:
        outputs: name of A's output -> whether it is proved equal to B's.
        lemmas: operators that the proof takes for what our converter writes for them, or for what they are made of.
        tried: of each of these, on how many sets of inputs both ways gave the same, see `lemmas.tried`.
        refuted: those of which they didn't on one.
        over_reals: every output is proved equal if floats are taken for real numbers: only rounding can differ.
        matched, of: operators of B (regions aside) of which A has the same values; all of them.
        stops: at which operators of A and of B they part.
        why: what kept the proof from being tried to its end; "" if nothing did.
        given_up: why an attempt at more was given up; "" if none was.
        matching: what found it, if it holds.
    """

    outputs: dict[str, bool]
    lemmas: list[str] = field(default_factory=list[str])
    tried: dict[str, int] = field(default_factory=dict[str, int])
    refuted: list[str] = field(default_factory=list[str])
    over_reals: bool = False
    matched: int = 0
    of: int = 0
    stops: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    why: str = ""
    given_up: str = ""
    matching: Matching | None = field(default=None, repr=False, compare=False)

    @property
    def holds(self) -> bool:
        """Whether every output is proved equal, and nothing is left to be shown."""
        return bool(self.outputs) and self.proved == set(self.outputs)

    @property
    def proved(self) -> set[str]:
        """The outputs that are equal whatever the others are: none where something is left to be shown."""
        return set() if self.lemmas or self.why else {name for name, equal in self.outputs.items() if equal}

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "holds": self.holds,
            "outputs": self.outputs,
            "lemmas": self.lemmas,
            "tried": self.tried,
            "refuted": self.refuted,
            "over_reals": self.over_reals,
            "matched": self.matched,
            "of": self.of,
            "stops": {"a": self.stops[0], "b": self.stops[1]},
            "why": self.why,
            "given_up": self.given_up,
        }


def matched(
    a: Graph,
    b: Graph,
    target: Format | None = None,
    opset: int | None = None,
    *,
    reals: bool = False,
    excess: Callable[[], str] = str,
) -> Matching:
    """Two hub graphs matched; inputs and outputs belong together as `verify` has it.

    Args:
        target, opset: in what B is written; operators of A may then be taken for what is written for them there.
        reals: take floats for real numbers, see `passes.match.reals`; nothing that this proves is equal to the bit.
        excess: which limit the work has reached, and is given up for; "" if none.
    """
    inputs = match_names([value.name for value in a.inputs], [value.name for value in b.inputs])
    outputs = match_names([value.name for value in a.outputs], [value.name for value in b.outputs])
    lowering = None if target is None else lowered_alone(target, opset)
    maker = _maker_over_reals if reals else None
    return match(a, b, inputs.pairs, outputs.pairs, computed_arrays, lowering, maker, excess)


def _maker_over_reals(table: Table) -> Maker:
    return Maker(table, over_the_reals(), TYPES, computed_arrays)


def prove(
    a: Graph,
    b: Graph,
    target: Format | None = None,
    opset: int | None = None,
    excess: Callable[[], str] = str,
) -> Proof:
    """What is certain of two hub graphs; of small ones also what follows if operators are as `target` has them, or if
    floats are real numbers.

    What can't be found isn't proved: whatever happens on the way, the attempt is given up, and that is all.

    Args:
        excess: see `matched`.
    """
    try:
        proof = _proof(a, b, target, opset, excess)
    except Exception as error:
        proof = Proof({}, why=_fault(error), given_up=_fault(error))
    if proof.given_up:
        gc.collect()  # terms refer to each other
    return proof


def _fault(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is no memory left"
    return f"backedge is at fault: {type(error).__name__}: {error}".splitlines()[0]


def _attempted(attempt: Callable[[], Matching]) -> tuple[Matching | None, str]:
    """What one more attempt found, if anything, and why it was given up."""
    try:
        found = attempt()
    except Exception as error:
        return None, _fault(error)
    return found, found.why if found.given_up else ""


def _proof(a: Graph, b: Graph, target: Format | None, opset: int | None, excess: Callable[[], str]) -> Proof:
    found = matched(a, b, excess=excess)
    given_up = found.why if found.given_up else ""
    over_reals = False
    if not found.proved and not found.why and target is not None and sum(1 for _ in a.walk()) <= _SMALL:
        modulo, given_up = _attempted(lambda: matched(a, b, target, opset, excess=excess))
        if modulo is not None and modulo.proved:
            found = modulo
        elif not given_up:
            reals, given_up = _attempted(lambda: matched(a, b, reals=True, excess=excess))
            over_reals = reals is not None and reals.proved
    common = set(found.terms[0].values())
    values = [[found.terms[1].get(value) for value in node.outputs] for node in b.nodes]
    sets, refuted = _tried(found) if found.proved else ({}, [])
    return Proof(
        {name: one is not None and one is other for name, (one, other) in found.outputs.items()},
        sorted({node.op_type for node, _ in found.lemmas}),
        sets,
        refuted,
        over_reals,
        sum(all(term in common for term in terms) for terms in values),
        len(values),
        ([], []) if found.proved else found.frontier(),
        found.why,
        given_up,
        found if found.proved else None,
    )


def _tried(found: Matching) -> tuple[dict[str, int], list[str]]:
    """The lemmas of a proof, each tried once: of each operator the fewest sets of inputs, and what is refuted."""
    sets: dict[str, int] = {}
    refuted: set[str] = set()
    for node, graph in found.lemmas[:_MOST_LEMMAS]:
        count, holds = tried(node, graph)
        sets[node.op_type] = min(count, sets.get(node.op_type, count))
        if not holds:
            refuted.add(node.op_type)
    return sets, sorted(refuted)


def write_certificate(proof: Proof, path: Path) -> str:
    """Write the certificate of a proof that holds, if `check` accepts it: it computes no sequences and optionals.

    Returns:
        Why there is none, a line for the report; "" if it was written.

    Raises:
        InvalidModel: it can't be written.
    """
    from .check import Rejected, check  # with onnx's reference implementation, which takes a while to import

    assert proof.matching is not None and proof.matching.graphs is not None
    text = json.dumps(certificate(proof.matching), separators=(",", ":"))
    with scratch() as folder:
        file = folder / "certificate.json"
        file.write_text(text, encoding="utf-8")
        try:
            check(file, *proof.matching.graphs)
        except Rejected as error:
            return f"there is no certificate: check can't follow the proof ({error})"
    write_text(text, path)
    return ""


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
