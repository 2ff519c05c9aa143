"""Hub -> HLO: every rule, and the walk that applies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ....passes.decompose import recurrent
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import NOTES, Graph, Node, Value
from ....passes.legalize import decomposed, decomposed_for
from ....passes.refusals import is_any_collected, raise_collected, refuse
from ....passes.rewrite import Builder, Rewriter, Rules, combine
from ....passes.schemas import schema
from ....passes.sizes import dims_of, settled, size_of, symbols
from ....passes.structure.preparation import prepared
from ....passes.structure.simplify import RemoveDead
from ....passes.types import Dim, DType, TensorType, Type
from ...folding import folded
from ..build import HLO
from ..dialect import DOMAIN, NAMES
from ..infer import same_type
from ..infer_open import AT_LEAST_ONE
from ..infer_tools import fits, text
from . import (
    casts,
    channels,
    control_flow,
    elementwise,
    products,
    random,
    reduce,
    shape,
    signal,
)
from .declared import told
from .open_sizes import note, symbols_named
from .tools import reshape
from .unentered import sizes_to_load

_RULES = combine(
    casts.RULES,
    channels.RULES,
    elementwise.RULES,
    control_flow.RULES,
    products.RULES,
    random.RULES,
    reduce.RULES,
    shape.RULES,
    signal.RULES,
)


_TAKEN = "what only a run would tell of these is taken from the declared types of results"
_LARGE = (1 << 20, (1 << 20) + 1, (1 << 21) - 1)


@dataclass(slots=True)
class Context:
    """Knowledge of one conversion (`rewriter.context`): the scalar constants of each graph, and the
    open sizes in it; results that are named; the symbols of the inputs' sizes; operands that types told; how many
    operators were written for passes of loops one by one."""

    scalars: dict[tuple[Graph, DType, bytes], Value] = field(default_factory=dict)
    results: set[Value] = field(default_factory=set)
    sizes: dict[tuple[Graph, str, DType], Value] = field(default_factory=dict)
    symbols: set[str] = field(default_factory=set)
    declared: dict[str, None] = field(default_factory=dict)
    written: int = 0

    @property
    def is_open(self) -> bool:
        """Whether inputs have open sizes."""
        return bool(self.symbols)


class Lowering(Builder):
    """Builds HLO out of hub nodes; what a rule made must have the type that the hub's inference tells."""

    def apply(self, node: Node) -> Sequence[Value]:
        _check_types(node)
        try:
            made = super().apply(told(self, node))
        except Unsupported as error:
            if error.node == "size":  # whoever computes with sizes doesn't know for whom
                raise Unsupported(node, error.reason) from None
            raise
        return [self._as_declared(node, *pair) for pair in zip(node.outputs, made, strict=True)]

    def _as_declared(self, node: Node, old: Value, new: Value) -> Value:
        """A result of the sizes that it is declared to have; where one of them is open in HLO, and the declared number
        from some inputs' sizes on, XLA sees to it that it is.

        Raises:
            Unsupported: it has others.
        """
        if not (old.name and new.name):
            return new
        declared, have = old.tensor, new.tensor.shape or ()
        pairs = list(zip(declared.shape or (), have, strict=False)) if declared.rank == len(have) else []
        opened = [at for at, (one, other) in enumerate(pairs) if isinstance(one, int) and isinstance(other, str)]
        shape = tuple(one if at in opened else other for at, (one, other) in enumerate(pairs))
        type = TensorType(new.tensor.dtype, shape) if opened else new.type
        known = declared.static_shape is not None and declared.dtype is not None
        fits = not known or same_type(old.type, type)
        if fits and not opened:
            return new
        if fits and len(opened) == 1 and _is_finally(*pairs[opened[0]]):  # one alone: as many elements make it equal
            made = reshape(self, new, dims_of(shape) or ())
            made.name, new.name = new.name, made.name
            self.rewriter.claimed.add(made)
            return made
        raise Unsupported(node, f"{old.name!r} would be {text(new.type)}, not {text(old.type)}")

    def insert(
        self,
        node: Node,
        inputs: Sequence[Value | None],
        attributes: dict[str, Any],
        outputs: int,
        types: Sequence[Type | None] | None = None,
    ) -> Any:
        """What states its types itself is of them by HLO's inference, too, by which it is read.

        Raises:
            InvalidModel: operands contradict one another or the types, since those of a hub's node do.
        """
        made = super().insert(node, inputs, attributes, outputs, types)
        if types is not None and node.domain == DOMAIN:
            for value, found in zip(node.outputs, HLO.infer(node), strict=False):
                if not fits(value.type, found):
                    raise InvalidModel(f"{node!r}: it would be {text(value.type)}, and its operands give {text(found)}")
        return made

    def inserted(self, node: Node) -> None:
        if self.rewriter.context.is_open and len(node.outputs) == 1:
            note(node.output)

    def _carry(self, old: Value, new: Value) -> None:
        type = new.type
        super()._carry(old, new)
        new.type = type  # HLO's own, which is complete

    def named(self, value: Value, name: str) -> Value:
        """`value` as the result of this name; where it is one already, or none that is computed, a copy of it."""
        results: set[Value] = self.rewriter.context.results
        if value.name == name and value not in results:
            results.add(value)
            return value
        if value.producer is None or value in results:
            value = self.call("copy", value)
        self.rewriter.claimed.discard(value)
        results.add(value)
        return super().named(value, name)


def _is_finally(number: Dim, size: Dim) -> bool:
    """Whether a size is this number for all inputs that are large."""
    found = size_of(size)
    assert isinstance(size, str) and found is not None
    return all(settled(size, dict.fromkeys(symbols(found), large)) == number for large in _LARGE)


def _check_types(node: Node) -> None:
    """
    Raises:
        Unsupported: a value that HLO can't hold.
    """
    for value in (*node.inputs, *node.outputs):
        if value is None or value.type is None or not (value.name or value.data):
            continue
        if not isinstance(value.type, TensorType):
            raise Unsupported(node, f"{value.name!r} is {value.type}; HLO has arrays only")
        if value.type.dtype is not None and value.type.dtype not in NAMES:
            raise Unsupported(node, f"HLO has no element type {value.type.dtype.value}")


RULES = {key: [folded, *rules] for key, rules in _RULES.items()}
"""The rules by operator. What has none goes by what it is made of."""


def _without_rule(op: Builder, node: Node) -> list[Value]:
    made = folded(op, node)
    return decomposed(op, node, "HLO") if made is None else made


def _check_interface(graph: Graph, open_sizes: bool, rules: Rules) -> None:
    for word, values in (("takes", graph.inputs), ("gives", graph.outputs)):
        for value in values:
            if value.type is not None and not isinstance(value.type, TensorType):
                refuse(Unsupported(f"{value.name!r}", f"the model {word} {value.type}; HLO has arrays only"))
            if value.tensor.dtype is not None and value.tensor.dtype not in NAMES:
                refuse(Unsupported(f"{value.name!r}", f"HLO has no element type {value.tensor.dtype.value}"))
    for value in graph.inputs:
        if value.data is None and (value.tensor.shape is None if open_sizes else value.tensor.static_shape is None):
            refuse(Unsupported(f"{value.name!r}", f"the input is {value.type}; HLO needs its sizes (--shape)"))
    if is_any_collected():
        _refuse_foreign(graph, rules)
    raise_collected()


def _refuse_foreign(graph: Graph, rules: Rules) -> None:
    """Refuse the operators that nothing defines: they can't be expressed, whatever the inputs are."""
    for _, node in graph.walk():
        if node.op not in rules and schema(node.domain, node.op_type, node.version) is None:
            try:
                decomposed_for(node, [], "HLO")
            except Unsupported as refusal:
                refuse(refusal)


def lower_graph(graph: Graph, *, given: bool = False, rules: Rules = RULES, open_sizes: bool = False) -> Graph:
    """A graph of dialect "hlo" that computes what a hub graph computes; the old one stays as it was, unless it is given
    away. `rules` are tried instead of those for files.

    With `open_sizes` sizes of the inputs may be open: the types have functions of them, which StableHLO can say.

    An input that has a value is a constant afterwards: HLO has no defaults. `meta["notes"]` says so, and whatever
    else the report should say.

    Raises:
        Unsupported: HLO can't express a node or a type, or a size is known only when the model runs.
    """
    graph = graph if given else graph.copy()
    known = symbols_named(graph) if open_sizes else set()
    admit = partial(_check_interface, open_sizes=open_sizes, rules=rules)
    source, resolved = prepared(graph, "HLO", admit, recurrent.RULES)
    rewriter = Rewriter(HLO, rules, fallback=_without_rule, context=Context(symbols=known))
    lowered = rewriter.run(source, Lowering)
    RemoveDead()(lowered)
    notes = [*lowered.meta.get(NOTES, ()), *resolved, *rewriter.notes]
    fixed = [value.name for value in lowered.inputs if value.data is not None]
    if known:
        notes.append(AT_LEAST_ONE)
        if demanded := sizes_to_load(lowered):
            notes.append(demanded)
    if rewriter.context.declared:
        notes.append(f"{_TAKEN}: {', '.join(rewriter.context.declared)}")
    if fixed:
        notes.append(f"inputs with a default are constants: {', '.join(fixed)}")
    lowered.inputs = [value for value in lowered.inputs if value.data is None]
    if notes:
        lowered.meta[NOTES] = notes
    return lowered
