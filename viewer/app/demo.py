"""The demo job: made once in the cache folder, then opened; or painted where there is no display."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from viewer.app.console import complain, say
from viewer.app.options import JobOptions, RenderOptions
from viewer.base.errors import UsageError

DEMO_VERSION: Final = 1
PICTURE: Final = "rankscope-demo.png"
REPORT: Final = "rankscope-demo.json"


def demo_folder() -> Path:
    """Where the demo job is kept."""
    import platformdirs

    base = os.environ.get("RANKSCOPE_CACHE_DIR") or platformdirs.user_cache_dir("rankscope", appauthor=False)
    return Path(base) / "demo" / f"training-8-ranks-{DEMO_VERSION}"


def make_demo(folder: Path) -> None:
    """Write the demo job unless it is there already. Raises UsageError when that is not possible.

    The job appears under its name only when it is complete. Its truth lies beside it, not in it: a folder of traces
    opens without a word about a file that is none.
    """
    if folder.is_dir():
        return
    from viewer.app.demo_job import write_demo_job

    temporary = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    try:
        temporary.mkdir(parents=True, exist_ok=True)
        write_demo_job(temporary)
        (temporary / "truth.json").replace(folder.with_name(f"{folder.name}.truth.json"))
        temporary.replace(folder)
    except OSError as error:
        raise UsageError(f"the demo job cannot be written to {folder}: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def demo(out: Path | None) -> int:
    """Open the demo job in a window; without a display, or with ``out``, write its picture and report."""
    from viewer.app.display import no_display

    folder = demo_folder()
    why = "" if out is not None else no_display()
    if out is None and not why:
        from viewer.app.launch import open_window

        return open_window([folder], JobOptions(), lambda: make_demo(folder))
    if why:
        complain(f"{why}: writing the annotated picture and the report of the demo job instead.")
    target = out if out is not None else Path.cwd()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{target} cannot be made: {error.strerror or error}.") from None
    make_demo(folder)
    from viewer.app.analyze import analyze
    from viewer.app.render_command import render_command

    picture, report = target / PICTURE, target / REPORT
    status = render_command([folder], JobOptions(), demo_picture(picture))
    status = status or analyze([folder], JobOptions(), str(report), None)
    if status == 0:
        say(f"{picture}\n{report}")
    return status


def demo_picture(output: Path) -> RenderOptions:
    """The picture of the demo job: its two faults, named."""
    return RenderOptions(output)
