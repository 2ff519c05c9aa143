"""OpenVINO -> the hub: pooling of regions of interest."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
