"""Colours and filter of the lanes, computed off the GUI thread: the newest wish wins."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from viewer.analyses.query import Query, QueryError, parse
from viewer.base.frames import LaneGroup, Swatch
from viewer.base.ids import Paint
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.work import WorkRunner
from viewer.store.session import Session
from viewer.views.lanes.filter import ALL, PATTERNS, Filtered, apply_filter, build_looks
from viewer.views.lanes.lod import LodStore
from viewer.views.lanes.looks import Coloring, Look, swatches


class LaneLooks(QObject):
    """Keeps looks and filter of one session's lanes.

    Signals:
        recoloured(): looks or patterns are other ones.
        filtered(): the filter has been applied, or taken off.
        refused(str): the filter's text makes no sense: one sentence; "" when it does.
    """

    recoloured = Signal()
    filtered = Signal()
    refused = Signal(str)

    def __init__(self, work: WorkRunner, lods: LodStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work, self._lods = work, lods
        self._session = Session()
        self._groups: tuple[LaneGroup, ...] = ()
        self.coloring = Coloring.CLASS
        self.patterned = False
        self.looks: dict[int, Look] = {}
        self.filter_text = ""
        self._query = Query()
        self.emphasised = ""
        self.found = ALL

    @property
    def patterns(self) -> dict[int, int]:
        """Patterns by ink; {} for none. They are signs of classes and mean nothing upon other colours."""
        return PATTERNS if self.patterned and self.coloring is Coloring.CLASS else {}

    def set_session(self, session: Session, groups: tuple[LaneGroup, ...]) -> None:
        """Other inputs: colour and filter them likewise."""
        self._session, self._groups = session, groups
        self.looks, self.found = {}, ALL
        self.refresh()

    def refresh(self) -> None:
        """Compute everything anew."""
        self._colour()

    def set_coloring(self, coloring: Coloring) -> None:
        """Colours say something else."""
        self.coloring = coloring
        self._colour()

    def set_patterned(self, patterned: bool) -> None:
        """Show patterns as a second sign, or none."""
        self.patterned = patterned
        self.recoloured.emit()

    def set_filter(self, text: str) -> None:
        """Show what matches; a text that makes no sense is refused and changes nothing."""
        self.filter_text = text
        try:
            query = parse(text)
        except QueryError as error:
            self.refused.emit(str(error))
            return
        self.refused.emit("")
        if query != self._query:
            self._query = query
            self._match()

    def emphasise(self, text: str) -> None:
        """Pale all but what a query matches, beside the filter and without hiding a lane; "" for nothing."""
        if text != self.emphasised:
            self.emphasised = text
            self._match()

    def _colour(self) -> None:
        session, coloring, lods = self._session, self.coloring, self._lods
        if coloring is Coloring.CLASS or not session.inputs:
            self._work.cancel("lane colours")
            self._coloured(session, {})
            return

        def look(cancel: CancelToken) -> dict[int, Look]:
            return build_looks(session, coloring, lods, cancel)

        self._work.submit("lane colours", look, lambda looks: self._coloured(session, looks))

    def _coloured(self, session: Session, looks: dict[int, Look]) -> None:
        if session is self._session:
            self.looks = looks
            self.recoloured.emit()
            self._match()

    def _match(self) -> None:
        session, query, looks, lods = self._session, self._query, self.looks, self._lods
        bright = parse(self.emphasised)
        if not (query.terms or bright.terms) or not session.inputs:
            self._work.cancel("lane filter")
            if self.found is not ALL:
                self.found = ALL
                self.filtered.emit()
            return
        groups = self._groups
        self._work.submit(
            "lane filter",
            lambda cancel: apply_filter(session, groups, query, looks, lods, cancel, bright),
            lambda found: self._matched(session, found),
        )

    def _matched(self, session: Session, found: Filtered) -> None:
        if session is self._session:
            self.found = found
            self.filtered.emit()

    def swatches(self, paints: tuple[Paint, ...], theme: Theme) -> tuple[Swatch, ...]:
        """What the colours mean."""
        return swatches(self._session, self.coloring, paints, theme)
