"""Where machine code is kept, and that it is found again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from backedge.passes.graph import Node
from backedge.passes.loop import Captured, Carried, Iteration, Sliced, Stacked
from backedge.passes.types import tensor
from backedge.runtime.compiled import CompiledLoop, cache, stored

from compiled.graphs import INT, Body, compiled, f32, i64, loop, same


def adding(step: float) -> Node:
    b = Body()
    x = b.input()
    return loop((Carried(),), b.give(b.Add(x, step)), [INT, None, tensor("float32")])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and nothing loaded."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "_loaded", {})
    return tmp_path / "kept"


def contents(place: Path) -> dict[str, tuple[int, bytes]]:
    """Of all files, when they were changed (of a digest, it was used then) and what is in them."""
    return {
        str(p.relative_to(place)): (0 if p.suffix == ".sha256" else p.stat().st_mtime_ns, p.read_bytes())
        for p in place.rglob("*")
        if p.is_file()
    }


def test_made_once_then_loaded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [i64(3), None, f32(1)]
    first = compiled(adding(2.0))
    assert not first.is_ready(inputs)
    assert first.prepare(inputs)
    assert first.is_ready(inputs)
    assert first.seconds > 0
    before = contents(place)
    assert sorted(Path(name).suffix for name in before) == [".nbc", ".nbi", ".py", ".sha256"]
    same(first(inputs), f32(7))

    monkeypatch.setattr(cache, "_loaded", {})
    again = compiled(adding(2.0))
    assert again.is_ready(inputs)
    same(again(inputs), f32(7))
    (code,) = cache._loaded.values()
    assert code.from_disk
    assert contents(place) == before

    same(compiled(adding(5.0))(inputs), f32(16))
    assert before.items() <= contents(place).items()


def test_threads_that_come_to_a_loop_at_once_compile_it_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiles: list[str] = []
    compile = cache._compile
    monkeypatch.setattr(cache, "_compile", lambda *parts: compiles.append(parts[2]) or compile(*parts))
    found: list[float] = []
    shared = compiled(adding(3.0))

    def work(number: int) -> None:
        for passes in range(20):
            (last,) = shared([i64(passes), None, f32(number)]) or [np.array(np.nan)]
            found.append(float(last) - (number + 3 * passes))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(compiles) == 1
    assert found == [0.0] * 160


def test_found_by_another_process(place: Path) -> None:
    """Helpers that call one another, and array results, survive the way through the disk."""
    code = (
        "import numpy as np; from compiled.test_cache import *; from compiled.graphs import *\n"
        "b = Body(); x, w = b.input(), b.input(); y = b.Tanh(b.MatMul(x, w))\n"
        "b.give(y, b.ReduceSum(y, keepdims=0))\n"
        "node = loop((Carried(), Captured(), Stacked()), b, [INT, None] + [tensor('float32', None, None)] * 2)\n"
        "given = [i64(200), None, np.ones((3, 300), np.float32), np.eye(300, dtype=np.float32)]\n"
        "found = compiled(node)(given)\n"
        "(code,) = cache._loaded.values(); print(code.from_disk, found[0].sum(dtype=float), found[1].sum(dtype=float))"
    )
    lines = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[1],
            check=True,
            timeout=240,
            capture_output=True,
            text=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert [line[0] for line in lines] == ["False", "True"]
    assert lines[0][1:] == lines[1][1:]
    assert place.is_dir()


@pytest.mark.parametrize("folder", ["", "occupied"])
def test_works_without_a_folder(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caching turned off, and a folder that can't be made."""
    (tmp_path / "occupied").write_text("a file")
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "occupied" / "loops") if folder else "")
    monkeypatch.setattr(cache, "_loaded", {})
    run = compiled(adding(3.0))
    same(run([i64(2), None, f32(1)]), f32(7))
    assert [path.name for path in tmp_path.iterdir()] == ["occupied"]
    monkeypatch.setattr(cache, "_loaded", {})
    assert not compiled(adding(3.0)).is_ready([i64(2), None, f32(1)])


def test_a_file_that_isnt_ours_is_left_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that was tampered with, or cut off, is neither run nor repaired."""
    inputs = [i64(2), None, f32(1)]
    assert compiled(adding(4.0)).prepare(inputs)
    (path,) = place.glob("*.py")
    path.write_text("raise SystemExit")
    monkeypatch.setattr(cache, "_loaded", {})
    same(compiled(adding(4.0))(inputs), f32(9))
    assert path.read_text() == "raise SystemExit"


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a bit": _flip,
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path: path.write_bytes(b""),
    "removed": Path.unlink,
}


@pytest.mark.parametrize("suffix", [".nbc", ".nbi", ".sha256"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_machine_code_is_made_anew(
    suffix: str, damage: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = [i64(3), None, f32(1)]
    assert compiled(adding(2.5)).prepare(inputs)
    (path,) = place.rglob(f"*{suffix}")
    DAMAGES[damage](path)
    for from_disk in (False, True):
        monkeypatch.setattr(cache, "_loaded", {})
        same(compiled(adding(2.5))(inputs), f32(8.5))
        (code,) = cache._loaded.values()
        assert code.from_disk == from_disk


def test_damaged_machine_code_that_cant_be_removed_is_not_used(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [i64(3), None, f32(1)]
    assert compiled(adding(4.5)).prepare(inputs)
    (path,) = place.rglob("*.nbc")
    _flip(path)
    before = contents(place)
    monkeypatch.setattr(cache, "_loaded", {})
    monkeypatch.setattr(stored, "discard", lambda folder, key: False)
    same(compiled(adding(4.5))(inputs), f32(14.5))
    assert contents(place) == before


def test_what_was_used_least_recently_goes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three loops of the same size where there is room for two; the first is used again before the third is made."""
    inputs = [i64(1), None, f32(0)]
    keys = []
    for step in (1.5, 2.5, 3.5):
        if len(keys) == 2:
            (entry, other) = stored.entries(place)
            monkeypatch.setattr(stored, "MOST", entry.size + other.size + 100)
            monkeypatch.setattr(cache, "_loaded", {})
            assert compiled(adding(1.5)).prepare(inputs)
        assert compiled(adding(step)).prepare(inputs)
        keys += [key for key in cache._loaded if key not in keys]
        for age, key in enumerate(reversed(keys)):  # clocks of file systems are coarse
            digest = place / f"{stored.stem(key)}.sha256"
            if len(keys) == 2:
                os.utime(digest, (1000 - age, 1000 - age))
    assert len(keys) == 3
    assert {file.name for entry in stored.entries(place) for file in entry.files if file.suffix == ".py"} == {
        f"{stored.stem(keys[place])}.py" for place in (0, 2)
    }
    assert not [path.name for path in place.rglob("*") if keys[1] in path.name]


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(cache.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "backedge" / "loops"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "backedge" / "loops"
    monkeypatch.setenv(cache.VARIABLE, os.fspath(tmp_path / "here"))
    assert cache.folder() == tmp_path / "here"
    monkeypatch.setenv(cache.VARIABLE, "")
    assert cache.folder() is None


def test_the_same_loop_gives_the_same_source() -> None:
    """Else nothing would ever be found again."""

    def source() -> str | None:
        b = Body()
        i, x, w = b.input(INT), b.input(), b.input()
        e = b.Mul(x, 2.0)
        b.give(b.MatMul(e, w), b.Add(e, b.Cast(i, to=1)))
        node = loop((Iteration(), Carried(), Captured(), Stacked()), b, [INT, None, *[tensor("float32", "N", "N")] * 2])
        return CompiledLoop(node).source([i64(1), None, *[np.ones((9, 9), np.float32)] * 2])

    assert source() == source() is not None


def test_constants_are_no_part_of_the_source() -> None:
    """Weights are handed over, so that the same loop with other weights is the same function."""
    sources = []
    for seed in range(2):
        weights = np.random.default_rng(seed).standard_normal((20, 20))
        b = Body()
        x = b.input()
        node = loop((Sliced(), Stacked()), b.give(b.Mul(x, weights)), [None, None, tensor("float64", None, 20, 20)])
        run = compiled(node)
        x0 = np.arange(800.0).reshape(2, 20, 20)
        sources.append(run.source([None, None, x0]))
        same(run([None, None, x0]), x0 * weights)
    assert sources[0] == sources[1]


def test_machine_code_on_disk_is_loaded_without_numbas_registries_and_runtime(place: Path) -> None:
    """They take longer than everything else that a first call does. What allocates arrays needs the runtime, whatever
    was loaded before it."""
    code = """
import sys
import numpy as np
from backedge.runtime.compiled import cache
from compiled.test_cache import *
from compiled.graphs import *
(last,) = compiled(adding(2.0))([i64(3), None, f32(1)])
from numba.core.runtime.nrt import rtsys
needed = rtsys._init
b = Body(); x, w = b.input(), b.input(); y = b.Tanh(b.MatMul(x, w)); b.give(y, b.ReduceSum(y, keepdims=0))
node = loop((Carried(), Captured(), Stacked()), b, [INT, None] + [tensor("float32", None, None)] * 2)
found = compiled(node)([i64(2), None, np.zeros((2, 3), np.float32), np.eye(3, dtype=np.float32)])
kept = [one.from_disk for one in cache._loaded.values()]
print(float(last), float(found[0].sum()), found[1].shape, *kept, needed, "numba.np.linalg" in sys.modules)
"""
    tests = Path(__file__).parents[1]
    told = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=tests, env={**os.environ}, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    values = ["7.0", "0.0", "(2,)"]
    assert told == [[*values, "False", "False", "True", "True"], [*values, "True", "True", "False", "False"]]
