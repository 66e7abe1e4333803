"""The log file: everything that is too long for one sentence. A log that cannot be written stops nothing."""

from __future__ import annotations

import faulthandler
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

APP: Final = "rankscope"
LOG_BYTES: Final = 1_000_000
log = logging.getLogger(__name__)

_fault_file = None


def log_path() -> Path:
    """Where the log is kept."""
    import platformdirs

    return Path(platformdirs.user_log_dir(APP, appauthor=False)) / "rankscope.log"


def start_logging() -> Path | None:
    """Send the project's log records to the log file; None when it cannot be written: then nowhere."""
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler, RotatingFileHandler) and handler.get_name() == APP:
            return Path(handler.baseFilename)
    path = log_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=2, encoding="utf-8", delay=True)
        with path.open("a", encoding="utf-8"):
            pass  # found out now, while there is somebody to tell
    except OSError:
        nowhere = logging.NullHandler()  # without any handler, logging writes to stderr
        nowhere.set_name(APP)
        root.addHandler(nowhere)
        return None
    handler.set_name(APP)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    level = logging.DEBUG if os.environ.get("RANKSCOPE_DEBUG") == "1" else logging.INFO
    root.setLevel(level)
    for noisy in ("numba", "PySide6"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return path


def stop_logging() -> None:
    """Close the log file (tests, and the end of the process)."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        if handler.get_name() == APP:
            root.removeHandler(handler)
            handler.close()


def log_crashes(path: Path | None) -> None:
    """Let faulthandler write the stacks of a hard crash to a file beside the log."""
    global _fault_file  # noqa: PLW0603  (faulthandler needs the file open for the life of the process)
    if path is None or faulthandler.is_enabled():
        return
    try:
        _fault_file = path.with_name("crash.log").open("a", encoding="utf-8")
        faulthandler.enable(_fault_file)
    except OSError:
        log.info("crashes are not logged: %s cannot be written", path.with_name("crash.log"))
