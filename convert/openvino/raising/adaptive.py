"""OpenVINO -> the hub: AdaptiveAvgPool and AdaptiveMaxPool."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
