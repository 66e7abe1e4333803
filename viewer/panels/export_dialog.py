"""Export Picture: choose, see at once what comes out, save it or copy it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from viewer.base.errors import InputError, RankscopeError
from viewer.base.scene import MAX_SIDE, PictureScene
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.work import WorkRunner
from viewer.views.lanes.painter import LodStore
from viewer.views.picture.choices import (
    EXTENTS,
    FORMATS,
    ROWS,
    SIZES,
    Choices,
    Shown,
    picture_request,
    preview_request,
)
from viewer.views.picture.scene import LEAST_SIZE, picture_scene
from widgets.picture_clipboard import copy_image
from widgets.picture_painter import measure, prepare, scene_image

PREVIEW_DELAY_MS: Final = 120
_PREVIEW: Final = "picture-preview"
_OUTPUT: Final = "picture-output"
_CUSTOM: Final = (0, 0)

Write = Callable[[PictureScene, Path], Path]
"""Writes a scene in the format of the path's suffix; raises RankscopeError."""


def file_name(title: str) -> str:
    """A name for a picture of that title, without suffix: that of a trace file goes."""
    name = "".join(c if c.isalnum() or c in " -_." else "_" for c in title).strip(" .")
    for suffix in (".gz", ".json"):
        name = name.removesuffix(suffix)
    return name.strip(" .") or "rankscope"


class ExportDialog(QDialog):
    """Asks what picture to make; composes and paints off the GUI thread.

    Args:
        work: runs the painting.
        shown: what the window shows.
        write: writes the file; called off the GUI thread.
        theme: finds a theme by name.
        themes: names to choose from.
        choices: what was chosen last time.
        lods: levels of detail of the timeline.
        parent: Qt parent.

    Signals:
        saved(Path): a file was written.
        copied(): the picture is on the clipboard.
        failed(str): a sentence; the dialog shows it too.
    """

    saved = Signal(object)
    copied = Signal()
    failed = Signal(str)

    def __init__(
        self,
        work: WorkRunner,
        shown: Shown,
        write: Write,
        theme: Callable[[str], Theme],
        themes: Sequence[str],
        choices: Choices | None = None,
        lods: LodStore | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        prepare()
        self.setWindowTitle("Export Picture")
        self._work, self._shown, self._write, self._theme, self._lods = work, shown, write, theme, lods
        self._folder = ""
        self._image: QImage | None = None
        self._writing = False
        self._close_with: int | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PREVIEW_DELAY_MS)
        self._timer.timeout.connect(self.refresh)
        self._build(themes)
        self.set_choices(choices or Choices())
        self._connect()
        self.resize(1120, 620)
        self._changed()

    # -- what is chosen ------------------------------------------------------------------------------------------------

    def choices(self) -> Choices:
        """What is chosen now."""
        size = self._size.currentData()
        return Choices(
            format=self._format.currentData(),
            size=(self._width.value(), self._height.value()) if size == _CUSTOM else size,
            extent=self._extent.currentData(),
            rows=self._rows.currentData(),
            typed=self._typed.text(),
            title=self._title.text().strip(),
            theme=self._themes.currentData(),
            selection=self._selection.isChecked(),
            notes=self._notes.isChecked(),
            legend=self._legend.isChecked(),
            footer=self._footer.isChecked(),
        )

    def set_choices(self, choices: Choices) -> None:
        """Show these choices; what the dialog does not offer stays as it is."""
        for box, value in (
            (self._format, choices.format),
            (self._extent, choices.extent),
            (self._rows, choices.rows),
            (self._themes, choices.theme),
        ):
            at = box.findData(value)
            if at >= 0:
                box.setCurrentIndex(at)
        at = next((i for i in range(self._size.count()) if self._size.itemData(i) == choices.size), -1)
        self._size.setCurrentIndex(at if at >= 0 else self._size.count() - 1)
        width, height = choices.size or self._shown.size
        self._width.setValue(width)
        self._height.setValue(height)
        self._typed.setText(choices.typed)
        self._title.setText(choices.title)
        for check, on in (
            (self._selection, choices.selection),
            (self._notes, choices.notes),
            (self._legend, choices.legend),
            (self._footer, choices.footer),
        ):
            check.setChecked(on)
        self._enable()

    # -- what is done --------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Paint the preview for the current choices."""
        room = self._preview.contentsRect().size()
        dpr = self.devicePixelRatioF()
        session, theme, lods = self._shown.session, self._theme, self._lods
        choices, shown = self.choices(), self._shown

        def job(cancel: CancelToken) -> QImage:
            request = preview_request(
                picture_request(choices, shown, theme), max(64, room.width()), max(64, room.height()), dpr
            )
            scene = picture_scene(session, request, measure, lods)
            cancel.check()
            return scene_image(scene)

        self._work.submit(_PREVIEW, job, self._show_preview, self._preview_failed)

    def save_to(self, path: Path) -> None:
        """Write the picture; ``saved`` or ``failed`` follows."""
        write = self._write
        self._produce(lambda scene: write(scene, path), self._saved, "Saving…")

    def copy(self) -> None:
        """Copy the picture; ``copied`` or ``failed`` follows."""
        self._produce(lambda scene: (scene_image(scene), scene), self._copied, "Copying…")

    def done(self, result: int) -> None:
        """Close; a preview still in work is dropped, a file still in work is finished first."""
        if self._writing:
            self._close_with = result
            return
        self._timer.stop()
        self._work.cancel(_PREVIEW)
        super().done(result)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Paint the preview anew at its new size."""
        super().resizeEvent(event)
        self._timer.start()

    def _produce(self, make: Callable[[PictureScene], Any], done: Callable[[Any], None], said: str) -> None:
        session, theme, lods = self._shown.session, self._theme, self._lods
        choices, shown = self.choices(), self._shown

        def job(cancel: CancelToken) -> Any:
            scene = picture_scene(session, picture_request(choices, shown, theme), measure, lods)
            cancel.check()
            return make(scene)

        self._say(said)
        self._write_state(True)
        self._work.submit(_OUTPUT, job, done, self._output_failed)

    def _ask_and_save(self) -> None:
        kind = FORMATS[self.choices().format][1]
        start = str(Path(self._folder) / f"{file_name(self._title.text())}.{kind}")
        chosen, _ = QFileDialog.getSaveFileName(self, "Save Picture", start, f"{kind.upper()} (*.{kind})")
        if chosen:
            path = Path(chosen)
            self._folder = str(path.parent)
            self.save_to(path if path.suffix.lower() == f".{kind}" else path.with_name(f"{path.name}.{kind}"))

    def _saved(self, path: Path) -> None:
        self._write_state(False)
        self._say(f"Saved {path}")
        self.saved.emit(path)
        self._close_if_asked()

    def _copied(self, made: tuple[QImage, PictureScene]) -> None:
        self._write_state(False)
        image, scene = made
        copy_image(image, scene.title, scene.description)
        self._say(f"Copied {image.width()} x {image.height()} pixels")
        self.copied.emit()
        self._close_if_asked()

    def _output_failed(self, error: Exception) -> None:
        self._write_state(False)
        self._close_with = None  # what went wrong has to be read
        self._fail(error)

    def _show_preview(self, image: QImage) -> None:
        image.setDevicePixelRatio(self.devicePixelRatioF())
        self._image = image
        self._preview.setPixmap(QPixmap.fromImage(image))
        if self._status.property("problem"):
            self._say("")
        self._allow(not self._writing)

    def _preview_failed(self, error: Exception) -> None:
        self._image = None
        self._preview.clear()
        self._allow(False)
        self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, RankscopeError | MemoryError):
            raise error
        text = str(error) or "There is not enough memory for this picture."
        if not isinstance(error, InputError):  # which begins with a path
            text = text[:1].upper() + text[1:]
        self._say(text, problem=True)
        self.failed.emit(text)

    def _say(self, text: str, *, problem: bool = False) -> None:
        self._status.setText(text)
        self._status.setProperty("problem", problem)
        weight = "font-weight: 600" if problem else ""
        self._status.setStyleSheet(weight)

    def _write_state(self, writing: bool) -> None:
        self._writing = writing
        self._allow(not writing)

    def _allow(self, output: bool) -> None:
        self._save.setEnabled(output)
        self._copy.setEnabled(output)

    def _close_if_asked(self) -> None:
        if self._close_with is not None:
            result, self._close_with = self._close_with, None
            self.done(result)

    @property
    def message(self) -> str:
        """What the dialog says below the choices."""
        return self._status.text()

    @property
    def preview(self) -> QImage | None:
        """The preview as painted, None while there is none."""
        return self._image

    # -- widgets -------------------------------------------------------------------------------------------------------

    def _build(self, themes: Sequence[str]) -> None:
        self._format = _combo([(label, key) for key, (label, _, _) in FORMATS.items()])
        wide, tall = self._shown.size
        sizes: list[tuple[str, Any]] = [(f"Current view ({wide} x {tall})", None)]
        sizes += [(f"{w} x {h}", (w, h)) for w, h in SIZES]
        self._size = _combo([*sizes, ("Other", _CUSTOM)])
        self._width, self._height = _spin(LEAST_SIZE[0]), _spin(LEAST_SIZE[1])
        self._extent = _combo([(label, key) for key, label in EXTENTS.items()])
        self._typed = QLineEdit()
        self._typed.setPlaceholderText("12.5ms:30ms")
        self._rows = _combo([(label, key) for key, label in ROWS.items()])
        self._title = QLineEdit()
        self._title.setMaxLength(300)
        self._themes = _combo([(name.capitalize(), name) for name in themes])
        self._selection, self._notes = QCheckBox("Selection"), QCheckBox("Notes and marks")
        self._legend, self._footer = QCheckBox("Legend"), QCheckBox("Source and version")
        self._status = QLabel()
        self._status.setTextFormat(Qt.TextFormat.PlainText)
        self._status.setWordWrap(True)
        self._save, self._copy = QPushButton("Save…"), QPushButton("Copy")
        close = QPushButton("Close")
        for button in (close, self._copy):
            button.setAutoDefault(False)
        self._save.setDefault(True)
        close.clicked.connect(self.reject)
        self._preview = QLabel()
        self._preview.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._preview.setMinimumSize(QSize(420, 260))
        self._preview.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self._preview.setAccessibleName("Preview")

        custom = QHBoxLayout()
        for part in (self._width, QLabel("x"), self._height):
            custom.addWidget(part)
        custom.addStretch(1)
        form = QFormLayout()
        for label, field in (
            ("Title", self._title),
            ("Format", self._format),
            ("Size", self._size),
            ("", custom),
            ("Window", self._extent),
            ("", self._typed),
            ("Lanes", self._rows),
            ("Theme", self._themes),
            ("Show", self._selection),
            ("", self._notes),
            ("", self._legend),
            ("", self._footer),
        ):
            form.addRow(label, field)
        buttons = QHBoxLayout()
        for button in (close, self._copy, self._save):
            buttons.addWidget(button)
        left = QVBoxLayout()
        left.addLayout(form)
        left.addWidget(self._status)
        left.addStretch(1)
        left.addLayout(buttons)
        side = QWidget()
        side.setLayout(left)
        side.setFixedWidth(340)
        layout = QHBoxLayout(self)
        layout.addWidget(side)
        layout.addWidget(self._preview, 1)

    def _connect(self) -> None:
        for box in (self._format, self._size, self._extent, self._rows, self._themes):
            box.currentIndexChanged.connect(self._changed)
        for check in (self._selection, self._notes, self._legend, self._footer):
            check.toggled.connect(self._changed)
        for line in (self._typed, self._title):
            line.textChanged.connect(self._changed)
        for spin in (self._width, self._height):
            spin.valueChanged.connect(self._changed)
        self._save.clicked.connect(self._ask_and_save)
        self._copy.clicked.connect(self.copy)

    def _changed(self, *_: object) -> None:
        self._enable()
        self._timer.start()

    def _enable(self) -> None:
        for spin in (self._width, self._height):
            spin.setEnabled(self._size.currentData() == _CUSTOM)
        self._typed.setEnabled(self._extent.currentData() == "typed")


def _combo(items: Sequence[tuple[str, Any]]) -> QComboBox:
    box = QComboBox()
    for label, data in items:
        box.addItem(label, data)
    return box


def _spin(least: int) -> QSpinBox:
    spin = QSpinBox()
    spin.setRange(least, MAX_SIDE)
    spin.setGroupSeparatorShown(False)
    return spin
