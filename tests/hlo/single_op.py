"""A piece of HLO text held against XLA: what our executor computes of the raised graph, and what ONNX Runtime computes
of the ONNX model that it becomes.

    check("ENTRY e { x = f32[3] parameter(0) ROOT y = f32[3] negate(x) }", [x])
    check(single("add", ["s8[4]", "s8[4]"], "s8[4]"), [a, b])
    check(entry({"a": "f32[4]"}, ["floor = f32[4] floor(a)", "ceil = f32[4] ceil(a)"]), [a])

Several instructions in one module cost one compilation; a difference names the result that is wrong.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.files import to_dialect
from backedge.convert.format import FORMATS
from backedge.convert.onnx.check import objection
from backedge.convert.onnx.lowering import DEFAULT_OPSET
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.structure.canonical import canonicalize
from backedge.passes.types import DType
from backedge.runtime import run
from openvino_lowering.worker import Worker

Array = np.ndarray[Any, Any]
SECONDS = 120


def single(opcode: str, operands: Sequence[str], result: str, attributes: str = "") -> str:
    """A module of one instruction; operands and result are shapes as HLO spells them."""
    names = [f"x{place}" for place in range(len(operands))]
    more = f", {attributes}" if attributes else ""
    return entry(dict(zip(names, operands, strict=True)), [f"y = {result} {opcode}({', '.join(names)}){more}"])


def entry(parameters: Mapping[str, str], instructions: Sequence[str], before: str = "") -> str:
    """A module whose parameters have names and shapes; the instructions (`name = shape opcode(...)`) are its results.

    `before` holds the computations that they apply.
    """
    lines = [f"  {name} = {shape} parameter({place})" for place, (name, shape) in enumerate(parameters.items())]
    lines += [f"  {line}" for line in instructions]
    names, shapes = [], []
    for line in instructions:
        name, rest = line.split(" = ", 1)
        names.append(name)
        shapes.append(rest[: _shape_end(rest)])
    lines.append(f"  ROOT results = ({', '.join(shapes)}) tuple({', '.join(names)})")
    return "\n".join(["HloModule checked", before, "ENTRY main {", *lines, "}", ""])


def _shape_end(text: str) -> int:
    depth = 0
    for place, letter in enumerate(text):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == " " and not depth:
            return place
    raise ValueError(text)


# the three that compute ----------------------------------------------------------------------------


def _xla(text: str, feeds: Sequence[Array]) -> list[Array]:
    """What XLA's CPU backend computes; in a process of its own, which it may kill."""
    import jax
    from jaxlib import _hlo, _jax  # pyright: ignore[reportAttributeAccessIssue]

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    module = _hlo.hlo_module_from_text(text)
    computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    device = jax.devices("cpu")[0]
    built = device.client.compile_and_load(
        _jax.mlir.xla_computation_to_mlir_module(computation), _jax.DeviceList((device,)), _jax.CompileOptions()
    )
    made = built.execute_sharded([jax.device_put(feed, device) for feed in feeds])
    return [np.asarray(parts[0]) for parts in made.disassemble_into_single_device_arrays()]


def _onnxruntime(path: Path, feeds: Sequence[Array]) -> list[Array]:
    from backedge.runtime.oracles.onnxruntime_session import open_session

    found, fault = open_session(path, {}).run({f"x{place}": feed for place, feed in enumerate(feeds)})
    if fault:
        raise RuntimeError(fault)
    return [np.asarray(value) for value in found.values()]


XLA, ONNX_RUNTIME = Worker(_xla), Worker(_onnxruntime)


def xla(text: str, feeds: Sequence[Array]) -> list[Array]:
    """The results' leaves, in order. RuntimeError where XLA doesn't take it."""
    return XLA.ask(text, list(feeds), timeout=SECONDS)


# comparing -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tolerance:
    """How far floats may be away: `ulps` of their own type (of float64: as float64's), or relative and absolute.

    Zeros must have the same sign unless `zeros` is false. What lies below the smallest normal number may be 0 instead:
    XLA's CPU backend computes with denormals flushed or not, as it likes.
    """

    ulps: float = 0
    rtol: float = 0
    atol: float = 0
    zeros: bool = True


EXACT = Tolerance()


def difference(found: Array, wanted: Array, tolerance: Tolerance = EXACT) -> str:
    """What is wrong with `found`, "" where nothing is."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype}{list(found.shape)} where {wanted.dtype}{list(wanted.shape)} is right"
    if found.dtype.kind in "iub" or not DType.of(found.dtype).is_float:
        wrong = np.asarray(found != wanted)
    else:
        wrong = _float_difference(found, wanted, tolerance)
    if not wrong.any():
        return ""
    place = tuple(int(index) for index in np.argwhere(wrong)[0]) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size}, first at {place}: {found[place]!r} where {wanted[place]!r} is right"


def _float_difference(found: Array, wanted: Array, tolerance: Tolerance) -> Array:
    import ml_dtypes

    info = ml_dtypes.finfo(wanted.dtype)
    tiny, eps = float(info.smallest_normal), float(info.eps)
    one, other = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(one - other) <= np.maximum(
            tolerance.atol + tolerance.rtol * np.abs(other), tolerance.ulps * eps * np.abs(other)
        )
        flushed = (np.abs(one) < tiny) & (np.abs(other) < tiny)
    same = (one == other) | near | flushed | (np.isnan(one) & np.isnan(other))
    if tolerance.zeros:
        same &= ~((one == 0) & (other == 0) & (np.signbit(one) != np.signbit(other)))
    return ~same


# raising -------------------------------------------------------------------------------------------


def graph_of(text: str) -> Graph:
    """HLO text as a graph of dialect "hlo"."""
    from backedge.convert.hlo.read import from_text

    return from_text(text)


def hub_of(source: str | Graph) -> Graph:
    """HLO text, or a graph of dialect "hlo", raised."""
    from backedge.convert.hlo.raising.from_hlo import raise_graph

    raised = raise_graph(graph_of(source) if isinstance(source, str) else source)
    canonicalize(raised)
    return raised


def operators(graph: Graph) -> list[str]:
    """The operators of a hub graph, its regions' too, in order."""
    return [node.op_type for _, node in graph.walk()]


def as_onnx(hub: Graph, path: Path, opset: int = DEFAULT_OPSET) -> None:
    """Writes the hub graph as ONNX, which the checker must accept."""
    target = FORMATS["onnx"]
    target.write(to_dialect(hub, target, opset), path)
    told = objection(path)
    assert not told, f"onnx.checker: {told}"


def check(
    source: str,
    inputs: Sequence[Any],
    tolerance: Tolerance = EXACT,
    *,
    wanted: Sequence[Any] | None = None,
    onnxruntime: bool = True,
    opset: int = DEFAULT_OPSET,
    graph: Graph | None = None,
    each: Mapping[str, Tolerance] | None = None,
) -> Graph:
    """Assert that XLA, the executor and ONNX Runtime agree; the hub graph, to look at what became of it.

    Args:
        source: HLO text.
        inputs: an array for each leaf of the parameters.
        wanted: the right values, where XLA itself can't run it (or to hold it against something else).
        onnxruntime: false where ONNX Runtime lacks a kernel; the model must still pass onnx.checker.
        graph: the graph that the text means, where it isn't to be read from the text.
        each: other tolerances of some results, by their names.
    """
    feeds = [np.asarray(value) for value in inputs]
    expected = xla(source, feeds) if wanted is None else [np.asarray(value) for value in wanted]
    hub = hub_of(source if graph is None else graph)
    assert hub.dialect == HUB.name
    made = run(hub, dict(zip((value.name for value in hub.inputs), feeds, strict=True)))
    names = _result_names(source, len(made))
    _compare("the executor", names, list(made.values()), expected, tolerance, each or {})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        as_onnx(hub, path, opset)
        if onnxruntime:
            _compare("ONNX Runtime", names, _by_onnxruntime(path, feeds), expected, tolerance, each or {})
    return hub


def _result_names(text: str, count: int) -> list[str]:
    """The instructions that the root is a tuple of."""
    found = re.search(r"ROOT .* tuple\((.*)\)", text)
    names = found.group(1).split(", ") if found else []
    return names if len(names) == count else [f"result {place}" for place in range(count)]


def _by_onnxruntime(path: Path, feeds: Sequence[Array]) -> list[Array]:
    try:
        return ONNX_RUNTIME.ask(path, list(feeds), timeout=SECONDS)
    except RuntimeError as error:
        raise AssertionError(f"ONNX Runtime: {error}") from None


def _compare(
    who: str,
    names: Sequence[str],
    found: Sequence[Any],
    wanted: Sequence[Array],
    tolerance: Tolerance,
    each: Mapping[str, Tolerance],
) -> None:
    assert len(found) == len(wanted), f"{who}: {len(found)} results, not {len(wanted)}"
    told = [
        f"  {name}: {reason}"
        for name, one, other in zip(names, found, wanted, strict=True)
        if (reason := difference(np.asarray(one), other, each.get(name, tolerance)))
    ]
    assert not told, "\n".join([f"{who} differs:", *told])
