"""How HLO stands in a Graph of dialect "hlo".

- Domain `hlo`, op_type the opcode as HLO spells it ("add", "dynamic-slice", "while"), version 0.
- There are no tuples. A tuple is its leaves, in order, however deep they stand: a `while` over
  (s32[], (f32[2], f32[3])) has three inputs and three outputs, a variadic reduce an output for each of its results.
  `tuple` and `get-tuple-element` aren't nodes. How the leaves were nested rides in `meta["hlo"]`, for the way back.
- Parameters are `graph.inputs`, the root's leaves `graph.outputs`, constants `graph.constants`.
- A value's type is a `TensorType` (pred is BOOL; a bounded dimension `<=n` is `Interval(0, n)`); a token's is None.
- `node.attributes` hold what the opcode means, under HLO's names and typed as in `text/tree.py`: ints, bools,
  strings, tuples of ints, a window as a tuple of `WindowDim`, padding of `PadDim`, slice of `SliceDim`, `Labels`.
  What is left out takes HLO's default where it is read, by `attributes.get(name, default)`. Everything else
  (metadata, sharding, frontend_attributes, backend_config ...) rides in `node.meta["hlo"]`.
- Computations that an instruction applies are its regions, under the attribute's name: "to_apply" (reduce,
  reduce-window, scatter, map, sort, all-reduce, custom-call ...), "select" and "scatter" (select-and-scatter),
  "condition" and "body" (while), "branch_0", "branch_1", ... (conditional; where a pred decides, branch_0 is what
  false takes, as with an index), "called_computations_0", ... (custom-call). A region's inputs are its parameters'
  leaves. Regions capture nothing.
- `call`, `fusion` and the async wrappers name a computation in their attribute "computation"; the root graph's
  `functions["hlo", name, ""]` holds it, once, however often it is called. `raising/canonical.py` puts it in place.
- An iota, an rng, a partition-id has no inputs; a constant isn't a node.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...passes.graph import Graph, Node, Value
from .text.dtypes import DTYPES as DTYPES
from .text.dtypes import NAMES as NAMES
from .text.tree import HloShape, Raw

DOMAIN = "hlo"
CALLED = "called_computations"
META = "hlo"  # key of Origin (nodes, inputs, constants) and Form (graphs) in meta


@dataclass(slots=True)
class Origin:
    """What an instruction has beside its operation: in the `meta["hlo"]` of a node, an input, a constant."""

    name: str = ""  # the instruction's
    attributes: dict[str, Raw] = field(default_factory=dict)
    shape: HloShape | None = None  # with layouts, and tuples as they were nested
    operands: tuple[HloShape, ...] = ()  # the operands' shapes, where one is a tuple or their layouts count


@dataclass(slots=True)
class Form:
    """How a computation was written: `graph.meta["hlo"]`.

    `parameters` are the shapes of its parameters, `result` that of its root, tuples as they were nested; None where
    no file said so.
    """

    name: str = ""
    parameters: tuple[HloShape, ...] | None = None
    result: HloShape | None = None
    outputs: tuple[str, ...] = ()  # what users see the outputs called (root graphs)
    attributes: dict[str, Raw] = field(default_factory=dict)  # of the module (root graphs)
    settled: frozenset[str] = frozenset()  # constants that were inputs and stay as they are (root graphs)


def form_of(graph: Graph) -> Form:
    """How a graph was written; an empty form where no file said so."""
    found = graph.meta.get(META)
    return found if isinstance(found, Form) else Form()


def result_names(graph: Graph) -> list[str]:
    """What users see a root graph's outputs called."""
    names = form_of(graph).outputs
    return list(names) if len(names) == len(graph.outputs) else [value.name for value in graph.outputs]


def origin_of(owner: Node | Value) -> Origin:
    """What a node, an input or a constant has beside its operation."""
    found = (owner.meta or {}).get(META)
    return found if isinstance(found, Origin) else Origin()
