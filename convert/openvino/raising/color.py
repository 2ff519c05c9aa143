"""OpenVINO -> the hub: conversions between YUV and RGB."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
