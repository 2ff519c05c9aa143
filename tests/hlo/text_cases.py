"""HLO texts by feature: an instruction in a computation, and the attributes or the literal it should be read as."""

from __future__ import annotations

from typing import Any

from backedge.convert.hlo.text.tree import Labels, PadDim, Raw, SliceDim, WindowDim

ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
LESS = "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }\n"
POSITIVE = "positive { a = f32[] parameter(0) z = f32[] constant(0) ROOT c = pred[] compare(a, z), direction=GT }\n"
HALF = "half { a = f32[] parameter(0) h = f32[] constant(0.5) ROOT c = f32[] multiply(a, h) }\n"
APPLIED = ADD + LESS + POSITIVE + HALF

PARAMETERS = {
    "x": "f32[4,6]",
    "y": "f32[6,5]",
    "v": "f32[6]",
    "s": "f32[]",
    "p": "pred[]",
    "i": "s32[]",
    "image": "f32[1,8,8,3]",
    "kernel": "f32[3,3,3,4]",
    "square": "f32[4,4]",
    "keys": "u64[2]",
    "rows": "s32[2,1]",
    "waves": "c64[8]",
}

MADE = {"c": "f32[2] constant({1, 2})", "d": "f32[2,3] iota(), iota_dimension=0"}


def module(instruction: str, header: str = "HloModule m\n\n") -> str:
    """A module whose entry has PARAMETERS and what is MADE, and ends with the instruction."""
    lines = [f"  {name} = {shape} parameter({n})" for n, (name, shape) in enumerate(PARAMETERS.items())]
    lines += [f"  {name} = {made}" for name, made in MADE.items()]
    return f"{header}{APPLIED}ENTRY main {{\n" + "\n".join([*lines, f"  ROOT r = {instruction}"]) + "\n}\n"


CASES: list[tuple[str, dict[str, Any]]] = [
    ("f32[4,6] negate(x)", {}),
    ("f32[4,6] convert(x)", {}),
    ("f32[3,4,6] broadcast(x), dimensions={1,2}", {"dimensions": (1, 2)}),
    ("f32[3] broadcast(s), dimensions={}", {"dimensions": ()}),
    ("f32[6,4] transpose(x), dimensions={ 1 , 0 }", {"dimensions": (1, 0)}),
    ("f32[8,6] concatenate(x, x), dimensions={0}", {"dimensions": (0,)}),
    ("f32[4,6] iota(), iota_dimension=1", {"iota_dimension": 1}),
    ("f32[2,2] slice(x), slice={[0:4:2], [1:3]}", {"slice": (SliceDim(0, 4, 2), SliceDim(1, 3, 1))}),
    ("f32[] slice(s), slice={}", {"slice": ()}),
    ("f32[2,6] dynamic-slice(x, i, i), dynamic_slice_sizes={2,6}", {"dynamic_slice_sizes": (2, 6)}),
    ("f32[7,4] pad(x, s), padding=1_2x-1_-1_0", {"padding": (PadDim(1, 2), PadDim(-1, -1, 0))}),
    ("f32[8,6] pad(x, s), padding=1_0_1x0_0", {"padding": (PadDim(1, 0, 1), PadDim(0, 0))}),
    ("f32[] pad(s, s), padding=", {"padding": ()}),
    ("pred[6] compare(v, v), direction=GE", {"direction": "GE"}),
    ("pred[6] compare(v, v), direction=LT, type=TOTALORDER", {"direction": "LT", "type": "TOTALORDER"}),
    ("f32[6] reduce-precision(v), exponent_bits=5, mantissa_bits=10", {"exponent_bits": 5, "mantissa_bits": 10}),
    ("f32[4] reduce(x, s), dimensions={1}, to_apply=add", {"dimensions": (1,), "to_apply": "add"}),
    ("f32[4] reduce(x, s), dimensions={1}, to_apply=%add", {"dimensions": (1,), "to_apply": "add"}),
    (
        "f32[2,5] reduce-window(x, s), window={size=2x2 stride=2x1}, to_apply=add",
        {"window": (WindowDim(2, 2), WindowDim(2)), "to_apply": "add"},
    ),
    (
        "f32[5,8] reduce-window(x, s), window={size=1x2 pad=0_1x2_1 rhs_dilate=1x1}, to_apply=add",
        {"window": (WindowDim(1, 1, 0, 1), WindowDim(2, 1, 2, 1)), "to_apply": "add"},
    ),
    (
        "f32[1,4,4,4] convolution(image, kernel), window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f",
        {"window": (WindowDim(3, 2, 0, 1), WindowDim(3, 2, 0, 1)), "dim_labels": Labels("b01f", "01io", "b01f")},
    ),
    (
        "f32[1,17,6,4] convolution(image, kernel), window={size=3x3 pad=2_2x1_-1 lhs_dilate=2x1 rhs_reversal=1x0},"
        " dim_labels=b01f_01io->b01f, operand_precision={highest,default}",
        {
            "window": (WindowDim(3, 1, 2, 2, 2, 1, True), WindowDim(3, 1, 1, -1)),
            "dim_labels": Labels("b01f", "01io", "b01f"),
            "operand_precision": ("highest", "default"),
        },
    ),
    ("f32[4,5] convolution(x, y), dim_labels=bf_io->bf", {"dim_labels": Labels("bf", "io", "bf")}),
    (
        "f32[4,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        {"lhs_contracting_dims": (1,), "rhs_contracting_dims": (0,)},
    ),
    (
        "f32[4,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_bf16_bf16_f32",
        {"lhs_contracting_dims": (1,), "rhs_contracting_dims": (0,), "algorithm": "dot_bf16_bf16_f32"},
    ),
    (
        "f32[2,6] gather(x, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
        " index_vector_dim=1, slice_sizes={1,6}, indices_are_sorted=true",
        {
            "offset_dims": (1,),
            "collapsed_slice_dims": (0,),
            "start_index_map": (0,),
            "index_vector_dim": 1,
            "slice_sizes": (1, 6),
            "indices_are_sorted": True,
        },
    ),
    (
        "f32[6] scatter(v, rows, c), update_window_dims={}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=false, to_apply=add",
        {
            "update_window_dims": (),
            "inserted_window_dims": (0,),
            "scatter_dims_to_operand_dims": (0,),
            "index_vector_dim": 1,
            "unique_indices": False,
            "to_apply": "add",
        },
    ),
    (
        "f32[4,6] select-and-scatter(x, d, s), window={size=2x2 stride=2x2}, select=less, scatter=add",
        {"window": (WindowDim(2, 2), WindowDim(2, 2)), "select": "less", "scatter": "add"},
    ),
    (
        "f32[6] sort(v), dimensions={0}, is_stable=true, to_apply=less",
        {"dimensions": (0,), "is_stable": True, "to_apply": "less"},
    ),
    ("f32[6] map(v), dimensions={0}, to_apply=half", {"dimensions": (0,), "to_apply": "half"}),
    ("f32[] while(s), condition=positive, body=half", {"condition": "positive", "body": "half"}),
    ("f32[] call(s), to_apply=half", {"to_apply": "half"}),
    (
        "f32[] conditional(p, s, s), true_computation=half, false_computation=half",
        {"true_computation": "half", "false_computation": "half"},
    ),
    ("f32[] conditional(i, s, s), branch_computations={half, %half}", {"branch_computations": ("half", "half")}),
    ("c64[8] fft(waves), fft_type=IFFT, fft_length={8}", {"fft_type": "IFFT", "fft_length": (8,)}),
    ("f32[4,4] cholesky(square), lower=true", {"lower": True}),
    (
        "f32[4,4] triangular-solve(square, square), left_side=true, lower=true, unit_diagonal=false,"
        " transpose_a=NO_TRANSPOSE",
        {"left_side": True, "lower": True, "unit_diagonal": False, "transpose_a": "NO_TRANSPOSE"},
    ),
    (
        "f32[4,6] batch-norm-inference(x, v, v, v, v), epsilon=1e-05, feature_index=1",
        {"epsilon": 1e-05, "feature_index": 1},
    ),
    ("f32[4] rng(s, s), distribution=rng_uniform", {"distribution": "rng_uniform"}),
    ("(u64[2], u32[3]) rng-bit-generator(keys), algorithm=rng_three_fry", {"algorithm": "rng_three_fry"}),
    ("u64[2] rng-get-and-update-state(), delta=4", {"delta": 4}),
    ("(f32[4,2], s32[4,2]) topk(x), k=2, largest=true", {"k": 2, "largest": True}),
    ("s32[] get-dimension-size(x), dimensions={0}", {"dimensions": (0,)}),
    ("f32[4,<=6] set-dimension-size(x, i), dimensions={1}", {"dimensions": (1,)}),
    (
        'f32[4] custom-call(x), custom_call_target="a \\"name\\"", custom_call_has_side_effect=true,'
        " api_version=API_VERSION_TYPED_FFI, operand_layout_constraints={f32[4,6]{1,0}}",
        {
            "custom_call_target": 'a "name"',
            "custom_call_has_side_effect": True,
            "api_version": "API_VERSION_TYPED_FFI",
            "operand_layout_constraints": Raw("{f32[4,6]{1,0}}"),
        },
    ),
    ("f32[] fusion(s), kind=kLoop, calls=half", {"kind": "kLoop", "calls": "half"}),
    (
        "f32[] all-reduce(s), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add",
        {
            "channel_id": 1,
            "replica_groups": Raw("{{0,1},{2,3}}"),
            "use_global_device_ids": True,
            "to_apply": "add",
        },
    ),
    (
        "f32[8,6] all-gather(x), replica_groups=[2,2]<=[2,2]T(1,0), dimensions={0}",
        {"replica_groups": Raw("[2,2]<=[2,2]T(1,0)"), "dimensions": (0,)},
    ),
    ("f32[6] collective-permute(v), source_target_pairs={{0,1},{1,0}}", {"source_target_pairs": Raw("{{0,1},{1,0}}")}),
    ("u32[] partition-id()", {}),
    ("f32[6] negate(v), sharding={devices=[2,1]0,1}", {"sharding": Raw("{devices=[2,1]0,1}")}),
    ("f32[6] negate(v), sharding={replicated}", {"sharding": Raw("{replicated}")}),
    (
        "f32[6] negate(v), metadata={op_name=\"jit(f)/a,b}\" source_file='x.py' source_line=3}",
        {"metadata": Raw("{op_name=\"jit(f)/a,b}\" source_file='x.py' source_line=3}")},
    ),
    (
        'f32[6] negate(v), backend_config={"known_trip_count":{"n":"10"},"a":[1,{"b":"}"}]}',
        {"backend_config": Raw('{"known_trip_count":{"n":"10"},"a":[1,{"b":"}"}]}')},
    ),
    ('f32[6] negate(v), backend_config="a \\"b\\", c"', {"backend_config": Raw('"a \\"b\\", c"')}),
    (
        'f32[6] negate(v), frontend_attributes={a="1",b={"c":"d"}}, metadata={op_type="n"}',
        {"frontend_attributes": Raw('{a="1",b={"c":"d"}}'), "metadata": Raw('{op_type="n"}')},
    ),
    ("f32[6] negate(v), control-predecessors={%x, y}", {"control-predecessors": ("x", "y")}),
    ("f32[6] sine(v), result_accuracy={mode=highest}", {"result_accuracy": Raw("{mode=highest}")}),
]
"""Instructions -> their attributes."""

NOT_READ_BY_XLA = {"f32[] pad(s, s), padding="}
"""XLA prints it, and can't read it."""
