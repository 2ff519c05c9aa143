"""OpenVINO -> the hub: weights of few bits and what decompresses them."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
