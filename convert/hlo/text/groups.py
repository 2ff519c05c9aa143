"""Replica groups, in each of the ways in which HLO text spells them."""

from __future__ import annotations

import math
import re

import numpy as np

_LIST = re.compile(r"\{\s*(?:\{[\d,\s]*\}\s*,?\s*)*\}", re.ASCII)
_GROUP = re.compile(r"\{([\d,\s]*)\}", re.ASCII)
_IOTA = re.compile(r"\[([\d,]+)\]\s*<=\s*\[([\d,]+)\](?:\s*T\(([\d,]+)\))?", re.ASCII)
_MOST = 1 << 20  # devices


def replica_groups(text: str) -> tuple[tuple[int, ...], ...] | None:
    """The groups that `replica_groups=` (or the pairs that `source_target_pairs=`) lists.

    `{{0,1},{2,3}}`, `{}` (one group of all replicas: empty here), `[2,4]<=[8]`, `[4,2]<=[2,4]T(1,0)`. None where the
    text says it in a way of which only a device mesh gives the meaning.
    """
    text = text.strip()
    if _LIST.fullmatch(text):
        groups = [_integers(group) for group in _GROUP.findall(text[1:-1])]
        return None if None in groups else tuple(group for group in groups if group is not None)
    match = _IOTA.fullmatch(text)
    if not match:
        return None
    shape, reshaped = _integers(match[1]), _integers(match[2])
    order = _integers(match[3]) if match[3] else tuple(range(len(reshaped or ())))
    if not shape or not reshaped or order is None or sorted(order) != list(range(len(reshaped))):
        return None
    count = math.prod(reshaped)
    if count != math.prod(shape) or count > _MOST or len(reshaped) > 32 or len(shape) != 2:
        return None
    devices = np.arange(count).reshape(reshaped).transpose(order).reshape(shape)
    return tuple(tuple(row) for row in devices.tolist())


def _integers(text: str) -> tuple[int, ...] | None:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(map(int, parts)) if all(part.isdigit() and len(part) < 19 for part in parts) else None
