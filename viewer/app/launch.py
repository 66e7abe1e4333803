"""From the command line to the window: first whether there can be one, said in one sentence if not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from viewer.app import collector
from viewer.app.compile_ahead import SHARED
from viewer.app.console import complain
from viewer.app.display import ALL_PACKAGES, missing_library, missing_platform_library, no_display
from viewer.app.options import JobOptions

log = logging.getLogger(__name__)

END_SECONDS = 2.0
"""A process that ends waits so long for its helpers."""
NEXT_STEP = "Without one, use 'rankscope analyze PATH' for figures or 'rankscope render PATH -o out.png' for a picture"


def open_window(
    paths: list[Path],
    options: JobOptions,
    prepare: Callable[[], None] | None = None,
    beside: Sequence[Path] = (),
) -> int:
    """Run the window until it is closed; 2 when there can be none.

    Args:
        paths: what to open first; [] for the start page.
        options: how the files make a job.
        prepare: runs in the background before ``paths`` are opened (making the demo job).
        beside: a second run that they are compared with.
    """
    why = no_display()
    if why:
        complain(f"no window can be opened: {why}. {NEXT_STEP}.")
        return 2
    with compiling():
        try:
            problem = missing_platform_library()
            if not problem:
                collector.pause()
                from viewer.app.gui import run_gui
        except ImportError as error:
            problem = (
                missing_library(error) or f"Qt cannot be loaded ({error}). On Debian: apt-get install {ALL_PACKAGES}"
            )
        if problem:
            complain(f"no window can be opened: {problem}.")
            return 2
        return run_gui(paths, options, prepare, beside)


@contextmanager
def compiling() -> Iterator[None]:
    """Hold the helpers that compile while there is a window. They begin while Qt is loaded, which uses one core."""
    held = threading.Event()

    def begin() -> None:
        try:
            SHARED.acquire()
            held.set()
        except Exception:
            log.exception("compiling ahead failed")

    thread = threading.Thread(target=begin, name="rankscope-compile", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        if held.is_set():
            SHARED.release(END_SECONDS)
