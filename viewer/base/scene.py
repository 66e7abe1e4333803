"""A picture as plain data: shapes, texts and images in logical pixels, from bottom to top. No Qt.

Views compose scenes; ``widgets.picture_painter`` and the SVG writer paint them. A scene holds everything that is
needed to paint it, so the same scene gives the same file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from viewer.base.errors import UsageError

CAP: Final = 0.36
"""Half the height of capitals in ems: a baseline this far below a line's middle centres the text."""
ASCENT: Final = 0.82
DESCENT: Final = 0.24
"""Room above and below the baseline in ems that letters of a plain sans keep to (marks on capitals may not)."""

MAX_SIDE: Final = 16_384
"""Most px per side of a picture file."""
MAX_PIXELS: Final = 144_000_000
"""Most px of a picture file (4 bytes each while it is painted)."""

Anchor = Literal["start", "middle", "end"]
Role = Literal[
    "title", "subtitle", "axis", "header", "lane", "slice", "callout", "note", "range", "legend", "footer", "more"
]


@dataclass(frozen=True, slots=True)
class Font:
    """What a text is set in: whole logical px, bold or not. The family is the painter's, the same for all texts."""

    size: int
    bold: bool = False


Measure = Callable[[str, Font], float]
"""(text, font) -> width in logical px."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A rectangle in logical px."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The bottom edge."""
        return self.y + self.height

    def overlap(self, other: Bounds) -> float:
        """Area that both cover, 0.0 when they only touch."""
        w = min(self.right, other.right) - max(self.x, other.x)
        h = min(self.bottom, other.bottom) - max(self.y, other.y)
        return w * h if w > 0 and h > 0 else 0.0

    def contains(self, other: Bounds, slack: float = 0.01) -> bool:
        """Whether the other lies inside, give or take rounding."""
        return (
            other.x >= self.x - slack
            and other.y >= self.y - slack
            and other.right <= self.right + slack
            and other.bottom <= self.bottom + slack
        )

    def grown(self, by: float) -> Bounds:
        """The same with a margin around it."""
        return Bounds(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)


@dataclass(frozen=True, slots=True)
class SceneRect:
    """A rectangle; ``radius`` rounds its corners. ``crisp`` ones are drawn without smoothing of their edges.

    ``tip`` is shown on hovering where the format can (SVG).
    """

    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0
    radius: float = 0.0
    opacity: float = 1.0
    crisp: bool = True
    tip: str = ""


@dataclass(frozen=True, slots=True)
class SceneText:
    """One line of text. ``x`` is where ``anchor`` says, ``y`` the baseline, ``width`` what it measured."""

    x: float
    y: float
    text: str
    font: Font
    color: str
    role: Role
    width: float
    anchor: Anchor = "start"
    tip: str = ""

    @property
    def bounds(self) -> Bounds:
        """The room that the text takes."""
        left = self.x - {"start": 0.0, "middle": self.width / 2, "end": self.width}[self.anchor]
        return Bounds(left, self.y - ASCENT * self.font.size, self.width, (ASCENT + DESCENT) * self.font.size)


@dataclass(frozen=True, slots=True)
class SceneLine:
    """A straight line; ``dash`` is (on, off) in px or ()."""

    x1: float
    y1: float
    x2: float
    y2: float
    color: str
    width: float = 1.0
    dash: tuple[float, ...] = ()
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class ScenePolygon:
    """A closed polygon."""

    points: tuple[tuple[float, float], ...]
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0


@dataclass(frozen=True, slots=True)
class SceneHatch:
    """Slanted lines that fill a rectangle: "nothing was recorded here"."""

    bounds: Bounds
    color: str
    step: float


@dataclass(frozen=True, slots=True)
class SceneImage:
    """Pixels of 0xffRRGGBB, uint32[height, width], stretched over ``bounds``."""

    bounds: Bounds
    pixels: NDArray[np.uint32]


Item = SceneRect | SceneText | SceneLine | ScenePolygon | SceneHatch | SceneImage


@dataclass(frozen=True, slots=True)
class PictureScene:
    """A whole picture.

    Attributes:
        width, height: logical px.
        scale: output px per logical px that its images were made for.
        background: colour under everything.
        items: what to paint, first one lowest.
        title, description: for the file's metadata (plain text).
    """

    width: int
    height: int
    scale: float
    background: str
    items: tuple[Item, ...]
    title: str
    description: str

    @property
    def bounds(self) -> Bounds:
        """The picture's own rectangle."""
        return Bounds(0.0, 0.0, float(self.width), float(self.height))

    def texts(self, role: Role | None = None) -> list[SceneText]:
        """All texts, or those of one role."""
        return [i for i in self.items if isinstance(i, SceneText) and (role is None or i.role == role)]


def plain_measure(text: str, font: Font) -> float:
    """A width that real sans fonts seldom exceed; for callers that have no font engine at hand."""
    wide = sum(
        1.0 if ord(c) > 0x2E80 else 0.92 if c in "mwMW@%—" else 0.42 if c in " .,:;'|!ijl" else 0.7 for c in text
    )
    return wide * font.size * (1.08 if font.bold else 1.0)


def check_size(width: int, height: int, scale: float, kind: str) -> None:
    """Raise UsageError when a picture of that logical size is too large for its kind of file ("png", "svg", "pdf")."""
    wide, tall = (round(n * scale) for n in (width, height)) if kind == "png" else (width, height)
    if max(wide, tall) > MAX_SIDE:
        raise UsageError(
            f"the picture would be {wide}x{tall} pixels; a side has at most {MAX_SIDE}. Choose a smaller size or scale."
        )
    if wide * tall > MAX_PIXELS:
        raise UsageError(
            f"the picture would be {wide}x{tall} pixels and need {wide * tall * 4 >> 20} MiB of memory; at most "
            f"{MAX_PIXELS // 1_000_000} million pixels are painted. Choose a smaller size or scale."
        )
