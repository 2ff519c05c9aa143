"""MDF's own engine, modeci_mdf (runs in a child process).

Names are those of `mdf_names.py`. What an input isn't fed with is left to the engine: a port's default value, or zeros.
The first execution of a node consumes what is fed, later ones see the default again. With the input `steps` the model
is evaluated so many times more, its state kept, by `time_increment` if it has derivatives. Every run starts anew.

The engine evaluates a model's texts with Python's `eval`. It is given another one that knows arithmetic, numpy, math
and little else (see `mdf_guard.py`); a file that asks for more is refused before any of it runs. YAML is read by its
safe loader only.

Numbers have no element types in MDF: an int is int64, a float float64 (which becomes an int where it is a whole
number), and `onnx::` operators are computed in float32 and int64 whatever the model says. So an output whose type is
known, from the model's metadata or the option `types`, is cast to it wherever every number survives that, floats
rounded.

Options:
    types: output name -> element type ("float32"), for outputs whose metadata states none.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...passes.errors import InvalidModel, Unsupported
from ...passes.types import DType
from . import mdf_guard
from .mdf_faults import endless, faults
from .mdf_names import OutputName, Tree, as_mapping, first_graph, interface
from .outcome import Batch, Values
from .session import Options, Path, match_feeds

_ELSEWHERE = ("actr.", "ddm.")  # tables of functions that look up what they call by its name
_OPERATORS = "skl2onnx.algebra.onnx_ops"  # imported by the engine in the first run of an operator of ONNX: seconds


def prepare(path: Path, options: Options) -> None:
    """Import what a session for such a file needs."""
    with _quiet():
        importlib.import_module("modeci_mdf.execution_engine")
        if b"onnx::" in path.read_bytes():
            importlib.import_module(_OPERATORS)


def open_session(path: Path, options: Options) -> MdfSession:
    """Load and build once.

    Raises:
        InvalidModel: the file isn't a model, or asks for what no expression may.
        Unsupported: the engine has no such function.
        Exception: the engine's own refusals.
    """
    return MdfSession(path, options.get("types", {}))


class MdfSession:
    def __init__(self, path: Path, types: dict[str, str]) -> None:
        tree = read_tree(path)
        graph = first_graph(tree)
        self._interface = interface(tree)
        self._types = {one.name: element_type(one.type or types.get(one.name)) for one in self._interface.outputs}
        mdf_guard.check_texts(graph)
        with _quiet():
            import modelspec.utils
            from modeci_mdf.execution_engine import EvaluableGraph
            from modeci_mdf.mdf import Model

            modelspec.utils.__dict__["eval"] = mdf_guard.evaluate
            called = _check_functions(graph)
            _check_conditions(as_mapping(graph.get("conditions"), "conditions"))
            if endless(graph):
                raise Unsupported("graph", "MDF's engine waits for ever for nodes that only each other's edges lead to")
            model: Any = Model.from_file(str(path))
            self._build = lambda: EvaluableGraph(model.graphs[0])
            self._built: Any = self._build()
            if called:
                importlib.import_module(_OPERATORS)
        self._fault = faults(graph, self._interface)
        self.coarse = called and any(of in (None, DType.FLOAT64) for of in self._types.values())

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        with _quiet():
            engine: Any = self._built or self._build()
            self._built = None
            steps, increment = self._feed(engine, feeds)
            engine.evaluate()
            for _ in range(steps):
                engine.evaluate(time_increment=increment)
        outputs: dict[str, Values] = {}
        fault = self._fault
        for one in self._interface.outputs:
            value = to_array(_held(engine, one), one.name)
            outputs[one.name], beyond = cast(value, self._types[one.name])
            fault = fault or beyond
        return outputs, fault

    def _feed(self, engine: Any, feeds: Batch) -> tuple[int, float | None]:
        """Set the ports; the number of further evaluations and their time increment."""
        names = self._interface
        extra = [name for name in (names.steps, names.time_increment) if name is not None]
        ports = [one.name for one in names.inputs]
        values = match_feeds([*ports, *(name for name in extra if name in feeds or len(feeds) > len(ports))], feeds)
        for one in names.inputs:
            if one.name not in values:
                continue
            value = np.asarray(values[one.name])
            if value.dtype.kind in "OUS" or values[one.name] is None:
                raise TypeError(f"input {one.name!r}: MDF's ports take numbers only")
            for node, port in one.ports:
                engine.enodes[node].evaluable_inputs[port].set_input_value(value.copy())
        steps = int(np.asarray(values.get(names.steps, 0)).item()) if names.steps else 0
        increment = float(np.asarray(values.get(names.time_increment, 0.0)).item()) if names.time_increment else None
        return steps, increment


def read_tree(path: Path) -> Any:
    """A document's plain values, as the engine reads them.

    Raises:
        InvalidModel: the file is no JSON, YAML or BSON.
    """
    data = path.read_bytes()
    try:
        if path.suffix.lower() == ".bson":
            import bson

            return bson.decode(data)
        if path.suffix.lower() == ".json":
            return json.loads(data)
        import yaml

        return yaml.safe_load(data)
    except Exception as error:
        raise InvalidModel(f"{path.name}: {error}") from None


def to_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    """A result of the engine as an array.

    Raises:
        TypeError: it isn't one of numbers (or of texts).
    """
    if isinstance(value, str | dict | tuple | None):
        raise TypeError(f"output {name!r} is no array but {type(value).__name__}")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"output {name!r}: {error}") from None
    if array.dtype.kind == "O" and not all(isinstance(item, str) for item in array.reshape(-1)):
        raise TypeError(f"output {name!r} holds what no element type has")
    return array.astype(object) if array.dtype.kind == "U" else array


def element_type(name: str | None) -> DType | None:
    """The element type of this name; None for none.

    Raises:
        InvalidModel: there is no such type.
    """
    try:
        return DType(name) if name else None
    except ValueError:
        raise InvalidModel(f"no element type {name!r}") from None


def cast(array: np.ndarray[Any, Any], wanted: DType | None) -> tuple[np.ndarray[Any, Any], str]:
    """A result in the element type that it is known to have, and a fault.

    Floats are rounded. Integers and bools must be able to hold every number, else the array stays as it is; that is the
    engine's fault where it computed narrow integers as int64, which don't wrap.
    """
    if wanted is None or array.dtype == wanted.numpy or array.dtype.kind not in "biuf":
        return array, ""
    if not (wanted.is_float or wanted.is_integer or wanted is DType.BOOL) or DType.of(wanted.numpy) is not wanted:
        return array, ""
    with np.errstate(all="ignore"):
        converted = array.astype(wanted.numpy)
        if wanted.is_float or np.array_equal(converted.astype(array.dtype), array):
            return converted, ""
    if array.dtype.kind in "iu" and wanted.is_integer:
        return array, f"MDF's engine computes {wanted.value} in int64, and this run has numbers beyond it"
    return array, ""


def _held(engine: Any, output: OutputName) -> Any:
    """What a port or parameter holds.

    Raises:
        ValueError: nothing.
    """
    node = engine.enodes[output.node]
    held = node.evaluable_outputs if output.kind == "port" else node.evaluable_parameters
    value = held[output.id].curr_value
    if value is None:
        ran = output.node in engine.order_of_execution
        raise ValueError(f"output {output.name!r}: node {output.node!r} {'gives no value' if ran else 'never ran'}")
    return value


def _check_functions(graph: Tree) -> bool:
    """Whether operators of ONNX are called.

    Raises:
        Unsupported: a function that the engine hasn't.
    """
    from modeci_mdf.functions.standard import mdf_functions

    called = False
    for where, child in mdf_guard.children(graph):
        for function, _ in mdf_guard.functions(child, where):
            if function and function not in mdf_functions:
                raise Unsupported(where, f"MDF's engine has no function {function}")
            if function and mdf_functions[function]["expression_string"].startswith(_ELSEWHERE):
                raise Unsupported(where, f"the function {function} isn't run")
            called |= function.startswith("onnx::")
    return called


def _check_conditions(conditions: Tree) -> None:
    """Refuse conditions that are none: the engine takes their types for anything in the scheduler's module.

    Raises:
        InvalidModel
    """
    from graph_scheduler import condition as conditions_module

    stack: list[Any] = []
    for kind in ("node_specific", "termination"):
        stack += as_mapping(conditions.get(kind), kind).values()
    while stack:
        one = stack.pop()
        if isinstance(one, list):
            stack += one
        elif isinstance(one, dict):
            stack += [value for name, value in one.items() if name != "metadata"]
            name = one.get("type")
            found = getattr(conditions_module, name, None) if isinstance(name, str) else conditions_module.Condition
            if not (isinstance(found, type) and issubclass(found, conditions_module.ConditionBase)):
                raise InvalidModel(f"there is no condition {name!r}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The engine prints every value that it hands on."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            yield
