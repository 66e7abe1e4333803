"""Export and copy of the picture from the window."""

from __future__ import annotations

import logging
from dataclasses import asdict, replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from viewer.app.note_editing import Keeper
from viewer.app.settings import Settings
from viewer.app.themes import NAMES, load_theme
from viewer.app.workspace import Workspace
from viewer.base.scene import PictureScene
from viewer.base.work import CancelToken
from viewer.exporters.picture import write_picture
from viewer.panels.export_dialog import ExportDialog
from viewer.views.lanes.arrangement import shown_groups
from viewer.views.lanes.looks import Coloring
from viewer.views.picture.arranged import filter_words
from viewer.views.picture.choices import Choices, Shown, choices_from, picture_request
from viewer.views.picture.colors import LaneColors
from viewer.views.picture.scene import ViewRows, picture_scene
from widgets.picture_clipboard import copy_image
from widgets.picture_painter import encode, font_family, measure, prepare, scene_image

log = logging.getLogger(__name__)


def shown_in(workspace: Workspace, kept: Keeper) -> Shown | None:
    """What the window shows now; None while it shows nothing."""
    timeline = workspace.timeline
    window = timeline.window()
    if window is None:
        return None
    lanes = timeline.lanes
    looks, now = lanes.looks, lanes.arrangement
    query = looks.filter_text if looks.found.lanes is not None else ""
    return Shown(
        session=lanes.session,
        window=window,
        selection=lanes.shown(workspace.context.selection),
        notes=lanes.shown_notes(kept.notes.book.notes),
        marks=kept.marks.book.marks,
        rows=ViewRows(timeline.placement, timeline.scroll_top, timeline.canvas.height()),
        groups=tuple(shown_groups(lanes.ordered, now, looks.found.lanes)),
        pinned=now.pinned,
        colors=LaneColors(
            looks.coloring if looks.looks else Coloring.CLASS,
            dict(looks.looks),
            dict(looks.found.matched),
            dict(looks.patterns),
            workspace.colors.safe,
            filter_words(query, looks.emphasised),
        ),
        size=(max(timeline.width(), 320), max(timeline.height(), 200)),
    )


class Pictures(QObject):
    """Makes pictures of a window.

    Signals:
        said(str): what was done.
        failed(str): a sentence.
    """

    said = Signal(str)
    failed = Signal(str)

    def __init__(self, parent: QWidget, workspace: Workspace, settings: Settings) -> None:
        super().__init__(parent)
        self._parent, self._workspace, self._settings = parent, workspace, settings

    def export(self, title: str, kept: Keeper) -> ExportDialog | None:
        """Open the dialog, with last time's choices; it saves or copies the picture."""
        shown = self._shown(kept)
        if shown is None:
            return None
        choices = replace(choices_from(self._settings.picture), title=title, typed="")
        if not self._settings.picture:
            choices = replace(choices, theme=self._workspace.context.theme.name)
        work, lods = self._workspace.work, self._workspace.timeline.lods
        dialog = ExportDialog(work, shown, _write, load_theme, NAMES, choices, lods, self._parent)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.saved.connect(lambda path: self.said.emit(f"Saved {path}"))
        dialog.finished.connect(lambda _: self._keep(dialog))
        dialog.open()
        return dialog

    def copy(self, title: str, kept: Keeper) -> None:
        """Put what is on the screen on the clipboard, in the window's theme and twice as sharp."""
        shown = self._shown(kept)
        if shown is None:
            return
        choices = Choices(size=None, rows="screen", title=title, theme=self._workspace.context.theme.name)

        lods = self._workspace.timeline.lods
        prepare()

        def paint(cancel: CancelToken) -> tuple[QImage, PictureScene]:
            scene = picture_scene(shown.session, picture_request(choices, shown, load_theme), measure, lods)
            cancel.check()
            return scene_image(scene), scene

        self._workspace.work.submit("copy picture", paint, self._copied, self._copy_failed)

    def _copied(self, made: tuple[QImage, PictureScene]) -> None:
        image, scene = made
        copy_image(image, scene.title, scene.description)
        self.said.emit(f"Copied the picture, {image.width()} x {image.height()} pixels")

    def _copy_failed(self, error: Exception) -> None:
        log.error("copying the picture failed", exc_info=error)
        self.failed.emit(f"The picture cannot be copied: {error}")

    def _shown(self, kept: Keeper) -> Shown | None:
        shown = shown_in(self._workspace, kept)
        if shown is None:
            self.failed.emit("There is nothing to make a picture of: no file of the job holds an event with a time.")
        return shown

    def _keep(self, dialog: ExportDialog) -> None:
        kept = asdict(dialog.choices())
        for name in ("title", "typed"):
            del kept[name]
        self._settings.picture = kept


def _write(scene: PictureScene, path: Path) -> Path:
    return write_picture(scene, path, encode, font_family())
