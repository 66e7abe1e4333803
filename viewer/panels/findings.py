"""The Findings panel, the home page of a job: what to change first, the three moves, and the findings as cards."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QScrollArea, QToolButton, QVBoxLayout, QWidget

from viewer.analyses.findings.base import JobFinding
from viewer.base.advice_card import AdviceCard
from viewer.base.frames import Jump
from viewer.base.selection import GroupRef, Selection
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.store.session import Session
from viewer.views.figures import shown
from viewer.views.findings import (
    Basis,
    CardFrame,
    FindingsFrame,
    card_markdown,
    card_text,
    findings_frame,
    page_basis,
    page_markdown,
    page_text,
)
from viewer.views.three_moves import Move, three_moves
from widgets.advice_card import AdviceCardView
from widgets.font_scale import resized
from widgets.theming import color, palette_of, set_shown, set_tip
from widgets.wrap_label import WrapLabel

HINT: Final = "Open the traces of a job: this panel says what to change first, and why."
SETTLE_MS: Final = 250
"""Files of a job open one after the other: it is looked at when none came for so long."""
SHOW_MS: Final = 80
"""Findings that come within this time are shown together."""
KEY: Final = "findings"
MOST_CARDS: Final = 60
"""Cards of a section; a job of many ranks may have hundreds, and nobody reads on that far."""


@dataclass(frozen=True, slots=True)
class _Section:
    """A titled list of cards that folds."""

    title: str
    header: QToolButton
    body: QWidget


class FindingsPanel(QWidget):
    """Follows the session of a :class:`JobContext` while it is shown; findings appear as they are found.

    Signals:
        dismiss_toggled(str id): a person puts a finding aside, or takes it back; whoever keeps that answers with
            :meth:`set_dismissed`.
    """

    dismiss_toggled = Signal(str)
    _came = Signal(object, object)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._asked: Session | None = None
        self._found: list[JobFinding] = []
        self._moves: tuple[Move, ...] = ()
        self._basis: Basis | None = None
        self._busy = False
        self._dismissed: frozenset[str] = frozenset()
        self._open: set[str] = set()
        self.frame: FindingsFrame | None = None
        self.cards: dict[str, list[AdviceCardView]] = {}
        self._shown: dict[str, tuple[CardFrame, ...]] = {}
        self.setAccessibleName("Findings")
        self._build()
        self._settle, self._show_soon = QTimer(self), QTimer(self)
        for timer, ms, run in ((self._settle, SETTLE_MS, self._ask), (self._show_soon, SHOW_MS, self._show)):
            timer.setSingleShot(True)
            timer.setInterval(ms)
            timer.timeout.connect(run)
        self._came.connect(self._one_more)
        context.session_changed.connect(self._changed)
        context.theme_changed.connect(self._set_theme)
        self._set_theme(context.theme)
        self._changed()

    def _build(self) -> None:
        self.sentence = WrapLabel(self)
        font = resized(self.font(), 1.12)
        font.setBold(True)
        self.sentence.setFont(font)
        self.moves: list[WrapLabel] = []
        self.together = WrapLabel(self)
        self.progress = WrapLabel(self)
        self.copy = QToolButton(self)
        self.copy.setText("Copy")
        self.copy.setAutoRaise(True)
        set_tip(self.copy, "Copy this page as Markdown; the arrow offers plain text")
        menu = QMenu(self.copy)
        menu.addAction("Copy as Markdown", lambda: self.copy_page(markdown=True))
        menu.addAction("Copy as Text", lambda: self.copy_page(markdown=False))
        self.copy.setMenu(menu)
        self.copy.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.copy.clicked.connect(lambda: self.copy_page(markdown=True))
        content = QWidget()
        self._content = content
        column = self._column = QVBoxLayout(content)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(7)
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self.sentence, 1)
        head.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(head)
        for i in range(3):
            label = WrapLabel(content)
            label.clicked.connect(lambda n=i: self._follow_move(n))
            self.moves.append(label)
            column.addWidget(label)
        column.addWidget(self.progress)
        self.sections = {name: self._section(title) for name, title in
                         (("cards", ""), ("notes", "For information"), ("unsure", "Not beyond noise"),
                          ("dismissed", "Dismissed"))}  # fmt: skip
        for section in self.sections.values():
            column.addWidget(section.header)
            column.addWidget(section.body)
            if section is self.sections["cards"]:
                column.addWidget(self.together)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setAccessibleName("Page of findings")
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(content)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
        self.area = area

    def _section(self, title: str) -> _Section:
        header = QToolButton(self)
        header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        header.setAutoRaise(True)
        header.setAccessibleName(f"Section {title}" if title else "Section without a title")
        body = QWidget(self)
        inner = QVBoxLayout(body)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(7)
        section = _Section(title, header, body)
        if title:
            header.setArrowType(Qt.ArrowType.RightArrow)
            header.clicked.connect(lambda: self._fold(section))
            body.hide()
        header.hide()
        return section

    def _fold(self, section: _Section) -> None:
        open_ = section.body.isHidden()
        section.header.setArrowType(Qt.ArrowType.DownArrow if open_ else Qt.ArrowType.RightArrow)
        set_shown(section.body, open_)

    def _set_theme(self, theme: Theme) -> None:
        palette = palette_of(theme)
        self.setPalette(palette)
        self.setAutoFillBackground(True)
        self._content.setPalette(palette)
        for label in (self.progress, self.together):
            label.set_color(color(theme, "muted"))
        for section in self.sections.values():
            section.header.setPalette(palette)
        for cards in self.cards.values():
            for card in cards:
                card.set_theme(theme)
        self._color_head()

    def _color_head(self) -> None:
        theme = self._context.theme
        warns = self.frame is not None and self.frame.tone == "warning"
        self.sentence.set_color(color(theme, "warning" if warns else "text"))

    # -- computing -----------------------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while the panel was hidden is computed now."""
        super().showEvent(event)
        self._changed()

    def _changed(self, _: object = None) -> None:
        """Another session: what ran for the old one stops."""
        session = self._context.session
        if session is self._asked:
            return
        if self._asked is not None:
            self._context.work.cancel(KEY)
            self._asked = None
        if not session.inputs:
            self._settle.stop()
            self._found, self._moves, self._busy, self.frame = [], (), False, None
            self.sentence.set_text(HINT)
            self._show_parts(None)
            return
        if self.isVisible():
            if self.frame is None:
                self.sentence.set_text("Looking for what to change…")
            self._settle.start()

    def _ask(self) -> None:
        session = self._context.session
        if not session.inputs or session is self._asked or not self.isVisible():
            return
        self._asked, self._found, self._moves, self._busy = session, [], (), True
        self._basis = None
        compute = partial(self._compute, session)
        self._context.work.submit(KEY, compute, self._done, self._failed, long=True)

    def _compute(self, session: Session, cancel: CancelToken) -> None:
        """Runs in a worker: the moves first, then one finding after the other."""
        cancel.check()
        from viewer.analyses.findings.registry import job_findings

        self._came.emit(session, page_basis(session))  # showing asks nothing of a session that a worker builds upon
        cancel.check()
        self._came.emit(session, three_moves(session, cancel))
        job_findings(session, cancel, lambda found: self._came.emit(session, found))

    def _one_more(self, session: Session, came: object) -> None:
        if session is not self._asked:
            return
        if isinstance(came, JobFinding):
            self._found.append(came)
        elif isinstance(came, Basis):
            self._basis = came
        elif isinstance(came, tuple):
            self._moves = came
        if not self._show_soon.isActive():
            self._show_soon.start()

    def _done(self, _: object) -> None:
        self._busy = False
        self._show_soon.stop()
        self._show()

    def _failed(self, error: Exception) -> None:
        self._busy, self._asked, self.frame = False, None, None
        self._show_soon.stop()
        self._show_parts(None)
        self.sentence.set_text(error_sentence("What to change", error))

    # -- showing -------------------------------------------------------------------------------------------------------

    def set_dismissed(self, ids: Collection[str]) -> None:
        """Show these findings as put aside."""
        self._dismissed = frozenset(ids)
        if self._asked is not None:
            self._show()

    def _show(self) -> None:
        if self._asked is None or self._basis is None:
            return
        frame = findings_frame(self._basis, self._found, self._moves, self._dismissed, busy=self._busy)
        bar = self.area.verticalScrollBar()
        at = bar.value()
        self.setUpdatesEnabled(False)
        self.frame = frame
        self.sentence.set_text(frame.sentence)
        self._show_parts(frame)
        self.setUpdatesEnabled(True)
        bar.setValue(min(at, bar.maximum()))

    def _show_parts(self, frame: FindingsFrame | None) -> None:
        for i, label in enumerate(self.moves):
            known = frame is not None and i < len(frame.moves)
            set_shown(label, known)
            if frame is not None and known:
                move = frame.moves[i]
                label.set_text(f"{i + 1}  {move.title}: {move.text}" + (" →" if move.jump is not None else ""))
                label.set_link(move.jump is not None)
                label.setAccessibleDescription(move.how)
                set_tip(label, f"{move.detail}. {move.how}" if move.detail else move.how)
        set_shown(self.copy, frame is not None)
        set_shown(self.progress, frame is not None and frame.busy)
        self.progress.set_text("Still looking…")
        below = [frame.together] if frame is not None and frame.together else []
        if frame is not None and len(frame.cards) > MOST_CARDS:
            below.append(f"{len(frame.cards) - MOST_CARDS} more findings are in the report (File, Save Report).")
        set_shown(self.together, bool(below))
        self.together.set_text(" ".join(below))
        for name in self.sections:
            self._show_section(name, getattr(frame, name) if frame is not None else ())
        self._color_head()

    def _show_section(self, name: str, every: tuple[CardFrame, ...]) -> None:
        section, views = self.sections[name], self.cards.setdefault(name, [])
        frames = every[:MOST_CARDS]
        self._shown[name] = frames
        layout = section.body.layout()
        assert layout is not None
        while len(views) < len(frames):
            view = AdviceCardView(self._context.theme, section.body)
            number = len(views)
            view.jump_requested.connect(lambda i, n=number: self._follow(name, n, i))
            view.dismiss_toggled.connect(self.dismiss_toggled)
            view.copy_requested.connect(self._copy_card)
            view.unfolded.connect(lambda key, on: (self._open.add if on else self._open.discard)(key))
            layout.addWidget(view)
            views.append(view)
        for i, view in enumerate(views):
            set_shown(view, i < len(frames))
            if i < len(frames):
                card = advice_card(frames[i], dismissed=name == "dismissed")
                if card != view.card or view.is_open != (card.id in self._open):
                    view.set_card(card, open_=card.id in self._open)
        if section.title:
            section.header.setText(f"{section.title} ({len(every)})")
            set_shown(section.header, bool(frames))
            if not frames:
                set_shown(section.body, False)
                section.header.setArrowType(Qt.ArrowType.RightArrow)

    # -- what a person does --------------------------------------------------------------------------------------------

    def copy_page(self, *, markdown: bool) -> None:
        """Put the whole page on the clipboard."""
        if self.frame is not None:
            QGuiApplication.clipboard().setText(page_markdown(self.frame) if markdown else page_text(self.frame))

    def _copy_card(self, key: str, markdown: bool) -> None:
        found = next((c for frames in self._shown.values() for c in frames if c.finding.id == key), None)
        if found is not None:
            QGuiApplication.clipboard().setText(card_markdown(found) if markdown else card_text(found))

    def _follow(self, name: str, number: int, evidence: int) -> None:
        self._go(self._shown[name][number].finding.evidence[evidence].target)

    def _follow_move(self, number: int) -> None:
        if number < len(self._moves):
            self._go(self._moves[number].jump)

    def _go(self, target: Jump) -> None:
        """Select what is pointed at and bring it into view; the rank of a range as well."""
        if self._asked is not self._context.session:
            return  # what shows is of another session: its places may be others now
        if isinstance(target, Selection) and target.slice is None and target.group is not None:
            now = replace(self._context.selection, slice=None, gap=target.gap, lanes=frozenset())
            self._context.select(replace(now, range=target.range, group=target.group))
            self._context.reveal_requested.emit(GroupRef(target.group))
            if target.range is not None:
                self._context.reveal_requested.emit(target.range)
        elif isinstance(target, Selection) and target.slice is not None:
            self._context.jump(target.slice)
        else:
            self._context.jump(target)


def advice_card(card: CardFrame, *, dismissed: bool = False) -> AdviceCard:
    """A finding as its card; names from traces are shown as what they are."""
    f = card.finding
    how = (
        f"Why an upper bound: {shown(f.saving_how)}" if f.saving_how else "",
        f"How: {shown(f.how)}" if f.how else "",
    )
    return AdviceCard(
        f.id,
        shown(f.title),
        f.severity,
        card.saving,
        card.share,
        card.follows,
        shown(f.next_step) if f.next_step else "",
        tuple((shown(e.text), e.target is not None) for e in f.evidence),
        tuple(h for h in how if h),
        dismissed,
    )
