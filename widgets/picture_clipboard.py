"""A picture on the clipboard."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QMimeData
from PySide6.QtGui import QGuiApplication, QImage

from widgets.picture_painter import png_of


def copy_image(image: QImage, title: str = "", description: str = "") -> None:
    """Put a picture on the clipboard, as an image and as the bytes of a PNG file."""
    data = QMimeData()
    data.setImageData(image)
    data.setData("image/png", QByteArray(png_of(image, title, description)))
    QGuiApplication.clipboard().setMimeData(data)
