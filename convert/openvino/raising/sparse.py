"""OpenVINO -> the hub: sparse rows and segments."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
