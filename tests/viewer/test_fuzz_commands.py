"""A few jobs of the deep fuzzer (python -m tests.bench fuzz --deep), so that it keeps up with what it calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import fuzz_commands
from tests.bench.fuzz_jobs_made import EXTREMES, changed

QUICK = (
    *("nothing", "one event without length", "only metadata", "all at one instant", "steps without length"),
    *("near the limits", "a world that lies", "a group of none", "a group of absent ranks", "messages of 2^60"),
)


@pytest.mark.parametrize("name", QUICK)
def test_every_command_holds_on_an_extreme_job(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKSCOPE_DEBUG", raising=False)
    assert fuzz_commands.run_job(EXTREMES[name](), tmp_path, None, 1) == []


def test_every_command_holds_on_a_changed_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKSCOPE_DEBUG", raising=False)
    assert fuzz_commands.run_job(changed(3), tmp_path, None, 1) == []


def test_a_report_that_does_not_add_up_is_told() -> None:
    ledger = {"read": 3, "kept": 1, "repaired": 0, "rejected": 1}
    parts = {"span_ns": 9, "compute_ns": 5, "comm_exposed_ns": 1, "memory_exposed_ns": 1, "idle_ns": 1}
    assert len(fuzz_commands.adds_up({"inputs": [{"ledger": ledger}], "ranks": [{"devices": [parts]}]})) == 2
