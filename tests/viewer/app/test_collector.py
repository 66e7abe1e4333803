from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from viewer.app import collector


@pytest.fixture(autouse=True)
def as_ever() -> Iterator[None]:
    yield
    collector.look_at_all()
    assert gc.isenabled()
    assert not gc.get_freeze_count()


class Part:
    def __init__(self) -> None:
        self.whole = self


def test_nothing_is_collected_while_a_start_goes_on_and_its_parts_not_before_something_goes() -> None:
    collector.pause()
    assert not gc.isenabled()
    part = Part()
    gone = weakref.ref(part)
    collector.set_apart()
    assert gc.isenabled()
    del part
    gc.collect()
    assert gone() is not None
    later = Part()
    also_gone = weakref.ref(later)
    del later
    gc.collect()
    assert also_gone() is None
    collector.look_at_all()
    gc.collect()
    assert gone() is None
    collector.set_apart()
    assert not gc.get_freeze_count()


def test_without_a_start_the_collector_is_left_alone() -> None:
    collector.set_apart()
    collector.look_at_all()
    assert gc.isenabled()
    assert not gc.get_freeze_count()


def test_a_window_that_closes_before_its_lanes_are_there_collects_again() -> None:
    collector.pause()
    collector.look_at_all()
    assert gc.isenabled()
