"""Notes, marks and bookmarks of the view: made by keys, shown on the timeline, listed in a panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu

from viewer.app import dialogs
from viewer.app.features.base import Feature
from viewer.app.icons import swatch
from viewer.base.kept import MARK_COLORS, Bookmark

if TYPE_CHECKING:
    from viewer.app.workspace import Workspace
    from viewer.panels.kept_panel import KeptPanel
    from viewer.store.session import Session
    from viewer.views.kept.kept_list import KeptRow


class MarksFeature(Feature):
    """Binds the window's keeper of notes, marks and bookmarks to the timeline and the menus."""

    panel: KeptPanel | None = None

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        slots = range(1, 10)
        return {
            "add_mark": self._on_job(lambda w: w.timeline.kept.add_mark()),
            "add_note": self._on_job(lambda w: w.timeline.kept.add_note()),
            **{f"bookmark_{slot}": partial(self.recall, slot) for slot in slots},
            **{f"save_bookmark_{slot}": partial(self.save, slot) for slot in slots},
        }

    def attach(self, workspace: Workspace) -> None:
        """Show notes and marks, and take what the timeline asks for."""
        keeper, timeline, kept = self.window.kept, workspace.timeline, workspace.timeline.kept
        kept.note_requested.connect(keeper.notes.ask_and_add)
        timeline.note_moved.connect(keeper.notes.move)
        timeline.note_edited.connect(keeper.notes.ask_and_edit)
        timeline.note_removed.connect(keeper.notes.remove)
        kept.mark_requested.connect(keeper.marks.add)
        kept.mark_moved.connect(keeper.marks.move)
        kept.mark_edited.connect(self.ask_label)
        kept.mark_menu.connect(self._menu)
        keeper.notes.changed.connect(kept.set_notes)
        keeper.marks.changed.connect(kept.set_marks)
        workspace.context.session_changed.connect(self._find_again)

    def attach_panel(self, workspace: Workspace) -> None:
        """List what is kept."""
        from viewer.panels.kept_panel import KeptPanel

        panel = self.panel = KeptPanel(workspace.context, self.window)
        self.window.docks.fill({"kept": panel})
        panel.chosen.connect(self.go_to)
        panel.edited.connect(self._edit)
        panel.removed.connect(self._remove)
        panel.menu_wanted.connect(self._add_colors)
        workspace.context.session_changed.connect(self._list)
        self.window.kept.changed.connect(self._list)
        self._list()

    def _list(self, _: object = None) -> None:
        workspace, kept = self.window.workspace, self.window.kept
        if workspace is not None and self.panel is not None:
            from viewer.views.kept.kept_list import kept_rows

            origin = workspace.timeline.origin_ns
            self.panel.set_rows(kept_rows(kept.notes.book, kept.marks.book, kept.bookmarks.book, origin))

    def go_to(self, row: KeptRow) -> None:
        """Bring an entry of the list into view."""
        workspace = self.window.workspace
        if workspace is None:
            return
        if row.kind == "bookmark":
            self.recall(row.id)
        elif row.end_ns > row.start_ns:
            self.zoom_to(row.id)
        else:
            workspace.timeline.kept.show_instant(row.start_ns, row.where)

    def _edit(self, kind: str, number: int, text: str) -> None:
        kept = self.window.kept
        if kind == "note":
            kept.notes.edit(number, text)
        elif kind == "mark":
            kept.marks.edit(number, text)
        else:
            kept.bookmarks.edit(number, text)

    def _remove(self, rows: list[KeptRow]) -> None:
        kept = self.window.kept
        self.window.undo.stack.beginMacro("Remove from the list")
        for row in rows:
            removers = {"note": kept.notes.remove, "mark": kept.marks.remove, "bookmark": kept.bookmarks.remove}
            removers[row.kind](row.id)
        self.window.undo.stack.endMacro()

    def _add_colors(self, row: KeptRow, menu: QMenu) -> None:
        if row.kind == "mark":
            self._colors(row.id, menu)

    def job_shown(self, paths: list[Path]) -> None:
        """Show what is kept of the job."""
        workspace = self.window.workspace
        if workspace is not None:
            workspace.timeline.kept.set_notes(self.window.kept.notes.book.notes)
            workspace.timeline.kept.set_marks(self.window.kept.marks.book.marks)
            if paths:
                self._find_again(workspace.session)

    def _find_again(self, session: Session) -> None:
        """Notes of slices go where their slices are now."""
        notes = self.window.kept.notes
        if any(note.slice is not None for note in notes.book):
            from viewer.views.kept.keeping import anchored
            from viewer.views.lanes.tree import build_tree

            notes.show(anchored(notes.book, session, build_tree(session)))

    def ask_label(self, mark_id: int) -> None:
        """Let the person name a mark."""
        marks = self.window.kept.marks
        text = dialogs.ask_label(self.window, "Mark", marks.book.get(mark_id).text)
        if text is not None:
            marks.edit(mark_id, text)

    def _menu(self, mark_id: int, at: QPoint) -> None:
        """Name, colour, zoom to and remove a mark."""
        keeper = self.window.kept.marks
        mark = keeper.book.get(mark_id)
        menu = QMenu(self.window)
        menu.addAction("Name…", partial(self.ask_label, mark_id))
        self._colors(mark_id, menu)
        if mark.is_range:
            menu.addAction("Zoom to It", partial(self.zoom_to, mark_id))
        menu.addSeparator()
        menu.addAction("Remove", partial(keeper.remove, mark_id))
        menu.popup(at)
        menu.aboutToHide.connect(menu.deleteLater)

    def _colors(self, mark_id: int, menu: QMenu) -> None:
        keeper, colors = self.window.kept.marks, menu.addMenu("Colour")
        for name in MARK_COLORS:
            action = colors.addAction(swatch(self.window.theme[f"mark_{name}"]), name.capitalize())
            action.setCheckable(True)
            action.setChecked(name == keeper.book.get(mark_id).color)
            action.triggered.connect(lambda _=False, c=name: keeper.recolor(mark_id, c))

    def zoom_to(self, mark_id: int) -> None:
        """Show the time of a mark."""
        workspace = self.window.workspace
        if workspace is not None:
            from viewer.base.selection import TimeRange

            mark = self.window.kept.marks.book.get(mark_id)
            workspace.timeline.reveal(TimeRange(mark.start_ns, max(mark.end_ns, mark.start_ns + 1)))

    # bookmarks

    def save(self, slot: int) -> None:
        """Keep what the timeline shows in a slot."""
        workspace = self.window.workspace
        if workspace is None or not self.window.has_job:
            return
        from viewer.panels.timeline.look import look_of

        look = look_of(workspace.timeline)
        if look is not None:
            window = look.window
            self.window.kept.bookmarks.put(
                Bookmark(slot, window.start_ns, window.end_ns, "", look.lane, look.offset, look.arrangement)
            )
            self.window.status.tell(f"Bookmark {slot} set: {slot} comes back here")

    def recall(self, slot: int) -> None:
        """Show the view of a slot."""
        workspace, found = self.window.workspace, self.window.kept.bookmarks.book.get(slot)
        if workspace is None or not self.window.has_job:
            return
        if found is None:
            self.window.status.tell(f"Bookmark {slot} is not set: Ctrl+{slot} sets it")
            return
        from viewer.base.selection import TimeRange
        from viewer.panels.timeline.look import show_look
        from viewer.views.kept.keeping import Look

        kept, window = workspace.timeline.kept, TimeRange(found.start_ns, found.end_ns)
        before, after = kept.arrangement, found.arrangement
        if after is not None and after != before:
            self.window.undo.push(f"Go to bookmark {slot}", before, after, kept.set_arrangement)
        show_look(workspace.timeline, Look(window, found.lane, found.offset))

    def _on_job(self, run: Callable[[Workspace], None]) -> Callable[[], None]:
        def handler() -> None:
            if self.window.workspace is not None and self.window.has_job:
                run(self.window.workspace)

        return handler
