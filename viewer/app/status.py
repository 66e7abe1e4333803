"""The status bar: what is under the pointer, what runs and how to stop it, how long the visible window is."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QStatusBar, QToolButton

from viewer.app.icons import icon
from viewer.base.theme import Theme
from widgets.elided_label import ElidedLabel

SHOWN_MS: Final = 6000
BUSY_AFTER_MS: Final = 250
"""Work that ends sooner is not told: it would only flicker."""


class Status(QObject):
    """Fills a window's status bar.

    Signals:
        stop_wanted(): stop what runs.
    """

    stop_wanted = Signal()

    def __init__(self, bar: QStatusBar) -> None:
        super().__init__(bar)
        self._bar = bar
        self.hovered, self.busy, self.window = ElidedLabel(), QLabel(), QLabel()
        for label in (self.hovered, self.busy, self.window):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setContentsMargins(6, 0, 6, 0)
        self.stop = QToolButton()
        self.stop.setAutoRaise(True)
        self.stop.setFixedSize(18, 18)
        self.stop.setAccessibleName("Stop what runs")
        self.stop.clicked.connect(self.stop_wanted)
        self.stop.hide()
        self._wanted: tuple[str, ...] = ()
        self._stoppable = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(BUSY_AFTER_MS)
        self._timer.timeout.connect(self._tell_busy)
        bar.addWidget(self.hovered, 1)
        for part in (self.busy, self.stop, self.window):
            bar.addPermanentWidget(part)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self.stop.setIcon(icon("close", theme["muted"]))

    def show_hovered(self, text: str) -> None:
        """What is under the pointer, "" for nothing."""
        self.hovered.setText(text.replace("\n", " · "))

    def show_busy(self, names: tuple[str, ...], *, stoppable: bool) -> None:
        """What runs, by name, and whether it can be stopped; told when it takes a moment."""
        self._wanted, self._stoppable = names, stoppable
        if not names or self.busy.text():
            self._timer.stop()
            self._tell_busy()
        elif not self._timer.isActive():
            self._timer.start()

    def _tell_busy(self) -> None:
        names = self._wanted
        text = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
        self.busy.setText(f"{text}…" if text else "")
        self.stop.setVisible(bool(names) and self._stoppable)
        self.stop.setToolTip(f"Stop: {', '.join(names)}" if names else "")

    def show_window(self, text: str) -> None:
        """The length of the visible window and of the selected range."""
        self.window.setText(text)

    def tell(self, text: str) -> None:
        """Say for a while what was done."""
        self._bar.showMessage(text, SHOWN_MS)
