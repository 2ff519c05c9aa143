"""ONNX graphs as MDF models whose nodes are `onnx::` functions, and back, without loss."""

from .metadata import base64
from .prepare import prepared
from .read import from_model, is_ours
from .write import to_model

__all__ = ["base64", "from_model", "is_ours", "prepared", "to_model"]
