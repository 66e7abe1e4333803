"""The shipped themes for tests of widgets and panels."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from viewer.base.theme import Theme, parse_theme


@lru_cache
def theme(name: str = "light") -> Theme:
    """A shipped theme by its name."""
    text = (files("resources") / "themes" / f"{name}.toml").read_text(encoding="utf-8")
    return parse_theme(name, text)
