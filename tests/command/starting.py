"""The command in processes of their own, each forked from one that has imported it and whose runtimes it shares."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Protocol


@dataclass(frozen=True)
class Ended:
    """What a process left: its exit code, and what it wrote to standard output and to standard error."""

    code: int
    out: bytes
    err: bytes

    @property
    def lines(self) -> list[str]:
        """Of standard error."""
        return self.err.decode().splitlines()

    @property
    def message(self) -> str:
        """The one line on standard error; where the target can't express a model, its reasons and hints follow."""
        said, *more = self.lines
        assert said.startswith("backedge: "), self.lines
        assert all(self.code == 3 and line.startswith(("  ", "hint: ")) for line in more), self.lines
        return said


class Start(Protocol):
    """Starts the command in a folder and waits for its end; `setup` is run in its process before."""

    def __call__(self, folder: Path, *arguments: object, setup: str = "", given: bytes = b"") -> Ended: ...


_SERVER = """
import json, os, sys, threading
from pathlib import Path
import backedge.convert.cli
import backedge.convert.conversion, backedge.convert.running, backedge.convert.verification

files = Path("m.onnx"), Path("m.xml")
backedge.convert.verification.start_runtimes(files, (None, None))

def read(end, into):
    with open(end, "rb") as stream:
        into.append(stream.read())

def write(end, data):
    try:
        with open(end, "wb") as stream:
            stream.write(data)
    except BrokenPipeError:
        pass

for line in sys.stdin:
    wanted = json.loads(line)
    pipes = [os.pipe() for _ in range(3)]
    child = os.fork()
    if not child:
        os.chdir(wanted["folder"])
        for number, ends in enumerate(pipes):
            os.dup2(ends[number > 0], number)
        for end in sum(pipes, ()):
            os.close(end)
        exec(wanted["setup"], {})
        backedge.convert.cli.main(wanted["arguments"])
    told = [], []
    for number, ends in enumerate(pipes):
        os.close(ends[number > 0])
    threads = [threading.Thread(target=write, args=(pipes[0][1], wanted["given"].encode("latin-1")))]
    threads += [threading.Thread(target=read, args=(pipes[k + 1][0], told[k])) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([code, *(part.decode("latin-1") for (part,) in told)]), flush=True)
"""


@contextmanager
def starting() -> Iterator[Start]:
    """A process from which others are forked."""
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdin=PIPE, stdout=PIPE, text=True) as server:

        def start(folder: Path, *arguments: object, setup: str = "", given: bytes = b"") -> Ended:
            assert server.stdin is not None and server.stdout is not None
            wanted = {"folder": str(folder), "arguments": list(map(str, arguments)), "setup": setup}
            server.stdin.write(json.dumps({**wanted, "given": given.decode("latin-1")}) + "\n")
            server.stdin.flush()
            code, out, err = json.loads(server.stdout.readline())
            ended = Ended(code, out.encode("latin-1"), err.encode("latin-1"))
            assert b"Traceback" not in ended.out + ended.err
            return ended

        yield start
