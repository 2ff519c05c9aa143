"""Strings and their bytes; the runtime has no strings made of constants."""

import numpy as np
import openvino as ov

from .building import i32, node, outs, table

WORDS = np.array([["Intel", ""], ["Öl", "x y"]])


CASES = table(
    [
        (
            "unpack_constants",
            [i32([1])],
            lambda x: [x.output(0), *outs(node("StringTensorUnpack", 15, ov.op.Constant(ov.Tensor(WORDS))))],
        ),
        (
            "unpack_and_pack",
            [WORDS],
            lambda x: node("StringTensorPack", 15, *outs(node("StringTensorUnpack", 15, x))),
        ),
    ]
)
