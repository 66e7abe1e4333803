from __future__ import annotations

import pytest

from viewer.base.findings import Finding, Ledger
from viewer.base.frames import SourcePlace
from viewer.views.import_ledger import ledger_equation, ledger_sum, ledger_table, ledger_words, reason_figures

LEDGER = Ledger(10, 6, 2, 2, {"empty": (1, -1), "text": (2, 1_234), "no-time": (1, 7)})


@pytest.mark.parametrize(
    ("ledger", "words"),
    [
        (Ledger(14_245, 14_245), "14,245 events read: all kept"),
        (Ledger(1, 1), "1 event read: all kept"),
        (Ledger(10, 7, 2, 1), "10 events read: 7 kept, 2 repaired, 1 rejected"),
        (Ledger(3, 2, 0, 1), "3 events read: 2 kept, 1 rejected"),
        (Ledger(), "no events"),
    ],
)
def test_a_ledger_in_words(ledger: Ledger, words: str) -> None:
    assert ledger_words(ledger) == words


def test_a_ledger_as_a_sum_with_its_reasons_and_places() -> None:
    table = ledger_table(LEDGER, 3)
    assert table is not None
    assert table.rows == [
        ("read", "10", "–"),
        ("= kept as written", "6", "–"),
        ("+ repaired", "2", "–"),
        ("    text", "2", "1,234"),
        ("+ rejected", "2", "–"),
        ("    empty", "1", "–"),
        ("    no-time", "1", "7"),
    ]
    assert table.jumps == [None, None, None, SourcePlace(3, 1_234), None, None, SourcePlace(3, 7)]
    assert ledger_table(Ledger(), 0) is None


def test_what_has_no_reason_is_not_hidden() -> None:
    table = ledger_table(Ledger(5, 2, 0, 3, {"empty": (1, 4)}), 0)
    assert table is not None
    assert table.rows[-1] == ("    without a stated reason", "2", "–")


def test_several_ledgers_as_one() -> None:
    total = ledger_sum([LEDGER, Ledger(3, 1, 2, 0, {"text": (2, 5)})])
    assert ledger_equation(total) == "13 read = 7 kept + 4 repaired + 2 rejected"
    assert total.reasons == {"empty": (1, -1), "text": (4, -1), "no-time": (1, -1)}
    assert total.balanced()


def test_each_reason_is_a_sentence() -> None:
    figures = reason_figures(LEDGER, [Finding("no-time", "warning", 1, "said by the file")], 0)
    assert [(f.label, f.value) for f in figures[1:]] == [
        ("rejected: empty", "1 ×: empty objects in the event list"),
        ("rejected: no-time", "1 ×, first at byte 7: said by the file"),
    ]
    assert figures[0].value.startswith("2 ×, first at byte 1,234: names with bytes or escapes")
