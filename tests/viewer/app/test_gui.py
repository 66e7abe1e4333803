from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from viewer.app import launch
from viewer.app.gui import Desktop, Interrupts, install_excepthook
from viewer.app.logs import log_path, start_logging, stop_logging
from viewer.app.options import JobOptions


@pytest.fixture
def desktop(qtbot: QtBot, engine: None) -> Iterator[Desktop]:
    palette, hook = QApplication.palette(), sys.excepthook
    made = Desktop(JobOptions())
    yield made
    made.close_all()
    sys.excepthook = hook
    stop_logging()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    QApplication.setPalette(palette)


def test_windows_are_counted(desktop: Desktop) -> None:
    first = desktop.new_window()
    second = desktop.new_window()
    assert len(desktop.windows) == 2
    first.close()
    assert desktop.windows == [second]


def test_an_exception_in_a_slot_is_a_sentence_and_logged(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKSCOPE_DEBUG", raising=False)
    window = desktop.new_window()
    start_logging()
    install_excepthook(desktop)
    try:
        raise ValueError("odd thing")
    except ValueError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    (message,) = window.messages.messages
    assert message.severity == "error"
    assert "ValueError: odd thing" in message.text
    assert str(log_path()) in message.text
    assert "Traceback" in log_path().read_text()


def test_ctrl_c_closes_the_windows(qtbot: QtBot, desktop: Desktop) -> None:
    window = desktop.new_window()
    interrupts = Interrupts(desktop)
    try:
        with qtbot.waitSignal(window.closed):
            QTimer.singleShot(0, lambda: os.kill(os.getpid(), signal.SIGINT))
        assert interrupts.seen
    finally:
        interrupts.close()


def test_a_missing_system_library_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")

    def fail() -> str:
        raise ImportError("libEGL.so.1: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(launch, "missing_platform_library", fail)
    assert launch.open_window([Path("x")], JobOptions()) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "apt-get install libegl1" in said
