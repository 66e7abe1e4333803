"""The step as it would be with one rank as fast as its peers."""

from __future__ import annotations

import pytest

from tests.support.ranks import RankJob
from viewer.analyses.collective import as_peers
from viewer.app.clocks import settle_clocks


def test_each_rank_is_measured_once_however_many_peers_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    session = settle_clocks(RankJob(ranks=6, steps=6, late_ns={3: 4_000_000}).session(), "auto")
    measured: list[int] = []
    real = as_peers._measure_after

    def counted(session: object, found: object, group: int) -> object:
        measured.append(group)
        return real(session, found, group)  # type: ignore[arg-type]

    monkeypatch.setattr(as_peers, "_measure_after", counted)
    told = {g.id: as_peers.as_fast_as_peers(session, g.id) for g in session.groups}
    assert sorted(measured) == sorted(told)
    assert told[3] is not None
    assert told[0] is not None
    assert told[0] - told[3] == pytest.approx(4_000_000, rel=0.1)
