from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from viewer.app import display
from viewer.app.display import missing_library, no_display


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return monkeypatch


def test_without_a_display_it_says_so(bare: pytest.MonkeyPatch) -> None:
    assert "no display" in no_display()


@pytest.mark.parametrize(("name", "value"), [("WAYLAND_DISPLAY", "wayland-0"), ("QT_QPA_PLATFORM", "offscreen")])
def test_other_ways_to_show_a_window(bare: pytest.MonkeyPatch, name: str, value: str) -> None:
    bare.setenv(name, value)
    assert no_display() == ""


def test_other_systems_always_have_a_display(bare: pytest.MonkeyPatch) -> None:
    bare.setattr(sys, "platform", "darwin")
    assert no_display() == ""


def test_a_display_that_does_not_answer(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("DISPLAY", ":64123")
    assert no_display() == "the display :64123 does not answer"


def test_a_display_that_answers(bare: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind("\0/tmp/.X11-unix/X64124")
        server.listen(1)
        bare.setenv("DISPLAY", ":64124.0")
        assert no_display() == ""


def test_a_missing_library_is_named_with_its_package() -> None:
    error = ImportError("libEGL.so.1: cannot open shared object file: No such file or directory")
    assert missing_library(error) == (
        "the system library libEGL.so.1 that Qt needs is missing. On Debian or Ubuntu: apt-get install libegl1"
    )
    assert "libxcb-cursor0" in missing_library(OSError("libxcb-cursor.so.0: cannot open shared object file"))
    assert display.ALL_PACKAGES in missing_library(OSError("libnever-heard.so.3: cannot open"))
    assert missing_library(ImportError("No module named 'PySide6'")) == ""


def test_the_plugin_is_loaded_only_where_qt_would(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded: list[str] = []

    def load(path: str) -> None:
        loaded.append(path)
        raise OSError("libxcb-cursor.so.0: cannot open shared object file")

    bare.setattr(display.ctypes, "CDLL", load)
    assert display.missing_platform_library() == ""
    bare.setenv("DISPLAY", ":0")
    assert "libxcb-cursor0" in display.missing_platform_library()
    bare.setenv("QT_QPA_PLATFORM", "offscreen")
    assert display.missing_platform_library() == ""
    assert len(loaded) == 1
    assert loaded[0].endswith("libqxcb.so")
