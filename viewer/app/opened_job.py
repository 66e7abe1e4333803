"""What a window's job is made of, and what it is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.app.options import JobOptions
from viewer.app.start_page import job_title

if TYPE_CHECKING:
    from viewer.store.session import Session


@dataclass(frozen=True, slots=True)
class OpenedJob:
    """The files and folders of a job, how they make one, and what was named to open it where that is not they.

    Attributes:
        paths: files and folders.
        options: how they make a job.
        session: the session file that lists them, if any.
    """

    paths: tuple[Path, ...] = ()
    options: JobOptions = field(default_factory=JobOptions)
    session: Path | None = None

    @property
    def named(self) -> tuple[Path, ...]:
        """What opens the job again."""
        return self.paths if self.session is None else (self.session,)

    @property
    def title(self) -> str:
        """A short name, "" for no job."""
        return job_title(list(self.named))

    def with_more(self, paths: Sequence[Path]) -> OpenedJob:
        """The same job with further files."""
        return OpenedJob(tuple(dict.fromkeys([*self.paths, *paths])), self.options, self.session)

    def window_title(self, session: Session | None) -> str:
        """The window's title, with the place where Qt shows that not all is saved."""
        if not self.paths:
            return "Rankscope"
        count = ""
        if session is not None and session.inputs:
            from viewer.views.lanes.missing import missing_words

            groups = len(session.groups)
            said = missing_words(session) or (f"{groups} ranks" if groups > 1 else "")
            count = f" · {said}" if said else ""
        return f"{self.title.replace('[*]', '[*][*]')}[*]{count} – Rankscope"
