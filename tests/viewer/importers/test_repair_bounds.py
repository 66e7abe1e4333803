"""What broken events may cost: time and memory grow with the text, not with its square."""

from __future__ import annotations

import pytest

from tests.viewer.importers.texts import columns, scan
from viewer.importers import event_scan, repair, window
from viewer.importers.repair import LONGEST, Mended, mend
from viewer.store.loose_json import loads

GOOD = '{"ph":"X","name":"k","ts":1,"dur":1}'


def test_many_broken_events_are_mended_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted(text: bytes, ended: bool, rejected: int, walked: tuple[int, int]) -> Mended:
        nonlocal looked_at
        looked_at += len(text)
        found = mend(text, ended, rejected, walked)
        assert found == mend(text, ended, rejected)
        return found

    monkeypatch.setattr(event_scan, "mend", counted)
    count = 1000
    broken = ",".join(f'{{"ph":"X","name":"a "b" c{i}","ts":{i},"dur":1,"args":{{"x":[{{}}]}}}}' for i in range(count))
    built, scanned = columns(f"[{broken},{GOOD}]")
    assert (scanned.ledger.read, scanned.ledger.repaired, scanned.ledger.kept) == (count + 1, count, 1)
    assert built.raw.strings[int(built.raw.slices.name[7])] == 'a "b" c7'
    assert looked_at <= count * 2 * event_scan.FIRST_REACH


@pytest.mark.parametrize("size", [100, 10_000, 40_000, 600_000])
def test_a_long_broken_event_is_mended(size: int) -> None:
    built, scanned = columns('[{"ph":"X","name":"a "' + "b" * size + f'" c","ts":1,"dur":1}},{GOOD}]')
    assert (scanned.ledger.read, scanned.ledger.repaired, scanned.ledger.kept) == (2, 1, 1)
    assert len(built.raw.strings[int(built.raw.slices.name[0])]) == size + 6


def test_an_absurdly_long_broken_event_is_rejected_and_the_next_kept() -> None:
    ledger = scan('[{"ph":"X","name":"' + 'a"b' * LONGEST + f'","ts":1,"dur":1}},{GOOD}]').ledger
    assert (ledger.read, ledger.kept) == (2, 1)
    assert ledger.reasons == {"unreadable": (1, 1)}


@pytest.mark.parametrize("shift", range(12))
def test_the_end_of_what_was_looked_at_is_no_border(shift: int) -> None:
    # A bracket that closes a list inside the event stands where the first look ends.
    head = '[{"ph":"X","name":"a "b" c","ts":1,"dur":1,"args":{"x":[{"y":"'
    fill = "z" * (event_scan.FIRST_REACH - len(head) - shift)
    scanned = scan(head + fill + '"}] , "w":[{}] }},' + GOOD + "]")
    assert (scanned.ledger.read, scanned.ledger.repaired, scanned.ledger.kept) == (2, 1, 1)


def test_the_window_does_not_decide_whether_an_event_is_mended() -> None:
    inner = '[{"k":1},{"ph":"y"}],"z":"' + "z" * 5_000 + '"'
    text = '[{"ph":"X","name":"a "b" c","ts":1,"dur":1,"args":{"x":' + inner + "}}," + GOOD + "]"
    for chunk in (256, 1_000, 1 << 20):
        ledger = scan(text, chunk=chunk).ledger
        assert (ledger.read, ledger.repaired, ledger.kept) == (2, 1, 1)


def test_after_many_rejections_fewer_borders_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0

    def counted(kind: str, text: bytes, size: int) -> None:
        nonlocal tried
        tried += 1

    monkeypatch.setattr(repair, "_event", counted)
    count = 3_000
    scanned = scan("[" + ",".join('{"ph":"X" "ts":1 "x"}' for _ in range(count)) + "]")
    assert scanned.ledger.reasons == {"unreadable": (count, 1)}
    assert tried <= repair.PATIENCE * repair.TRIES + (count - repair.PATIENCE) * repair.FEW_TRIES


def test_deep_nesting_beside_an_escape_is_a_value_that_cannot_be_read() -> None:
    deep = '{"a":"\\u0041","b":' + "[" * 990 + "]" * 990 + "}"
    assert columns('{"x":' + deep + ',"traceEvents":[' + GOOD + "]}")[1].ledger.kept == 1
    with pytest.raises(ValueError, match="nested too deeply"):
        loads(deep.encode()[:-1] + b",}")


def test_a_sort_index_beyond_63_bits_is_none() -> None:
    text = '[{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":4611686018427387904}},' + GOOD
    assert columns(text + "]")[0].raw.thread_sort == {}


@pytest.mark.parametrize("text", ['[{"ph":"X","name":"' + "x" * 600_000, "[" * 600_000, "[x" + "x" * 600_000])
def test_a_value_that_never_ends_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(window, "LARGEST", 1 << 18)
    with pytest.raises(OverflowError, match="a value of more than"):
        scan(text, chunk=1 << 14)


@pytest.mark.parametrize("chunk", [200, 1_000, 1 << 20])
def test_what_only_the_text_holds_is_taken_of_broken_and_sound_events_in_turn(chunk: int) -> None:
    events = []
    for i in range(40):
        events.append(f'{{"ph":"X","name":"a"b{i}","cat":"kernel","ts":{3 * i},"dur":1,"args":{{"grid":[{i},1,1]}}}}')
        events.append(f'{{"ph":"X","name":"k","cat":"kernel","ts":{3 * i + 1},"dur":1,"args":{{"grid":[{i},1,1]}}}}')
        events.append(f'{{"ph":"C","name":"c "d" {i}","pid":1,"ts":{3 * i + 2},"args":{{"v":{i}}}}}')
        events.append(f'{{"ph":"C","name":"m","pid":1,"ts":{3 * i + 2},"args":{{"v":{1000 + i}}}}}')
    text = ("[" + ",\n".join(events) + "]").encode()
    built, scanned = columns(text, chunk=chunk)
    assert (scanned.ledger.read, scanned.ledger.repaired, scanned.ledger.kept) == (160, 80, 80)
    raw = built.raw
    assert raw.slices.start_ns.tolist() == [1000 * (3 * i + k) for i in range(40) for k in (0, 1)]
    told = [raw.recorded[n] if n >= 0 else None for n in raw.slices.recorded.tolist()]
    assert told == [t for i in range(40) for t in (None, f'{{"grid":[{i},1,1]}}')]
    assert raw.counters is not None
    assert raw.counters.value.tolist() == [v for i in range(40) for v in (i, 1000 + i)]
    for at, size in zip(raw.slices.args_off.tolist(), raw.slices.args_len.tolist(), strict=True):
        assert text[at : at + size].startswith(b'{"grid":[')
        assert text[at + size - 1 :].startswith(b"}")
