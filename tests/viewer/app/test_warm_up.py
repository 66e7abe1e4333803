from __future__ import annotations

import pytest

from viewer.app import warm_up


@pytest.mark.parametrize(
    ("parts", "done"), [([], ["lanes", "engine"]), (["engine"], ["engine"]), (["lanes"], ["lanes"])]
)
def test_set_up_can_compile_a_part_or_all(parts: list[str], done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[str] = []
    monkeypatch.setattr(warm_up, "warm_lanes", lambda: warmed.append("lanes"))
    monkeypatch.setattr(warm_up, "warm_engine", lambda: warmed.append("engine"))
    assert warm_up.main(parts) == 0
    assert warmed == done


def test_the_tiny_job_reaches_every_loop_of_an_import_and_a_click() -> None:
    """A loop that the warm-up does not call is compiled while a user waits."""
    from viewer.jit import intervals, join, lanes, layout, scan_events

    warm_up.warm_engine()
    for loop in (scan_events.scan_events, layout.nest, layout.pack, lanes.number_keys, join.join, intervals.union):
        assert loop.signatures, loop
