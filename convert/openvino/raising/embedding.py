"""OpenVINO -> the hub: embedding bags and segments."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
