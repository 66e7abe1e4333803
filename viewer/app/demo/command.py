"""The demo job: made once in the cache folder, then opened; or painted where there is no display."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from viewer.app.console import complain, say
from viewer.app.options import JobOptions
from viewer.base.errors import UsageError

if TYPE_CHECKING:
    from viewer.store.session import Session

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
    from viewer.app.demo.job import write_demo_job

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
    return _write_results(folder, target / PICTURE, target / REPORT)


def _write_results(folder: Path, picture: Path, report_file: Path) -> int:
    """The annotated picture and the report of the demo job."""
    from viewer.app.analyze import open_job, write_file
    from viewer.app.render import render_file
    from viewer.exporters.report import encode_report, report

    result = open_job([folder], JobOptions())
    if not result.session.inputs:
        return 2
    render_file(result.session, picture, size=(1600, 1000), scale=2, notes=demo_notes(result.session, folder))
    write_file(report_file, encode_report(report(result.session, result.failures, result.skipped)))
    say(f"{picture}\n{report_file}")
    return 0


def demo_notes(session: Session, folder: Path) -> tuple[str, ...]:
    """The two things that are wrong with the demo job, as ``--note`` texts at their place; () without its truth."""
    from viewer.base.ids import LaneKind
    from viewer.views.lanes.tree import build_tree

    try:
        faults = json.loads(folder.with_name(f"{folder.name}.truth.json").read_bytes())["faults"]
        late, slow = faults["late_data"], faults["slow_rank"]
    except (OSError, ValueError, KeyError):
        return ()
    lanes = {
        (rank.rank, lane.kind): lane.key
        for rank, group in zip(session.groups, build_tree(session), strict=True)
        for lane in reversed(group.lanes)
    }
    origin, extent = session.origin_ns(), session.extent()
    thread, stream = lanes.get((late["rank"], LaneKind.THREAD)), lanes.get((slow["rank"], LaneKind.STREAM))
    if extent is None or thread is None or stream is None:
        return ()
    middle = (late["start_ns"] + late["end_ns"]) // 2 - origin
    percent = slow["compute_permille"] / 10 - 100
    early = extent.start_ns + extent.length_ns // 4 - origin
    return (
        f"{middle}ns@{thread}:rank {late['rank']} waits for data, and all others wait for it",
        f"{early}ns@{stream}:rank {slow['rank']} computes {percent:.0f} % slower",
    )
