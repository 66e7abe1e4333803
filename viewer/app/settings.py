"""What the window remembers between starts. A damaged or unwritable file never stops anything."""

from __future__ import annotations

import base64
import binascii
import json
import logging
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from viewer.app import themes

log = logging.getLogger(__name__)

VERSION: Final = 1
MAX_RECENT: Final = 12
COLORINGS: Final = ("class", "name", "rank", "group")
MAX_BYTES: Final = 1_000_000
"""A settings file larger than this is not ours."""


@dataclass(slots=True)
class Settings:
    """Remembered choices.

    Attributes:
        theme: one of :data:`viewer.app.themes.CHOICES`.
        recent: jobs opened lately, newest first; each is the list of paths as the user named them.
        last_folder: where the file dialog starts.
        picture: what was chosen in the export dialog last time.
        recent_actions: ids of what was run from the command palette, newest first.
        about: (ranks, seconds since 1970 when it was opened) of recent jobs, by :func:`about_key`.
        coloring: what the lanes' colours say: one of :data:`COLORINGS`.
        patterns: whether patterns mark classes as well.
        safe_paints: whether classes have colours that can be told apart without red or green.
        baseline: the folder of the baseline store that was shown last, "" for none.
        geometry, layout: Qt's opaque bytes of the window and its docks (base64), "" for none.
    """

    theme: str = "system"
    recent: list[list[str]] = field(default_factory=list)
    last_folder: str = ""
    geometry: str = ""
    layout: str = ""
    picture: dict[str, object] = field(default_factory=dict)
    recent_actions: list[str] = field(default_factory=list)
    about: dict[str, tuple[int, int]] = field(default_factory=dict)
    coloring: str = "class"
    patterns: bool = False
    safe_paints: bool = False
    baseline: str = ""

    def remember(self, paths: list[str], ranks: int = 0, when: int = 0) -> None:
        """Put a job at the head of the recent ones.

        Args:
            paths: as named.
            ranks: how many it has, 0 when that is not known.
            when: seconds since 1970, 0 when that is not known.
        """
        if not paths:
            return
        self.recent = [paths, *(r for r in self.recent if r != paths)][:MAX_RECENT]
        self.about[about_key(paths)] = (ranks, when)
        known = {about_key(r) for r in self.recent}
        self.about = {key: fact for key, fact in self.about.items() if key in known}

    def forget_all(self) -> None:
        """Clear the list of recent jobs."""
        self.recent = []
        self.about = {}

    def forget(self, paths: list[str]) -> None:
        """Take a job off the recent ones (its files are gone)."""
        self.recent = [r for r in self.recent if r != paths]


def about_key(paths: list[str]) -> str:
    """What a recent job is known by."""
    return "\n".join(paths)


def pack_bytes(data: bytes) -> str:
    """Bytes as text for the settings file."""
    return base64.b64encode(data).decode("ascii")


def unpack_bytes(text: str) -> bytes:
    """The reverse of :func:`pack_bytes`; b"" for damaged text."""
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return b""


def default_path() -> Path:
    """Where the settings are kept."""
    import platformdirs

    return Path(platformdirs.user_config_dir("rankscope", appauthor=False)) / "settings.json"


class SettingsFile:
    """Reads and writes :class:`Settings`; every value that makes no sense falls back to its default."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path if path is not None else default_path()

    def load(self) -> Settings:
        """The settings; defaults where the file is missing or damaged (a damaged one is kept beside it)."""
        try:
            if self.path.stat().st_size > MAX_BYTES:
                raise ValueError("too large")
            data = json.loads(self.path.read_bytes())
            if not isinstance(data, dict):
                raise ValueError("no object")
        except FileNotFoundError:
            return Settings()
        except (OSError, ValueError, RecursionError) as error:
            log.warning("settings %s cannot be read (%s): starting with the defaults", self.path, error)
            self._set_aside()
            return Settings()
        return _checked(data)

    def save(self, settings: Settings) -> bool:
        """Write the settings; False (and a log line) when that is not possible."""
        text = json.dumps({"version": VERSION, **asdict(settings)}, indent=1, ensure_ascii=True)
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(text + "\n", encoding="ascii")
            temporary.replace(self.path)
        except OSError as error:
            log.warning("settings %s cannot be written: %s", self.path, error)
            return False
        return True

    def _set_aside(self) -> None:
        try:
            self.path.replace(self.path.with_name(self.path.name + ".damaged"))
        except OSError as error:
            log.info("the damaged settings stay where they are: %s", error)


def _checked(data: dict[str, Any]) -> Settings:
    settings = Settings()
    if data.get("theme") in themes.CHOICES:
        settings.theme = data["theme"]
    recent = data.get("recent")
    if isinstance(recent, list):
        settings.recent = [r for r in recent if isinstance(r, list) and r and all(isinstance(p, str) and p for p in r)][
            :MAX_RECENT
        ]
    actions = data.get("recent_actions")
    if isinstance(actions, list):
        settings.recent_actions = [a for a in actions if isinstance(a, str)][:MAX_RECENT]
    about = data.get("about")
    if isinstance(about, dict):
        known = {about_key(r) for r in settings.recent}
        for key, fact in about.items():
            if key in known and isinstance(fact, list) and len(fact) == 2 and all(type(n) is int for n in fact):
                settings.about[key] = (max(0, fact[0]), min(max(0, fact[1]), 2**32))
    if isinstance(data.get("picture"), dict):
        settings.picture = data["picture"]
    if data.get("coloring") in COLORINGS:
        settings.coloring = data["coloring"]
    settings.patterns, settings.safe_paints = data.get("patterns") is True, data.get("safe_paints") is True
    for name in ("last_folder", "baseline", "geometry", "layout"):
        if isinstance(data.get(name), str):
            setattr(settings, name, data[name])
    return settings
