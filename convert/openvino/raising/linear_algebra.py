"""OpenVINO -> the hub: inverse, grouped products, inverse error function."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
