"""The command palette: every action of the menus with its keys, and jumps to ranks, lanes and kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu

from viewer.app.action_table import ACTIONS
from viewer.app.command_dialog import CommandDialog
from viewer.app.commands import Command
from viewer.app.features.base import Feature
from viewer.app.key_table import action_keys

if TYPE_CHECKING:
    from viewer.base.selection import SliceRef
    from viewer.store.session import Session

MOST_RECENT: Final = 20
_WHY: Final = {"job": "needs an open job", "slice": "needs a selected slice"}
_SPECS: Final = {spec.id: spec for spec in ACTIONS}


class CommandPalette(Feature):
    """Opens the palette, remembers what was run with it."""

    dialog: CommandDialog | None = None
    _names: tuple[Session, dict[str, SliceRef]] | None = None

    def handlers(self) -> dict[str, Callable[[], None]]:
        """What runs for which action."""
        return {"palette": self.open}

    def open(self) -> None:
        """Show the palette; jumps come in as soon as the names are gathered."""
        window = self.window
        window.menus.fill_recent()
        self.dialog = dialog = CommandDialog(window, self.commands(), window.settings.recent_actions)
        dialog.chosen.connect(self._run)
        dialog.finished.connect(self._closed)
        workspace = window.workspace
        if workspace is not None and window.has_job:
            session = workspace.session
            dialog.set_jumps(self._places())
            if self._names is not None and self._names[0] is session:
                self._show_kernels(session, self._names[1])
            else:
                from viewer.analyses.kernel_names import kernel_names

                workspace.work.submit(
                    "palette names", lambda cancel: kernel_names(session, cancel), partial(self._show_kernels, session)
                )
        dialog.open()
        dialog.edit.setFocus()

    def _closed(self) -> None:
        self.dialog = None

    def commands(self) -> list[Command]:
        """Every action of the menu bar, in its order."""
        return list(self._of_menu(self.window.menuBar().actions(), ""))

    def _of_menu(self, actions: list[QAction], path: str) -> Iterator[Command]:
        for action in actions:
            text = action.text().partition("\t")[0].replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…")
            menu = action.menu()
            if isinstance(menu, QMenu):
                yield from self._of_menu(menu.actions(), text if not path else f"{path} / {text}")
            elif text and not action.isSeparator() and action.objectName() != "palette":
                yield self._command(action, text, path)

    def _command(self, action: QAction, text: str, path: str) -> Command:
        spec = _SPECS.get(action.objectName())
        native = QKeySequence.SequenceFormat.NativeText
        keys = action_keys(spec) if spec is not None else [k.toString(native) for k in action.shortcuts()]
        why = "" if action.isEnabled() else _WHY.get(spec.needs, "") if spec is not None else ""
        if not action.isEnabled() and not why:
            why = "not possible now"
        return Command(action.objectName() or f"{path}/{text}", text, ", ".join(keys), path, action.trigger, why)

    def _places(self) -> list[Command]:
        from viewer.base.selection import GroupRef

        workspace = self.window.workspace
        assert workspace is not None
        timeline = workspace.timeline
        out = []
        for group in timeline.groups:
            jump = partial(workspace.context.jump, GroupRef(group.id))
            out.append(Command("", group.title, "", "rank", jump))
            out += [
                Command("", f"{group.title} {lane.label}", "", "lane", partial(timeline.navigation.show_lane, lane.key))
                for lane in group.lanes
            ]
        return out

    def _show_kernels(self, session: Session, names: dict[str, SliceRef]) -> None:
        self._names = (session, names)
        workspace = self.window.workspace
        if self.dialog is None or workspace is None or workspace.session is not session:
            return
        kernels = [Command("", name, "", "kernel", partial(workspace.context.jump, ref)) for name, ref in names.items()]
        self.dialog.set_jumps([*self._places(), *kernels])

    def _run(self, command: Command) -> None:
        settings = self.window.settings
        if command.id:
            others = [name for name in settings.recent_actions if name != command.id]
            settings.recent_actions = [command.id, *others][:MOST_RECENT]
        command.run()
