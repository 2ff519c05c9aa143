"""What a case is, and the few helpers that keep the catalogue a table.

A case is a model written as ONNX text, a plain NumPy formula of what it computes, and some inputs.
No runtime has a part in the expected values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.parser

CONTROL_FLOW = ("Loop", "Scan", "If")
Formula = Callable[..., Iterable[Any]]


@dataclass(frozen=True)
class Run:
    """One call of a model: inputs by name, expected outputs in the order of the graph's outputs."""

    inputs: dict[str, np.ndarray]
    expected: list[np.ndarray]


@dataclass(frozen=True)
class Case:
    """A model and what it must compute.

    Attributes:
        name: unique, starts with the family (loop_, scan_, scan8_, if_, nest_, seq_, type_, fun_).
        model: builds the model anew at each call.
        runs: at least one.
        why: what the case is there for.
        ort_fault: what ONNX Runtime does wrong, when it can't confirm the expected values.
        checker_fault: what onnx.checker refuses although the specification allows it.
        tags: the control-flow operators in it ("Loop", "Scan", "If"), "nested" when one stands within
            another, "sequence", "optional", "string", and whatever the case adds:
            "early_stop": a body's condition ends a loop in at least one run;
            "zero_trip": some loop runs no iteration in at least one run;
            "padding": tail of a Scan-8 output that the specification leaves undefined, expected as zeros;
            "empty_shape": a scan output without iterations and without a declared element shape. The
            specification only says that it is empty; expected is the customary shape, unknown dimensions 0;
            "unranked": a value whose rank depends on the data; "shadow": one name, two values;
            "narrow": an element type of 8 bits or fewer that isn't a plain integer or bool.
    """

    name: str
    model: Callable[[], onnx.ModelProto]
    runs: list[Run]
    why: str = ""
    ort_fault: str = ""
    checker_fault: str = ""
    tags: frozenset[str] = field(default_factory=frozenset)


IR_BY_OPSET = {
    **dict.fromkeys(range(1, 9), 3),
    9: 4,
    10: 5,
    11: 6,
    **dict.fromkeys((12, 13, 14), 7),
    **dict.fromkeys((15, 16, 17, 18), 8),
    **dict.fromkeys((19, 20), 9),
    **dict.fromkeys((21, 22), 10),
    23: 11,
    24: 12,
    **dict.fromkeys((25, 26, 27), 13),
    28: 14,
}


def parse(text: str, opset: int, imports: str = "") -> onnx.ModelProto:
    """ONNX text without its header, at an opset, with the IR version that belongs to it."""
    header = f'<ir_version: {IR_BY_OPSET[opset]}, opset_import: ["": {opset}{imports}], producer_name: "catalogue">\n'
    return onnx.parser.parse_model(header + text)


def case(
    name: str,
    text: str,
    formula: Formula,
    *inputs: dict[str, np.ndarray],
    opset: int = 21,
    why: str = "",
    ort_fault: str = "",
    checker_fault: str = "",
    tags: str = "",
    imports: str = "",
    finish: Callable[[onnx.ModelProto], onnx.ModelProto] = lambda model: model,
) -> Case:
    """One row of the catalogue.

    Args:
        text: the graph as ONNX text, from its name on.
        formula: called with a run's inputs by name; gives the outputs in order.
        inputs: one dict per run.
        imports: further opset imports, starting with a comma.
        finish: for what the text form can't express.
    """

    def model() -> onnx.ModelProto:
        return finish(parse(text, opset, imports))

    return Case(
        name=name,
        model=model,
        runs=[_run(formula, {name: array(value) for name, value in given.items()}) for given in inputs],
        why=why,
        ort_fault=ort_fault,
        checker_fault=checker_fault,
        tags=frozenset([*_found(model()), *tags.split()]),
    )


def preceded(text: str, *nodes: str) -> str:
    """The text with nodes put before the graph's first one."""
    return text.replace("{\n", "\n  ".join(["{", *nodes]) + "\n", 1)


def _run(formula: Formula, given: dict[str, np.ndarray]) -> Run:
    with np.errstate(all="ignore"):  # overflow and NaN are part of the data
        return Run(given, [array(value) for value in formula(**given)])


def _found(model: onnx.ModelProto) -> Iterator[str]:
    """The tags that a model shows of itself."""
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        for node, depth in _walk(nodes, 0):
            if node.op_type in CONTROL_FLOW:
                yield node.op_type
                yield from ["nested"] * (depth > 0)
            yield from (word.lower() for word in ("Sequence", "Optional") if word in node.op_type)
            yield from ["string"] * node.op_type.startswith("String")


def _walk(nodes: Iterable[onnx.NodeProto], depth: int) -> Iterator[tuple[onnx.NodeProto, int]]:
    for node in nodes:
        yield node, depth
        for attribute in node.attribute:
            yield from _walk(attribute.g.node, depth + 1)


def array(value: Any) -> np.ndarray:
    """A formula's value as an array. Python numbers are refused: their dtype would be a guess."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    raise TypeError(f"a formula gave {type(value).__name__}, not an array")


def i64(value: Any) -> np.ndarray:
    return np.array(value, np.int64)


def i32(value: Any) -> np.ndarray:
    return np.array(value, np.int32)


def f32(value: Any) -> np.ndarray:
    return np.array(value, np.float32)


def f64(value: Any) -> np.ndarray:
    return np.array(value, np.float64)


def boolean(value: Any) -> np.ndarray:
    return np.array(value, np.bool_)


def count(trip: np.ndarray) -> range:
    """The iteration numbers that a trip count, of shape [] or [1], allows: none when it is negative."""
    return range(max(int(trip.item()), 0))


def stack(items: Sequence[np.ndarray], like: np.ndarray) -> np.ndarray:
    """All elements of a scan output; `like` gives shape and dtype when there are none."""
    return np.stack(items) if len(items) else np.empty((0, *like.shape), like.dtype)
