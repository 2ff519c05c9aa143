"""OpenVINO -> the hub: strings and their bytes."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
