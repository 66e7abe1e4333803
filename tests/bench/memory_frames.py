"""Memory in sight: one lane and eight, of a snapshot each at full size, and the maps of a large one."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from tests.bench.figure import at_most
from tests.bench.frames import Desk, application, only, smooth
from tests.support.themes import theme
from viewer.base.memory_map import MapSpan
from viewer.base.work import CancelToken
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.session import Opened, Session, build_session
from viewer.store.trace import Trace
from viewer.views.memory.levels import memory_levels
from viewer.views.memory.map import MapKind, build_map

LANES: Final = (1, 8)
SIZE: Final = 1100, 500
"""Of a map, px."""


def ranks_of(path: Path, folder: Path, count: int) -> Session:
    """A job of so many ranks, each with the snapshot's events and memos of its own; its tables are mapped once."""
    found = JobOpener([path], cache=Cache(folder / "cache"), workers=1).open().session.inputs[0].trace
    opened = []
    for rank in range(count):
        trace = Trace(
            msgspec.structs.replace(found.meta, rank=rank, rank_source="file name"), found.tables, found.args_text
        )
        opened.append(Opened(Path(f"rank{rank}.pickle"), trace))
    return build_session(opened)


def lanes(path: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """Frames of a journey over one memory lane alone, and over eight."""
    app = application()
    for count in LANES:
        session = ranks_of(path, folder, count)
        used = time.process_time()
        for item in session.inputs:
            memory_levels(session, item, 0)
        made = (time.process_time() - used) / count
        yield at_most(f"what each of {count} lanes is drawn from, made once, CPU time", made, "s", 3)
        desk = Desk(session, 1920, 1080)
        shown = sum(1 for r in desk.panel.placement.rows if r.lane is not None and r.lane.memory)
        events = len(session.inputs[0].trace.tables["allocator_events"])
        assert shown == count
        what = f"1920x1080, memory lanes of {events / 1e6:.0f}M events: {count}"
        yield from smooth(desk, what, (4, 12, 33), rounds=1)
        desk.close()
    del app


def maps(path: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """Maps by size and by address: everything, and a walk down to some events."""
    app = application()
    session = ranks_of(path, folder, 1)
    item = session.inputs[0]
    events = len(item.trace.tables["allocator_events"])
    for kind in (MapKind.SIZES, MapKind.ADDRESSES):
        first = time.process_time()
        whole = build_map(session, item, 0, kind, None, SIZE, theme("dark"), CancelToken()).frame.whole
        yield only(f"the first map by {kind.name.lower()} of {events / 1e6:.0f}M events, CPU time",
                   time.process_time() - first, "s")  # fmt: skip
        took = []
        gc.collect()
        gc.freeze()  # as the window does once its lanes are there
        for depth in range(40):
            length = max(int(whole.length * 0.75**depth), 100)
            start = whole.x0 + int((whole.length - length) * 0.31)
            span = MapSpan(start, start + length, whole.y0, whole.y1)
            used = time.process_time()
            build_map(session, item, 0, kind, span, SIZE, theme("dark"), CancelToken())
            took.append((time.process_time() - used) * 1000)
        gc.unfreeze()
        what = f"map by {kind.name.lower()} of {events / 1e6:.0f}M events while it zooms, {SIZE[0]}x{SIZE[1]}, CPU time"
        yield at_most(f"{what}, median", float(np.median(took)), "ms", 33)
        yield at_most(f"{what}, worst", float(np.max(took)), "ms", 100)
    del app
