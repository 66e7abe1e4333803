"""The Qt application: made once per process, with its windows."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QObject, QSocketNotifier, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from viewer import __version__
from viewer.app import collector
from viewer.app.icons import application_icon
from viewer.app.logs import log_crashes, log_path, start_logging, stop_logging
from viewer.app.main_window import MainWindow
from viewer.app.options import JobOptions
from viewer.app.palette import Appearance
from viewer.app.settings import SettingsFile
from viewer.base.job_card import EMPTY_CARD

log = logging.getLogger(__name__)

INTERRUPTED = 130


class Desktop(QObject):
    """All windows of the process. They share the appearance and the settings file."""

    def __init__(self, options: JobOptions, settings: SettingsFile | None = None) -> None:
        super().__init__()
        self._options = options
        self._settings = settings or SettingsFile()
        self.appearance = Appearance(self._settings.load().theme, self)
        self.windows: list[MainWindow] = []

    def new_window(self, paths: list[Path] | None = None, prepare: Callable[[], None] | None = None) -> MainWindow:
        """Show one more window, and open ``paths`` in it."""
        # A job card is that of one job: further windows open others.
        options = replace(self._options, card=EMPTY_CARD) if self.windows else self._options
        window = MainWindow(self.appearance, self._settings, options)
        if self.windows:
            window.move(self.windows[-1].pos().x() + 32, self.windows[-1].pos().y() + 32)
        self.windows.append(window)
        window.new_window.connect(self.new_window)
        window.closed.connect(lambda: self._closed(window))
        window.show()
        if paths:
            QTimer.singleShot(0, window, lambda: window.open_paths(paths, prepare))
        return window

    def say(self, severity: str, text: str) -> None:
        """Show a sentence in the window that is in front."""
        if self.windows:
            front = QApplication.activeWindow()
            window = front if isinstance(front, MainWindow) else self.windows[-1]
            window.say(severity, text)

    def close_all(self) -> None:
        """Close every window without a question; what is not saved is kept and offered at the next start."""
        for window in list(self.windows):
            window.asks = False
            window.close()

    def _closed(self, window: MainWindow) -> None:
        collector.look_at_all()
        self.windows.remove(window)
        window.deleteLater()


def run_gui(
    paths: list[Path],
    options: JobOptions,
    prepare: Callable[[], None] | None = None,
    beside: Sequence[Path] = (),
) -> int:
    """Show the window and run until the last one is closed; ``beside`` is a second run to compare with.

    Returns:
        0, or 130 after Ctrl+C in the terminal.
    """
    log_file = start_logging()
    log_crashes(log_file)
    app = make_application()
    desktop = Desktop(options)
    install_excepthook(desktop)
    interrupts = Interrupts(desktop)
    window = desktop.new_window(paths, prepare)
    window.warm_up.done.connect(collector.set_apart, Qt.ConnectionType.QueuedConnection)
    if beside:
        window.compare_with(beside)
    log.info("rankscope %s opens %d paths", __version__, len(paths))
    status = app.exec()
    sys.excepthook = sys.__excepthook__
    interrupts.close()
    app.processEvents()
    stop_logging()
    return INTERRUPTED if interrupts.seen else status


def make_application() -> QApplication:
    """The QApplication with the names under which Qt keeps things; an existing one is used as it is."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
    QApplication.setApplicationName("rankscope")
    QApplication.setApplicationDisplayName("Rankscope")
    QApplication.setOrganizationName("rankscope")
    QApplication.setApplicationVersion(__version__)
    QGuiApplication.setDesktopFileName("rankscope")
    app = QApplication(["rankscope"])
    app.setWindowIcon(application_icon())
    return app


def install_excepthook(desktop: Desktop) -> None:
    """An exception in a slot goes to the log as a stack and to the window as a sentence; the window goes on."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            desktop.close_all()
            return
        log.critical("unexpected error", exc_info=(kind, error, trace))
        if os.environ.get("RANKSCOPE_DEBUG") == "1":
            sys.__excepthook__(kind, error, trace)
        text = (str(error) or "no message")[:200]
        desktop.say(
            "error", f"This is a defect of Rankscope: {kind.__name__}: {text}. The details are in {log_path()}."
        )

    sys.excepthook = hook


class Interrupts:
    """Ctrl+C in the terminal closes the windows in order. Qt's loop runs no Python by itself: a socket wakes it."""

    def __init__(self, desktop: Desktop) -> None:
        self.seen = False
        self._desktop = desktop
        self._read, self._write = socket.socketpair()
        self._write.setblocking(False)
        self._old_fd = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self._old = signal.signal(signal.SIGINT, self._noted)
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, desktop)
        self._notifier.activated.connect(self._wake)

    def _noted(self, *_: object) -> None:
        self.seen = True

    def _wake(self) -> None:
        self._read.recv(64)
        if self.seen:
            self._desktop.close_all()

    def close(self) -> None:
        """Give the signal back."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._old_fd)
        signal.signal(signal.SIGINT, self._old)
        self._read.close()
        self._write.close()
