"""A card with a piece of advice: title, saving with its share as a bar, what to try; evidence and how unfold."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFont, QPainter
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from viewer.base.advice_card import AdviceCard
from viewer.base.theme import Theme
from widgets.painted import PaintedWidget
from widgets.theming import color, mix, palette_of, set_shown
from widgets.wrap_label import WrapLabel

STRIPE: Final = 3
INDENT: Final = 14
BAR_WIDTH: Final = 84
BAR_HEIGHT: Final = 8
FULL_SHARE: Final = 0.5
"""A bar is full from this share of a step on: most savings are some percent, and a bar of them must still be seen."""


class ShareBar(PaintedWidget):
    """A share of a step as a bar; full at half of it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._share = theme, 0.0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_share(self, share: float) -> None:
        """Show another share."""
        self._share = share
        self.setAccessibleName(f"{share:.1%} of the step")
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        """Preferred size."""
        return QSize(BAR_WIDTH, BAR_HEIGHT)

    def paint(self, painter: QPainter) -> None:
        """Draw the trough and the filled part."""
        whole = QRectF(0, 0, self.width(), self.height())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(self._theme, "line"))
        painter.drawRoundedRect(whole, 3, 3)
        filled = min(max(self._share / FULL_SHARE, 0.0), 1.0) * whole.width()
        if filled > 0:
            painter.setBrush(color(self._theme, "accent"))
            painter.drawRoundedRect(QRectF(0, 0, max(filled, 3.0), whole.height()), 3, 3)


class AdviceCardView(PaintedWidget):
    """One card.

    Signals:
        jump_requested(int): the evidence of that number was clicked.
        dismiss_toggled(str id): put aside, or take back.
        copy_requested(str id, bool): as Markdown, else as text.
        unfolded(str id, bool): the person opened or closed it.
    """

    jump_requested = Signal(int)
    dismiss_toggled = Signal(str)
    copy_requested = Signal(str, bool)
    unfolded = Signal(str, bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._card = AdviceCard("", "", "info", "", None, "", "", (), ())
        self._open = False
        self.title = WrapLabel(self)
        font = QFont(self.font())
        font.setBold(True)
        self.title.setFont(font)
        self.follows = WrapLabel(self, max_lines=2)
        self.bar = ShareBar(theme, self)
        self.saving = WrapLabel(self)
        self.step = WrapLabel(self)
        self.fold = QToolButton(self)
        self.fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.fold.setAutoRaise(True)
        self.fold.clicked.connect(self._toggle)
        self.aside = QToolButton(self)
        self.aside.setAutoRaise(True)
        self.aside.clicked.connect(lambda: self.dismiss_toggled.emit(self._card.id))
        self.details = QWidget(self)
        self.evidence: list[WrapLabel] = []
        self.how: list[WrapLabel] = []
        self._build()

    def _build(self) -> None:
        self._figures = QWidget(self)
        figures = QHBoxLayout(self._figures)
        figures.setContentsMargins(0, 0, 0, 0)
        figures.setSpacing(8)
        figures.addWidget(self.bar, 0, Qt.AlignmentFlag.AlignVCenter)
        figures.addWidget(self.saving, 1)
        tools = QHBoxLayout()
        tools.setContentsMargins(0, 0, 0, 0)
        tools.addWidget(self.fold)
        tools.addStretch(1)
        tools.addWidget(self.aside)
        inner = QVBoxLayout(self.details)
        inner.setContentsMargins(4, 0, 0, 2)
        inner.setSpacing(4)
        column = self._column = QVBoxLayout(self)
        column.setSpacing(4)
        for part in (self.title, self.follows, self._figures, self.step):
            column.addWidget(part)
        column.addLayout(tools)
        column.addWidget(self.details)
        self.details.hide()

    @property
    def card(self) -> AdviceCard:
        """What is shown."""
        return self._card

    @property
    def is_open(self) -> bool:
        """Whether evidence and how show."""
        return self._open

    def set_card(self, card: AdviceCard, *, open_: bool = False) -> None:
        """Show another piece of advice."""
        self._card = card
        self.setAccessibleName(card.title)
        self.title.set_text(card.title)
        self.follows.set_text(f"Follows from: {card.follows}" if card.follows else "")
        set_shown(self.follows, bool(card.follows))
        self.saving.set_text(card.saving)
        set_shown(self._figures, bool(card.saving))
        self.bar.set_share(card.share or 0.0)
        set_shown(self.bar, card.share is not None)
        self.step.set_text(f"Try: {card.next_step}" if card.next_step else "")
        set_shown(self.step, bool(card.next_step))
        self.aside.setText("Restore" if card.dismissed else "Dismiss")
        count = len(card.evidence)
        self.fold.setText(f"Evidence ({count})" if count else "How")
        self._column.setContentsMargins(STRIPE + 8 + (INDENT if card.follows else 0), 7, 6, 5)
        self._fill()
        self._set_open(open_)
        self._tint()
        self.update()

    def _fill(self) -> None:
        card, layout = self._card, self.details.layout()
        assert layout is not None
        while len(self.evidence) < len(card.evidence):
            label = WrapLabel(self.details)
            label.clicked.connect(partial(self.jump_requested.emit, len(self.evidence)))
            layout.insertWidget(len(self.evidence), label)  # type: ignore[attr-defined]
            self.evidence.append(label)
        while len(self.how) < len(card.how):
            self.how.append(WrapLabel(self.details))
            layout.addWidget(self.how[-1])
        for i, label in enumerate(self.evidence):
            set_shown(label, i < len(card.evidence))
            if i < len(card.evidence):
                text, leads = card.evidence[i]
                label.set_text(f"• {text}" + (" →" if leads else ""))
                label.set_link(leads)
        for i, label in enumerate(self.how):
            set_shown(label, i < len(card.how))
            label.set_text(card.how[i] if i < len(card.how) else "")

    def set_theme(self, theme: Theme) -> None:
        """Use a theme's colours."""
        self._theme = theme
        self.bar.set_theme(theme)
        self._tint()

    def _tint(self) -> None:
        theme = self._theme
        palette = palette_of(theme)
        self.setPalette(palette)
        muted = color(theme, "muted")
        for label in (self.follows, *self.how):
            label.set_color(muted)
        self.title.set_color(muted if self._card.dismissed else None)
        for i, label in enumerate(self.evidence):
            leads = i < len(self._card.evidence) and self._card.evidence[i][1]
            label.set_color(color(theme, "accent") if leads else None)
        quiet = palette_of(theme)
        quiet.setColor(quiet.ColorRole.ButtonText, muted)
        self.aside.setPalette(quiet)
        self.update()

    def _toggle(self) -> None:
        self._set_open(not self._open)
        self.unfolded.emit(self._card.id, self._open)

    def _set_open(self, open_: bool) -> None:
        self._open = open_
        self.fold.setArrowType(Qt.ArrowType.DownArrow if open_ else Qt.ArrowType.RightArrow)
        self.fold.setAccessibleName(f"{self.fold.text()} of: {self._card.title}")
        set_shown(self.details, open_)

    def paint(self, painter: QPainter) -> None:
        """Draw the card's ground and the stripe of its severity."""
        theme, left = self._theme, INDENT if self._card.follows else 0
        ground = QRectF(left, 0.5, self.width() - left - 1, self.height() - 1)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(color(theme, "line"))
        painter.setBrush(color(theme, "base"))
        painter.drawRoundedRect(ground, 4, 4)
        tones = {"error": color(theme, "error"), "warning": color(theme, "mark_orange")}
        tone = tones.get(self._card.severity, color(theme, "muted"))
        if self._card.dismissed:
            tone = mix(tone, color(theme, "base"), 0.6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tone)
        painter.drawRoundedRect(QRectF(left, 0.5, STRIPE + 1, self.height() - 1), 2, 2)

    def menu(self) -> QMenu:
        """What can be done with the card."""
        menu, card = QMenu(self), self._card
        menu.addAction("Copy as Text", lambda: self.copy_requested.emit(card.id, False))
        menu.addAction("Copy as Markdown", lambda: self.copy_requested.emit(card.id, True))
        menu.addSeparator()
        menu.addAction("Restore" if card.dismissed else "Dismiss", lambda: self.dismiss_toggled.emit(card.id))
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done."""
        self.menu().popup(QPoint(event.globalPos()))
