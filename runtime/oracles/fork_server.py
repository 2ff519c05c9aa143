"""A process that has imported a runtime and forks itself for each session (`python -m` this module).

Importing is most of what a small verification costs. The server imports a module when a session of it is first asked
for; every session after that starts in milliseconds, in a process of its own as before.

Standard input is a socket that keeps message boundaries. Each message carries four descriptors: a stream socket, and
the session's standard input, standard output and standard error. On the stream follow the length (4 bytes) and the
text of a JSON object: `module`, `cwd`, `env` and `request` (what the session reads first, see `child.py`). The server
answers with the session's process id and, when it has ended, its exit status, 4 bytes each. A stream that is closed
before ends the session. A message that carries the stream alone asks for no session, only for its imports. The server
ends when nobody holds the other end of its standard input any more.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from . import child
from .forks import NUMBER, read_exactly

_DESCRIPTORS = 4  # of a message that asks for a session


class _Server:
    """Sessions that run, by process id, with the stream on which their end is told."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._sessions: dict[int, socket.socket] = {}
        self._wakeup, self._signalled = os.pipe()
        for end in (self._wakeup, self._signalled):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: whoever asked ends the sessions
        self._poll = select.poll()
        self._poll.register(requests, select.POLLIN)
        self._poll.register(self._wakeup, select.POLLIN)

    def serve(self) -> None:
        """Fork on request until nobody can ask any more; sessions that still run then are ended."""
        while True:
            ready = {handle for handle, _ in self._poll.poll()}
            if self._wakeup in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wakeup, 4096)
                self._reap()
            for pid, stream in list(self._sessions.items()):
                if stream.fileno() in ready:  # closed by whoever asked
                    self._poll.unregister(stream)
                    os.kill(pid, signal.SIGKILL)
            if self._requests.fileno() in ready and not self._accept():
                break
        for pid in self._sessions:
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        """Tell the exit status of the sessions that have ended."""
        while self._sessions:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            stream = self._sessions.pop(pid, None)
            if stream is not None:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(stream)
                with stream, contextlib.suppress(OSError):
                    stream.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))

    def _accept(self) -> bool:
        """Take one request; whether there was one."""
        message, handles, _, _ = socket.recv_fds(self._requests, 1, _DESCRIPTORS)
        if not message:
            return False
        stream = socket.socket(fileno=handles[0])
        asked = _received(stream)
        if asked is not None:
            _prepare(asked["module"], asked["request"])
        if asked is None or len(handles) < _DESCRIPTORS:
            stream.close()
            for handle in handles[1:]:
                os.close(handle)
            return True
        pid = os.fork()
        if not pid:
            for connection in (self._requests, stream, *self._sessions.values()):
                connection.close()
            os.close(self._wakeup)
            os.close(self._signalled)
            _run(asked, handles[1:])
        for handle in handles[1:]:
            os.close(handle)
        self._sessions[pid] = stream
        self._poll.register(stream, select.POLLIN)  # nothing is sent any more: it is closed then
        with contextlib.suppress(OSError):
            stream.sendall(NUMBER.pack(pid))
        return True


def _received(stream: socket.socket) -> dict[str, Any] | None:
    """What is asked for; None where whoever asked is gone, be it in the middle of asking."""
    try:
        size = read_exactly(stream, NUMBER.size)
        length = NUMBER.unpack(size)[0] if len(size) == NUMBER.size else 0
        text = read_exactly(stream, length)
    except OSError:
        return None
    return json.loads(text) if text and len(text) == length else None


def _prepare(name: str, request: dict[str, Any]) -> None:
    """Import what the session will need, once; what fails here fails in the session again, and is told there."""
    with contextlib.suppress(Exception):
        module = importlib.import_module(child.full_name(name))
        if hasattr(module, "prepare"):
            module.prepare(Path(request["path"]), request["options"])
    gc.freeze()  # a collection in a session would touch, and so copy, every page of what was imported


def _run(asked: dict[str, Any], handles: list[int]) -> NoReturn:
    """The session's process: what `python -m backedge.runtime.oracles.child MODULE` is elsewhere."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        for target, handle in enumerate(handles):
            os.dup2(handle, target)
            os.close(handle)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        child.serve(asked["module"])
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def main() -> None:
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _Server(requests).serve()
    os._exit(0)  # threads of the runtimes don't hold it up


if __name__ == "__main__":
    main()
