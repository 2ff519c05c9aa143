"""OpenVINO -> the hub: suppression of overlapping boxes."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
