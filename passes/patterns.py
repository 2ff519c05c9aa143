"""Rewriting rules out of two functions: what is looked for, and what takes its place.

    def erf_gelu(op, x):
        return op.Mul(op.Mul(x, 0.5), op.Add(op.Erf(op.Div(x, 2**0.5)), 1.0))

    def gelu(op, x):
        return op.Gelu(x)

    fuse_gelu = pattern_rule(erf_gelu, gelu)

The parameters of the first function stand for any values, numbers in it for constants of one element that are as large
(within a few units of float32's last place), attributes for attributes of that value; those that it doesn't name may be
any. Operands of commutative operators (`core.CORE`) match in either order. The second function builds hub operators.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .captures import copied
from .constants import constant_array
from .core import CORE
from .errors import BackedgeError, InvalidModel
from .graph import SETTLED, Graph, Node, Value
from .hub import HUB
from .pipeline import PassResult
from .rewrite import Builder, Key, Rewriter, Rule, Rules

_CLOSE = 1e-6  # relative: constants are written in float32, some by way of another formula


def constant_number(value: Value) -> float | None:
    """The number that a constant of one element is; none that stays in the model under its name (`SETTLED`)."""
    array = None if SETTLED in (value.meta or {}) else constant_array(value)
    return None if array is None or array.size != 1 or array.dtype.kind not in "fiub" else array.item()


def _commutes(op_type: str) -> bool:
    row = CORE.get(op_type)
    return row is not None and "commutative" in row.properties


@dataclass(frozen=True)
class Vocabulary:
    """How a dialect's operators are spelled in patterns; without arguments, the hub's.

    Attributes:
        domain: of operators for which a pattern says no other.
        spelled: the name of a method -> that of the operator.
        number: what a number in a pattern is held against: a value -> the number that it is everywhere, if it is one.
        commutes: whether the two operands of an operator of that domain may be in either order.
    """

    domain: str = ""
    spelled: Callable[[str], str] = str
    number: Callable[[Value], float | None] = constant_number
    commutes: Callable[[str], bool] = _commutes


@dataclass(frozen=True)
class _Variable:
    name: str


@dataclass(frozen=True)
class _Term:
    op: Key
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any]


class _Recorder:
    """Takes down what a pattern's function builds."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def __getattr__(self, op_type: str) -> Callable[..., _Term]:
        if op_type.startswith("_"):
            raise AttributeError(op_type)

        return partial(self.call, self._vocabulary.spelled(op_type))

    def call(
        self, op_type: str, *inputs: Any, _domain: str | None = None, _version: int = 0, **attributes: Any
    ) -> _Term:
        """As `Builder.call`; a pattern is of any version."""
        return _Term((self._vocabulary.domain if _domain is None else _domain, op_type), inputs, attributes)


class Pattern:
    """What is looked for: one value and what it is made of.

    Attributes:
        names: its parameters, which stand for any values.
        op: the operator that the value is the result of.

    Raises:
        InvalidModel: the function gives no operator.
    """

    def __init__(self, function: Callable[..., Any], vocabulary: Vocabulary | None = None) -> None:
        self._vocabulary = vocabulary or Vocabulary()
        self.names = list(inspect.signature(function).parameters)[1:]
        root = function(_Recorder(self._vocabulary), *map(_Variable, self.names))
        if not isinstance(root, _Term):
            raise InvalidModel(f"{function.__name__} gives no operator")
        self._root = root
        self.op = root.op

    def match(self, node: Node, given: Collection[Value] = ()) -> dict[str, Value | None] | None:
        """The values that the parameters stand for at a node; None where it isn't what the pattern says.

        Args:
            given: the model's inputs, which are no numbers, whatever their defaults are.
        """
        found = next(_Search(self._vocabulary, given).node(self._root, node, {}), None)
        return None if found is None or set(found) != set(self.names) else found


def pattern_rule(pattern: Callable[..., Any], replacement: Callable[..., Any]) -> Rules:
    """Rules for a `Rewriter`, or for `RewriteWith`.

    Args:
        pattern: `(op, *values)`, gives the one value that is looked for.
        replacement: `(op, *values)` of the same parameters, gives the value that takes its place, or None where it
            doesn't apply after all. Numbers in it are constants of the element type of the operand beside them.

    Raises:
        InvalidModel: the pattern gives no operator, or the functions differ in their parameters.
    """
    wanted = Pattern(pattern)
    if list(inspect.signature(replacement).parameters)[1:] != wanted.names:
        raise InvalidModel(
            f"{replacement.__name__} doesn't take what {pattern.__name__} takes: {', '.join(wanted.names)}"
        )

    def rewrite(op: Builder, node: Node) -> Value | None:
        root = op.rewriter.root
        found = wanted.match(node, () if root is None else root.inputs)
        return None if found is None else replacement(WithNumbers(op), *(found[name] for name in wanted.names))

    return {wanted.op: [rewrite]}


class WithNumbers:
    """A builder that takes numbers for operands, too: constants of the element type of the first that is none."""

    def __init__(self, op: Builder) -> None:
        self._op = op

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._op, name)
        return partial(self._built, found) if name == "call" or name[:1].isupper() else found

    def _built(self, build: Callable[..., Any], *operands: Any, **attributes: Any) -> Any:
        dtype = next((one.tensor.dtype for one in operands if isinstance(one, Value)), None)
        given = (self._op.const(one, dtype) if isinstance(one, int | float) else one for one in operands)
        return build(*given, **attributes)


def is_same(found: Any, wanted: Any) -> bool:
    """Whether an attribute is what a pattern says; floats of files are of 32 bits."""
    if isinstance(found, float) and isinstance(wanted, float):
        return bool(np.isclose(found, wanted, rtol=_CLOSE, atol=0))
    return bool(found == wanted)


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for a pattern's terms; each method gives every way in which they match, as the values of variables."""

    vocabulary: Vocabulary
    given: Collection[Value]

    def node(self, term: _Term, node: Node, bound: Mapping[str, Value | None]) -> Iterator[dict[str, Value | None]]:
        """What a node is."""
        if node.op != term.op or not all(
            is_same(node.attributes.get(name), value) for name, value in term.attributes.items()
        ):
            return
        inputs = list(node.formal_inputs)
        inputs += [None] * (len(term.inputs) - len(inputs))
        if any(value is not None for value in inputs[len(term.inputs) :]):
            return
        orders = [inputs]
        if len(inputs) == 2 and inputs[0] is not inputs[1] and node.domain == self.vocabulary.domain:
            orders += [inputs[::-1]] if self.vocabulary.commutes(node.op_type) else []
        for order in orders:
            yield from self._values(term.inputs, order, bound)

    def _values(
        self, terms: Sequence[Any], values: Sequence[Value | None], bound: Mapping[str, Value | None]
    ) -> Iterator[dict[str, Value | None]]:
        if not terms:
            yield dict(bound)
            return
        for found in self._value(terms[0], values[0], bound):
            yield from self._values(terms[1:], values[1:], found)

    def _value(
        self, term: Any, value: Value | None, bound: Mapping[str, Value | None]
    ) -> Iterator[dict[str, Value | None]]:
        match term:
            case _Variable(name):
                if name not in bound or bound[name] is value:
                    yield {**bound, name: value}
            case _Term():
                if value is not None and value.producer is not None and value.index == 0:
                    yield from self.node(term, value.producer, bound)
            case None:
                if value is None:
                    yield dict(bound)
            case _:
                number = None if value is None else self.vocabulary.number(value)
                is_close = number is not None and np.isclose(number, float(term), rtol=_CLOSE, atol=0)
                if is_close and value not in self.given:
                    yield dict(bound)


@contextlib.contextmanager
def own_fault(where: str) -> Iterator[None]:
    """Around code that somebody else wrote: how it fails is told with its place, and is no fault of ours.

    Raises:
        InvalidModel: it fails.
    """
    try:
        yield
    except BackedgeError:
        raise
    except Exception as error:
        raise InvalidModel(f"{where}: {type(error).__name__}: {error}") from error


@dataclass
class RewriteWith:
    """A pass that applies rules everywhere, regions included; the graph is a new one where anything changes.

    Attributes:
        rules: by operator, see `pattern_rule` and `rewrite.rule`.
        name: what the report calls them.
        notes: takes up how often they applied.

    Raises:
        InvalidModel: a rule fails in a way that is its own fault.
    """

    rules: Rules
    name: str = "rules"
    notes: list[str] = field(default_factory=list, compare=False)

    def __call__(self, graph: Graph) -> PassResult:
        applied = 0

        def counted(rule: Rule) -> Rule:
            def rewrite(op: Builder, node: Node) -> Value | Sequence[Value] | None:
                nonlocal applied
                with own_fault(f"{self.name} at {node}"):
                    made = rule(op, node)
                applied += made is not None
                return made

            return rewrite

        table = {key: [counted(rule) for rule in rules] for key, rules in self.rules.items()}
        made = Rewriter(HUB, table, fallback=copied).run(graph)
        self.notes.append(f"{self.name} applied {applied} times" if applied != 1 else f"{self.name} applied once")
        return PassResult(made, True) if applied else PassResult(graph, False)
