"""Compiles the kernels of a first start in helper processes, several at a time, in the order in which they are needed.

The compiler works on one core at a time and holds the GIL: helpers use all cores and leave the window its frames.
They put their work into the folder of compiled code, from which this process loads it. Nothing depends on them: what
is not there is compiled where it is called.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from viewer.jit.folder import code_folder, prepare
from viewer.jit.machine import machine, native_file
from viewer.jit.table import GROUPS, NATIVE, Entry, load_table

log = logging.getLogger(__name__)

MOST_HELPERS: Final = 4
"""More wait for each other: the longest chain of callees takes a third of the whole."""
BEHIND: Final = 10
"""The niceness of helpers that step back: a tenth of what the window gets where both want a core."""
HELPER: Final = (sys.executable, "-m", "viewer.jit.helper")
STAGES: Final = (*GROUPS, NATIVE)
"""What can be waited for, in this order."""
_MARK: Final = "complete-"


def helpers_for(cores: int | None) -> int:
    """How many helpers a machine of so many cores gets."""
    return max(1, min(MOST_HELPERS, cores or 1))


def is_complete(folder: Path) -> bool:
    """Whether all kernels were compiled for this machine. Loads the compiler's binding only where some were."""
    if not any(folder.glob(f"{_MARK}*")):
        return False
    try:
        told = (folder / f"{_MARK}{machine()}").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return told != NATIVE or native_file(folder).exists()


class Build:
    """One run of the helpers over the table.

    Args:
        entries: what to compile, in order of urgency.
        helpers: how many processes.
        command: what a helper is started with.
        done: called in a helper's thread when all was compiled.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        helpers: int,
        command: Sequence[str] = HELPER,
        done: Callable[[], None] | None = None,
    ) -> None:
        self._command = tuple(command)
        self._left = list(entries)
        self._group = {e.name: e.group for e in entries}
        self._open = {e.name for e in entries}  # neither compiled nor failed
        self._failed: set[str] = set()
        self._change = threading.Condition()
        self._processes: list[subprocess.Popen[str]] = []
        self._stopped = False
        self._done = done
        self._active = helpers
        self._threads = [
            threading.Thread(target=self._serve, name=f"rankscope-compile-{k}", daemon=True) for k in range(helpers)
        ]

    def start(self) -> None:
        """Start the helpers."""
        for thread in self._threads:
            thread.start()

    @property
    def failed(self) -> frozenset[str]:
        """Kernels that no helper could compile, so far."""
        return frozenset(self._failed)

    def wait(self, group: str, seconds: float | None = None) -> bool:
        """Wait until all kernels that are needed for a group are there, or no helper is left that could make them.

        Returns whether the waiting is over; False after so many ``seconds``.
        """
        upto = set(STAGES[: STAGES.index(group) + 1])

        def over() -> bool:
            return self._active == 0 or not any(self._group[name] in upto for name in self._open)

        with self._change:
            return self._change.wait_for(over, seconds)

    def share(self, group: str) -> float:
        """How much of what a group needs is done, 0 to 1."""
        upto = STAGES[: STAGES.index(group) + 1]
        wanted = [name for name, of in self._group.items() if of in upto]
        return 1.0 - sum(name in self._open for name in wanted) / max(1, len(wanted))

    def step_back(self) -> None:
        """Lower the priority of the helpers once more: nobody looks at a progress bar any longer."""
        if not hasattr(os, "setpriority"):
            return
        with self._change:
            for process in self._processes:
                with contextlib.suppress(OSError):  # it has ended, or may not be touched
                    os.setpriority(os.PRIO_PROCESS, process.pid, BEHIND)

    def stop(self, seconds: float = 0.0) -> None:
        """Kill the helpers, and wait so long for their threads."""
        with self._change:
            self._stopped = bool(self._open)  # what is complete may still say so
            self._left.clear()
            for process in self._processes:
                process.kill()
            self._change.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def _take(self) -> Entry | None:
        """The first kernel whose callees are there; None when there is nothing left to do."""
        with self._change:
            while self._left:
                for entry in self._left:
                    if not any(name in self._open for name in entry.needs):
                        self._left.remove(entry)
                        return entry
                self._change.wait()
        return None

    def _settle(self, entry: Entry, ok: bool) -> None:
        with self._change:
            self._open.discard(entry.name)
            if not ok and entry.group != NATIVE:  # nothing depends on that
                self._failed.add(entry.name)
            self._change.notify_all()

    def _spawn(self) -> subprocess.Popen[str] | None:
        # Ctrl+C in the terminal is for the window. No session of their own: Linux gives each session the same share of
        # the cores, and priorities count only within one.
        options: dict[str, Any] = {"process_group": 0}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.BELOW_NORMAL_PRIORITY_CLASS}
        root = str(Path(__file__).resolve().parents[2])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        with self._change:
            if self._stopped:
                return None
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                bufsize=1,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                **options,
            )
            self._processes.append(process)
        return process

    def _serve(self) -> None:
        """Feed one helper; runs in a thread of its own."""
        entry: Entry | None = None
        process = None
        try:
            process = self._spawn()
            while process is not None and (entry := self._take()) is not None:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(f"{entry.name}\n")
                process.stdin.flush()
                answer = process.stdout.readline().split()
                if answer[:1] not in (["ok"], ["failed"]) or answer[1] != entry.name:
                    raise OSError(f"the helper ended at {entry.name}")
                if answer[0] == "failed":
                    log.warning("compiling %s ahead failed: %s", entry.name, answer[2:])
                self._settle(entry, answer[0] == "ok")
                entry = None
        except OSError as error:
            if not self._stopped:
                log.warning("compiling ahead: %s", error)
        finally:
            if entry is not None:
                self._settle(entry, ok=False)
            if process is not None:
                _end(process)
            with self._change:
                self._active -= 1
                last = self._active == 0
                self._change.notify_all()
            if last and not self._open and not self._failed and not self._stopped and self._done is not None:
                self._done()


def _end(process: subprocess.Popen[str]) -> None:
    """Close a helper's pipes and take leave of it."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                log.debug("a helper's pipe was broken")
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def mark_complete(folder: Path) -> None:
    """Note that all kernels are compiled for this machine, and whether what a first frame needs was kept apart."""
    try:
        told = NATIVE if native_file(folder).exists() else ""
        (folder / f"{_MARK}{machine()}").write_text(told, encoding="ascii")
    except OSError as error:
        log.warning("%s: %s", folder, error)


def begin_build(folder: Path | None = None, helpers: int | None = None) -> Build | None:
    """Start compiling what is missing; None when nothing is, or when nothing could be kept."""
    where = folder or code_folder()
    if not prepare(where) or is_complete(where):
        return None
    table = load_table()
    last = Entry(NATIVE, NATIVE, (), tuple(entry.name for entry in table))
    build = Build((*table, last), helpers or helpers_for(os.cpu_count()), done=lambda: mark_complete(where))
    build.start()
    return build


class Shared:
    """The one build of a process, for all of its windows: begun by the first, stopped when the last lets go."""

    def __init__(self, begin: Callable[[], Build | None] = begin_build) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._users = 0
        self._build: Build | None = None

    def acquire(self) -> Build | None:
        """The build, begun where it is not; None where none is needed."""
        with self._lock:
            if self._users == 0:
                self._build = self._begin()
            self._users += 1
            return self._build

    def release(self, seconds: float = 0.0) -> None:
        """Let go; the last one stops the helpers."""
        with self._lock:
            self._users -= 1
            build = self._build if self._users == 0 else None
            if self._users == 0:
                self._build = None
        if build is not None:
            build.stop(seconds)


SHARED: Final = Shared()
