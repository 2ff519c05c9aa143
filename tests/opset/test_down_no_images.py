"""Operators on images going down, of a batch of none and of images without rows: in ONNX Runtime, which doesn't find
out a size (-1) among none.

Expected are the shapes that the operators' own kernels give, and those of inputs that are normalized.
"""

from __future__ import annotations

import math

import numpy as np
import onnxruntime
import pytest

from .harness import checked, converted, f32, parse

# operator: opset, target, inputs, results, node, shapes of the inputs but for the number of images, of the result
CASES: dict[str, tuple[int, int, str, str, list[tuple[int, ...]], tuple[int, ...]]] = {
    "GridSample": (16, 15, "x, g", "GridSample (x, g)", [(2, 5, 4), (3, 6, 2)], (2, 3, 6)),
    "GridSample of no points": (16, 15, "x, g", "GridSample (x, g)", [(2, 5, 4), (0, 6, 2)], (2, 0, 6)),
    "DeformConv": (
        19,
        18,
        "x, o, m",
        "DeformConv <kernel_shape = [2, 1], group = 2, offset_group = 2> (x, w, o, , m)",
        [(4, 5, 5), (8, 4, 5), (4, 4, 5)],
        (6, 4, 5),
    ),
    "MaxPool": (10, 9, "x", "MaxPool <kernel_shape = [2, 2], dilations = [2, 1]> (x)", [(2, 5, 4)], (2, 3, 3)),
    "Col2Im": (18, 17, "x", "Col2Im (x, s, k)", [(8, 6)], (2, 3, 4)),
    "GroupNormalization": (21, 17, "x", "GroupNormalization <num_groups = 2> (x, b, b)", [(4, 3, 2)], (4, 3, 2)),
    "GroupNormalization of no rows": (
        21,
        17,
        "x",
        "GroupNormalization <num_groups = 2> (x, b, b)",
        [(4, 0, 2)],
        (4, 0, 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("open_sizes", ["n", "all"])
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_no_images(name: str, early: bool, open_sizes: str) -> None:
    opset, target, given, node, shapes, expected = CASES[name]
    names = given.split(", ")
    declared = (
        f"float[n, {', '.join(str(s) if open_sizes == 'n' else f'{one}{k}' for k, s in enumerate(shape))}] {one}"
        for one, shape in zip(names, shapes, strict=True)
    )
    outputs = ["y", "i"] if name == "MaxPool" else ["y"]
    stated = ", ".join(f"{'int64' if one == 'i' else 'float'}[{','.join('nabc')}] {one}" for one in outputs)
    text = (
        f"({', '.join(declared)}) => ({stated})"
        " <int64[2] s = {3, 4}, int64[2] k = {2, 2}, float[4] b = {1, 2, 3, 4},"
        f" float[6, 2, 2, 1] w = {{{', '.join(map(str, range(24)))}}}> {{ {', '.join(outputs)} = {node} }}"
    )
    model = checked(converted(parse(text, opset), 9 if early else target))
    assert name.split()[0] not in {one.op_type for one in model.graph.node} or name == "MaxPool"
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for images in (0, 2):
        feeds = {
            one: np.arange(images * math.prod(shape)).reshape(images, *shape).astype(np.float32)
            for one, shape in zip(names, shapes, strict=True)
        }
        found = session.run(None, feeds)
        assert [one.shape for one in found] == [(images, *expected)] * len(outputs)
        assert [one.dtype for one in found] == [f32().dtype, np.dtype(np.int64)][: len(outputs)]
