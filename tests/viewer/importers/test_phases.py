"""Begins and ends, async events, flows, counters, metadata, and times that need a second look."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.viewer.importers.texts import columns, kernel
from viewer.base.ids import ABSENT, TEXT_ID


def ev(ph: str, ts: float, name: str = "", **more: Any) -> dict[str, Any]:
    return {"ph": ph, "ts": ts, "pid": 1, "tid": 2, **({"name": name} if name else {}), **more}


def slices_of(events: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    raw = columns(json.dumps(events))[0].raw
    s = raw.slices
    return [(raw.strings[n], int(a), int(d)) for n, a, d in zip(s.name, s.start_ns, s.dur_ns, strict=True)]


def test_begin_end_pairs_nest_per_thread() -> None:
    events = [
        ev("B", 0, "a", args={"x": 1}),
        ev("B", 1, "b"),
        ev("B", 1, "other", tid=3),
        ev("E", 4),
        ev("E", 9, "a"),
        ev("E", 5, tid=3),
    ]
    assert slices_of(events) == [("a", 0, 9000), ("b", 1000, 3000), ("other", 1000, 4000)]


def test_an_end_closes_the_begin_of_its_name() -> None:
    events = [ev("B", 0, "a"), ev("B", 1, "b"), ev("E", 5, "a"), ev("E", 7, "b")]
    assert slices_of(events) == [("a", 0, 5000), ("b", 1000, 6000)]


def test_events_out_of_order_pair_by_time() -> None:
    events = [ev("E", 9, "a"), ev("E", 10, "b"), ev("B", 0, "a"), ev("B", 1, "b")]
    assert slices_of(events) == [("a", 0, 9000), ("b", 1000, 9000)]


def test_unbalanced_pairs_are_counted() -> None:
    text = json.dumps([ev("E", 1, "lost"), ev("B", 2, "open"), ev("B", 3, "x"), ev("E", 4, "y")])
    built, scanned = columns(text)
    assert scanned.ledger.reasons == {"end-without-begin": (1, 1)}
    assert (scanned.ledger.read, scanned.ledger.kept, scanned.ledger.rejected) == (4, 3, 1)
    assert {f.code: f.count for f in built.findings} == {
        "end-without-begin": 1,
        "begin-without-end": 1,
        "end-of-another-name": 1,
    }
    assert built.raw.marks is not None
    assert [chr(p) for p in built.raw.marks.phase] == ["B"]
    assert len(built.raw.slices.start_ns) == 1


def test_async_events_pair_by_category_and_id() -> None:
    events = [
        ev("b", 0, "req", cat="c", id=1),
        ev("b", 1, "req", cat="c", id="0x2"),
        ev("n", 2, "tick", cat="c", id=1),
        ev("e", 3, "req", cat="c", id=1),
        ev("e", 8, "req", cat="c", id=2),
        ev("b", 4, "local", cat="c", id2={"local": "7"}),
        ev("e", 5, "local", cat="c", id2={"local": "7"}),
    ]
    built = columns(json.dumps(events))[0]
    assert slices_of(events) == [("req", 0, 3000), ("req", 1000, 7000), ("local", 4000, 1000)]
    assert built.raw.slices.is_async.all()
    assert built.raw.marks is not None
    assert [chr(p) for p in built.raw.marks.phase] == ["n"]


def test_flows_instants_and_counters_get_their_tables() -> None:
    events = [
        ev("s", 1, "ac2g", cat="ac2g", id=5),
        ev("f", 2, "ac2g", cat="ac2g", id=5, bp="e"),
        ev("t", 2, "ac2g", cat="ac2g", id="text"),
        ev("i", 3, "mark", s="g"),
        ev("I", 4, "old mark"),
        ev("C", 5, "memory", args={"used": 1.5, "free": 2, "bad": "x"}),
        ev("C", 6, "memory", args={"used": 3}),
    ]
    raw = columns(json.dumps(events))[0].raw
    assert raw.flows is not None
    assert raw.marks is not None
    assert raw.counters is not None
    assert [chr(p) for p in raw.flows.phase] == ["s", "f", "t"]
    assert raw.flows.id[:2].tolist() == [5, 5]
    assert raw.strings[int(raw.flows.id[2]) & ~TEXT_ID] == "text"
    assert [raw.strings[n] for n in raw.marks.name] == ["mark", "old mark"]
    assert [(raw.strings[s], v) for s, v in zip(raw.counters.series, raw.counters.value, strict=True)] == [
        ("used", 1.5),
        ("free", 2.0),
        ("used", 3.0),
    ]
    assert raw.counters.time_ns.tolist() == [5000, 5000, 6000]


def test_metadata_names_processes_and_threads() -> None:
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": "stream 7", "args": {"name": "stream 7 \u00e9"}},
        {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 2, "args": {"sort_index": -3}},
        {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "GPU 0"}},
        {"ph": "M", "name": "unknown", "pid": 1},
    ]
    built, scanned = columns(json.dumps(events))
    raw = built.raw
    tid = TEXT_ID | raw.strings.index("stream 7")
    assert raw.process_names == {1: "python"}
    assert raw.thread_names == {(1, tid): "stream 7 é"}
    assert raw.thread_sort == {(1, 2): -3}
    assert built.labels == {"1": "GPU 0"}
    assert scanned.ledger.kept == 5


def test_a_negative_duration_is_zero_and_counted() -> None:
    text = json.dumps([kernel(dur=-5), kernel(dur=2)])
    built, scanned = columns(text)
    assert built.raw.slices.dur_ns.tolist() == [0, 2000]
    assert scanned.notes["negative-duration"] == (1, 1)


def test_untimed_gpu_work_is_rejected_when_other_times_are_far() -> None:
    far = 2_000_000_000
    text = json.dumps([kernel("lost", 0, 0), kernel("a", far, 1), {**kernel("cpu", 0, 0), "cat": "cpu_op"}])
    built, scanned = columns(text)
    assert [built.raw.strings[n] for n in built.raw.slices.name] == ["a", "cpu"]
    assert scanned.ledger.reasons == {"untimed": (1, 1)}
    assert [f.code for f in built.findings] == ["untimed"]
    near = columns(json.dumps([kernel("real", 0, 0), kernel("a", 5, 1)]))[0]
    assert len(near.raw.slices.start_ns) == 2


def test_collectives_of_rejected_work_go_with_it() -> None:
    def comm(ts: int, seq: int) -> dict[str, Any]:
        return kernel("nccl", ts, 0 if ts == 0 else 1, **{"Collective name": "allreduce", "Seq": seq})

    built = columns(json.dumps([comm(0, 1), kernel("k", 5 * 10**9), comm(5 * 10**9, 2)]))[0]
    assert built.raw.collectives is not None
    assert built.raw.collectives.seq.tolist() == [2]
    assert built.raw.collectives.slice.tolist() == [1]


def test_collective_metadata() -> None:
    args = {
        "Collective name": "_allgather_base",
        "In msg nelems": 1024,
        "Out msg nelems": "8192",
        "dtype": "BFloat16",
        "Group size": 8,
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1, ...]",
        "Seq": 7,
        "Src Rank": 3,
        "Global rank start": 8,
        "Global rank stride": 2,
        "Other": {"Seq": 9},
    }
    raw = columns(json.dumps([kernel(), kernel(**args)]))[0].raw
    c = raw.collectives
    assert c is not None
    texts = {k: raw.strings[int(getattr(c, k)[0])] for k in ("kind", "dtype", "group", "group_ranks")}
    assert texts == {"kind": "_allgather_base", "dtype": "BFloat16", "group": "0", "group_ranks": "[0, 1, ...]"}
    assert c.group_desc.tolist() == [-1]
    assert (c.slice[0], c.in_elems[0], c.out_elems[0], c.group_size[0], c.seq[0]) == (1, 1024, 8192, 8, 7)
    assert c.comms_id.tolist() == c.dst.tolist() == [ABSENT]
    assert (c.src[0], c.first_rank[0], c.rank_stride[0]) == (3, 8, 2)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["12.5", "13.120", "14.42"], [12005, 13120, 14042]),  # no .0x anywhere, and a .120
        (["12.5", "13.12", "14.42"], [12500, 13120, 14420]),  # nothing ends in a zero: plain decimals without zeros
        (["12.5", "13.120", "14.042"], [12500, 13120, 14042]),  # a leading zero: padded
        (["12.5", "13.1200", "14.4"], [12500, 13120, 14400]),  # four digits: no such build
        (["12.0", "13.10", "14"], [12000, 13010, 14000]),
    ],
)
def test_unpadded_fractions_of_march_2024(times: list[str], expected: list[int]) -> None:
    text = ",".join(f'{{"ph":"X","cat":"kernel","name":"k","ts":{t},"dur":1}}' for t in times)
    built = columns(f"[{text}]")[0]
    assert built.raw.slices.start_ns.tolist() == expected
    assert bool(built.findings) == (expected[0] != 12500)


def test_half_a_nanosecond_is_rounded_and_noted() -> None:
    built, scanned = columns('[{"ph":"X","ts":1.0005,"dur":2.0004,"name":"a"}]')
    assert (built.raw.slices.start_ns[0], built.raw.slices.dur_ns[0]) == (1001, 2000)
    assert scanned.notes["rounded-time"] == (1, 1)


@pytest.mark.parametrize(
    ("name", "reason"), [(r'"an "end" of more"', "quotes-or-brackets"), (r'"\udc00"', "text"), ('"\\x41"', "text")]
)
def test_a_repaired_event_that_is_rejected_later_is_no_longer_repaired(name: str, reason: str) -> None:
    ended = columns(f'[{{"ph":"B","name":{name},"ts":1}},{{"ph":"E","name":{name},"ts":2}}]')[1].ledger
    assert (ended.read, ended.kept, ended.repaired, ended.rejected) == (2, 0, 2, 0)
    assert ended.reasons == {reason: (2, 1)}
    lost = columns(f'[{{"ph":"E","name":{name},"ts":2}},{{"ph":"i","name":{name},"ts":2}}]')[1].ledger
    assert (lost.read, lost.kept, lost.repaired, lost.rejected) == (2, 0, 1, 1)
    assert {k: n for k, (n, _) in lost.reasons.items()} == {reason: 1, "end-without-begin": 1}
    alone = columns(f'[{{"ph":"E","name":{name},"ts":2}}]')[1].ledger
    assert (alone.read, alone.kept, alone.repaired, alone.rejected) == (1, 0, 0, 1)
    assert alone.reasons == {"end-without-begin": (1, 1)}


def test_an_event_with_two_repairs_is_repaired_once() -> None:
    text = '[{"ph":"X","name":"a "b" c","cat":"\\udc00","ts":1,"dur":1},{"ph":"X","name":"\\udc00","ts":1,"dur":1}]'
    ledger = columns(text)[1].ledger
    assert (ledger.read, ledger.kept, ledger.repaired) == (2, 0, 2)
    assert {k: n for k, (n, _) in ledger.reasons.items()} == {"quotes-or-brackets": 1, "text": 1}
