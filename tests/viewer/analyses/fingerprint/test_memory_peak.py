"""Peaks of device memory from [memory] records, and what is wrong with some of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from viewer.analyses.fingerprint.memory_peak import device_peaks, memory_peak, unused_reserve
from viewer.base.job_card import EMPTY_CARD
from viewer.importers.opening import JobOpener
from viewer.store.cache import default_cache
from viewer.store.session import Session


def record(ts: float, allocated: Any, reserved: Any, kind: Any = 1, device: Any = 0) -> dict[str, Any]:
    args = {
        "Addr": int(ts),
        "Bytes": 1,
        "Total Allocated": allocated,
        "Total Reserved": reserved,
        "Device Type": kind,
        "Device Id": device,
    }
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": 5,
        "tid": 5,
        "ts": ts,
        "args": args,
    }


def job(tmp_path: Path, *records: dict[str, Any]) -> Session:
    work = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1.0, "dur": 90.0}
    work |= {"args": {"device": 0, "stream": 7}}
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [work, *records]}))
    return JobOpener([path], cache=default_cache()).open().session


def test_peaks_and_the_unused_reserve_at_the_reserves_peak(tmp_path: Path) -> None:
    session = job(
        tmp_path,
        record(10, 600, 800),
        record(20, 500, 1_000),  # the reserve grew ...
        record(30, 700, 1_000),  # ... for this
        record(40, 900, 900),  # the largest allocation, after memory was given back
        record(50, 10**6, 10**6, kind=0),  # the host's
    )
    (peak,) = device_peaks(session.inputs[0].trace)
    assert (peak.allocated_bytes, peak.reserved_bytes, peak.unused_bytes) == (900, 1_000, 300)
    with_card = session.with_card(EMPTY_CARD.with_value("hardware.memory_bytes", 1_000))
    figure = memory_peak(with_card)
    assert (figure.value, figure.status) == (pytest.approx(0.9), "outside")
    assert unused_reserve(with_card).value == pytest.approx(0.3)
    assert memory_peak(session).needs == "hardware.memory_bytes"


def test_odd_records_are_passed_over(tmp_path: Path) -> None:
    odd = [record(1, "9", 9), record(2, -1, 9), record(3, None, 9), record(4, 2**60, 9), record(5, True, 9)]
    assert device_peaks(job(tmp_path, *odd).inputs[0].trace) == ()


def test_without_records_nothing_is_claimed(tmp_path: Path) -> None:
    for figure in (memory_peak(job(tmp_path)), unused_reserve(job(tmp_path))):
        assert figure.value is None
        assert "profile_memory" in figure.why
