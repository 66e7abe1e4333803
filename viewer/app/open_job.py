"""Opens a job off the GUI thread: progress, cancel, and session snapshots while files are still being read."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from viewer.app.clocks import needs_figures, settle_clocks
from viewer.app.opening_state import ProgressBoard
from viewer.app.options import JobOptions
from viewer.base.errors import Cancelled, InputError, RankscopeError
from viewer.base.findings import Finding
from viewer.base.work import CancelToken

if TYPE_CHECKING:
    from viewer.store.session import Session

log = logging.getLogger(__name__)

POLL_MS: Final = 60
REST_FACTOR: Final = 4
"""Between two snapshots at least this many times the time that showing one took, so that input goes first."""


@dataclass(frozen=True)
class Ending:
    """How opening ended. ``session`` is None when nothing opened; ``error`` is a sentence when all of it failed."""

    paths: tuple[Path, ...]
    session: Session | None = None
    failures: tuple[InputError, ...] = ()
    skipped: tuple[Finding, ...] = ()
    jobs: tuple[tuple[Path, ...], ...] = ()
    """More than one when the files belong to different jobs: the paths of each."""
    cancelled: bool = False
    error: str = ""


@dataclass(eq=False)
class Run:
    """One opening under way."""

    paths: tuple[Path, ...]
    options: JobOptions
    prepare: Callable[[], None] | None = None
    """Runs before the files are looked for (making the demo job)."""
    token: CancelToken = field(default_factory=CancelToken)
    board: ProgressBoard = field(default_factory=ProgressBoard)
    opener: Any = None
    latest: Session | None = None
    thread: threading.Thread | None = None
    left_out: set[str] = field(default_factory=set)
    has_news: bool = False


OpenerFactory = Callable[[list[Path], JobOptions], tuple[Any, Iterable[Any]]]
"""(paths, options) -> (a JobOpener, its candidates)."""


class JobController(QObject):
    """Opens one job at a time; opening another while one is under way cancels the first.

    Signals (all on the GUI thread, all of the newest run only):
        opening(list[Path])
        advanced(Overview): progress, some ten times a second.
        snapshot(Session): one or more further files are open.
        ended(Ending)
    """

    opening = Signal(object)
    advanced = Signal(object)
    snapshot = Signal(object)
    ended = Signal(object)
    _news = Signal(object)
    _done = Signal(object, object)

    def __init__(
        self,
        make_opener: OpenerFactory | None = None,
        parent: QObject | None = None,
        wait_for: Callable[[CancelToken, str], None] | None = None,
    ) -> None:
        super().__init__(parent)
        self._make_opener = make_opener or _make_opener
        self._wait_for = wait_for
        self._run: Run | None = None
        self._threads: list[threading.Thread] = []
        self._not_before = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._poll)
        self._news.connect(self._first_news)
        self._done.connect(self._finish)

    @property
    def running(self) -> bool:
        """Whether a job opens now."""
        return self._run is not None

    def open(
        self,
        paths: Sequence[Path],
        options: JobOptions | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Open files and folders as one job, after ``prepare`` if given; an opening under way is cancelled."""
        self._drop_run()
        run = self._run = Run(tuple(paths), options or JobOptions(), prepare)
        run.thread = threading.Thread(target=self._work, args=(run,), name="rankscope-open", daemon=True)
        self._threads = [t for t in self._threads if t.is_alive()]
        self._threads.append(run.thread)
        self._not_before = 0.0
        self.opening.emit(list(paths))
        run.thread.start()
        self._timer.start()

    def cancel(self) -> None:
        """Stop opening; files that are open stay."""
        if self._run is not None:
            self._run.token.cancel()

    def cancel_file(self, path: str) -> None:
        """Leave one file out."""
        run = self._run
        if run is not None:
            run.left_out.add(path)
            run.board.settle(path, "cancelled")
            if run.opener is not None:
                run.opener.cancel_file(Path(path))

    def shutdown(self, seconds: float = 2.0) -> None:
        """Cancel and wait for the threads; nothing is emitted afterwards."""
        self._drop_run()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._threads.clear()

    def _drop_run(self) -> None:
        self._timer.stop()
        if self._run is not None:
            self._run.token.cancel()
            self._run = None

    @Slot()
    def _poll(self) -> None:
        run = self._run
        if run is None:
            return
        self.advanced.emit(run.board.view())
        if run.latest is not None and time.monotonic() >= self._not_before:
            session, run.latest = run.latest, None
            self._show(session)

    @Slot(object)
    def _first_news(self, run: Run) -> None:
        if run is self._run:
            self._poll()

    def _show(self, session: Session) -> None:
        begin = time.monotonic()
        self.snapshot.emit(session)
        now = time.monotonic()
        self._not_before = now + REST_FACTOR * (now - begin)

    def _work(self, run: Run) -> None:
        """Runs in a thread of its own."""
        try:
            ending = self._read(run)
        except Cancelled:
            ending = Ending(run.paths, cancelled=True)
        except InputError as error:
            ending = Ending(run.paths, failures=(error,))
        except RankscopeError as error:
            ending = Ending(run.paths, error=str(error))
        except Exception as error:
            log.exception("opening failed")
            ending = Ending(run.paths, error=f"This is a defect of Rankscope: {type(error).__name__}: {error}")
        try:
            self._done.emit(run, ending)
        except RuntimeError:
            log.debug("the window is gone")

    def _read(self, run: Run) -> Ending:
        if run.prepare is not None:
            run.prepare()
            run.token.check()
        opener, candidates = self._make_opener(list(run.paths), run.options)
        run.opener = opener
        run.board.expect((str(c.path), c.size) for c in candidates)
        for path in list(run.left_out):
            opener.cancel_file(Path(path))

        if self._wait_for is not None:
            self._wait_for(run.token, "read")

        def opened(session: Session) -> None:
            for item in session.inputs:
                run.board.settle(str(item.path), "open")
            first, run.latest = not run.has_news, session
            if first:  # the others may wait for the next look
                run.has_news = True
                with contextlib.suppress(RuntimeError):  # the window is gone
                    self._news.emit(run)

        result = opener.open(run.board.update, run.token, opened)
        for failure in result.failures:
            run.board.settle(failure.path, "failed")
        for left in result.skipped:
            run.board.settle(left.where, "cancelled")
        options, session = run.options, None
        if result.session.inputs:
            if self._wait_for is not None and needs_figures(result.session, options.align):
                self._wait_for(run.token, "figures")
            session = settle_clocks(result.session, options.align, options.given_clocks)
            run.latest = session = session.with_card(options.card)  # shown while the card is filled in
            run.token.check()
            if self._wait_for is not None:
                self._wait_for(run.token, "figures")
            session = _with_card(session, options)
        files = [i.path for i in result.session.inputs]
        jobs = tuple(job_paths([files[i] for i in job], files, run.paths) for job in result.jobs)
        return Ending(run.paths, session, tuple(result.failures), tuple(result.skipped), jobs)

    @Slot(object, object)
    def _finish(self, run: Run, ending: Ending) -> None:
        if run is not self._run:
            return
        self._timer.stop()
        self._run = None
        if ending.session is None and run.latest is not None and ending.cancelled:
            self.snapshot.emit(run.latest)
        self.advanced.emit(run.board.view())
        self.ended.emit(ending)


def job_paths(job: Sequence[Path], files: Sequence[Path], given: Sequence[Path]) -> tuple[Path, ...]:
    """What to open for one of several jobs: given folders that hold none but its files, and its other files."""
    members = set(job)
    folders = [g for g in given if not members.isdisjoint(f for f in files if f.is_relative_to(g)) and g not in members]
    whole = [g for g in folders if all(f in members for f in files if f.is_relative_to(g))]
    return (*whole, *(f for f in job if not any(f.is_relative_to(g) for g in whole)))


def _with_card(session: Session, options: JobOptions) -> Session:
    from viewer.analyses.card_fill import with_filled_card

    return with_filled_card(session, options.card)


def _make_opener(paths: list[Path], options: JobOptions) -> tuple[Any, Iterable[Any]]:
    from viewer.app.analyze import opener_for
    from viewer.importers.discover import discover

    return opener_for(paths, options), discover(paths)
