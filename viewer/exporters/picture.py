"""A picture scene into a file: format by suffix, checked size, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from viewer.base.errors import InputError, UsageError
from viewer.base.scene import PictureScene, check_size
from viewer.exporters.svg import svg_text
from viewer.store.small_file import write_whole

__all__ = ["FORMATS", "SCALES", "VECTOR", "Painter", "check_size", "picture_bytes", "picture_format", "write_picture"]

SCALES: Final = (1, 2, 4)
VECTOR: Final = ("svg", "pdf")
FORMATS: Final = ("png", *VECTOR)

Painter = Callable[[PictureScene, str], bytes]
"""(scene, "png" or "pdf") -> the bytes of the file. Pictures are painted with Qt, which exporters do not import."""


def picture_format(path: Path) -> str:
    """The format that a file name asks for. Raises UsageError when it is none of FORMATS."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        shown = f"{suffix!r} is no picture format" if suffix else f"{path.name!r} names no picture format"
        raise UsageError(f"{shown}: end the file name in .png, .svg or .pdf.")
    return suffix


def picture_bytes(scene: PictureScene, kind: str, painter: Painter, family: str = "") -> bytes:
    """The picture as the bytes of a file of one of FORMATS; ``family`` names the painter's font. Raises UsageError."""
    check_size(scene.width, scene.height, scene.scale, kind)
    if kind == "svg":
        return svg_text(scene, family).encode("utf-8")
    return painter(scene, kind)


def write_picture(scene: PictureScene, path: Path, painter: Painter, family: str = "") -> Path:
    """Write the picture in the format of the path's suffix, and return the path.

    The file appears when it is complete; one that was there before stays until then.

    Raises:
        UsageError: unknown suffix, or too large.
        InputError: the folder does not exist or cannot be written, or the disk is full.
    """
    data = picture_bytes(scene, picture_format(path), painter, family)
    folder = path.parent
    if not folder.is_dir():
        raise InputError(str(folder), "there is no such folder", next_step="Create it or choose another place.")
    if path.is_dir():
        raise InputError(str(path), "is a folder", next_step="Choose a file name.")
    try:
        write_whole(path, data)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            str(path), f"the picture cannot be written ({reason})", next_step="Choose another place for it."
        ) from None
    return path
