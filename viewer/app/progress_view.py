"""How far opening is: one line overall, and a list with a Cancel for each file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.app.console import format_seconds
from viewer.app.icons import icon
from viewer.app.opening_state import FileState, Overview
from viewer.base.theme import Theme
from viewer.base.units import format_bytes, format_count, format_rate

STEPS: Final = 1000
MAX_LIST_HEIGHT: Final = 260
MAX_ROWS: Final = 64
"""Rows shown at once: the files at work come first; a job can have a thousand."""

_ORDER: Final = {"reading": 0, "waiting": 1, "failed": 2, "cancelled": 3, "open": 4}


class ProgressView(QFrame):
    """Shown while a job opens.

    Signals:
        cancel_all(): stop opening; what is open stays.
        cancel_file(str): leave one file out.
    """

    cancel_all = Signal()
    cancel_file = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("progress")
        self.setAutoFillBackground(True)
        self._theme = theme
        self._rows: dict[str, _FileRow] = {}
        self._title = QLabel("Opening…")
        self._title.setTextFormat(Qt.TextFormat.PlainText)
        self._bar = _bar()
        self._bar.setAccessibleName("Overall progress")
        self._text = QLabel()
        self._text.setMinimumWidth(1)
        self._cancel = QPushButton("Cancel")
        self._cancel.clicked.connect(self.cancel_all)
        self._toggle = QToolButton()
        self._toggle.setAutoRaise(True)
        self._toggle.setCheckable(True)
        self._toggle.setToolTip("Show each file")
        self._toggle.setAccessibleName("Show each file")
        self._toggle.toggled.connect(self.set_expanded)
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._title)
        head.addWidget(self._bar, 1)
        head.addWidget(self._text)
        head.addWidget(self._toggle)
        head.addWidget(self._cancel)
        self._list = QWidget()
        self._grid = QGridLayout(self._list)
        self._grid.setContentsMargins(0, 4, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setAccessibleName("Files that are being opened")
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._list)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 6)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(self._scroll)
        self._more = QLabel()
        self._grid.addWidget(self._more, MAX_ROWS + 1, 0, 1, 4)
        self._more.hide()
        self.set_theme(theme)
        self.set_expanded(False)
        self.hide()

    def begin(self, title: str, *, expanded: bool) -> None:
        """Start showing another job."""
        for row in self._rows.values():
            row.remove()
        self._rows.clear()
        self._more.hide()
        self._title.setText(title)
        self._text.clear()
        self._bar.setRange(0, 0)  # busy until the first bytes are counted
        self._cancel.setEnabled(True)
        self._toggle.setChecked(expanded)
        self.set_expanded(expanded)
        self.show()

    def set_expanded(self, expanded: bool) -> None:
        """Show or hide the list of files."""
        self._toggle.setIcon(icon("less" if expanded else "more", self._theme["text"]))
        if self._toggle.isChecked() != expanded:
            self._toggle.setChecked(expanded)
        self._fit()

    @property
    def expanded(self) -> bool:
        """Whether the list of files is shown."""
        return self._toggle.isChecked()

    def say(self, text: str) -> None:
        """Replace the figures by a sentence (what happens before and after the reading)."""
        self._text.setText(text)

    def wait_for(self, text: str) -> None:
        """Show a sentence and a bar that only says that something goes on."""
        self._bar.setRange(0, 0)
        self._text.setText(text)

    def prepare(self, text: str, share: float | None, view: Overview) -> None:
        """Show a sentence and how far that is, and the state of each file. Changes nothing where nothing changed.

        No bar that moves by itself: it would take a tenth of a core, which the compiler needs.
        """
        self._bar.setRange(0, STEPS)
        self._bar.setValue(int(STEPS * (share or 0.0)))
        self._text.setText(text)
        self._update_rows(view)

    def update_view(self, view: Overview) -> None:
        """Show the state of all files."""
        if view.total_bytes:
            self._bar.setRange(0, STEPS)
            self._bar.setValue(int(STEPS * view.share))
        parts = []
        if view.files:
            parts.append(f"{view.finished} of {len(view.files)} {'file' if len(view.files) == 1 else 'files'}")
        if view.total_bytes:
            parts.append(f"{format_bytes(view.done_bytes)} of {format_bytes(view.total_bytes)}")
        if view.events_per_second:
            parts.append(format_rate(view.events_per_second, "events/s"))
        if view.seconds_left is not None and view.finished < len(view.files):
            parts.append(f"{format_seconds(view.seconds_left)} left")
        self._text.setText(" · ".join(parts))
        self._update_rows(view)

    def set_theme(self, theme: Theme) -> None:
        """Use another theme's colours."""
        self._theme = theme
        self._toggle.setIcon(icon("less" if self.expanded else "more", theme["text"]))
        for row in self._rows.values():
            row.set_theme(theme)

    def _update_rows(self, view: Overview) -> None:
        chosen = view.files
        if len(chosen) > MAX_ROWS:
            chosen = tuple(sorted(chosen, key=lambda f: _ORDER[f.state])[:MAX_ROWS])
        keep = {f.path for f in chosen}
        for path in [p for p in self._rows if p not in keep]:
            self._rows.pop(path).remove()
        new = False
        repeated = {name for name, n in Counter(f.name for f in view.files).items() if n > 1}
        for state in chosen:
            row = self._rows.get(state.path)
            if row is None:
                used = {r.line for r in self._rows.values()}
                line = next(n for n in range(MAX_ROWS) if n not in used)
                row = self._rows[state.path] = _FileRow(self, self._grid, line, state, self._theme)
                new = True
            row.show_state(state)
            row.show_folder(state.name in repeated)
        hidden = len(view.files) - len(chosen)
        self._more.setVisible(hidden > 0)
        self._more.setText(f"and {hidden} more files")
        if new:
            self._fit()

    def _fit(self) -> None:
        self._scroll.setVisible(self.expanded and bool(self._rows))
        self._scroll.setFixedHeight(min(self._grid.sizeHint().height() + 2, MAX_LIST_HEIGHT))


class _FileRow:
    """One line of the list: name, bar, what happens, Cancel."""

    def __init__(self, view: ProgressView, grid: QGridLayout, line: int, state: FileState, theme: Theme) -> None:
        self.line = line
        self._grid = grid
        self._path = state.path
        self._name = QLabel(_short(state.name))
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        self._name.setToolTip(_short(state.path, 300))
        self._bar = _bar()
        self._bar.setAccessibleName(f"Progress of {state.name}")
        self._text = QLabel()
        self._text.setMinimumWidth(230)
        self._cancel = QToolButton()
        self._cancel.setAutoRaise(True)
        self._cancel.setIconSize(QSize(12, 12))
        self._cancel.setToolTip("Leave this file out")
        self._cancel.setAccessibleName(f"Leave out {state.name}")
        self._cancel.clicked.connect(lambda: view.cancel_file.emit(state.path))
        for column, widget in enumerate((self._name, self._bar, self._text, self._cancel)):
            grid.addWidget(widget, line, column)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._cancel.setIcon(icon("close", theme["muted"]))

    def show_state(self, state: FileState) -> None:
        came = state.state not in ("failed", "cancelled")
        self._bar.setValue(int(STEPS * state.share) if came else 0)
        if state.state == "reading":
            text = f"{format_bytes(state.done_bytes)} of {format_bytes(state.total_bytes)}"
            text += f" · {format_count(state.events)} events" if state.events else f" · {state.stage}"
        elif state.state == "open":
            text = f"open · {format_count(state.events)} events" if state.events else "open"
        else:
            text = {"waiting": f"waiting · {format_bytes(state.total_bytes)}", "failed": "cannot be opened"}.get(
                state.state, "left out"
            )
        self._text.setText(text)
        self._cancel.setEnabled(state.state in ("waiting", "reading"))

    def show_folder(self, on: bool) -> None:
        """Files of one name are told apart by their folder."""
        path = Path(self._path)
        self._name.setText(_short(f"{path.parent.name}/{path.name}" if on else path.name))

    def remove(self) -> None:
        for widget in (self._name, self._bar, self._text, self._cancel):
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()


def _bar() -> QProgressBar:
    bar = QProgressBar()
    bar.setRange(0, STEPS)
    bar.setTextVisible(False)
    bar.setFixedHeight(10)
    bar.setMinimumWidth(80)
    bar.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return bar


def _short(name: str, limit: int = 48) -> str:
    shown = "".join(c if c.isprintable() else "�" for c in name)
    return shown if len(shown) <= limit else f"{shown[: limit // 2 - 1]}…{shown[-(limit // 2) :]}"
