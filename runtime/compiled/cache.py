"""Compiling a generated function, and keeping the machine code on disk.

Numba's own cache does the keeping. It needs a real file, and takes one that was written again for a new
one; so each source has a file of its own, named by the hash of all that matters, written under another
name first and never changed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ...passes.libraries import is_installed
from . import stored
from .function import Argument, Function
from .tensors import Decline

VARIABLE = "BACKEDGE_CACHE"
"""The environment variable that names another folder; empty: nothing is kept."""

_OPTIONS = {"error_model": "numpy", "nogil": True}
_RUNTIME = b"NRT_"
"""How the names of Numba's runtime begin, as object code has them."""

_HELPERS = ("helpers", "narrow", "products", "transcendental", "windows")


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code: the function, how long it took to get it, and whether it came from disk."""

    call: Callable[..., tuple[Any, ...]]
    seconds: float
    from_disk: bool


_loaded: dict[str, Compiled] = {}
_LOCK = threading.Lock()


def folder() -> Path | None:
    """Where machine code is kept: $BACKEDGE_CACHE, else backedge/loops in the user's cache folder."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):  # no home
        return (Path(base) if base else Path.home() / ".cache") / "backedge" / "loops"
    return None


def can_compile() -> bool:
    """Whether Numba is installed, without which everything is interpreted."""
    return is_installed("numba")


def on_hand(function: Function) -> bool:
    """Whether the function's machine code is loaded already, or on disk."""
    try:
        _, key = _identity(function)
    except Decline:
        return False
    place = folder()
    return key in _loaded or (place is not None and stored.is_kept(place, key))


def compiled(function: Function) -> Compiled:
    """The function's machine code: from this process, from disk, or made now.

    Raises:
        Decline: Numba isn't installed, or can't be imported: it refuses a NumPy that is newer than itself.
    """
    source, key = _identity(function)
    with _LOCK:  # threads that come to the same loop wait for one of them
        if key not in _loaded:
            _loaded[key] = _compile(function, source, key)
        return _loaded[key]


def _identity(function: Function) -> tuple[str, str]:
    """The whole source, and the hash of everything the machine code depends on.

    Raises:
        Decline: see `compiled`.
    """
    try:
        import llvmlite.binding
        import numba
    except ImportError as error:
        raise Decline(f"Numba can't be imported: {error}") from None

    imports, called = ["import math", "import numpy as np"], set(re.findall(r"\b([a-z]\w*)\(", function.source))
    for module in _HELPERS:
        used = [name for name in re.findall(r"^def ([a-z]\w*)", _text(module), re.M) if name in called]
        if used:
            imports.append(f"from {__package__}.{module} import {', '.join(used)}")
    source = "\n".join([*imports, "", "", function.source])
    parts = [
        source,
        *map(_text, _HELPERS),
        repr(function.arguments),
        repr([(array.dtype.str, array.ndim) for array in function.constants]),
        numba.__version__,
        llvmlite.__version__,
        sys.version,
        llvmlite.binding.get_host_cpu_name(),
        repr(sorted(llvmlite.binding.get_host_cpu_features().items())),
        repr((_OPTIONS, os.environ.get("NUMBA_OPT"))),
    ]
    return source, hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@functools.cache
def _text(module: str) -> str:
    """The source of a module of this package."""
    return Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")


def _compile(function: Function, source: str, key: str) -> Compiled:
    begin = time.perf_counter()
    import numba

    path = _kept(source, key)
    if path is not None and not stored.is_whole(path.parent, key) and not stored.discard(path.parent, key):
        path = None  # damaged, and it can't be removed
    module = ModuleType(f"backedge_{stored.stem(key)}")
    sys.modules[module.__name__] = module
    exec(compile(source, str(path or f"<{module.__name__}>"), "exec"), module.__dict__)
    signature = tuple(_numba_type(argument) for argument in function.arguments if argument is not None)
    constants = tuple(numba.types.Array(numba.from_dtype(array.dtype), array.ndim, "C") for array in function.constants)
    dispatcher = numba.njit(cache=path is not None, **_OPTIONS)(module.__dict__["loop"])
    if path is not None:
        _load_without_registries(dispatcher, stored.mentions(path.parent, key, _RUNTIME))
    dispatcher.compile((*signature, *constants))
    dispatcher.disable_compile()
    hits = sum(dispatcher.stats.cache_hits.values())
    if path is not None and not hits:
        stored.seal(path.parent, key)
    return Compiled(dispatcher, time.perf_counter() - begin, from_disk=hits > 0)


def _load_without_registries(dispatcher: Any, allocates: bool) -> None:
    """Let a function be loaded from disk without Numba's registries.

    Numba fills them before it looks there: a third of a second, half of it SciPy's import. Only compiling needs them,
    and fills them itself. Numba's runtime, which takes 20 ms, is needed by code that `allocates` only. A Numba that is
    made otherwise does as it does.
    """
    from numba.core.runtime.nrt import rtsys

    kept = dispatcher._cache

    def load_overload(signature: Any, context: Any) -> Any:
        if allocates:
            rtsys.initialize(context)
        with kept._guard_against_spurious_io_errors():
            return kept._load_overload(signature, context)

    if all(hasattr(kept, name) for name in ("_load_overload", "_guard_against_spurious_io_errors")):
        kept.load_overload = load_overload


def _numba_type(argument: Argument) -> Any:
    import numba
    import numpy as np

    element = numba.from_dtype(np.dtype(argument.kind))
    return numba.types.Array(element, argument.rank, "C") if argument.rank else element


def _kept(source: str, key: str) -> Path | None:
    """The source's file, written if it isn't there; None where it can't be."""
    place = folder()
    if place is None:
        return None
    path = place / f"{stored.stem(key)}.py"
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            handle, temporary = tempfile.mkstemp(suffix=".tmp", dir=place)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(source)
            try:
                os.link(temporary, path)  # unlike a rename, this never replaces what another process wrote
            except FileExistsError:
                pass
            finally:
                os.unlink(temporary)
        return path if path.read_text(encoding="utf-8") == source else None
    except OSError:
        return None
