"""What OpenVINO's CPU does otherwise than its specification, or than ONNX, and what stands for it: both ways.

A row of `WRITTEN` is a fault that is avoided in IR; one of `READ` is what IR means for those who ran it, read that way.
"""

from __future__ import annotations

from ...passes.workarounds import Workaround, table

NARROW = Workaround(
    "narrow-integers",
    "Abs, Add, Sub, Mul, Neg, MatMul, Gemm, Einsum, sums, products and means of int8 and uint8,"
    " Cast of floats of open sizes to them",
    "stops at the largest and the smallest number of the type, where ONNX begins again from the other end",
    "8-bit integers are computed in int32 and brought back: OpenVINO's CPU stops at the type's limits",
)
QUOTIENTS = Workaround(
    "narrow-quotients",
    "Div of int8 and uint8",
    "rounds to the nearest integer, where ONNX rounds towards zero",
    "quotients of 8-bit integers are computed in int32: OpenVINO's CPU rounds them to the nearest",
)
UNSIGNED = Workaround(
    "unsigned-32",
    "comparisons, Max, Min, Clip, ReduceMax, ReduceMin, ArgMax, ArgMin, TopK, Unique, right shifts, Sign, Cast to"
    " floats and constants from 2^31 on, of uint32",
    "holds uint32 in int32: from 2^31 on numbers are negative, and constants become 2^31 - 1",
    "uint32 is ordered, shifted and converted by its bits in int32: OpenVINO's CPU takes numbers from 2^31 on for"
    " negative ones",
)
UNORDERED = Workaround(
    "nan-order",
    "ArgMax, ArgMin and TopK of floats",
    "sorts by comparisons that are false for NaN: where there is one, what comes first isn't the largest",
    "NaN is ordered as an infinity: OpenVINO's CPU sorts numbers wrongly beside one",
)
LARGE = Workaround(
    "large-integers",
    "comparisons, Where, Clip, ReduceMax, ReduceMin, ReduceSum, ReduceL1, nearest Resize and padding of integers of 32"
    " and 64 bits, unless they certainly are below 2^24",
    "computes in float32, which rounds integers from 2^24 on",
    "integers that may be 2^24 or more are compared, chosen, bounded, summed, resized and padded with by layers that"
    " OpenVINO's CPU doesn't compute in float32",
)
WRITTEN = table(NARROW, QUOTIENTS, UNSIGNED, UNORDERED, LARGE)
"""Into IR, by name."""

FLOOR = Workaround(
    "integer-division",
    "Divide of signed integers, with m_pythondiv",
    "rounds towards zero, where the specification rounds down",
    "integer division rounds towards zero, as OpenVINO's CPU does; by the specification it rounds down (m_pythondiv)",
)
SATURATED = Workaround(
    "narrow-saturation",
    "Add, Subtract and Multiply of i8 and u8",
    "stops at the largest and the smallest number of the type; the specification says nothing of overflow",
    "8-bit arithmetic stops at the type's limits, as OpenVINO's CPU does",
)
FROM_FIRST = Workaround(
    "slices-from-the-first",
    "sequences that a Loop or TensorIterator slices from `start` other than 0 or -1",
    "takes as many parts, but from the first one on",
    "a sequence is sliced from its first part on, as OpenVINO's CPU does, not from `start`",
)
READ = table(FLOOR, SATURATED, FROM_FIRST)
"""Out of IR, by name."""
