"""The themes that ship, by name. Knows no Qt: pictures are also painted without a window."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from viewer.base.errors import UsageError
from viewer.base.theme import Theme, parse_theme

NAMES: Final = ("light", "dark")
CHOICES: Final = ("system", *NAMES)
"""What a user can choose; "system" follows the desktop."""


@cache
def load_theme(name: str) -> Theme:
    """The theme of that name. Raises UsageError for an unknown one."""
    if name not in NAMES:
        raise UsageError(f"there is no theme {name!r}: choose {' or '.join(NAMES)}.")
    text = (resources.files("resources") / "themes" / f"{name}.toml").read_text(encoding="utf-8")
    return parse_theme(name, text)
