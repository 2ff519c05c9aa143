"""Reductions, normalizations, products, quantization."""

import numpy as np

from .building import f32, floats, i32, i64, node, positive, table, whole


def outs(made):
    return [made.output(place) for place in range(made.get_output_size())]


def attention(name, *inputs, causal=False, **rest):
    """Inputs of these shapes, each of its own seed, or these arrays."""
    arrays = [floats(*one, seed=place) if isinstance(one, tuple) else one for place, one in enumerate(inputs)]
    return (
        f"sdpa_{name}",
        arrays,
        lambda *given: node("ScaledDotProductAttention", 13, *given, causal=causal),
        *rest.values(),
    )


SQUARING = (
    lambda x: node("MVN", 6, x, i64([2, 3]), eps=0.1, normalize_variance=True, eps_mode="INSIDE_SQRT"),
    lambda x: node("NormalizeL2", 1, x, i64([1]), eps=0.5, eps_mode="add"),
    lambda x: node("GRN", 1, x, bias=0.5),
)
CASES = table(
    [
        *[
            (
                f"reduce_{name.lower()}_{'keep' if keep else 'drop'}",
                [floats(2, 3, 4)],
                lambda x, name=name, keep=keep, opset=opset: node(name, opset, x, i32([-1, 0]), keep_dims=keep),
            )
            for name, opset in (
                ("ReduceSum", 1),
                ("ReduceMean", 1),
                ("ReduceMax", 1),
                ("ReduceMin", 1),
                ("ReduceProd", 1),
                ("ReduceL1", 4),
                ("ReduceL2", 4),
            )
            for keep in (True, False)
        ],
        ("reduce_scalar_axis", [floats(2, 3)], lambda x: node("ReduceSum", 1, x, i64(1), keep_dims=False)),
        ("reduce_computed_axes", [floats(2, 3), i64([1])], lambda x, a: node("ReduceSum", 1, x, a, keep_dims=True)),
        (
            "reduce_i32",
            [whole(2, 5)],
            lambda x: [
                node(n, 1, x, i64([1]), keep_dims=False).output(0)
                for n in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")
            ],
        ),
        (
            "reduce_mean_i32",
            [i32([[1, 2, 4], [-1, -2, -4]])],
            lambda x: node("ReduceMean", 1, x, i64([1]), keep_dims=False),
        ),
        (
            "reduce_u8",
            [whole(2, 3, low=0, high=40, dtype=np.uint8)],
            lambda x: [
                node(n, 1, x, i64([1]), keep_dims=False).output(0) for n in ("ReduceSum", "ReduceMax", "ReduceMin")
            ],
        ),
        (
            "reduce_logical",
            [np.array([[True, False], [True, True]])],
            lambda x: [
                node(n, 1, x, i64([1]), keep_dims=False).output(0) for n in ("ReduceLogicalAnd", "ReduceLogicalOr")
            ],
        ),
        *[
            (
                f"cumsum_{e}_{r}",
                [floats(3, 4)],
                lambda x, e=e, r=r: node("CumSum", 3, x, i32(1), exclusive=e, reverse=r),
            )
            for e in (False, True)
            for r in (False, True)
        ],
        ("cumsum_i32", [i32([1, 2, 3])], lambda x: node("CumSum", 3, x, i64(0))),
        *[
            (
                f"topk_{mode}_{sort}",
                [floats(3, 5)],
                lambda x, mode=mode, sort=sort: outs(
                    node("TopK", 11, x, i64(3), axis=1, mode=mode, sort=sort, index_element_type="i32")
                ),
            )
            for mode in ("max", "min")
            for sort in ("value", "index")
        ],
        ("topk_1", [floats(3, 5)], lambda x: outs(node("TopK", 1, x, i64(2), axis=0, mode="max", sort="value"))),
        (
            "topk_3",
            [whole(3, 5)],
            lambda x: outs(node("TopK", 3, x, i64(2), axis=-1, mode="max", sort="value", index_element_type="i64")),
        ),
        (
            "topk_stable_ties",
            [i32([3, 1, 3, 1, 2])],
            lambda x: outs(
                node("TopK", 11, x, i64(4), axis=0, mode="max", sort="value", index_element_type="i64", stable=True)
            ),
        ),
        *[
            (
                f"mvn_{mode}_{variance}",
                [floats(2, 3, 4)],
                lambda x, mode=mode, variance=variance: node(
                    "MVN", 6, x, i64([1, -1]), eps=0.1, normalize_variance=variance, eps_mode=mode
                ),
            )
            for mode in ("INSIDE_SQRT", "OUTSIDE_SQRT")
            for variance in (True, False)
        ],
        *[
            (
                f"mvn_2_{across}",
                [floats(2, 3, 4, 5)],
                lambda x, across=across: node("MVN", 2, x, eps=0.1, normalize_variance=True, across_channels=across),
            )
            for across in (True, False)
        ],
        *[
            (
                f"normalize_l2_{mode}",
                [floats(2, 3, 2, 2)],
                lambda x, mode=mode: node("NormalizeL2", 1, x, i64([1]), eps=0.5, eps_mode=mode),
            )
            for mode in ("add", "max")
        ],
        ("grn", [floats(2, 3, 2, 2)], lambda x: node("GRN", 1, x, bias=0.5)),
        *[
            (f"halves_whose_squares_overflow_{number}", [floats(2, 3, 2, 2, scale=400.0).astype(np.float16)], build)
            for number, build in enumerate(SQUARING)
        ],
        (
            "batch_norm_1",
            [floats(2, 3, 4, 4), floats(3), floats(3, seed=1), floats(3, seed=2), positive(3)],
            lambda x, g, b, m, v: node("BatchNormInference", 1, g, b, x, m, v, epsilon=0.01),
        ),
        (
            "batch_norm_5",
            [floats(2, 3, 4, 4), floats(3), floats(3, seed=1), floats(3, seed=2), positive(3)],
            lambda x, g, b, m, v: node("BatchNormInference", 5, x, g, b, m, v, epsilon=0.01),
        ),
        (
            "group_norm",
            [floats(2, 4, 3, 3), floats(4), floats(4, seed=1)],
            lambda x, s, b: node("GroupNormalization", 12, x, s, b, num_groups=2, epsilon=0.01),
        ),
        (
            "lrn_channels",
            [floats(2, 5, 3, 3)],
            lambda x: node("LRN", 1, x, i64([1]), alpha=0.3, beta=0.75, bias=2.0, size=3),
        ),
        (
            "lrn_spatial",
            [floats(1, 2, 5, 5)],
            lambda x: node("LRN", 1, x, i64([2, 3]), alpha=0.3, beta=0.75, bias=2.0, size=3),
        ),
        (
            "lrn_spatial_dynamic",
            [floats(1, 2, 5, 5)],
            lambda x: node("LRN", 1, x, i64([2, 3]), alpha=0.3, beta=0.75, bias=2.0, size=3),
            [(1, 2, -1, -1)],
        ),
        *[
            (
                f"matmul_{int(a)}{int(b)}",
                [floats(2, *((4, 3) if a else (3, 4))), floats(*((5, 4) if b else (4, 5)))],
                lambda x, y, a=a, b=b: node("MatMul", 1, x, y, transpose_a=a, transpose_b=b),
            )
            for a in (False, True)
            for b in (False, True)
        ],
        (
            "matmul_vector",
            [floats(4), floats(4, 5)],
            lambda x, y: node("MatMul", 1, x, y, transpose_a=True, transpose_b=False),
        ),
        (
            "matmul_vectors",
            [floats(4), floats(4, seed=1)],
            lambda x, y: node("MatMul", 1, x, y, transpose_a=True, transpose_b=True),
        ),
        ("einsum", [floats(2, 3, 4), floats(2, 4, 5)], lambda a, b: node("Einsum", 7, a, b, equation="bij,bjk->bik")),
        (
            "einsum_three",
            [floats(2, 3), floats(3, 4), floats(4)],
            lambda a, b, c: node("Einsum", 7, a, b, c, equation="ij,jk,k->i"),
        ),
        attention("plain", (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 6)),
        attention("causal", (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), causal=True),
        attention("mask", (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), (1, 1, 3, 5)),
        attention("bool_mask", (1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), np.tril(np.ones((1, 1, 3, 3), bool))),
        attention("scale", (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), (1, 1, 3, 5), f32(0.3)),
        attention("dynamic", (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), shapes=[(-1, -1, -1, -1)] * 3),
        attention("causal_mask_ignored", (1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), (3, 5), causal=True),
        attention("causal_long", (1, 2, 5, 4), (1, 2, 3, 4), (1, 2, 3, 6), causal=True),
        attention("mask_of_two", (2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4), (3, 5)),
        attention("rank_3", (2, 3, 4), (2, 5, 4), (2, 5, 4), (1, 3, 5)),
        attention("sink", (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 5), (2, 1, 4, 6), f32(0.3), floats(1, 3, 1, 1, seed=4)),
        attention(
            "sink_full", (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 5), (2, 1, 4, 6), f32(0.3), floats(2, 3, 4, 1, seed=4)
        ),
        attention(
            "sink_causal",
            (1, 2, 3, 4),
            (1, 2, 5, 4),
            (1, 2, 5, 4),
            f32(0.0),
            f32(0.5),
            floats(1, 2, 1, 1, seed=4),
            causal=True,
        ),
        (
            "sdpa_scalar_mask",
            [floats(1, 2, 3, 4)],
            lambda q: node("ScaledDotProductAttention", 13, q, q, q, f32(0.0), f32(0.5), causal=False),
        ),
        (
            "fake_quantize",
            [floats(4, 5)],
            lambda x: node("FakeQuantize", 1, x, f32(-1.5), f32(2.0), f32(-3.0), f32(4.0), levels=16),
        ),
        (
            "fake_quantize_channels",
            [floats(2, 3, 4, 4)],
            lambda x: node(
                "FakeQuantize",
                1,
                x,
                floats(1, 3, 1, 1) - 3,
                floats(1, 3, 1, 1) + 3,
                floats(1, 3, 1, 1) - 3,
                floats(1, 3, 1, 1) + 3,
                levels=255,
            ),
        ),
        (
            "fake_quantize_edges",
            [f32([-1, -1.0001, 1, 1.0001, 0, 0.5])],
            lambda x: node("FakeQuantize", 1, x, f32(-1.0), f32(1.0), f32(0.0), f32(10.0), levels=5),
        ),
        *[
            (
                f"fake_convert_{to}",
                [floats(2, 3, scale=300)],
                lambda x, to=to: node("FakeConvert", 13, x, f32([2.0]), f32([0.5]), destination_type=to),
            )
            for to in ("f8e4m3", "f8e5m2")
        ],
    ]
)
