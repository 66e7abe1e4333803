"""What the window shows while nothing is open: where to drop, Open, recent jobs, and the demo."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QToolButton, QVBoxLayout, QWidget

from viewer.app.icons import application_icon, icon
from viewer.app.settings import about_key
from viewer.base.theme import Theme
from widgets.font_scale import resized
from widgets.theming import color, set_tip

SHOWN_RECENT: Final = 6
WIDTH: Final = 620


def job_title(paths: list[str] | list[Path]) -> str:
    """A short name for a job: its folder, its file, or what its files have in common."""
    names = [Path(p) for p in paths]
    if not names:
        return ""
    if len(names) == 1:
        return _printable(Path(os.path.realpath(names[0])).name or str(names[0]))
    parents = {p.parent for p in names}
    if all(os.path.isdir(p) for p in names):
        short = [os.path.basename(os.path.realpath(p)) for p in names]
        return _printable(" and ".join(short) if len(short) == 2 else f"{short[0]} and {len(short) - 1} more folders")
    if len(parents) == 1:
        return _printable(f"{len(names)} files in {Path(os.path.realpath(next(iter(parents)))).name or '/'}")
    return _printable(f"{names[0].name} and {len(names) - 1} more")


def _printable(text: str, limit: int = 80) -> str:
    shown = "".join(c if c.isprintable() else "�" for c in text)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


class StartPage(QWidget):
    """The first page.

    Signals:
        open_files(), open_folder(), open_demo(): a button was pressed.
        open_recent(list): paths of a recent job.
        clear_recent(): the list is to be empty.
    """

    open_files = Signal()
    open_folder = Signal()
    open_demo = Signal()
    open_recent = Signal(object)
    clear_recent = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._zone = _DropZone(theme)
        self._recent_title = QLabel("Recent")
        self._clear = QToolButton()
        self._clear.setText("Clear List")
        self._clear.setAutoRaise(True)
        self._clear.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._clear.setAccessibleName("Clear the list of recent jobs")
        self._clear.clicked.connect(self.clear_recent)
        recent_row = QHBoxLayout()
        recent_row.addWidget(self._recent_title, 1)
        recent_row.addWidget(self._clear)
        self._recent = QVBoxLayout()
        self._recent.setSpacing(0)
        self._demo = QPushButton("Open Demo Job")
        self._demo.setToolTip("Make the traces of an 8-rank training job with known truth, and open them")
        self._demo.clicked.connect(self.open_demo)
        hint = QLabel("No trace at hand? The demo job is made on this machine.")
        self._hint = hint
        demo_row = QHBoxLayout()
        demo_row.addWidget(self._demo)
        demo_row.addWidget(hint, 1)
        column = QWidget()
        column.setMaximumWidth(WIDTH)
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(14)
        inner.addWidget(self._zone)
        inner.addLayout(demo_row)
        inner.addLayout(recent_row)
        inner.addLayout(self._recent)
        page = QWidget()
        scroll = QScrollArea()  # for a small window, or a large scale
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(page)
        for part in (page, scroll.viewport()):
            part.setAutoFillBackground(False)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(scroll)
        outer = QVBoxLayout(page)
        outer.addStretch(2)
        middle = QHBoxLayout()
        middle.addStretch(1)
        middle.addWidget(column, 8)
        middle.addStretch(1)
        outer.addLayout(middle)
        outer.addStretch(3)
        self._zone.open_button.clicked.connect(self.open_files)
        self._zone.folder_button.clicked.connect(self.open_folder)
        self.set_theme(theme)

    def set_recent(self, recent: list[list[str]], about: Mapping[str, tuple[int, int]] | None = None) -> None:
        """Show the recent jobs, newest first; those that are not there any more in a muted colour.

        Args:
            recent: the paths of each.
            about: (ranks, seconds since 1970 when it was opened) by :func:`viewer.app.settings.about_key`; 0 where
                that is not known.
        """
        while (item := self._recent.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for paths in recent[:SHOWN_RECENT]:
            button = _RecentButton()
            button.setAutoRaise(True)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setIcon(icon("recent", self._theme["muted"]))
            ranks, when = (about or {}).get(about_key(paths), (0, 0))
            facts = [f"{ranks:,} ranks" if ranks > 1 else "", _when(when), _place(paths)]
            button.setText("   ".join([job_title(paths), *(f for f in facts if f)]).replace("&", "&&"))
            tip = "\n".join(paths[:20])
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            if not any(os.path.exists(p) for p in paths):
                tip = f"Not there any more:\n{tip}"
                button.setProperty("missing", True)
            set_tip(button, tip)
            self._mute(button)
            button.clicked.connect(lambda _=False, p=paths: self.open_recent.emit(p))
            self._recent.addWidget(button)
        self._recent_title.setVisible(bool(recent))
        self._clear.setVisible(bool(recent))

    def _mute(self, button: QToolButton) -> None:
        palette = button.palette()
        ink = color(self._theme, "muted" if button.property("missing") else "text")
        palette.setColor(QPalette.ColorRole.ButtonText, ink)
        button.setPalette(palette)

    def recent_buttons(self) -> list[QToolButton]:
        """The buttons of the recent jobs, in order."""
        items = (self._recent.itemAt(i) for i in range(self._recent.count()))
        return [w for i in items if i is not None and isinstance(w := i.widget(), QToolButton)]

    def set_theme(self, theme: Theme) -> None:
        """Use another theme's colours."""
        self._theme = theme
        self._zone.set_theme(theme)
        self._demo.setIcon(icon("demo", theme["text"]))
        muted = self._hint.palette()
        muted.setColor(self._hint.foregroundRole(), color(theme, "muted"))
        self._hint.setPalette(muted)
        self._recent_title.setPalette(muted)
        for button in self.recent_buttons():
            button.setIcon(icon("recent", theme["muted"]))
            self._mute(button)


def _when(seconds: int) -> str:
    """When a job was opened: the time for today, else the day; "" when that is not known."""
    if not seconds:
        return ""
    then, today = time.localtime(seconds), time.localtime()
    return time.strftime("today %H:%M" if then[:3] == today[:3] else "%Y-%m-%d", then)


def _place(paths: list[str]) -> str:
    """The folder of a job, its start cut off when it is long, with the home folder as ~."""
    folder = str(Path(paths[0]).parent)
    home = str(Path.home())
    if folder == home or folder.startswith(home + "/"):
        folder = "~" + folder[len(home) :]
    return _printable(folder if len(folder) <= 48 else "…" + folder[-47:])


class _RecentButton(QToolButton):
    """A line of the list: Return opens it, as Space does."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)


class _DropZone(QFrame):
    """The frame with the two Open buttons. The whole window takes drops; this only shows that it does."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setMinimumHeight(230)
        picture = QLabel()
        picture.setPixmap(application_icon().pixmap(QSize(56, 56)))
        self._title = QLabel("Drop traces, a folder or a session here")
        self._title.setObjectName("dropTitle")
        self._title.setFont(resized(self._title.font(), 1.45))
        self._text = QLabel(
            "Profiler traces (.json, .gz, .zst) of one rank or of all; a folder, archive or pack is one job."
        )
        self._text.setWordWrap(True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.open_button = QPushButton("Open Files…")
        self.open_button.setDefault(True)
        self.folder_button = QPushButton("Open Folder…")
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.open_button)
        buttons.addWidget(self.folder_button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 22, 24, 22)
        layout.setSpacing(10)
        layout.addWidget(picture, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(self._title, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(self._text)
        layout.addSpacing(4)
        layout.addLayout(buttons)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.open_button.setIcon(icon("open", theme["text"]))
        self.folder_button.setIcon(icon("folder", theme["text"]))
        muted = self._text.palette()
        muted.setColor(self._text.foregroundRole(), color(theme, "muted"))
        self._text.setPalette(muted)
        self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(color(self._theme, "muted")), 1.4, Qt.PenStyle.DashLine))
            painter.setBrush(color(self._theme, "base"))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 10, 10)
        finally:
            painter.end()
