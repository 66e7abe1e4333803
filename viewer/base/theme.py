"""Colour tokens of a theme as plain data. Loaded by ``app``/``exporters``; drawn by ``widgets``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import Final

from viewer.base.ids import Paint

PAINT_NAMES: Final = {
    Paint.OTHER: "other",
    Paint.COMPUTE: "compute",
    Paint.COMM: "communication",
    Paint.MEMORY: "memory",
    Paint.OPERATOR: "operator",
    Paint.PYTHON: "python",
    Paint.RUNTIME: "runtime call",
    Paint.ANNOTATION: "annotation",
    Paint.SYNC: "synchronisation",
    Paint.OVERHEAD: "profiler overhead",
}


@dataclass(frozen=True, slots=True)
class Theme:
    """A theme's colours as ``#rrggbb`` strings.

    ``paints`` has one colour per :class:`Paint` in order of its values; ``paint_text`` the text colour upon it.
    ``hues`` are colours that mean nothing by themselves (names, ranks, groups), with ``hue_text`` upon them.
    Surface tokens: ``window`` (chrome), ``base`` (lanes' background), ``alternate`` (every second row),
    ``group`` (rank header), ``text``, ``muted`` (secondary text), ``line`` (hairlines), ``grid`` (axis grid),
    ``accent`` (focus, selection), ``selection_fill``, ``warning``, ``error``, ``note``, ``note_text``,
    ``mark_<colour>`` for marks.
    """

    name: str
    dark: bool
    paints: tuple[str, ...]
    paint_text: tuple[str, ...]
    colors: dict[str, str]
    hues: tuple[str, ...]
    hue_text: tuple[str, ...]
    safe: tuple[str, ...]
    """Colours of the classes that can be told apart without red or green."""

    def with_safe_paints(self) -> Theme:
        """The same with those colours."""
        return replace(self, paints=self.safe, paint_text=tuple(text_upon(c) for c in self.safe))

    def __getitem__(self, token: str) -> str:
        return self.colors[token]


def parse_theme(name: str, text: str) -> Theme:
    """Read a theme from TOML text; ValueError names what is missing."""
    data = tomllib.loads(text)
    paints = data["paint"]
    missing = [p.name.lower() for p in Paint if p.name.lower() not in paints]
    if missing:
        raise ValueError(f"theme {name}: no paint colour for {', '.join(missing)}")
    return Theme(
        name=name,
        dark=bool(data["dark"]),
        paints=tuple(paints[p.name.lower()]["fill"] for p in Paint),
        paint_text=tuple(paints[p.name.lower()]["text"] for p in Paint),
        colors=dict(data["color"]),
        hues=tuple(data["hues"]),
        hue_text=tuple(text_upon(hue) for hue in data["hues"]),
        safe=tuple(data["safe"][p.name.lower()] for p in Paint),
    )


def text_upon(color: str) -> str:
    """White or nearly black: what is easier to read upon a colour (relative luminance of WCAG 2)."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return "#ffffff" if 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.18 else "#101418"
