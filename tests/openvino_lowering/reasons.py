"""Why cases aren't converted, or give other numbers in OpenVINO: the tables of the sweeps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

REFUSALS: dict[str, str] = {
    # what the refusal says (a regular expression): why IR can't express it
    r"the model (takes|gives) (seq|optional)\(": "a sequence or an optional enters or leaves the model; IR has tensors",
    r"no element type (float8e4m3fnuz|float8e5m2fnuz|int2)": "IR has no such element type",
    r"of uint2, which OpenVINO's CPU": "OpenVINO's CPU converts nothing from or to u2",
    r"the bits of \w+ can't be taken for": "IR has no operator that takes the bits of floats for integers",
    r"bits of 64-bit numbers": "OpenVINO's CPU computes 64-bit numbers in 32 bits, which have no bits of the others",
    r"rounds to float8e8m0 differently": "OpenVINO rounds down to a power of two",
    r"ImageDecoder isn't supported by OpenVINO": "IR has no operator that decodes image files",
    r"the rank of .* isn't known$": "OpenVINO's CPU has no values of any rank",
    r"known at run time only$": "OpenVINO's CPU must know it when it compiles",
    r"no RegexFullMatch$": "IR has no operator that looks for patterns in text",
    r"no (Cast|CastLike)$": "IR has no operator that spells numbers, or reads them",
}
"""Of refusals."""

FAULTS: dict[str, str] = {
    # part of a case's name: the fault of OpenVINO's CPU (test_faults.py shows each by IR of OpenVINO's own)
    "_DOUBLE": "float64 is computed in float32, and what is infinite becomes the largest number",
    "float64": "float64 is computed in float32, and what is infinite becomes the largest number",
    "1.7.0/test_nesterov_momentum": "none: that release recorded the tensors as they were before",
    "1.7.0/test_momentum": "none: that release recorded the tensors as they were before",
    "FLOAT16_to_UINT4": "none: a negative number as an unsigned one, which ONNX doesn't say",
    "FLOAT_to_UINT4": "none: a negative number as an unsigned one, which ONNX doesn't say",
    "dynamicquantizelinear": "a quotient is a product with the reciprocal, rounded twice",
}
"""Of wrong numbers."""

ONLY_THE_PEER: dict[str, str] = {}
"""Cases that `ov.convert_model` has right and we don't: why."""


def why_refused(reason: str) -> str:
    """The row of a refusal's reason; "" where there is none."""
    return next((why for pattern, why in REFUSALS.items() if re.search(pattern, reason)), "")


def why_wrong(name: str) -> str:
    """The fault that makes a case wrong; "" where none is known."""
    return next((why for part, why in FAULTS.items() if part in name), "")


def tally(whys: Iterable[str]) -> str:
    """A line for each reason, the most frequent first."""
    return "\n".join(f"{count:5} {why or '(no row in the table)'}" for why, count in Counter(whys).most_common())
