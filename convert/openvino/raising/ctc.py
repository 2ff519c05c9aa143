"""OpenVINO -> the hub: CTC decoders and loss."""

from __future__ import annotations

from ....passes.rewrite import collect

RULES = collect(globals())
