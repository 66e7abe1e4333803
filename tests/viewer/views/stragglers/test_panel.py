"""What the Stragglers panel says of jobs whose late ranks are known."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.support.ranks import RankJob
from viewer.analyses.collective.as_peers import as_fast_as_peers
from viewer.analyses.collective.lateness import Lateness, lateness
from viewer.app.clocks import settle_clocks
from viewer.base.selection import Selection, SliceRef
from viewer.exporters.report import report
from viewer.exporters.summary import summary
from viewer.store.session import Session
from viewer.views.stragglers.heat import MEASURES, against_role, binned, heat
from viewer.views.stragglers.panel import step_selection, stragglers
from viewer.views.stragglers.words import verdict


def aligned(job: RankJob) -> Session:
    return settle_clocks(job.session(), "auto")


@pytest.fixture(scope="module")
def late() -> Session:
    return aligned(RankJob(ranks=4, steps=6, late_ns={3: 4_000_000}, offsets={1: 900_000}))


def test_the_sentence_names_rank_lateness_wait_and_cause(late: Session) -> None:
    told = verdict(late)
    assert (told.kind, told.group) == ("straggler", 3)
    assert re.fullmatch(
        r"rank 3 is late by [34]\.\d ms per step \(\d+\.\d %\), others wait \d+\.\d ms for it: "
        r"its kernel gemm is 67 % slower, 4\.0 ms per step\.",
        told.text,
    )
    frame = stragglers(late)
    assert (frame.sentence, frame.tone) == (told.text, "warning")
    assert "with rank 3 as fast as its peers" in frame.note
    assert "estimate" in frame.note
    assert told.text in summary(report(late))


def test_the_ranking_has_the_culprit_first_and_jumps_to_its_evidence(late: Session) -> None:
    frame = stragglers(late)
    assert frame.table is not None
    assert frame.table.rows[0][0] == "rank 3"
    assert frame.table.rows[0][4:7] == ("yes", "one slow kernel (100 %)", "persistent (6 of 6 steps)")
    assert all(row[4:7] == ("no", "–", "in no step") for row in frame.table.rows[1:])
    target = frame.targets[0]
    assert target is not None
    assert isinstance(target.slice, SliceRef)
    assert late.inputs[3].trace.name(target.slice.index) == "gemm"
    assert all(frame.table.how)


def test_lateness_stands_with_how_far_it_may_be_off(late: Session) -> None:
    table = stragglers(late).table
    assert table is not None
    found = lateness(late)
    assert found is not None
    own, error = (found.of(3) or (0, 0, 0))[0], (found.errors_of(3) or (0, 0))[0]
    assert table.rows[0][2] == f"{own / 1e6:,.1f} ± {error / 1e6:,.1f} ms"
    assert table.keys[0][2] == own
    assert all(re.fullmatch(r"[\d,.]+ ± [\d,.]+ (ns|us|ms|s)", row[k]) for row in table.rows for k in (2, 3))


def test_a_lateness_below_nothing_has_its_own_unit_and_sign(late: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lateness, "of", lambda *_: (-2_500_000, 800, 0))
    monkeypatch.setattr(Lateness, "errors_of", lambda *_: (300_000, 1_200))
    table = stragglers(late).table
    assert table is not None
    assert table.rows[0][2:4] == ("\u22122.5 ± 0.3 ms", "0.8 ± 1.2 us")


def test_the_replayed_step_is_shorter_by_what_the_straggler_cost(late: Session) -> None:
    found = lateness(late)
    assert found is not None
    assert found.step_ns is not None
    replayed = as_fast_as_peers(late, 3)
    assert replayed is not None
    assert found.step_ns - replayed == pytest.approx(4_000_000, rel=0.1)
    assert as_fast_as_peers(late, 0) == pytest.approx(found.step_ns, rel=0.01)


@pytest.mark.parametrize(
    ("session", "kind", "words"),
    [
        (lambda: aligned(RankJob(ranks=4, steps=6)), "none", "No straggler: no rank is late by its own doing"),
        (lambda: aligned(RankJob(ranks=4, steps=1, late_ns={3: 4_000_000})), "unknown", "One step only"),
        (lambda: RankJob(ranks=4, steps=6).session(), "unknown", "clocks of the ranks are not aligned"),
        (lambda: aligned(RankJob(ranks=1, steps=6)), "unknown", "one rank is open"),
    ],
)
def test_what_is_said_without_a_straggler(session: object, kind: str, words: str) -> None:
    told = verdict(session())  # type: ignore[operator]
    assert told.kind == kind
    assert words in told.text


def test_a_cell_leads_to_its_rank_and_step(late: Session) -> None:
    view = heat(late, "own", relative=False)
    assert view is not None
    assert view.frame.rows == ("rank 0", "rank 1", "rank 2", "rank 3")
    assert view.frame.columns == tuple(f"step {k}" for k in range(6))
    assert view.frame.marked == {3}
    assert int(np.nanargmax(view.frame.values[:, 2])) == 3
    chosen = view.selection(late, 3, 2)
    assert chosen is not None
    assert chosen == step_selection(late, 3, 2)
    assert chosen.group == 3
    assert chosen.range is not None
    assert 8_000_000 < chosen.range.length_ns < 40_000_000
    assert "rank 3, step 2: own lateness " in view.frame.cell(3, 2)


@pytest.mark.parametrize("measure", [key for key, _, _ in MEASURES])
@pytest.mark.parametrize("relative", [False, True])
def test_every_measure_has_values_and_says_how(late: Session, measure: str, relative: bool) -> None:
    view = heat(late, measure, relative=relative)
    assert view is not None
    assert view.frame.values.shape == (4, 6)
    assert not np.isnan(view.frame.values).any()
    assert view.note
    assert view.frame.low < view.frame.high
    if relative:
        assert view.frame.low == -view.frame.high
        if measure == "own":
            assert int(np.nanargmax(view.frame.values[:, 1])) == 3


def test_bus_bandwidth_counts_the_transfer_alone(late: Session) -> None:
    view = heat(late, "busbw", relative=False)
    assert view is not None
    # 2 MiB in 500 us four times among two ranks (factor 1), once in 60 us among four (factor 1.5).
    assert view.frame.values[0, 0] == pytest.approx((4 + 1.5) * 2 * 2**20 / 2_060_000, rel=0.01)


def test_binning_keeps_the_value_that_matters_and_its_step() -> None:
    values = np.array([[1.0, 5.0, 2.0, np.nan, -9.0], [np.nan, np.nan, 3.0, 3.0, 1.0]])
    out, step, width = binned(values, 3, "most")
    assert width == 2
    np.testing.assert_array_equal(out, [[5, 2, -9], [np.nan, 3, 1]])
    np.testing.assert_array_equal(step, [[1, 2, 4], [-1, 2, 4]])
    assert binned(values, 1, "furthest")[0][0, 0] == -9
    assert binned(values, 1, "least")[0][1, 0] == 1
    assert binned(values, 5, "most")[2] == 1


def test_many_steps_share_columns(late: Session) -> None:
    view = heat(late, "own", relative=False, most_columns=3)
    assert view is not None
    assert view.frame.columns == ("steps 0–1", "steps 2–3", "steps 4–5")
    assert "A column is 2 steps: the value largest." in view.note
    chosen = view.selection(late, 3, 1)
    assert chosen in (step_selection(late, 3, 2), step_selection(late, 3, 3))
    assert isinstance(chosen, Selection)


def test_a_role_of_one_has_no_median_to_differ_from() -> None:
    out = against_role(np.array([[1.0, 2.0], [3.0, np.nan], [7.0, 7.0]]), np.array([0, 0, 5]))
    np.testing.assert_array_equal(out, [[-1, np.nan], [1, np.nan], [np.nan, np.nan]])


def test_jitter_below_the_limit_of_a_straggler_stays_pale() -> None:
    view = heat(aligned(RankJob(ranks=4, steps=4)), "own", relative=True)
    assert view is not None
    assert view.frame.high == pytest.approx(0.03 * 40_000_000, rel=0.05)
    assert np.abs(view.frame.share() - 0.5).max() < 0.4
