"""What is left when the command is killed: `python -m fuzz.kills --count 1000 --seed 0`, with PYTHONPATH=tests.

Each time a command that replaces a valid old file is forked from a process that has imported all of it, and gets
SIGKILL, SIGTERM or SIGINT: at any time, in the last tenth of its time, or right before one of the calls in which it
opens, renames or removes files. Then

- each file is the old one or the new one, to the byte; of a pair one may be away while a journal says so,
- SIGTERM and SIGINT leave nothing but the target,
- reading the model gives the old graph or the new one,
- the same command, not killed, writes the new one and leaves nothing else, beside the target nor in the folder for
  temporary files.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from backedge.convert import cli, conversion, diff, proof, running, verification  # noqa: F401  all that commands need
from backedge.convert.files import load
from backedge.passes.graph import Graph
from backedge.passes.text import lines

SAMPLES = Path(__file__).parents[2] / "samples"
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.chown")
"""Audit events; each is raised before what it tells of."""

ENDED = {signal.SIGKILL: (-9,), signal.SIGTERM: (143, -15), signal.SIGINT: (130, -2)}
"""Exit codes of a command that a signal has ended; it may be done, too."""

OF_OTHERS = ".ses"
"""What ONNX Runtime writes to the folder for temporary files whenever it is imported."""

SLOW = 300.0  # seconds until a process that doesn't end on a signal is a failure


@dataclass
class Case:
    """A command whose last argument is a model that it writes.

    Attributes:
        source, old: what is converted, and what stood in the target's place before.
        target: its name; with `beside` the files that belong to it.
        options: further arguments.
        reports: files that it writes besides, JSON that must be whole.
        weight: how often it is drawn: what starts processes takes long.
        states, graphs: the files and the model before and after.
        seconds, calls: how long it takes undisturbed, and in how many calls on files.
    """

    source: str
    old: str
    target: str
    beside: tuple[str, ...] = ()
    options: tuple[str, ...] = ("--verify", "0")
    reports: tuple[str, ...] = ()
    weight: float = 1.0
    states: list[dict[str, bytes]] = field(default_factory=list)
    graphs: list[str] = field(default_factory=list)
    seconds: float = 0.0
    calls: int = 0

    @property
    def name(self) -> str:
        return f"{self.source} -> {self.target} {' '.join(self.options)}"

    @property
    def files(self) -> tuple[str, ...]:
        return (self.target, *self.beside)


CASES = [
    Case("lcg.onnx", "newton_sqrt.onnx", "o.xml", ("o.bin",)),
    Case("external.onnx", "other.onnx", "o.onnx", ("o.onnx.data",)),
    Case("external.onnx", "other.onnx", "o.xml", ("o.bin",)),
    Case("lcg.onnx", "newton_sqrt.onnx", "o.json"),
    Case("external.onnx", "other.onnx", "o.hlo"),
    Case("lstm_tensor_iterator.xml", "lcg.onnx", "o.onnx"),
    Case(
        "external.onnx",
        "other.onnx",
        "o.xml",
        ("o.bin",),
        ("--verify", "2", "--json", "report.json", "--certificate", "proof.json"),
        ("report.json", "proof.json"),
        weight=0.5,
    ),
    Case("rnn_scan_forward.onnx", "rnn_scan_reverse.onnx", "o.mlir", weight=0.1),
]


def make_sources(folder: Path) -> None:
    """The samples, and two models with external data of one layout, which a reader could mix."""
    for sample in SAMPLES.iterdir():
        if sample.suffix in (".onnx", ".xml", ".bin"):
            shutil.copy(sample, folder)
    for name, shift in (("external", 0), ("other", 1)):
        weights = onnx.numpy_helper.from_array(np.arange(4096, dtype=np.float32).reshape(64, 64) + shift, "w")
        node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
        shape = [2, 64]
        infos = [onnx.helper.make_tensor_value_info(one, onnx.TensorProto.FLOAT, shape) for one in "xy"]
        graph = onnx.helper.make_graph([node], "g", infos[:1], infos[1:], [weights])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, folder / f"{name}.onnx", save_as_external_data=True, location=f"{name}.data", size_threshold=0)


def digest(graph: Graph) -> str:
    """Of a model: its text and its constants."""
    found = hashlib.sha256("\n".join(lines(graph)).encode())
    for inner in graph.graphs():
        for value in inner.constants:
            if value.data is not None:
                found.update(np.ascontiguousarray(value.data.numpy()).tobytes())
    return found.hexdigest()


class Place:
    """The folders of one case: what is read, where is written, and temporary files."""

    def __init__(self, root: Path) -> None:
        self.sources, self.targets, self.temporary = (root / name for name in ("sources", "targets", "temporary"))

    def fresh(self, files: dict[str, bytes]) -> None:
        """Empty folders, with what stood there before."""
        for folder in (self.targets, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for name, content in files.items():
            (self.targets / name).write_bytes(content)

    def left(self) -> list[str]:
        """All files, by their paths."""
        return sorted(
            str(path.relative_to(folder.parent))
            for folder in (self.targets, self.temporary)
            for path in folder.rglob("*")
            if path.name != OF_OTHERS
        )


def forked(work: Callable[[], None], place: Place, call: int = 0, number: int = 0) -> int:
    """The process id of a process that does this in the folder of targets, and gets a signal at a call."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        os.chdir(place.targets)
        os.environ["TMPDIR"] = tempfile.tempdir = str(place.temporary)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for handle in (0, 1, 2):
            os.dup2(nowhere, handle)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if call or number:
            _signal_at(call, number)
        work()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:  # before the command has begun, or after it
        status = 130
    finally:
        os._exit(status)


def _signal_at(call: int, number: int) -> None:
    """Send this process a signal before its n-th call on files; with signal 0 tell the number of calls at the end."""
    owner, count = os.getpid(), 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event in EVENTS and os.getpid() == owner and not _is_reading(event, arguments):
            count += 1
            if number and count == call:
                os.kill(owner, number)
            elif not number:
                os.pwrite(call, count.to_bytes(4, "little"), 0)

    sys.addaudithook(hook)


def _is_reading(event: str, arguments: tuple[object, ...]) -> bool:
    return event == "open" and not (len(arguments) > 2 and isinstance(arguments[2], int) and arguments[2] & 3)


def waited(child: int, limit: float) -> int:
    """Its exit code.

    Raises:
        AssertionError: it doesn't end.
    """
    end = time.monotonic() + limit
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"it didn't end within {limit:g} s")
        time.sleep(0.001)


def command(case: Case, place: Place, source: str = "") -> Callable[[], None]:
    """The case's command; with another source what makes the old target."""
    arguments = ["convert", str(place.sources / (source or case.source)), case.target]
    return lambda: cli.main([*arguments, *(("--verify", "0") if source else case.options)])


def prepare(case: Case, place: Place) -> None:
    """Let the case run undisturbed for the old target and the new one; what both are, how long it takes."""
    for source in (case.old, ""):
        place.fresh({})
        assert waited(forked(command(case, place, source), place), 120) == 0, f"{case.name}: it fails undisturbed"
        case.states.append({name: (place.targets / name).read_bytes() for name in case.files})
        case.graphs.append(digest(load(place.targets / case.target)))
    assert case.states[0] != case.states[1] and case.graphs[0] != case.graphs[1]
    counted = os.open(place.sources / "count", os.O_RDWR | os.O_CREAT)
    place.fresh(case.states[0])
    begin = time.monotonic()
    assert waited(forked(command(case, place), place, counted), 120) == 0
    case.seconds = time.monotonic() - begin
    case.calls = int.from_bytes(os.pread(counted, 4, 0), "little")
    os.close(counted)


def kill(case: Case, place: Place, drawn: random.Random) -> str:
    """Kill the case once; what happened, in a few words.

    Raises:
        AssertionError: something isn't as it should be.
    """
    place.fresh(case.states[0])
    number = drawn.choice(SIGNALS)
    way = drawn.choice(("time", "end", "call", "call"))
    call, delay = 0, 0.0
    if way == "call":
        call = drawn.randint(1, case.calls + 1)
    else:
        delay = case.seconds * (drawn.random() if way == "time" else 0.85 + 0.3 * drawn.random())
    told = f"{case.name}: {signal.Signals(number).name} {f'at call {call}' if call else f'after {delay:.4f} s'}"
    child = forked(command(case, place), place, call, number if call else 0)
    if not call:
        time.sleep(delay)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
    code = waited(child, SLOW)
    assert code == 0 or code in ENDED[number], f"{told}: exit code {code}"
    left = [name for name in place.left() if Path(name).name not in (*case.files, *case.reports)]
    assert number == signal.SIGKILL or not left, f"{told}: it leaves {left}"
    check_files(case, place, told, is_journalled=any(".put/state" in name for name in left))
    reader = forked(lambda: sys.exit(case.graphs.index(digest(load(case.target)))), place)
    read = waited(reader, SLOW)
    assert read in (0, 1), f"{told}: it is read as neither"
    assert code != 0 or read == 1, f"{told}: it says that it is done, and isn't"
    check_files(case, place, f"{told}, then read")
    assert (place.targets / case.target).read_bytes() == case.states[read][case.target], told
    again = waited(forked(command(case, place), place), 120)
    assert again == 0, f"{told}: the next run ends with {again}"
    wanted = sorted(f"targets/{name}" for name in (*case.files, *case.reports))
    assert place.left() == wanted, f"{told}: left are {place.left()}"
    assert {name: (place.targets / name).read_bytes() for name in case.files} == case.states[1], told
    outcome = "done before" if code == 0 else "new" if read else "old"
    rest = "nothing left" if not left else "a journal left" if any(".put" in one for one in left) else "scratch left"
    return f"{signal.Signals(number).name}, {outcome}, {rest}"


def check_files(case: Case, place: Place, told: str, is_journalled: bool = False) -> None:
    """Each file is whole, and files that belong together are of one model."""
    found = {name: place.targets / name for name in case.files}
    contents = {name: path.read_bytes() for name, path in found.items() if path.exists()}
    for name, content in contents.items():
        assert content in [state[name] for state in case.states], f"{told}: {name} is neither the old nor the new"
    if not is_journalled:
        assert contents in case.states, f"{told}: the files don't belong together: {sorted(contents)}"
    elif case.target in contents:
        assert contents in case.states, f"{told}: others would read a mixed pair"
    for name in case.reports:
        if (place.targets / name).exists():
            json.loads((place.targets / name).read_text())


def run(count: int, seed: int, root: Path, cases: list[Case]) -> Iterator[str]:
    """Kill so often; what happened each time."""
    drawn = random.Random(seed)
    place = Place(root)
    place.sources.mkdir(parents=True)
    make_sources(place.sources)
    for case in cases:
        prepare(case, place)
    for number in range(count):
        case = cases[number] if number < len(cases) else drawn.choices(cases, [one.weight for one in cases])[0]
        yield kill(case, place, drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kills-") as root:
        os.environ["BACKEDGE_CACHE"] = ""
        for number, outcome in enumerate(run(asked.count, asked.seed, Path(root), CASES), 1):
            outcomes[outcome] += 1
            if number % 100 == 0:
                print(f"{number} kills, {time.monotonic() - begin:.0f} s", flush=True)
    for outcome, times in sorted(outcomes.items()):
        print(f"{times:6}  {outcome}")


if __name__ == "__main__":
    main()
