"""A session file as what is opened: its traces that are there, their ranks and clocks, and what is to be said of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from viewer.app.options import JobOptions
from viewer.base.clock import GivenClock
from viewer.base.errors import InputError
from viewer.base.job_card import EMPTY_CARD
from viewer.base.session_file import SavedSource
from viewer.store.card_file import card_from_plain
from viewer.store.session_file import Document, is_session_file, read_session
from viewer.store.session_sources import Sources, look_for

NAMED: Final = 3
_ALIGN: Final = ("auto", "base", "none")


@dataclass(frozen=True, slots=True)
class SessionInput:
    """A session file that was read.

    Attributes:
        path: where it is, or was meant to be.
        document: what it says.
        sources: which of its traces are there.
    """

    path: Path
    document: Document
    sources: Sources

    @property
    def paths(self) -> tuple[Path, ...]:
        """The traces that are there."""
        return tuple(path for _, path in self.sources.present)

    @property
    def listed(self) -> tuple[SavedSource, ...]:
        """All its traces with absolute paths."""
        from viewer.views.kept.keeping import replace_path

        return tuple(replace_path(s, str(p)) for s, p in (*self.sources.present, *self.sources.missing))

    def options(self, given: JobOptions) -> JobOptions:
        """How its files make a job; what the call gives goes before what the session says."""
        ranks = {str(path): s.rank for s, path in self.sources.present if s.rank is not None}
        clocks = {
            os.path.abspath(path): GivenClock(s.offset_ns, s.drift_ppb, s.t0_ns)
            for s, path in self.sources.present
            if s.offset_ns is not None
        }
        align = self.document.content.clock.align
        if given.align != "auto" or align not in _ALIGN:
            align = given.align
        card = given.card
        if card == EMPTY_CARD:
            card = card_from_plain(self.document.content.job, str(self.path), strict=False)
        return replace(given, given_ranks={**ranks, **given.given_ranks}, align=align, given_clocks=clocks, card=card)

    def missing_text(self) -> str:
        """One sentence on the traces that are not there, "" when all are."""
        missing = [str(path) for _, path in self.sources.missing]
        if not missing:
            return ""
        total = len(missing) + len(self.sources.present)
        count = "its only trace is" if total == 1 else f"{len(missing)} of its {total} traces are"
        return f"{_shown(self.path.name)}: {count} not there: {_some(missing)}."

    def changed_text(self) -> str:
        """One sentence on traces of other content than when it was saved, "" when there are none."""
        changed = [str(path) for path in self.sources.changed]
        if not changed:
            return ""
        what = "1 trace has" if len(changed) == 1 else f"{len(changed)} traces have"
        return (
            f"{_shown(self.path.name)}: {what} changed since it was saved: {_some(changed)}. "
            "Its notes and marks may point elsewhere."
        )


def read_input(path: Path, moved: dict[str, Path] | None = None) -> SessionInput:
    """Read a session file and look at its traces. Raises InputError."""
    return with_sources(path, read_session(path), moved)


def with_sources(path: Path, document: Document, moved: dict[str, Path] | None = None) -> SessionInput:
    """Look at the traces of a session that was read."""
    return SessionInput(path, document, look_for(document.content.sources, path, moved))


def sessions_among(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """(session files, everything else)."""
    sessions = [p for p in paths if is_session_file(p)]
    return sessions, [p for p in paths if not is_session_file(p)]


def read_only_session(paths: Sequence[Path]) -> tuple[SessionInput | None, list[Path]]:
    """The session file among the inputs of a command, and the other inputs.

    Raises:
        InputError: it cannot be read, there is more than one, or none of its traces is there.
    """
    sessions, others = sessions_among(paths)
    if not sessions:
        return None, others
    if len(sessions) > 1:
        raise InputError(str(sessions[1]), "is a second session file", "", "Name one of them.")
    found = read_input(sessions[0])
    if not found.paths and not others:
        names = _some([str(p) for _, p in found.sources.missing]) or "it lists none"
        raise InputError(
            str(sessions[0]),
            f"none of its traces is there ({names})",
            "",
            "Open it in the window, which can look for them, or move them back.",
        )
    return found, others


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(_shown(name) for name in names[:NAMED]) + more


def _shown(text: str, limit: int = 120) -> str:
    shown = "".join(c if c.isprintable() else "�" for c in text)
    return shown if len(shown) <= limit else "…" + shown[1 - limit :]
