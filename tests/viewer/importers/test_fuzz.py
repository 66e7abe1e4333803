"""A few inputs of the fuzzer (python -m tests.bench fuzz), so that it keeps up with what it checks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.bench import fuzz_check
from tests.bench.fuzz_inputs import Inputs
from viewer.importers import text_parts


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_traces_archives_and_packs_of_the_fuzzer_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_parts, "LEAST", fuzz_check.LEAST_PART)
    inputs = Inputs(5, None)
    numbers = [*range(24), *range(7, 24 * 8, 24)]
    outcomes = Counter(
        fuzz_check.run_one(tmp_path / "rank_0.json", fuzz_check.make(inputs, n, tmp_path), n) for n in numbers
    )
    assert set(outcomes) == {"kept", "refused"}
