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


KEY = "0123456789abcdef" * 2


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and nothing loaded."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "_loaded", {})
    return tmp_path / "kept"


def contents(place: Path) -> dict[str, tuple[int, bytes]]:
    """Of all files, which ones they are and what is in them (they are touched when they are used)."""
    return {str(p.relative_to(place)): (p.stat().st_ino, p.read_bytes()) for p in place.rglob("*") if p.is_file()}


def test_made_once_then_loaded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [i64(3), None, f32(1)]
    first = compiled(adding(2.0))
    assert not first.is_ready(inputs)
    assert first.prepare(inputs)
    assert first.is_ready(inputs)
    assert first.seconds > 0
    before = contents(place)
    assert [Path(name).suffix for name in before] == [".code"]
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


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a bit": _flip,
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path: path.write_bytes(b""),
    "removed": Path.unlink,
    "a link": _linked,
    "a pipe": _fifo,
    "others may write": lambda path: path.chmod(0o622),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cant_be_trusted_is_made_anew(damage: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [i64(3), None, f32(1)]
    assert compiled(adding(2.5)).prepare(inputs)
    (path,) = place.iterdir()
    DAMAGES[damage](path)
    for from_disk in (False, True):
        monkeypatch.setattr(cache, "_loaded", {})
        same(compiled(adding(2.5))(inputs), f32(8.5))
        (code,) = cache._loaded.values()
        assert code.from_disk == from_disk


def test_no_byte_can_be_changed(tmp_path: Path) -> None:
    """Wherever a bit is another one nothing is read, and the file is removed."""
    content = bytes(range(256)) * 8
    folder, whole = tmp_path / "kept", b""
    for place in (*range(64), *range(64, 2096, 37), 2095):
        stored.write(folder, KEY, content)
        (path,) = folder.iterdir()
        whole = path.read_bytes()
        assert stored.read(folder, KEY) == content
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        assert stored.read(folder, KEY) is None
        assert not list(folder.iterdir())
    assert len(whole) == 2096


def test_one_loop_under_the_name_of_another_is_not_read(tmp_path: Path) -> None:
    stored.write(tmp_path / "kept", KEY, b"code")
    (path,) = (tmp_path / "kept").iterdir()
    path.rename(path.with_name(path.name.replace(KEY, "f" * 32)))
    assert stored.read(tmp_path / "kept", "f" * 32) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("given", ["file", "folder"])
def test_what_belongs_to_another_user_is_not_read(given: str, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    stored.write(folder, KEY, b"code")
    (path,) = folder.iterdir()
    os.chown(path if given == "file" else folder, 65534, 65534)
    if given == "file":
        assert stored.read(folder, KEY) is None
        assert not path.exists()
    else:
        assert stored.why_unused(folder) == f"{folder} belongs to another user"
        assert not stored.is_kept(folder, KEY)
        for use in (lambda: stored.read(folder, KEY), lambda: stored.write(folder, KEY, b"code")):
            with pytest.raises(stored.Unusable, match="another user"):
                use()
        assert path.exists()


@pytest.mark.parametrize("kind", ["link", "others may write", "file", "under a file"])
def test_a_folder_that_cant_be_used(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written there, nothing is removed, and loops run."""
    folder, elsewhere = tmp_path / "kept", tmp_path / "elsewhere"
    elsewhere.mkdir()
    stored.write(elsewhere, KEY, b"code")
    if kind == "link":
        folder.symlink_to(elsewhere)
    elif kind == "others may write":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.write_text("")
        folder = folder / "loops" if kind == "under a file" else folder
    before = contents(tmp_path)
    monkeypatch.setenv(cache.VARIABLE, str(folder))
    monkeypatch.setattr(cache, "_loaded", {})
    same(compiled(adding(7.5))([i64(2), None, f32(1)]), f32(16))
    stored.clear(folder)
    assert contents(tmp_path) == before
    assert stored.why_unused(folder)


def test_a_full_disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files may not grow beyond a size: nothing is kept, not even a part."""
    code = (
        "import resource; from compiled.test_cache import *; from compiled.graphs import *\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "print(float(compiled(adding(2.0))([i64(3), None, f32(1)])[0]))"
    )
    tests = Path(__file__).parents[1]
    found = subprocess.run([sys.executable, "-c", code], cwd=tests, check=True, capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("7.0\n", "")
    assert not list(place.iterdir())


def test_two_processes_at_once(place: Path) -> None:
    code = (
        "from compiled.test_cache import *; from compiled.graphs import *\n"
        "print(float(compiled(adding(9.0))([i64(3), None, f32(1)])[0]))"
    )
    tests = Path(__file__).parents[1]
    both = [
        subprocess.Popen([sys.executable, "-c", code], cwd=tests, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    assert [one.communicate(timeout=120) for one in both] == [(b"28.0\n", b"")] * 2
    assert [path.suffix for path in place.iterdir()] == [".code"]


def test_no_environment_variable_of_numba_moves_the_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = place.with_name("moved")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(moved))
    assert compiled(adding(6.5)).prepare([i64(3), None, f32(1)])
    assert [path.suffix for path in place.iterdir()] == [".code"]
    assert not moved.exists()


def test_a_record_that_numba_doesnt_take_is_made_anew(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [i64(3), None, f32(1)]
    assert compiled(adding(8.5)).prepare(inputs)
    (key,) = cache._loaded
    stored.write(place, key, b"no pickle")
    monkeypatch.setattr(cache, "_loaded", {})
    same(compiled(adding(8.5))(inputs), f32(26.5))
    assert (stored.read(place, key) or b"no pickle") != b"no pickle"


@pytest.mark.parametrize(("told", "wanted"), [("", 256 * 10**6), ("0", 0), ("1.5", 1_500_000)])
def test_the_limit_is_told(told: str, wanted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stored.VARIABLE, told)
    assert stored.most() == wanted


@pytest.mark.parametrize("told", ["much", "-1", "1e9", "nan", "1 MB"])
def test_a_limit_that_is_none_is_refused(told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stored.VARIABLE, told)
    with pytest.raises(ValueError, match="not a number of million bytes"):
        stored.write(tmp_path, KEY, b"code")
    assert not list(tmp_path.iterdir())


def test_files_of_earlier_versions_and_abandoned_ones_go(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    stored.write(folder, "f" * 32, b"code")
    (folder / "__pycache__").mkdir(mode=0o700)
    name = f"loop_{KEY}"
    old = [f"{name}.py", f"{name}.sha256", f"__pycache__/{name}.loop-4.py311.nbi", f"{name}.code.abandoned.tmp"]
    kept = ["somebodys.py", f"{name}.code.now.tmp"]
    for path in (*old, *kept):
        (folder / path).write_text("")
        (folder / path).chmod(0o600)
    os.utime(folder / old[-1], (1000, 1000))
    stored.write(folder, "e" * 32, b"code")
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {f"loop_{'e' * 32}.code", f"loop_{'f' * 32}.code", *kept}


def test_what_was_used_least_recently_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of 1048 bytes where there is room for two; the first is used again before the third is made."""
    monkeypatch.setenv(stored.VARIABLE, "0.0022")
    folder = tmp_path / "kept"
    for number, letter in enumerate("abc"):
        if letter == "c":
            assert stored.read(folder, "a" * 32)
        stored.write(folder, letter * 32, bytes(1000))
        for path in folder.glob(f"loop_{letter}*"):  # clocks of file systems are coarse
            os.utime(path, (1000 + number, 1000 + number) if letter != "c" else None)
    assert sorted(path.name[5] for path in folder.iterdir()) == ["a", "c"]


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
