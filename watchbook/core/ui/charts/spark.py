"""A trend beside a number: no axes, from zero, the last point marked."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString

from watchbook.core.ui.charts.frame import runs
from watchbook.core.ui.charts.record import Value
from watchbook.core.ui.charts.svg import drawing, element, hatched, points, short

WIDTH, HEIGHT = 88, 24
_LEFT, _RIGHT, _TOP, _BOTTOM = 2, 84, 4, 22


def spark(values: Sequence[Value], *, label: str, css: str = "") -> SafeString:
    """88 × 24. What was not measured is hatched, not a zero; without any measurement only the ground line is drawn."""
    known = [value for value in values if value is not None]
    if not known:
        return drawing(
            WIDTH, HEIGHT, label, [element("path", css="c-axis", d=f"M2 {_BOTTOM}H{_RIGHT}")], f"spark {css}".strip()
        )
    highest = max(max(known), 0) or 1
    step = (_RIGHT - _LEFT) / (len(values) - 1) if len(values) > 1 else 0

    def spot(index: int) -> tuple[float, float]:
        share = max(values[index] or 0, 0) / highest
        return (_LEFT + index * step if step else _RIGHT, _BOTTOM - share * (_BOTTOM - _TOP))

    parts = []
    for first, last in runs([value is None for value in values]):
        begin, end = spot(max(0, first - 1))[0], spot(min(len(values) - 1, last + 1))[0]
        parts.append(hatched(begin, _TOP, end - begin, _BOTTOM - _TOP, step=5))
    for first, last in runs([value is not None for value in values]):
        piece = [spot(index) for index in range(first, last + 1)]
        ground = f"L{short(piece[-1][0])} {_BOTTOM + 1}L{short(piece[0][0])} {_BOTTOM + 1}z"
        parts.append(element("path", css="c-wash", d=points(piece) + ground))
        parts.append(element("path", css="c-line", d=points(piece)))
    if values[-1] is not None:
        x, y = spot(len(values) - 1)
        parts.append(element("circle", css="c-fill", cx=x, cy=y, r=2))
    return drawing(WIDTH, HEIGHT, label, parts, f"spark {css}".strip())
