"""OpenVINO for a process of its own, without its telemetry.

Where `openvino_telemetry` is installed, importing openvino sends an event from a thread. A process that is forked
meanwhile inherits what that thread holds, Python's locks of modules that it imports among it, and may wait for ever.
"""

from __future__ import annotations

import sys

sys.modules.setdefault("openvino_telemetry", None)  # pyright: ignore[reportArgumentType]  not to be imported

import openvino  # noqa: E402  only now

__all__ = ["openvino"]
