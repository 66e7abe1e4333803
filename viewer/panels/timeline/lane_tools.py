"""What stands around the lanes: the filter box, the button that brings hidden lanes back, menus, drags, the legend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QMenu, QToolButton, QVBoxLayout, QWidget

from viewer.base.frames import PlacedRow, Swatch
from viewer.panels.timeline.lane_menu import Entry, menu_actions
from viewer.panels.timeline.lanes import TimelineLanes
from viewer.views.lanes.arrangement import hidden_names, with_lane_moved, with_rank_moved
from viewer.views.lanes.emphasis import query_of_swatch
from viewer.views.lanes.looks import Coloring

if TYPE_CHECKING:
    from viewer.panels.timeline.panel import TimelinePanel

HELP = (
    "Words of a name, and: rank:0-3,7  stream:7  gpu:0  thread:main  process:100  name:nccl  class:comm  group:dp  "
    "dur:>1ms  cat:kernel  -term for all but that.  name:/expression/ for a regular expression."
)


class LaneTools(QObject):
    """Filter, hidden lanes, menus and drags of a timeline panel.

    Attributes:
        box: the widget at the upper left: the job's extent above the filter.
        field: the filter.
    """

    def __init__(self, panel: TimelinePanel, lanes: TimelineLanes, extent: QLabel) -> None:
        super().__init__(panel)
        self._panel, self._lanes = panel, lanes
        self.field = QLineEdit()
        self.field.setObjectName("lane-filter")
        self.field.setPlaceholderText("Filter lanes and slices")
        self.field.setAccessibleName("Filter")
        self.field.setAccessibleDescription(HELP)
        self.field.setToolTip(HELP)
        self.field.setClearButtonEnabled(True)
        self.field.setFixedHeight(22)
        self.field.installEventFilter(self)
        self.hidden = QToolButton()
        self.hidden.setObjectName("hidden-lanes")
        self.hidden.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.hidden.setFixedHeight(22)
        self.hidden.setMenu(QMenu(self.hidden))
        self.hidden.hide()
        self.box = QWidget()
        self.box.setAutoFillBackground(True)
        column = QVBoxLayout(self.box)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._extent, self._said = extent, QLabel()
        self._said.setObjectName("filter-result")
        self._said.setTextFormat(Qt.TextFormat.PlainText)
        self._said.setContentsMargins(10, 0, 4, 0)
        self._said.hide()
        column.addWidget(extent)
        column.addWidget(self._said)
        row = QHBoxLayout()
        row.setContentsMargins(6, 0, 6, 1)
        row.setSpacing(4)
        row.addWidget(self.field, 1)
        row.addWidget(self.hidden)
        column.addLayout(row)
        self.field.textChanged.connect(lanes.set_filter)
        lanes.arranged.connect(self._show_filter)
        lanes.looks.refused.connect(self._refuse)
        lanes.looks.filtered.connect(self._tell_found)
        lanes.placed.connect(self._show_hidden)
        lanes.changed.connect(self._dress)
        panel.legend.clicked.connect(self._swatch_clicked)
        headers = panel.headers
        headers.section_toggled.connect(lanes.toggle_section)
        headers.menu_requested.connect(self.open_menu)
        headers.row_dropped.connect(self.drop)

    # filter

    def focus_filter(self) -> None:
        """Type into the filter."""
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Esc clears the filter, then goes back to the lanes; Enter and Down go to the lanes."""
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape:
                if self.field.text():
                    self.field.clear()
                else:
                    self._panel.canvas.setFocus()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
                self._panel.canvas.setFocus()
                return True
        return super().eventFilter(watched, event)

    def _dress(self) -> None:
        """Another theme, perhaps: stand on the same ground as the extent."""
        self.box.setPalette(self._extent.palette())
        field = self.box.palette()
        for role, token in (("Base", "base"), ("Text", "text"), ("PlaceholderText", "muted"), ("Button", "button")):
            field.setColor(getattr(field.ColorRole, role), QColor(self._lanes.theme[token]))
        if self.field.property("error"):
            field.setColor(field.ColorRole.Text, QColor(self._lanes.theme["error"]))
        self.field.setPalette(field)

    def _show_filter(self) -> None:
        text = self._lanes.arrangement.filter
        if text != self.field.text():
            self.field.setText(text)

    def _refuse(self, sentence: str) -> None:
        self.field.setProperty("error", sentence)
        self._dress()
        self.field.setToolTip(sentence or HELP)
        self.field.setAccessibleDescription(sentence or HELP)
        self._say(sentence, wrong=True)
        self._panel.hovered.emit(sentence)

    def _tell_found(self) -> None:
        found = self._lanes.looks.found
        text = ""
        if found.lanes is not None:
            lanes, slices = len(found.lanes), found.count
            text = f"{slices:,} slice{'' if slices == 1 else 's'} on {lanes} lane{'' if lanes == 1 else 's'}"
        self.field.setAccessibleDescription(text or HELP)
        self._say(text, wrong=False)

    def _say(self, text: str, *, wrong: bool) -> None:
        """Say above the filter what it found or what is wrong with it, in place of the job's extent."""
        palette = self._extent.palette()
        palette.setColor(palette.ColorRole.WindowText, QColor(self._lanes.theme["error" if wrong else "text"]))
        self._said.setPalette(palette)
        room = self.box.width() - 14
        self._said.setText(self._said.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room))
        self._said.setToolTip(text)
        self._said.setVisible(bool(text))
        self._extent.setVisible(not text)

    # hidden lanes

    def _show_hidden(self) -> None:
        lanes = self._lanes
        hidden = hidden_names(lanes.groups, lanes.arrangement)
        self.hidden.setVisible(bool(hidden))
        self.hidden.setText(f"{len(hidden)} hidden")
        self.hidden.setAccessibleName(f"{len(hidden)} hidden ranks and lanes")
        menu = self.hidden.menu()
        menu.clear()
        if len(hidden) > 1:
            now = lanes.arrangement
            show_all = menu.addAction("Show All")
            show_all.triggered.connect(lambda: lanes.change("Show All", replace(now, hidden=frozenset())))
            menu.addSeparator()
        for key, name in hidden[:100]:
            action = menu.addAction(f"Show {name.replace('&', '&&')}")
            action.triggered.connect(
                lambda _=False, k=key: lanes.change("Show Lane", lanes.arrangement.toggled("hidden", k))
            )

    # menus and drags

    def open_menu(self, row: PlacedRow, at: QPoint) -> None:
        """Show what can be done with a row."""
        self.menu_of(row).popup(at)

    def menu_of(self, row: PlacedRow) -> QMenu:
        """The menu of a row; it deletes itself when it closes."""
        menu = QMenu(self._panel.headers)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        add_entries(menu, menu_actions(self._lanes, row))
        return menu

    def drop(self, row: PlacedRow, before: str) -> None:
        """Put a dragged rank or lane before another."""
        lanes = self._lanes
        if row.lane is None:
            shown = [g.key for g in lanes.ordered]
            lanes.change("Move Rank", with_rank_moved(lanes.arrangement, shown, row.group.key, before))
        else:
            group = next(g for g in lanes.groups if g.id == row.group.id)
            lanes.change("Move Lane", with_lane_moved(lanes.arrangement, group, row.lane.key, before))

    # legend

    def emphasise(self, text: str) -> None:
        """Pale all but what a query matches; "" for nothing."""
        looks, legend = self._lanes.looks, self._panel.legend
        looks.emphasise(text)
        session = self._lanes.session
        same = (s for s in legend.swatches if text and query_of_swatch(s, looks.coloring, session) == text)
        legend.choose(next(same, None))

    def _swatch_clicked(self, swatch: Swatch) -> None:
        again = swatch == self._panel.legend.chosen
        looks = self._lanes.looks
        self.emphasise("" if again else query_of_swatch(swatch, looks.coloring, self._lanes.session))

    def show_legend(self) -> None:
        """Explain the colours in use."""
        looks, lanes, legend = self._lanes.looks, self._lanes, self._panel.legend
        if looks.coloring in (Coloring.CLASS, Coloring.RANK):
            legend.set_swatches(looks.swatches(lanes.paints, lanes.theme), looks.patterns)
            return
        paints, theme = lanes.paints, lanes.theme

        def done(found: tuple[Swatch, ...]) -> None:
            legend.set_swatches(found, {})

        lanes.work.submit("lane legend", lambda _: looks.swatches(paints, theme), done)


def add_entries(menu: QMenu, entries: list[Entry]) -> None:
    """Fill a menu; entries of one submenu lie together."""
    submenus: dict[str, QMenu] = {}
    for entry in entries:
        if entry.menu and entry.menu not in submenus:
            submenus[entry.menu] = menu.addMenu(entry.menu)
        target = submenus[entry.menu] if entry.menu else menu
        action = target.addAction(entry.text.replace("&", "&&"))
        if entry.checked is not None:
            action.setCheckable(True)
            action.setChecked(entry.checked)
        action.triggered.connect(lambda _=False, run=entry.run: run())
