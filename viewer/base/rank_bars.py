"""One operation over its ranks, as a chart shows it: plain data, times relative to the chart's zero."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.base.frames import Jump


@dataclass(frozen=True, slots=True)
class RankBar:
    """One rank: a bar from ``start_ns`` to ``end_ns``, its first ``wait_ns`` spent waiting. ns after the zero.

    ``badge`` is a short text at the bar's end ("last"); ``chosen`` marks the one that is selected.
    """

    label: str
    start_ns: int
    end_ns: int
    wait_ns: int
    told: str
    jump: Jump = None
    badge: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class RankBarsFrame:
    """Bars from top to bottom over [0, ``span_ns``].

    ``line_ns`` is an instant marked through all bars (the last arrival), None for none; ``doubt_ns`` how far clocks may
    put it wrong. ``parts`` name the hatched and the solid part.
    """

    bars: tuple[RankBar, ...]
    span_ns: int
    line_ns: int | None = None
    doubt_ns: int | None = None
    parts: tuple[str, str] = ("wait", "transfer")
