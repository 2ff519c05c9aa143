"""Copies of an ONNX model for a runtime that is older than the file: other version numbers, the same meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx.defs
from onnx import FunctionProto, ModelProto, NodeProto

from .onnx_faults import OWN_DOMAIN, own_nodes

_NEWEST_IR = re.compile(r"[Uu]nsupported model IR version: \d+, max supported IR version: (\d+)")
_NEW_OPSET = re.compile(r"No Op registered for|under development|opset")


@dataclass(frozen=True, slots=True)
class Copy:
    """A model in memory, and what was changed in it. Its external data lie where the file's do."""

    data: bytes
    note: str


def older_copy(path: Path, error: str) -> Copy | None:
    """The model under the newest IR version that a runtime takes, which its refusal names.

    None where it was refused for another reason, or is newer than the onnx package knows: nobody can say then what
    another number means.
    """
    told = _NEWEST_IR.search(error)
    if told is None:
        return None
    model = onnx.load_model(path, load_external_data=False)
    newest, own = int(told[1]), model.ir_version
    if not newest < own <= onnx.IR_VERSION:
        return None
    model.ir_version = newest
    return Copy(model.SerializeToString(), f"read as IR version {newest}, not {own}, which it doesn't take")


def older_opsets(data: bytes, error: str) -> Iterator[Copy]:
    """The model under each older opset that has all of its operators at the same versions, newest first."""
    if not _NEW_OPSET.search(error):
        return
    model = onnx.load_model_from_string(data)
    imports = [entry for part in (model, *model.functions) for entry in part.opset_import if entry.domain in OWN_DOMAIN]
    own = max((entry.version for entry in imports), default=0)
    if not 0 < own <= onnx.defs.onnx_opset_version():
        return
    for opset in range(own - 1, _needed(model) - 1, -1):
        for entry in imports:
            entry.version = min(entry.version, opset)
        note = f"read as opset {opset}, not {own}, which it doesn't take; its operators are the same in both"
        yield Copy(model.SerializeToString(), note)


def _needed(model: ModelProto) -> int:
    """The lowest opset that has all operators of ONNX's own domain as the model uses them."""
    return max(
        (
            _since(node, _opset(part))
            for part in (model, *model.functions)
            for node in own_nodes(part.graph if isinstance(part, ModelProto) else part)
        ),
        default=1,
    )


def _since(node: NodeProto, opset: int) -> int:
    try:
        return onnx.defs.get_schema(node.op_type, opset, "").since_version
    except onnx.defs.SchemaError:
        return opset  # no operator of ONNX: it stays where it is


def _opset(part: ModelProto | FunctionProto) -> int:
    return max((entry.version for entry in part.opset_import if entry.domain in OWN_DOMAIN), default=1)
