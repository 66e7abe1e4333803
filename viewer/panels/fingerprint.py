"""The Fingerprint panel: five figures of a training job with range and theory, and where the peak goes."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from viewer.base.theme import Theme
from viewer.panels.context import JobContext
from viewer.panels.following import FollowingPanel, Request
from viewer.views.fingerprint import FingerprintFrame, fingerprint_frame
from widgets.figure_tiles import FigureTiles
from widgets.theming import color, set_tip
from widgets.waterfall import Waterfall
from widgets.wrap_label import WrapLabel


class FingerprintPanel(FollowingPanel[None, FingerprintFrame]):
    """Follows the session: there is one question.

    Signals:
        field_wanted(str): show this field ("part.field") of the job card.
    """

    KEY = "fingerprint"
    SUBJECT = "The fingerprint"
    HINT = "Open the traces of a training job: this panel holds five figures of it against theory and usual ranges."
    COMPUTING = "Taking the fingerprint…"
    STAYS = True

    field_wanted = Signal(str)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        self._frame: FingerprintFrame | None = None
        self.setAccessibleName("Fingerprint")
        self._build()
        self.tiles.chosen.connect(self._chosen)
        self.follow()

    def _build(self) -> None:
        self.sentence = WrapLabel()
        self.tiles = FigureTiles(self._context.theme)
        self.hfu = WrapLabel(max_lines=2)
        self.title = QLabel("From the peak down")
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

    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""
        self.tiles.set_theme(theme)
        self.fall.set_theme(theme)
        self.hfu.set_color(color(theme, "muted"))
        self.problem.set_color(color(theme, "warning"))

    def say(self, text: str) -> None:
        """Instead of all the rest."""
        self._frame = None
        self.sentence.set_text(text)
        for part in (self.tiles, self.hfu, self.title, self.fall, self.problem):
            part.hide()

    def question(self) -> None:
        """Always the same."""

    def compute(self, request: Request[None, FingerprintFrame]) -> FingerprintFrame:
        """All figures at once."""
        return fingerprint_frame(request.session, request.cancel)

    def show_answer(self, answer: FingerprintFrame) -> None:
        """Fill tiles and waterfall."""
        self._frame = frame = answer
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

    def _chosen(self, number: int) -> None:
        if self._frame is None or number >= len(self._frame.figures):
            return
        figure = self._frame.figures[number]
        if figure.needs:
            self.field_wanted.emit(figure.needs)
            return
        target = next((e.target for e in figure.evidence if e.target is not None), None)
        self._context.jump(target)
