"""A StableHLO module as a description in plain values, through jaxlib's MLIR bindings.

The bindings live in jaxlib, so this runs where they may end the process: in `xla_bridge.py`. What they read (MLIR text,
bytecode, portable artifacts of older versions) they have verified: types fit, values are defined before they are used.

A description is JSON and, behind it, the bytes of the constants:

    {"name": str, "attributes": {name: attribute}, "functions": {name: function}, "copies": [...]}
    function: {"block": block, "arguments": [{name: attribute}], "results": [{name: attribute}], "settled": [...]}
    block: {"arguments": [value...], "names": [str...], "operations": [operation...]}
    operation: [name, [operand...], {name: attribute}, [type...], [block...], location]

Values are numbered in the order in which they are defined, over the whole module. A type is [element type, [size...]],
a size that isn't known None, a bounded one ["<=", size]; a token's is None. A constant's "value" is [place, length] of
its bytes, or [place, length, "splat"] of one element that fills it. Of those bytes, "copies" lists what isn't written
again because the file has it: [[place, length, place in the file]...]. What is "settled" of the function that a module
starts with are inputs with values and names (see `mlir_inputs.py`), which its block doesn't list: [name, number, type,
[place, length]].
"""

from __future__ import annotations

import importlib
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...passes.errors import InvalidModel, Unsupported
from ...passes.limits import DEEPEST, allow_calls
from .hlo_names import INPUTS, OUTPUTS, interface_names
from .mlir_assertions import keep_assertions
from .mlir_bindings import bindings, context_of, deserialized
from .mlir_constants import ConstantsInFile
from .mlir_inputs import as_arguments, settle, settled_inputs

_TENSOR = re.compile(
    r"tensor<((?:(?:\d+|\?)x)*)([^,]+?)(?:, #stablehlo\.(?:bounds<([^>]*)>|type_extensions<[^>]*>))?>$"
)
_ENUM = re.compile(r"#(?:stablehlo|chlo)<\w+ (\w+)>")
_LOCATION = re.compile(r'loc\("((?:[^"\\]|\\.)*)"[()]')
_ELEMENT = re.compile(r"\([^()]*\)|[^\s,\[\]()]+")
_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')

_NARROW = re.compile(r"u?i([1-7])")
_COMPLEX = {"complex<f32>": "<f4", "complex<f64>": "<f8"}
_ODD_FLOATS = {
    "bf16": "bfloat16",
    "f8E3M4": "float8_e3m4",
    "f8E4M3": "float8_e4m3",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
    "f4E2M1FN": "float4_e2m1fn",
}
"""Element types that the bindings have no arrays for -> what ml_dtypes calls them."""

_DIMENSION_NUMBERS = {
    "DotDimensionNumbers": """lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions
        rhs_contracting_dimensions""",
    "GatherDimensionNumbers": """offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims
        start_index_map index_vector_dim""",
    "ScatterDimensionNumbers": """update_window_dims inserted_window_dims input_batching_dims
        scatter_indices_batching_dims scattered_dims_to_operand_dims index_vector_dim""",
    "ConvDimensionNumbers": """input_batch_dimension input_feature_dimension input_spatial_dimensions
        kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions
        output_batch_dimension output_feature_dimension output_spatial_dimensions""",
    "ChannelHandle": "handle channel_type",
}
"""Attributes of several numbers -> what those are called."""

STATED = {INPUTS: "backedge.inputs", OUTPUTS: "backedge.outputs"}
"""Attributes of a module that say what inputs and outputs are called, where nothing else can: lists in JSON."""

KEPT = frozenset(
    """
    acos acosh asin asinh atan atanh conj cosh erf mulhi scan sinh square tan top_k
    """.split()  # noqa: SIM905
)
"""Operations of CHLO that backedge has a form for; what the others are in StableHLO, the bindings know."""


def describe(data: bytes, file: bytes = b"") -> list[Any]:
    """The description of a module, in parts: the length of its JSON in 8 bytes, the JSON, the constants' bytes.

    Args:
        data: MLIR text, or bytecode.
        file: content of a file, constants of which aren't repeated.

    Raises:
        InvalidModel: the bindings can't read it, or don't accept it.
        Unsupported: an operation of CHLO that they have no StableHLO for.
    """
    ir, stablehlo, module = _parsed_module(data)
    allow_calls()
    with module.context:
        _expand_chlo(ir, module)
        writer = _Writer(ir, stablehlo, file)
        settled = settled_inputs(ir, module)
        places = [writer.constant(operation, dense=True) for _, operation in settled]
        as_arguments(ir, module, [operation for _, operation in settled])
        _simplify(module)
        description, constants = writer.module(module)
    if settled:
        main = main_of(description)
        block, first = main["block"], len(main["block"]["arguments"]) - len(settled)
        last = zip(settled, block["arguments"][first:], places, strict=True)
        main["settled"] = [[name, *argument, place] for (name, _), argument, place in last]
        del block["arguments"][first:], block["names"][first:]
    head = json.dumps(description, separators=(",", ":")).encode()
    return [len(head).to_bytes(8, "little"), head, *constants]


def interface(data: bytes) -> tuple[list[str], list[str], list[Any]]:
    """The names of a module's inputs and outputs, and the inputs' types.

    Args, Raises: as `describe`.
    """
    ir, stablehlo, module = _parsed_module(data)
    with module.context:
        description = _without_constants(ir, stablehlo, module)
    main = main_of(description)
    return *names_of(description), [type for _, type in main["block"]["arguments"]]


def with_settled(data: bytes, values: Mapping[str, Any], named: Collection[str]) -> bytes:
    """A module in which inputs have values, as bytecode; the names of the others and of the outputs stay.

    Args:
        values: name of an input -> the bytes of its elements, one or more for each.
        named: those that keep their names.

    Raises:
        InvalidModel: as `describe`.
    """
    ir, stablehlo, module = _parsed_module(data)
    with module.context:
        inputs, outputs = names_of(_without_constants(ir, stablehlo, module))
        settle(ir, module, inputs, outputs, values, named)
        return _bytecode(module)


def _without_constants(ir: Any, stablehlo: Any, module: Any) -> dict[str, Any]:
    writer = _Writer(ir, stablehlo)
    writer.with_constants = False
    return writer.module(module)[0]


def _bytecode(module: Any) -> bytes:
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()


def is_open(type: Any) -> bool:
    """Whether a type of a description has a size that isn't known."""
    return type is not None and None in type[1]


def main_of(description: Mapping[str, Any]) -> dict[str, Any]:
    """The function that a module starts with.

    Raises:
        InvalidModel: there is none.
    """
    functions = description["functions"]
    main = functions.get("main" if "main" in functions else next(iter(functions), ""))
    if main is None or main["block"] is None or not main["block"]["operations"]:
        raise InvalidModel("the module has no function to start with")
    return main


def names_of(description: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The names of a module's inputs and outputs.

    Around a program with open sizes jax.export writes a function without names, which calls the one that has them.
    """
    main = main_of(description)
    names = list(main["block"]["names"])
    places = {number: place for place, (number, _) in enumerate(main["block"]["arguments"])}
    for name, operands, attributes, _, _, _ in main["block"]["operations"]:
        called = description["functions"].get(attributes.get("callee")) if name == "func.call" else None
        if called is not None and called["block"] is not None:
            for operand, inner in zip(operands, called["block"]["names"], strict=True):
                if operand in places and not names[places[operand]]:
                    names[places[operand]] = inner
    returned = main["block"]["operations"][-1][1]
    told = [one.get("jax.result_info") for one in main["results"]] or [None] * len(returned)
    results = [name if isinstance(name, str) else "" for name in told]
    attributes = description["attributes"]
    header = attributes.get("mhlo.frontend_attributes")
    stated = {name: attributes[key] for name, key in STATED.items() if key in attributes}
    stated |= header if isinstance(header, dict) else {}
    return interface_names(names, results, {key: text for key, text in stated.items() if isinstance(text, str)})


def specialized(data: bytes, types: Sequence[str]) -> bytes:
    """A module with open sizes for inputs of certain types, as bytecode: the bindings compute all sizes, and check what
    jax.export asserts of them.

    Args:
        types: as MLIR spells them (`tensor<2x3xf32>`).

    Raises:
        Exception: the bindings' refusals.
    """
    ir, stablehlo, module = _parsed_module(data)
    stablehlo.register_stablehlo_passes()
    manager = importlib.import_module("jaxlib.mlir.passmanager").PassManager
    with module.context:
        manager.parse(f"builtin.module(stablehlo-refine-arguments{{types={','.join(types)}}})").run(module.operation)
        bounded = any(one.operation.name == "stablehlo.set_dimension_size" for one in operations_in(module.body))
        written = _bytecode(module)
    refine = importlib.import_module("jaxlib._jax").mlir.refine_polymorphic_shapes
    try:
        return refine(written, validate_static_shapes=not bounded)  # sizes that are bounded stay so
    except Exception:  # operations are looked at first, and don't say what is asserted of the sizes
        with module.context:
            keep_assertions(ir, module)
            refine(_bytecode(module), validate_static_shapes=False)
        raise


def _parsed_module(data: bytes) -> tuple[Any, Any, Any]:
    """The bindings of MLIR and StableHLO, and the module that they make of a file's content."""
    ir, stablehlo = bindings()
    context = context_of(ir)
    try:
        if data.startswith(b"ML\xefR"):
            return ir, stablehlo, deserialized(ir, stablehlo, context, data)
        return ir, stablehlo, ir.Module.parse(data.decode(errors="replace"), context)
    except ir.MLIRError as error:
        raise InvalidModel(_first_error(error)) from None


def _first_error(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if "error:" in line] or [str(error)]
    return " ".join(lines[0].replace('"-":', "line ").split())


def operations_in(block: Any) -> Iterator[Any]:
    """The operations of a block, and those of their regions.

    Raises:
        InvalidModel: more regions stand in each other than work on a graph has room for.
    """
    stack = [iter(block.operations)]
    while stack:
        operation = next(stack[-1], None)
        if operation is None:
            stack.pop()
            continue
        yield operation
        inner = [one for region in operation.regions for block in region.blocks for one in block.operations]
        if inner:
            if len(stack) > DEEPEST + 1:  # the module's own functions are the first
                raise InvalidModel(f"regions are nested more than {DEEPEST} deep")
            stack.append(iter(inner))


def _simplify(module: Any) -> None:
    """What XLA does first with a module, too: constants folded, equal values computed once."""
    manager = importlib.import_module("jaxlib.mlir.passmanager").PassManager
    manager.parse("builtin.module(canonicalize,cse)").run(module.operation)


def _expand_chlo(ir: Any, module: Any) -> None:
    """Have the bindings write what CHLO has beyond `KEPT` in StableHLO, for which that must look like another thing."""
    names = {operation.operation.name for operation in operations_in(module.body)}
    chlo = {name.removeprefix("chlo.") for name in names if name.startswith("chlo.")}
    if chlo <= KEPT:
        return
    aside = {f"chlo.{name}" for name in chlo & KEPT - {"scan"}}  # a call holds no region
    kept = [one for one in operations_in(module.body) if one.operation.name in aside]
    for operation in kept:
        old = operation.operation
        with ir.InsertionPoint(old), old.location:
            attributes = {name: old.attributes[name] for name in old.attributes}
            attributes["call_target_name"] = ir.StringAttr.get(old.name)
            new = ir.Operation.create(
                "stablehlo.custom_call", [value.type for value in old.results], list(old.operands), attributes
            )
        for before, after in zip(old.results, new.results, strict=True):
            before.replace_all_uses_with(after)
        old.erase()
    manager = importlib.import_module("jaxlib.mlir.passmanager").PassManager
    importlib.import_module("jaxlib.mlir.dialects.stablehlo").register_stablehlo_passes()
    try:
        manager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))").run(module.operation)
    except ir.MLIRError as error:
        raise Unsupported("module", _first_error(error)) from None


class _Writer:
    """What describes one module."""

    def __init__(self, ir: Any, stablehlo: Any, file: bytes = b"") -> None:
        self._ir = ir
        self._numbers = [(getattr(stablehlo, name), names.split()) for name, names in _DIMENSION_NUMBERS.items()]
        self._values: dict[Any, int] = {}
        self._types: dict[str, Any] = {}
        self._constants: list[Any] = []  # arrays, written one after the other
        self.with_constants = True
        self._length = 0
        self._file = ConstantsInFile(file)
        self._copies: list[list[int]] = []
        self._readers: list[tuple[Any, Callable[[Any], Any]]] = [
            (ir.BoolAttr, lambda one: bool(one.value)),
            (ir.IntegerAttr, lambda one: int(one.value)),
            (ir.FloatAttr, lambda one: float(one.value)),
            (ir.StringAttr, lambda one: one.value),
            (ir.FlatSymbolRefAttr, lambda one: one.value),
            (ir.DenseBoolArrayAttr, lambda one: [bool(item) for item in one]),
            (ir.DenseI32ArrayAttr, lambda one: [int(item) for item in one]),
            (ir.DenseI64ArrayAttr, lambda one: [int(item) for item in one]),
            (ir.ArrayAttr, lambda one: [self._attribute(item) for item in one]),
            (ir.DictAttr, lambda one: {item.name: self._entry(item.attr) for item in one}),
            (ir.UnitAttr, lambda one: True),
        ]

    def module(self, module: Any) -> tuple[dict[str, Any], list[Any]]:
        operation = module.operation
        functions = {}
        for one in module.body.operations:
            if one.operation.name != "func.func":
                continue
            name = self._ir.StringAttr(one.attributes["sym_name"]).value
            functions[name] = self._function(one)
        name = operation.attributes.get("sym_name", None)
        attributes = {key: self._attribute(operation.attributes[key]) for key in operation.attributes}
        description = {
            "name": "" if name is None else self._ir.StringAttr(name).value,
            "attributes": attributes,
            "functions": functions,
        }
        return description | {"copies": self._copies}, self._constants

    def _function(self, function: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"block": None, "arguments": [], "results": [], "settled": []}
        for key, name in (("arg_attrs", "arguments"), ("res_attrs", "results")):
            if key in function.attributes:
                found[name] = self._attribute(function.attributes[key])
        blocks = list(function.regions[0].blocks)
        if len(blocks) == 1:
            found["block"] = self._block(blocks[0])
        return found

    def _block(self, block: Any) -> dict[str, Any]:
        arguments, names = [], []
        for value in block.arguments:
            arguments.append([self._define(value), self._type(value.type)])
            named = _LOCATION.match(str(value.location)) if hasattr(value, "location") else None
            names.append(named[1] if named else "")
        return {
            "arguments": arguments,
            "names": names,
            "operations": [self._operation(one) for one in block.operations],
        }

    def _define(self, value: Any) -> int:
        self._values[value] = len(self._values)
        return self._values[value]

    def _operation(self, opview: Any) -> list[Any]:
        operation = opview.operation
        operands = [self._values[value] for value in operation.operands]
        if operation.name == "stablehlo.constant":
            attributes: dict[str, Any] = {"value": self.constant(operation)} if self.with_constants else {}
        else:
            attributes = {name: self._attribute(operation.attributes[name]) for name in operation.attributes}
        blocks = [self._block(region.blocks[0]) for region in operation.regions if len(region.blocks)]
        results = [[self._define(value), self._type(value.type)] for value in operation.results]
        named = _LOCATION.match(str(operation.location))
        return [operation.name, operands, attributes, results, blocks, named[1] if named else ""]

    def _type(self, type: Any) -> Any:
        text = str(type)
        if text not in self._types:
            self._types[text] = _described_type(text)
        return self._types[text]

    # attributes --------------------------------------------------------------------------------------

    def _attribute(self, attribute: Any) -> Any:
        ir = self._ir
        for kind, read in self._readers:
            if isinstance(attribute, kind):
                return read(attribute)
        for kind, names in self._numbers:
            if kind.isinstance(attribute):
                numbers = kind(attribute)
                return {name: _plain(getattr(numbers, name)) for name in names}
        if isinstance(attribute, ir.DenseElementsAttr):
            return np.array(attribute).tolist()
        found = _ENUM.fullmatch(str(attribute))
        return found[1] if found else str(attribute)

    def _entry(self, attribute: Any) -> Any:
        """What a dictionary holds: integers of other types than i64 as text, which has the type."""
        typed = isinstance(attribute, self._ir.IntegerAttr) and not isinstance(attribute, self._ir.BoolAttr)
        return str(attribute) if typed and not str(attribute).endswith(" : i64") else self._attribute(attribute)

    # constants ---------------------------------------------------------------------------------------

    def constant(self, operation: Any, *, dense: bool = False) -> list[Any]:
        type = _described_type(str(operation.results[0].type))
        element = type[0]
        count = int(np.prod(type[1], dtype=np.int64))
        try:
            attribute = operation.attributes["value"]
            array = np.asarray(attribute)
            if array.dtype == object:
                raise TypeError
            if isinstance(attribute, self._ir.DenseElementsAttr) and attribute.is_splat and count > 1 and not dense:
                array = array.reshape(-1)[:1]
        except (TypeError, ValueError):  # the bindings have no arrays of these elements
            array = _parsed(operation.get_asm(print_generic_op_form=True), element)
        data = np.ascontiguousarray(array).reshape(-1)
        elements = (
            data.view(np.uint8) if data.size and data.dtype.kind != "V" else np.frombuffer(data.tobytes(), np.uint8)
        )
        place = [self._length, data.nbytes]
        self._length += data.nbytes
        in_file = self._file.place(elements)
        if in_file is None:
            self._constants.append(elements)
        else:
            self._copies.append([*place, in_file])
        return [*place, "splat"] if data.size == 1 and count != 1 else place


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


def _described_type(text: str) -> Any:
    if text == "!stablehlo.token":
        return None
    found = _TENSOR.fullmatch(text)
    if found is None:
        raise Unsupported("module", f"values of the type {text}")
    sizes: list[Any] = [None if size == "?" else int(size) for size in found[1].split("x")[:-1]]
    for axis, bound in enumerate((found[3] or "").split(",")):
        if bound.strip().isdigit():
            sizes[axis] = ["<=", int(bound)]
    return [found[2], sizes]


def _parsed(text: str, element: str) -> np.ndarray[Any, Any]:
    """The elements of a constant, out of its text: what the bindings give no arrays of."""
    narrow = _NARROW.fullmatch(element)
    mask = (1 << int(narrow[1])) - 1 if narrow else 0xFF  # of integers of less than 8 bits only those stand in a byte
    stored = _HEX.search(text)
    if stored is not None:
        return np.frombuffer(bytes.fromhex(stored[1]), np.uint8) & mask
    start = text.index("dense<") + len("dense<")
    items = _ELEMENT.findall(text[start : text.rindex("> : tensor<" if "> : tensor<" in text else ">")])
    if element in _COMPLEX:
        parts = [part.strip() for item in items for part in item.strip("()").split(",")]
        return np.array([_number(part, np.dtype(_COMPLEX[element])) for part in parts]).view(
            _COMPLEX[element].replace("f4", "c8").replace("f8", "c16")
        )
    if element in _ODD_FLOATS:
        dtype = np.dtype(getattr(ml_dtypes, _ODD_FLOATS[element]))
        return np.array([_number(item, dtype) for item in items], dtype)
    return np.array([int(item) & mask for item in items], np.uint8)


def _number(item: str, dtype: np.dtype[Any]) -> Any:
    """A float as MLIR writes it: in decimal, or its bits."""
    if item.startswith("0x"):
        return np.frombuffer(int(item, 16).to_bytes(dtype.itemsize, "little"), dtype)[0]
    return np.float64(item).astype(dtype)
