"""What the parts of a picture draw on: items in paint order, lengths and fonts that grow with the picture."""

from __future__ import annotations

import math
from typing import Final

from viewer.base.scene import CAP, Anchor, Bounds, Font, Item, Role, SceneText
from viewer.base.selection import TimeRange
from viewer.base.theme import Theme
from viewer.views.text import Fitter

_FONTS: Final = {
    "title": (19, True),
    "subtitle": (12, False),
    "axis": (11, False),
    "header": (12, True),
    "detail": (11, False),
    "lane": (11, False),
    "slice": (11, False),
    "legend": (11, False),
    "footer": (10, False),
}
"""Size at 1280x720, px, and whether bold."""


def size_factor(width: int, height: int) -> float:
    """How much larger than at 1280x720 texts are."""
    ratio = min(width / 1280, height / 720)
    return max(0.85, min(4.0, math.pow(ratio, 0.62)))


class Canvas:
    """Collects the items of one picture.

    Attributes:
        items: in paint order.
        factor: how much larger than at 1280x720 texts, margins and rows are.
        margin: free px at the borders.
        font: fonts by use.
    """

    def __init__(self, width: int, height: int, window: TimeRange, theme: Theme, fit: Fitter) -> None:
        self.items: list[Item] = []
        self.width, self.height, self.window, self.theme, self.fit = width, height, window, theme, fit
        self.factor = size_factor(width, height)
        self.margin = self.px(14)
        self.font = {use: self.sized(size, bold=bold) for use, (size, bold) in _FONTS.items()}

    def px(self, size: float) -> int:
        """A length of the plain layout in this picture's px."""
        return max(1, round(size * self.factor))

    def sized(self, size: float, *, bold: bool = False) -> Font:
        """A font of the plain layout in this picture's px."""
        return Font(max(9, round(size * self.factor)), bold)

    def text(
        self, x: float, middle: float, text: str, font: Font, color: str, role: Role, anchor: Anchor = "start"
    ) -> SceneText:
        """Add one line of text whose capitals are centred on ``middle``."""
        item = SceneText(
            round(x, 2), round(middle + CAP * font.size, 2), text, font, color, role, self.fit.width(text, font), anchor
        )
        self.items.append(item)
        return item

    def x(self, area: Bounds, time_ns: int) -> float:
        """Where an instant lies."""
        return area.x + (time_ns - self.window.start_ns) * area.width / self.window.length_ns
