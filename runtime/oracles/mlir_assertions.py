"""What a StableHLO module asserts of its inputs' sizes, by itself: the bindings say it only of a module without faults.

Of MLIR's bindings, as `mlir_module.py`.
"""

from __future__ import annotations

from typing import Any


def keep_assertions(ir: Any, module: Any) -> None:
    """Take away what follows the assertions that a module begins with: what it computes, and its results."""
    main = next(one for one in module.body.operations if ir.StringAttr(one.attributes["sym_name"]).value == "main")
    block = main.regions[0].blocks[0]
    operations = list(block.operations)
    last = max((at for at, one in enumerate(operations) if _is_assertion(ir, one)), default=-1)
    for one in reversed(operations[last + 1 :]):
        one.operation.erase()
    with ir.Location.unknown():
        ir.Operation.create("func.return", [], [], ip=ir.InsertionPoint(block))
        type = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(type.inputs, []))
    if "res_attrs" in main.attributes:
        del main.attributes["res_attrs"]


def _is_assertion(ir: Any, operation: Any) -> bool:
    if operation.operation.name != "stablehlo.custom_call":
        return False
    return ir.StringAttr(operation.attributes["call_target_name"]).value == "shape_assertion"
