"""OpenVINO -> the hub: the detection heads that end a network."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
