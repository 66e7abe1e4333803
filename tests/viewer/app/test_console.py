from __future__ import annotations

import io

import pytest

from viewer.app.console import TerminalProgress, complain, format_seconds, one_line, overview_line
from viewer.app.opening_state import ProgressBoard
from viewer.base.work import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_problem_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("a\nb\x1b[31m\tc")
    assert capsys.readouterr().err == "rankscope: a b\\x1b[31m c\n"


def test_text_with_lone_surrogates_is_shown() -> None:
    assert one_line("bad-\udcff.json") == "bad-\\udcff.json"


def test_progress_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    progress = Progress("/x/a.json", "reading", 512, 1024, 5, 0.1)
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        with TerminalProgress(stream) as shown:
            shown.sink(progress)
    assert pipe.getvalue() == ""
    assert "512 B of 1 KiB" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K"), "the line is wiped at the end"


def test_a_dumb_terminal_gets_no_escape_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    with TerminalProgress(terminal) as shown:
        shown.sink(Progress("a", "reading", 1, 2, 3, 0.1))
    assert terminal.getvalue() == ""


def test_the_progress_line_has_all_figures() -> None:
    now = [0.0]
    board = ProgressBoard(lambda: now[0])
    board.expect([("a", 1024), ("b", 1024)])
    for k in range(5):
        now[0] = 0.5 * k
        board.update(Progress("a", "reading", 256 * k, 1024, 1000 * k, 1))
    board.settle("a", "open")
    assert overview_line(board.view()) == "1 of 2 files · 1 KiB of 2 KiB · 2,000 events/s · 2 s left"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "under 1 s"), (1.4, "1 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s")]
)
def test_seconds_for_people(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
