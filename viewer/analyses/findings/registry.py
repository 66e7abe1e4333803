"""All detectors, by the module that holds them; each has a function ``find``. Adding one is one file and one line."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final

from viewer.analyses.findings.base import Detector, JobFinding
from viewer.base.work import CancelToken
from viewer.store.session import Session

DETECTORS: Final[tuple[str, ...]] = ()
"""Names of modules of this folder, the cheap ones first."""


def detector(name: str) -> Detector:
    """The detector of a module of this folder."""
    found: Detector = importlib.import_module(f"viewer.analyses.findings.{name}").find
    return found


def job_findings(
    session: Session, cancel: CancelToken | None = None, on_found: Callable[[JobFinding], None] | None = None
) -> tuple[JobFinding, ...]:
    """All findings of a job, those that could save most first; kept on the session.

    Args:
        session: the job with its card.
        cancel: asked between detectors.
        on_found: told of each at once, while others are looked for.
    """
    token = cancel or CancelToken()
    out: list[JobFinding] = []
    for name in DETECTORS:
        token.check()
        for found in _found(session, name, token):
            out.append(found)
            if on_found is not None:
                on_found(found)
    return tuple(sorted(out, key=_rank))


def _found(session: Session, name: str, cancel: CancelToken) -> tuple[JobFinding, ...]:
    return session.card_memo(("finding", name), lambda: tuple(detector(name)(session, cancel)))


def _rank(found: JobFinding) -> tuple[bool, bool, int, str]:
    saving = found.saving_ns_per_step
    return not found.confident, saving is None, -(saving or 0), found.id
