"""The job card: its panel and the fingerprint's, changes on the window's undo stack, and its files."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.app import dialogs
from viewer.app.features.base import Feature
from viewer.base.errors import RankscopeError
from viewer.base.job_card import EMPTY_CARD, JobCard

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.base.work import CancelToken
    from viewer.panels.fingerprint import FingerprintPanel
    from viewer.panels.job_card import JobCardPanel
    from viewer.store.session import Session

log = logging.getLogger(__name__)


class JobCardFeature(Feature):
    """Binds both panels to the window; what a person said is part of the job's options."""

    panel: JobCardPanel | None = None
    fingerprint: FingerprintPanel | None = None

    def attach_panel(self, workspace: Workspace) -> None:
        """Make the panels and take what they ask for."""
        from viewer.panels.fingerprint import FingerprintPanel
        from viewer.panels.job_card import JobCardPanel

        panel = self.panel = JobCardPanel(workspace.context, self.window)
        figures = self.fingerprint = FingerprintPanel(workspace.context, self.window)
        self.window.docks.fill({"job_card": panel, "fingerprint": figures})
        panel.wished.connect(self.choose)
        panel.load_wanted.connect(self.ask_load)
        panel.save_wanted.connect(self.ask_save)
        figures.field_wanted.connect(self.show_field)

    def job_shown(self, paths: list[Path]) -> None:
        """The card of the call is that of the job it opened, not of those that come after it in this window."""
        if paths and self.window.options.card != EMPTY_CARD:
            self.window.options = replace(self.window.options, card=EMPTY_CARD)

    def show_field(self, path: str) -> None:
        """Show the panel at a field."""
        if self.panel is not None and self.window.has_job:
            self.window.docks.show_panel("job_card")
            self.panel.show_field(path)

    # changes

    def choose(self, card: JobCard, text: str) -> None:
        """Use another card, as one step of undo."""
        before = self.window.job.options.card
        if self.window.has_job and card != before:
            self.window.undo.push(text, before, card, self._put)

    def _put(self, card: JobCard) -> None:
        """Put what a person said in force; what the traces tell is filled in off the GUI thread."""
        window = self.window
        if not window.has_job:
            return
        window.job = replace(window.job, options=replace(window.job.options, card=card))
        self._fill()

    def _fill(self) -> None:
        workspace = self.window.workspace
        if workspace is None:
            return
        session, card = workspace.session, self.window.job.options.card

        def fill(cancel: CancelToken) -> Session:
            from viewer.analyses.card_fill import with_filled_card

            cancel.check()
            return with_filled_card(session, card)

        def done(filled: Session) -> None:
            if workspace.session is not session:
                self._fill()  # another session came meanwhile: more files, or other clocks
            else:
                workspace.show_session(filled, same_job=True)

        workspace.work.submit("job card", fill, done, self._failed)

    def _failed(self, error: Exception) -> None:
        if not isinstance(error, RankscopeError):
            log.error("filling in the job card failed", exc_info=error)
        self.window.say("error", f"The job card cannot be filled in: {error}")

    # files

    def ask_load(self) -> None:
        """Let the person name a card."""
        path = dialogs.ask_card_file(self.window, self.window.settings.last_folder)
        if path is not None:
            self.load(path)

    def load(self, path: Path) -> None:
        """Use a card from a file, in place of what was said."""
        from viewer.store.card_file import read_card

        try:
            card = read_card(path)
        except RankscopeError as error:
            self.window.say("error", str(error))
            return
        self.choose(card, f"Job card from {path.name}")

    def ask_save(self) -> None:
        """Let the person name a file for the card."""
        workspace = self.window.workspace
        if workspace is None or not self.window.has_job:
            return
        path = dialogs.ask_card_target(self.window, self.window.settings.last_folder)
        if path is not None:
            self.save(path, workspace.session.card)

    def save(self, path: Path, card: JobCard) -> None:
        """Write the card."""
        from viewer.store.card_file import write_card

        try:
            write_card(path, card)
        except RankscopeError as error:
            self.window.say("error", str(error))
            return
        self.window.status.tell(f"Saved {path}")
