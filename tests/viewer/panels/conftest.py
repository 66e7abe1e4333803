"""What every test of a panel needs: the state that panels share, without a window around them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.themes import theme
from viewer.panels.context import JobContext
from viewer.panels.work import WorkRunner


@pytest.fixture
def context(qtbot: object) -> Iterator[JobContext]:
    """An empty context with a pool of its own."""
    work = WorkRunner()
    yield JobContext(theme(), work)
    work.shutdown()
