"""Waiting for panels."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from viewer.panels.context import JobContext


def settle(qtbot: QtBot, context: JobContext) -> None:
    """Until nothing runs in the pool; the first work of a process may have to compile its loops."""
    qtbot.waitUntil(lambda: context.work.pending == 0, timeout=120_000)
