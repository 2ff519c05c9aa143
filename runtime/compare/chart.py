"""Small SVGs whose colours are the page's: errors on a logarithmic scale with the line of what is allowed, values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

_WIDTH, _HEIGHT = 720, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 8, 12, 28
_LOWEST, _HIGHEST = -6, 6
"""Powers of ten that are drawn; smaller errors lie on the bottom, larger and infinite ones on the top."""


def chart(points: Sequence[tuple[int, float]], label: str) -> str:
    """An `<svg>` element of the points (number, error); an error above 1 is more than is allowed."""
    low, high = _span([units for _, units in points])
    across = _across([number for number, _ in points])

    def up(units: float) -> float:
        power = min(max(_power(units), low), high)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (power - low) / (high - low)

    parts = [_head(f"errors by {label}")]
    for power in range(low, high + 1, max(1, (high - low) // 4)):
        parts += _rule(up(10.0**power), f"1e{power}")
    parts.append(f'<path class="limit" d="M{_LEFT} {up(1.0):.1f}H{_WIDTH - _RIGHT}"/>')
    for number, units in points:
        tone = "good" if units <= 1 else "bad"
        title = f"<title>{label} {number}: {units:.3g}</title>"
        parts.append(f'<circle class="{tone}" cx="{across(number):.1f}" cy="{up(units):.1f}" r="3">{title}</circle>')
    return "".join((*parts, *_ends([number for number, _ in points], across, label), "</svg>"))


def lines_chart(points: Sequence[tuple[int, float | None, float | None]], label: str) -> str:
    """An `<svg>` element of two series: (number, A's value, B's value), None where one has none; "" where there is
    nothing to draw. What isn't finite is left out."""
    finite = [value for point in points for value in point[1:] if value is not None and math.isfinite(value)]
    if len(points) < 2 or not finite:
        return ""
    low, high = min(finite), max(finite)
    room = (high - low) / 10 or abs(high) / 10 or 1.0
    low, high = low - room, high + room
    across = _across([point[0] for point in points])

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - low) / (high - low)

    parts = [_head(f"values by {label}")]
    for share in (0.0, 0.5, 1.0):
        value = low + (high - low) * share
        parts += _rule(up(value), f"{value:.3g}")
    for place, name in ((1, "a"), (2, "b")):
        shown = [(point[0], point[place]) for point in points]
        known = [(number, value) for number, value in shown if value is not None and math.isfinite(value)]
        path = " ".join(f"{across(number):.1f},{up(value):.1f}" for number, value in known)
        parts.append(f'<polyline class="{name}" points="{path}"/>')
        for number, value in known:
            title = f"<title>{name.upper()}, {label} {number}: {value:.9g}</title>"
            where = f'cx="{across(number):.1f}" cy="{up(value):.1f}"'
            parts.append(f'<circle class="{name}" {where} r="2.5">{title}</circle>')
    return "".join((*parts, *_ends([point[0] for point in points], across, label), "</svg>"))


def _head(what: str) -> str:
    return f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{what}">'


def _across(numbers: Sequence[int]) -> Callable[[int], float]:
    first, last = numbers[0], numbers[-1]
    width = _WIDTH - _LEFT - _RIGHT
    return lambda number: _LEFT + width * ((number - first) / (last - first) if last > first else 0.5)


def _rule(y: float, text: str) -> Iterator[str]:
    yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
    yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'


def _ends(numbers: Sequence[int], across: Callable[[int], float], label: str) -> Iterator[str]:
    first, last = numbers[0], numbers[-1]
    for number, anchor in ((first, "start"), (last, "end")) if last > first else ((first, "middle"),):
        place = f'x="{across(number):.1f}" y="{_HEIGHT - 8}" text-anchor="{anchor}"'
        yield f"<text {place}>{label} {number}</text>"


def _power(units: float) -> float:
    if units <= 0:
        return _LOWEST
    return _HIGHEST if math.isinf(units) else math.log10(units)


def _span(errors: Sequence[float]) -> tuple[int, int]:
    """Whole powers of ten around all errors and 1."""
    powers = [min(max(_power(units), _LOWEST), _HIGHEST) for units in errors]
    return math.floor(min([*powers, -1])), math.ceil(max([*powers, 1]))
