"""Generated jobs with a known fault of communication: exposed time and waits as in truth, the fault first and sized."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewer.analyses.collective.communication import communication
from viewer.analyses.collective.exposed_parts import Part
from viewer.analyses.collective.kinds import Kind
from viewer.analyses.collective.matching import everything
from viewer.analyses.collective.table import kernel_waits
from viewer.analyses.findings import (
    exposed_communication,
    extra_collectives,
    serialised_communication,
    slow_link,
    small_messages,
    wrong_placement,
)
from viewer.analyses.findings.base import JobFinding
from viewer.app.clocks import settle_clocks
from viewer.base.work import CancelToken
from viewer.importers.opening import JobOpener
from viewer.store.cache import default_cache
from viewer.store.session import Session

OURS = (
    serialised_communication,
    small_messages,
    slow_link,
    wrong_placement,
    extra_collectives,
    exposed_communication,
)
FAULTS = {"": "", "no-overlap": "serialised-communication", "small-messages": "small-messages"}


def made(shared: Path, folder: Path, fault: str) -> tuple[Session, dict[str, Any]]:
    script = shared / "bench" / "make_trace.py"
    if not script.is_file():
        pytest.skip("no generator on this machine")
    options = ["--ranks", "8", "--events-per-rank", "18000", "--straggler", "-1", "--jobs", "1", "--seed", "4"]
    options += ["--fault", fault] if fault else []
    subprocess.run([sys.executable, str(script), "--out", str(folder), *options], check=True, capture_output=True)
    paths = sorted(folder.glob("rank-*"))
    opened = JobOpener(paths, cache=default_cache(), given_ranks={}, align="auto", rules=None).open(lambda *_: None)
    return settle_clocks(opened.session, "auto"), json.loads((folder / "truth.json").read_text())


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_exposed_time_waits_and_the_fault_are_as_in_truth(shared: Path, tmp_path: Path, fault: str) -> None:
    session, truth = made(shared, tmp_path, fault)
    every, (_, wait, _, _) = everything(session), kernel_waits(session)
    for item, found, told in zip(session.inputs, communication(session), truth["ranks"], strict=True):
        assert found.figures is not None
        assert found.figures.exposed_ns == told["comm_exposed_ns"]
        assert found.figures.of((Part.NOT_MATCHED, Part.MEMBERS_MISSING)) == 0
        mine = every.input == item.index
        for kinds, key in (((Kind.ALL_REDUCE,), "allreduce_wait_ns"), ((Kind.RECV,), "recv_wait_ns")):
            chosen = mine & np.isin(every.kind, [int(k) for k in kinds])
            waited = sum(step[key] for step in told["steps"])
            # Ends of one operation differ by up to 400 ns, clocks by some us.
            assert int(wait[chosen].sum()) == pytest.approx(waited, abs=10_000 * max(1, int(chosen.sum())))
    findings: list[JobFinding] = [f for d in OURS for f in d.find(session, CancelToken())]
    if not fault:
        assert findings == []
        return
    (first,) = findings
    assert (first.kind, first.confident) == (FAULTS[fault], True)
    assert first.saving_ns_per_step == pytest.approx(truth["faults"][0]["cost_ns_per_step"], rel=0.1)
