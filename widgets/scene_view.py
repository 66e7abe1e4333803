"""Shows a picture scene that is composed anew for whatever room there is."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.base.scene import PictureScene
from widgets.painted import PaintedWidget
from widgets.picture_painter import paint_scene

Composer = Callable[[int, int], PictureScene]
"""(width, height) in logical px -> the scene."""


class SceneView(PaintedWidget):
    """A scene in a widget."""

    def __init__(self, parent: QWidget | None = None, hint: QSize | None = None) -> None:
        super().__init__(parent)
        self._hint = hint or QSize(420, 220)
        self._compose: Composer | None = None
        self._scene: PictureScene | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def scene(self) -> PictureScene | None:
        """What is shown; None for nothing."""
        size = self.size()
        if self._compose is None or size.isEmpty():
            return None
        if self._scene is None or (self._scene.width, self._scene.height) != (size.width(), size.height()):
            self._scene = self._compose(size.width(), size.height())
            self.setAccessibleDescription(self._scene.description)
        return self._scene

    def set_composer(self, compose: Composer | None) -> None:
        """Show another scene."""
        self._compose, self._scene = compose, None
        self.update()

    def sizeHint(self) -> QSize:
        """The room that it asks for."""
        return self._hint

    def minimumSizeHint(self) -> QSize:
        """The room that it needs."""
        return QSize(160, 60)

    def paint(self, painter: QPainter) -> None:
        """Draw the scene."""
        scene = self.scene
        if scene is not None:
            paint_scene(painter, scene)
