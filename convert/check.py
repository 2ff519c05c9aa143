"""check: whether a certificate shows that two files compute the same. Nothing of what found the proof has a part in it.

Every value of both graphs has a term; outputs are equal where theirs is one. What has to be shown for that:

- an operator on its operands' terms gives the term of its output. That is derived where the term is the very operator
  on the very operands (in any order where it commutes), or the same was shown before. Otherwise it is tested: both
  sides are computed in random worlds (`trials`), and every bit has to be the same. What can't be computed (sequences,
  values of unknown rank) is taken for nothing but this operator on these operands.
- a loop's carried values are in the classes of its group: before the first pass they are the classes' initial terms,
  and where the body sees the classes' variables, they become the classes' next terms. Two loops whose passes are
  counted alike then hand out the same: by induction, term by term. A loop that the certificate says nothing of is run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..passes.core import DRAWING
from ..passes.errors import InvalidModel
from ..passes.graph import Graph, Node, Value
from ..passes.loop import Captured, Carried, Condition, Entry, Iteration, Loop, Sliced, Stacked, is_if, is_loop
from ..passes.tensor import TensorData
from ..runtime.compare.matching import match_names
from .check_inputs import check_inputs
from .checked import Checked
from .evaluation import (
    Json,
    Shared,
    Terms,
    World,
    attribute_of,
    attributes_with_defaults,
    comparable,
    digest,
    equal,
    is_known,
    numbers_of,
)
from .reference import MOST_PASSES, Undefined, defined, laid_out, limits_of, seen
from .trials import APART, Trials
from .trials import Rejected as Rejected

_ENDLESS = 1 << 62
_COMMUTE = ("Add", "Mul", "And", "Or", "Xor", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
_MIRRORED = {"Greater": "Less", "GreaterOrEqual": "LessOrEqual"}
_FALSE, _TRUE = TensorData.of(np.bool_(False)), TensorData.of(np.bool_(True))


class Checker:
    """Checks one certificate against the hub graphs of two files."""

    def __init__(self, found: Json, a: Graph, b: Graph) -> None:
        self.terms: list[Json] = Terms(found["terms"])
        self.groups: Json = found["groups"]
        constants = [
            value.data for side in (a, b) for graph in side.graphs() for value in graph.constants if value.data
        ]
        arrays = [one.numpy() for one in constants]
        turns = {group["iteration"]: group["passes"] for group in self.groups.values()}
        own = [*turns, *(one["variable"] for group in self.groups.values() for one in group["classes"] if one)]
        own += [one for one in map(self._open_passes, self.groups.values()) if one is not None]
        if len(turns) < len(self.groups) or len(set(own)) < len(own):
            raise Rejected("two groups share a variable")
        self.shared = Shared(self.terms, {digest(one): one for one in arrays}, turns, numbers_of(arrays))
        self.trials = Trials(self.shared)
        self.checked = Checked()
        self._shown: set[Any] = set()
        self._own: dict[Any, int] = {}  # terms of steps that stand for themselves
        self._keys: dict[int, Any] = {}
        self._around_now: list[str] = []  # groups of the loops around

    def same_outputs(self, name: str, one: Any, other: Any) -> None:
        if one is None or self._key(one) != self._key(other):
            raise Rejected(f"output {name!r} has another term in B")
        self.checked.outputs.append(name)

    def graph(self, graph: Graph, proof: Json, inputs: Sequence[Any]) -> dict[Value, Any]:
        """Check the terms of a graph whose inputs have these; the terms (or constants) that its values have."""
        terms: dict[Value, Any] = {value: value.data for value in graph.constants if value.data is not None}
        terms |= dict(zip(graph.inputs, inputs, strict=True))
        for node, one in zip(graph.topological(), proof["nodes"], strict=True):
            operands = [None if value is None else terms[value] for value in node.inputs]
            outputs = one["outputs"]
            if is_loop(node) and "group" in one:
                self._loop(node, one, operands)
            elif is_loop(node):
                if any(inner.op in DRAWING for _, inner in graph.walk()):
                    raise Rejected(f"{node}: it may draw random numbers")
                run = lambda w, n=node, o=operands: tuple(self.shared.reference.loop(n, [*map(w.value, o)]))  # noqa: E731
                self._holds(node, run, outputs)
            elif is_if(node):
                self._choice(node, one, operands)
            else:
                outputs = self._operator(node, outputs, operands)
            terms |= dict(zip(node.outputs, outputs, strict=True))
        return terms

    def _holds(self, what: object, of: Callable[[World], Any], terms: Any, key: Any = None) -> None:
        """Test something in all worlds, unless the same, by its key, was shown before."""
        if key is not None and key in self._shown:
            self.checked.derived += 1
        elif not self.trials.agree(what, of, terms):
            raise Rejected(f"{what}: its term couldn't be computed")
        else:
            self.checked.tested += 1
            self._shown.add(key)

    def _same(self, what: object, one: Any, other: Any) -> None:
        """Whether two terms (or constants) are one, or have the same value."""
        keys = self._key(one), self._key(other)
        if one is not None and keys[0] == keys[1]:
            self.checked.derived += 1
        else:
            self._holds(what, lambda world: world.value(one), other, ("same", *keys))

    def _key(self, one: Any) -> Any:
        """What terms or constants that are certainly one have in common."""
        if one is None or (isinstance(one, int) and not is_known(self.terms[one])):
            return one
        which = one if isinstance(one, int) else -id(one)
        if which not in self._keys:
            self._keys[which] = digest(self.shared.constant(one) if isinstance(one, int) else one.numpy())
        return self._keys[which]

    def _step(self, op: str, attributes: Json, operands: Sequence[Any]) -> Any:
        """What operators that certainly give the same have in common; operands left out at the end don't count."""
        keys = [*map(self._key, operands)]
        while keys and keys[-1] is None:
            keys.pop()
        if op in _MIRRORED:
            op, keys = _MIRRORED[op], keys[::-1]
        return op, repr(sorted(attributes.items())), tuple(sorted(keys, key=repr) if op in _COMMUTE else keys)

    def _operator(self, node: Node, outputs: Sequence[int], operands: Sequence[Any]) -> list[int]:
        """Check the terms of a node's outputs; the terms that they have."""
        if node.regions:
            raise Rejected(f"{node}: an operator with graphs")
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        step = self._step(name, attributes_with_defaults(node), operands)
        if node.op in DRAWING or (node.op_type == "Dropout" and {*step[2][2:]} - {self._key(_FALSE)}):
            step = (node,)  # gives something else each time
        found = [*outputs]
        for position, index in enumerate(outputs):
            term, key = self.terms[index], (*step, position)
            which = term["attributes"]["index"] if term["op"] == "$output" else 0
            term = self.terms[term["operands"][0]] if term["op"] == "$output" else term
            known = {name: comparable(attribute_of(value)) for name, value in term["attributes"].items()}
            is_it = (self._step(term["op"], known, term["operands"]), which) == (step, position)
            is_it |= name == "Identity" and self._key(operands[0]) == self._key(index)
            if not node.outputs[position].name or is_it or (key, index) in self._shown:
                self.checked.derived += bool(node.outputs[position].name)
                continue
            if len(step) > 1 and (
                self._of_elements(node, index, operands) or self.trials.applied(node, position, index, operands)
            ):
                self.checked.tested += 1
                self._shown.add((key, index))
            else:  # whatever the certificate says: the operator itself
                found[position] = self._own.setdefault(key, len(self.terms))
                if found[position] == len(self.terms):
                    self.terms.append({"op": "$unknown", "attributes": {}, "operands": []})
        return found

    def _of_elements(self, node: Node, index: int, operands: Sequence[Any]) -> bool:
        """Whether a Cast makes a stack of another one: it does if it makes what a pass gives of the one of what that
        gives of the other. Nothing is said of other operators."""
        if node.op != ("", "Cast") or not isinstance(operands[0], int):
            return False
        one, other = self.terms[operands[0]], self.terms[index]
        if {one["op"], other["op"]} != {"$stack"} or any(one[key] != other[key] for key in ("attributes", "shape")):
            return False
        made = lambda world: self.shared.reference.node(node, [world.value(one["element"])])[0]  # noqa: E731
        self._holds(node, made, other["element"])
        passes = self.groups[str(one["attributes"]["group"])]["passes"]
        self._holds(node, lambda world: world.kept(index, other["element"], [passes]), index)
        return True

    def _choice(self, node: Node, one: Json, operands: Sequence[Any]) -> None:
        inside = [self.graph(node.regions[name], one[name], operands[1:]) for name in ("then", "else")]
        outputs = (node.regions[name].outputs for name in ("then", "else"))
        for index, *values in zip(one["outputs"], *outputs, strict=True):
            yes, no = (terms[value] for terms, value in zip(inside, values, strict=True))
            term = self.terms[index]
            if term["op"] == "$if" and term["operands"][0] == operands[0]:
                self._same(node, yes, term["operands"][1])
                self._same(node, no, term["operands"][2])
            else:
                taken = lambda w, y=yes, n=no: w.value(y if bool(np.all(w.value(operands[0]))) else n)  # noqa: E731
                self._holds(node, taken, index)

    def _loop(self, node: Node, one: Json, operands: Sequence[Any]) -> None:
        loop, name, given = Loop(node), one["group"], one["body"]["inputs"]
        group = self.groups[name]
        turn = group["iteration"]
        if self.terms[turn]["op"] != "$pass" or name in self._around_now:
            raise Rejected(f"{node}: its passes aren't counted")
        self._counted(loop, group, operands)
        classes = dict(zip((entry.indices for entry in loop.of(Carried)), one["carried"], strict=True))
        for entry in loop.entries:
            if entry.body_input is None:
                continue
            inside, at, index = given[entry.indices.body_input], classes.get(entry.indices), entry.indices.operand
            operand = operands[index] if index >= 0 else None
            if at is not None:
                known = group["classes"][at]
                variable = known["variable"]
                if self.terms[variable]["op"] != "$variable" or not self._is_made_of(inside, variable):
                    raise Rejected(f"{node}: its body sees another class")
                self._same_of(node, operand, inside, known, "initial")
                self._typed(node, variable, known)
            elif isinstance(entry.slot, Captured):
                self._same(node, operand, inside)
            elif isinstance(entry.slot, Iteration):
                self._same(node, turn, inside)
            elif isinstance(entry.slot, Condition):
                self._same(node, _TRUE, inside)
            elif isinstance(entry.slot, Carried):  # before the first pass; how it goes on is looked at below
                self._holds(node, lambda world, s=inside: world.at(turn, 0).value(s), operand)
            elif self._is_part(entry.slot, self.terms[inside], [operand, turn]):
                self.checked.derived += 1
            else:
                self._holds(node, lambda w, e=entry, o=operand: seen(e, w.value(o), int(w.value(turn))), inside)
        self._around_now.append(name)
        terms = self.graph(loop.body, one["body"], given)
        self._around_now.pop()
        if loop.condition is not None and loop.condition.body_output is not None:
            after = terms[loop.condition.body_output]
            if group["condition"] is not None:
                self._same(node, after, group["condition"])
            else:
                self._holds(node, lambda world: np.all(world.value(after)), _TRUE)
        elif group["condition"] is not None:
            raise Rejected(f"{node}: no condition ends it")
        for entry in loop.of(Carried, Stacked):
            assert entry.body_output is not None
            became, result = terms[entry.body_output], one["outputs"][entry.indices.result]
            if isinstance(entry.slot, Stacked):
                self._collected(entry, name, group, became, result)
            elif classes[entry.indices] is not None:
                at = classes[entry.indices]
                known, inside = group["classes"][at], given[entry.indices.body_input]
                self._same_of(node, became, inside, known, "next")
                last = self.terms[result]
                if last["op"] != "$final":
                    self._holds(node, lambda world, s=inside, r=result: self._run(world, name, s, r), _TRUE)
                elif last["attributes"] != {"class": at, "group": int(name)} or inside != known["variable"]:
                    raise Rejected(f"{node}: its result isn't the last value of its class")
                else:
                    self._typed(node, result, known)
            else:
                inside = given[entry.indices.body_input]
                after = lambda world, s=inside: world.at(turn, int(world.value(turn)) + 1).value(s)  # noqa: E731
                self._holds(node, after, became)
                self._holds(node, lambda world, s=inside: world.at(turn, world.size(group["passes"])).value(s), result)

    def _is_made_of(self, index: int, variable: int) -> bool:
        """Whether a term is computed from a variable and constants alone."""
        term = self.terms[index]
        if index == variable or is_known(term):
            return True
        operands = [one for one in term["operands"] if one is not None]
        return (
            not term["op"].startswith("$")
            and bool(operands)
            and all(self._is_made_of(one, variable) for one in operands)
        )

    def _same_of(self, node: Node, value: Any, inside: int, known: Json, which: str) -> None:
        """Whether a value is what a body sees of a class, made of the class's `which`."""
        if inside == known["variable"]:
            self._same(node, value, known[which])
            return
        made = lambda w: w.where({known["variable"]: w.value(known[which])}).value(inside)  # noqa: E731
        self._holds(node, made, value)

    def _run(self, world: World, name: str, inside: int, result: int) -> Any:
        """Whether a result is what all passes make of what a body sees, run one by one from the classes' initial
        values, where stacks hold what these passes give, and last values are theirs."""
        group = self.groups[name]
        count = world.size(group["passes"])
        defined(count <= MOST_PASSES)
        classes = [(at, one) for at, one in enumerate(group["classes"]) if one is not None]
        values = {one["variable"]: world.value(one["initial"]) for _, one in classes}
        own = [(at, term) for at, term in enumerate(self.terms) if term["attributes"].get("group") == int(name)]
        stacks: dict[int, list[Any]] = {at: [] for at, term in own if term["op"] == "$stack"}
        for number in range(count):
            inner = world.where({**values, group["iteration"]: np.int64(number)})
            for at, parts in stacks.items():
                parts.append(inner.value(self.terms[at]["element"]))
            values = {one["variable"]: inner.value(one["next"]) for _, one in classes}
        fixed = {at: np.stack(parts) for at, parts in stacks.items() if parts}
        last = {at: values[one["variable"]] for at, one in classes}
        fixed |= {at: last[term["attributes"]["class"]] for at, term in own if term["op"] == "$final"}
        return equal(world.where(values).value(inside), world.where(fixed).value(result))

    def _typed(self, node: Node, leaf: int, one: Json) -> None:
        """Whether a class's values have the type that is drawn for a leaf, if one is."""
        for term in (one["initial"], one["next"]):
            if self.terms[leaf]["shape"] is None or self.terms[leaf]["dtype"] in (None, "string"):
                self.checked.derived += 1
            else:
                self._holds(node, lambda world, t=term: world.kept(leaf, t), leaf, ("typed", leaf, term))

    def _is_part(self, slot: Any, term: Json, operands: Sequence[Any]) -> bool:
        """Whether a term is the element of a sequence that a pass sees."""
        plain = slot == Sliced(axis=slot.axis)
        return (
            plain
            and (term["op"], term["operands"]) == ("$select", operands)
            and term["attributes"]["axis"] == slot.axis
        )

    def _open_passes(self, group: Json) -> int | None:
        """The term of a number of passes that a condition decides, or nothing does."""
        atoms = group["passes"][0][1] if isinstance(group["passes"], list) else []
        is_open = len(atoms) == 1 and self.terms[atoms[0]]["op"] == "$passes"
        decided = group["condition"] is not None or (is_open and not self.terms[atoms[0]]["most"])
        return atoms[0] if decided else None

    def _counted(self, loop: Loop, group: Json, operands: Sequence[Any]) -> None:
        """Whether a loop makes the group's passes; where a condition decides, begins and is bounded alike."""

        def counted(world: World) -> Any:
            limits = limits_of(loop, lambda index: world.value(operands[index]))
            enters = operands[1] is None or bool(np.all(world.value(operands[1])))
            if self._open_passes(group) is None:
                return (min(limits) if enters else 0) == world.size(group["passes"])
            expected = group.get("entered") is None or bool(np.all(world.value(group["entered"])))
            ((factor, (passes,)),) = group["passes"]
            known = [world.size(one) for one in self.terms[passes]["most"]]
            return (factor, min([_ENDLESS, *limits]), enters) == (1, min([_ENDLESS, *known]), expected)

        if group["condition"] is None and operands[1] is None and not loop.of(Sliced):
            counts = [
                one for one, term in enumerate(self.terms) if (term["op"], term["operands"]) == ("$count", operands[:1])
            ]
            if group["passes"] in ([[1, [one]]] for one in counts):
                self.checked.derived += 1
                return
        self._holds(loop.node, counted, _TRUE)

    def _collected(self, entry: Entry, name: str, group: Json, element: Any, result: int) -> None:
        stacks = (one for one, term in enumerate(self.terms) if term["op"] == "$stack" and term["element"] == element)
        known = next((one for one in stacks if self.terms[one]["attributes"]["group"] == int(name)), None)

        def collected(world: World) -> Any:
            count = world.size(group["passes"])
            defined(0 < count <= MOST_PASSES)
            if known is not None:
                return laid_out(world.value(known), entry.slot)
            return laid_out(
                [world.at(group["iteration"], number).value(element) for number in range(count)], entry.slot
            )

        if known == result and entry.slot == Stacked():
            self.checked.derived += 1
        else:
            self._holds(entry.slot, collected, result)
        if known is not None:
            self._holds(entry.slot, lambda world: world.kept(known, element, [group["passes"]]), known)


def check(certificate: str | Path, a: Graph, b: Graph) -> Checked:
    """Check a certificate against the hub graphs of two files.

    Raises:
        InvalidModel: there is no such file, or it is no certificate.
        Rejected: it doesn't show that they compute the same.
    """
    try:
        found = json.loads(Path(certificate).read_text(encoding="utf-8"))
        if not isinstance(found, dict) or found.get("certificate") != 1:
            raise InvalidModel(f"{certificate}: no certificate")
    except OSError as error:
        raise InvalidModel(f"{certificate}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InvalidModel(f"{certificate}: no certificate") from None
    try:
        with np.errstate(all="ignore"):
            checker = Checker(found, a, b)
            check_inputs(checker.terms, a, b, found)
            terms = [checker.graph(graph, side, side["inputs"]) for graph, side in ((a, found["a"]), (b, found["b"]))]
        pairs = match_names([value.name for value in a.outputs], [value.name for value in b.outputs]).pairs
        others = {value.name: value for value in b.outputs}
        for value in a.outputs:
            checker.same_outputs(value.name, terms[0][value], terms[1][others[pairs[value.name]]])
        return checker.checked
    except (*APART, AssertionError, StopIteration, RecursionError, Undefined) as error:
        raise Rejected(f"it isn't of these files ({type(error).__name__})") from error
