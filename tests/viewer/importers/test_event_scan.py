from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.viewer.importers.texts import columns, exact_ns, kernel, loads_exactly, scan
from viewer.base.ids import ABSENT, TEXT_ID

TIMES = st.one_of(
    st.integers(-(10**12), 10**15),
    st.decimals(0, 4 * 10**15, places=3, allow_nan=False, allow_infinity=False),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS = st.one_of(st.integers(-(2**61), 2**61), TEXTS)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def event_dicts(draw: st.DrawFn) -> dict[str, Any]:
    event: dict[str, Any] = {"ph": "X", "ts": draw(TIMES), "dur": draw(st.integers(0, 10**9))}
    for key, values in {"name": TEXTS, "cat": TEXTS, "pid": IDS, "tid": IDS, "bp": TEXTS, "extra": PLAIN}.items():
        if draw(st.booleans()):
            event[key] = draw(values)
    if draw(st.booleans()):
        args = draw(st.dictionaries(TEXTS, PLAIN, max_size=3))
        for key in ("correlation", "External id", "device", "stream"):
            if draw(st.booleans()):
                args[key] = draw(st.integers(-(2**61), 2**61))
        args["inner"] = {"correlation": 5, "stream": 6, "device": 7, "external id": 8}
        event["args"] = args
    keys = list(event)
    draw(st.randoms()).shuffle(keys)
    return {k: event[k] for k in keys}


class Times(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        return f"<<{o}>>"


def dump(value: Any, draw: st.DataObject) -> bytes:
    indent = draw.draw(st.sampled_from([None, 0, 3]))
    text = json.dumps(value, cls=Times, indent=indent, ensure_ascii=draw.draw(st.booleans()))
    return text.replace('"<<', "").replace('>>"', "").encode()


def as_id(value: int, strings: list[str]) -> int | str | None:
    if value == ABSENT:
        return None
    return strings[value & ~TEXT_ID] if value >= TEXT_ID else value


def id_of(value: Any) -> int | str:
    """What the scanner makes of an id: integers written as text are integers."""
    text = str(value)
    if isinstance(value, str) and len(text) <= 18 and text.isascii() and text.removeprefix("-").isdigit():
        return int(text) if text == "0" or not text.removeprefix("-").startswith("0") else text
    return value  # type: ignore[no-any-return]


@settings(deadline=None, max_examples=150)
@given(st.lists(event_dicts(), max_size=5), st.data())
def test_events_equal_json(events: list[dict[str, Any]], data: st.DataObject) -> None:
    text = dump({"schemaVersion": 1, "x": [{"traceEvents": [1]}], "traceEvents": events, "end": {"a": "]}"}}, data)
    chunk = data.draw(st.sampled_from([256, 300, 1000, 1 << 16]))
    built, scanned = columns(text, piece=data.draw(st.integers(1, 400)), chunk=chunk)
    assert scanned.complete
    assert scanned.ledger.read == scanned.ledger.kept + scanned.ledger.repaired == len(events)
    raw, s = built.raw, built.raw.slices
    for i, event in enumerate(loads_exactly(text)["traceEvents"]):
        args = event.get("args", {})
        assert s.start_ns[i] == exact_ns(event["ts"])
        assert s.dur_ns[i] == exact_ns(event["dur"])
        for column, key in ((s.name, "name"), (s.cat, "cat")):
            assert (raw.strings[column[i]] if column[i] >= 0 else None) == event.get(key)
        for ids, key in ((s.pid, "pid"), (s.tid, "tid")):
            assert as_id(int(ids[i]), raw.strings) == id_of(event.get(key, ""))
        for ids, key in ((s.corr, "correlation"), (s.ext, "External id"), (s.device, "device"), (s.stream, "stream")):
            assert as_id(int(ids[i]), raw.strings) == args.get(key)
        if "args" in event:
            begin = int(s.args_off[i])
            assert loads_exactly(text[begin : begin + int(s.args_len[i])]) == args
        else:
            assert s.args_off[i] == ABSENT


SMALL = json.dumps(
    {
        "schemaVersion": 1,
        "traceEvents": [
            kernel('a "quoted\\" name', 10.5, 2, correlation=3, nested=[{"name": "x"}, {"ph": "y"}]),
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}},
            {"ph": "X", "name": "é\u2028", "ts": 12, "dur": 0, "pid": 1, "tid": "t"},
        ],
        "traceName": "end",
    },
    ensure_ascii=False,
)


@pytest.mark.parametrize("array", [False, True])
def test_truncation_at_every_byte_gives_the_exact_prefix(array: bool) -> None:
    text = SMALL.encode()
    if array:
        text = text[text.index(b"[") : text.rindex(b"]") + 1]
    whole = columns(text)[0].raw
    in_events = text.index(b"[") + 1
    events = json.loads(text) if array else json.loads(text)["traceEvents"]
    shown = text.decode()
    ends = []
    at = len(text[:in_events].decode())
    for _ in events:
        at = json.JSONDecoder().raw_decode(shown, shown.index("{", at))[1]
        ends.append(len(shown[:at].encode()))
    for cut in range(in_events, len(text)):
        built, scanned = columns(text[:cut], chunk=256)
        assert not scanned.complete
        kept = sum(e <= cut for e in ends)
        assert (scanned.ledger.read, scanned.ledger.rejected, scanned.ledger.repaired) == (kept, 0, 0)
        n = len(built.raw.slices.start_ns)
        assert n == sum(e["ph"] == "X" for e in events[:kept])
        np.testing.assert_array_equal(built.raw.slices.start_ns, whole.slices.start_ns[:n])
        assert [built.raw.strings[k] for k in built.raw.slices.name] == [
            whole.strings[k] for k in whole.slices.name[:n]
        ]
    assert columns(text)[1].complete


def test_random_bytes_never_break_the_scan() -> None:
    rng = random.Random(7)
    text = bytearray(SMALL.encode())
    for _ in range(600):
        damaged = bytearray(text)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.choice(b'{}[]",:\\ \x000aX\xff')
        scanned = columns(bytes(damaged), chunk=256)[1]
        assert scanned.ledger.balanced()
        assert min(scanned.ledger.kept, scanned.ledger.repaired, scanned.ledger.rejected) >= 0


def test_odd_numbers_and_bare_words() -> None:
    text = (
        '[{"ph":"X","ts":"12.5","dur":1e1,"pid":"0","tid":18446744073709551615,"name":"a",'
        '"args":{"stream":4294967295,"device":"0x0","correlation":"18446744073709551615","x":nan,"y":-inf}},'
        '{"ph":"X","ts":1.7121954955196890e15,"dur":NaN,"name":"b"},'
        '{"ph":"X","ts":nan,"dur":1,"name":"c"},'
        '{"ph":"X","ts":1,"dur":null,"pid":null,"name":null}]'
    )
    built, scanned = columns(text)
    s, strings = built.raw.slices, built.raw.strings
    assert (s.start_ns[0], s.dur_ns[0]) == (12_500, 10_000)
    assert (s.pid[0], s.stream[0], s.device[0]) == (0, 4294967295, 0)
    assert as_id(int(s.tid[0]), strings) == "18446744073709551615"
    assert as_id(int(s.corr[0]), strings) == "18446744073709551615"
    assert len(s.start_ns) == 1  # b and the last have no duration, c no time
    assert scanned.ledger.reasons["no-time"] == (1, text.index('{"ph":"X","ts":nan'))
    assert scanned.notes["no-duration"][0] == 2
    assert built.raw.marks is not None
    assert built.raw.marks.time_ns.tolist() == [1712195495519689000, 1000]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("{}", "empty"),
        ("{ }", "empty"),
        ("7", "not-an-object"),
        ('"text"', "not-an-object"),
        ("[1, {}]", "not-an-object"),
        ('{"ts": 1}', "no-phase"),
        ('{"ph": 1, "ts": 1}', "no-phase"),
        ('{"ph": "i"}', "no-time"),
        ('{"ph": "X", "ts": 1e30, "dur": 1}', "time-out-of-range"),
        ('{"ph": "X", "ts": 1, "dur": 4611686018427387.904}', "time-out-of-range"),
    ],
)
def test_rejections_are_counted_with_their_place(entry: str, reason: str) -> None:
    text = f"[{json.dumps(kernel())}, {entry}, {json.dumps(kernel())}, {entry}]"
    ledger = scan(text).ledger
    assert (ledger.read, ledger.kept, ledger.repaired, ledger.rejected) == (4, 2, 0, 2)
    assert ledger.reasons == {reason: (2, text.index(f", {entry}") + 2)}


def test_unescaped_quotes_in_names_are_mended() -> None:
    head = '{"ph": "X", "cat": "kernel", "name": "f<"x", "y">("{")", '
    bad = head + '"pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": {"stream": 9}}'
    text = f'{{"traceEvents": [{json.dumps(kernel("a"))}, {bad}, {json.dumps(kernel("b"))}], "z": 1}}'
    built, scanned = columns(text)
    s = built.raw.slices
    assert [built.raw.strings[n] for n in s.name] == ["a", 'f<"x", "y">("{")', "b"]
    assert s.stream.tolist() == [7, 9, 7]
    assert text[s.args_off[1] : s.args_off[1] + s.args_len[1]] == '{"stream": 9}'
    assert scanned.complete
    assert scanned.ledger.reasons == {"quotes-or-brackets": (1, text.index(bad))}
    assert (scanned.ledger.kept, scanned.ledger.repaired) == (2, 1)


@pytest.mark.parametrize("value", ['a"b', 'say "hi" now', 'a" b', '"', 'a" , b', '{"', "x" * 90 + '"' + "y" * 90])
@pytest.mark.parametrize("space", ["", "\n    "])
def test_an_unescaped_quote_in_args_swallows_no_event(value: str, space: str) -> None:
    """Its args seem to end somewhere in the next event, and then nothing is wrong with the text any more."""
    bad = '{"ph": "X", "name": "bad", "pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": {' + space
    bad += f'"x": "{value}",{space} "y": "{value}"{space}}}}}'
    text = f"[{', '.join([bad, json.dumps(kernel('a')), bad, bad, json.dumps(kernel('b')), bad])}]"
    for chunk in (1 << 20, 100):
        built, scanned = columns(text, chunk=chunk)
        assert [built.raw.strings[n] for n in built.raw.slices.name if built.raw.strings[n] != "bad"] == ["a", "b"]
        ledger = scanned.ledger
        assert (ledger.read, ledger.kept, ledger.repaired + ledger.rejected) == (6, 2, 4)


def test_what_stands_behind_strings_of_args_makes_no_event_unusual() -> None:
    args = '{"a" : "b" , "c":["d"\t,"e" ],"f":{"g":"h"\r\n}, "i": "j"\n}'
    for pad in range(64):  # every place among the 64 bytes that are looked at together
        inner = args.replace(",", "," + " " * pad, 1)
        _, scanned = columns(f'[{{"ph": "X", "name": "a", "ts": 5, "dur": 2, "args": {inner}}}]')
        assert (scanned.ledger.kept, scanned.ledger.repaired) == (1, 0)


def test_an_event_beyond_mending_is_rejected_and_the_rest_kept() -> None:
    bad = '{"ph": "X", "name" "k", : 5}'
    text = f'{{"traceEvents": [{json.dumps(kernel("a"))}, {bad}, {json.dumps(kernel("b"))}]}}'
    built, scanned = columns(text)
    assert [built.raw.strings[n] for n in built.raw.slices.name] == ["a", "b"]
    assert scanned.ledger.reasons == {"unreadable": (1, text.index(bad))}
    assert scanned.complete


def test_an_unclosed_quote_does_not_swallow_the_file() -> None:
    bad = '{"ph": "X", "name": "k, "pid": 0, "tid": 7, "ts": 5, "dur": 2, "args": {"a": "b"}}'
    events = [json.dumps(kernel(f"n{i}")) for i in range(50)]
    text = f'{{"traceEvents": [{", ".join([*events[:3], bad, *events[3:]])}]}}'
    built, scanned = columns(text, chunk=512)
    names = [built.raw.strings[n] for n in built.raw.slices.name]
    assert [n for n in names if n.startswith("n")] == [f"n{i}" for i in range(50)]
    assert scanned.complete
    assert scanned.ledger.read == 51


def test_escaped_keys_are_read() -> None:
    text = '[{"\\u0070h": "X", "t\\u0073": 3, "\\u0064ur": 2, "name": "a", "args": {"stream": 4}}]'
    built, scanned = columns(text)
    assert (built.raw.slices.start_ns[0], built.raw.slices.dur_ns[0], built.raw.slices.stream[0]) == (3000, 2000, 4)
    assert scanned.ledger.kept == 1


def test_names_are_decoded_once_and_mended_where_needed() -> None:
    event = b'{"ph":"X","ts":1,"dur":1,"pid":0,"tid":0,"name":"%s"}'
    names = [b"caf\xc3\xa9", b"caf\\u00e9", b"\\ud83d\\ude00", b"bad \xff byte", b"\\ud800", b"\\q", b"a\nb\x01"]
    built, scanned = columns(b"[" + b",".join(event % n for n in names) + b"]")
    got = [built.raw.strings[n] for n in built.raw.slices.name]
    assert got == ["café", "café", "😀", "bad \ufffd byte", "\ufffd", "\\q", "a\nb\x01"]
    assert built.raw.slices.name[0] == built.raw.slices.name[1]
    assert scanned.ledger.repaired == 3
    assert [f.code for f in built.findings] == ["bad-text"]


@pytest.mark.parametrize("text", ["[%s,]", "[%s,", "[,%s]", "\ufeff[%s]", "\n\n [\n%s\n]\n"])
def test_array_forms(text: str) -> None:
    scanned = scan(text % json.dumps(kernel()))
    assert scanned.ledger.kept == 1
    assert scanned.complete == text.rstrip().endswith("]")


def test_bytes_behind_the_end_are_noted() -> None:
    scanned = scan(f'{{"traceEvents": [{json.dumps(kernel())}]}} {{"more": 1}}')
    assert scanned.ledger.kept == 1
    assert "trailing-bytes" in scanned.notes


def test_bytes_between_events_are_skipped_and_noted() -> None:
    scanned = scan(f"[{json.dumps(kernel())}: {json.dumps(kernel())}]")
    assert scanned.ledger.kept == 2
    assert scanned.notes["stray-bytes"][0] == 1
    assert scanned.complete


def test_a_value_larger_than_the_window() -> None:
    big = kernel("big", 5, 1, note="x" * 10_000)
    built, scanned = columns(json.dumps({"a": "y" * 5000, "traceEvents": [kernel(), big, kernel()]}), chunk=512)
    assert scanned.ledger.kept == 3
    assert built.raw.slices.args_len[1] > 10_000


def test_deep_nesting_is_no_danger() -> None:
    deep = "[" * 200_000 + "]" * 200_000
    text = f'{{"traceEvents": [{{"ph":"X","ts":1,"dur":1,"name":"a","args":{{"deep":{deep}}}}}]}}'
    assert scan(text).ledger.kept == 1
