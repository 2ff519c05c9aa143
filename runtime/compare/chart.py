"""One small SVG: errors over trials or iterations on a logarithmic scale, with the line of what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence

_WIDTH, _HEIGHT = 720, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 12, 28
_LOWEST, _HIGHEST = -6, 6
"""Powers of ten that are drawn; smaller errors lie on the bottom, larger and infinite ones on the top."""


def chart(points: Sequence[tuple[int, float]], label: str) -> str:
    """An `<svg>` element of the points (number, error); an error above 1 is more than is allowed."""
    first, last = points[0][0], points[-1][0]
    low, high = _span([units for _, units in points])

    def across(number: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * ((number - first) / (last - first) if last > first else 0.5)

    def up(units: float) -> float:
        power = min(max(_power(units), low), high)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (power - low) / (high - low)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="errors by {label}">']
    for power in range(low, high + 1, max(1, (high - low) // 4)):
        y = up(10.0**power)
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#dfe3ea"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#687083">1e{power}</text>')
    y = up(1.0)
    parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#b3261e" stroke-dasharray="4 4"/>')
    for number, units in points:
        colour = "#16794c" if units <= 1 else "#b3261e"
        title = f"<title>{label} {number}: {units:.3g}</title>"
        parts.append(f'<circle cx="{across(number):.1f}" cy="{up(units):.1f}" r="3" fill="{colour}">{title}</circle>')
    for number, anchor in ((first, "start"), (last, "end")) if last > first else ((first, "middle"),):
        place = f'x="{across(number):.1f}" y="{_HEIGHT - 8}" text-anchor="{anchor}"'
        parts.append(f'<text {place} fill="#687083">{label} {number}</text>')
    return "".join((*parts, "</svg>"))


def _power(units: float) -> float:
    if units <= 0:
        return _LOWEST
    return _HIGHEST if math.isinf(units) else math.log10(units)


def _span(errors: Sequence[float]) -> tuple[int, int]:
    """Whole powers of ten around all errors and 1."""
    powers = [min(max(_power(units), _LOWEST), _HIGHEST) for units in errors]
    return math.floor(min([*powers, -1])), math.ceil(max([*powers, 1]))
