"""The entries of docs/runtime-faults.md: each a model, run in its runtime, and what is right."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

RUNTIMES = {
    "openvino": ("OpenVINO, CPU", ("openvino",)),
    "onnxruntime": ("ONNX Runtime, CPU", ("onnxruntime", "onnx")),
    "reference": ("onnx's reference evaluator", ("onnx",)),
    "xla": ("XLA, CPU", ("jax", "jaxlib")),
}
"""By the name of an entry's runtime: the heading, and packages whose versions count."""


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: of the entry, and its anchor on the page.
        runtime: of `RUNTIMES`.
        title: what is wrong, in a line.
        by: the text, or the arithmetic, that says what is right.
        workaround: what backedge does about it.
        run: gives (what the runtime gives, what is right); its source is what the page shows.
        right: what is right, for entries whose process may die before it says so.
    """

    name: str
    runtime: str
    title: str
    by: str
    workaround: str
    run: Callable[[], tuple[Any, Any]]
    right: str = ""


FAULTS: list[Fault] = []


def _fault(runtime: str, title: str, by: str, workaround: str, right: str = "") -> Callable[..., Any]:
    def add(run: Callable[[], tuple[Any, Any]]) -> Callable[[], tuple[Any, Any]]:
        FAULTS.append(Fault(run.__name__.replace("_", "-"), runtime, title, by, workaround, run, right))
        return run

    return add


# how models are run ------------------------------------------------------------------------------


def openvino_run(
    build: Callable[..., Any], *arrays: np.ndarray[Any, Any], open_sizes: bool = False, threads: int = 1
) -> list[Any]:
    """What OpenVINO's CPU gives for nodes built from one parameter for each array."""
    import openvino as ov
    from openvino import opset15 as op

    shapes = [[-1] * array.ndim if open_sizes else list(array.shape) for array in arrays]
    inputs = [op.parameter(shape, ov.Type(array.dtype)) for shape, array in zip(shapes, arrays, strict=True)]
    return compiled(ov.Model([build(op, *inputs)], inputs, "m"), threads)(list(arrays))[0].tolist()


def compiled(model: Any, threads: int = 1) -> Any:
    """A model on OpenVINO's CPU, float32 computed as float32."""
    import openvino as ov

    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
    return ov.Core().compile_model(model, "CPU", settings)


def over_two_passes(part: Callable[..., Any], op: Any, x: Any) -> Any:
    """What a Loop-5 of two passes stacks of `part(op, x, number)`: `x` is an invariant input, `number` the pass."""
    import openvino as ov

    inner, number = op.parameter(x.output(0).shape, ov.Type.f32), op.parameter([1], ov.Type.i64)
    onward = op.result(op.constant(np.array([True])))
    result = op.result(op.unsqueeze(part(op, inner, number), op.constant(0)))
    loop = op.loop(op.constant(np.array(2)), op.constant(np.array([True])))
    loop.set_function(ov.Model([result, onward], [number, inner], "body"))
    loop.set_special_body_ports([0, 1])
    loop.set_invariant_input(inner, x.output(0))
    return op.result(loop.get_concatenated_slices(result.output(0), 0, 1, 1, -1, 0))


def negating_loop(op: Any, trip: Any, start: Any, x: Any) -> Any:
    """A Loop-5 that negates x at each pass: the last value, and all of them."""
    import openvino as ov

    value = op.parameter([1], ov.Type.f32)
    following, onward = op.result(op.negative(value)), op.result(op.constant(np.array([True])))
    loop = op.loop(trip, start)
    loop.set_function(ov.Model([following, onward], [value], "body"))
    loop.set_special_body_ports([-1, 1])
    loop.set_merged_input(value, x.output(0), following.output(0))
    last = loop.get_iter_value(following.output(0), -1)
    return last, loop.get_concatenated_slices(following.output(0), 0, 1, 1, -1, 0)


def model_of(text: str, opset: int = 21) -> Any:
    """An ONNX model of the text of a graph."""
    import onnx

    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}, "ai.onnx.ml" : 3]> {text}')


def onnxruntime_run(text: str, opset: int = 21, **feeds: Any) -> list[Any]:
    """What ONNX Runtime gives for the first output."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model_of(text, opset).SerializeToString())
    return session.run(None, feeds)[0].tolist()


def reference_run(text: str, opset: int = 21, **feeds: Any) -> Any:
    """What onnx's reference evaluator gives for the first output, or its error."""
    from onnx.reference import ReferenceEvaluator

    try:
        return ReferenceEvaluator(model_of(text, opset)).run(None, feeds)[0].tolist()
    except Exception as error:
        return f"an error: {type(error).__name__}"


def xla_run(text: str, *arrays: np.ndarray[Any, Any]) -> Any:
    """What XLA's CPU gives for the result of a module in HLO's text."""
    import jax
    from jaxlib import _hlo, _jax  # type: ignore[attr-defined]

    device = jax.devices("cpu")[0]
    computation = _hlo.XlaComputation(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    module = _jax.mlir.xla_computation_to_mlir_module(computation)
    program = device.client.compile_and_load(module, _jax.DeviceList((device,)), _jax.CompileOptions())
    results = program.execute_sharded([jax.device_put(array) for array in arrays])
    return np.asarray(results.disassemble_into_single_device_arrays()[0][0]).tolist()


def _one_leaf(aggregate: str, base: str = ", base_values = [10.0, 20.0]") -> str:
    """A tree of one leaf that votes for the first of two targets."""
    return f"""g (float[1, 1] x) => (float[1, 2] y) {{ y = ai.onnx.ml.TreeEnsembleRegressor <
        n_targets = 2, aggregate_function = "{aggregate}"{base}, nodes_treeids = [0], nodes_nodeids = [0],
        nodes_featureids = [0], nodes_values = [0.0], nodes_modes = ["LEAF"], nodes_truenodeids = [0],
        nodes_falsenodeids = [0], target_treeids = [0], target_nodeids = [0], target_ids = [0], target_weights = [1.0]
        > (x) }}"""


# OpenVINO ----------------------------------------------------------------------------------------

_NAMED = "the report names it where a trial meets it"
_AVOIDED = "in IR that is written (`{}`)"


@_fault(
    "openvino",
    "8-bit integers stop at the type's limits",
    "two's complement, as in NumPy and ONNX Runtime",
    _AVOIDED.format("narrow-integers"),
)
def openvino_narrow_sum() -> tuple[Any, Any]:
    x = np.array([100, -100], np.int8)
    return openvino_run(lambda op, x: op.add(x, x), x), (x + x).tolist()


@_fault(
    "openvino",
    "Floats of open sizes stop at the limits of 8-bit integers that they become",
    "what fits into 8 bits of the integer, as at fixed sizes and in ONNX Runtime; ONNX leaves it open",
    _AVOIDED.format("narrow-integers"),
)
def openvino_narrow_cast() -> tuple[Any, Any]:
    x = np.array([-4.5, 300], np.float32)
    return openvino_run(lambda op, x: op.convert(x, "u8"), x, open_sizes=True), [252, 44]


@_fault(
    "openvino",
    "Behind an If of open sizes the first run of larger inputs computes with other memory",
    "the same model with the same inputs: both runs give the same",
    "in IR that is written: a Slice of everything stands behind such results, which parts the plan of the memory",
)
def openvino_memory_of_branches() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    go, x, y = op.parameter([], ov.Type.boolean), op.parameter([-1], ov.Type.f32), op.parameter([-1, 4], ov.Type.f32)
    one, two = op.parameter([-1], ov.Type.f32), op.parameter([-1], ov.Type.f32)
    branch = op.if_op(go)
    branch.set_then_body(ov.Model([op.result(op.exp(one))], [one], "exponential"))
    branch.set_else_body(ov.Model([op.result(op.sin(two))], [two], "sine"))
    branch.set_input(x.output(0), one, two)
    bodies = branch.get_function(0), branch.get_function(1)
    chosen = branch.set_output(bodies[0].results[0], bodies[1].results[0])
    numbers = np.arange(28, dtype=np.float32).reshape(4, 7) / 28
    product = op.matmul(op.add(y, chosen), op.constant(numbers), False, False)
    model = compiled(ov.Model([op.softmax(product, 1)], [go, x, y], "m"))
    feeds = [np.array(True), np.zeros(1, np.float32), np.arange(120, dtype=np.float32).reshape(30, 4) / 120]
    first, second = (model(feeds)[0].copy() for _ in range(2))
    return bool((first == second).all()), True


@_fault(
    "openvino",
    "A quotient of 8-bit integers of open sizes is rounded to the nearest",
    "ONNX's Div, and Divide-1 with m_pythondiv false: towards zero",
    _AVOIDED.format("narrow-quotients"),
)
def openvino_narrow_quotient() -> tuple[Any, Any]:
    x, y = np.array([7, -7], np.int8), np.array([2, 2], np.int8)
    return openvino_run(lambda op, x, y: op.divide(x, y), x, y, open_sizes=True), [3, -3]


@_fault(
    "openvino",
    "Integer division rounds towards zero",
    "Divide-1: with m_pythondiv, which is the default, it rounds down",
    "IR is read as the CPU computes it (`integer-division`)",
)
def openvino_integer_division() -> tuple[Any, Any]:
    x, y = np.array([-7, 7], np.int32), np.array([2, -2], np.int32)
    return openvino_run(lambda op, x, y: op.divide(x, y), x, y), (x // y).tolist()


@_fault(
    "openvino",
    "uint32 constants from 2^31 on become 2^31 - 1",
    "arithmetic modulo 2^32",
    _AVOIDED.format("unsigned-32"),
)
def openvino_unsigned_constant() -> tuple[Any, Any]:
    x, big = np.array([0, 1], np.uint32), np.uint32(4_000_000_000)
    return openvino_run(lambda op, x: op.add(x, op.constant(big)), x), (x + big).tolist()


@_fault(
    "openvino",
    "uint32 from 2^31 on is less than 0",
    "the type has no negative numbers",
    _AVOIDED.format("unsigned-32"),
)
def openvino_unsigned_maximum() -> tuple[Any, Any]:
    x, y = np.array([4_000_000_000], np.uint32), np.array([1], np.uint32)
    return openvino_run(lambda op, x, y: op.maximum(x, y), x, y), np.maximum(x, y).tolist()


@_fault(
    "openvino",
    "The largest numbers beside NaN aren't the largest",
    "any order of numbers: 3 is larger than 1, wherever NaN stands",
    _AVOIDED.format("nan-order"),
)
def openvino_top_beside_nan() -> tuple[Any, Any]:
    x = np.array([1, np.nan, 3, 2], np.float32)
    return openvino_run(lambda op, x: op.topk(x, op.constant(3), 0, "max", "value").output(0), x), [np.nan, 3.0, 2.0]


@_fault(
    "openvino",
    "The least number beside NaN isn't the least",
    "NumPy: NaN's own index 1; by IEEE's minNum that of 1, which is 0",
    _AVOIDED.format("nan-order"),
)
def openvino_least_beside_nan() -> tuple[Any, Any]:
    x = np.array([1, np.nan, 3, 2], np.float32)
    return openvino_run(lambda op, x: op.topk(x, op.constant(1), 0, "min", "value").output(1), x), [1]


@_fault("openvino", "NaN is left out of a maximum", "NumPy's maximum: NaN", "no: it would take operators for each one")
def openvino_reduced_nan() -> tuple[Any, Any]:
    x = np.array([1, np.nan, 3, 2], np.float32)
    return openvino_run(lambda op, x: op.reduce_max(x, op.constant(np.array([0]))), x), np.nan


@_fault("openvino", "Denormal constants are 0", "IEEE 754, and OpenVINO where they are an input", _NAMED)
def openvino_denormal_constants() -> tuple[Any, Any]:
    found = openvino_run(
        lambda op, x: op.multiply(x, op.constant(np.float32([2.0**-130] * 2))), np.float32([2.0**127] * 2)
    )
    return found, [2.0**-3] * 2


@_fault("openvino", "Relu of NaN is 0", "max(x, 0) by IEEE 754's maximum: NaN", "no: it would hinder its fusions")
def openvino_relu_of_nan() -> tuple[Any, Any]:
    return openvino_run(lambda op, x: op.relu(x), np.array([np.nan], np.float32)), [np.nan]


@_fault(
    "openvino", "NaN is greater than a number", "IEEE 754: comparisons with NaN are false", "Less the other way round"
)
def openvino_greater_nan() -> tuple[Any, Any]:
    x = np.array([np.nan, 1], np.float32)
    return openvino_run(lambda op, x: op.greater(x, op.constant(np.float32(0))), x), [False, True]


@_fault(
    "openvino",
    "Integers are compared in float32",
    "16777216 is less than 16777217",
    "by bits and the smaller one (`large-integers`)",
)
def openvino_compared_integers() -> tuple[Any, Any]:
    x, y = np.array([16_777_216], np.int32), np.array([16_777_217], np.int32)
    return openvino_run(lambda op, x, y: op.less(x, y), x, y), [True]


@_fault(
    "openvino",
    "The largest int32 becomes the lowest in a reduction",
    "the maximum of numbers is one of them",
    "TopK, for maxima and minima (`large-integers`)",
)
def openvino_reduced_integers() -> tuple[Any, Any]:
    x = np.array([2**31 - 1, 3], np.int32)
    return openvino_run(lambda op, x: op.reduce_max(x, op.constant(np.array([0]))), x), 2**31 - 1


@_fault(
    "openvino",
    "Identity of elements of 4 bits or less writes a byte for each, beyond its memory",
    "Identity-16: a copy of the input",
    "Reshape to the same sizes",
    "the input",
)
def openvino_small_identity() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset16 as op

    x = op.parameter([100_000], ov.Type.i4)
    copied = compiled(ov.Model([op.identity(x)], [x], "m"))
    packed = np.arange(50_000).astype(np.uint8)
    for _ in range(20):
        (found,) = copied([ov.Tensor(packed, ov.Shape([100_000]), ov.Type.i4)]).values()
    return found.view(np.uint8).tolist()[:4], [0, 1, 2, 3]


@_fault("openvino", "Integers are summed in float32", "the type", "CumSum (`large-integers`)")
def openvino_summed_integers() -> tuple[Any, Any]:
    x = np.array([2**24, 1, 2], np.int32)
    return openvino_run(lambda op, x: op.reduce_sum(x, op.constant(np.array([0]))), x), 2**24 + 3


@_fault(
    "openvino",
    "Integers are chosen in float32 where what chooses is computed beside",
    "a choice is one of two",
    "the condition goes through a reduction of one (`large-integers`)",
)
def openvino_chosen_integers() -> tuple[Any, Any]:
    x, y, other = np.array([3, 5], np.int32), np.array([-1, 1], np.int32), np.int32(2**24 + 1)
    return openvino_run(
        lambda op, x, y: op.select(op.less(y, op.constant(np.int32(0))), x, op.constant(other)), x, y
    ), [3, 2**24 + 1]


@_fault(
    "openvino",
    "No strings can be packed of bounds that the model computes",
    "StringTensorPack-15: the bounds of the inputs",
    "no: it would take a string more that is cut off in each model",
)
def openvino_no_strings() -> tuple[Any, Any]:
    bounds, count = np.zeros((2, 3), np.int32), np.array([2, 0])

    def build(op: Any, bounds: Any, count: Any, symbols: Any) -> Any:
        none = op.slice(bounds, op.constant(np.array([0, 0])), count, op.constant(np.array([1, 1])))
        return op.string_tensor_pack(none, none, symbols)

    return openvino_run(build, bounds, count, np.zeros(2, np.uint8), open_sizes=True), [[], []]


@_fault("openvino", "An integer that pads is a float32", "the type", "chosen where no element is (`large-integers`)")
def openvino_padded_integers() -> tuple[Any, Any]:
    ends, most = [np.array([0]), np.array([1])], np.int32(2**31 - 1)
    return openvino_run(
        lambda op, x: op.pad(x, *map(op.constant, ends), "constant", op.constant(most)), np.array([5], np.int32)
    ), [5, 2**31 - 1]


@_fault(
    "openvino",
    "Unique in its own order gives zeros where nobody asks for the places",
    "an output doesn't depend on whether another is used",
    "along the only axis of a vector, which is right",
)
def openvino_unique_alone() -> tuple[Any, Any]:
    x = np.array([3, 1, 3, 2], np.int32)
    return openvino_run(lambda op, x: op.unique(x, sorted=False).output(0), x), [3, 1, 2]


@_fault(
    "openvino",
    "Unique along an axis that isn't the first takes slices for the same or not by what stands beside them",
    "two slices are equal if their elements are",
    "along the first axis, to which the other one is brought",
)
def openvino_unique_columns() -> tuple[Any, Any]:
    x = np.array([[0, 0, 0, 1], [0, 1, 1, 0]], np.int32)
    return openvino_run(lambda op, x: op.unique(x, op.constant(np.int64(1))).output(0), x), [[0, 0, 1], [0, 1, 0]]


@_fault("openvino", "int64 is computed in int32", "the type", "no; a note says it where values are declared so")
def openvino_long_sum() -> tuple[Any, Any]:
    x = np.array([2**40 + 1], np.int64)
    return openvino_run(lambda op, x: op.add(x, op.constant(np.int64(1))), x), (x + 1).tolist()


@_fault("openvino", "Infinity as float64 is a number", "IEEE 754", "no")
def openvino_double_infinity() -> tuple[Any, Any]:
    return openvino_run(lambda op, x: op.convert(x, "f64"), np.array([np.inf], np.float32)), [np.inf]


@_fault(
    "openvino",
    "Columns of a sum get each other's constants",
    "4 in each row and column, and 10, 20, 30 more",
    "in IR that is written, by a Squeeze between",
)
def openvino_columns_of_sums() -> tuple[Any, Any]:
    x = np.ones((2, 3, 4), np.float32)
    more = np.float32([[10, 20, 30]])
    made = openvino_run(lambda op, x: op.add(op.reduce_sum(x, op.constant(np.array([2]))), op.constant(more)), x)
    return made, (x.sum(2) + more).tolist()


@_fault(
    "openvino",
    "Pad that takes more than there is writes beyond its memory",
    "Pad-12: the sum of the amounts and the size; ONNX Runtime and XLA give one 7",
    "in IR that is written: what is taken away is a Slice behind the Pad",
    "[7.0]",
)
def openvino_pad_beyond() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        begins, ends = (op.constant(np.array([amount])) for amount in (-3, 2))
        return op.pad(x, begins, ends, "constant", op.constant(np.float32(7)))

    return openvino_run(build, np.float32([0, 1])), [7.0]


@_fault(
    "openvino",
    "A sequence is sliced from its first part, whatever `start` says",
    "TensorIterator-1: slicing begins at start",
    "IR is read as the CPU computes it (`slices-from-the-first`)",
)
def openvino_slices_from_start() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        import openvino as ov

        part = op.parameter([1], ov.Type.f32)
        result = op.result(op.negative(part))
        loop = op.tensor_iterator()
        loop.set_body(ov.Model([result], [part], "body"))
        loop.set_sliced_input(part, x.output(0), 2, 1, 1, -1, 0)
        return loop.get_concatenated_slices(result.output(0), 0, 1, 1, -1, 0)

    return openvino_run(build, np.float32([1, 2, 3, 4])), [-3.0, -4.0]


@_fault(
    "openvino",
    "A loop that isn't entered by a constant condition loses what it carries",
    "Loop-5: without a pass the carried value stays as it was",
    "in IR that is written: such loops are folded",
)
def openvino_never_entered() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x = op.parameter([1], ov.Type.f32)
    last, stacked = negating_loop(op, op.constant(np.array([3])), op.constant(np.array([False])), x)
    model = compiled(ov.Model([op.result(last), op.result(stacked)], [x], "m"))
    return model([np.float32([1])])[0].tolist(), [1.0]


@_fault(
    "openvino",
    "A loop that makes no pass stacks what an earlier run stacked",
    "Loop-5: no pass, nothing stacked",
    "in IR that is written: stacks are cut to the number of passes",
)
def openvino_stale_stack() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x, trip = op.parameter([1], ov.Type.f32), op.parameter([1], ov.Type.i64)
    last, stacked = negating_loop(op, trip, op.constant(np.array([True])), x)
    model = compiled(ov.Model([op.result(last), op.result(stacked)], [x, trip], "m"))
    model([np.float32([1]), np.array([2])])
    return model([np.float32([1]), np.array([0])])[1].tolist(), []


@_fault(
    "openvino",
    "A choice of float64 by a known condition, with numbers added to it, is compiled for ever",
    "Select-1: 3, whatever x is; the sum is 9",
    "in IR that is written: what is chosen stands there itself",
    right="9.0",
)
def openvino_endless_choice() -> tuple[Any, Any]:
    def chosen(op: Any, x: Any) -> Any:
        two, three, four = (op.constant(np.array(number, np.float64)) for number in (2, 3, 4))
        return op.add(op.add(op.select(op.constant(np.array(True)), three, x), two), four)

    return openvino_run(chosen, np.float64(1)), 9.0


@_fault(
    "openvino",
    "Absolute values of what is joined reach all that reads it",
    "Concat-1: the parts, one behind the other",
    "in IR that is written: an axis more stands around the Abs; what it gives for other IR isn't believed",
)
def openvino_joined_absolutes() -> tuple[Any, Any]:
    def joined(op: Any, x: Any) -> Any:
        both = op.concat([x, x], 0)
        return op.subtract(both, op.abs(both))

    return openvino_run(joined, np.float32([-1, 2])), [-2.0, 0.0, -2.0, 0.0]


@_fault(
    "openvino",
    "Constants by columns of a product whose columns are open are lost, or not compiled",
    "MatMul-1, Add-1: a number for each column of the product",
    "in IR that is written: a Reshape to the same sizes stands between them",
    right="[[3.0, 2.0]]",
)
def openvino_added_to_open_columns() -> tuple[Any, Any]:
    def with_bias(op: Any, x: Any, y: Any) -> Any:
        return op.add(op.matmul(x, y, False, False), op.constant(np.float32([[2, 2]])))

    return openvino_run(with_bias, np.float32([[1]]), np.float32([[1, 0]]), open_sizes=True), [[3.0, 2.0]]


@_fault(
    "openvino",
    "What is known to be empty isn't reshaped to a size that follows from its own, with two threads",
    "Reshape-1, special_zero=false: a 0 in the pattern is a size of 0",
    "no",
    right="[[]]",
)
def openvino_reshaped_nothing() -> tuple[Any, Any]:
    def flattened(op: Any, x: Any) -> Any:
        first, last, step, axis = (op.constant(np.array([number])) for number in (4, 3, 1, 2))
        nothing = op.slice(x, first, last, step, axis)
        size = op.reduce_prod(op.shape_of(nothing), op.constant(np.array([0])), True)
        return op.reshape(nothing, op.concat([step, size], 0), False)

    return openvino_run(flattened, np.zeros((1, 3, 2), np.float32), open_sizes=True, threads=2), [[]]


@_fault(
    "openvino",
    "An Einsum in the body of a loop changes the value outside that it multiplies",
    "Loop-5: an invariant input is the same in each pass",
    "in IR that is written: such values are copied first",
)
def openvino_multiplied_invariant() -> tuple[Any, Any]:
    def halved(op: Any, x: Any, number: Any) -> Any:
        return op.einsum([op.constant(np.float32([0.5])), x], "i,j->ij")

    return openvino_run(partial(over_two_passes, halved), np.float32([2, -4])), [[[1.0, -2.0]], [[1.0, -2.0]]]


@_fault(
    "openvino",
    "An update in the body of a loop changes the value outside that it updates",
    "Loop-5: an invariant input is the same in each pass",
    "in IR that is written: such values are copied first",
)
def openvino_updated_invariant() -> tuple[Any, Any]:
    def updated(op: Any, x: Any, number: Any) -> Any:
        return op.scatter_elements_update(x, number, op.constant(np.float32([9])), op.constant(np.array(0)))

    return openvino_run(partial(over_two_passes, updated), np.float32([1, 2])), [[9.0, 2.0], [1.0, 9.0]]


@_fault(
    "openvino",
    "A Gather of nothing by a computed index kills the process",
    "Gather-8: one of two tensors of no elements",
    "where the file knows that there is nothing: the result is made without a Gather",
    right="(0, 3)",
)
def openvino_gather_of_nothing() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x, index = op.parameter([2, 0, 3], ov.Type.f32), op.parameter([], ov.Type.i64)
    chosen = op.gather(x, index, op.constant(0))
    return compiled(ov.Model([op.result(chosen)], [x, index], "m"))([np.zeros((2, 0, 3), np.float32), 1])[0].shape, (
        0,
        3,
    )


@_fault(
    "openvino",
    "Nothing stacked along its last axis kills the process",
    "Loop-5: three passes that give [0, 1] each give [0, 3]",
    "in IR that is written: what may be empty is stacked along the first axis",
    right="(0, 3)",
)
def openvino_stack_of_nothing() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x, part = op.parameter([-1, 1], ov.Type.f32), op.parameter([-1, 1], ov.Type.f32)
    found, onward = op.result(op.negative(part)), op.result(op.constant(np.array([True])))
    loop = op.loop(op.constant(3), op.constant(True))
    loop.set_function(ov.Model([found, onward], [part], "body"))
    loop.set_special_body_ports([-1, 1])
    loop.set_invariant_input(part, x.output(0))
    stacked = loop.get_concatenated_slices(found.output(0), 0, 1, 1, -1, 1)
    return compiled(ov.Model([op.result(stacked)], [x], "m"))([np.zeros((0, 1), np.float32)])[0].shape, (0, 3)


@_fault(
    "openvino",
    "GroupNormalization isn't loaded in the body of a loop or a branch",
    "the same layer outside of it",
    "in IR that is written: it is made of other layers there",
)
def openvino_groups_in_a_body() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x, part = op.parameter([2, 1, 2], ov.Type.f32), op.parameter([2, 1, 2], ov.Type.f32)
    one = op.constant(np.float32([1]))
    found, onward = op.result(op.group_normalization(part, one, one, 1, 0.0)), op.result(op.constant(np.array([True])))
    loop = op.loop(op.constant(2), op.constant(True))
    loop.set_function(ov.Model([found, onward], [part], "body"))
    loop.set_special_body_ports([-1, 1])
    loop.set_merged_input(part, x.output(0), found.output(0))
    model = ov.Model([op.result(loop.get_iter_value(found.output(0), -1))], [x], "m")
    right = [[[0.0, 2.0]], [[0.0, 2.0]]]
    try:
        return compiled(model)([np.float32([[[2, 4]], [[1, 5]]])])[0].tolist(), right
    except RuntimeError as error:
        return f"an error: {type(error).__name__}", right


@_fault(
    "openvino",
    "A product that is reshaped to a scalar kills the process",
    "Reshape-1: one element is a scalar, too",
    "in IR that is written: it goes by a vector",
    right="0.5",
)
def openvino_product_as_scalar() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        product = op.matmul(x, op.constant(np.float32([[3], [4]])), False, False)
        return op.sigmoid(op.subtract(op.reshape(product, op.constant(np.zeros(0, np.int64)), False), np.float32(11)))

    return openvino_run(build, np.float32([[1, 2]])), 0.5


@_fault(
    "openvino",
    "With one thread, sizes that don't go together give the run before",
    "Reshape-1: eight elements don't become four; with two threads it is an error",
    "models of open sizes are run by two threads; the note of a Squeeze by declared ranks says so",
)
def openvino_swallowed_error() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x = op.parameter([-1, 4], ov.Type.f32)
    model = compiled(ov.Model([op.negative(op.reshape(x, op.constant(np.array([4])), False))], [x], "m"))
    model([np.float32([[1, 2, 3, 4]])])
    try:
        return model([np.zeros((2, 4), np.float32)])[0].tolist(), "an error"
    except RuntimeError:
        return "an error", "an error"


@_fault(
    "openvino",
    "After inputs that it refuses, a run of earlier sizes reads memory that is freed",
    "AvgPool-1: windows of one element give the image itself; a recompiled model may die",
    "the process that runs IR ends with the inference that fails",
    right="the image",
)
def openvino_after_an_error() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset1 as op

    def run(image: Any) -> Any:
        request, tensor = model.create_infer_request(), ov.Tensor(ov.Type.f32, ov.Shape(image.shape))
        tensor.data[...] = image
        request.set_tensor(model.inputs[0], tensor)
        request.infer()
        result = request.get_tensor(model.outputs[0])
        return np.array(result.data)

    x = op.parameter([-1, 1, -1, -1], np.float32)
    model = compiled(ov.Model([op.avg_pool(x, [1, 1], [0, 0], [0, 0], [1, 1], True, "floor")], [x], "m"))
    image = np.arange(1, 26, dtype=np.float32).reshape(1, 1, 5, 5)
    for times in range(1, 40):
        run(times * image)
        with contextlib.suppress(RuntimeError):
            run(image[:0])  # "Batch size is zero."
        if not np.array_equal(run(-times * image), -times * image):
            return "other numbers", "the image"
    return "the image", "the image"


@_fault(
    "openvino",
    "A TensorIterator over an empty sequence gives an earlier run's values",
    "TensorIterator-1: no part, no pass",
    "in IR that is written: loops know the number of parts, and their stacks are cut to it",
)
def openvino_empty_sequence() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x, part = op.parameter([-1], ov.Type.f32), op.parameter([1], ov.Type.f32)
    result, loop = op.result(op.negative(part)), op.tensor_iterator()
    loop.set_body(ov.Model([result], [part], "body"))
    loop.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    stacked = loop.get_concatenated_slices(result.output(0), 0, 1, 1, -1, 0)
    model = compiled(ov.Model([op.result(stacked)], [x], "m"))
    model([np.float32([1, 2])])
    return model([np.float32([])])[0].tolist(), []


@_fault(
    "openvino",
    "A loop that is given a constant counts its passes into another Parameter",
    "Loop-5: the port map names the Parameter that is the number of the pass",
    "in IR that is written: the Parameter for it is the first of all",
)
def openvino_count_behind_constant() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x, ten, count, addend = (op.parameter([], ov.Type.i64) for _ in range(4))
    number = op.add(op.multiply(count, ten), addend)
    onward, found = op.result(op.constant(True)), op.result(op.unsqueeze(number, op.constant(0)))
    loop = op.loop(op.constant(3), op.constant(True))
    loop.set_function(ov.Model([onward, found], [ten, count, addend], "body"))
    loop.set_special_body_ports([1, 0])
    loop.set_invariant_input(ten, op.constant(10).output(0))
    loop.set_invariant_input(addend, x.output(0))
    stacked = loop.get_concatenated_slices(found.output(0), 0, 1, 1, -1, 0)
    return compiled(ov.Model([op.result(stacked)], [x], "m"))([np.int64(7)])[0].tolist(), [7, 17, 27]


@_fault(
    "openvino",
    "A constant of float64 that a loop takes and a result is kills the process",
    "a constant may go to any number of inputs",
    "in IR that is written: such a constant stands twice",
    right="[1.0, -0.25, 0.5403023058681398]",
)
def openvino_constant_for_two() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x, low, total, angle = (op.parameter([], ov.Type.f64) for _ in range(4))
    given, other, zero = (op.constant(np.float64(number)) for number in (-0.25, -0.5, 0))
    least = op.select(op.less(low, other), low, other)
    onward, summed, turned = map(op.result, (op.constant(True), op.add(total, least), op.cos(angle)))
    loop = op.loop(op.constant(2), op.constant(True))
    loop.set_function(ov.Model([onward, summed, turned], [low, total, angle], "body"))
    loop.set_special_body_ports([-1, 0])
    loop.set_invariant_input(low, given.output(0))
    loop.set_merged_input(total, zero.output(0), summed.output(0))
    loop.set_merged_input(angle, zero.output(0), turned.output(0))
    last, turns = (loop.get_iter_value(one.output(0), -1) for one in (summed, turned))
    model = compiled(ov.Model(list(map(op.result, (op.add(last, x), given, turns))), [x], "m"))
    return [found.tolist() for found in model([np.float64(2)]).values()], [1.0, -0.25, np.cos(1.0).item()]


@_fault(
    "openvino",
    "A bool that a loop takes and another layer reads kills the process where it is constant",
    "a constant may go to any number of inputs",
    "in IR that is written: such a constant stands twice",
    right="[[True, True], [True]]",
)
def openvino_bool_for_two() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x, count, number, flag = (
        op.parameter([1], kind) for kind in (ov.Type.boolean, *[ov.Type.i64] * 2, ov.Type.boolean)
    )
    yes = op.constant(np.array([True]))
    part, onward = op.result(flag), op.result(op.logical_and(flag, op.greater_equal(number, op.constant([0]))))
    loop = op.loop(op.squeeze(count, op.constant([0])), op.constant(True))
    loop.set_function(ov.Model([part, onward], [number, flag], "body"))
    loop.set_special_body_ports([0, 1])
    loop.set_invariant_input(flag, yes.output(0))
    stacked = loop.get_concatenated_slices(part.output(0), 0, 1, 1, -1, 0)
    model = compiled(ov.Model([op.result(stacked), op.result(op.logical_and(yes, x))], [x, count], "m"))
    return [found.tolist() for found in model([np.array([True]), np.array([2])]).values()], [[True, True], [True]]


@_fault(
    "openvino",
    "A size by a bool that a loop of constants gives isn't loaded",
    "Range-4 from 0 to 1: one number, 0",
    "in IR that is written: refused",
)
def openvino_size_by_bool() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x, flag, value = op.parameter([1], ov.Type.i64), op.parameter([], ov.Type.boolean), op.parameter([], ov.Type.f64)
    either, doubled = op.result(op.logical_or(flag, flag)), op.result(op.add(value, value))
    onward, loop = op.result(op.constant(True)), op.loop(op.constant(3), op.constant(True))
    loop.set_function(ov.Model([either, doubled, onward], [flag, value], "body"))
    loop.set_special_body_ports([-1, 2])
    loop.set_merged_input(flag, op.constant(True).output(0), either.output(0))
    loop.set_merged_input(value, op.constant(np.float64(1)).output(0), doubled.output(0))
    size = op.convert(loop.get_iter_value(either.output(0), -1), "i64")
    counted = op.add(op.range(op.constant(0), size, op.constant(1), "i64"), x)
    try:
        return compiled(ov.Model([op.result(counted)], [x], "m"))([np.array([2])])[0].tolist(), [2]
    except RuntimeError as error:
        return f"an error: {str(error).strip().splitlines()[-1]}", [2]


@_fault(
    "openvino",
    "A reduction that drops its axes isn't reshaped to as many",
    "Reshape-1: the sizes that it is given",
    "in IR that is written: the reduction keeps its axes, which a Squeeze drops",
)
def openvino_reduced_and_reshaped() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        return op.reshape(op.reduce_sum(x, op.constant(np.array([1])), False), op.constant(np.array([2, 1])), False)

    return openvino_run(build, np.float32([[[1, 2], [3, 4], [5, 6]]])), [[9.0], [12.0]]


@_fault(
    "openvino",
    "Tile repeats images of one channel wrongly where another size is open",
    "Tile-1; the same layer at fixed sizes",
    "in IR that is written: Broadcast does it",
)
def openvino_grey_images() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    x = op.parameter([1, 1, 1, -1], ov.Type.f32)
    model = compiled(ov.Model([op.tile(x, op.constant(np.array([1, 2, 1, 2])))], [x], "m"))
    return model([np.float32([[[[1, 2]]]])])[0].ravel().tolist(), [1.0, 2.0] * 4


@_fault(
    "openvino",
    "GatherElements of a slice counts from the end of what is sliced",
    "GatherElements-6: from the end of its operand; onnx's reference",
    "in IR that is written: an axis stands around it",
)
def openvino_elements_of_a_slice() -> tuple[Any, Any]:
    def build(op: Any, x: Any, index: Any) -> Any:
        start, end, step = (op.constant(np.array([number])) for number in (0, 2, 1))
        return op.gather_elements(op.slice(x, start, end, step, start), index, 0)

    return openvino_run(build, np.float32([1, 2, 3]), np.array([-1])), [2.0]


@_fault(
    "openvino",
    "A reduction by an axis from the end of what was reshaped isn't loaded",
    "ReduceSum-1: -2 is the first of two axes",
    "in IR that is written: axes are counted from the front",
)
def openvino_axis_from_the_end() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        return op.reduce_sum(op.reshape(x, op.constant(np.array([2, 1])), False), op.constant(np.array([-2])), False)

    try:
        return openvino_run(build, np.float32([1, 2])), [3.0]
    except RuntimeError as error:
        return f"an error: {str(error).strip().splitlines()[-1]}", [3.0]


@_fault(
    "openvino",
    "A product by a constant vector isn't loaded where a factor follows",
    "MatMul-1; the same product without a factor",
    "in IR that is written: the vector is a column, which a Squeeze takes away",
)
def openvino_vector_and_factor() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        product = op.matmul(x, op.constant(np.float32([1, 2])), False, False)
        return op.multiply(product, op.constant(np.float32(0.5)))

    try:
        return openvino_run(build, np.float32([[[1, 1], [2, 4]]])), [[1.5, 5.0]]
    except RuntimeError as error:
        return f"an error: {str(error).strip().splitlines()[-1]}", [[1.5, 5.0]]


@_fault(
    "openvino",
    "A Transpose that moves an axis of 1 is lost before a reduction that drops its axes",
    "Transpose-1: the order that it is given",
    "in IR that is written: the reduction keeps its axes, which a Squeeze drops",
)
def openvino_transposed_and_reduced() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        turned = op.transpose(x, op.constant(np.array([0, 2, 1])))
        return op.reduce_sum(turned, op.constant(np.array([0])), False)

    return openvino_run(build, np.float32([[[1], [2]], [[3], [4]]])), [[4.0, 6.0]]


@_fault(
    "openvino",
    "A reduction that keeps its axes moves an axis that was made behind them",
    "Unsqueeze-1 and ReduceMax-1; the same layers with open sizes",
    "in IR that is written: the reduction is along the axis of 1, too",
)
def openvino_moved_axis() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        return op.reduce_max(op.unsqueeze(x, op.constant(np.array([2]))), op.constant(np.array([0])), True)

    return openvino_run(build, np.float32([[1, 4], [3, 2]])), [[[3.0], [4.0]]]


@_fault(
    "openvino",
    "A reduction is put before a Reshape that splits axes, or moves one, as if that made axes only",
    "Reshape-1: the sizes that it is given",
    "in IR that is written: the reduction is along an axis of 1, too",
)
def openvino_reshaped_and_reduced() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        return op.reduce_max(op.reshape(x, op.constant(np.array([1, 1, 2])), False), op.constant(np.array([2])), True)

    return openvino_run(build, np.float32([[1], [2]])), [[[2.0]]]


@_fault(
    "openvino",
    "A Gather along an axis that was just made is lost with it where two sizes are open",
    "Gather-8; the same layers at fixed sizes",
    "in IR that is written: the two layers count the axis from different ends",
)
def openvino_lost_gather() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        axis = op.constant(np.array([0]))
        return op.gather(op.unsqueeze(x, axis), op.constant(np.array([0, 0])), axis)

    return openvino_run(build, np.float32([[1, 2]]), open_sizes=True), [[[1.0, 2.0]], [[1.0, 2.0]]]


@_fault(
    "openvino",
    "An empty batch of sequences whose biases are computed kills the process",
    "RNNSequence-5; the same layer with constant biases gives nothing",
    "the report tells that it died",
    right="[]",
)
def openvino_no_sequences() -> tuple[Any, Any]:
    def build(op: Any, *inputs: Any) -> Any:
        x, state, lengths, biases = inputs
        weights, recurrence = (op.constant(np.ones((1, 2, size), np.float32)) for size in (1, 2))
        return op.rnn_sequence(x, state, lengths, weights, recurrence, biases, 2, "forward").output(0)

    x, state, biases = (np.zeros(shape, np.float32) for shape in ((0, 1, 1), (0, 1, 2), (1, 2)))
    return openvino_run(build, x, state, np.zeros(0, np.int32), biases, open_sizes=True), []


@_fault(
    "openvino",
    "The Abs of a vector that is computed of constants is dropped",
    "Abs-1: the magnitude",
    "in IR that is written: the vector has an axis more there",
)
def openvino_dropped_magnitude() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        return op.add(x, op.abs(op.multiply(op.constant(np.float32([1, 2])), op.constant(np.float32(-2)))))

    return openvino_run(build, np.float32([0, 0])), [2.0, 4.0]


@_fault(
    "openvino",
    "A Select that chooses its own condition isn't loaded",
    "Select-1: what the condition or the other bool is",
    "in IR that is written: bools are chosen by LogicalAnd and LogicalOr",
)
def openvino_chosen_condition() -> tuple[Any, Any]:
    def build(op: Any, x: Any, other: Any) -> Any:
        above = op.greater(x, op.constant(np.float32(0)))
        return op.select(above, above, other)

    try:
        return openvino_run(build, np.float32([1, -1, -2]), np.array([False, False, True])), [True, False, True]
    except RuntimeError as error:
        return f"an error: {str(error).strip().splitlines()[-1]}", [True, False, True]


@_fault(
    "openvino",
    "A FakeQuantize of open sizes by bounds along the third axis isn't loaded",
    "FakeQuantize-1: bounds that broadcast to the data",
    "in IR that is written: a QuantizeLinear is made of other layers there",
)
def openvino_third_axis_of_bounds() -> tuple[Any, Any]:
    def build(op: Any, x: Any) -> Any:
        low, high = (op.constant(np.float32(bounds).reshape(1, 1, 2)) for bounds in ([0, 0], [3, 6]))
        return op.fake_quantize(x, low, high, low, high, 4)

    try:
        return openvino_run(build, np.float32([[[1.1, 1.1]]]), open_sizes=True), [[[1.0, 2.0]]]
    except RuntimeError as error:
        return f"an error: {str(error).strip().splitlines()[-1]}", [[[1.0, 2.0]]]


@_fault(
    "openvino",
    "Integers are divided in float32",
    "123456789 is 12345678 times 10, and 9",
    _NAMED,
)
def openvino_wide_quotient() -> tuple[Any, Any]:
    x, y = np.array([123_456_789], np.int32), np.array([10], np.int32)
    found = [openvino_run(build, x, y) for build in (lambda op, x, y: op.divide(x, y), lambda op, x, y: op.mod(x, y))]
    return found, [(x // y).tolist(), (x % y).tolist()]


@_fault(
    "openvino",
    "A quotient is a product with the reciprocal, rounded twice",
    "IEEE 754: a quotient that the type holds is that number",
    "the report counts it as rounding",
)
def openvino_exact_quotient() -> tuple[Any, Any]:
    x, y = np.float32([41, 82, 123, 164]), np.float32([41])
    return openvino_run(lambda op, x, y: op.floor(op.divide(x, y)), x, y), [1, 2, 3, 4]


@_fault(
    "openvino",
    "A convolution of constants is computed once, and overwritten by what is added to it",
    "the first inference: 1 + 1",
    "in IR that is written: such layers are computed before",
)
def openvino_overwritten_constant() -> tuple[Any, Any]:
    import openvino as ov
    from openvino import opset15 as op

    ones = [op.constant(np.ones(shape, np.float32)) for shape in ((1, 1, 1, 1), (1, 1, 1, 1))]
    made = op.convolution(*ones, [1, 1], [0, 0], [0, 0], [1, 1])
    x = op.parameter([1, 1, 1, 1], ov.Type.f32)
    run = compiled(ov.Model([op.add(made, x)], [x], "m"))
    one = np.ones((1, 1, 1, 1), np.float32)
    return [run([one])[0].item() for _ in range(3)], [2.0, 2.0, 2.0]


@_fault(
    "openvino", "Infinite weights make nothing of the padding", "0 times infinity is NaN, as in ONNX Runtime", _NAMED
)
def openvino_weights_over_padding() -> tuple[Any, Any]:
    def convolved(op: Any, x: Any) -> Any:
        weights = op.constant(np.float32([1, np.inf]).reshape(1, 1, 2))
        return op.convolution(x, weights, [1], [0], [1], [1])

    return openvino_run(convolved, np.float32([[[1, 2]]])), [[[np.inf, np.nan]]]


@_fault("openvino", "exp(NaN) is infinity", "NumPy: NaN", _NAMED)
def openvino_exp_of_nan() -> tuple[Any, Any]:
    return openvino_run(lambda op, x: op.exp(x), np.array([np.nan], np.float32)), [np.nan]


@_fault(
    "openvino",
    "The squares of ReduceL2 don't take more than 32 bits",
    "the root of 50000^2",
    "in IR that is written: integers are reduced as float32",
)
def openvino_integer_norm() -> tuple[Any, Any]:
    x = np.array([50_000], np.int32)
    return openvino_run(lambda op, x: op.reduce_l2(x, op.constant(np.array([0]))), x), 50_000


@_fault(
    "openvino",
    "Open matrices aren't multiplied by a constant stack",
    "MatMul-1: shapes are broadcast as NumPy does",
    "the second factor's transpose times the first one's, transposed",
)
def openvino_constant_stack() -> tuple[Any, Any]:
    x, stack = np.ones((1, 1), np.float32), np.ones((2, 1, 1), np.float32)
    try:
        return openvino_run(
            lambda op, x: op.matmul(x, op.constant(stack), False, False), x, open_sizes=True
        ), stack.tolist()
    except RuntimeError as error:
        return f"an error: {str(error).strip().splitlines()[-1]}", stack.tolist()


# ONNX Runtime --------------------------------------------------------------------------------------

_DOUBTED = "what it gives then isn't believed"


@_fault("onnxruntime", "ReduceMax passes over NaN", "NumPy's maximum, which ONNX's operator is defined by", _NAMED)
def onnxruntime_reduced_nan() -> tuple[Any, Any]:
    text = "g (float[3] x) => (float[1] y) { y = ReduceMax (x) }"
    return onnxruntime_run(text, x=np.float32([1, np.nan, 2])), [np.nan]


@_fault("onnxruntime", "MaxPool of nothing but -infinity is the lowest number", "the largest element", _NAMED)
def onnxruntime_pooled_infinity() -> tuple[Any, Any]:
    text = "g (float[1, 1, 2] x) => (float[1, 1, 1] y) { y = MaxPool <kernel_shape = [2]> (x) }"
    return onnxruntime_run(text, x=np.full((1, 1, 2), -np.inf, np.float32)), [[[-np.inf]]]


@_fault("onnxruntime", "Sums of integers stop at the type's limits", "two's complement, as of Add and in NumPy", _NAMED)
def onnxruntime_limited_sum() -> tuple[Any, Any]:
    text = "g (int32[2] x) => (int32[1] y) { y = ReduceSum (x) }"
    x = np.array([2**31 - 1, 1], np.int32)
    return onnxruntime_run(text, x=x), [int(x.sum(dtype=np.int32))]


@_fault("onnxruntime", "ArgMax passes over NaN", "NumPy's argmax: the first NaN", _NAMED)
def onnxruntime_argmax_nan() -> tuple[Any, Any]:
    text = "g (float[3] x) => (int64[1] y) { y = ArgMax (x) }"
    return onnxruntime_run(text, x=np.float32([1, np.nan, 2])), [1]


@_fault("onnxruntime", "Sign of float16's NaN is 0", "ONNX's Sign of NaN, as of float32: NaN", "in ONNX made of HLO")
def onnxruntime_sign_of_nan() -> tuple[Any, Any]:
    text = "g (float16[1] x) => (float16[1] y) { y = Sign (x) }"
    return onnxruntime_run(text, x=np.array([np.nan], np.float16)), [np.nan]


@_fault(
    "onnxruntime",
    "Where makes +0 of a -0 that it chooses",
    "Where: x where the condition is true",
    "in ONNX made of HLO",
)
def onnxruntime_where_zero() -> tuple[Any, Any]:
    text = "g (bool[1] c, float[1] x, float[1] y) => (float[1] z) { z = Where (c, x, y) }"
    return onnxruntime_run(text, c=np.array([True]), x=np.float32([-0.0]), y=np.float32([1])), [-0.0]


@_fault("onnxruntime", "-0 of 8-bit floats is true", "Cast: -0.0 is false, as +0.0", "in ONNX made of HLO")
def onnxruntime_minus_zero_is_true() -> tuple[Any, Any]:
    text = "g (float[1] x) => (bool[1] y) { e = Cast <to = 17> (x) y = Cast <to = 9> (e) }"
    return onnxruntime_run(text, x=np.float32([-0.0])), [False]


@_fault(
    "onnxruntime",
    "The iteration number that a Loop's body returns itself is one for all passes",
    "Loop: scan outputs are stacked, pass by pass",
    _NAMED,
)
def onnxruntime_iterations() -> tuple[Any, Any]:
    text = """g (int64 m) => (int64[n] y) <bool go = {1}> {
        y = Loop (m, go) <body = b (int64 i, bool c) => (bool d, int64 i) { d = Identity (c) }> }"""
    return onnxruntime_run(text, m=np.array(3)), [0, 1, 2]


@_fault(
    "onnxruntime",
    "A sum of int32 stops at the type's limits",
    "Add, which begins again at the other end",
    "in ONNX made of HLO",
)
def onnxruntime_saturated_sum() -> tuple[Any, Any]:
    text = "g (int32[2] x) => (int32[1] y) { y = ReduceSum (x) }"
    return onnxruntime_run(text, x=np.array([2**31 - 1, 1], np.int32)), [-(2**31)]


@_fault(
    "onnxruntime",
    "A sum of int64 is computed in floats",
    "Add, and ReduceSum's own type: 2^53 + 2, which int64 holds",
    "no",
)
def onnxruntime_long_sum() -> tuple[Any, Any]:
    text = """g (int64[2, 1] x) => (int64[1, 1] y) <int64[1] axes = {0}> { y = ReduceSum (x, axes) }"""
    return onnxruntime_run(text, x=np.array([[2**53 + 1], [1]])), [[2**53 + 2]]


@_fault("onnxruntime", "Shrink of float64 is computed in float32", "Shrink: the same type as the input", _NAMED)
def onnxruntime_shrink() -> tuple[Any, Any]:
    text = "g (double[1] x) => (double[1] y) { y = Shrink <lambd = 0.0> (x) }"
    return onnxruntime_run(text, x=np.array([1 + 2.0**-40])), [1 + 2.0**-40]


@_fault("onnxruntime", "NonZero of a scalar has a row", 'NonZero: "for scalar input (0, N) instead of (1, N)"', "no")
def onnxruntime_nonzero_of_scalar() -> tuple[Any, Any]:
    text = "g (float x) => (int64[r, n] y) { y = NonZero (x) }"
    return onnxruntime_run(text, x=np.array(3, np.float32)), []


@_fault(
    "onnxruntime",
    "SplitToSequence drops the axis although `split` is given",
    'SplitToSequence: "If input split is specified, this attribute is ignored"',
    "no",
)
def onnxruntime_split_axis() -> tuple[Any, Any]:
    text = """g (float[1, 2] x) => (float[1, k] y) <int64 s = {1}, int64 first = {0}> {
        parts = SplitToSequence <axis = 0, keepdims = 0> (x, s) y = SequenceAt (parts, first) }"""
    return onnxruntime_run(text, x=np.float32([[1, 2]])), [[1.0, 2.0]]


@_fault(
    "onnxruntime",
    "MeanVarianceNormalization leaves out the 1e-9 that is added to the deviation",
    "its definition, which adds 1e-9 to the deviation",
    _NAMED,
)
def onnxruntime_no_variance() -> tuple[Any, Any]:
    text = "g (float[2, 2] x) => (float[2, 2] y) { y = MeanVarianceNormalization <axes = [1]> (x) }"
    near = 0.5e-5 / (0.5e-5 + 1e-9)
    return onnxruntime_run(text, x=np.float32([[2, 2], [1e-5, 2e-5]])), [[0.0, 0.0], [-near, near]]


@_fault("onnxruntime", "Sign of NaN is 0 in float16", "NumPy; in float32 it is NaN there, too", _NAMED)
def onnxruntime_sign_of_half() -> tuple[Any, Any]:
    text = "g (float16[1] x) => (float16[1] y) { y = Sign (x) }"
    return onnxruntime_run(text, x=np.float16([np.nan])), [np.nan]


@_fault(
    "onnxruntime",
    "LRN leaves the rounding errors of one channel's square in others",
    "its definition, x / sqrt(1 + 0.1 x^2) of each channel",
    _NAMED,
)
def onnxruntime_running_squares() -> tuple[Any, Any]:
    text = "g (float[1,2,1,1] x) => (float[1,2,1,1] y) { y = LRN <size = 1, alpha = 0.1, beta = 0.5> (x) }"
    x = [3163.0, 7.1]
    return onnxruntime_run(text, x=np.float32(x).reshape(1, 2, 1, 1)), [[[[v / (1 + 0.1 * v * v) ** 0.5]] for v in x]]


@_fault(
    "onnxruntime",
    "What is dequantized and reshaped, and captured by a branch or a loop, kills the process",
    "If-21: a branch sees the values around it; without optimization",
    "no",
    right="[-1.0]",
)
def onnxruntime_captured_quantized() -> tuple[Any, Any]:
    text = """g (int8 q, bool c) => (float[1] y) <float s = {0.5}, int64[1] one = {1}> {
        d = DequantizeLinear (q, s) r = Reshape (d, one)
        y = If (c) <then_branch = t () => (float[1] p) { p = Neg (r) },
                    else_branch = e () => (float[1] o) { o = Abs (r) }> }"""
    return onnxruntime_run(text, q=np.int8(2), c=np.array(True)), [-1.0]


@_fault(
    "onnxruntime",
    "InstanceNormalization takes the mean off after it has multiplied",
    "its definition, where what is 0 less its mean leaves the bias",
    "no",
)
def onnxruntime_lost_bias() -> tuple[Any, Any]:
    text = "g (float[1, 1, 1] x, float[1] s) => (float[1, 1, 1] y) { y = InstanceNormalization (x, s, s) }"
    bias = np.float32([0.001776])
    return onnxruntime_run(text, x=np.float32([[[1879]]]), s=bias), [[bias.tolist()]]


@_fault(
    "onnxruntime",
    "A Scan over no elements, along an axis behind another, kills the process",
    "Scan-9: without an element the state stays as it was",
    "no",
    right="[7.0]",
)
def onnxruntime_scan_of_nothing() -> tuple[Any, Any]:
    text = """g (float[1] x, float[2, n] z) => (float[1] y) { y = Scan <num_scan_inputs = 1, scan_input_axes = [1],
        body = b (float[1] s, float[2] e) => (float[1] t) { t = Identity (s) }> (x, z) }"""
    return onnxruntime_run(text, x=np.float32([7]), z=np.zeros((2, 0), np.float32)), [7.0]


@_fault(
    "onnxruntime",
    "A GRU over no steps, or of no batch, kills the process",
    "GRU-14: without a step the state stays as it was",
    "no",
    right="[[[0.0]]]",
)
def onnxruntime_gru_of_nothing() -> tuple[Any, Any]:
    text = """g (float[n, 1, 1] x, float[1, 3, 1] w, float[1, 3, 1] r) => (float[1, 1, 1] h) {
        , h = GRU <hidden_size = 1> (x, w, r) }"""
    gates = np.ones((1, 3, 1), np.float32)
    return onnxruntime_run(text, x=np.zeros((0, 1, 1), np.float32), w=gates, r=gates), [[[0.0]]]


@_fault(
    "onnxruntime",
    "An Expand by a constant of 0s and 1s is dropped",
    "Expand-13: an axis of one element becomes one of none; without optimizations it does",
    "in ONNX that is written: what becomes empty is a constant",
)
def onnxruntime_expanded_to_nothing() -> tuple[Any, Any]:
    text = "g (float[2, 1] x) => (float[n, m] y) <int64[2] s = {1, 0}> { a = Neg (x) b = Expand (a, s) y = Neg (b) }"
    return np.shape(onnxruntime_run(text, x=np.ones((2, 1), np.float32))), (2, 0)


@_fault(
    "onnxruntime",
    "MaxUnpool takes its indices for those of the shape that is given",
    "MaxUnpool-9: of the shape that the window's attributes give; ONNX's test of it, and its reference",
    _DOUBTED,
)
def onnxruntime_unpooled() -> tuple[Any, Any]:
    text = """g (float[1, 1, 1, 1] x, int64[1, 1, 1, 1] i) => (float[1, 1, 2, 3] y) <int64[4] s = {1, 1, 2, 3}>
        { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }"""
    one = np.ones((1, 1, 1, 1), np.float32)
    return onnxruntime_run(text, x=one, i=np.full(one.shape, 3)), [[[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]]


@_fault(
    "onnxruntime",
    "GridSample finds elements at places that int64 doesn't hold",
    "GridSample: with padding_mode zeros, what is out of bounds is 0",
    "no",
)
def onnxruntime_far_places() -> tuple[Any, Any]:
    text = "g (float[1, 1, 1, 1] x, float[1, 1, 1, 2] g) => (float[1, 1, 1, 1] y) { y = GridSample (x, g) }"
    return onnxruntime_run(text, 20, x=np.float32([[[[1]]]]), g=np.float32([[[[0, 1e30]]]])), [[[[0.0]]]]


@_fault(
    "onnxruntime",
    "Normalizer squares int32 in int32",
    "L2 normalization: rows of length 1; of int64 and float it gives them",
    _NAMED,
)
def onnxruntime_int32_squares() -> tuple[Any, Any]:
    text = 'g (int32[1, 2] x) => (float[1, 2] y) { y = ai.onnx.ml.Normalizer <norm = "L2"> (x) }'
    right = [[float(np.float32(k / 5**0.5 / 2**16)) for k in (2**17, 2**16)]]
    return onnxruntime_run(text, x=np.int32([[2**17, 2**16]])), right


@_fault(
    "onnxruntime",
    "Normalizer squares int64 in int64",
    "L2 normalization: rows of length 1; of float it gives them",
    _NAMED,
)
def onnxruntime_int64_squares() -> tuple[Any, Any]:
    text = 'g (int64[1, 2] x) => (float[1, 2] y) { y = ai.onnx.ml.Normalizer <norm = "L2"> (x) }'
    return onnxruntime_run(text, x=np.array([[2**32, 0]])), [[1.0, 0.0]]


@_fault(
    "onnxruntime",
    "OneHot counts indices below 0 from the end before version 11",
    'OneHot-9: "values outside the range [0, depth) will result in one-hot representation with all off_value"',
    "no",
)
def onnxruntime_hot_from_the_end() -> tuple[Any, Any]:
    text = """g (int64[1] x) => (float[1, 2] y) <int64 d = {2}, float[2] v = {0, 1}> { y = OneHot (x, d, v) }"""
    return onnxruntime_run(text, 9, x=np.array([-1])), [[0.0, 0.0]]


@_fault(
    "onnxruntime",
    "A target without a vote lacks its base value",
    'TreeEnsembleRegressor: base values are "added to final prediction after applying aggregate function"',
    _DOUBTED,
)
def onnxruntime_base_value() -> tuple[Any, Any]:
    return onnxruntime_run(_one_leaf("SUM"), x=np.float32([[0]])), [[11.0, 20.0]]


@_fault(
    "onnxruntime", "Text that a Loop stacks is moved out of what passes share", "Loop: captured values stay", _DOUBTED
)
def onnxruntime_moved_text() -> tuple[Any, Any]:
    text = """g (int64 m, string[1] x) => (string[n, 1] y) { go = Constant <value = bool {1}> ()
        y = Loop (m, go) <body = b (int64 i, bool c) => (bool d, string[1] z) {
            d = Identity (c) z = Identity (x) }> }"""
    return onnxruntime_run(text, m=np.array(2), x=np.array(["a"], object)), [["a"], ["a"]]


@_fault("onnxruntime", "LogSoftmax of float64 makes numbers of NaN", "NumPy's arithmetic: there is no sum", _NAMED)
def onnxruntime_share_of_nan() -> tuple[Any, Any]:
    text = "g (double[2] x) => (double[2] y) { y = LogSoftmax (x) }"
    return onnxruntime_run(text, x=np.array([1, np.nan])), [np.nan, np.nan]


@_fault("onnxruntime", "Resize cuts integers off", "onnx's reference rounds 2/3 to the nearest integer", _NAMED)
def onnxruntime_resized_integers() -> tuple[Any, Any]:
    text = """g (int32[1, 1, 1, 2] x) => (int32[1, 1, 1, 4] y) <int64[4] s = {1, 1, 1, 4}> {
        y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, , , s) }"""
    return onnxruntime_run(text, x=np.int32([[[[0, 2]]]])), [[[[0, 1, 1, 2]]]]


@_fault(
    "onnxruntime",
    "Products of 8-bit integers over no columns aren't written",
    "QLinearMatMul, as onnx's reference has it: sums of nothing are 0, which the zero point stands for; MatMulInteger",
    _NAMED,
)
def onnxruntime_products_of_nothing() -> tuple[Any, Any]:
    text = """g (uint8[64,0] a, uint8[0,64] b, float s, uint8 z) => (int32 y) {
        q = QLinearMatMul (a, s, z, b, s, z, s, z) e = Equal (q, z) i = Cast <to = 6> (e)
        y = ReduceMin <keepdims = 0> (i) }"""
    nothing = np.zeros((64, 0), np.uint8)
    return onnxruntime_run(text, a=nothing, b=nothing.T, s=np.array(1, np.float32), z=np.array(6, np.uint8)), 1


@_fault(
    "onnxruntime",
    "LRN makes NaN of the channels behind one whose square overflows",
    "LRN-13: (1 + 0.01 * 2^2)^-0.75 * 2; OpenVINO and XLA",
    _NAMED,
)
def onnxruntime_channels_behind_infinity() -> tuple[Any, Any]:
    text = "g (float[1,3,1,1] x) => (float[1,3,1,1] y) { y = LRN <size = 1, alpha = 0.01> (x) }"
    x = np.array([2, 1e20, 2], np.float32).reshape(1, 3, 1, 1)
    return np.round(np.ravel(onnxruntime_run(text, x=x)), 4).tolist(), [1.942, 0.0, 1.942]


@_fault(
    "onnxruntime",
    "Gather copies the first string of a slice only",
    "Gather-13: whole slices; onnx's reference",
    "in ONNX that is made (`taken`); the report names it where a model has such slices",
)
def onnxruntime_first_strings() -> tuple[Any, Any]:
    text = "g (string[2, 2] x, int64[1] i) => (string[1, 2] y) { y = Gather (x, i) }"
    return onnxruntime_run(text, x=np.array([["a", "b"], ["c", "d"]], object), i=np.array([1])), [["c", "d"]]


@_fault(
    "onnxruntime",
    "A Slice backwards to INT_MAX goes to the first element",
    "Slice-13: an end beyond the axis is its last element, INT_MIN its first; onnx's reference and OpenVINO",
    _NAMED,
)
def onnxruntime_backwards_to_int_max() -> tuple[Any, Any]:
    text = "g (float[3] x, int64[1] s, int64[1] e, int64[1] a) => (float[n] y) { y = Slice (x, s, e, a, s) }"
    ends = {"s": np.array([-1]), "e": np.array([2**63 - 1]), "a": np.array([0])}
    return onnxruntime_run(text, x=np.float32([1, 2, 3]), **ends), []


@_fault("onnxruntime", "Where takes the sign off zeros", "Where-16: the element; onnx's reference", _NAMED, "-inf")
def onnxruntime_chosen_zero() -> tuple[Any, Any]:
    text = "g (bool c, float[1] x) => (float[1] y) { z = Where (c, x, x) y = Reciprocal (z) }"
    return onnxruntime_run(text, c=np.array(True), x=np.float32([-0.0])), [-np.inf]


@_fault(
    "onnxruntime",
    "Unique takes NaN for the same as any element",
    "ONNX's text doesn't say it; onnx's reference and OpenVINO keep NaN apart from numbers",
    _NAMED,
)
def onnxruntime_unique_nan() -> tuple[Any, Any]:
    text = "g (float[3] x) => (float[n] y) { y = Unique (x) }"
    return onnxruntime_run(text, x=np.float32([1, np.nan, 2])), [1.0, 2.0, np.nan]


@_fault("onnxruntime", "MeanVarianceNormalization of halves isn't loaded at opsets 13 and 18", "ONNX's text", "no")
def onnxruntime_unloaded_deviation() -> tuple[Any, Any]:
    text = "g (float16[1, 2] x) => (float16[1, 2] y) { y = MeanVarianceNormalization <axes = [1]> (x) }"
    x, found = np.array([[1, 3]], np.float16), list[Any]()
    for opset in (13, 17, 18, 19):
        try:
            found.append(onnxruntime_run(text, opset, x=x))
        except Exception as error:
            found.append(type(error).__name__)
    return found, [[[-1.0, 1.0]]] * 4


@_fault(
    "onnxruntime",
    "An If by a constant, in a branch, gives nothing where it gives a constant of open size",
    "If-13: what the branch gives; without optimization",
    "no",
)
def onnxruntime_nothing_of_a_branch() -> tuple[Any, Any]:
    text = """g (bool b, float[n] x) => (float[m] y) { y = If (b) <
      then_branch = t () => (float[m] z) {
        yes = Constant <value = bool {1}> ()
        z = If (yes) <then_branch = u () => (float[m] c) { c = Constant <value = float[2] {2, 3}> () },
                      else_branch = v () => (float[m] e) { e = Identity (x) }>
      }, else_branch = w () => (float[m] d) { d = Identity (x) }> }"""
    try:
        return onnxruntime_run(text, b=np.array(True), x=np.float32([1])), [2.0, 3.0]
    except AttributeError:
        return "nothing", [2.0, 3.0]


@_fault(
    "onnxruntime",
    "What is quantized twice is quantized once",
    "QuantizeLinear-19; without optimization",
    "no",
)
def onnxruntime_quantized_twice() -> tuple[Any, Any]:
    text = """g (float[2] x) => (float[2] y) <float one = {1}, float half = {0.5}, uint8 zero = {0}> {
      a = QuantizeLinear (x, one, zero) b = DequantizeLinear (a, one, zero)
      c = QuantizeLinear (b, half, zero) y = DequantizeLinear (c, half, zero) }"""
    return onnxruntime_run(text, x=np.float32([0.6, 2.4])), [1.0, 2.0]


@_fault("onnxruntime", "A Scan whose part is folded to a constant isn't run", "ONNX's text; without optimization", "no")
def onnxruntime_folded_part() -> tuple[Any, Any]:
    text = """g (float[2] x) => (float[2, 1] y) <bool c = {1}, int64[1] one = {1}> {
        y = Scan <num_scan_inputs = 1, body = b (float e) => (float[n] part) {
            part = If (c) <then_branch = t () => (float[n] ones) { ones = ConstantOfShape (one) },
                else_branch = f () => (float[n] same) { same = Identity (e) }>
        }> (x) }"""
    try:
        found: Any = onnxruntime_run(text, 13, x=np.float32([3, 4]))
    except Exception as error:
        found = "an error: is_concrete_shape_ was false" if "is_concrete_shape_" in str(error) else str(error)
    return found, [[0.0], [0.0]]


# onnx's reference evaluator ------------------------------------------------------------------------


@_fault(
    "onnxruntime",
    "The mask of Dropout is all zeros before version 12",
    "Dropout-12: all ones where nothing is dropped; OpenVINO and onnx's reference, of all versions",
    _DOUBTED,
)
def onnxruntime_dropout_mask() -> tuple[Any, Any]:
    text = "g (float[2] x) => (bool[2] m) { y, m = Dropout (x) }"
    return onnxruntime_run(text, 10, x=np.float32([1, 2])), [True, True]


@_fault(
    "onnxruntime",
    "Inverse DFTs of float64 are multiplied by a float32",
    "the definition: 1 / n, of the lengths that are no power of two as of the others",
    "what rounding is allowed to do there counts it in",
)
def onnxruntime_inverse_transform() -> tuple[Any, Any]:
    text = "g (double[1,3,2] x) => (double[1,3,2] y) { y = DFT <inverse = 1> (x) }"
    found = np.array(onnxruntime_run(text, x=np.array([[[3.0, 0], [0, 0], [0, 0]]])))
    return float(found[0, 0, 0]), 1.0


_UNUSED = "it isn't asked about such models"


@_fault("reference", "Scalars that a Loop stacks get an axis more", "Loop: K scalars have the shape [K]", _UNUSED)
def reference_stacked_scalars() -> tuple[Any, Any]:
    text = """g (int64 m) => (int64[n] y) <bool go = {1}> {
        y = Loop (m, go) <body = b (int64 i, bool c) => (bool d, int64 j) { d = Identity (c) j = Neg (i) }> }"""
    return reference_run(text, m=np.array(3)), [0, -1, -2]


@_fault("reference", "A Loop without passes is an error", "Loop: with M = 0 its carried values stay", _UNUSED)
def reference_no_passes() -> tuple[Any, Any]:
    text = """g (int64 m, float[1] x) => (float[1] y, int64[n] s) <bool go = {1}> {
        y, s = Loop (m, go, x) <body = b (int64 i, bool c, float[1] v) => (bool d, float[1] w, int64 j) {
            d = Identity (c) w = Neg (v) j = Neg (i) }> }"""
    return reference_run(text, m=np.array(0), x=np.float32([1])), [1.0]


@_fault("reference", "StringNormalizer takes accents off letters", "StringNormalizer: case and stopwords only", _UNUSED)
def reference_accents() -> tuple[Any, Any]:
    text = 'g (string[1] x) => (string[1] y) { y = StringNormalizer <case_change_action = "LOWER"> (x) }'
    return reference_run(text, x=np.array(["É"], object)), ["é"]


@_fault("reference", "Softmax before version 13 takes one axis", "Softmax-11: all from `axis` on are one", _DOUBTED)
def reference_old_softmax() -> tuple[Any, Any]:
    text = "g (float[1,2,1] x) => (float[1,2,1] y) { y = Softmax (x) }"
    return reference_run(text, 11, x=np.zeros((1, 2, 1), np.float32)), [[[0.5], [0.5]]]


@_fault("reference", "Erf of integers is computed in float32", "the definition: erf(5) is less than 1", _DOUBTED)
def reference_erf_of_integers() -> tuple[Any, Any]:
    return reference_run("g (int32[1] x) => (int32[1] y) { y = Erf (x) }", 9, x=np.int32([5])), [0]


@_fault("reference", "Erf of float64 is computed in float32", "the definition", _DOUBTED)
def reference_erf_of_doubles() -> tuple[Any, Any]:
    import math

    return reference_run("g (double[1] x) => (double[1] y) { y = Erf (x) }", x=np.array([0.5])), [math.erf(0.5)]


@_fault(
    "reference",
    "A target without a vote gets the largest float",
    "TreeEnsembleRegressor, as of sums and in ONNX Runtime: 0 where nothing is aggregated",
    _DOUBTED,
)
def reference_least_vote() -> tuple[Any, Any]:
    return reference_run(_one_leaf("MIN", base=""), x=np.float32([[0]])), [[1.0, 0.0]]


@_fault("reference", "Labels below 0 have the weight of class 0", "its own scores, and ONNX's function", _DOUBTED)
def reference_labels_below_0() -> tuple[Any, Any]:
    text = """g (float[1,2] x, int64[1] t, float[2] w) => (float y)
        { y = NegativeLogLikelihoodLoss <reduction = "sum"> (x, t, w) }"""
    return reference_run(text, x=np.float32([[1, 2]]), t=np.array([-1]), w=np.float32([1, 3])), -6.0


@_fault(
    "reference",
    "BatchNormalization before version 14 normalizes by the batch's own numbers",
    "BatchNormalization-9: (5 - 2) / sqrt(9) * 2 + 2 is 4; ONNX Runtime",
    _DOUBTED,
)
def reference_batches() -> tuple[Any, Any]:
    text = """g (float[2,1] x, float[1] s, float[1] v) => (float[2,1] y)
        { y = BatchNormalization <epsilon = 0.0> (x, s, s, s, v) }"""
    feeds = {"x": np.float32([[5], [8]]), "s": np.float32([2]), "v": np.float32([9])}
    return reference_run(text, 9, **feeds), [[4.0], [6.0]]


@_fault(
    "reference",
    "RoiAlign before version 16 takes half a pixel off",
    "RoiAlign-10 has no half_pixel: the points of the cell lie at 0.5 and 1.5; ONNX Runtime",
    _DOUBTED,
)
def reference_centred_regions() -> tuple[Any, Any]:
    text = """g (float[1,1,1,4] x, float[1,4] r, int64[1] i) => (float[1,1,1,1] y)
        { y = RoiAlign <sampling_ratio = 2> (x, r, i) }"""
    feeds = {"x": np.float32([[[[0, 1, 2, 3]]]]), "r": np.float32([[0, 0, 2, 0]]), "i": np.array([0])}
    return reference_run(text, 10, **feeds), [[[[1.0]]]]


@_fault(
    "reference",
    "GlobalMaxPool takes the largest along two axes, whatever the rank",
    "GlobalMaxPool-1: along all axes but the first two; ONNX Runtime",
    _DOUBTED,
)
def reference_two_axes() -> tuple[Any, Any]:
    text = "g (float[1,2,3] x) => (float[1,2,1] y) { y = GlobalMaxPool (x) }"
    return reference_run(text, x=np.float32([[[1, 2, 3], [4, 5, 6]]])), [[[3.0], [6.0]]]


@_fault(
    "reference",
    "LogSoftmax is the logarithm of a Softmax that underflows",
    "LogSoftmax-13: -200 - log(1 + exp(-200)); ONNX Runtime",
    _DOUBTED,
)
def reference_logarithm_of_zero() -> tuple[Any, Any]:
    text = "g (float[2] x) => (float[2] y) { y = LogSoftmax (x) }"
    return reference_run(text, x=np.float32([0, -200])), [0.0, -200.0]


@_fault(
    "reference",
    "The indices of MaxPool count from the start of each channel",
    "MaxPool-12: places in the whole tensor; ONNX Runtime",
    _DOUBTED,
)
def reference_places_of_channels() -> tuple[Any, Any]:
    text = "g (float[1,2,2] x) => (int64[1,2,1] i) { y, i = MaxPool <kernel_shape = [2]> (x) }"
    return reference_run(text, x=np.float32([[[1, 2], [3, 4]]])), [[[1], [3]]]


@_fault(
    "reference",
    "Normalizer divides by the largest magnitude",
    "Normalizer-1: x / max(x); ONNX Runtime",
    _DOUBTED,
)
def reference_largest_magnitude() -> tuple[Any, Any]:
    text = 'g (float[1,2] x) => (float[1,2] y) { y = ai.onnx.ml.Normalizer <norm = "MAX"> (x) }'
    return reference_run(text, x=np.float32([[1, -2]])), [[1.0, -2.0]]


@_fault(
    "reference",
    "SoftmaxCrossEntropyLoss is infinite where a Softmax underflows",
    "SoftmaxCrossEntropyLoss-13: minus the log-softmax, 200 + log(1 + exp(-200)); ONNX Runtime",
    _DOUBTED,
)
def reference_loss_of_zero() -> tuple[Any, Any]:
    text = "g (float[1,2] x, int64[1] t) => (float y) { y = SoftmaxCrossEntropyLoss (x, t) }"
    return reference_run(text, x=np.float32([[0, -200]]), t=np.int64([1])), 200.0


@_fault(
    "reference",
    "A tie in QLinearMatMul is rounded behind the zero point",
    "ONNX's text: x / scale is rounded to the even number, 2.5 to 2, and 3 is added",
    _DOUBTED,
)
def reference_ties_behind_the_zero_point() -> tuple[Any, Any]:
    text = """g (uint8[1,1] x, float s, float one, uint8 z) => (uint8[1,1] y) <uint8 three = {3}>
        { y = QLinearMatMul (x, s, z, x, one, z, one, three) }"""
    one = {"one": np.float32(1), "z": np.uint8(0)}
    return reference_run(text, x=np.array([[1]], np.uint8), s=np.float32(2.5), **one), [[5]]


@_fault(
    "reference",
    "LRN adds up squares for as many channels as there are images",
    "LRN-13: sqrt(3) / (1 + 3)^0.5; ONNX Runtime",
    _DOUBTED,
)
def reference_channels_beyond_images() -> tuple[Any, Any]:
    text = "g (float[1,2,1,1] x) => (float[1,2,1,1] y) { y = LRN <size = 1, alpha = 1.0, beta = 0.5> (x) }"
    x = np.array([0, np.sqrt(3)], np.float32).reshape(1, 2, 1, 1)
    return np.round(np.ravel(reference_run(text, x=x)), 4).tolist(), [0.0, 0.866]


@_fault(
    "reference",
    "What is unique is sorted although its order isn't asked for",
    "Unique with sorted = 0: in the order of appearance; ONNX Runtime",
    _DOUBTED,
)
def reference_sorted_unique() -> tuple[Any, Any]:
    text = "g (float[2] x) => (float[n] y) { y = Unique <sorted = 0> (x) }"
    return reference_run(text, x=np.float32([2, 1])), [2.0, 1.0]


@_fault("reference", "An optional's element comes out in a list", "OptionalGetElement: the element", _DOUBTED)
def reference_optional_element() -> tuple[Any, Any]:
    text = "g (float x) => (float[n] y) { o = Optional (x) e = OptionalGetElement (o) y = Add (x, e) }"
    return reference_run(text, x=np.float32(1)), 2.0


@_fault(
    "reference",
    "A position behind the last of a sequence is taken for that of the first",
    "SequenceInsert: a position in [-n, n], n for behind the last; ONNX Runtime",
    _DOUBTED,
)
def reference_inserted_last() -> tuple[Any, Any]:
    text = """g (float x, float z, int64 n) => (float[3] y) { p = SequenceConstruct (x, x)
        s = SequenceInsert (p, z, n) y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }"""
    return reference_run(text, x=np.float32(1), z=np.float32(2), n=np.array(2)), [1.0, 1.0, 2.0]


@_fault(
    "reference",
    "A float with a fraction is none of the integers of OneHotEncoder",
    "OneHotEncoder: floats are cast to integers; ONNX Runtime",
    _DOUBTED,
)
def reference_one_hot_fractions() -> tuple[Any, Any]:
    text = "g (float[1] x) => (float[1, 2] y) { y = ai.onnx.ml.OneHotEncoder <cats_int64s = [1, 2]> (x) }"
    return reference_run(text, x=np.float32([2.5])), [[0.0, 1.0]]


@_fault("reference", "Groups of ConvTranspose have the first one's bias", "ConvTranspose-11; ONNX Runtime", _DOUBTED)
def reference_groups() -> tuple[Any, Any]:
    text = """g (float[1,2,1] x, float[2,1,1] w, float[2] b) => (float[1,2,1] y)
        { y = ConvTranspose <group = 2> (x, w, b) }"""
    ones = {"x": np.ones((1, 2, 1), np.float32), "w": np.ones((2, 1, 1), np.float32)}
    return reference_run(text, **ones, b=np.float32([10, 20])), [[[11.0], [21.0]]]


@_fault(
    "reference",
    "Windows over the edge of an image are others where ceil_mode is set",
    "AveragePool-22: the windows start at 0 and 3; ONNX Runtime",
    _DOUBTED,
)
def reference_ceil_mode() -> tuple[Any, Any]:
    text = """g (float[1,1,4] x) => (float[1,1,n] y)
        { y = AveragePool <kernel_shape = [3], strides = [3], ceil_mode = 1> (x) }"""
    return reference_run(text, 22, x=np.float32([[[1, 2, 3, 4]]])), [[[2.0, 4.0]]]


@_fault("reference", "Uneven pads of MaxPool lose a window", "MaxPool-22: (2 + 1 - 2) / 1 + 1; ONNX Runtime", _DOUBTED)
def reference_uneven_pads() -> tuple[Any, Any]:
    text = "g (float[1,1,2] x) => (float[1,1,n] y) { y = MaxPool <kernel_shape = [2], pads = [0, 1]> (x) }"
    return reference_run(text, 22, x=np.float32([[[1, 2]]])), [[[2.0, 2.0]]]


@_fault(
    "reference",
    "Axes of Unsqueeze before version 13 are added one after the other",
    "Unsqueeze-11: their order doesn't matter; ONNX Runtime",
    _DOUBTED,
)
def reference_unsorted_axes() -> tuple[Any, Any]:
    text = "g (float[2] x) => (float[1,2,1] y) { y = Unsqueeze <axes = [2, 0]> (x) }"
    return reference_run(text, 11, x=np.float32([1, 2])), [[[1.0], [2.0]]]


@_fault(
    "reference",
    "A backwards Slice from before the first element takes nothing",
    "Slice-13: a start is moved into [0, size - 1]; ONNX Runtime",
    _DOUBTED,
)
def reference_early_start() -> tuple[Any, Any]:
    text = "g (float[2] x, int64[1] s, int64[1] a, int64[1] t) => (float[n] y) { y = Slice (x, s, s, a, t) }"
    steps = {"s": np.array([-5]), "a": np.array([0]), "t": np.array([-1])}
    return reference_run(text, x=np.float32([1, 2]), **steps), [1.0]


@_fault(
    "reference",
    "A bound of Shape before the first axis counts from the end",
    "Shape-15: it is moved to 0; ONNX Runtime",
    _DOUBTED,
)
def reference_early_bound() -> tuple[Any, Any]:
    return reference_run("g (float[2,3] x) => (int64[n] y) { y = Shape <end = -3> (x) }", x=np.ones((2, 3))), []


@_fault("reference", "LinearRegressor without intercepts gives NaN", "they are 0 then; ONNX Runtime", _DOUBTED)
def reference_intercepts() -> tuple[Any, Any]:
    text = "g (float[1,1] x) => (float[1,1] y) { y = ai.onnx.ml.LinearRegressor <coefficients = [2.0]> (x) }"
    return reference_run(text, x=np.float32([[3]])), [[6.0]]


@_fault(
    "reference",
    "Operators of ai.onnx.ml compute in the type of their input",
    "Scaler-1 gives float32: (3 - 0.5) * 1; ONNX Runtime",
    _DOUBTED,
)
def reference_types_of_inputs() -> tuple[Any, Any]:
    text = "g (int64[1] x) => (float[1] y) { y = ai.onnx.ml.Scaler <offset = [0.5], scale = [1.0]> (x) }"
    return reference_run(text, x=np.array([3])), [2.5]


# XLA -----------------------------------------------------------------------------------------------


@_fault("xla", "Denormal numbers are 0", "IEEE 754", _NAMED)
def xla_denormal() -> tuple[Any, Any]:
    import jax

    x = np.float32([1e-40])
    return np.asarray(jax.jit(lambda x: x * 2)(x)).tolist(), (x * np.float32(2)).tolist()


@_fault("xla", "Quotients by what is spread are 0 beyond 2^126: its reciprocal is denormal", "IEEE 754", _NAMED)
def xla_spread_divisor() -> tuple[Any, Any]:
    import jax

    x = np.float32([2.0**127, 2.0**126])
    return np.asarray(jax.jit(lambda x: x / x[:1])(x)).tolist(), [1.0, 0.5]


@_fault("xla", "Logarithms of what is no power are numbers: the base loses its sign", "IEEE 754: NaN", _NAMED)
def xla_logarithm_of_a_power() -> tuple[Any, Any]:
    import jax

    return np.asarray(jax.jit(lambda x: jax.numpy.log(x**0.7))(np.float32([-1, 1]))).tolist(), [math.nan, 0.0]


@_fault(
    "xla", "Constants divided by the integer 0 end the process", "XLA's own text: -1", "no: the report tells it", "-1"
)
def xla_constant_division() -> tuple[Any, Any]:
    import jax

    def divided(x: Any) -> Any:
        return x + jax.lax.div(np.int32(1), np.int32(0))

    return int(jax.jit(divided)(np.int32(0))), -1


@_fault(
    "xla",
    "log1p of float64 is up to 128 units off",
    "NumPy, one unit",
    "in HLO that is written: an Atanh is made of the log1p of positive numbers",
)
def xla_log1p() -> tuple[Any, Any]:
    import jax

    x = np.float64(-0.41416944308353365)
    with jax.enable_x64(True):
        return float(jax.jit(jax.lax.log1p)(x)), float(np.log1p(x))


@_fault(
    "xla",
    "In a While, -1 to an integer power below 0 is 0",
    "StableHLO's text; XLA outside of a While",
    "in HLO that is written: powers below 0 are chosen beside those from 0 on",
)
def xla_power_below_0() -> tuple[Any, Any]:
    text = """HloModule powers
        again {
          state = (s32[], s32[2]) parameter(0)
          i = s32[] get-tuple-element(state), index=0
          zero = s32[] constant(0)
          ROOT more = pred[] compare(i, zero), direction=GT
        }
        body {
          state = (s32[], s32[2]) parameter(0)
          i = s32[] get-tuple-element(state), index=0
          x = s32[2] get-tuple-element(state), index=1
          one = s32[] constant(1)
          next = s32[] subtract(i, one)
          k = s32[2] constant({-2, -3})
          power = s32[2] power(x, k)
          ROOT new = (s32[], s32[2]) tuple(next, power)
        }
        ENTRY main {
          x = s32[2] parameter(0)
          passes = s32[] parameter(1)
          start = (s32[], s32[2]) tuple(passes, x)
          end = (s32[], s32[2]) while(start), condition=again, body=body
          ROOT y = s32[2] get-tuple-element(end), index=1
        }"""
    return xla_run(text, np.int32([-1, -1]), np.int32(1)), [1, -1]
