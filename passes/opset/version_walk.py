"""The walk of one node from its version to the one in force at the target opset, step by step.

    walk = Walk({"": 13})
    Rewriter(dialect, {}, fallback=walk).run(graph)

Most nodes need nothing but another version number; which ones, is worked out once per operator and version.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from ..constant_analysis import static_array
from ..constants import constant_node_data
from ..decompose.functions import body
from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..list_faults import list_fault
from ..loop import DOMAIN as CONTROL
from ..protos import DTYPES
from ..rewrite import Builder, at_named_outputs
from ..schema_check import check_attributes, check_schema, unknown
from ..schemas import HUB_OPSETS, histories, schema
from ..types import DType, is_known
from . import control
from .allowed import check, fits, narrowed
from .build import StepBuilder, give_types
from .changes import Frame, Log
from .steps import Adapter, Conditional, Made, same
from .table import find, is_experimental
from .type_promotion import promotions


def _kind(value: Value) -> DType | None:
    return value.tensor.dtype


def _nothing(value: Value) -> Any:
    """Tells an element type that no adapter is about."""
    return _nothing


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a walk: where it starts, what it needs, and the opsets at which its adapter builds."""

    version: int
    adapter: Adapter
    opsets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A walk: its first and its last version, and its stages that are more than another number.

    `checked`: the last version doesn't take every type that the first one took.
    """

    start: int
    version: int
    stages: Sequence[Stage]
    checked: bool


@cache
def _plans(targets: frozenset[tuple[str, int]], keep_dropped: bool) -> dict[tuple[str, str, int], Plan]:
    """(domain, operator, version) -> plan, filled by every walk to the same targets. Plans hold no nodes."""
    return {}


class Walk:
    """Brings nodes to target opsets (domain -> version); a fallback of a Rewriter.

    A walk is of one graph and one thread: it holds the nodes that it makes, and whether it is inside of an operator's
    body. Operators of other domains, and the canonical Loop and If, pass; their regions are walked.

    Args:
        keep_dropped: an operator that was taken out of ONNX, and that no other says, stays at its last version
            (in the hub, where it still runs); otherwise it is refused.
        log: takes up what is done to which operator.
    """

    def __init__(self, targets: Mapping[str, int], keep_dropped: bool = False, log: Log | None = None) -> None:
        self.targets = dict(targets)
        self.keep_dropped = keep_dropped
        self.log = log
        self._frame = Frame()
        self._inlining = 0
        self._plans = _plans(frozenset(targets.items()), keep_dropped)

    def __call__(self, op: Builder, node: Node) -> Sequence[Value]:
        return self._logged(op, node)[: len(node.outputs)]

    def _logged(self, op: Builder, node: Node) -> Sequence[Value]:
        """What stands for a node, taken up by the log."""
        if node.domain in self.targets and node.domain != CONTROL and not self._inlining:
            check_schema(node)
        if self.log is None or self._inlining or node.domain not in self.targets:
            return self.adapt(op, node)
        outer, self._frame = self._frame, Frame()
        try:
            made = self.adapt(op, node)
            self.log.add(node, self.targets[node.domain], self._frame, list(made))
        finally:
            self._frame = outer
        return made

    def adapt(self, op: Builder, node: Node, built: bool = False) -> Sequence[Value]:
        """The values that stand for a node's outputs at the target.

        Args:
            built: an adapter made this node, so that its outputs have no names to keep.

        Raises:
            Unsupported: a step that can't be done, or a type that the target doesn't have.
        """
        if node.domain not in self.targets or node.domain == CONTROL:
            return self._keep(op, node, node.version)
        if self._inlining and not built:
            short = _short(op, node)
            if short is not None:
                return [short]
        before = len(self._frame.nodes)
        try:
            return self._steps(op, node, built)
        except Unsupported as refusal:
            if node.version <= self.targets[node.domain]:
                raise
            if not built:
                del self._frame.nodes[before:]
            return self._otherwise(op, node, refusal)

    def _steps(self, op: Builder, node: Node, built: bool) -> Sequence[Value]:
        plan = self.plan(node)
        current = node
        if schema(node.domain, node.op_type, plan.start) is None:  # it was used before it had a version
            check_schema(_at(node, plan.version))
        for stage in plan.stages:
            current = _at(current, stage.version)
            made: Made = stage.adapter(StepBuilder(self, op, stage.opsets), current)
            if made is None:
                continue
            if isinstance(made, Node):
                if made.op != current.op:
                    made.version = self.in_force(made, stage.opsets[made.domain])
                    return self.adapt(op, made, built)
                current = made
                continue
            return [made] if isinstance(made, Value) else made
        if current is not node:
            current = _at(current, plan.version)
            if current.attributes is not node.attributes:
                check_attributes(current)
        if built:
            check(_at(current, plan.version), node, None)
            if fault := list_fault(current):  # sizes that follow from those of the file
                raise InvalidModel(f"{node!r}{fault}")
            return self._insert(op, current, plan.version)
        if plan.checked and not current.regions:
            check(_typed(current, plan.version), node, plan.start)
        values = self._keep(op, current, plan.version)
        if plan.checked and current.regions and values[0].producer is not None:
            check(values[0].producer, node, plan.start)
        return values

    def _otherwise(self, op: Builder, node: Node, refusal: Unsupported) -> Sequence[Value]:
        """What stands for an operator that can't go down: what it certainly gives, other types, or its body."""
        if len(node.outputs) == 1 and not node.regions:
            array = static_array(node.output)
            if array is not None:
                return [op.const(array)]
        made = self._carried(op, node)
        return self._by_body(op, node, refusal) if made is None else made

    def _carried(self, op: Builder, node: Node) -> Sequence[Value] | None:
        """The operator on types that the target takes, which hold the node's own; None where there are none."""
        version = bisect_right(histories().get(node.op, ()), self.targets[node.domain])
        if node.regions or not version:
            return None
        opsets = {**self.targets, node.domain: max(node.version, 1)}
        for change in promotions(node, histories()[node.op][version - 1]):
            with contextlib.suppress(Unsupported):
                return change(StepBuilder(self, op, opsets))
        return None

    def _by_body(self, op: Builder, node: Node, refusal: Unsupported) -> Sequence[Value]:
        """What an operator that can't go down is made of, down instead of it."""
        graph = body(node)
        if graph is None or any(inner.op == node.op for _, inner in graph.walk()):
            raise refusal
        given = [value for value in node.formal_inputs if value is not None]
        self._frame.inlined = True
        self._inlining += 1
        try:
            made = op.inline_for(node, graph, given)
        except Unsupported as inner:
            raise Unsupported(node, f"{refusal.reason}; of what it is made, {inner}") from None
        finally:
            self._inlining -= 1
        return at_named_outputs(node, made)

    def _keep(self, op: Builder, node: Node, version: int) -> Sequence[Value]:
        """The node itself at another version, its regions walked, its names kept."""
        regions = {
            name: op.rewritten(
                region, control.entering(node, region), node.captures
            )  # adapters inside may ask for them
            for name, region in node.regions.items()
        }
        made = op.copy(node, regions)
        twin = made[0].producer if made else None
        if twin is not None:
            self._frame.nodes.append(twin)
            if regions:
                control.give_types(twin)
            elif any(not is_known(value.type) for value in made):
                give_types(twin)
            twin.version = version
        return made

    def _insert(self, op: Builder, node: Node, version: int) -> Sequence[Value]:
        """A node that an adapter made."""
        twin = Node(node.domain, node.op_type, version, node.name)
        self._frame.nodes.append(twin)
        twin.regions, twin.captured = node.regions, node.captured  # built at the target already
        types = [value.type for value in node.outputs]
        made = op.insert(twin, node.inputs, node.attributes, len(node.outputs), types)
        return [made] if isinstance(made, Value) else made

    def stamp(self, node: Node, kind_of: Callable[[Value], DType | None] = _kind) -> int | None:
        """The version a node without regions ends at where it may otherwise stay as it is; None where it may not."""
        if node.domain not in self.targets or node.domain == CONTROL:
            return node.version
        plan = self.plan(node)
        for stage in plan.stages:
            if not isinstance(stage.adapter, Conditional) or stage.adapter.concerns(node, kind_of):
                return None
        if plan.checked and not fits(node, plan.start, plan.version, kind_of):
            return None
        return plan.version

    def changes(self, node: Node) -> bool:
        """Whether more than the version of a node certainly changes, whatever its element types are."""
        if node.domain not in self.targets or node.domain == CONTROL:
            return False
        return any(
            not isinstance(stage.adapter, Conditional) or stage.adapter.concerns(node, _nothing)
            for stage in self.plan(node).stages
        )

    def in_force(self, node: Node, opset: int) -> int:
        """The operator's version under an opset."""
        versions = histories().get(node.op, ())
        index = bisect_right(versions, opset)
        if not index:
            raise Unsupported(node, f"opset {opset} of {node.domain or 'ai.onnx'} has no {node.op_type}")
        return versions[index - 1]

    def plan(self, node: Node) -> Plan:
        """How this node comes to its target."""
        key = (node.domain, node.op_type, node.version)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(node)
        return plan

    def _plan(self, node: Node) -> Plan:
        target = self.targets[node.domain]
        versions = histories().get(node.op, ())
        start = bisect_right(versions, node.version or target) - 1
        end = bisect_right(versions, target) - 1
        if start >= 0 and start == len(versions) - 1 and _is_gone(node, versions[start]):
            raise InvalidModel(f"{node!r}: opset {node.version} of {node.domain or 'ai.onnx'} has this no more")
        if start < 0 and not is_experimental(node.domain, node.op_type, versions[0] if versions else 0):
            raise unknown(node)
        up = end > start or not versions
        stages: list[Stage] = []
        for lower, upper in _pairs(versions, start, end) if versions else [(0, 0)]:
            step = find(node.domain, node.op_type, upper, first=not lower)
            adapter = step.up if up else step.down
            if adapter is same:
                continue
            if isinstance(adapter, str):
                if up and self.keep_dropped and _is_gone(node, upper):
                    end -= 1
                    break
                adapter = _refusal(adapter)
            opsets = {**self.targets, node.domain: (upper or target) if up else upper - 1}
            stages.append(Stage(lower if up else upper, adapter, opsets))
        first = versions[start] if start >= 0 else node.version
        version = versions[end] if end >= 0 else first
        checked = 0 <= end < start and narrowed(node.domain, node.op_type, first, version)
        return Plan(first, version, stages, checked)


def hub_walk() -> Walk:
    """A walk of one graph to the hub's versions."""
    return Walk(HUB_OPSETS, keep_dropped=True)


def _pairs(versions: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int]]:
    """(earlier, later) version of each step between two positions in a history; 0 is before there was any."""
    indices = (0, *versions)
    if end > start:
        yield from pairwise(indices[start + 1 : end + 2])
    for index in range(start, end, -1):
        yield indices[index], indices[index + 1]


def _short(op: Builder, node: Node) -> Value | None:
    """What an operator of a function body is where it is called: a constant, or its own input."""
    if node.regions or node.domain or len(node.outputs) != 1:
        return None
    if node.op_type == "Constant":
        data = constant_node_data(node)
        return None if data is None else op.const(data)
    first = node.input(0)
    if node.op_type == "Cast" and first is not None and first.tensor.dtype in DTYPES.values():
        to = node.attributes.get("to")
        if isinstance(to, int) and DTYPES.get(to) is first.tensor.dtype:
            return first
    if node.op_type not in ("Shape", "Size") and any(value is not None and value.data is None for value in node.inputs):
        return None
    array = static_array(Value("", None, node))
    return None if array is None else op.const(array)


def _at(node: Node, version: int) -> Node:
    """The node under a version it passes on its way."""
    twin = Node(node.domain, node.op_type, version, node.name)
    twin.attributes, twin.inputs, twin.outputs = node.attributes, node.inputs, node.outputs
    twin.regions, twin.captured, twin.meta = node.regions, node.captured, node.meta
    return twin


def _typed(node: Node, version: int) -> Node:
    """The node at a version, to be looked at before it is placed: the types of its outputs told from its inputs."""
    twin = _at(node, version)
    if any(not is_known(value.type) for value in node.outputs):
        twin.outputs = [Value(value.name, value.type, twin, value.index) for value in node.outputs]
        twin.version = node.version
        give_types(twin)
        twin.version = version
    return twin


def _refusal(reason: str) -> Adapter:
    def refuse(op: Builder, node: Node) -> Made:
        raise Unsupported(node, reason)

    return refuse


# types -------------------------------------------------------------------------------------------


def _is_gone(node: Node, version: int) -> bool:
    """Whether the last version only says that there is no such operator any more."""
    return schema(node.domain, node.op_type, version) is None
