"""Inputs of JAX programs with NaN, infinities, zeros of both signs, ties and the ends of integers: whether two models
that agree on ordinary numbers mean what jax computes of these, too."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from openvino_lowering.worker import Worker

_SETS, _SECONDS = 200, 60.0
_SHARES = (0.1, 0.3, 0.9)  # of the elements that are extreme
_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-8, -1e-8, 0.5, -0.5, 1.5, 2.5, 1.0, -1.0, 2.0, 8388609.0)
_RELATIVE, _ABSOLUTE = 1e-4, 1e-10

Arrays = list[np.ndarray]


def replaced(leaf: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """An argument with some of its elements replaced. Scalars stay: programs count passes by them."""
    if leaf.dtype.kind not in "fiu" or leaf.ndim == 0:
        return leaf
    pool = np.asarray(_FLOATS)
    if leaf.dtype.kind != "f":
        limits = np.iinfo(leaf.dtype)
        pool = np.array([limits.min, limits.max, 0, 1, 2, limits.max // 2], leaf.dtype)
    where = random.random(leaf.shape) < random.choice(_SHARES)
    return np.where(where, random.choice(pool, leaf.shape).astype(leaf.dtype), leaf)


def computed(name: str) -> list[tuple[Arrays, Arrays]]:
    """Sets of arguments of a program, and what jax makes of each."""
    import jax

    from .programs import PROGRAMS

    program = PROGRAMS[name]
    random = np.random.default_rng(zlib.crc32(name.encode()))
    leaves, tree = jax.tree.flatten(program.trees())
    found: list[tuple[Arrays, Arrays]] = []
    with jax.enable_x64(program.x64):
        function = jax.jit(program.function)
        for _ in range(_SETS):
            given = [replaced(np.asarray(leaf), random) for leaf in leaves]
            results = jax.tree.leaves(function(*jax.tree.unflatten(tree, given)))
            found.append((given, [np.asarray(one) for one in results]))
    return found


def differences(name: str, paths: Sequence[Path]) -> list[dict[int, str]]:
    """For each of several ONNX models of a program: an output -> the first element that is another one than jax
    computes, in ONNX Runtime; of outputs that differ."""
    from backedge.runtime.oracles import run_file

    worker = Worker(computed)
    try:
        runs = worker.ask(name, timeout=_SECONDS)
    except (RuntimeError, TimeoutError):  # a loop may not end of NaN
        return [{} for _ in paths]
    finally:
        worker.stop()
    batches = [{str(at): np.ascontiguousarray(one) for at, one in enumerate(given)} for given, _ in runs]
    found: list[dict[int, str]] = []
    for path in paths:
        said: dict[int, str] = {}
        for (_, wanted), outcome in zip(runs, run_file("onnxruntime", path, batches), strict=True):
            for place, (one, other) in enumerate(zip((outcome.outputs or {}).values(), wanted, strict=False)):
                if place not in said and (text := _differing(np.asarray(one), other)):
                    said[place] = text
        found.append(said)
    return found


def _differing(found: np.ndarray, wanted: np.ndarray) -> str:
    """The first element that differs; of floats of less than 32 bits none is looked for."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{list(found.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind not in "biufc" or wanted.dtype == np.float16:
        return ""
    with np.errstate(all="ignore"):
        same = found == wanted
        if wanted.dtype.kind in "fc":
            near = np.abs(found - wanted) <= _RELATIVE * np.abs(wanted) + _ABSOLUTE
            same = same | near | (np.isnan(found) & np.isnan(wanted))
    if same.all():
        return ""
    at = tuple(int(index) for index in np.argwhere(~same)[0])
    return f"{found[at]}, not {wanted[at]}"
