"""ONNX Runtime, asked directly and in a child process, as the judge of whether two models differ at all."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import onnxruntime as ort

from .feeds import Feed

ROUNDING = 64.0
"""Results that are fewer units in the last place of the tensor's own size apart may be rounding."""

_HALF = 12.0  # results in float16 come from sums in float32: they may be 5 of their own units apart
_SECONDS = 0.6  # for one run before it is asked to end
_SILENCE = 8.0  # for one answer before the process is ended
_CRASHES = 60
_HANGS = 4


@dataclass(slots=True)
class Ran:
    """What came of one feed: outputs in order, or how it failed ("error", "crash", "hang", "load")."""

    outputs: list[tuple[str, Any]] | None = None
    failure: str = ""
    text: str = ""


def in_child(items: Callable[[], Iterator[Any]], silence: float, start: str = "fork") -> Iterator[Any]:
    """What the iterator yields in a child process; ends early if the child dies or is silent for too long.

    Args:
        start: "fork", or "forkserver" where this process may have threads: XLA's, for instance, hold locks that a
            fork would never see released. `items` must be picklable then.

    Raises:
        ChildProcessError: the child died ("crash") or was ended ("hang"), told by the first argument.
    """
    context = multiprocessing.get_context(start)
    if start == "forkserver":
        context.set_forkserver_preload([__name__])
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(items, sender), daemon=start == "forkserver")
    with _no_main():
        child.start()
    sender.close()
    how = ""
    try:
        while not how:
            if receiver.poll(silence):
                yield receiver.recv()
            else:
                how = "hang"
    except EOFError:
        pass
    finally:
        receiver.close()
        if how or sys.exc_info()[0] is not None:
            child.kill()
        child.join()
    if how or child.exitcode:
        raise ChildProcessError(how or "crash", f"status {child.exitcode}")


@contextlib.contextmanager
def _no_main() -> Iterator[None]:
    """Children import the main module of whoever starts them, which nothing that they run needs."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _send(items: Callable[[], Iterator[Any]], sender: Connection) -> None:
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    for item in items():
        sender.send(item)
    sender.close()
    os._exit(0)  # without what was inherited being taken down


def run(model: bytes, feeds: Sequence[Feed], optimized: bool = False) -> list[Ran]:
    """A model on all feeds, in a process that is made anew after a crash or a hang."""
    found: list[Ran] = []
    for _ in range(_CRASHES):
        first = len(found)
        if sum(one.failure == "hang" for one in found) >= _HANGS:
            break
        try:
            for item in in_child(partial(_session, model, feeds[first:], optimized), _SILENCE, "forkserver"):
                found.append(item)
                if item.failure == "load":
                    return [item] * len(feeds)
                if sum(one.failure == "hang" for one in found) >= _HANGS:
                    break
        except ChildProcessError as error:
            found.append(Ran(failure=str(error.args[0])))
        if len(found) >= len(feeds):
            break
    return found[: len(feeds)] + [Ran(failure="hang")] * (len(feeds) - len(found))


def _session(model: bytes, feeds: Sequence[Feed], optimized: bool) -> Iterator[Ran]:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.enable_cpu_mem_arena = False
    levels = ort.GraphOptimizationLevel
    settings.graph_optimization_level = levels.ORT_ENABLE_BASIC if optimized else levels.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # the binding has an exception type for each kind of failure
        yield Ran(failure="load", text=str(error)[:400])
        return
    names = [value.name for value in session.get_outputs()]
    for feed in feeds:
        options = ort.RunOptions()
        options.log_severity_level = 4
        ended = threading.Event()

        def end(options: ort.RunOptions = options, ended: threading.Event = ended) -> None:
            ended.set()
            options.terminate = True

        timer = threading.Timer(_SECONDS, end)
        timer.start()
        try:
            values = session.run(None, feed, options)
            yield Ran(list(zip(names, values, strict=True)))
        except Exception as error:
            yield Ran(failure="hang" if ended.is_set() else "error", text=str(error)[:400])
        finally:
            timer.cancel()


# comparing -------------------------------------------------------------------------------------------


def units(a: Any, b: Any) -> float:
    """How far two results are apart in units of the last place; infinite where rounding can't be the reason."""
    if isinstance(a, list) or isinstance(b, list):
        if not (isinstance(a, list) and isinstance(b, list) and len(a) == len(b)):
            return np.inf
        return max((units(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    if a is None or b is None:
        return 0.0 if a is b else np.inf
    if isinstance(a, dict) or isinstance(b, dict):
        return 0.0 if a == b else np.inf
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return np.inf
    if a.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else np.inf
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    x, y = a[finite].astype(np.float64), b[finite].astype(np.float64)
    scale = np.maximum(np.maximum(np.abs(x), np.abs(y)), 0.05 * np.abs(x).max())
    step = np.maximum(scale * float(np.finfo(a.dtype).eps), float(np.finfo(a.dtype).tiny))
    step /= _HALF if a.dtype == np.float16 else 1.0
    return float((np.abs(x - y) / step).max())


def apart(a: Ran, b: Ran) -> float:
    """How far B's answer is from A's; infinite where only A gives one or the names differ.

    0 where A gives none, or B is slow: a loop that nobody reads may have become a long one.
    """
    if a.outputs is None or b.failure == "hang":
        return 0.0
    if b.outputs is None or [name for name, _ in a.outputs] != [name for name, _ in b.outputs]:
        return np.inf
    return max((units(x, y) for (_, x), (_, y) in zip(a.outputs, b.outputs, strict=True)), default=0.0)


def relative(a: Ran, b: Ran) -> float:
    """As `apart`, as a share of each tensor's size."""
    assert a.outputs is not None and b.outputs is not None
    found = 0.0
    for (_, x), (_, y) in zip(a.outputs, b.outputs, strict=True):
        parts = zip(x, y, strict=True) if isinstance(x, list) else [(x, y)]
        for one, other in parts:
            if isinstance(one, np.ndarray) and one.dtype.kind == "f":
                found = max(found, units(one, other) * float(np.finfo(one.dtype).eps))
    return found


def nudged(feed: Feed, seed: int) -> Feed:
    """The feed with each float in its neighbour's place."""
    random = np.random.default_rng(seed)
    made: Feed = {}
    for name, value in feed.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            toward = np.where(random.random(value.shape) < 0.5, -np.inf, np.inf).astype(value.dtype)
            made[name] = np.asarray(np.nextafter(value, toward), value.dtype)  # a scalar stays an array
        else:
            made[name] = value
    return made


@dataclass(slots=True)
class Original:
    """A model with what it gives on its feeds; `usable` are the numbers of the feeds that can be judged by."""

    data: bytes
    feeds: list[Feed]
    plain: int
    ran: list[Ran] = field(default_factory=list)
    usable: list[int] = field(default_factory=list)

    def prepare(self) -> Original:
        """Run it with and without optimizations: a feed on which these differ is no judge."""
        self.ran = run(self.data, self.feeds)
        other = run(self.data, self.feeds, optimized=True)
        for k, (one, two) in enumerate(zip(self.ran, other, strict=True)):
            if one.outputs is not None and apart(one, two) <= ROUNDING and two.outputs is not None:
                self.usable.append(k)
        return self

    @property
    def share(self) -> float:
        """Of the plain feeds those that it runs on."""
        return sum(k < self.plain for k in self.usable) / max(1, self.plain)


@dataclass(slots=True)
class Judgement:
    """Whether B differs: `real`, on which share of the plain feeds, on which feed, by how much."""

    real: bool
    share: float = 0.0
    feed: int = -1
    units: float = 0.0
    why: str = ""


def judge(original: Original, data: bytes) -> Judgement:
    """Hold a model against the original on all of the original's usable feeds."""
    if not original.usable:
        return Judgement(False, why="the original doesn't run")
    chosen = [original.feeds[k] for k in original.usable]
    ran = run(data, chosen)
    if ran[0].failure == "load":
        return Judgement(False, why=f"isn't loaded: {ran[0].text[:120]}")
    distances = [apart(original.ran[k], one) for k, one in zip(original.usable, ran, strict=True)]
    beyond = [n for n, distance in enumerate(distances) if distance > ROUNDING]
    plain = sum(k < original.plain for k in original.usable)
    share = sum(original.usable[n] < original.plain for n in beyond) / max(1, plain)
    largest = max(distances, default=0.0)
    candidates = [*sorted(beyond, key=lambda n: -distances[n])[:3], *beyond[:3]]
    for n in dict.fromkeys(candidates):
        if _confirmed(original, data, original.usable[n], ran[n]):
            return Judgement(True, share, original.usable[n], distances[n])
    why = "drowns in rounding" if beyond else "nothing to see"
    return Judgement(False, share, units=largest, why=why)


def _confirmed(original: Original, data: bytes, k: int, found: Ran) -> bool:
    """Whether a difference is there with optimizations, too, and is more than the inputs' last places make."""
    feed, mine = original.feeds[k], original.ran[k]
    [a] = run(original.data, [feed], optimized=True)
    [b] = run(data, [feed], optimized=True)
    if apart(a, b) <= ROUNDING:
        return False
    if found.outputs is None or not np.isfinite(apart(mine, found)) or relative(mine, found) > 0.01:
        return True
    moved = run(original.data, [nudged(feed, seed) for seed in range(4)])
    return apart(mine, found) > 4 * max((apart(mine, one) for one in moved if one.outputs is not None), default=0.0)
