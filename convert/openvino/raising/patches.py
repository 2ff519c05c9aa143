"""OpenVINO -> the hub: patches of images and YOLO layers."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
