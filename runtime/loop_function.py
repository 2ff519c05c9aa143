"""ONNX's Loop as a function: `loop(M, cond, *v_initial, body=...)`, the form in which MDF writes it.

    >>> loop(5, True, np.float32(1), body=lambda i, cond, x: (cond, 2 * x, x))
    (array(32., dtype=float32), array([ 1.,  2.,  4.,  8., 16.], dtype=float32))

A body that is a graph runs on the executor, in a canonical Loop built around it; a Python function runs as it is.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..passes.errors import Endless, InvalidModel
from ..passes.graph import RAISER, Graph, Value
from ..passes.hub import HUB
from ..passes.loop import Captured, Carried, Condition, Iteration, Slot, Stacked
from ..passes.names import Names
from ..passes.protos import ENUMS
from ..passes.rewrite import Builder, Rewriter
from ..passes.structure.canonical import canonicalize
from ..passes.types import DType, SequenceType, TensorType, Type, tensor
from .executor import Executor
from .kernels.base import ExecutionError

Array = np.ndarray[Any, Any]
Body = Callable[..., Any]

OPSET = 15
"""The operators of a bare GraphProto are taken from this opset, which is the one that MDF's engine has."""


def loop(
    M: Any = None,
    cond: Any = None,
    *initial: Any,
    body: Any,
    v_initial: Any = None,
    captured: Mapping[str, Any] | None = None,
    scan_outputs: Sequence[tuple[Any, Sequence[int]]] | None = None,
    limit: int | None = None,
    opset: int = OPSET,
) -> Any:
    """Run a body again and again, as ONNX's Loop does.

    ========  ========  ===========================================================
    M         cond      passes
    ========  ========  ===========================================================
    left out  left out  no end: refused without `limit`
    left out  given     while the condition holds
    left out  1         the first in any case, then while the condition holds
    given     left out  M; what the body says of the condition is ignored
    given     given     M at most, and while the condition holds
    ========  ========  ===========================================================

    The condition is `cond` before the first pass and what the body said before the others. These are the modes of MDF's
    documentation; in a model, a body's condition is obeyed also where `cond` is left out, as runtimes do.

    Args:
        M: the trip count: an int or an integer array of shape [] or [1]; None or "" leaves it out. A negative one is 0.
        cond: the condition: a bool (or 0 or 1), or an array of that of shape [] or [1]; None or "" leaves it out.
        initial: the initial values of what is handed from pass to pass: arrays, numbers, lists of numbers; what is no
            array yet takes the body's element type.
        body: what one pass does, from (iteration number, condition, values ...) to (condition, values ..., scan outputs
            ...). An onnx ModelProto or GraphProto, a `Graph` of any dialect, or a Python function. A function gets
            arrays (the iteration number int64 [], the condition bool []) and returns them in a tuple.
        v_initial: the same as `initial`, a list of values or a single array.
        captured: values of the world around that the body sees: by the names that a graph uses for them; a function
            gets them by keyword.
        scan_outputs: element type and shape of each scan output of a Python function; only a loop that makes no pass
            at all needs it.
        limit: the loop ends after so many passes, whatever `M` and `cond` say.
        opset: of a GraphProto's operators (a ModelProto says it itself).

    Returns:
        The last values, then for each scan output all that it was, stacked along a new first axis. A tuple of them; a
        single one by itself.

    Raises:
        InvalidModel: a body of other inputs or outputs than these; `M`, `cond` or the values aren't what they must be;
            nothing ends the loop.
        ExecutionError: a pass failed.
        Unsupported: an operator that the executor can't run.
    """
    if initial and v_initial is not None:
        raise InvalidModel("the initial values are given twice, by place and as v_initial")
    named = v_initial if isinstance(v_initial, list | tuple) else [] if v_initial is None else [v_initial]
    values = list(initial or named)
    condition = first_condition(cond)
    most = min((count for count in (trip_count(M, "M"), trip_count(limit, "limit")) if count is not None), default=None)
    if most is None and condition is None:
        raise Endless("nothing ends this loop: it has neither a trip count nor a condition, and no limit is set")
    outer = dict(captured or {})
    if callable(body):
        results = _call(body, most, condition, values, outer, scan_outputs)
    elif scan_outputs is None:
        results = _run(_graph(body, outer, opset), most, condition, values, outer)
    else:
        raise InvalidModel("scan_outputs are for a Python function; a graph says itself what it stacks")
    return results[0] if len(results) == 1 else tuple(results)


def trip_count(count: Any, name: str) -> int | None:
    """A number of passes; None where it is left out.

    Raises:
        InvalidModel: not a whole number of 64 bits.
    """
    if _left_out(count):
        return None
    one = _single(count, name)
    if one.dtype.kind not in "biu" or int(one) > np.iinfo(np.int64).max:
        raise InvalidModel(f"{name} is a number of passes, an integer; it can't be {one.item()!r}")
    return max(int(one), 0)


def first_condition(cond: Any) -> bool | None:
    """The condition before the first pass; None where it is left out.

    Raises:
        InvalidModel: neither true nor false.
    """
    if _left_out(cond):
        return None
    one = _single(cond, "cond")
    if one.dtype.kind not in "biu" or int(one) not in (0, 1):
        raise InvalidModel(f"cond is true or false; it can't be {one.item()!r}")
    return bool(one)


def _left_out(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value)


def _single(value: Any, name: str) -> Array:
    array = _array(value, name)
    if array.shape not in ((), (1,)):
        raise InvalidModel(f"{name} is a scalar or has the shape [1]; {list(array.shape)} is given")
    return array.reshape(())


def _array(value: Any, where: str, dtype: DType | None = None) -> Array:
    """A copy of a value as an array: of this element type if it is given in Python's own numbers and they fit."""
    try:
        array = np.array(value)
        if dtype is not None and not isinstance(value, np.ndarray | np.generic):
            if _rank(DType.of(array.dtype)) > _rank(dtype):
                raise InvalidModel(f"{where} is {_type_of(array)} where {dtype.value} is wanted")
            array = np.array(value, dtype.numpy)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidModel(f"{where}: {error}") from None
    return array.astype(object) if array.dtype.kind in "US" else array


def _rank(dtype: DType) -> int:
    """Numbers of a lower rank may be written for one of a higher."""
    kinds = (dtype is DType.BOOL, dtype.is_integer, dtype.is_float, dtype.is_complex)
    return kinds.index(True) if any(kinds) else len(kinds)


# a Python function ----------------------------------------------------------------------------------


def _call(
    body: Body,
    most: int | None,
    condition: bool | None,
    values: Sequence[Any],
    captured: Mapping[str, Any],
    scan_outputs: Sequence[tuple[Any, Sequence[int]]] | None,
) -> list[Array]:
    carried = [_array(value, f"initial value {place}") for place, value in enumerate(values)]
    first_stacked = 1 + len(carried)
    stacks: list[list[Array]] | None = None if scan_outputs is None else [[] for _ in scan_outputs]
    going = np.array(condition is not False)
    count = 0
    while (most is None or count < most) and (condition is None or going):
        results = body(np.array(count, np.int64), going, *carried, **captured)
        results = list(results) if isinstance(results, tuple | list) else [results]
        if stacks is None and len(results) >= first_stacked:
            stacks = [[] for _ in results[first_stacked:]]
        if stacks is None or len(results) != first_stacked + len(stacks):
            wanted = f"at least {first_stacked}" if stacks is None else str(first_stacked + len(stacks))
            raise InvalidModel(f"the body returns {len(results)} values where {wanted} are needed")
        going = _going(results[0])
        pairs = zip(carried, results[1:first_stacked], strict=True)
        carried = [_handed_on(before, after, place) for place, (before, after) in enumerate(pairs)]
        for stack, value in zip(stacks, results[first_stacked:], strict=True):
            stack.append(np.array(value))
        count += 1
    if stacks is None:
        raise InvalidModel("no pass was made, so nobody knows what the body stacks; scan_outputs would say it")
    if not count:
        return carried + [np.empty((0, *shape), dtype) for dtype, shape in scan_outputs or ()]
    return carried + [_stacked(stack, place) for place, stack in enumerate(stacks)]


def _going(said: Any) -> Array:
    """The condition that a pass gives."""
    array = np.asarray(said)
    if array.dtype != np.bool_ or array.shape not in ((), (1,)):
        raise InvalidModel(f"the body's condition must be a bool scalar, not {array.dtype}{list(array.shape)}")
    return array.reshape(())


def _handed_on(before: Array, after: Any, place: int) -> Array:
    """A carried value after a pass: of the type it had before, of any shape."""
    where = f"the carried value {place}"
    array = after if isinstance(after, np.ndarray) else _array(after, where, DType.of(before.dtype))
    if array.dtype != before.dtype:
        raise InvalidModel(f"{where} is {array.dtype} after a pass, and {before.dtype} before")
    return array


def _stacked(stack: Sequence[Array], place: int) -> Array:
    kinds = {(str(one.dtype), one.shape) for one in stack}
    if len(kinds) > 1:
        shown = ", ".join(sorted(f"{dtype}{list(shape)}" for dtype, shape in kinds))
        raise ExecutionError(f"the scan output {place} is another one in each pass and can't be stacked: {shown}")
    return np.stack(stack)


# a graph --------------------------------------------------------------------------------------------


def _graph(body: Any, captured: Mapping[str, Any], opset: int) -> Graph:
    """A body as a graph of some dialect, what it captures among its inputs."""
    if isinstance(body, Graph):
        if unknown := captured.keys() - {value.name for value in body.inputs}:
            raise InvalidModel(f"the body has no input {min(unknown)!r} for a captured value")
        return body
    import onnx
    from onnx.helper import make_opsetid, make_tensor_value_info, np_dtype_to_tensor_dtype

    if isinstance(body, onnx.GraphProto):
        model = onnx.ModelProto(ir_version=onnx.IR_VERSION, graph=body, opset_import=[make_opsetid("", opset)])
    elif isinstance(body, onnx.ModelProto):
        model = onnx.ModelProto()
        model.CopyFrom(body)
    else:
        raise InvalidModel(f"a body is a graph or a function, not {type(body).__name__}")
    graph = model.graph
    formal = {one.name for one in graph.input}
    own = {one.name for one in graph.initializer}.union(*(node.output for node in graph.node))
    for name, value in captured.items():
        if name in formal:
            raise InvalidModel(f"the body has an input {name!r} of its own, which hides the captured value")
        if name not in own:
            array = np.asarray(value)
            kind = np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(make_tensor_value_info(name, kind, array.shape))
    # Nothing of runtime knows a format, and nothing but this function is given a format's own objects: the package
    # above reads them, found by its name.
    imported = importlib.import_module("..convert.onnx.read", __package__).read_model(model)
    imported.meta[RAISER] = importlib.import_module("..convert.files", __package__).to_hub
    return imported


def _run(
    body: Graph,
    most: int | None,
    condition: bool | None,
    values: Sequence[Any],
    captured: Mapping[str, Any],
) -> list[Any]:
    """The results of a graph, by a hub graph with one Loop in it."""
    formal = [value for value in body.inputs if value.name not in captured]
    if len(formal) != 2 + len(values):
        raise InvalidModel(f"the body takes {len(formal)} inputs, and {2 + len(values)} are given")
    if len(body.outputs) < 1 + len(values):
        raise InvalidModel(f"the body gives {len(body.outputs)} outputs where at least {1 + len(values)} are needed")
    outer = [value for value in body.inputs if value.name in captured]
    arguments = [*values, *(captured[value.name] for value in outer)]
    converted = [_argument(value, one) for value, one in zip([*formal[2:], *outer], arguments, strict=True)]
    types = [tensor(DType.INT64), tensor(DType.BOOL), *map(_type_of, converted)]
    order = [value.name for value in (*formal, *outer)]
    inner = _raised(body, dict(zip(order, types, strict=True)))
    inner.inputs.sort(key=lambda value: order.index(value.name))

    graph = Graph(HUB.name)
    names = Names.of(inner)
    op, inside = (Builder(Rewriter(HUB, {}, names=names), one) for one in (graph, inner))
    for place, type in enumerate(types[:2]):
        _take_scalar(inside, place, type)
    _give_condition(inside)
    obeys = condition is not None
    slots: list[Slot] = [Iteration(), Condition(body_input=True) if obeys else Carried()]
    slots += (
        [Carried()] * len(values) + [Stacked(0)] * (len(inner.outputs) - 1 - len(values)) + [Captured()] * len(outer)
    )
    trip = None if most is None else op.input("M", types[0])
    start = op.input("cond", types[1])
    outside = [op.input(name, type) for name, type in zip(order[2:], types[2:], strict=True)]
    results = op.loop(trip, start if obeys else None, slots, outside if obeys else [start, *outside], inner)
    graph.outputs = list(results if obeys else results[1:])
    feeds = {value.name: one for value, one in zip(outside, converted, strict=True)}
    feeds[start.name] = np.array(condition is not False)
    if trip is not None:
        feeds[trip.name] = np.array(most, np.int64)
    wanted = [value.name for value in graph.outputs]
    canonicalize(graph)
    outputs = Executor(graph).run(feeds)
    return [outputs[name] for name in wanted]


def _raised(body: Graph, types: Mapping[str, Type]) -> Graph:
    """A body raised to the hub, its inputs of these types where it declares none."""
    body = body.copy()
    body.constants = [value for value in body.constants if value not in body.inputs]
    for value in body.inputs:
        value.data = None  # every input is given
        if value.type is None or value.type == TensorType():
            value.type = types[value.name]
    if body.dialect == HUB.name:
        return body
    if RAISER not in body.meta:
        raise InvalidModel(f"a body of dialect {body.dialect} must be raised to the hub before it can run")
    return body.meta[RAISER](body)


def _argument(declared: Value, given: Any) -> Any:
    """An outside value as the body's input wants it."""
    where = f"the value for {declared.name!r}"
    if isinstance(declared.type, SequenceType):
        return [np.asarray(one) for one in given]
    wanted = declared.tensor
    array = _array(given, where, wanted.dtype)
    sizes = array.shape if wanted.shape is None else wanted.shape
    fits = len(sizes) == array.ndim and all(
        not isinstance(size, int) or size == own for size, own in zip(sizes, array.shape, strict=True)
    )
    if not fits or wanted.dtype not in (None, DType.of(array.dtype)):
        raise InvalidModel(f"{where} is {_type_of(array)}; the body takes {wanted}")
    return array


def _type_of(given: Any) -> Type:
    if isinstance(given, list):
        kinds = {DType.of(one.dtype) for one in given}
        return SequenceType(TensorType(kinds.pop() if len(kinds) == 1 else None))
    return TensorType(DType.of(given.dtype), given.shape)


def _take_scalar(inside: Builder, place: int, type: TensorType) -> None:
    """Let the body's input be a scalar of this type, in whatever integer type and of whatever shape it declares it."""
    body = inside.graph
    declared = body.inputs[place]
    wanted = declared.tensor
    dtype = wanted.dtype or type.dtype
    if dtype is type.dtype and wanted.rank == 0:
        return
    whole = dtype is type.dtype or (dtype is not None and dtype.is_integer and type.dtype is DType.INT64)
    if not whole or not _is_single(wanted):
        raise InvalidModel(f"the body's input {declared.name!r} is {declared.type} where it gets {type}")
    fresh = made = Value(inside.rewriter.names.fresh(declared.name), type)
    if dtype is not None and dtype is not type.dtype:
        made = inside.Cast(made, to=ENUMS[dtype])
    if wanted.rank == 1:
        made = inside.Reshape(made, inside.const([1]))
    body.replace_uses(declared, made)
    body.inputs[place] = fresh


def _is_single(type: TensorType) -> bool:
    """Whether it may be a scalar or of the shape [1]."""
    return (
        type.shape is None or type.shape in ((), (1,)) or (len(type.shape) == 1 and not isinstance(type.shape[0], int))
    )


def _give_condition(inside: Builder) -> None:
    """Let the body's first output be a bool scalar."""
    said = inside.graph.outputs[0]
    found = said.tensor
    if found.dtype not in (None, DType.BOOL) or not _is_single(found):
        raise InvalidModel(f"the body's condition {said.name!r} must be a bool scalar, not {said.type}")
    if found.rank != 0:
        inside.graph.outputs[0] = inside.Reshape(said, inside.const([], DType.INT64), _types=[tensor(DType.BOOL)])
