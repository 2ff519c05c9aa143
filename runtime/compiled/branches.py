"""Graphs inside the function: their nodes in order, and If as a branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...passes.graph import Graph, Node, Value
from ...passes.loop import is_if, is_loop
from ..kernels.base import Attributes
from .block import Block
from .elementwise import Emit, reshaped_scalar
from .emitter import Emitter
from .tensors import Atom, Decline, Small, Stored, Tensor, level_of

Environment = dict[Value, Tensor]


class Writer:
    """Writes graphs with a table of operators, and a function for loops.

    Attributes:
        special: what writes the one node that is its key.
    """

    def __init__(
        self,
        em: Emitter,
        table: Mapping[str, Emit],
        loop: Callable[[Writer, Node, Sequence[Tensor | None]], list[Tensor]],
    ) -> None:
        self.em = em
        self.table = table
        self.loop = loop
        self.special: dict[Node, Callable[[Sequence[Tensor | None]], Tensor]] = {}

    def bind(self, graph: Graph, environment: Environment, value: Value, tensor: Tensor) -> None:
        """Let `value` be `tensor`, and count its uses."""
        environment[value] = tensor
        uses = self.em.uses
        uses[tensor] = uses.get(tensor, 0) + len(graph.uses(value)) + graph.outputs.count(value)

    def look_up(self, graph: Graph, environment: Environment, value: Value) -> Tensor:
        found = environment.get(value)
        if found is None:
            if value.data is None:
                raise Decline(f"{value.name} comes from outside")
            found = self.em.constant(value.data)
            self.bind(graph, environment, value, found)
        return found

    def node(self, graph: Graph, node: Node, environment: Environment) -> None:
        """One operator."""
        inputs = [None if value is None else self.look_up(graph, environment, value) for value in node.inputs]
        if is_loop(node):
            results = self.loop(self, node, inputs)
        elif is_if(node):
            results = self.branch(node, inputs)
        elif node in self.special:
            results = [self.special[node](inputs)]
        else:
            found = self.table[node.op_type](self.em, Attributes(node), inputs)
            results = found if isinstance(found, list) else [found]
        results = [self.em.scalarized(tensor) for tensor in results]
        for value, tensor in zip(node.outputs, results, strict=False):
            self.bind(graph, environment, value, tensor)
        if all(isinstance(tensor, Small) or (isinstance(tensor, Stored) and tensor.owned) for tensor in results):
            for tensor in inputs:  # this use is over: no waiting result reads them on its behalf
                if tensor is not None:
                    self.em.uses[tensor] -= 1

    def graph(self, graph: Graph, environment: Environment) -> list[Tensor]:
        """All nodes that aren't written yet; the graph's outputs."""
        for node in graph.topological():
            if not node.outputs or node.outputs[0] not in environment:
                self.node(graph, node, environment)
        return [self.look_up(graph, environment, value) for value in graph.outputs]

    def branch(self, node: Node, inputs: Sequence[Tensor | None]) -> list[Tensor]:
        """If: results of both branches in the same variables. Where one of them has no code, which may be because it
        can't run on what it is given, the function can't go on if it is taken."""
        condition = reshaped_scalar(self.em, present(inputs[0])).atoms[0]
        captured = [self.em.ready(present(tensor)) for tensor in inputs[1:]]
        regions = [node.regions["then"], node.regions["else"]]
        if condition.value is not None:
            return self._region(regions[0 if condition.value else 1], captured)
        em, mark = self.em, self.em.mark()
        try:
            with em.within(em.block):
                return self._both(condition, regions, captured)
        except Decline as error:
            em.rewind(mark)
            refusal = error
        for region, unwanted in zip(regions, (f"not {condition.code}", condition.code), strict=True):
            try:
                with em.within(em.block):
                    em.refuse_if(unwanted, "the other branch has no code")
                    return self._region(region, captured)
            except Decline:
                em.rewind(mark)
        raise refusal

    def _both(self, condition: Atom, regions: Sequence[Graph], captured: Sequence[Tensor]) -> list[Tensor]:
        blocks = [self.em.block.sub(f"if {condition.code}:"), self.em.block.sub("else:")]
        branches: list[list[Tensor]] = []
        for block, region in zip(blocks, regions, strict=True):
            with self.em.within(block):
                branches.append([self.em.ready(tensor) for tensor in self._region(region, captured)])
        return [self._merged(blocks, *pair) for pair in zip(*branches, strict=True)]

    def _region(self, region: Graph, captured: Sequence[Tensor]) -> list[Tensor]:
        environment: Environment = {}
        for value, tensor in zip(region.inputs, captured, strict=True):
            self.bind(region, environment, value, tensor)
        return self.graph(region, environment)

    def _merged(self, blocks: Sequence[Block], first: Tensor, second: Tensor) -> Tensor:
        """One tensor that is `first` after the first block and `second` after the second."""
        em = self.em
        if first is second:
            return first
        if first.kind != second.kind or len(first.dims) != len(second.dims):
            raise Decline("branches give different types")
        if isinstance(first, Small) and isinstance(second, Small) and first.dims == second.dims:
            atoms = tuple(Atom(em.name(), first.kind, em.depth) for _ in first.atoms)
            for block, tensor in zip(blocks, (first, second), strict=True):
                for atom, source in zip(atoms, tensor.atoms, strict=True):
                    block.line(f"{atom.code} = {source.code}")
            return Small(first.kind, first.dims, atoms)
        name = em.name("y")
        for block, tensor in zip(blocks, (first, second), strict=True):
            with em.within(block):
                block.line(f"{name} = {em.stored(tensor).name}")
        dims = tuple(
            a if a == b and (isinstance(a, int) or level_of((a,)) < em.depth) else em.size(f"{name}.shape[{axis}]")
            for axis, (a, b) in enumerate(zip(first.dims, second.dims, strict=True))
        )
        return em.scalarized(Stored(first.kind, dims, name, em.depth))


def present(tensor: Tensor | None) -> Tensor:
    """An input that must not be left out."""
    if tensor is None:
        raise Decline("an input is left out")
    return tensor
