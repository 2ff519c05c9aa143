"""check: whether a certificate shows that two files compute the same. Nothing of what found the proof has a part in it.

Every value of both graphs has a term; outputs are equal where theirs is one. What has to be shown for that:

- an operator on its operands' terms gives the term of its output. Where that is the very operator on the very operands
  nothing is left to show. Otherwise both sides are computed, in `WORLDS` of random values of all that isn't computed
  from other terms (inputs, carried values, results of loops, open sizes), by onnx's reference implementation: every bit
  has to be the same. Operators that are no primitives may differ by rounding from what they are made of.
- a loop's carried values are in the classes of its group: before the first pass they are the classes' initial terms,
  and where the body sees the classes' variables, they become the classes' next terms. Two loops whose passes are
  counted alike then hand out the same: by induction, term by term. A loop that the certificate says nothing of is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..passes.core import is_core
from ..passes.errors import InvalidModel
from ..passes.graph import Graph, Node, Value
from ..passes.loop import Captured, Carried, Entry, Loop, Stacked, is_if, is_loop
from ..passes.tensor import TensorData
from ..passes.types import DType
from ..runtime.compare.backwards import COMPARISONS
from ..runtime.compare.matching import match_names
from .evaluation import (
    Json,
    Undefined,
    World,
    applied,
    attribute_of,
    attributes_with_defaults,
    comparable,
    defined,
    drawn,
    equal,
    laid_out,
    limits_of,
    numbers_of,
    run_loop,
    seen,
)

WORLDS = 3
_TRIES, _MANY = 64, 512
_ENDLESS = 1 << 62
_APART = (IndexError, ValueError, KeyError, TypeError, OverflowError, AttributeError)
_COUNTS = ("$pass", "$passes", "$size", "$count", "$broadcast", "$integers")
"""Terms whose values have bounds."""
_TRUE = TensorData.of(np.bool_(True))


class Rejected(Exception):
    """What a certificate doesn't show."""


class Checker:
    """Checks one certificate against the hub graphs of two files."""

    def __init__(self, found: Json, a: Graph, b: Graph) -> None:
        self.terms: list[Json] = found["terms"]
        self.groups: Json = found["groups"]
        constants: dict[str, TensorData] = {}
        for value in _constants(a, b):
            if value.data is not None and value.data.dtype is not DType.STRING and value.data.size:
                array = np.ascontiguousarray(value.data.numpy()).reshape(-1).view(np.uint8)
                constants[hashlib.blake2b(array.data, digest_size=16).hexdigest()] = value.data
        turns = {group["iteration"]: group["passes"] for group in self.groups.values()}
        if len(turns) < len(self.groups):
            raise Rejected("two groups count their passes together")
        numbers = numbers_of([value.data.numpy() for value in _constants(a, b) if value.data is not None])
        self.many = [World(self.terms, constants, turns, seed, {}, numbers) for seed in range(_MANY)]
        self.worlds = self.many[:_TRIES]

    def graph(self, graph: Graph, proof: Json, inputs: Sequence[Any]) -> dict[Value, Any]:
        """Check the terms of a graph whose inputs have these; the terms (or constants) that its values have."""
        terms: dict[Value, Any] = {value: value.data for value in graph.constants if value.data is not None}
        terms |= dict(zip(graph.inputs, inputs, strict=True))
        for node, one in zip(graph.topological(), proof["nodes"], strict=True):
            operands = [None if value is None else terms[value] for value in node.inputs]
            outputs = dict(zip(node.outputs, one["outputs"], strict=True))
            if is_loop(node) and "group" in one:
                self._loop(node, one, operands)
            elif is_loop(node):
                self._holds(
                    node, lambda world, o=operands, n=node: tuple(run_loop(n, [*map(world.value, o)])), one["outputs"]
                )
            elif is_if(node):
                self._choice(node, one, operands)
            else:
                self._operator(node, one["outputs"], operands)
            terms |= outputs
        return terms

    def _holds(
        self,
        what: object,
        of: Callable[[World], Any],
        terms: Any,
        near: bool = False,
        worlds: Iterable[World] | None = None,
    ) -> None:
        """Whether something has the value of a term (of a list: of each) in enough worlds, or all given ones."""
        count = 0
        for world in self.worlds if worlds is None else worlds:
            try:
                expected = tuple(map(world.value, terms)) if isinstance(terms, list) else world.value(terms)
                found = of(world)
            except (Undefined, *_APART):
                continue
            if not equal(found, expected, near):
                raise Rejected(f"{what}: it has another value than the term in the certificate")
            count += 1
            if count == WORLDS and worlds is None:
                return
        if not count and worlds is None:
            raise Rejected(f"{what}: its term couldn't be computed")

    def _same(self, what: object, one: Any, other: Any) -> None:
        """Whether two terms (or constants) are one, or have the same value."""
        if one is None or one != other:
            self._holds(what, lambda world: world.value(one), other)
            self._holds(what, lambda world: world.value(one), other, worlds=self.worlds)  # few values tell bools apart

    def _operator(self, node: Node, outputs: Sequence[int], operands: Sequence[Any]) -> None:
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        for position, index in enumerate(outputs):
            term = self.terms[index]
            if term["op"] == "$output" and term["attributes"]["index"] == position:
                term = self.terms[term["operands"][0]]
            if not node.outputs[position].name or (term["op"] == name and self._is(node, term, operands)):
                continue

            def result(world: World, position: int = position) -> Any:
                values = [world.value(operand) for operand in operands]
                return applied(node.domain, node.op_type, node.attributes, values, len(node.outputs))[position]

            near = not is_core(node.op)
            self._holds(node, result, index, near)
            numbers = self._decisive(index, operands)
            told_apart = self.many if node.op_type in COMPARISONS else self.worlds  # most values compare alike
            worlds = told_apart if numbers is None else self._around(numbers, operands)
            self._holds(node, result, index, near, worlds)

    def _decisive(self, index: int, operands: Sequence[Any]) -> np.ndarray[Any, Any] | None:
        """The numbers that a term combines with the operands; None unless it rests on all of them and nothing else."""
        cut, stack = {one for one in operands if isinstance(one, int)}, [index]
        found = [one.numpy() for one in operands if isinstance(one, TensorData)]
        met: set[int] = set()
        while stack:
            at = stack.pop()
            term, is_new = self.terms[at], at not in met
            met.add(at)
            if _is_known(term):
                found.append(self.worlds[0].value(at))
            if at in cut or not is_new:
                continue
            is_leaf = term["op"].startswith("$") and term["op"] not in ("$if", "$slice", "$select", "$output")
            if is_leaf and not _is_known(term):
                return None
            stack += [one for one in term["operands"] if one is not None]
        return numbers_of(found) if cut and cut <= met else None

    def _around(self, numbers: np.ndarray[Any, Any], operands: Sequence[Any]) -> Iterator[World]:
        """Worlds in which operands have other values than they are computed to: those that decide something, in every
        third world exactly, in every third one the same for operands of one type and shape."""
        for world in self.worlds:
            random = np.random.default_rng(world.seed)
            fixed: dict[int, Any] = {}
            alike: dict[Any, Any] = {}
            for one in (one for one in operands if isinstance(one, int) and not _is_known(self.terms[one])):
                with contextlib.suppress(Undefined, *_APART):
                    if self.terms[one]["op"] not in _COUNTS:
                        like = np.asarray(world.value(one))
                        values = drawn(DType.of(like.dtype), like.shape, random, numbers, 0.6, world.seed % 3 == 0)
                        known = alike.setdefault((like.dtype, like.shape), values)
                        fixed[one] = known if world.seed % 3 == 1 else values
                    for turn in self._turns(one):
                        most = world.size(world.turns[turn])
                        inside = numbers[(numbers >= 0) & (numbers < most)]
                        fixed[turn] = np.int64(random.choice([0, most - 1, *inside]))
            yield world.where(fixed)

    def _turns(self, index: int) -> list[int]:
        """The numbers of passes in a term."""
        sizes = [size for size in self.terms[index].get("elements", ()) if not isinstance(size, int)]
        atoms = {index, *(atom for size in sizes for _, some in size for atom in some)}
        return [atom for atom in atoms if self.terms[atom]["op"] == "$pass"]

    def _is(self, node: Node, term: Json, operands: Sequence[Any]) -> bool:
        """Whether a term is this very operator on these very operands, left out ones at the end aside."""
        count = max((index + 1 for index, one in enumerate(operands) if one is not None), default=0)
        for one, other in zip(operands[:count], term["operands"], strict=False):
            if isinstance(one, TensorData) and other is not None:
                if not _is_known(self.terms[other]) or not equal(one.numpy(), self.worlds[0].value(other)):
                    return False
            elif one != other:
                return False
        known = {key: comparable(attribute_of(value)) for key, value in term["attributes"].items()}
        return count == len(term["operands"]) and attributes_with_defaults(node) == known

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
                self._holds(node, taken, index, worlds=self.worlds)

    def _loop(self, node: Node, one: Json, operands: Sequence[Any]) -> None:
        loop, group, given = Loop(node), self.groups[one["group"]], one["body"]["inputs"]
        turn = group["iteration"]
        if self.terms[turn]["op"] != "$pass":
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
                for term in (known["initial"], known["next"]):
                    self._holds(node, lambda world, s=variable, t=term: self._kept(world, s, t), variable)
            elif isinstance(entry.slot, Captured):
                self._same(node, operand, inside)
            elif isinstance(entry.slot, Carried):  # before the first pass; how it goes on is looked at below
                self._holds(node, lambda world, s=inside: world.at(turn, 0).value(s), operand)
            else:
                self._holds(node, lambda w, e=entry, o=operand: seen(e, w.value(o), int(w.value(turn))), inside)
        terms = self.graph(loop.body, one["body"], given)
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
                self._collected(entry, one["group"], group, became, result)
            elif classes[entry.indices] is not None:
                at = classes[entry.indices]
                known, inside = group["classes"][at], given[entry.indices.body_input]
                self._same_of(node, became, inside, known, "next")
                last = self.terms[result]
                if last["op"] == "$final":
                    is_own = last["attributes"] == {"class": at, "group": int(one["group"])}
                    if not is_own or inside != known["variable"]:
                        raise Rejected(f"{node}: its result isn't the last value of its class")
                    for term in (known["initial"], known["next"]):
                        self._holds(node, lambda world, r=result, t=term: self._kept(world, r, t), result)
                else:
                    runs = lambda world, s=inside, r=result: self._run(world, one["group"], s, r)  # noqa: E731
                    self._holds(node, runs, _TRUE)
                    self._holds(node, runs, _TRUE, worlds=self.worlds)
            else:
                inside = given[entry.indices.body_input]
                after = lambda world, s=inside: world.at(turn, int(world.value(turn)) + 1).value(s)  # noqa: E731
                self._holds(node, after, became)
                self._holds(node, lambda world, s=inside: world.at(turn, world.size(group["passes"])).value(s), result)

    def _is_made_of(self, index: int, variable: int) -> bool:
        """Whether a term is computed from a variable and constants alone."""
        term = self.terms[index]
        if index == variable or _is_known(term):
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
        self._holds(node, made, value, worlds=self.worlds)

    def _run(self, world: World, name: str, inside: int, result: int) -> Any:
        """Whether a result is what all passes make of what a body sees, run one by one from the classes' initial
        values, where stacks hold what these passes give, and last values are theirs."""
        group = self.groups[name]
        count = world.size(group["passes"])
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

    def _kept(self, world: World, leaf: int, term: Any, before: Sequence[Any] = ()) -> Any:
        """The value of a leaf, if a term has the type that is drawn for it, sizes aside that are the leaf's own.

        Args:
            before: sizes that the leaf has before those of the term.
        """
        sizes, like = self.terms[leaf]["shape"], np.asarray(world.value(term))
        actual = (*map(world.size, before), *like.shape)
        if len(sizes) != len(actual) or like.dtype != DType(self.terms[leaf]["dtype"]).numpy:
            return None
        for size, expected in zip(sizes, actual, strict=True):
            own = isinstance(size, list) and size[0][1] and self.terms[size[0][1][0]]["operands"] == [leaf]
            if not own and world.size(size) != expected:
                return None
        return world.value(leaf)

    def _counted(self, loop: Loop, group: Json, operands: Sequence[Any]) -> None:
        """Whether a loop makes the group's passes; where a condition decides, begins and is bounded alike."""

        def counted(world: World) -> Any:
            limits = limits_of(loop, [*map(world.value, operands)])
            enters = operands[1] is None or bool(np.all(world.value(operands[1])))
            if group["condition"] is None:
                return (min(limits) if enters else 0) == world.size(group["passes"])
            expected = group["entered"] is None or bool(np.all(world.value(group["entered"])))
            ((factor, (passes,)),) = group["passes"]
            known = [world.size(one) for one in self.terms[passes]["most"]]
            return (factor, min([_ENDLESS, *limits]), enters) == (1, min([_ENDLESS, *known]), expected)

        self._holds(loop.node, counted, _TRUE)

    def _collected(self, entry: Entry, name: str, group: Json, element: Any, result: int) -> None:
        stacks = (one for one, term in enumerate(self.terms) if term["op"] == "$stack" and term["element"] == element)
        known = next((one for one in stacks if self.terms[one]["attributes"]["group"] == int(name)), None)

        def collected(world: World) -> Any:
            count = world.size(group["passes"])
            defined(count > 0)
            if known is not None:
                return laid_out(world.value(known), entry.slot)
            return laid_out(
                [world.at(group["iteration"], number).value(element) for number in range(count)], entry.slot
            )

        self._holds(entry.slot, collected, result)
        if known is not None:
            self._holds(entry.slot, lambda world: self._kept(world, known, element, ((group["passes"]),)), known)


def _constants(a: Graph, b: Graph) -> list[Value]:
    return [value for side in (a, b) for graph in side.graphs() for value in graph.constants]


def _is_known(term: Json) -> bool:
    """Whether a term is a constant."""
    if term["op"] != "$integers":
        return term["op"] == "$constant"
    return all(isinstance(size, int) for size in term["elements"])


def _check_inputs(terms: list[Json], a: Graph, b: Graph, found: Json) -> None:
    """Refuse inputs that don't belong together, or of which B takes less than A."""
    pairs = match_names([value.name for value in a.inputs], [value.name for value in b.inputs]).pairs
    others = {value.name: (value, term) for value, term in zip(b.inputs, found["b"]["inputs"], strict=True)}
    met: set[int] = set()
    places: dict[int, Any] = {}  # term of a size -> A's symbol for it, or where it stands
    symbols: dict[str, Any] = {}  # of B's inputs -> the size there
    for value, index in zip(a.inputs, found["a"]["inputs"], strict=True):
        term = terms[index]
        if value.name not in pairs and value.data is not None:  # built in in B, with its default
            if not equal(World(terms, {}, {}, 0, {}).value(index), value.data.numpy()):
                raise Rejected(f"input {value.name!r} hasn't its default")
            continue
        twin, other = others[pairs[value.name]]
        shapes = [_sizes(one.tensor.shape) for one in (value, twin)]
        kinds = {None if one.tensor.dtype is None else one.tensor.dtype.value for one in (value, twin)}
        wide = shapes[1] is None or (
            shapes[0] is not None
            and len(shapes[0]) == len(shapes[1])
            and all(new in (None, old) for old, new in zip(*shapes, strict=True))
        )
        is_input = index == other and index not in met and term["op"] == "$input" and kinds == {term["dtype"]}
        if not is_input or not wide or _sizes(term["shape"]) != shapes[0]:
            raise Rejected(f"input {value.name!r} isn't one and the same in both")
        for axis, size in enumerate(term["shape"] or ()):
            declared, symbol = (one.tensor.shape and one.tensor.shape[axis] for one in (value, twin))
            _check_size(terms, size, declared if isinstance(declared, str) else (index, axis), places)
            if isinstance(symbol, str) and symbols.setdefault(symbol, size) != size:
                raise Rejected(f"input {value.name!r} has a size in B that must be that of another one")
        met.add(index)


def _check_size(terms: list[Json], size: Any, place: Any, places: dict[int, Any]) -> None:
    """Refuse a size of an input that isn't open, or is that of another one for which A has no symbol in common."""
    if isinstance(size, int):
        return
    ((factor, (atom,)),) = size
    is_open = terms[atom]["op"] == "$size" and terms[terms[atom]["operands"][0]]["op"] == "$input"
    if factor != 1 or not is_open or places.setdefault(atom, place) != place:
        raise Rejected("sizes of inputs are taken to be one that may differ")


def _sizes(shape: Sequence[Any] | None) -> list[int | None] | None:
    return None if shape is None else [size if isinstance(size, int) else None for size in shape]


def check(certificate: str | Path, a: Graph, b: Graph) -> Iterator[str]:
    """Check a certificate against the hub graphs of two files; A's outputs that it shows to be equal to B's.

    Raises:
        InvalidModel: there is no such file, or it is no certificate.
        Rejected: it doesn't show it.
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
        checker = Checker(found, a, b)
        _check_inputs(checker.terms, a, b, found)
        terms = [checker.graph(graph, side, side["inputs"]) for graph, side in ((a, found["a"]), (b, found["b"]))]
        pairs = match_names([value.name for value in a.outputs], [value.name for value in b.outputs]).pairs
        others = {value.name: value for value in b.outputs}
        for value in a.outputs:
            if terms[0][value] is None or terms[0][value] != terms[1][others[pairs[value.name]]]:
                raise Rejected(f"output {value.name!r} has another term in B")
            yield value.name
    except (*_APART, AssertionError, StopIteration, RecursionError, Undefined) as error:
        raise Rejected(f"it isn't of these files ({type(error).__name__})") from error
