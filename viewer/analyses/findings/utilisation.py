"""MFU below its usual range: for context, as what costs it has findings of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.fingerprint.whole import fingerprint
from viewer.base.units import percent
from viewer.base.work import CancelToken
from viewer.store.session import Session

NAMED: Final = 3
SMALL: Final = 0.01
"""Losses below a hundredth of the time are not named."""


def find(session: Session, cancel: CancelToken) -> Iterator[JobFinding]:
    """One finding, where the range applies and MFU is below it."""
    cancel.check()
    found = fingerprint(session, cancel)
    mfu, fall = found["mfu"], found.waterfall
    if mfu.value is None or mfu.status not in ("outside", "bad") or fall is None or not mfu.evidence:
        return
    assert mfu.low is not None
    assert mfu.high is not None
    losses = sorted((x for x in fall.losses if x.share >= SMALL), key=lambda x: -x.share)[:NAMED]
    named = ", ".join(f"{x.title.lower()} {percent(x.share, 1)}" for x in losses)
    theory = f"; theory allows {percent(mfu.theory)}" if mfu.theory is not None else ""
    yield JobFinding(
        "mfu",
        "mfu",
        f"MFU is {percent(mfu.value, 1)}, below the usual {percent(mfu.low)} to {percent(mfu.high)}{theory}",
        "info",
        None,
        "What costs it has findings of its own.",
        (*mfu.evidence, Evidence(f"from the peak down: {named}")),
        "Take the largest loss first: the findings above say which part of it can be saved.",
        f"{mfu.how}. {mfu.note}".strip(),
    )
