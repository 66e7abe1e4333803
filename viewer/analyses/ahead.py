"""What the figures of a job need of each file, made by other threads while the first of them are told.

Figures ask the files one after another, from the first to the last. The threads here come from the last one, so they
meet whoever asks in the middle, and rarely wait for each other. What they make is kept where it is looked for.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

from viewer.analyses.attribution import attribute
from viewer.analyses.collective.hiding import held
from viewer.analyses.collective.operations import operations
from viewer.analyses.contention import contention
from viewer.analyses.flops.ledger import ledger
from viewer.analyses.flops.traffic import moved_bytes
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.idleness.host_work import host_work
from viewer.analyses.idleness.parts import idle_parts
from viewer.analyses.idleness.profile import idleness
from viewer.analyses.idleness.serial import serial_streams
from viewer.analyses.idleness.starving import starving
from viewer.analyses.kernels import kernel_names
from viewer.analyses.memory.growth import growth
from viewer.analyses.optable.part import OPERATOR, part
from viewer.analyses.recompute import recomputed
from viewer.analyses.steps import step_table
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session

log = logging.getLogger(__name__)

Make = Callable[[Session, Input], object]

MOST_THREADS: Final = 3
LEAST_SLICES: Final = 200_000
"""Smaller jobs are told before a thread is of use."""


def _of_devices(make: Callable[..., object]) -> Make:
    return lambda _, item: [make(item.trace, device) for device in gpu_work(item.trace).devices]


def _memory(session: Session, item: Input) -> object:
    return [growth(session, item, device) for device in range(len(item.trace.tables["memory_devices"]))]


FIRST: Final[tuple[Make, ...]] = (
    lambda _, item: operations(item.trace),
    _of_devices(attribute),
    lambda _, item: step_table(item.trace),
    lambda _, item: kernel_names(item.trace),
    _of_devices(idle_parts),
)
"""What clocks and the first page ask for, in that order; it depends on one file alone."""
MAKES: Final[tuple[Make, ...]] = (
    *FIRST,
    _memory,
    held,
    _of_devices(idleness),
    _of_devices(starving),
    _of_devices(host_work),
    lambda _, item: ledger(item.trace),
    lambda _, item: recomputed(item.trace),
    lambda _, item: contention(item.trace),
    lambda _, item: moved_bytes(item.trace),
    lambda _, item: part(item.trace, OPERATOR),
    _of_devices(serial_streams),
)
"""What findings and the report ask for, in that order."""


@contextlib.contextmanager
def looking_ahead(
    session: Session,
    cancel: CancelToken | None = None,
    makes: tuple[Make, ...] = MAKES,
    then: Iterable[Callable[[], object]] = (),
) -> Iterator[None]:
    """While the body runs, other threads make what it is going to ask for.

    They change no figure. What fails in them fails again for whoever asks.

    Args:
        session: the job.
        cancel: ends the threads.
        makes: what is made of every file.
        then: what is made after that, in order.
    """
    stop = threading.Event()
    token, lock = cancel or CancelToken(), threading.Lock()
    of_files = (
        (lambda make=make, item=item: make(session, item)) for make in makes for item in reversed(session.inputs)
    )
    jobs = chain(of_files, then)

    def run() -> None:
        while not stop.is_set() and not token.cancelled:
            with lock:
                job = next(jobs, None)
            if job is None:
                return
            try:
                job()
            except Exception:
                log.debug("looking ahead failed", exc_info=True)

    threads: list[threading.Thread] = []
    if sum(len(item.trace) for item in session.inputs) >= LEAST_SLICES and len(session.inputs) > 1:
        count = min(MOST_THREADS, len(session.inputs) - 1, max(1, (os.cpu_count() or 1) - 1))
        threads = [threading.Thread(target=run, name=f"ahead-{i}", daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
