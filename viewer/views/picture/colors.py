"""How the lanes of a picture are coloured: as those of the window, or by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from viewer.base.frames import Box
from viewer.base.ids import Paint
from viewer.base.theme import PAINT_NAMES, Theme
from viewer.views.lanes.looks import Coloring, Look, Matched
from viewer.views.lanes.painter import LanePainter
from viewer.views.lanes.palette import DIM, palette


@dataclass(frozen=True, slots=True)
class LaneColors:
    """What colours say and what is pale.

    Attributes:
        coloring: what a colour says; ``looks`` are the inks of each input, {} by class.
        matched: what stays bright, by input; {} for everything.
        patterns: by ink, as in :meth:`LanePainter.set_patterns`.
        safe: whether classes have colours that can be told apart without red or green.
        words: what is pale or left out, for the remarks below the lanes.
    """

    coloring: Coloring = Coloring.CLASS
    looks: Mapping[int, Look] = field(default_factory=dict)
    matched: Mapping[int, Matched] = field(default_factory=dict)
    patterns: Mapping[int, int] = field(default_factory=dict)
    safe: bool = False
    words: tuple[str, ...] = ()

    def dress(self, painter: LanePainter) -> None:
        """Put them upon a painter."""
        painter.colour(self.looks)
        painter.brighten(self.matched)
        painter.set_patterns(self.patterns)


BY_CLASS: Final = LaneColors()


class Inks:
    """Colours of single slices, for what is drawn as a shape or written upon one."""

    def __init__(self, colors: LaneColors, theme: Theme) -> None:
        self._colors, self._palette = colors, palette(theme)

    def ink(self, box: Box) -> int:
        """The ink of a slice."""
        source, row = box.ref.input, box.ref.index
        look, matched = self._colors.looks.get(source), self._colors.matched.get(source)
        ink = int(box.paint) if look is None else int(look.ink[row])
        return ink if matched is None or matched.mask[row] else ink | DIM

    def fill(self, box: Box) -> str:
        """What a slice is filled with."""
        return _hex(int(self._palette.fills[0, self.ink(box), 255]))

    def edge(self, box: Box) -> str:
        """Its darker left border."""
        return _hex(int(self._palette.edges[self.ink(box)]))

    def text(self, box: Box) -> str:
        """What its name is written in."""
        return _hex(int(self._palette.texts[self.ink(box)]))

    def patterned(self, box: Box) -> bool:
        """Whether a pattern lies on it, which only the image shows."""
        return bool(self._colors.patterns.get(self.ink(box)))


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A colour of the legend, what it means, and the pattern on it (0 for none)."""

    text: str
    fill: str
    pattern: int = 0
    ink: str = ""
    """What the pattern is drawn in."""


def class_entries(paints: list[Paint], colors: LaneColors, theme: Theme) -> list[LegendEntry]:
    """The legend of a picture that is coloured by class."""
    marks = palette(theme).patterns
    return [
        LegendEntry(PAINT_NAMES[p], theme.paints[p], colors.patterns.get(int(p), 0), _hex(int(marks[int(p)])))
        for p in paints
    ]


def _hex(packed: int) -> str:
    return f"#{packed & 0xFFFFFF:06x}"
