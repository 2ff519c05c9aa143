"""Passes out of files that people wrote: `--pass FILE:NAME`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..passes.errors import InvalidModel
from ..passes.graph import Graph
from ..passes.patterns import RewriteWith, own_fault
from ..passes.pipeline import PassResult
from ..passes.rewrite import collect
from .requested_passes import ReportingPass

UserPass = str | Callable[..., Any] | Mapping[Any, Any]


def user_pass(source: UserPass) -> ReportingPass:
    """A pass of somebody's own.

    Args:
        source: "FILE:NAME" of a Python file that is run for it, or the thing itself: rules
            (`passes.patterns.pattern_rule`), a function with `passes.rewrite.rule`'s mark, or a pass, which takes a hub
            graph and gives a `PassResult`.

    Raises:
        InvalidModel: there is no such file or name, or it is none of these.
    """
    if not isinstance(source, str):
        return _as_pass(source, getattr(source, "__name__", "rules"))
    path, _, name = source.rpartition(":")
    if not path or not name:
        raise InvalidModel(f"{source}: not of the form FILE:NAME")
    found = getattr(_module(Path(path)), name, None)
    if found is None:
        raise InvalidModel(f"{path} has no {name}")
    return _as_pass(found, name)


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"backedge_user_{path.stem}", path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise InvalidModel(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses of the file look themselves up there
    with own_fault(str(path)):
        spec.loader.exec_module(module)
    return module


def _as_pass(found: Any, name: str) -> ReportingPass:
    if isinstance(found, Mapping):
        return RewriteWith(found, name)
    if hasattr(found, "rule_keys"):
        return RewriteWith(collect({name: found}), name)
    if callable(found):
        return _Called(found, name)
    raise InvalidModel(f"{name} is neither rules nor a pass")


@dataclass
class _Called:
    """A pass that may have no notes of its own."""

    found: Callable[[Graph], Any]
    name: str
    notes: list[str] = field(default_factory=list)

    def __call__(self, graph: Graph) -> PassResult:
        with own_fault(self.name):
            result = self.found(graph)
        if not isinstance(result, PassResult):
            raise InvalidModel(f"{self.name} gives {type(result).__name__}, not a PassResult")
        self.notes += getattr(self.found, "notes", [])
        return result
