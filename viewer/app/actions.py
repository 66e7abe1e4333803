"""Everything the window can do, as data: menus, keys and the list of keys all come from this one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from viewer.app.icons import icon
from viewer.base.theme import Theme


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action.

    Attributes:
        id: stable name; the handler is looked up by it.
        menu: "&File", or "&View/&Theme" for a submenu.
        text: menu text with its mnemonic.
        keys: shortcuts in Qt's portable form; the first is shown.
        needs: what must be there: "" nothing, "job" an open job, "slice" a selected slice.
        choice_of: name of an exclusive group; such an action is checkable.
        separated: a separator goes before it.
        timeline_key: shown, but handled by the timeline itself while it has the focus.
    """

    id: str
    menu: str
    text: str
    keys: tuple[str, ...] = ()
    icon: str = ""
    tip: str = ""
    needs: str = ""
    choice_of: str = ""
    separated: bool = False
    timeline_key: str = ""


ACTIONS: Final = (
    ActionSpec("open", "&File", "&Open…", ("Ctrl+O",), "open", "Open trace files as one job"),
    ActionSpec(
        "open_folder", "&File", "Open &Folder…", ("Ctrl+Shift+O",), "folder", "Open all traces of a folder as one job"
    ),
    ActionSpec("add_files", "&File", "&Add to Job…", (), "", "Open more files beside those that are open", "job"),
    ActionSpec("demo", "&File", "Open &Demo Job", (), "demo", "Make a job of 8 ranks and open it", separated=True),
    ActionSpec(
        "export",
        "&File",
        "&Export Picture…",
        ("Ctrl+E",),
        "picture",
        "Write an annotated picture",
        "job",
        separated=True,
    ),
    ActionSpec("copy", "&File", "&Copy Picture", ("Ctrl+Shift+C",), "copy", "Copy the visible timeline", "job"),
    ActionSpec(
        "close_job",
        "&File",
        "&Close Job",
        ("Ctrl+W",),
        "",
        "Close the job and show the start page",
        "job",
        separated=True,
    ),
    ActionSpec("quit", "&File", "&Quit", ("Ctrl+Q",)),
    ActionSpec(
        "add_note",
        "&Edit",
        "Add &Note",
        (),
        "note",
        "Put a note at the selection or in the middle; the key puts it at the pointer",
        "job",
        separated=True,
        timeline_key="M",
    ),
    ActionSpec("clear_selection", "&Edit", "Clear &Selection", (), "", "", "job", timeline_key="Esc"),
    ActionSpec("fit", "&View", "&Fit All", ("0",), "fit", "Show the whole job", "job"),
    ActionSpec(
        "fit_selection", "&View", "Fit &Selection", ("F",), "", "Zoom to the selected slice, gap or range", "job"
    ),
    ActionSpec("zoom_in", "&View", "Zoom &In", ("Ctrl++", "Ctrl+="), "", "", "job"),
    ActionSpec("zoom_out", "&View", "Zoom &Out", ("Ctrl+-",), "", "", "job"),
    ActionSpec("theme_system", "&View/&Theme", "&As the Desktop", choice_of="theme"),
    ActionSpec("theme_light", "&View/&Theme", "&Light", choice_of="theme"),
    ActionSpec("theme_dark", "&View/&Theme", "&Dark", choice_of="theme"),
    ActionSpec("reset_layout", "&View", "&Reset Panels", (), "", "Put all panels where they were at first"),
    ActionSpec("next_run", "&Go", "&Next Run", ("]",), "next", "The next run of the selected name", "slice"),
    ActionSpec("previous_run", "&Go", "&Previous Run", ("[",), "previous", "The run before it", "slice"),
    ActionSpec(
        "slowest_run", "&Go", "&Slowest Run", ("\\",), "slowest", "The longest run of the selected name", "slice"
    ),
    ActionSpec("keys", "&Help", "&Keys", ("F1",)),
    ActionSpec("log", "&Help", "Where the &Log Is"),
    ActionSpec("about", "&Help", "&About Rankscope"),
)
"""In order of the menus."""


class Actions:
    """The QActions of a window, made from :data:`ACTIONS`."""

    def __init__(self, owner: QWidget, handlers: Mapping[str, Callable[[], None]], theme: Theme) -> None:
        self._by_id: dict[str, QAction] = {}
        groups: dict[str, QActionGroup] = {}
        for spec in ACTIONS:
            # What follows a tab is shown where the key stands, and is no shortcut.
            action = QAction(f"{spec.text}\t{spec.timeline_key}" if spec.timeline_key else spec.text, owner)
            action.setObjectName(spec.id)
            action.setShortcuts([QKeySequence(k) for k in spec.keys])
            if spec.tip:
                action.setStatusTip(spec.tip)
            if spec.choice_of:
                action.setCheckable(True)
                if spec.choice_of not in groups:
                    groups[spec.choice_of] = QActionGroup(owner)
                groups[spec.choice_of].addAction(action)
            if spec.id == "quit":
                action.setMenuRole(QAction.MenuRole.QuitRole)
            action.triggered.connect(lambda _checked=False, run=handlers[spec.id]: run())
            self._by_id[spec.id] = action
        self.recolor(theme)
        self.enable(job=False, selected=False)

    def __getitem__(self, action_id: str) -> QAction:
        return self._by_id[action_id]

    def recolor(self, theme: Theme) -> None:
        """Paint the icons in the theme's text colour."""
        for spec in ACTIONS:
            if spec.icon:
                self._by_id[spec.id].setIcon(icon(spec.icon, theme["text"]))

    def enable(self, *, job: bool, selected: bool) -> None:
        """Grey out what cannot be done now."""
        there = {"": True, "job": job, "slice": selected}
        for spec in ACTIONS:
            self._by_id[spec.id].setEnabled(there[spec.needs])

    def fill(self, bar: QMenuBar) -> dict[str, QMenu]:
        """Build the menus; returns them by path so that the window adds what is no plain action."""
        menus: dict[str, QMenu] = {}
        for spec in ACTIONS:
            menu = self._menu(bar, menus, spec.menu)
            if spec.separated:
                menu.addSeparator()
            menu.addAction(self._by_id[spec.id])
        return menus

    def _menu(self, bar: QMenuBar, menus: dict[str, QMenu], path: str) -> QMenu:
        if path not in menus:
            parent, _, last = path.rpartition("/")
            menus[path] = self._menu(bar, menus, parent).addMenu(last) if parent else bar.addMenu(last)
        return menus[path]


def key_list() -> list[tuple[str, str]]:
    """(keys, what they do) of every action that has keys, for the help."""
    return [
        (
            ", ".join(QKeySequence(k).toString(QKeySequence.SequenceFormat.NativeText) for k in spec.keys),
            spec.text.replace("&", "").rstrip("…"),
        )
        for spec in ACTIONS
        if spec.keys
    ]
