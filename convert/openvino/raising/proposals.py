"""OpenVINO -> the hub: region proposals."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
