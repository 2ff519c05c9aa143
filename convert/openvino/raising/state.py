"""ReadValue and Assign: a variable is an extra input and an extra output of the graph.

A variable `h` becomes the input `h`, its value before the run, and the output `h.next`, its value after it (the
names are those of `runtime.oracles.states`). To go on step by step, feed `h` with the `h.next` of the step before.

ONNX can give an input a default, which stands for OpenVINO's initial value:

- A constant initial value (or one computed from constants, or none, which is zeros) is the default of `h`: left out,
  the model starts anew.
- A computed one can't be a default. Then there are two inputs: `h`, by default empty, and `h.given`, bool [], by
  default false. The model starts with its own initial value unless `h.given` is fed with true.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ....passes.errors import BackedgeError, InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.node import ancestors
from ....passes.preconditions import input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType, conflict
from ....runtime.executor import Executor, never_compile
from ....runtime.oracles.states import state_given_name, state_input_name, state_output_name
from ..dialect import DOMAIN
from ..types import parse_shape
from ..variables import Variable
from .declared import Contradictions
from .origins import Origins
from .support import Results, element_type


@dataclass
class States:
    """The variables met so far, by id, which layer became what, where the bytes of strings are asked for, and whether
    the file tells sizes that aren't those that are inferred.

    `Rewriter.context` of a raising.
    """

    inputs: dict[str, list[Value]] = field(default_factory=dict)  # the variable's value, and whether it is given
    outputs: dict[str, Value] = field(default_factory=dict)
    read: dict[str, tuple[Value, Variable]] = field(default_factory=dict)  # the ReadValue's output
    assigned: dict[str, Node] = field(default_factory=dict)
    origins: Origins = field(default_factory=Origins)
    unpacked: list[tuple[Graph, Node]] = field(default_factory=list)
    contradictions: Contradictions = field(default_factory=Contradictions)


def _states(op: Builder, node: Node) -> States:
    states = op.rewriter.context
    assert isinstance(states, States)
    if op.graph is not op.rewriter.root:
        raise Unsupported(node, "a variable inside the body of a loop or branch")
    return states


def _variable(node: Node) -> str:
    name = str(node.attributes.get("variable_id", ""))
    if not name:
        raise InvalidModel(f"{node!r}: without a variable_id")
    return name


def _type(node: Node) -> TensorType:
    """The variable's type: declared (ReadValue-6), else that of its initial value. Only a declared size is fixed."""
    initial = node.input(0)
    known = initial.tensor if initial is not None else node.output.tensor
    if "variable_shape" not in node.attributes:
        return known
    dtype = element_type(node, "variable_type") or known.dtype
    shape = parse_shape(str(node.attributes["variable_shape"]))
    if shape is None and known.rank is not None:
        shape = (None,) * known.rank
    return TensorType(dtype, shape)


def _known(value: Value) -> TensorData | None:
    """A value that depends on no input of the model; None where it does, or where it can't be computed here."""
    if value.data is not None:
        return value.data
    cone = ancestors([value])
    if any(one.data is None and one.producer is None for one in cone):
        return None
    graph = Graph("hub")
    graph.constants, graph.outputs = [one for one in cone if one.data is not None], [value]
    graph.add_nodes(dict.fromkeys(one.producer for one in cone if one.producer is not None))
    try:
        (made,) = Executor(graph, never_compile).run({}).values()
    except BackedgeError:
        return None
    return value.holding(made) if isinstance(made, np.ndarray | np.generic) else None


def _default(root: Graph, value: Value, data: TensorData) -> None:
    value.data = data
    root.constants.append(value)


def _check_fits(node: Node, variable: TensorType, value: Value | None) -> None:
    """
    Raises:
        InvalidModel: no value of this type is one of the variable.
    """
    if value is not None and conflict(variable, value.type):
        raise InvalidModel(f"{node!r}: a variable of {variable} is given {value.tensor}")


@rule(DOMAIN, "ReadValue")
def read_value(op: Builder, node: Node) -> Results:
    """ReadValue-3, -6."""
    states, name, initial = _states(op, node), _variable(node), node.input(0)
    if name in states.inputs:
        raise Unsupported(node, f"the variable {name!r} is read twice")
    type_ = _type(node)
    if type_.dtype is None or type_.shape is None:
        raise Unsupported(node, f"the type of the variable {name!r} isn't known")
    _check_fits(node, type_, initial)
    root = op.graph
    value = op.input(state_input_name(name), type_)
    states.inputs[name] = [value]
    empty = tuple(dim if isinstance(dim, int) else 0 for dim in type_.shape)
    zeros = np.full(empty, "", object) if type_.dtype is DType.STRING else np.zeros(empty, type_.dtype.numpy)
    data = TensorData.of(zeros, type_.dtype) if initial is None else _known(initial)
    if initial is None or data is not None:
        _default(root, value, data or TensorData.of(zeros, type_.dtype))
        op.rewriter.notes.append(
            f"{node!r}: the variable {name!r} is an input, which starts with its initial value by default"
        )
        states.read[name] = value, Variable(name, read=node.outputs[0].producer, initial=initial)
        return value
    told = op.input(state_given_name(name), TensorType(DType.BOOL, ()))
    states.inputs[name].append(told)
    _default(root, value, TensorData.of(zeros, type_.dtype))
    _default(root, told, TensorData.of(np.array(False)))
    op.rewriter.notes.append(
        f"{node!r}: the variable {name!r} is an input, which counts if {told.name!r} is fed with true;"
        " else it starts with the value that the model computes"
    )
    regions: list[Graph] = []
    for index in range(2):
        inner = op.region(f"{name}.{('fed', 'initial')[index]}")
        entered = [inner.input(f"{one.name}_seen", one.type) for one in (value, initial)]
        inner.graph.outputs = [entered[index]]
        regions.append(inner.graph)
    (current,) = op.branch(told, [value, initial], regions[0], regions[1], [type_])
    states.read[name] = current, Variable(name, given=state_given_name(name), read=node.outputs[0].producer)
    return current


@rule(DOMAIN, "Assign")
def assign(op: Builder, node: Node) -> Results:
    """Assign-3, -6: the value goes to an output of the graph."""
    states, name, value = _states(op, node), _variable(node), input_of(node)
    if name in states.outputs:
        raise Unsupported(node, f"the variable {name!r} is assigned twice")
    if name in states.inputs:
        _check_fits(node, states.inputs[name][0].tensor, value)
    states.outputs[name] = value
    producer = node.outputs[0].producer
    assert producer is not None
    states.assigned[name] = producer
    return value


def variables(states: States) -> tuple[Variable, ...]:
    """The variables, as the way back wants to know them."""
    found: list[Variable] = []
    for name in dict.fromkeys([*states.read, *states.assigned]):
        _, variable = states.read.get(name, (None, Variable(name)))
        if name in states.read:
            variable = replace(variable, input=state_input_name(name))
        if name in states.assigned:
            variable = replace(variable, output=state_output_name(name), assign=states.assigned[name])
        found.append(variable)
    return tuple(found)


def interface(states: States) -> tuple[list[tuple[Value, str]], list[tuple[Value, str]]]:
    """(input and its name) for each variable read, (value and the output's name) for each one assigned.

    A variable that is assigned and not read is only handed out.
    """
    inputs = [
        (value, call(name))
        for name, values in states.inputs.items()
        for value, call in zip(values, (state_input_name, state_given_name), strict=False)
    ]
    return inputs, [(value, state_output_name(name)) for name, value in states.outputs.items()]


RULES = collect(globals())
