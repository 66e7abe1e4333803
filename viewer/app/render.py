"""``rankscope render``: the annotated picture of a job, without a screen."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.app.themes import load_theme
from viewer.base.errors import UsageError
from viewer.base.selection import Selection, TimeRange
from viewer.base.session_file import SessionFile
from viewer.base.time import format_duration
from viewer.exporters.picture import VECTOR, check_size, picture_format, write_picture
from viewer.store.session import Session
from viewer.views.kept.keeping import anchored, kept_from, look_from, selection_from
from viewer.views.kept.notes import parse_note
from viewer.views.lanes.find_slice import longest_named
from viewer.views.lanes.tree import build_tree
from viewer.views.picture.arranged import arranged_as_saved
from viewer.views.picture.scene import PictureRequest, ViewRows, picture_scene
from viewer.views.text import one_line

if TYPE_CHECKING:
    from PySide6.QtGui import QGuiApplication

NO_FONT = (
    "Qt finds no font on this machine, so the picture would have no text. Install one (Debian: apt install "
    "fonts-dejavu-core) or set QT_QPA_FONTDIR to a folder of .ttf files."
)
_VECTOR_SCALE = 2.0
"""The lane image inside a vector file has at least that many px per logical px (within its bound)."""

_app: QGuiApplication | None = None


def render_file(
    session: Session,
    output: Path,
    *,
    window: tuple[int, int] | None = None,
    size: tuple[int, int] = (1600, 900),
    scale: int = 1,
    theme_name: str = "light",
    notes: Sequence[str] = (),
    select: str | None = None,
    title: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
    saved: SessionFile | None = None,
) -> Path:
    """Paint the picture of a job into a file.

    Args:
        session: the job.
        output: the file; its suffix is the format.
        window: ns after the session's origin; None for everything.
        size: logical px.
        scale: px per logical px (png).
        theme_name: a shipped theme.
        notes: ``--note`` texts, see :func:`viewer.views.kept.notes.parse_note`.
        select: the longest slice whose name contains this is marked; one that touches the window if there is one.
        title: None for the name of the job's folder or file, "" for none.
        tell: gets sentences for the person who called (what was selected).
        saved: a session file's content: its notes and marks are painted, its lanes are arranged, filtered and coloured
            as they were, and its window and selection are used where the call gives none.

    Returns:
        The file.

    Raises:
        UsageError: anything of the above is wrong, or there is no font.
        InputError: the file cannot be written.
    """
    kind = picture_format(output)
    check_size(*size, scale, kind)
    theme = load_theme(theme_name)
    groups = build_tree(session)
    content = saved or SessionFile()
    kept = kept_from(content, lambda _: None)
    look = look_from(content, lambda _: None) if window is None else None
    shown = look.window if look is not None else window_of(session, window)
    book = anchored(kept.notes, session, groups)
    for time_ns, lane, text in (parse_note(spec, session.origin_ns(), groups) for spec in notes):
        book = book.add(time_ns, lane, text)
    selection = selection_from(content, session, groups) if select is None else _select(session, select, shown, tell)
    arranged = arranged_as_saved(session, content.lanes, content.colors)
    view = None
    if arranged.placement is not None:
        top = arranged.top_of(content.view.lane, content.view.offset) if content.view is not None else 0
        view = ViewRows(arranged.placement, top, 0)
    ensure_application()

    from widgets.picture_painter import encode, font_family, measure

    if not font_family():
        raise UsageError(NO_FONT)
    request = PictureRequest(
        window=shown,
        width=size[0],
        height=size[1],
        theme=theme.with_safe_paints() if arranged.colors.safe else theme,
        scale=max(float(scale), _VECTOR_SCALE) if kind in VECTOR else float(scale),
        vector=kind in VECTOR,
        title=job_title(session) if title is None else title,
        selection=selection,
        notes=book.notes,
        marks=kept.marks.marks,
        view=view,
        groups=arranged.groups,
        pinned=arranged.pinned,
        colors=arranged.colors,
    )
    return write_picture(picture_scene(session, request, measure), output, encode, font_family())


def window_of(session: Session, window: tuple[int, int] | None) -> TimeRange:
    """Session time of a window that counts from the origin; None for everything, with a margin. Raises UsageError."""
    origin, extent = session.origin_ns(), session.extent()
    if window is not None:
        if window[1] <= window[0]:
            raise UsageError("the window ends before it begins.")
        return TimeRange(origin + window[0], origin + window[1])
    if extent is None:
        return TimeRange(origin, origin + 1_000_000)
    margin = max(1, extent.length_ns // 100)
    return TimeRange(extent.start_ns - margin, extent.end_ns + margin)


def job_title(session: Session) -> str:
    """The name of the job's only file, or of the folder that holds all of them."""
    paths = [i.path.absolute() for i in session.inputs]
    if not paths:
        return ""
    common = paths[0] if len(paths) == 1 else Path(os.path.commonpath([p.parent for p in paths]))
    return one_line(common.name)


def ensure_application() -> QGuiApplication:
    """The running Qt application, or a new one that needs no display."""
    global _app  # noqa: PLW0603  (Qt allows one; it has to outlive every picture)
    from PySide6.QtGui import QGuiApplication

    running = QGuiApplication.instance()
    if isinstance(running, QGuiApplication):
        return running
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    _app = QGuiApplication(["rankscope"])
    return _app


def _select(session: Session, part: str, window: TimeRange, tell: Callable[[str], None]) -> Selection:
    if not part.strip():
        raise UsageError("--select needs a part of a slice's name.")
    found = longest_named(session, part, window)
    where = ""
    if found is None:
        found, where = longest_named(session, part), " It lies outside the window."
    if found is None:
        raise UsageError(f"no slice has {part!r} in its name.")
    item = session.inputs[found.input]
    duration = format_duration(int(item.trace.slices.dur_ns[found.index]))
    tell(
        f"selected {one_line(item.trace.name(found.index))!r}, {duration}, {item.label}, "
        f"the longest with {part!r} in its name.{where}"
    )
    return Selection(slice=found, group=session.group_of(found.input).id)
