"""Background work for the window: a thread pool where, per key, the newest request wins."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final

from PySide6.QtCore import QObject, Qt, Signal, Slot
from shiboken6 import isValid

from viewer.base.errors import Cancelled
from viewer.base.work import CancelToken

log = logging.getLogger(__name__)

AT_ONCE: Final = 8
"""Requests that run at the same time at least: one that nobody wants any more may take a while to notice, and must not
keep a click waiting."""
LONG_AT_ONCE: Final = 2
PATIENCE_SECONDS: Final = 2.0
"""A closing window waits so long for work that it cancelled."""

Job = Callable[[CancelToken], Any]


def _is_gone(call: Callable[..., Any]) -> bool:
    """Whether a call belongs to a Qt object that was deleted meanwhile."""
    owner = getattr(call, "__self__", None)
    return isinstance(owner, QObject) and not isValid(owner)


def _run(job: Job, token: CancelToken) -> Any:
    """Run a job, unless nobody wants it any more by the time that a thread is free for it."""
    token.check()
    return job(token)


class WorkRunner(QObject):
    """Runs jobs off the GUI thread and delivers results on it.

    A request with the key of an earlier one cancels that one: its result is dropped even when it was already computed.
    Errors reach ``failed`` of the request; nothing is swallowed.

    Signals:
        busy_changed(int): number of jobs that run or wait.
    """

    busy_changed = Signal(int)
    _finished = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = ThreadPoolExecutor(max(AT_ONCE, os.cpu_count() or 1), thread_name_prefix="rankscope")
        self._long_pool = ThreadPoolExecutor(LONG_AT_ONCE, thread_name_prefix="rankscope-long")
        self._latest: dict[str, CancelToken] = {}
        self._when_stopped: dict[str, Callable[[Exception], None] | None] = {}
        self._running: set[Future[Any]] = set()
        self._pending = 0
        self._holds = False
        self._held: list[Callable[[], None]] = []
        # Queued, also where a job ended before its callback was added (which then runs here): no result comes before
        # submit() has returned, or before what the job told on its way.
        self._finished.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def submit(
        self,
        key: str,
        job: Job,
        done: Callable[[Any], None],
        failed: Callable[[Exception], None] | None = None,
        *,
        long: bool = False,
        paints: bool = False,
    ) -> CancelToken:
        """Run ``job(cancel)`` in the pool, then ``done(result)`` or ``failed(error)`` on the GUI thread.

        ``long`` is for what may take many seconds (a search through all detectors): it has threads of its own, so that
        short requests never queue behind it. ``paints`` is for what the lanes are drawn from: it is never held.
        """
        self.cancel(key)
        token = CancelToken()
        self._latest[key] = token
        self._when_stopped[key] = failed
        self._pending += 1
        self.busy_changed.emit(self._pending)

        def start() -> None:
            future = (self._long_pool if long else self._pool).submit(_run, job, token)
            self._running.add(future)
            future.add_done_callback(lambda f: self._tell((key, token, f, done, failed)))

        if self._holds and not paints:
            self._held.append(start)
        else:
            start()
        return token

    def hold(self) -> None:
        """Let requests wait from now on: what is about to be shown needs the cores."""
        self._holds = True

    def go_on(self, *, held: bool = True) -> None:
        """Hold no more, and run what waits in the order in which it was asked for; without ``held`` that waits on."""
        self._holds = False
        if held:
            waiting, self._held = self._held, []
            for start in waiting:
                start()

    def _tell(self, packed: tuple[str, CancelToken, Future[Any], Callable[[Any], None], Any]) -> None:
        """Runs in the thread of the job."""
        self._running.discard(packed[2])
        try:
            self._finished.emit(packed)
        except RuntimeError:
            log.debug("the window is gone")

    def cancel(self, key: str) -> None:
        """Cancel the running request of that key, if any."""
        token = self._latest.pop(key, None)
        if token is not None:
            token.cancel()

    @property
    def running(self) -> tuple[str, ...]:
        """Keys of what runs or waits and is still wanted."""
        return tuple(self._latest)

    def stop(self, key: str) -> None:
        """Cancel by the person's wish: whoever asked is told that it was stopped."""
        failed = self._when_stopped.get(key)
        if key in self._latest:
            self.cancel(key)
            if failed is not None:
                failed(Cancelled("it was stopped"))

    @property
    def pending(self) -> int:
        """Jobs that run or wait."""
        return self._pending

    @Slot(object)
    def _deliver(self, packed: tuple[str, CancelToken, Future[Any], Callable[[Any], None], Any]) -> None:
        key, token, future, done, failed = packed
        self._pending -= 1
        if self._latest.get(key) is token:
            del self._latest[key]
        self.busy_changed.emit(self._pending)
        if token.cancelled or future.cancelled() or _is_gone(done):
            return
        error = future.exception()
        if error is None:
            done(future.result())
        elif not isinstance(error, Cancelled) and isinstance(error, Exception):
            if failed is None:
                log.error("work %r failed", key, exc_info=error)
                raise error
            failed(error)

    def drop(self) -> None:
        """Cancel everything, and wait for nothing."""
        for token in self._latest.values():
            token.cancel()
        self._latest.clear()
        self._held.clear()

    def shutdown(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Cancel everything and wait so long for what runs; no result is delivered afterwards.

        What does not look at its token (a loop that is being compiled) ends by itself later.
        """
        self.drop()
        for pool in (self._pool, self._long_pool):
            pool.shutdown(wait=False, cancel_futures=True)
        wait(list(self._running), seconds)
