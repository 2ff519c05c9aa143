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
  false takes, as with an index). A region's inputs are its parameters' leaves. Regions capture nothing.
- `call`, `fusion` and the async wrappers name a computation in their attribute "computation"; the root graph's
  `functions["hlo", name, ""]` holds it, once, however often it is called. `inline.py` puts it where it is called.
- An iota, an rng, a partition-id has no inputs; a constant isn't a node.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...passes.types import DType
from .text.tree import HloShape, Raw

DOMAIN = "hlo"
META = "hlo"  # key of Origin (nodes, inputs, constants) and Form (graphs) in meta

DTYPES: dict[str, DType] = {
    "pred": DType.BOOL,
    "s2": DType.INT2,
    "s4": DType.INT4,
    "s8": DType.INT8,
    "s16": DType.INT16,
    "s32": DType.INT32,
    "s64": DType.INT64,
    "u1": DType.UINT1,
    "u2": DType.UINT2,
    "u4": DType.UINT4,
    "u8": DType.UINT8,
    "u16": DType.UINT16,
    "u32": DType.UINT32,
    "u64": DType.UINT64,
    "f16": DType.FLOAT16,
    "bf16": DType.BFLOAT16,
    "f32": DType.FLOAT32,
    "f64": DType.FLOAT64,
    "f8e3m4": DType.FLOAT8E3M4,
    "f8e4m3": DType.FLOAT8E4M3,
    "f8e4m3fn": DType.FLOAT8E4M3FN,
    "f8e4m3fnuz": DType.FLOAT8E4M3FNUZ,
    "f8e4m3b11fnuz": DType.FLOAT8E4M3B11FNUZ,
    "f8e5m2": DType.FLOAT8E5M2,
    "f8e5m2fnuz": DType.FLOAT8E5M2FNUZ,
    "f8e8m0fnu": DType.FLOAT8E8M0,
    "f4e2m1fn": DType.FLOAT4E2M1,
    "c64": DType.COMPLEX64,
    "c128": DType.COMPLEX128,
}
"""HLO's primitive types; s1 has no counterpart anywhere and isn't read."""

NAMES: dict[DType, str] = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(slots=True)
class Origin:
    """What an instruction has beside its operation: in the `meta["hlo"]` of a node, an input, a constant."""

    name: str = ""  # the instruction's
    attributes: dict[str, Raw] = field(default_factory=dict)
    shape: HloShape | None = None  # with layouts, and tuples as they were nested


@dataclass(slots=True)
class Form:
    """How a computation was written: `graph.meta["hlo"]`.

    `parameters` are the shapes of its parameters, `result` that of its root, tuples as they were nested; None where
    no file said so.
    """

    name: str = ""
    parameters: tuple[HloShape, ...] | None = None
    result: HloShape | None = None
    attributes: dict[str, Raw] = field(default_factory=dict)  # of the module (root graphs)
