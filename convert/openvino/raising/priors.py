"""OpenVINO -> the hub: prior boxes."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
