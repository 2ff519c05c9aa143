"""Constants that are read from where they stand in a StableHLO file."""

from pathlib import Path

import numpy as np
import pytest
from backedge import load
from backedge.convert.hlo import stablehlo
from backedge.passes.errors import InvalidModel

pytest.importorskip("jax", reason="jax makes the modules")

RANDOM = np.random.default_rng(7)
WEIGHTS = [
    RANDOM.standard_normal((600, 500)).astype(np.float32),
    RANDOM.standard_normal((500, 600)),  # of 8 bytes
    RANDOM.integers(-9, 9, 1_500_001, np.int8),  # the one behind it stands at an odd place
    RANDOM.standard_normal((512, 512)).astype(np.float32),
    np.arange(5, dtype=np.int32),
]


@pytest.fixture(scope="module")
def exported() -> bytes:
    import jax
    from jax import export

    with jax.enable_x64(True):
        made = export.export(jax.jit(lambda x: [x + 1, *WEIGHTS, WEIGHTS[0]]))(jax.ShapeDtypeStruct((2,), np.float32))
    return made.mlir_module_serialized


def _found(path: Path) -> list[np.ndarray]:
    return [constant.data.numpy() for constant in stablehlo.read(path).constants if constant.data is not None]


@pytest.mark.parametrize("limit", [1 << 30, 0], ids=["copied from the file", "written by the child"])
@pytest.mark.parametrize("before", [0, 3], ids=["whole file", "within a file"])
def test_the_constants_are_those_of_the_file(
    exported: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, before: int
) -> None:
    path = tmp_path / "model.mlirbc"
    path.write_bytes(exported if not before else _within_export(exported, before))
    monkeypatch.setattr(stablehlo, "_READ_AT_ONCE", limit)
    found = _found(path)
    for expected in WEIGHTS:
        assert any(array.dtype == expected.dtype and np.array_equal(array, expected) for array in found)


def _within_export(module: bytes, before: int) -> bytes:
    """As `jax.export` writes it: a vector of a FlatBuffer."""
    return b"\x08" + b"\0" * before + len(module).to_bytes(4, "little") + module


def test_a_graph_does_not_change_with_its_file(exported: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.mlirbc"
    path.write_bytes(exported)
    graph = stablehlo.read(path)
    with path.open("r+b") as file:
        file.write(bytes(len(exported)))
    assert any(
        np.array_equal(constant.data.numpy(), WEIGHTS[0])
        for constant in graph.constants
        if constant.data is not None and constant.data.shape == (600, 500)
    )


def test_a_file_that_changes_while_it_is_read_is_refused(
    exported: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.mlirbc"
    path.write_bytes(exported)
    ask = stablehlo._ask

    def change(*arguments: object) -> None:
        ask(*arguments)  # pyright: ignore[reportArgumentType]
        path.write_bytes(bytes(len(exported)) + b"more")

    monkeypatch.setattr(stablehlo, "_ask", change)
    with pytest.raises(InvalidModel, match="changed while it was read"):
        load(path)
