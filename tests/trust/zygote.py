"""Runtimes' processes forked from one that has imported everything, instead of started anew: for the sweep's speed.

`runtime.oracles.driver.Child` talks to its process through pipes; here it gets the same process, running the same
`oracles.child.main`, with the same pipes, folder, session and environment, only that it was forked from the zygote: a
process that has imported the runtimes and made no session.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

_LENGTH = struct.Struct("<I")
_CHILD = "backedge.runtime.oracles.child"
_MODULES = (
    "backedge.convert.conversion",
    "backedge.convert.executor_session",
    "backedge.convert.sampling_session",
    "backedge.runtime.compiled",
    _CHILD,
    "backedge.runtime.oracles.onnxruntime_session",
    "backedge.runtime.oracles.openvino_session",
    "backedge.runtime.oracles.reference_session",
    "numba",  # the executor imports it when a loop needs it
)
_XLA = ("jax", "backedge.runtime.oracles.xla_session")


def preload(xla: bool = False) -> None:
    """Import what verifications and their children need.

    ONNX Runtime's and OpenVINO's imports each leave an idle thread for their telemetry, which a fork doesn't have: it
    holds nothing that a session waits for. There must be no session and no thread of ours.
    """
    for name in (*_MODULES, *(_XLA if xla else ())):
        importlib.import_module(name)


class Zygote:
    """A process that forks itself on request, and tells the exit status of each fork through a pipe."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="zygote-")
        self.address = str(Path(self._folder.name) / "socket")
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(self.address)
        server.listen(64)
        sys.stdout.flush()
        self._pid = os.fork()
        if not self._pid:
            _serve(server)
        server.close()

    def close(self) -> float:
        """End it; the processor seconds that it and its forks took."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)
        _, _, used = os.wait4(self._pid, 0)
        self._folder.cleanup()
        return used.ru_utime + used.ru_stime

    def install(self) -> None:
        """Let the driver of this process take its children from here."""
        from backedge.runtime.oracles import driver

        shim = types.SimpleNamespace(**{name: getattr(subprocess, name) for name in subprocess.__all__})
        shim.Popen = self._open
        driver.subprocess = shim  # type: ignore[assignment]

    def _open(self, command: Sequence[str], **options: Any) -> Any:
        if list(command[1:4]) == ["-P", "-m", _CHILD]:
            return Forked(self.address, list(command[4:]), options["stderr"], str(options["cwd"]), options["env"])
        return subprocess.Popen(command, **options)


class Forked:
    """As much of a `subprocess.Popen` as the driver uses."""

    def __init__(self, address: str, arguments: list[str], log: Any, cwd: str, env: dict[str, str]) -> None:
        into, stdin = os.pipe()
        stdout, out = os.pipe()
        self._status, status = os.pipe()
        changed = {name: value for name, value in env.items() if os.environ.get(name) != value}
        request = json.dumps({"arguments": arguments, "cwd": cwd, "env": changed}).encode()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.connect(address)
            socket.send_fds(channel, [_LENGTH.pack(len(request))], [into, out, log.fileno(), status])
            channel.sendall(request)
            answer = channel.recv(_LENGTH.size, socket.MSG_WAITALL)
        for handle in (into, out, status):
            os.close(handle)
        if len(answer) < _LENGTH.size:
            raise OSError("the zygote is gone")
        (self.pid,) = _LENGTH.unpack(answer)
        self.stdin, self.stdout = os.fdopen(stdin, "w"), os.fdopen(stdout)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            os.set_blocking(self._status, False)
            with contextlib.suppress(BlockingIOError):
                self._take()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            os.set_blocking(self._status, True)
            self._take()
        assert self.returncode is not None
        return self.returncode

    def _take(self) -> None:
        data = os.read(self._status, 4)
        self.returncode = struct.unpack("<i", data)[0] if len(data) == 4 else -signal.SIGKILL
        os.close(self._status)

    def kill(self) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def _serve(server: socket.socket) -> NoReturn:
    """Fork on request until ended; a child's end is told to whoever asked for it."""
    import ctypes

    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        waiting: dict[int, int] = {}
        events = select.poll()
        events.register(server, select.POLLIN)
        events.register(reader, select.POLLIN)
        while True:
            ready = {handle for handle, _ in events.poll()}
            if reader in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(reader, 4096)
                _reap(waiting, events)
            for pid, handle in list(waiting.items()):
                if handle in ready:  # whoever asked for it is gone, and so must it
                    events.unregister(handle)
                    os.kill(pid, signal.SIGKILL)
            if server.fileno() in ready:
                channel, _ = server.accept()
                with channel, contextlib.suppress(OSError):
                    _spawn(server, channel, waiting, (reader, writer), events)
    finally:
        os._exit(1)


def _reap(waiting: dict[int, int], events: select.poll) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        handle = waiting.pop(pid, None)
        if handle is not None:
            with contextlib.suppress(OSError):
                os.write(handle, struct.pack("<i", os.waitstatus_to_exitcode(status)))
            with contextlib.suppress(KeyError):
                events.unregister(handle)
            os.close(handle)


def _spawn(
    server: socket.socket, channel: socket.socket, waiting: dict[int, int], own: tuple[int, int], events: select.poll
) -> None:
    head, handles, _, _ = socket.recv_fds(channel, _LENGTH.size, 4)
    if len(head) < _LENGTH.size or len(handles) != 4:
        for handle in handles:
            os.close(handle)
        return
    (length,) = _LENGTH.unpack(head)
    request = json.loads(channel.recv(length, socket.MSG_WAITALL))
    pid = os.fork()
    if not pid:
        for handle in (*own, *waiting.values(), handles[3]):
            os.close(handle)
        server.close()
        channel.close()
        _run(request, handles[:3])
    for handle in handles[:3]:
        os.close(handle)
    waiting[pid] = handles[3]
    events.register(handles[3], 0)  # told when its other end is closed
    channel.sendall(_LENGTH.pack(pid))


def _run(request: dict[str, Any], handles: list[int]) -> NoReturn:
    """The child: what `python -P -m backedge.runtime.oracles.child ARGUMENTS` would be."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        for target, handle in enumerate(handles):
            os.dup2(handle, target)
            os.close(handle)
        os.chdir(request["cwd"])
        os.environ.update(request["env"])
        sys.argv = [_CHILD, *request["arguments"]]
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        from backedge.runtime.oracles import child

        child.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
