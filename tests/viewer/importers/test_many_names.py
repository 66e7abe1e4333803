"""A table of names has a bound, and a file beyond it a sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.viewer.importers.texts import kernel, open_job, problem
from viewer.importers import scanned


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("bound", "most"), [("MOST_NAMES", 9_000), ("MOST_NAME_BYTES", 1 << 20)])
def test_names_without_end_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, packed: bool, bound: str, most: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: threads)
    monkeypatch.setattr("viewer.importers.text_parts.LEAST", 1 << 20)
    monkeypatch.setattr("viewer.importers.stream_parts.STRETCH", 1 << 20)
    events = [kernel(f"name {i} {'x' * 200}", i) for i in range(20_000)]
    text = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
    path = tmp_path / "rank_0.json"
    path.write_bytes(gzip.compress(text, 1) if packed else text)
    monkeypatch.setattr(scanned, bound, most)
    error = problem(tmp_path, path)
    assert "distinct names" in error.problem
    assert error.where.startswith("byte ")
    assert int(error.where.split()[1]) > 0
    monkeypatch.undo()
    assert not open_job(tmp_path, path).failures
