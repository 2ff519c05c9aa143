"""Modules that call what a file must not have called: functions of Python by an address, and unknown ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from backedge.convert.cli import main
from backedge.passes.errors import Unsupported
from backedge.runtime.oracles import run_file
from backedge.runtime.oracles.xla_calls import refuse_calls
from backedge.runtime.oracles.xla_files import bindings, read_computation

pytest.importorskip("jaxlib")

X = np.array([1, 2], np.float32)
PYTHON = "xla_ffi_python_cpu_callback"
CALL = 'f32[2] custom-call(x), custom_call_target="{}", api_version=API_VERSION_TYPED_FFI, backend_config="{}"'
DESCRIPTORS = ["{index = 0 : ui64}", "{index = 13835058055282163712 : ui64}", "4660"]
"""What the functions of several versions of jaxlib take for an address, or the place of a function."""


def hlo(call: str, *computations: str, root: str = "") -> str:
    entry = f"ENTRY main {{\n  x = f32[2] parameter(0)\n  ROOT c = {root or call}\n}}\n"
    return "HloModule m\n" + "".join(computations) + entry


def inner(call: str) -> str:
    return f"inner {{\n  x = f32[2] parameter(0)\n  ROOT c = {call}\n}}\n"


def hostile(target: str, descriptor: str = "") -> str:
    return CALL.format(target, descriptor)


WHILE = """
less {
  p = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(2)
  ROOT r = pred[] compare(i, n), direction=LT
}
next {
  p = (s32[], f32[2]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[2] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = %s
  ROOT t = (s32[], f32[2]) tuple(j, y)
}
ENTRY main {
  x = f32[2] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[2]) tuple(zero, x)
  w = (s32[], f32[2]) while(start), condition=less, body=next
  ROOT r = f32[2] get-tuple-element(w), index=1
}
"""

ASYNC = """
ENTRY main {
  x = f32[2] parameter(0)
  s = ((f32[2]), f32[2], s32[]) async-start(x), calls=inner
  ROOT d = f32[2] async-done(s)
}
"""

HLO = {
    **{f"descriptor {number}": hlo(hostile(PYTHON, one)) for number, one in enumerate(DESCRIPTORS)},
    **{
        target: hlo(hostile(target))
        for target in (
            "xla_ffi_partitioned_python_cpu_callback",
            "xla_buffer_python_cpu_callback",
            "xla_python_cpu_callback",
            "xla_ffi_python_gpu_callback",
        )
    },
    "without a version": hlo(f'f32[2] custom-call(x), custom_call_target="{PYTHON}"'),
    "an older interface": hlo(hostile(PYTHON).replace("TYPED_FFI", "STATUS_RETURNING_UNIFIED")),
    "spelled in octal": hlo(hostile(r"\170la_ff\151_python_cpu_callback")),
    "spelled in hexadecimal": hlo(hostile(r"\x78la_ffi_p\x79thon_cpu_callback")),
    "result unused": hlo("f32[2] add(x, x)").replace("  ROOT", f"  u = {hostile(PYTHON)}\n  ROOT"),
    "called": hlo("", inner(hostile(PYTHON)), root="f32[2] call(x), to_apply=inner"),
    "composite": hlo(
        "",
        inner(hostile(PYTHON)),
        root="f32[2] call(x), to_apply=inner, is_composite=true, "
        'frontend_attributes={composite.name="a.b",composite.attributes="{}",composite.version="1"}',
    ),
    "fusion": hlo("", inner(hostile(PYTHON)), root="f32[2] fusion(x), kind=kLoop, calls=inner"),
    "within a call": hlo(
        "", inner(hostile(PYTHON)), root='f32[2] custom-call(x), custom_call_target="TopK", called_computations={inner}'
    ),
    "loop": "HloModule m\n" + WHILE % hostile(PYTHON),
    "asynchronous": "HloModule m\n" + inner(hostile(PYTHON)) + ASYNC,
}

MLIR_CALL = '"stablehlo.custom_call"(%x) {{call_target_name = "{}", api_version = {} : i32, backend_config = {}}}'
MLIR_CALL += " : (tensor<2xf32>) -> tensor<2xf32>"
TYPED = "{index = 0 : ui64}"


def mlir(operation: str, *functions: str) -> str:
    main = "  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
    return (
        "module @m {\n"
        + main
        + f"    %y = {operation}\n    return %y : tensor<2xf32>\n  }}\n"
        + "".join(functions)
        + "}\n"
    )


def function(operation: str) -> str:
    return (
        f"  func.func private @inner(%x: tensor<2xf32>) -> tensor<2xf32> {{\n    %y = {operation}\n"
        "    return %y : tensor<2xf32>\n  }\n"
    )


COMPOSITE = 'stablehlo.composite "a.b" %x {decomposition = @inner} : (tensor<2xf32>) -> tensor<2xf32>'
IF = """"stablehlo.if"(%p) ({{
      %u = {}
      stablehlo.return %u : tensor<2xf32>
    }}, {{
      stablehlo.return %x : tensor<2xf32>
    }}) : (tensor<i1>) -> tensor<2xf32>"""

STABLEHLO = {
    "typed": mlir(MLIR_CALL.format(PYTHON, 4, TYPED)),
    "status": mlir(MLIR_CALL.format("xla_python_cpu_callback", 2, '"0"')),
    "original": mlir(MLIR_CALL.format("xla_python_cpu_callback", 1, '"0"')),
    "buffer": mlir(MLIR_CALL.format("xla_buffer_python_cpu_callback", 4, TYPED)),
    "escaped": mlir(MLIR_CALL.format(r"xla_\66fi_python_cpu\5Fcallback", 4, TYPED)),
    "called": mlir(
        "func.call @inner(%x) : (tensor<2xf32>) -> tensor<2xf32>", function(MLIR_CALL.format(PYTHON, 4, TYPED))
    ),
    "composite": mlir(COMPOSITE, function(MLIR_CALL.format(PYTHON, 4, TYPED))),
    "branch": mlir(IF.format(MLIR_CALL.format(PYTHON, 4, TYPED))).replace(
        "    %y", "    %p = stablehlo.constant dense<true> : tensor<i1>\n    %y"
    ),
}


ALL = {**HLO, **{f"StableHLO {name}": text for name, text in STABLEHLO.items()}}


@pytest.mark.parametrize("name", ALL)
def test_a_call_of_python_is_found_however_it_is_spelled(name: str) -> None:
    with pytest.raises(Unsupported, match=r"^custom-call \S+: xla_\w*callback calls a function of the Python process"):
        refuse_calls(read_computation(ALL[name].encode()), ["lapack_sgetrf_ffi"])


@pytest.mark.parametrize(
    "target",
    ["", "nope", "system", "dce_sink", "cu_threefry2x32_ffi", "lapack_sgetrf", "tpu_custom_call", "mhlo.a\\42 b"],
)
def test_what_isnt_known_is_not_called(target: str) -> None:
    with pytest.raises(Unsupported, match="isn't among the functions that are called here"):
        refuse_calls(read_computation(hlo(hostile(target)).encode()), ["lapack_sgetrf_ffi"])


@pytest.mark.parametrize("target", ["Sharding", "TopK", "lapack_sgetrf_ffi", "mhlo.erf", "xla.sdy.FuncResultSharding"])
def test_what_is_known_is_called(target: str) -> None:
    refuse_calls(read_computation(hlo(hostile(target)).encode()), ["lapack_sgetrf_ffi"])


def written(kind: str) -> bytes:
    """A module that calls a function of jaxlib's by an address, as a file of each kind."""
    target = "xla_buffer_python_cpu_callback"
    text = mlir(MLIR_CALL.format(target, 4, TYPED))
    if kind in ("hlo", "proto"):
        computation = read_computation(hlo(hostile(target)).encode())
        return hlo(hostile(target)).encode() if kind == "hlo" else computation.as_serialized_hlo_module_proto()
    if kind == "mlir":
        return text.encode()
    artifact = bindings()[1].mlir.serialize_portable_artifact(text, "1.10.0")
    return artifact if kind == "bytecode" else b"\0\0\0\0" + len(artifact).to_bytes(4, "little") + artifact


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("hlo", ".hlo"), ("proto", ".hlo.pb"), ("mlir", ".mlir"), ("bytecode", ".mlirbc"), ("export", ".jax_export")],
)
def test_files_of_every_kind_are_refused(
    kind: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(written(kind))
    (outcome,) = run_file("xla", path, [{"x": X}], timeout=60)
    assert outcome.stage == "load"
    assert "xla_buffer_python_cpu_callback calls a function of the Python process" in outcome.error
    with pytest.raises(SystemExit, match=r"^3$"):
        main(["convert", str(path), str(tmp_path / "m.onnx")])
    assert "xla_buffer_python_cpu_callback calls Python" in " ".join(capsys.readouterr().err.split())
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
