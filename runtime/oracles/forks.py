"""Processes for sessions: forked from one that has imported the runtime where the system can do that, else started.

Linux alone forks here: on other systems libraries that runtimes load don't survive it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Protocol

from ...passes.limits import for_children

NUMBER = struct.Struct("<i")
"""How lengths, process ids and exit statuses are told."""

SWITCH = "BACKEDGE_FORK"
"""The environment variable that, set to 0, has every session's process started anew."""

_PATIENCE = 10.0  # seconds until a server that doesn't tell of its session's end is given up

OURS = __name__.partition(".")[0]
"""The package whose modules' sessions are forked."""


def read_exactly(stream: socket.socket, size: int) -> bytes:
    """So many bytes, fewer where the other side closes before."""
    parts: list[bytes] = []
    while size:
        part = stream.recv(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class Process(Protocol):
    """As much of a `subprocess.Popen` as a session's driver uses."""

    stdin: IO[str] | None
    stdout: IO[str] | None

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...

    def kill(self) -> None: ...


def start(module: str, request: dict[str, Any], log: IO[bytes], directory: Path) -> Process:
    """A process that runs a session of a module (`child.py`) in a folder; `request` is what it will be told first."""
    server, env = _server(module), _environment()
    if server is not None:
        with contextlib.suppress(OSError):  # the server is gone
            return _Forked(server, {"module": module, "request": request, "cwd": str(directory), "env": env}, log)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", f"{__package__}.child", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=directory,
        env=env,
        start_new_session=True,
        text=True,
        errors="replace",
    )


def warm_up(module: str, path: Path, options: Mapping[str, Any]) -> None:
    """Let sessions of a module for such a file be imported now, beside whatever else is done, if they are forked."""
    server = _server(module)
    if server is not None:
        request = {"path": str(path), "options": dict(options)}
        with contextlib.suppress(OSError):  # the server is gone
            _ask(server, {"module": module, "request": request}).close()


class Servers:
    """The servers of this process, started when they are first needed.

    Attributes:
        processes: of those that were started.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._running: dict[str, socket.socket] = {}
        self.processes: list[subprocess.Popen[bytes]] = []

    def of(self, module: str) -> socket.socket | None:
        """The socket of the server for sessions of a module; None for modules that aren't of this project. Ours share
        one; each runtime has its own, so that they import side by side."""
        if "." in module and not module.startswith(f"{OURS}."):
            return None
        name = "" if "." in module else module
        with self._lock:
            if name not in self._running:
                self._running[name] = self._start()
            return self._running[name]

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", f"{__package__}.fork_server"],
                env=_environment(),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.processes.append(process)
        return ours

    def unlock(self) -> None:
        """In a forked process: whoever held the lock isn't there."""
        self._lock = threading.Lock()

    def forget(self, server: socket.socket) -> None:
        """A server that doesn't answer any more isn't asked again."""
        with self._lock:
            self._running = {name: one for name, one in self._running.items() if one is not server}

    def close(self) -> None:
        """End the servers, and with them their sessions, at once; a process forked from their owner leaves them."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            for server in self._running.values():
                server.close()
            self._running.clear()
            for process in self.processes:
                process.kill()
                process.wait()


class _Forked:
    """A process forked by a server.

    Raises:
        OSError: the server is gone.
    """

    def __init__(self, server: socket.socket, asked: dict[str, Any], log: IO[bytes]) -> None:
        self._server = server
        into, stdin = os.pipe()
        stdout, out = os.pipe()
        try:
            self._stream = _ask(server, asked, into, out, log.fileno())
        except OSError:
            os.close(stdin)
            os.close(stdout)
            raise
        finally:
            os.close(into)
            os.close(out)
        self.stdin: IO[str] | None = os.fdopen(stdin, "w")
        self.stdout: IO[str] | None = os.fdopen(stdout, errors="replace")
        self._stream.settimeout(_PATIENCE)
        self._pid: int | None = None
        self._status: int | None = None

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        while self._status is None and self._has_more():
            self._read()
        return self._status

    def _has_more(self) -> bool:
        """Whether the server has told something that wasn't read."""
        told = select.poll()  # unlike select, it takes descriptors beyond 1023
        told.register(self._stream, select.POLLIN)
        return bool(told.poll(0))

    def wait(self) -> int:
        """The exit status, when it has ended."""
        while self._status is None:
            self._read()
        return self._status

    def _read(self) -> None:
        """Take the next of the two numbers that the server tells: the process id and the exit status."""
        try:
            data = read_exactly(self._stream, NUMBER.size)
        except TimeoutError:
            SERVERS.forget(self._server)
            data = b""
        except OSError:  # closed before it has read what it was asked
            data = b""
        if len(data) < NUMBER.size:  # the server died, and its sessions with it
            self._status = -signal.SIGKILL
        elif self._pid is None:
            (self._pid,) = NUMBER.unpack(data)
        else:
            (self._status,) = NUMBER.unpack(data)
        if self._status is not None:
            self._stream.close()

    def kill(self) -> None:
        """End it: the server does that when the stream is closed for writing."""
        if self._status is None:
            self._stream.shutdown(socket.SHUT_WR)


def _ask(server: socket.socket, asked: dict[str, Any], *descriptors: int) -> socket.socket:
    """The stream on which a server was asked; `descriptors`: the session's, none where only imports are asked for.

    Raises:
        OSError: the server is gone, and isn't asked again.
    """
    stream, theirs = socket.socketpair()
    text = json.dumps(asked).encode()
    try:
        with theirs:
            socket.send_fds(server, [b"\0"], [theirs.fileno(), *descriptors])
        stream.sendall(NUMBER.pack(len(text)) + text)
    except OSError:
        SERVERS.forget(server)
        stream.close()
        raise
    return stream


def _environment() -> dict[str, str]:
    """One thread each, and ONNX Runtime also takes the operator set that isn't released yet."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, **for_children(), "ALLOW_RELEASED_ONNX_OPSET_ONLY": "0", "PYTHONFAULTHANDLER": ""}


SERVERS = Servers()
"""Those that this process and what is forked from it use."""

atexit.register(lambda: SERVERS.close())
if sys.platform == "linux":
    os.register_at_fork(after_in_child=lambda: SERVERS.unlock())


def _server(module: str) -> socket.socket | None:
    """The server for sessions of a module; None where their processes are started anew."""
    return None if sys.platform != "linux" or os.environ.get(SWITCH) == "0" else SERVERS.of(module)
