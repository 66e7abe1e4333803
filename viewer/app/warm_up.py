"""Loads the engine and its compiled loops in the background, so that the first job finds them ready.

The window is shown first. Where nothing is compiled yet, helper processes do it (``viewer/app/compile_ahead.py``): what
reads a file first, then what paints lanes, then the rest; each is loaded here as soon as it is there.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Signal, SignalInstance

from viewer.app.compile_ahead import SHARED, Build, Shared, begin_build
from viewer.base.work import CancelToken
from viewer.jit.folder import code_folder
from viewer.jit.table import NATIVE

log = logging.getLogger(__name__)

MOST_HELD_SECONDS: Final = 10.0
"""The panels wait so long for the lanes of a job that opens."""
MOST_PANELS_SECONDS: Final = 3.0
"""What is computed and loaded after that waits so long for the panels."""


def _is_over(event: threading.Event, end: float, seconds: float) -> bool:
    return event.wait(seconds) or time.monotonic() > end


class WarmUp(QObject):
    """One background thread, and helper processes where something is not compiled yet.

    Signals:
        imported(): what the timeline is made of is imported. Emitted once, not after a failure.
        ready(): modules are imported and lanes can be painted without compiling. Emitted once, also after a failure.
        engine_loaded(): the panels' modules are imported and what they compute needs no compiling. Emitted once.
        done(): everything is loaded. Emitted once.
    """

    imported = Signal()
    ready = Signal()
    engine_loaded = Signal()
    done = Signal()

    def __init__(self, parent: QObject | None = None, shared: Shared = SHARED) -> None:
        super().__init__(parent)
        self._shared = shared
        self._build: Build | None = None
        self._begun = threading.Event()
        self._holds = False
        self._lock = threading.Lock()
        self._telling = threading.Lock()
        self._stop = threading.Event()
        self._go = threading.Event()
        self._go.set()
        self._panels = threading.Event()
        self._panels.set()
        self._is_ready = False
        self._is_done = False
        self._thread: threading.Thread | None = None

    @property
    def is_ready(self) -> bool:
        """Whether :attr:`ready` was emitted."""
        return self._is_ready

    @property
    def is_done(self) -> bool:
        """Whether everything is loaded, so that no opening has to compile."""
        return self._is_done

    @property
    def share(self) -> float | None:
        """How much of what lanes need is compiled, 0 to 1; None where nothing has to be."""
        return None if self._build is None else self._build.share("lanes")

    @property
    def is_compiling(self) -> bool:
        """Whether helpers have not compiled yet what figures need."""
        return self._build is not None and not self._build.wait("figures", 0.0)

    def hold(self) -> None:
        """Load no more than lanes need: a job opens."""
        self._go.clear()

    def go_on(self) -> None:
        """Load the rest."""
        self._go.set()

    def expect_panels(self) -> None:
        """Let what follows :attr:`engine_loaded` wait for :meth:`panels_made`: one thing at a time stays smooth."""
        self._panels.clear()

    def panels_made(self) -> None:
        """The window has its panels."""
        self._panels.set()

    def step_back(self) -> None:
        """Let helpers have what the window and its computations leave of the cores: lanes are on the screen."""
        if self._build is not None:
            self._build.step_back()

    def start(self) -> None:
        """Begin; a second call does nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="rankscope-warm-up", daemon=True)
            self._thread.start()

    def stop(self, seconds: float = 20.0) -> None:
        """Skip what has not begun, end the helpers, and wait for what else has."""
        with self._telling:
            self._stop.set()
        self._go.set()
        self._panels.set()
        self._release(seconds)
        if self._thread is not None:
            self._thread.join(seconds)

    def wait_for(self, cancel: CancelToken, group: str) -> None:
        """Block until the loops of a group are compiled ("read", "figures"). For worker threads. Raises Cancelled.

        Figures also wait for the lanes of a job that opens, some seconds at most: they are loaded by the same cores.
        """
        if self._thread is None:
            return
        self._await(self._begun.wait, cancel)
        build = self._build
        if build is not None:
            self._await(lambda seconds: build.wait(group, seconds), cancel)
        if group == "figures":
            for event, most in ((self._go, MOST_HELD_SECONDS), (self._panels, MOST_PANELS_SECONDS)):
                end = time.monotonic() + most
                self._await(partial(_is_over, event, end), cancel)

    def _await(self, over: Callable[[float], bool], cancel: CancelToken) -> None:
        while not self._stop.is_set() and not over(0.05):
            cancel.check()

    def _release(self, seconds: float) -> None:
        with self._lock:
            held, self._holds = self._holds, False
        if held:
            self._shared.release(seconds)

    def _begin_build(self) -> Build | None:
        try:
            with self._lock:
                if not self._stop.is_set():
                    self._build = self._shared.acquire()
                    self._holds = True
        except Exception:
            log.exception("compiling ahead failed")
        self._begun.set()
        return self._build

    def _work(self) -> None:
        begin = time.monotonic()
        build = self._begin_build()
        try:
            if build is None:
                from viewer.jit import native

                native.adopt(code_folder())
            import viewer.app.workspace  # noqa: F401  (imported here, off the GUI thread, while helpers compile)
            from viewer.views.lanes.warm import warming

            with warming():  # lanes that are made meanwhile wait for this
                self._tell(self.imported)
                if build is not None:
                    load_engine()
                    build.wait("lanes")
                if not self._stop.is_set():
                    warm_lanes()
        except Exception:
            log.exception("warming up the lanes failed")
        self._is_ready = True
        if not self._tell(self.ready):
            return
        log.info("lanes ready after %.2f s", time.monotonic() - begin)
        self._go.wait(MOST_HELD_SECONDS)
        try:
            from viewer.app.features.side_panels import load_panels

            load_panels()
            if build is not None:
                build.wait("figures")
        except Exception:
            log.exception("loading the panels failed")
        if not self._tell(self.engine_loaded):
            return
        self._panels.wait(MOST_PANELS_SECONDS)
        try:
            settle()
            warm_engine()
            if not self._stop.is_set():
                import pyqtgraph  # noqa: F401  (a third of a second that the first histogram need not hold up the window)
        except Exception:
            log.exception("warming up the engine failed")
        self._is_done = True
        self._tell(self.done)
        log.info("engine ready after %.2f s", time.monotonic() - begin)

    def _tell(self, signal: SignalInstance) -> bool:
        """Emit; False when nobody listens any more."""
        with self._telling:  # who stops this may take the window away next
            if self._stop.is_set():
                return False
            try:
                signal.emit()
            except RuntimeError:
                return False  # the window is gone
        return True


def load_engine() -> None:
    """Import what reads a file and runs compiled loops, while there is nothing to run yet."""
    import viewer.importers.opening
    import viewer.importers.registry
    import viewer.jit.compiler  # noqa: F401


def warm_lanes() -> None:
    """Import the timeline, and load or compile the loops that paint lanes."""
    import viewer.app.workspace  # noqa: F401  (imported here, off the GUI thread)
    from viewer.views.lanes.painter import warm_up

    warm_up()


TINY = b"""{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1.0, "dur": 9.0, "args": {"External id": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2.0, "dur": 1.0,
 "args": {"correlation": 5, "External id": 1}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 4.0, "dur": 3.0,
 "args": {"device": 0, "stream": 7, "correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 8, "ts": 6.0, "dur": 3.0,
 "args": {"device": 0, "stream": 8, "correlation": 6}},
{"ph": "i", "name": "m", "pid": 1, "tid": 1, "ts": 2.5, "s": "t"},
{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 1, "tid": 1, "ts": 2.0},
{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 0, "tid": 7, "ts": 4.0, "bp": "e"}]}
"""
"""A job in which every compiled loop finds something."""


def settle() -> None:
    """Let the compiler run what painted the first lanes without it."""
    native = sys.modules.get("viewer.jit.native")
    if native is not None:
        native.settle()


def warm_engine() -> None:
    """Open the tiny job and ask for its figures: loads or compiles the scanner and the interval loops."""
    from viewer.analyses.range_table import range_table
    from viewer.base.selection import Selection, SliceRef
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache
    from viewer.views.attribution import attribution
    from viewer.views.breakdown.panel import breakdown

    with tempfile.TemporaryDirectory(prefix="rankscope-warm-") as folder:
        path = Path(folder) / "tiny.json"
        path.write_bytes(TINY)
        session = JobOpener([path], cache=Cache(Path(folder) / "cache"), workers=1).open().session
        attribution(session, None, None)
        range_table(session, {0: None}, {})
        for row in range(len(session.inputs[0].trace)):
            breakdown(session, Selection(slice=SliceRef(0, row)))
        _warm_memory(Path(folder))


def _warm_memory(folder: Path) -> None:
    """The same with a snapshot of one block, and with an allocator event in a trace."""
    import pickle

    import numpy as np

    from viewer.importers.opening import JobOpener
    from viewer.jit.memory_columns import level_up
    from viewer.jit.memory_raster import fill_blocks, fill_boxes, stack_blocks
    from viewer.store.cache import Cache
    from viewer.views.memory.levels import memory_levels

    frames = [{"name": "f", "filename": "f.py", "line": 1}]
    block = {"address": 512, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": frames}
    event = {"addr": 512, "size": 500, "stream": 0, "frames": frames}
    events = [event | {"action": "alloc", "time_us": 1}, event | {"action": "free_requested", "time_us": 2}]
    segment = {"device": 0, "address": 512, "total_size": 512, "stream": 0, "segment_type": "small", "blocks": [block]}
    path = folder / "tiny.pickle"
    path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [events]}))
    trace = folder / "allocation.json"
    args = '{"Bytes": 512, "Addr": 512, "Device Type": 1, "Device Id": 0}'
    trace.write_text(f'[{{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "s": "t", "args": {args}}}]')
    JobOpener([trace], cache=Cache(folder / "cache"), workers=1).open()
    session = JobOpener([path], cache=Cache(folder / "cache"), workers=1).open().session
    cut = np.arange(2), np.arange(2)
    levels = memory_levels(session, session.inputs[0], 0)
    levels.held_at(levels.drawn["allocated"].spans(cut)[3])
    ends = np.zeros((2, 3), np.int64)
    level_up(ends[:1], ends[1:])
    b = session.inputs[0].trace.tables["blocks"]
    made, place, out = np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros((1, 1), np.int32)
    stack_blocks(made, made + 1, made + 1, made, np.ones(1), 0.0, 1.0, place.copy(), -2, out)
    fill_boxes(place, place + 1, place, place + 1, place, out)
    fill_blocks(b.start_ns, b.end_ns, made[:0], b.size, 0, 1, 0.0, 1.0, 0, out, np.zeros(out.shape, np.float32))


def main(parts: list[str]) -> int:
    """Compile ahead of the first start: ``python -m viewer.app.warm_up [lanes] [engine]``. For set-up scripts."""
    build = begin_build()
    if build is not None:
        try:
            build.wait(NATIVE)
        finally:
            build.stop(5.0)
    for name, warm in (("lanes", warm_lanes), ("engine", warm_engine)):
        if not parts or name in parts:
            warm()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
