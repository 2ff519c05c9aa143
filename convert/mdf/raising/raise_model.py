"""A model that MDF's engine would run -> a hub graph with the canonical Loop.

    one pass        the nodes' operators one after the other, no loop
    n passes        Loop(n): what parameters keep is carried, initial values come from before the loop; where not every
                    node runs in every pass, flags of the pass choose between old and new
    until a number reaches a threshold
                    Loop(condition): the scheduler's counters are carried as far as anything depends on them
    evaluated `steps` times more
                    Loop(steps + 1); with derivatives the first time stands before Loop(steps)

Where the first pass has other types or shapes than later ones, it stands before the loop. What grows from pass to pass
has open sizes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import numpy as np

from ....passes.constant_analysis import remembered
from ....passes.errors import InvalidModel, Unsupported
from ....passes.garbage import bulk
from ....passes.graph import DEFAULT, Graph, Value
from ....passes.hub import HUB
from ....passes.names import Names
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, Rewriter
from ....passes.structure.guard import assertion
from ....passes.structure.simplify import RemoveDead
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType, tensor
from ....runtime.oracles.mdf_names import InputName, OutputName, interface
from ..model import Model, Node
from ..structure import tree_from_model
from .conditions import Key
from .nodes import Machine
from .numpy.values import Number, cast
from .runs import NoOneType, Runs, static_schedule
from .scheduler import Scheduler, Wiring
from .state import State


def raise_model(model: Model) -> Graph:
    """The hub graph of a model; its inputs and outputs are those of `runtime.oracles.mdf_names`.

    Inputs and outputs are float64, int64 and bool unless the model's metadata states others. The shapes of inputs are
    static; so are all others, unless something is of another shape in another pass.

    Raises:
        InvalidModel: an expression is none, or names something unknown.
        Unsupported: what the hub can't express, or what isn't well defined.
    """
    with remembered(), bulk():
        return _as_array_or_list(model)


def _as_array_or_list(model: Model) -> Graph:
    try:
        return _raised(model)
    except InvalidModel:
        if not any(isinstance(port.default, list) for node in model.graphs[0].nodes for port in node.inputs):
            raise
        # Where the engine sees a list by default it fails, too; where it sees an array that it was fed with it doesn't.
        with contextlib.suppress(InvalidModel):
            return _raised(model, lists=False)
        raise


def _raised(model: Model, lists: bool = True) -> Graph:
    """All sizes known, if the passes that stand apart make that possible; else some are open."""
    try:
        return _Raising(model, lists).run()
    except NoOneType:
        return _Raising(model, lists, opens=True).run()


class _Raising:
    def __init__(self, model: Model, lists: bool, opens: bool = False) -> None:
        self.lists = lists
        self.opens = opens
        self.source = model.graphs[0]
        self.interface = interface(tree_from_model(model))
        self.graph = Graph(HUB.name, self.source.id)
        outputs = [one.name for one in self.interface.outputs]
        rewriter = Rewriter(HUB, {}, names=Names(interface=outputs), root=self.graph)
        self.op = Builder(rewriter, self.graph)
        self.nodes = {node.id: node for node in self.source.nodes}

    def run(self) -> Graph:
        wiring = Wiring(self.source)
        scheduler = Scheduler(self.source, wiring)
        machine = Machine(wiring, self.lists, self.opens)
        fed = {port: number for one in self.interface.inputs for port, number in self._input(one)}
        state = machine.start(self.op, fed)
        wanted = {one.name: self._key(one) for one in self.interface.outputs}
        exact = any("onnx::" in name for node in self.source.nodes for name in _functions(node))
        runs = Runs(self.op, machine, scheduler, list(wanted.values()), exact)
        state = self._runs(runs, state)
        for one in self.interface.outputs:
            self.graph.outputs.append(self.op.named(self._output(one, wanted[one.name], state), one.name))
        RemoveDead()(self.graph)
        return self.graph

    def _runs(self, runs: Runs, state: State) -> State:
        """All passes."""
        if self.interface.steps is not None:
            steps = self._extra(self.interface.steps, DType.INT64)
            if self.interface.time_increment is None:
                return runs.steps(state, steps)
            increment = self._extra(self.interface.time_increment, DType.FLOAT64)
            return runs.integrated(state, steps, Number(increment, python=True))
        if runs.scheduler.plain:
            return runs.once(state)
        table = static_schedule(runs.scheduler)
        if table is None:
            return runs.until(state)
        if not table:
            raise Unsupported("termination", "it is true at the start, and nothing is computed")
        return runs.timed(state, table)

    # inputs and outputs ------------------------------------------------------------------------------

    def _input(self, one: InputName) -> Iterable[tuple[tuple[str, str], Number]]:
        """An input, as each port sees it that it feeds: as float64, int64, uint64 or bool."""
        where = f"input {one.name!r}"
        shape = tuple(size for size in one.shape if isinstance(size, int))
        if len(shape) < len(one.shape):
            raise Unsupported(where, f"of its shape {one.shape} a size isn't known")
        dtype = _element(one.type, where)
        value = self._external(one.name, tensor(dtype, *shape))
        try:
            default = np.asarray(0 if one.default is None else one.default).astype(dtype.numpy)
            if not one.required:
                value.meta = {DEFAULT: TensorData.of(np.broadcast_to(default, shape), dtype)}
        except (TypeError, ValueError):  # of what is no number, and of another shape
            raise InvalidModel(f"{where}: its default value is none of its type and its shape {shape}") from None
        wide = DType.INT64 if dtype.is_integer and dtype is not DType.UINT64 else DType.FLOAT64
        kept = dtype in (DType.BOOL, DType.UINT64)
        number = Number(value if kept else cast(self.op, Number(value), wide, where))
        return [(port, number) for port in one.ports]

    def _extra(self, name: str, dtype: DType) -> Value:
        value = self._external(name, tensor(dtype))
        value.meta = {DEFAULT: TensorData.of(np.zeros((), dtype.numpy), dtype)}
        return value

    def _external(self, name: str, type: TensorType) -> Value:
        return self.graph.add_input(self.op.rewriter.names.claim(name, root=True), type)

    def _key(self, one: OutputName) -> Key:
        """Where an output is found in the end: a port that shows a parameter as it is holds what that holds."""
        if one.kind == "port":
            node = self.nodes[one.node]
            value = next(port.value for port in node.outputs if port.id == one.id)
            for parameter in node.parameters:
                if isinstance(value, str) and value.strip() == parameter.id:
                    return ("parameter", node.id, parameter.id)
        return ("output" if one.kind == "port" else "parameter", one.node, one.id)

    def _output(self, one: OutputName, key: Key, state: State) -> Value:
        where = f"output {one.name!r}"
        ran = state.counters.get(("ran", one.node), True)
        if ran is False:
            raise Unsupported(where, f"node {one.node!r} never runs")
        item = state.numbers[key]
        if not isinstance(item, Number):
            raise Unsupported(where, "it has no value" if item is None else f"it has {len(item)} values")
        value = cast(self.op, item, _element(one.type, where), where) if one.type else item.value
        if isinstance(ran, Value):
            op, dtype = self.op, item.dtype if not one.type else _element(one.type, where)
            one_or_none = op.Cast(assertion(op, ran, True), to=enum_of(dtype, where))
            value = op.And(value, one_or_none) if dtype is DType.BOOL else op.Mul(value, one_or_none)
        return value


def _element(name: str, where: str) -> DType:
    try:
        return DType(name)
    except ValueError:
        raise InvalidModel(f"{where}: there is no element type {name!r}") from None


def _functions(node: Node) -> Iterable[str]:
    return (member.function or "" for member in (*node.parameters, *node.functions))
