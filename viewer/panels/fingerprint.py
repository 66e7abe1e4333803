"""The Fingerprint panel: five figures of a training job with range and theory, and where the peak goes."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.store.session import Session
from viewer.views.fingerprint import FingerprintFrame, fingerprint_frame
from widgets.figure_tiles import FigureTiles
from widgets.theming import color, palette_of, set_tip
from widgets.waterfall import Waterfall
from widgets.wrap_label import WrapLabel

HINT: Final = "Open the traces of a training job: this panel holds five figures of it against theory and usual ranges."
COMPUTING: Final = "Taking the fingerprint…"


class FingerprintPanel(QWidget):
    """Follows the session of a :class:`JobContext` while it is shown; the newest request wins.

    Signals:
        field_wanted(str): show this field ("part.field") of the job card.
    """

    field_wanted = Signal(str)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._asked: Session | None = None
        self._frame: FingerprintFrame | None = None
        self.setAccessibleName("Fingerprint")
        self._build()
        self.tiles.chosen.connect(self._chosen)
        context.session_changed.connect(self._refresh)
        context.theme_changed.connect(self._set_theme)
        self._set_theme(context.theme)
        self._show_message(HINT)

    def _build(self) -> None:
        self.sentence = WrapLabel()
        self.tiles = FigureTiles(self._context.theme)
        self.hfu = WrapLabel(max_lines=2)
        self.title = QLabel("From the peak to MFU")
        self.title.setContentsMargins(10, 4, 10, 0)
        self.fall = Waterfall(self._context.theme)
        self.problem = WrapLabel()
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 6, 0, 8)
        column.setSpacing(4)
        for part in (self.sentence, self.tiles, self.hfu, self.title, self.fall, self.problem):
            if isinstance(part, WrapLabel):
                box = QVBoxLayout()
                box.setContentsMargins(10, 0, 10, 0)
                box.addWidget(part)
                column.addLayout(box)
            else:
                column.addWidget(part)
        column.addStretch(1)
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setAccessibleName("Figures of the fingerprint")
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(content)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.area)
        self.setFocusProxy(self.tiles)

    @property
    def frame(self) -> FingerprintFrame | None:
        """What is shown."""
        return self._frame

    def _set_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.tiles.set_theme(theme)
        self.fall.set_theme(theme)
        self.hfu.set_color(color(theme, "muted"))
        self.problem.set_color(color(theme, "warning"))

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while the panel was hidden is computed now."""
        super().showEvent(event)
        self._refresh()

    def _show_message(self, text: str) -> None:
        self._frame = None
        self.sentence.set_text(text)
        for part in (self.tiles, self.hfu, self.title, self.fall, self.problem):
            part.hide()

    def _refresh(self, _: object = None) -> None:
        session = self._context.session
        if not self.isVisible() or self._asked is session:
            return
        if not session.inputs:
            self._context.work.cancel("fingerprint")
            self._asked = None
            self._show_message(HINT)
            return
        if self._frame is None:
            self._show_message(COMPUTING)
        self._asked = session
        self._context.work.submit(
            "fingerprint", lambda cancel: self._compute(session, cancel), self._show, self._failed
        )

    @staticmethod
    def _compute(session: Session, cancel: CancelToken) -> FingerprintFrame:
        return fingerprint_frame(session, cancel)

    def _show(self, frame: FingerprintFrame) -> None:
        self._frame = frame
        self.sentence.set_text(frame.sentence)
        self.tiles.set_tiles(frame.tiles)
        self.fall.set_rows(frame.rows)
        self.hfu.set_text(f"HFU {frame.hfu}" if frame.hfu != "–" else f"HFU –: {frame.hfu_how}")
        set_tip(self.hfu, f"Hardware FLOPs utilisation: {frame.hfu_how}")
        self.problem.set_text(frame.problem)
        self.tiles.show()
        self.hfu.show()
        self.title.setVisible(bool(frame.rows))
        self.fall.setVisible(bool(frame.rows))
        self.problem.setVisible(bool(frame.problem))

    def _failed(self, error: Exception) -> None:
        self._asked = None
        self._show_message(error_sentence("The fingerprint", error))

    def _chosen(self, number: int) -> None:
        if self._frame is None or number >= len(self._frame.figures):
            return
        figure = self._frame.figures[number]
        if figure.needs:
            self.field_wanted.emit(figure.needs)
            return
        target = next((e.target for e in figure.evidence if e.target is not None), None)
        self._context.jump(target)
