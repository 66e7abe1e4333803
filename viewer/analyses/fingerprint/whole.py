"""The fingerprint of a job: all its figures together."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analyses.fingerprint.bubble import pipeline_bubble
from viewer.analyses.fingerprint.exposed_comm import exposed_communication
from viewer.analyses.fingerprint.figure import Figure
from viewer.analyses.fingerprint.memory_peak import memory_peak, unused_reserve
from viewer.analyses.fingerprint.mfu import hfu, mfu
from viewer.analyses.fingerprint.step_gap import step_gap
from viewer.analyses.fingerprint.waterfall import Waterfall, waterfall
from viewer.store.session import Session


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The five figures (memory is two), HFU beside them, and where the peak goes."""

    figures: tuple[Figure, ...]
    hfu: float | None
    hfu_how: str
    waterfall: Waterfall | None

    def __getitem__(self, key: str) -> Figure:
        return next(f for f in self.figures if f.key == key)


def fingerprint(session: Session) -> Fingerprint:
    """The training fingerprint of a job. Built once per session and card."""
    return session.card_memo("fingerprint", lambda: _build(session))


def _build(session: Session) -> Fingerprint:
    figures = (
        mfu(session),
        exposed_communication(session),
        memory_peak(session),
        unused_reserve(session),
        pipeline_bubble(session),
        step_gap(session),
    )
    return Fingerprint(figures, *hfu(session), waterfall(session))
