"""Files that appear whole or not at all: what links, modes and odd targets become, and what a killed process leaves."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from backedge.passes import outputs
from backedge.passes.errors import InvalidModel
from backedge.passes.outputs import check_output, drafted, output, settle
from backedge.passes.scratch import Scratch, scratch, uninterrupted


def write(target: Path, text: str = "new", beside: str = "") -> None:
    """Write a file, and another one beside it."""
    with drafted(target) as draft:
        draft.path.write_text(text)
        if beside:
            draft.path.with_suffix(".bin").write_text(beside)
        draft.put()


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_nothing_else_is_left(tmp_path: Path) -> None:
    write(tmp_path / "m.xml", "new", "weights")
    assert contents(tmp_path) == {"m.xml": "new", "m.bin": "weights"}
    with pytest.raises(ZeroDivisionError), drafted(tmp_path / "m.xml") as draft:
        draft.path.write_text("half")
        _ = 1 / 0
    assert contents(tmp_path) == {"m.xml": "new", "m.bin": "weights"}


@pytest.mark.parametrize("there", [True, False])
def test_links_stay(there: bool, tmp_path: Path) -> None:
    real, link, second = tmp_path / "store" / "real.json", tmp_path / "link.json", tmp_path / "second.json"
    real.parent.mkdir()
    if there:
        real.write_text("old")
    link.symlink_to("store/real.json")
    second.symlink_to(link)
    with output(second) as file:
        file.write(b"new")
    assert link.is_symlink() and second.is_symlink() and not real.is_symlink()
    assert real.read_text() == "new" and list(real.parent.iterdir()) == [real]


def _circle(folder: Path) -> Path:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    return folder / "a"


def _dangling(folder: Path) -> Path:
    (folder / "a").symlink_to("none/a")
    return folder / "a"


def _fifo(folder: Path) -> Path:
    os.mkfifo(folder / "a")
    return folder / "a"


REFUSED: list[tuple[Callable[[Path], Path], str]] = [
    (_circle, "Too many levels of symbolic links"),
    (_dangling, "no such folder"),
    (_fifo, "it is no regular file, and isn't replaced by one"),
    (lambda folder: folder, "it is a folder"),
    (lambda folder: folder / "none" / "a", "no such folder"),
    (lambda folder: folder / ("a" * 300), "File name too long"),
    (lambda folder: folder / "a\0b", "embedded null byte"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_refused_targets(make: Callable[[Path], Path], message: str, tmp_path: Path) -> None:
    target = make(tmp_path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(InvalidModel, match=message), drafted(target):
        pass
    assert sorted(os.listdir(tmp_path)) == before


def test_streams_are_written_to(tmp_path: Path) -> None:
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    check_output(pipe)
    with output(pipe) as file:
        file.write(b"new")
    reader.join()
    assert found == [b"new"] and stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/fd leads to the open file itself")
def test_open_files_are_written_to(tmp_path: Path) -> None:
    """`--json /dev/stdout > file`: the shell's file goes on, it isn't replaced."""
    with open(tmp_path / "log", "wb") as log, output(Path(f"/dev/fd/{log.fileno()}")) as file:
        file.write(b"new")
    assert contents(tmp_path) == {"log": "new"}


def test_modes(tmp_path: Path) -> None:
    old = tmp_path / "m.xml"
    old.write_text("old")
    old.chmod(0o640)
    mask = os.umask(0o027)
    try:
        write(old, "new", "weights")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "m.bin").stat().st_mode) == 0o666 & ~0o027


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_owners(tmp_path: Path) -> None:
    old = tmp_path / "m.xml"
    old.write_text("old")
    os.chown(old, 1234, 4321)
    write(old)
    assert (old.stat().st_uid, old.stat().st_gid) == (1234, 4321)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_what_may_not_be_written(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("old")
    kept.chmod(0o444)
    for target, message in ((kept, "this file may not be written to"), (tmp_path / "new", "its folder may not be")):
        if target != kept:
            tmp_path.chmod(0o555)
        try:
            with pytest.raises(InvalidModel, match=message):
                check_output(target)
        finally:
            tmp_path.chmod(0o755)
    assert contents(tmp_path) == {"kept.json": "old"}


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows when the data is to go to the disk, if not before."""

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write(tmp_path / "m.xml", "old", "weights")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidModel, match=r"m\.xml: No space left on device"):
        write(tmp_path / "m.xml", "new", "others")
    assert contents(tmp_path) == {"m.xml": "old", "m.bin": "weights"}


@pytest.mark.parametrize("failing", range(5))
def test_a_pair_goes_back(failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the moves is refused: `old` and `new` of both files and the journal's own, five in all."""
    write(tmp_path / "m.xml", "old", "weights")
    count, replace = iter(range(100)), os.replace

    def refused(*paths: Path) -> None:
        if next(count) == failing:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        replace(*paths)

    monkeypatch.setattr(os, "replace", refused)
    if failing < 4:
        with pytest.raises(InvalidModel, match="Operation not permitted"):
            write(tmp_path / "m.xml", "new", "others")
        assert contents(tmp_path) == {"m.xml": "old", "m.bin": "weights"}
    else:
        write(tmp_path / "m.xml", "new", "others")
        assert contents(tmp_path) == {"m.xml": "new", "m.bin": "others"}


_KILLED = """
import itertools, os, signal, sys
from pathlib import Path
from backedge.passes.outputs import drafted, settle

os.fsync = lambda handle: None  # which is for machines that stop
folder = Path(sys.argv[1])
pairs = {"old": ("old", "weights"), "new": ("new", "others!")}
seen = set()

def write(which):
    with drafted(folder / "m.xml") as draft:
        for path, text in zip((draft.path, draft.path.with_suffix(".bin")), pairs[which]):
            path.write_text(text)
        draft.put()

def state():
    return tuple(path.read_text() if path.exists() else None for path in (folder / "m.xml", folder / "m.bin"))

done = False
for turn in itertools.count(2):
    call, read = divmod(turn, 2)
    if done and not read:
        break
    write("old")
    child = os.fork()
    if not child:
        count = 0
        def hook(event, arguments):
            global count
            if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir"):
                count += 1
                if count == call:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        write("new")
        os._exit(0)
    done = os.waitpid(child, 0)[1] == 0
    found = state()
    assert found in pairs.values() or found[0] is None, (call, found)
    if read:
        settle(folder / "m.xml")
        assert state() in pairs.values(), (call, state())
        seen.add((found, state()))
        write("new")
    else:
        write("new")
    assert sorted(os.listdir(folder)) == ["m.bin", "m.xml"] and state() == pairs["new"], (call, os.listdir(folder))
print(call, len(seen))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")
def test_killed_at_each_call(tmp_path: Path) -> None:
    """A process is killed before each of its calls on files: afterwards both files are the old or the new ones."""
    done = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    calls, states = map(int, done.stdout.split())
    assert calls > 20 and states >= 4


def _abandoned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair whose new files aren't in place yet, as a killed process leaves it: the old model is away."""
    write(folder / "m.xml", "old", "weights")

    def killed(journal: Path) -> None:
        os.replace(folder / "m.xml", journal / "old" / "m.xml")
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(outputs, "_complete", lambda journal: killed(journal) if (folder / "m.xml").exists() else None)
        with pytest.raises(SystemExit):
            write(folder / "m.xml", "new", "others")
    assert contents(folder / next(name for name in os.listdir(folder) if name.endswith(".put")) / "files") == {
        "m.xml": "new",
        "m.bin": "others",
    }


def test_a_journal_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _abandoned(tmp_path, monkeypatch)
    settle(tmp_path / "m.xml")
    assert contents(tmp_path) == {"m.xml": "new", "m.bin": "others"}


def test_a_file_written_by_others_since_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _abandoned(tmp_path, monkeypatch)
    (tmp_path / "m.xml").write_text("of somebody else")
    settle(tmp_path / "m.xml")
    assert contents(tmp_path) == {"m.xml": "of somebody else", "m.bin": "weights"}


def test_a_journal_of_a_living_process_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _abandoned(tmp_path, monkeypatch)
    (journal,) = tmp_path.glob("*.put")
    held = outputs.lock(journal)
    assert held is not None
    monkeypatch.setattr(outputs, "_PATIENCE", 0.05)
    with pytest.raises(InvalidModel, match=r"m\.xml: another process is moving its files"):
        settle(tmp_path / "m.xml")
    os.close(held)
    settle(tmp_path / "m.xml")
    assert contents(tmp_path) == {"m.xml": "new", "m.bin": "others"}


def test_leftovers(tmp_path: Path) -> None:
    """What a process that is gone left is removed; what is in use, or only has a name like that, stays."""
    living = Scratch(tmp_path)
    gone = tmp_path / ".backedge-0123456789abcdef"
    (gone / "files").mkdir(parents=True)
    (gone / "files" / "m.xml").write_text("half")
    (tmp_path / ".backedge-fedcba9876543210").mkdir()
    ours = ["backedge-exported", "backedge-0123456789abcde", "backedge-0123456789abcdef.old"]
    for name in ours:
        (tmp_path / name).mkdir()
    write(tmp_path / "n.xml")
    assert sorted(os.listdir(tmp_path)) == sorted([living.path.name, "n.xml", *ours])
    living.close()
    assert sorted(os.listdir(tmp_path)) == sorted(["n.xml", *ours])


def test_a_link_with_such_a_name_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.xml").write_text("mine")
    (tmp_path / ".backedge-0123456789abcdef").symlink_to("models")
    write(tmp_path / "n.xml")
    assert (tmp_path / "models" / "m.xml").read_text() == "mine"


def test_signals_wait(tmp_path: Path) -> None:
    """Ctrl-C while files are moved: they are moved, then it is heard."""
    with pytest.raises(KeyboardInterrupt):
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            (tmp_path / "m.xml").write_text("new")
        (tmp_path / "later").write_text("")
    assert contents(tmp_path) == {"m.xml": "new"}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_no_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(InvalidModel, match="no folder for temporary files can be made: No such file"), scratch():
        pass


def test_state_is_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal's state as the module says it: sizes and times of the old files and the new ones."""
    _abandoned(tmp_path, monkeypatch)
    (journal,) = tmp_path.glob("*.put")
    state = json.loads((journal / "state").read_text())
    assert list(state) == ["m.bin", "m.xml"]
    assert [[old[0], new[0]] for old, new in state.values()] == [[7, 6], [3, 3]]


def test_a_process_that_ends_amid_its_work_leaves_nothing_and_takes_nothing_from_its_parent(tmp_path: Path) -> None:
    script = """
import os, sys
from pathlib import Path
from backedge.passes.scratch import Scratch
made = Scratch(Path(sys.argv[1]))
if not os.fork():
    sys.exit()
os.wait()
print(made.files.is_dir())
sys.exit()
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert list(tmp_path.iterdir()) == []
