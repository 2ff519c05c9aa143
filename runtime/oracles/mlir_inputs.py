"""Inputs of a StableHLO module that have values: constants in the block that a module starts with.

Those that keep their names say them in `mhlo.frontend_attributes`: XLA takes them for the constants that they are; a
description (`mlir_module.py`) has them as inputs again, so that nothing is computed of them and each is found by its
name.

Everything here is done with jaxlib's MLIR bindings, inside of the module's context.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .hlo_names import INPUTS, OUTPUTS

_FRONTEND = "mhlo.frontend_attributes"
_SETTLED = "backedge_settled"


def settle(
    ir: Any,
    module: Any,
    inputs: Sequence[str],
    outputs: Sequence[str],
    values: Mapping[str, Any],
    named: Collection[str],
) -> None:
    """Put constants in the place of inputs.

    Args:
        inputs, outputs: the names of all, which the module states afterwards: those that it has by itself depend on
            how many there are.
        values: name of an input, whose sizes are known -> the bytes of its elements, one or more for each.
        named: those that keep their names.
    """
    function = _main(ir, module)
    block = function.regions[0].blocks[0]
    for place, name in reversed(list(enumerate(inputs))):
        if name not in values:
            continue
        argument = block.arguments[place]
        type = ir.RankedTensorType(argument.type)
        stored = ir.DenseElementsAttr.get(
            np.frombuffer(values[name], np.uint8), type=type.element_type, shape=list(type.shape)
        )
        attributes = {"value": stored}
        if name in named:
            attributes[_FRONTEND] = ir.DictAttr.get({_SETTLED: ir.StringAttr.get(name)})
        with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
            constant = ir.Operation.create("stablehlo.constant", [type], [], attributes)
        argument.replace_all_uses_with(constant.results[0])
        block.erase_argument(place)
    kept = [place for place, name in enumerate(inputs) if name not in values]
    _set_arguments(ir, function, kept)
    stated = dict(_items(module.operation.attributes.get(_FRONTEND, None)))
    stated[INPUTS] = ir.StringAttr.get(json.dumps([inputs[place] for place in kept]))
    stated[OUTPUTS] = ir.StringAttr.get(json.dumps(list(outputs)))
    module.operation.attributes[_FRONTEND] = ir.DictAttr.get(stated)


def settled_inputs(ir: Any, module: Any) -> list[tuple[str, Any]]:
    """The inputs that have values and names: the names, and the operations with the values."""
    found: list[tuple[str, Any]] = []
    function = _main(ir, module)
    for one in () if function is None else function.regions[0].blocks[0].operations:
        attributes = one.operation.attributes
        if one.operation.name == "stablehlo.constant" and _FRONTEND in attributes:
            stated = dict(_items(attributes[_FRONTEND]))
            if _SETTLED in stated:
                found.append((ir.StringAttr(stated[_SETTLED]).value, one.operation))
    return found


def as_arguments(ir: Any, module: Any, operations: Iterable[Any]) -> None:
    """Make constants the last arguments of the function that the module starts with."""
    function = _main(ir, module)
    for operation in operations:
        argument = function.regions[0].blocks[0].add_argument(operation.results[0].type, operation.location)
        operation.results[0].replace_all_uses_with(argument)
        operation.erase()
    if function is not None:
        _set_arguments(ir, function, None)


def _main(ir: Any, module: Any) -> Any:
    """The function that a module starts with; None where it has none."""
    functions = {
        ir.StringAttr(one.attributes["sym_name"]).value: one.operation
        for one in module.body.operations
        if one.operation.name == "func.func" and len(one.operation.regions[0].blocks) == 1
    }
    return functions.get("main", next(iter(functions.values()), None))


def _set_arguments(ir: Any, function: Any, kept: Sequence[int] | None) -> None:
    """Have a function declare the arguments that its block has: of its old ones those that are kept, None for all."""
    types = [argument.type for argument in function.regions[0].blocks[0].arguments]
    results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, results))
    if "arg_attrs" in function.attributes:
        old = list(function.attributes["arg_attrs"])
        new = old if kept is None else [old[place] for place in kept]
        new += [ir.DictAttr.get({})] * (len(types) - len(new))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(new)


def _items(attribute: Any) -> list[tuple[str, Any]]:
    return [] if attribute is None else [(item.name, item.attr) for item in attribute]
