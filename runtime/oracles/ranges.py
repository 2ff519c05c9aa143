"""Which values the narrower types that some runtimes compute in don't hold."""

from __future__ import annotations

import numpy as np

from .outcome import Values

_INT32 = np.iinfo(np.int32)


def exceeds_int32(value: Values) -> bool:
    """Whether a tensor of a wider integer type, or one in a sequence, has a number that int32 doesn't hold."""
    if isinstance(value, list):
        return any(map(exceeds_int32, value))
    if not isinstance(value, np.ndarray) or value.dtype not in (np.int64, np.uint64, np.uint32) or not value.size:
        return False
    return bool(value.max() > _INT32.max or value.min() < _INT32.min)
