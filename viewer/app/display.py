"""Whether a window can be opened here, found out before Qt aborts the process over it."""

from __future__ import annotations

import ctypes
import os
import re
import socket
import sys
from pathlib import Path
from typing import Final

PACKAGES: Final = {
    "libEGL.so": "libegl1",
    "libGL.so": "libgl1",
    "libOpenGL.so": "libopengl0",
    "libGLX.so": "libglx0",
    "libxkbcommon.so": "libxkbcommon0",
    "libxkbcommon-x11.so": "libxkbcommon-x11-0",
    "libdbus-1.so": "libdbus-1-3",
    "libfontconfig.so": "libfontconfig1",
    "libfreetype.so": "libfreetype6",
    "libglib-2.0.so": "libglib2.0-0",
    "libgthread-2.0.so": "libglib2.0-0",
    "libxcb-cursor.so": "libxcb-cursor0",
    "libxcb-icccm.so": "libxcb-icccm4",
    "libxcb-image.so": "libxcb-image0",
    "libxcb-keysyms.so": "libxcb-keysyms1",
    "libxcb-randr.so": "libxcb-randr0",
    "libxcb-render-util.so": "libxcb-render-util0",
    "libxcb-render.so": "libxcb-render0",
    "libxcb-shape.so": "libxcb-shape0",
    "libxcb-shm.so": "libxcb-shm0",
    "libxcb-sync.so": "libxcb-sync1",
    "libxcb-util.so": "libxcb-util1",
    "libxcb-xfixes.so": "libxcb-xfixes0",
    "libxcb-xinerama.so": "libxcb-xinerama0",
    "libxcb-xkb.so": "libxcb-xkb1",
    "libxcb.so": "libxcb1",
    "libX11-xcb.so": "libx11-xcb1",
    "libX11.so": "libx11-6",
    "libSM.so": "libsm6",
    "libICE.so": "libice6",
}
"""Shared library -> the Debian package that has it."""

ALL_PACKAGES: Final = (
    "libegl1 libgl1 libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3 libfontconfig1 libglib2.0-0 libxcb-cursor0 "
    "libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0 libxcb-xkb1"
)
_LIBRARY = re.compile(r"(lib[\w.+-]+?\.so)(?:\.\d+)*")
_X_DISPLAY = re.compile(r"(?:(?P<host>[^:/]*)|unix|.*/unix)?:(?P<number>\d+)(?:\.\d+)?\Z")


def no_display() -> str:
    """Why no window can be shown ("" when one can): one clause, to be continued with a next step."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return ""
    display = os.environ.get("DISPLAY", "")
    if os.environ.get("WAYLAND_DISPLAY"):
        return ""
    if not display:
        return "there is no display (DISPLAY and WAYLAND_DISPLAY are not set)"
    return "" if _x_answers(display) else f"the display {display} does not answer"


def _x_answers(display: str) -> bool:
    match = _X_DISPLAY.match(display)
    if match is None:
        return True  # a form we do not know: let Qt try
    host, number = match["host"] or "", int(match["number"])
    if host and host != "unix":
        try:
            with socket.create_connection((host, 6000 + number), timeout=3):
                return True
        except OSError:
            return False
    name = f"/tmp/.X11-unix/X{number}"
    for address in (name, f"\0{name}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(3)
            try:
                probe.connect(address)
            except OSError:
                continue
            return True
    return False


def missing_library(error: BaseException) -> str:
    """One sentence for a failed load of Qt, naming the Debian package; "" when that is not what happened."""
    match = _LIBRARY.search(str(error))
    if match is None:
        return ""
    package = PACKAGES.get(match[1])
    wanted = package or ALL_PACKAGES
    return f"the system library {match[0]} that Qt needs is missing. On Debian or Ubuntu: apt-get install {wanted}"


def missing_platform_library() -> str:
    """Load the X plugin of Qt as Qt would; one sentence when a system library is missing, else "".

    Qt itself aborts the process in that case, with a text that names no package.
    """
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    wants_x = platform.startswith("xcb") or (
        not platform and os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY")
    )
    if not sys.platform.startswith("linux") or not wants_x:
        return ""
    import PySide6

    plugin = Path(PySide6.__path__[0]) / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    if not plugin.exists():
        return ""
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        return missing_library(error)
    return ""
