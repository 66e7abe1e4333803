"""The menu of a slice, gap, lane or rank: what can be done with what lies under the pointer, or is selected."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMenu

from viewer.analyses.flows import onward, origins
from viewer.base.frames import Hit
from viewer.base.selection import GroupRef, SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.base.units import plain_signs
from viewer.base.work import CancelToken
from viewer.panels.context import JobContext
from viewer.panels.timeline.lane_menu import menu_actions
from viewer.panels.timeline.lane_tools import add_entries
from viewer.views.communicators import communicator_of, lanes_of_communicator
from viewer.views.lanes.hit import time_at, time_of
from viewer.views.timeline import viewport
from viewer.views.timeline.ticks import exact

if TYPE_CHECKING:
    from viewer.panels.timeline.lanes import TimelineLanes
    from viewer.panels.timeline.panel import TimelinePanel
    from viewer.panels.timeline.pointer import TimelinePointer

MOST_COPIED: Final = 1_000_000
"""Characters that are put on the clipboard."""
_LONGEST_PATTERN: Final = 900


class TimelineMenu(QObject):
    """Builds and shows the menu. Right click, the Menu key, or Shift+F10.

    Signals:
        breakdown_wanted(): show what the Breakdown says of the selection.
        run_wanted(str): "next", "previous" or "slowest" run of the selected name.
    """

    breakdown_wanted = Signal()
    run_wanted = Signal(str)

    def __init__(
        self, panel: TimelinePanel, context: JobContext, lanes: TimelineLanes, pointer: TimelinePointer
    ) -> None:
        super().__init__(panel)
        self._panel, self._context, self._lanes, self._pointer = panel, context, lanes, pointer
        self.shown: QMenu | None = None
        panel.navigation.menu_requested.connect(self.show)
        panel.canvas.installEventFilter(self)

    def show(self, at: QPointF) -> None:
        """Show the menu of a point of the canvas."""
        hit = self._pointer.hit_at(at)
        if hit is not None:
            self._popup(hit, at, self._panel.canvas.mapToGlobal(at).toPoint())

    def show_at_selection(self) -> None:
        """Show the menu of the selected slice where it is in sight, else that of the pointer, else of the middle."""
        panel, window = self._panel, self._panel.window()
        if window is None:
            return
        ref = self._context.selection.slice
        area = panel.canvas.rect()
        if ref is not None:
            box = self._lanes.painter.box_of(ref, window, panel.canvas.width())
            if box is not None:
                at = QPointF(max(box.x, 0) + min(box.width, 40) / 2, box.y - panel.scroll_top + box.height / 2)
                if area.contains(at.toPoint()):
                    row = panel.placement.at(box.y)
                    if row is not None:
                        self._popup(Hit(row, slice=ref, box=box), at, panel.canvas.mapToGlobal(at).toPoint())
                    return
        self.show(self._pointer.cursor or QPointF(area.center()))

    def _popup(self, hit: Hit, at: QPointF, where: QPoint) -> None:
        if hit.slice is not None:
            group = hit.row.group.id
            self._context.select(replace(self._context.selection, slice=hit.slice, gap=None, group=group))
        self.shown = menu = self.build(hit, at.x(), at.y())
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(where)

    def build(self, hit: Hit, x: float, y: float | None = None) -> QMenu:
        """The menu of what lies at a point of the canvas; without a y at the middle of its row."""
        if y is None:
            y = self._lanes.placement.screen_y(hit.row.y + hit.row.height / 2, self._panel.scroll_top)
        y = float(y)
        menu = QMenu(self._panel)
        menu.setAccessibleName("What can be done here")
        if hit.slice is not None:
            self._slice_entries(menu, hit.slice)
        elif hit.gap is not None:
            gap = hit.gap
            menu.addAction("Zoom to Gap", lambda: self._zoom(gap.range))
            menu.addAction("Copy Length", lambda: self._copy(format_duration(gap.range.length_ns)))
        window = self._panel.window()
        if window is not None:
            at = time_at(window, self._panel.canvas.width(), x)
            menu.addSeparator()
            menu.addAction(
                f"Copy Time ({exact(at - self._panel.origin_ns)})",
                lambda: self._copy(plain_signs(exact(at - self._panel.origin_ns))),
            )
            lane = hit.row.lane.key if hit.row.lane is not None else ""
            kept = self._panel.kept
            ask = kept.add_note if hit.slice is not None else partial(kept.note_requested.emit, at, lane, None, 0)
            menu.addAction("Note Here…", ask)
            menu.addAction("Measure from Here\tX", lambda: self._panel.measure.begin(QPointF(x, y)))
        menu.addSeparator()
        self._row_entries(menu, hit)
        return menu

    def _pin_group(self, lanes_of: tuple[str, ...]) -> None:
        now = self._lanes.arrangement
        self._lanes.change("Pin Lanes", now.pinned_with(lanes_of))

    def _slice_entries(self, menu: QMenu, ref: SliceRef) -> None:
        item = self._context.session.inputs[ref.input]
        trace, time = item.trace, time_of(item, ref.index)
        name = trace.name(ref.index)
        menu.addAction("Zoom to Slice\tF", lambda: self._zoom(time))
        menu.addAction("Show in Breakdown", self.breakdown_wanted.emit)
        menu.addSeparator()
        copy = menu.addMenu("Copy")
        copy.addAction("Name", lambda: self._copy(name))
        copy.addAction("Duration", lambda: self._copy(exact(time.length_ns)))
        copy.addAction("Start", lambda: self._copy(plain_signs(exact(time.start_ns - self._panel.origin_ns))))
        args = copy.addAction("Args", lambda: self._copy(self._args(ref)))
        args.setEnabled(int(trace.slices.args_len[ref.index]) > 0)
        menu.addAction("Find All of This Name", lambda: self.find_name(name)).setEnabled(bool(name))
        menu.addAction("Filter to This Name", lambda: self.filter_to(name)).setEnabled(bool(name))
        menu.addSeparator()
        for which, key in (("next", "N"), ("previous", "Shift+N"), ("slowest", "\\")):
            menu.addAction(f"{which.title()} Run\t{key}", partial(self.run_wanted.emit, which))
        menu.addSeparator()
        # Joining a trace's launches may take a while the first time: the entries come alive when it is known.
        go_on = menu.addAction("Go to What It Leads To\t]", lambda: self._panel.walk.follow(1))
        go_back = menu.addAction("Go to Where It Comes From\t[", lambda: self._panel.walk.follow(-1))
        for action in (go_on, go_back):
            action.setEnabled(False)

        pin = menu.addAction("Pin Lanes of the Communicator")
        pin.setVisible(False)
        session, groups = self._context.session, self._lanes.groups

        def look(cancel: CancelToken) -> tuple[list[int], list[int], tuple[str, tuple[str, ...]]]:
            cancel.check()
            named = communicator_of(trace, ref.index)
            lanes = lanes_of_communicator(session, groups, named) if named else ()
            return onward(trace, ref.index), origins(trace, ref.index), (named, lanes)

        def done(found: tuple[list[int], list[int], tuple[str, tuple[str, ...]]]) -> None:
            if self.shown is not menu:
                return
            named, lanes = found[2]
            if lanes:
                pin.setText(f"Pin Lanes of {named[:60]} on Every Rank".replace("&", "&&"))
                pin.triggered.connect(lambda: self._pin_group(lanes))
                pin.setVisible(True)
            on_gpu = bool(trace.slices.paint[ref.index] in (1, 2, 3))
            for action, rows, title in (
                (go_on, found[0], "Go to GPU Work, Backward"),
                (go_back, found[1], "Go to Launch" if on_gpu else "Go to Forward, Launch"),
            ):
                action.setEnabled(bool(rows))
                if rows:
                    first = trace.name(rows[0])[:60].replace("&", "&&")
                    action.setText(f"{title}: {first}\t{']' if action is go_on else '['}")

        self._context.work.submit("menu", look, done)

    def _row_entries(self, menu: QMenu, hit: Hit) -> None:
        group, lane = hit.row.group, hit.row.lane
        if lane is not None:
            label = f"{group.title}, {lane.label}".replace("&", "&&")
            add_entries(menu.addMenu(label[:80]), menu_actions(self._lanes, hit.row))
        else:
            add_entries(menu, menu_actions(self._lanes, hit.row))
        menu.addSeparator()
        menu.addAction(f"Select {group.title}".replace("&", "&&"), lambda: self._context.jump(GroupRef(group.id)))
        if lane is not None:
            menu.addAction("Copy Name of Lane", lambda: self._copy(f"{group.title}, {lane.label}"))

    # what the entries do

    def find_name(self, name: str) -> None:
        """Mark and count all slices of exactly this name; Enter walks them."""
        exactly = f"^{re.escape(name)}$"
        if len(exactly) <= _LONGEST_PATTERN:
            self._panel.finder.open(exactly, regex=True, case=True)
        else:
            self._panel.finder.open(name[:_LONGEST_PATTERN], case=True)

    def filter_to(self, name: str) -> None:
        """Let the filter of the lanes show only this name."""
        quoted = name[:_LONGEST_PATTERN].replace('"', '\\"')
        self._panel.lane_tools.field.setText(f'name:"{quoted}"')

    def _zoom(self, target: TimeRange) -> None:
        extent = self._panel.extent
        if extent is not None:
            self._panel.set_window(viewport.focused(target, extent))

    def _args(self, ref: SliceRef) -> str:
        return json.dumps(self._context.session.inputs[ref.input].trace.args(ref.index), indent=1, ensure_ascii=False)

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text[:MOST_COPIED])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The Menu key and Shift+F10 on the lanes."""
        if isinstance(event, QContextMenuEvent) and event.reason() == QContextMenuEvent.Reason.Keyboard:
            self.show_at_selection()
            return True
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and watched is self._panel.canvas:
            shift = event.modifiers() == Qt.KeyboardModifier.ShiftModifier
            if event.key() == Qt.Key.Key_F10 and shift:
                self.show_at_selection()
                return True
        return super().eventFilter(watched, event)
