"""What a transfer should take: read off measured curves, else the link's rate, else nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viewer.analyses.collective.test_communication import pair, reduce_
from viewer.analyses.collective.baseline import Curve, baseline, ideal
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.kinds import Kind
from viewer.base.job_card import BaselineCard, HardwareCard, JobCard
from viewer.store.card_file import read_card

ROW = "{0:>12}  100  float  sum  -1  {1}  1.0  1.0  0  {2}  1.0  1.0  0\n"


def output(hosts: str, *rows: tuple[int, float]) -> str:
    ranks = "".join(f"#  Rank {r} Group 0 Pid 1 on {h} device 0 [0x00] H100\n" for r, h in enumerate(hosts))
    body = "".join(ROW.format(size, us * 1.5, us) for size, us in rows)
    return f"# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1 minBytes 8\n{ranks}{body}"


CURVE = Curve(Kind.ALL_REDUCE, 4, 1, "x", ((100, 10.0, 0.0), (400, 40.0, 0.0)))


def test_between_sizes_a_power_law_beyond_the_largest_its_bandwidth_below_the_smallest_its_time() -> None:
    assert CURVE.time(200) == pytest.approx(20.0)
    assert CURVE.time(800) == pytest.approx(80.0)
    assert CURVE.time(1) == 10.0
    # Of 8 ranks each byte crosses the bus 2 x 7/8 times, of 4 ranks 2 x 3/4 times.
    assert CURVE.time(400, 8) == pytest.approx(40.0 * (7 / 4) / (6 / 4))


def job(tmp_path: Path, card: HardwareCard | None = None, **files: str):  # type: ignore[no-untyped-def]
    for name, text in files.items():
        (tmp_path / f"{name}.log").write_text(text)
    session = pair([reduce_(0, 100, 1)], [reduce_(0, 100, 1)])
    named = ";".join(str(tmp_path / f"{name}.log") for name in files)
    return session.with_card(JobCard(baseline=BaselineCard(named), hardware=card or HardwareCard()))


def test_a_run_of_the_same_members_and_hosts_is_chosen(tmp_path: Path) -> None:
    near, far, many = output("aa", (1 << 20, 50.0)), output("ab", (1 << 20, 70.0)), output("aaaa", (1 << 20, 90.0))
    session = job(tmp_path, near=near, far=far, many=many)
    group = job_groups(session).groups[0]
    told = ideal(session, Kind.ALL_REDUCE, group, 1 << 20)
    assert told is not None
    assert (told.ns, told.measured, told.source) == (50_000, True, "near.log, 2 ranks on 1 host")
    apart = session.with_card(
        JobCard(baseline=session.card.baseline, hardware=HardwareCard(hosts=(("m", (0,)), ("n", (1,)))))
    )
    told = ideal(apart, Kind.ALL_REDUCE, group, 1 << 20)
    assert told is not None
    assert told.ns == 70_000
    assert ideal(session, Kind.ALL_GATHER, group, 1 << 20) is None
    assert ideal(session, Kind.ALL_REDUCE, group, None) is None


def test_another_number_of_members_stands_in_at_its_bus_bandwidth(tmp_path: Path) -> None:
    session = job(tmp_path, many=output("aaaa", (1 << 20, 90.0)))
    told = ideal(session, Kind.ALL_REDUCE, job_groups(session).groups[0], 1 << 20)
    assert told is not None
    assert told.ns == 60_000
    assert "read at its bus bandwidth for 2 ranks" in told.source


def test_without_a_file_the_link_is_a_table_figure_and_without_either_there_is_none(tmp_path: Path) -> None:
    session = job(tmp_path, HardwareCard(link_bytes_per_second=100_000_000_000, network_bytes_per_second=10**9))
    group = job_groups(session).groups[0]
    told = ideal(session, Kind.ALL_REDUCE, group, 1_000_000)
    assert told is not None
    assert (told.ns, told.measured) == (10_000, False)
    assert "table figure" in baseline(session).sentence
    apart = session.with_card(
        JobCard(hardware=HardwareCard(link_bytes_per_second=10**11, network_bytes_per_second=10**9, gpus_per_host=1))
    )
    told = ideal(apart, Kind.ALL_REDUCE, group, 1_000_000)
    assert told is not None
    assert told.ns == 1_000_000
    none = session.with_card(JobCard())
    assert ideal(none, Kind.ALL_REDUCE, group, 1_000_000) is None
    assert "No baseline" in baseline(none).sentence


def test_a_baseline_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    session = job(tmp_path)
    missing = session.with_card(JobCard(baseline=BaselineCard(str(tmp_path / "gone.log"))))
    assert "gone.log" in baseline(missing).problem
    assert not baseline(missing).known
    (tmp_path / "cut.log").write_text(ROW.format(8, 1.0, 1.0))
    headless = session.with_card(JobCard(baseline=BaselineCard(str(tmp_path / "cut.log"))))
    assert "neither the operation nor the number of ranks" in baseline(headless).problem


def test_a_relative_path_is_meant_from_the_cards_folder(tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text('[baseline]\nnccl_tests = "near.log; runs"\n')
    card = read_card(tmp_path / "card.toml")
    assert card.baseline.nccl_tests == f"{tmp_path / 'near.log'};{tmp_path / 'runs'}"
