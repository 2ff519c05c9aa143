"""StableHLO to HLO and back, through jaxlib: every kind of file says the same, and the rest is refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backedge.convert import convert, load, save
from backedge.convert.hlo import stablehlo
from backedge.convert.hlo.read import from_text
from backedge.convert.hlo.stablehlo import from_bytes, to_bytes, to_hlo
from backedge.convert.verification import verify
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.runtime import run
from backedge.runtime.oracles import run_file
from backedge.runtime.oracles.driver import Child
from backedge.runtime.oracles.xla_files import exported_bytecode, kind_of, module_proto

needs_jaxlib = pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib isn't installed")
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax isn't installed")

POWERS = """HloModule powers,
  frontend_attributes={backedge_inputs="[\\"x\\",\\"stop at\\"]",backedge_outputs="[\\"n\\",\\"y\\"]"}
go { p = (s32[], f32[2], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=2 ROOT r = pred[] compare(i, n), direction=LT }
step { p = (s32[], f32[2], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=0
  x = f32[2] get-tuple-element(p), index=1 n = s32[] get-tuple-element(p), index=2 one = s32[] constant(1)
  j = s32[] add(i, one) y = f32[2] multiply(x, x) ROOT t = (s32[], f32[2], s32[]) tuple(j, y, n) }
ENTRY main { x = f32[2] parameter(0) n = s32[] parameter(1) z = s32[] constant(0)
  t = (s32[], f32[2], s32[]) tuple(z, x, n) w = (s32[], f32[2], s32[]) while(t), condition=go, body=step
  i = s32[] get-tuple-element(w), index=0 y = f32[2] get-tuple-element(w), index=1
  ROOT r = (s32[], f32[2]) tuple(i, y) }
"""
FEEDS = {"x": np.array([2, -3], np.float32), "stop at": np.int32(3)}
FOUND = {"n": np.int32(3), "y": np.array([2.0**8, 3.0**8], np.float32)}


def entry(body: str) -> str:
    return f"HloModule m\nENTRY e {{ {body} }}\n"


def assert_powers(outputs: dict[str, Any] | None) -> None:
    assert outputs is not None and list(outputs) == ["n", "y"]
    for name, wanted in FOUND.items():
        assert outputs[name].dtype == wanted.dtype and np.array_equal(outputs[name], wanted)


@needs_jaxlib
@pytest.mark.parametrize("kind", ["mlir", "mlirbc"])
def test_round_trip_runs_the_same_on_xla_and_here(kind: Any, tmp_path: Path) -> None:
    data = to_bytes(from_text(POWERS), kind)
    assert (data[:4] == b"ML\xefR") == (kind == "mlirbc")
    path = tmp_path / f"m.{kind}"
    path.write_bytes(data)
    (outcome,) = run_file("xla", path, [FEEDS])
    assert_powers(outcome.outputs)
    assert_powers(run(load(path), FEEDS))


@needs_jaxlib
def test_the_text_is_stablehlo() -> None:
    text = to_bytes(from_text(POWERS)).decode()
    assert "stablehlo.while" in text and "func.func" in text and "= mhlo." not in text


@needs_jaxlib
def test_what_only_chlo_has() -> None:
    unary = from_text(entry("x = f32[2] parameter(0) a = f32[2] erf(x) b = f32[2] asinh(a) ROOT c = f32[2] acos(b)"))
    text = to_bytes(unary).decode()
    assert all(f"chlo.{name} " in text for name in ("erf", "asinh", "acos"))
    assert "erf(" in to_hlo(text.encode())
    largest = from_text(entry("x = f32[5] parameter(0) ROOT y = (f32[2], s32[2]) topk(x), k=2, largest=true"))
    assert "topk(" in to_hlo(to_bytes(largest))
    copied = from_text(entry("x = f32[2] parameter(0) ROOT y = f32[2] copy(x)"))
    assert "copy" not in to_bytes(copied).decode()


@needs_jaxlib
def test_an_artifact_says_what_only_chlo_has_beside_what_it_is_made_of() -> None:
    body = """x = f32[5] parameter(0) a = f32[5] erf(x) ROOT t = (f32[2], s32[2]) topk(a), k=2, largest=true"""
    back = from_bytes(to_bytes(from_text(entry(body)), "mlirbc"))
    assert [node.op_type for node in back.nodes] == ["erf", "topk"] and back.nodes[1].attributes["k"] == 2


@needs_jaxlib
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("x = f32[2] parameter(0) ROOT y = s32[2] bitcast(x)", "bitcast-0 'y': StableHLO has no such operation"),
        (
            "x = f32[5] parameter(0) ROOT y = (f32[2], s32[2]) topk(x), k=2, largest=false",
            "topk-0 '[^']*': StableHLO has no topk of the smallest",
        ),
    ],
)
def test_operations_without_a_form_are_refused(body: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        to_bytes(from_text(entry(body)))


@needs_jaxlib
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\1\2",
        b"nonsense",
        b"module @m {",
        b"ML\xefR\x01StableHLO_v1.0.0\0",
        b"\n\x05\0\0\0\0\0",
        b"\n\xff\xff\xff\xff\xff\xff",
        b"\xff\xff\xff\x7fML\xefR",
        b"HloModule m\nENTRY e { ROOT x = f32[20] constant({...}) }",
        b"module { %0 = stablehlo.constant dense_resource<__elided__> : tensor<4xf32> }",
    ],
)
def test_damaged_files_are_one_clear_line(data: bytes) -> None:
    with pytest.raises(InvalidModel) as caught:
        to_hlo(data)
    assert str(caught.value) and "\n" not in str(caught.value)


@needs_jaxlib
def test_a_file_that_kills_jaxlib() -> None:
    """The parser aborts at sizes that don't match."""
    with pytest.raises(InvalidModel, match="the process died of SIGABRT"):
        to_hlo(entry("q = f32[2,2] parameter(0) ROOT t = f32[<=4,2] reshape(q)").encode())


@needs_jaxlib
def test_a_window_of_no_size() -> None:
    """The parser's check of sizes overflows."""
    text = b"""module @m {
      func.func public @main(%x: tensor<1x4xf32>) -> tensor<1x3xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %sums = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: -9223372036854775808, 2>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %c : tensor<f32>
        }) : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x3xf32>
        return %sums : tensor<1x3xf32>
      }
    }"""
    with pytest.raises(InvalidModel, match="of a window isn't positive"):
        from_bytes(text)


@needs_jaxlib
def test_a_file_that_takes_too_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "waits").mkdir()
    (tmp_path / "waits" / "session.py").write_text(
        "import time\n\ndef open_session(path, options):\n    time.sleep(600)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(stablehlo, "Child", lambda _, *more: Child("waits.session", *more))
    with pytest.raises(InvalidModel, match=r"no answer within 0\.1 s"):
        to_hlo(POWERS.encode(), timeout=0.1)


def test_without_jaxlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jaxlib", None)
    (tmp_path / "m.mlir").write_text("module {}")
    with pytest.raises(
        InvalidModel, match=r'StableHLO needs jaxlib, which isn.t installed: pip install "backedge\[xla\]"'
    ):
        load(tmp_path / "m.mlir")


def test_kinds_are_told_by_content() -> None:
    assert kind_of(b"HloModule m\n") == "hlo"
    assert kind_of(b"// module\nENTRY e {}") == "hlo"
    assert kind_of(b"// HloModule\n#loc1 = loc(unknown)\nmodule @m {}") == "mlir"
    assert kind_of(b'"builtin.module"() ({') == "mlir"
    assert kind_of(b"func.func @main() {}") == "mlir"
    assert kind_of(b"ML\xefR\1StableHLO_v1.0.0\0") == "bytecode"
    assert kind_of(b"\x10\0\0\0\6\0\0\0ML\xefR\1\0") == "export"
    assert kind_of(b"\n\1m\x12\0") == "proto"


def test_wrapped_files() -> None:
    assert exported_bytecode(b"\x10\0\0\0\5\0\0\0ML\xefR\1zzz") == b"ML\xefR\1"
    module = b"\n\1m\x12\0"
    assert module_proto(module) == module
    assert module_proto(b"\n\5" + module + b"\x1a\0") == module


@needs_jaxlib
def test_onnx_to_stablehlo_and_back(tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text(POWERS)
    report = convert(tmp_path / "m.hlo", tmp_path / "m.mlir", verify=4)
    assert (report.source_format, report.target_format, report.verdict) == ("hlo", "stablehlo", "proved")
    back = convert(tmp_path / "m.mlir", tmp_path / "m.onnx", verify=4)
    assert (back.source_format, back.target_format, back.verdict) == ("stablehlo", "onnx", "proved")
    again = convert(tmp_path / "m.onnx", tmp_path / "again.mlir", verify=4)
    assert again.verdict == "proved"
    assert verify(tmp_path / "m.hlo", tmp_path / "again.mlir", trials=4).verdict == "proved"


@needs_jax
def test_what_jax_writes(tmp_path: Path) -> None:
    import jax
    import jax.numpy as jnp
    from jax import export

    def doubled(x: Any, n: Any) -> Any:
        return jax.lax.fori_loop(0, n, lambda i, y: y + y, x)

    x, n = jnp.arange(3, dtype=jnp.float32), jnp.int32(4)
    lowered, exported = jax.jit(doubled).lower(x, n), export.export(jax.jit(doubled))(x, n)
    files = {
        "m.hlo": lowered.as_text("hlo").encode(),
        "m.mlir": lowered.as_text("stablehlo").encode(),
        "m.mlirbc": exported.mlir_module_serialized,
        "m.jax_export": exported.serialize(),
        "m.hlo.pb": lowered.compiler_ir("hlo").as_serialized_hlo_module_proto(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        graph = load(tmp_path / name)
        feeds = dict(zip((value.name for value in graph.inputs), (np.asarray(x), np.asarray(n)), strict=True))
        assert np.array_equal(run(graph, feeds)["output"], np.arange(3) * 16)
        (outcome,) = run_file("xla", tmp_path / name, [{"x": np.asarray(x), "n": np.asarray(n)}])
        assert outcome.outputs is not None and np.array_equal(outcome.outputs["output"], np.arange(3) * 16)


@needs_jax
def test_shape_polymorphic_exports_are_refused(tmp_path: Path) -> None:
    import jax
    import jax.numpy as jnp
    from jax import export

    (n,) = export.symbolic_shape("n")
    exported = export.export(jax.jit(lambda x: x.sum()))(jax.ShapeDtypeStruct((n,), jnp.float32))
    with pytest.raises(Unsupported, match="export the program with fixed ones"):
        to_hlo(exported.serialize())


@needs_jaxlib
def test_saving_by_suffix(tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text(POWERS)
    graph = load(tmp_path / "m.hlo")
    save(graph, tmp_path / "m.mlirbc")
    assert (tmp_path / "m.mlirbc").read_bytes()[:4] == b"ML\xefR"
    save(load(tmp_path / "m.mlirbc"), tmp_path / "back.hlo.txt")
    assert (tmp_path / "back.hlo.txt").read_text().startswith("HloModule")
