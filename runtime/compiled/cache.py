"""Compiling a generated function, and keeping the machine code on disk.

What is kept is Numba's own record of a compiled function, where `stored` can vouch for it. Numba's cache doesn't do the
keeping: it loads whatever stands in its folder, which environment variables move.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import pickle
import platform
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

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


log = logging.getLogger(__name__)

_loaded: dict[str, Compiled] = {}
_LOCK = threading.RLock()

if hasattr(os, "register_at_fork"):  # a child of a process that is compiling would wait for Numba's locks for ever
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


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
        *(module.__version__ for module in (numba, llvmlite, np)),
        sys.version,
        platform.machine(),
        llvmlite.binding.get_host_cpu_name(),
        repr(sorted(llvmlite.binding.get_host_cpu_features().items())),
        repr(_OPTIONS),
        repr(sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))),
    ]
    return source, hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@functools.cache
def _text(module: str) -> str:
    """The source of a module of this package."""
    return Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")


def _compile(function: Function, source: str, key: str) -> Compiled:
    begin = time.perf_counter()
    import numba

    module = ModuleType(f"backedge_loop_{key}")
    sys.modules[module.__name__] = module
    exec(compile(source, f"<{module.__name__}>", "exec"), module.__dict__)
    signature = tuple(_numba_type(argument) for argument in function.arguments if argument is not None)
    constants = tuple(numba.types.Array(numba.from_dtype(array.dtype), array.ndim, "C") for array in function.constants)
    dispatcher: Any = numba.njit(**_OPTIONS)(module.__dict__["loop"])
    kept = Kept(key)
    dispatcher._cache = kept
    dispatcher.compile((*signature, *constants))
    dispatcher.disable_compile()
    return Compiled(dispatcher, time.perf_counter() - begin, kept.was_loaded)


class Kept:
    """What Numba asks before it compiles a function, and tells what it has compiled.

    Numba's registries aren't filled to load one: that takes a third of a second, half of it SciPy's import, and only
    compiling needs them, which fills them itself. Numba's runtime, which takes 20 ms, is needed by code that allocates
    only.
    """

    def __init__(self, key: str) -> None:
        self.was_loaded = False
        self._key = key
        self._folder = folder()

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Numba's record of the function, None where there is none that can be used."""
        if self._folder is None:
            return None
        try:
            content = stored.read(self._folder, self._key)
        except FileNotFoundError:
            return None
        except (OSError, stored.Unusable) as error:
            _tell(error)
            return None
        if content is None:
            return None
        from numba.core.compiler import CompileResult
        from numba.core.runtime.nrt import rtsys

        if _RUNTIME in content:
            rtsys.initialize(context)
        try:
            found = CompileResult._rebuild(context, *pickle.loads(content))
        except Exception as error:
            log.info("compiled code of another Numba: %s", error)
            stored.discard(self._folder, self._key)
            return None
        self.was_loaded = True
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, as far as that can be done."""
        if self._folder is None or result.lifted or result.library.has_dynamic_globals:
            return
        from numba.core.serialize import dumps

        try:
            stored.write(self._folder, self._key, dumps(result._reduce()))
        except (OSError, stored.Unusable, ValueError) as error:
            _tell(error)


@functools.lru_cache(maxsize=64)
def _say(reason: str) -> None:
    log.info("compiled loops are not kept: %s", reason)


def _tell(error: Exception) -> None:
    """Say why nothing is kept, once."""
    _say(str(error))


def _numba_type(argument: Argument) -> Any:
    import numba

    element = numba.from_dtype(np.dtype(argument.kind))
    return numba.types.Array(element, argument.rank, "C") if argument.rank else element
