"""Libraries that may be missing: whether one is installed, and what is said where it is needed.

    with needed("pymongo", "BSON"):
        import bson

Nothing is imported to find out whether it is there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator

from .errors import InvalidModel

_XLA, _MDF = '"backedge[xla]"', '"backedge[mdf]"'
_NAMES = {
    "distributed": ("Dask", '"backedge[cluster]"'),
    "jax": ("JAX", _XLA),
    "jaxlib": ("jaxlib", _XLA),
    "modeci_mdf": ("modeci-mdf", _MDF),
    "onnx_ir": ("onnx-ir", "onnx-ir"),
    "onnxruntime": ("ONNX Runtime", "onnxruntime"),
    "openvino": ("OpenVINO", "openvino"),
    "pymongo": ("pymongo", _MDF),
}
"""Package -> what people call it, and what pip installs it by, where that isn't the package's own name."""


def is_installed(package: str) -> bool:
    """Whether there is a package to import; a folder of this name without an `__init__` isn't it."""
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None


def missing(package: str) -> str:
    """That a package isn't installed, and how it is; "" if it is."""
    return "" if is_installed(package) else " ".join(_absence(package))


def require(package: str, purpose: str, otherwise: str = "") -> None:
    """
    Args:
        purpose: what the package is for, as the subject of "needs".
        otherwise: what to do without it.

    Raises:
        InvalidModel: it isn't installed.
    """
    if not is_installed(package):
        name, absence = _absence(package)
        way_out = f", or {otherwise}" if otherwise else ""
        raise InvalidModel(f"{purpose} needs {name}, which {absence}{way_out}")


@contextlib.contextmanager
def needed(package: str, purpose: str) -> Iterator[None]:
    """`require`, around the statements that import the package.

    Raises:
        InvalidModel: it isn't installed, or can't be imported.
    """
    require(package, purpose)
    try:
        yield
    except ImportError as error:
        raise InvalidModel(f"{purpose} needs {_absence(package)[0]}, which can't be imported: {error}") from error


def _absence(package: str) -> tuple[str, str]:
    name, requirement = _NAMES.get(package, (package, package))
    return name, f"isn't installed: pip install {requirement}"
