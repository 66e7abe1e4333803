"""Every key and mouse gesture by subject: the table of actions, and what the timeline does by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtGui import QKeySequence

from viewer.app.action_table import ACTIONS, ActionSpec


@dataclass(frozen=True, slots=True)
class KeyLine:
    """Keys or gestures (each of them alone does it), and what they do."""

    keys: tuple[str, ...]
    text: str


_TIMELINE: Final[dict[str, tuple[KeyLine, ...]]] = {
    "Move": (
        KeyLine(("W", "S", "+", "-"), "Zoom at the pointer; hold to glide"),
        KeyLine(("A", "D", "Left", "Right"), "Earlier, later; hold to glide"),
        KeyLine(("Up", "Down", "Page Up", "Page Down"), "Scroll the lanes"),
        KeyLine(("Home", "End"), "Beginning and end of the job"),
        KeyLine(("Ctrl+wheel", "Pinch"), "Zoom at the pointer"),
        KeyLine(("Wheel",), "Scroll the lanes"),
        KeyLine(("Shift+wheel", "Shift+drag", "Middle drag"), "Move in time"),
        KeyLine(("Alt+drag", "Right drag"), "Zoom to a rectangle"),
        KeyLine(("Double click",), "Zoom to a slice or gap"),
        KeyLine(("Mouse back", "Mouse forward"), "Back and forward through the views"),
        KeyLine(("Wheel on the axis", "Wheel on the overview"), "Zoom there"),
    ),
    "Select": (
        KeyLine(("Click",), "Select a slice, gap or rank"),
        KeyLine(("Drag",), "Select a range of time; from a border of it: move that border"),
        KeyLine(("Double click on the axis",), "Zoom to the range; a click beside it drops it"),
        KeyLine(("Click in the legend",), "Emphasise a colour's slices; again or Esc: all alike"),
        KeyLine(("Ctrl+click", "Shift+click"), "Choose several lanes (Shift: on their headers)"),
        KeyLine(("Right click", "Menu", "Shift+F10"), "What can be done with a slice, lane or rank"),
    ),
    "Edit": (KeyLine(("Ctrl+Z",), "Undo"), KeyLine(("Ctrl+Shift+Z", "Ctrl+Y"), "Redo")),
}
_SUBJECTS: Final = {"&File": "File", "&Edit": "Edit", "&View": "View", "&Go": "Go", "&Help": "Help"}


def native(key: str) -> str:
    """A key in Qt's portable form as this desktop writes it."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


def action_keys(spec: ActionSpec) -> tuple[str, ...]:
    """All keys of an action, those that the timeline handles too."""
    own = (key for key in (spec.timeline_key, spec.also) if key)
    return (*(native(k) for k in spec.keys), *own)


def plain_text(spec: ActionSpec) -> str:
    """An action's text without mnemonic and dots."""
    return spec.text.replace("&", "").rstrip("…")


def key_subjects() -> dict[str, list[KeyLine]]:
    """Lines by subject: first the timeline's own, then the menus in their order."""
    out = {subject: list(lines) for subject, lines in _TIMELINE.items()}
    for spec in ACTIONS:
        keys = action_keys(spec)
        if "bookmark_" in spec.id:
            if spec.id.endswith("_1"):  # nine of a kind are one line
                kind = [s for s in ACTIONS if s.id.startswith(spec.id[:-1])]
                keys = tuple(native(s.keys[0]) for s in kind)
                out.setdefault("Go", []).append(KeyLine(keys, plain_text(spec)[:-2] + "s"))
        elif keys:
            menu = spec.menu.split("/")[0]
            out.setdefault(_SUBJECTS.get(menu, menu.replace("&", "")), []).append(KeyLine(keys, plain_text(spec)))
    return out


def all_keys() -> set[str]:
    """Every key and gesture that is named anywhere."""
    named = {key for lines in key_subjects().values() for line in lines for key in line.keys}
    return named | {key for spec in ACTIONS for key in spec.keys}
