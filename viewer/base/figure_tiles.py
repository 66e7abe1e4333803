"""Figures with a range, and a waterfall of parts, as plain data for the controls that draw them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewer.base.ids import Paint

Tone = Literal["ok", "outside", "bad", "grey", "unknown"]


@dataclass(frozen=True, slots=True)
class FigureTile:
    """One figure.

    Attributes:
        title: what it is.
        text: its value in words ("27.6 %"), "–" without one.
        tone: how it stands: within its range, outside, outside and worse than theory, no range here, no value.
        word: the tone as a word or two, "" for none.
        value: where it lies, in the units of ``full``; None without one.
        theory: as above.
        low: border of the usual range, None for no such border; so is ``high``.
        full: what the right end of the bar stands for, > 0.
        spread: lowest and highest of the ranks.
        trend: values over the steps, in their order.
        line: range, theory and spread in words; what is missing where there is no value.
        link: whether ``line`` names something to fill in.
        tip: how it was computed and where it holds.
    """

    title: str
    text: str
    tone: Tone
    word: str
    value: float | None
    theory: float | None
    low: float | None
    high: float | None
    full: float
    spread: tuple[float, float] | None
    trend: tuple[float, ...]
    line: str
    link: bool
    tip: str


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """One part: its title, its share (0 to 1), what it leaves to the next ones, its class, and what it is.

    ``left`` is where its bar begins (0 to 1). ``sum_up`` for what stands by itself: the whole, and what is left over.
    """

    title: str
    text: str
    share: float
    left: float
    paint: Paint
    sum_up: bool
    tip: str
