"""What the command line says: one line per problem on stderr, and progress there when a person watches."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import threading
import time
from typing import Final, NoReturn, TextIO

from viewer.app.opening_state import Overview, ProgressBoard
from viewer.base.units import format_bytes, format_count
from viewer.base.work import Progress

REDRAW_SECONDS: Final = 0.1


def prepare_streams() -> None:
    """Make output safe whatever the locale: what an encoding lacks is written as an escape, never raised.

    A process that was started with its output closed (``>&-``) writes into nothing.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (lives as long as the process)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def one_line(text: str) -> str:
    """``text`` on one line, control characters escaped (a file name may hold a newline or an escape sequence)."""
    return "".join(c if c.isprintable() else (" " if c in "\n\t" else repr(c)[1:-1]) for c in text.strip())


def complain(text: str) -> None:
    """Write one problem as one line on stderr."""
    _write(sys.stderr, f"rankscope: {one_line(text)}\n")


def say(text: str) -> None:
    """Write text for people to stdout."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def say_bytes(data: bytes) -> None:
    """Write bytes to stdout as they are (a report is UTF-8 whatever the locale)."""
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        sys.stdout.write(data.decode("utf-8"))
    else:
        binary.write(data)
        binary.flush()


def leave(status: int) -> NoReturn:
    """End the process now, for one that showed a window.

    Its windows are closed and its files written. What is left is to take down the compiler, object by object, and to
    wait for loops that it still compiles for nobody: seconds in which the terminal does not come back.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(status)


def silence_stdout() -> None:
    """After a broken pipe: let the interpreter flush into nothing instead of complaining at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (lives as long as the process)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # started without a console (pythonw, some services)
        return
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        pass  # there is nobody left to tell


def overview_line(view: Overview) -> str:
    """``"3 of 8 files · 120 MiB of 512 MiB · 4,200,000 events/s · 3 s left"``."""
    parts = [f"{view.finished} of {len(view.files)} files"]
    if view.total_bytes:
        parts.append(f"{format_bytes(view.done_bytes)} of {format_bytes(view.total_bytes)}")
    if view.events_per_second:
        parts.append(f"{format_count(round(view.events_per_second))} events/s")
    if view.seconds_left is not None:
        parts.append(f"{format_seconds(view.seconds_left)} left")
    return " · ".join(parts)


def format_seconds(seconds: float) -> str:
    """A coarse duration for people who wait: ``"under 1 s"``, ``"12 s"``, ``"3 min 05 s"``."""
    whole = int(seconds + 0.5)
    if whole < 1:
        return "under 1 s"
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


class TerminalProgress:
    """A progress line on stderr that overwrites itself; silent when stderr is no terminal.

    Use as a context manager; :meth:`sink` may be called from any thread.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream is not None and self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._board = ProgressBoard()
        self._lock = threading.Lock()
        self._drawn = 0.0

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._drawn:
            _write(self._stream, "\r\x1b[K")

    def sink(self, progress: Progress) -> None:
        """Take one file's state."""
        if not self._shown:
            return
        self._board.update(progress)
        now = time.monotonic()
        with self._lock:
            if now - self._drawn < REDRAW_SECONDS:
                return
            self._drawn = now
        width = shutil.get_terminal_size().columns - 1
        _write(self._stream, "\r" + overview_line(self._board.view(now))[:width] + "\x1b[K")
