"""The fingerprint of a job: all its figures together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.analyses.fingerprint.bubble import pipeline_bubble
from viewer.analyses.fingerprint.exposed_comm import exposed_communication
from viewer.analyses.fingerprint.figure import Figure
from viewer.analyses.fingerprint.memory_peak import memory_peak, unused_reserve
from viewer.analyses.fingerprint.mfu import hfu, mfu
from viewer.analyses.fingerprint.step_gap import step_gap
from viewer.analyses.fingerprint.waterfall import Waterfall, waterfall
from viewer.base.memo import Memo
from viewer.base.work import CancelToken
from viewer.store.session import Session


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The five figures (memory is two), HFU beside them, and where the peak goes.

    ``problem`` says where the job card contradicts the traces, "" where it does not.
    """

    figures: tuple[Figure, ...]
    hfu: float | None
    hfu_how: str
    waterfall: Waterfall | None
    problem: str = ""

    def __getitem__(self, key: str) -> Figure:
        return next(f for f in self.figures if f.key == key)


MORE: Final = 1.05
"""Both count a little differently (embeddings, biases): so much more is no contradiction."""
FIGURES: Final = (mfu, exposed_communication, memory_peak, unused_reserve, pipeline_bubble, step_gap)


def fingerprint(session: Session, cancel: CancelToken | None = None) -> Fingerprint:
    """The training fingerprint of a job. Built once per session and card; ``cancel`` is asked between figures.

    Not for builders of ``session.card_memo``: it has a lock of its own, so that other panels do not wait for it.
    """
    kept = session.card_memo("fingerprint", Memo)
    return kept.get("whole", lambda: _build(session, cancel or CancelToken()))


def _build(session: Session, cancel: CancelToken) -> Fingerprint:
    figures = []
    for figure in FIGURES:
        cancel.check()
        figures.append(figure(session))
    cancel.check()
    told = hfu(session)
    cancel.check()
    fall = waterfall(session)
    problem = (fall.problem if fall is not None else "") or _contradiction(figures[0], told[0])
    return Fingerprint(tuple(figures), *told, fall, problem)


def _contradiction(mfu_figure: Figure, hfu_value: float | None) -> str:
    """What a model needs is a part of what its operators do: MFU beyond HFU is a wrong card."""
    if mfu_figure.value is None or hfu_value is None or mfu_figure.value <= MORE * hfu_value:
        return ""
    return (
        f"the card claims {mfu_figure.value / hfu_value:.3g} times the FLOPs that the operators of the traces do: "
        "check the model's size, the tokens of a step and the number of GPUs"
    )
