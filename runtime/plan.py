"""A graph flattened into steps on numbered slots, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..passes.errors import BackedgeError, InvalidModel, Unsupported
from ..passes.graph import Graph, Node, Value
from ..passes.loop import is_if, is_loop
from .kernels import lookup
from .kernels.base import Attributes, ExecutionError, Kernel, MachineKernels
from .machine_code import MachineCode

Call = Callable[..., Any]
Control = Callable[[Node, "Context"], Call]
Watch = Callable[[Node, Call], Call]
"""From a node's call to the one that is made instead."""

_NOTHING = 0  # the slot of inputs that are left out
_UNWANTED = 1  # the slot of outputs that nobody reads
_FIRST_INPUT = 2


class Arithmetic(Protocol):
    """How numbers are held and computed where that isn't as the graph declares them, see `runtime.wide`."""

    def value(self, value: Any) -> Any:
        """A constant or an argument as it is held."""
        ...

    def call(self, node: Node, kernel: Kernel, attributes: Attributes) -> Call:
        """What is called for a node: inputs and outputs are held by this arithmetic."""
        ...

    def enter(self, node: Node) -> None:
        """Take note of a node before its regions are planned."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """What all plans of one executor share.

    Attributes:
        loop, branch: how loops and branches are called.
        arithmetic: how numbers are held and computed; None: as declared.
        watch: who watches the calls.
        around: the machine code of the loop that the plan is a body of; None: of none.
        native: the machine code of operators; None: NumPy computes them.
        keeps: kernels keep what they make of constants from run to run.
        given: what the caller of the executor gives, constants by default among it.
        constants: inputs of the plan's graph that are constants of a graph around it.
    """

    loop: Control
    branch: Control
    arithmetic: Arithmetic | None = None
    watch: Watch | None = None
    around: MachineCode | None = None
    native: MachineKernels | None = None
    keeps: bool = False
    given: frozenset[Value] = frozenset()
    constants: frozenset[Value] = frozenset()

    def is_constant(self, value: Value | None) -> bool:
        """Whether a value is the same array in each run, or left out."""
        if value is None or value in self.constants:
            return True
        return value.producer is None and value.data is not None and value not in self.given


class Step(NamedTuple):
    """One node: what to call, on which slots, where the results go, which slots are done with afterwards."""

    call: Call
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    release: tuple[int, ...]
    node: Node


def normal(value: Any) -> Any:
    """A kernel's result as a value: NumPy scalars and strings become 0-d arrays."""
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, str):
        array = np.empty((), dtype=object)
        array[()] = value
        return array
    return value


class Plan:
    """The steps of one graph (or region), made once, run any number of times.

    Raises:
        Unsupported: a node that has no kernel.
        InvalidModel: the graph has a cycle, or a node uses a value from outside without capturing it.
    """

    __slots__ = ("_outputs", "_steps", "_template", "graph")

    def __init__(self, graph: Graph, context: Context) -> None:
        self.graph = graph
        slots: dict[Value, int] = {value: index for index, value in enumerate(graph.inputs, _FIRST_INPUT)}
        self._template: list[Any] = [None] * (_FIRST_INPUT + len(graph.inputs))
        nodes, read = _needed(graph)
        for value in read:
            if value.producer is None and value not in slots and value.data is not None:
                slots[value] = len(self._template)
                held = value.data.numpy()
                self._template.append(held if context.arithmetic is None else context.arithmetic.value(held))
        fixed = set(slots.values()) - set(range(_FIRST_INPUT, _FIRST_INPUT + len(graph.inputs)))
        self._steps = [self._step(node, slots, read, context) for node in nodes]
        self._outputs = tuple(self._slot(value, slots) for value in graph.outputs)
        self._release(fixed | set(self._outputs) | {_NOTHING, _UNWANTED})

    @property
    def nodes(self) -> list[Node]:
        """What is run."""
        return [step.node for step in self._steps]

    @property
    def constants(self) -> list[Any]:
        """The constants' arrays, which belong to the graph."""
        return [value for value in self._template if value is not None]

    @staticmethod
    def _slot(value: Value | None, slots: dict[Value, int]) -> int:
        if value is None:
            return _NOTHING
        if value not in slots:
            raise InvalidModel(f"{value.name!r} is used, but nothing in its graph produces it")
        return slots[value]

    def _step(self, node: Node, slots: dict[Value, int], read: set[Value], context: Context) -> Step:
        inputs = tuple(self._slot(value, slots) for value in node.inputs)
        outputs: list[int] = []
        for value in node.outputs:
            if value in read:
                slots[value] = len(self._template)
                self._template.append(None)
            outputs.append(slots.get(value, _UNWANTED))
        while len(outputs) > 1 and outputs[-1] == _UNWANTED:
            outputs.pop()
        call = _callable(node, context)
        if context.watch is not None:
            call = context.watch(node, call)
        return Step(call, inputs, tuple(outputs) or (_UNWANTED,), (), node)

    def _release(self, kept: set[int]) -> None:
        """Let each slot go after the last step that uses it."""
        done = set(kept)
        for number in range(len(self._steps) - 1, -1, -1):
            step = self._steps[number]
            last = {slot for slot in (*step.inputs, *step.outputs) if slot not in done}
            self._steps[number] = step._replace(release=tuple(sorted(last)))
            done |= last

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """The outputs for these inputs, one value for each input of the graph, in order.

        Raises:
            ExecutionError: a kernel failed; the node is named.
        """
        slots = self._template.copy()
        slots[_FIRST_INPUT : _FIRST_INPUT + len(arguments)] = arguments
        step: Step | None = None
        try:
            for step in self._steps:
                call, inputs, outputs, release, _ = step
                result = call(*[slots[index] for index in inputs])
                if type(result) is np.ndarray and len(outputs) == 1:
                    slots[outputs[0]] = result
                else:
                    _store(result, slots, outputs)
                for index in release:
                    slots[index] = None
        except BackedgeError:
            raise
        except Exception as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise ExecutionError(f"{step.node if step else self.graph.name}: {reason[0]}") from error
        return [slots[index] for index in self._outputs]


def _needed(graph: Graph) -> tuple[list[Node], set[Value]]:
    """The nodes that the outputs depend on, producers first, and the values they (and the graph's caller) read."""
    read = set(graph.outputs)
    nodes: list[Node] = []
    for node in reversed(graph.topological()):
        if any(value in read for value in node.outputs):
            nodes.append(node)
            read.update(value for value in node.inputs if value is not None)
    return nodes[::-1], read


def _store(result: Any, slots: list[Any], outputs: tuple[int, ...]) -> None:
    """Put what a kernel gave into its slots."""
    values = result if type(result) is tuple else (result,)
    if len(values) < len(outputs):
        raise ValueError(f"{len(outputs)} outputs are asked for, {len(values)} made")
    for index, value in zip(outputs, values, strict=False):
        slots[index] = value if type(value) is np.ndarray else normal(value)


def _callable(node: Node, context: Context) -> Call:
    if context.arithmetic is not None:
        context.arithmetic.enter(node)
    if is_loop(node):
        return context.loop(node, context)
    if is_if(node):
        return context.branch(node, context)
    if node.op in (("", "Loop"), ("", "Scan"), ("", "If")):
        raise Unsupported(node, "the executor takes control flow in the hub's form only")
    try:
        kernel = lookup(node.domain, node.op_type, node.version)
    except Unsupported as error:
        raise Unsupported(node, error.reason) from None
    regions = {name: Plan(region, context).run for name, region in node.regions.items()}
    attributes = Attributes(node, regions)
    if context.arithmetic is not None:
        return context.arithmetic.call(node, kernel, attributes)
    attributes.constant = tuple(map(context.is_constant, node.inputs)) if context.keeps else ()
    attributes.native = context.native
    return partial(kernel, attributes)
