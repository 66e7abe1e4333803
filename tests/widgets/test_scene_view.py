"""A scene in a widget."""

from PySide6.QtCore import QSize
from pytestqt.qtbot import QtBot

from viewer.base.scene import PictureScene, SceneRect
from widgets.scene_view import SceneView


def compose(width: int, height: int) -> PictureScene:
    return PictureScene(
        width, height, 1.0, "#ffffff", (SceneRect(0, 0, width / 2, height, "#ff0000"),), "", f"{width} px"
    )


def test_it_is_composed_for_the_room_there_is(qtbot: QtBot) -> None:
    view = SceneView(hint=QSize(300, 100))
    qtbot.addWidget(view)
    assert view.scene is None
    view.set_composer(compose)
    for width in (200, 320):
        view.resize(width, 80)
        image = view.grab().toImage()
        ratio = image.devicePixelRatio()
        assert image.pixelColor(round(10 * ratio), round(40 * ratio)).name() == "#ff0000"
        assert image.pixelColor(round((width - 10) * ratio), round(40 * ratio)).name() == "#ffffff"
        assert view.accessibleDescription() == f"{width} px"
    view.set_composer(None)
    assert view.scene is None
    assert view.sizeHint() == QSize(300, 100)
