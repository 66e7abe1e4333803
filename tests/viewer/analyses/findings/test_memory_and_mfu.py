"""Memory that is nearly full, an unused reserve that fills it, and MFU as context."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viewer.analyses.fingerprint.test_figures import job as timed_job
from tests.viewer.analyses.fingerprint.test_memory_peak import job, record
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.memory_room import find
from viewer.analyses.findings.utilisation import find as find_mfu
from viewer.base.job_card import EMPTY_CARD
from viewer.base.work import CancelToken
from viewer.store.session import Session

CAPACITY = 1_000


def found(session: Session, capacity: int | None = CAPACITY) -> list[JobFinding]:
    return list(find(session.with_card(EMPTY_CARD.with_value("hardware.memory_bytes", capacity)), CancelToken()))


@pytest.mark.parametrize(
    ("records", "kinds"),
    [
        ([record(10, 849, 849)], []),
        ([record(10, 850, 850)], ["memory-peak"]),
        ([record(10, 700, 850)], ["unused-reserve"]),
        ([record(10, 700, 849)], []),  # there is room beside it
        ([record(10, 830, 900)], []),  # 8 % of the reserve
        ([record(10, 900, 900), record(20, 500, 960)], ["memory-peak", "unused-reserve"]),
        ([], []),
    ],
)
def test_memory_is_a_finding_only_where_it_is_nearly_full(
    tmp_path: Path, records: list[dict[str, object]], kinds: list[str]
) -> None:
    session = job(tmp_path, *records)
    assert [f.kind for f in found(session)] == kinds
    assert found(session, None) == []


def test_the_finding_says_how_full_where_and_when(tmp_path: Path) -> None:
    session = job(tmp_path, record(10, 600, 700), record(20, 930, 940))
    (finding,) = found(session)
    assert "93 % full" in finding.title
    assert finding.saving_ns_per_step is None
    assert finding.severity == "warning"
    target = finding.evidence[0].target
    assert target is not None
    assert (target.range.start_ns + target.range.end_ns) // 2 == 20_000  # type: ignore[union-attr]


def test_mfu_is_context_only_below_its_range() -> None:
    (finding,) = find_mfu(timed_job(), CancelToken())
    assert finding.severity == "info"
    assert finding.title == "MFU is 30.0 %, below the usual 40 % to 55 %"
    assert "other kernels 20.5 %" in finding.evidence[-1].text
    good = timed_job(model__parameters=8_000)  # 480 of 1,000 ns
    assert list(find_mfu(good, CancelToken())) == []
    assert list(find_mfu(timed_job(run__dtype="fp8"), CancelToken())) == []
    session = timed_job()
    assert list(find_mfu(session.with_card(EMPTY_CARD), CancelToken())) == []
