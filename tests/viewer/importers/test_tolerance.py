"""What a file may do without losing an event: forms, orders and places that profilers really write."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.importers.golden import codes
from tests.viewer.importers.texts import columns, kernel, open_job, open_one, problem, write_json
from viewer.base.ids import ABSENT
from viewer.views.lanes.tree import build_tree


def test_a_compressed_file_cut_at_any_byte_keeps_the_exact_prefix(tmp_path: Path) -> None:
    events = [kernel(f"k{i}", 10 + i, 1, correlation=i) for i in range(12)]
    whole = gzip.compress(json.dumps(events).encode())
    kept = []
    for cut in range(19, len(whole), 3):
        path = tmp_path / f"{cut}.json.gz"
        path.write_bytes(whole[:cut])
        result = open_job(tmp_path, path)
        if result.failures:
            assert not kept  # only before the first event is whole
            assert "\n" not in result.failures[0].sentence()
            continue
        trace = result.session.inputs[0].trace
        ledger = trace.meta.ledger
        names = [trace.name(i) for i in range(len(trace))]
        assert names == [f"k{i}" for i in range(ledger.read)]
        assert (ledger.kept, ledger.rejected, trace.meta.complete) == (ledger.read, 0, False)
        assert [trace.args(i)["correlation"] for i in range(len(trace))] == list(range(ledger.read))
        kept.append(ledger.read)
    assert kept == sorted(kept)
    assert kept[-1] == len(events)


@pytest.mark.parametrize("last", [True, False])
def test_metadata_may_come_first_or_last(tmp_path: Path, last: bool) -> None:
    said: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": 5, "args": {"labels": "CPU\n0"}},
        {"ph": "M", "name": "thread_name", "pid": 5, "tid": 6, "args": {"name": "autograd"}},
    ]
    work = [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 5, "tid": 6, "ts": 1, "dur": 2}]
    path = write_json(tmp_path / "a.json", work + said if last else said + work)
    session = open_job(tmp_path, path).session
    (lane,) = session.inputs[0].trace.lanes
    assert (lane.process_name, lane.thread_name) == ("python", "autograd")
    assert session.inputs[0].trace.meta.labels == {"5": "CPU\n0"}
    (row,) = build_tree(session)[0].lanes
    assert row.detail == "thread 6 (autograd), process 5 (python, CPU 0)"


def test_equal_stamps_the_longer_first_then_file_order(tmp_path: Path) -> None:
    def op(name: str, ts: int, dur: int) -> dict[str, Any]:
        return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}

    events = [op("late", 50, 5), op("inner", 0, 5), op("outer", 0, 10), op("twin 1", 20, 4), op("twin 2", 20, 4)]
    events.append(op("overruns", 8, 7))  # begins inside "outer" and ends after it
    trace = open_one(tmp_path, write_json(tmp_path / "a.json", events))
    assert len(trace) == 6
    depth = {trace.name(i): int(trace.rows.depth[trace.row_of(i)]) for i in range(6)}
    assert (depth["outer"], depth["inner"], depth["late"]) == (0, 1, 0)
    assert (depth["twin 1"], depth["twin 2"]) == (0, 1)
    assert depth["overruns"] >= 1
    at = {trace.name(i): (int(trace.slices.start_ns[i]), int(trace.slices.dur_ns[i])) for i in range(6)}
    assert at["overruns"] == (8_000, 7_000)


def test_names_that_are_missing_empty_or_null_are_kept() -> None:
    text = '[{"ph":"X","ts":1,"dur":1},{"ph":"X","ts":2,"dur":1,"name":""},{"ph":"X","ts":3,"dur":1,"name":null}]'
    built, scanned = columns(text)
    assert scanned.ledger.kept == 3
    names = [built.raw.strings[n] if n >= 0 else "" for n in built.raw.slices.name]
    assert names == ["", "", ""]


def test_ids_as_numbers_text_hex_and_64_bits() -> None:
    ids = ['"0x1f"', "31", '"31"', "18446744073709551615", '"0xffffffffffffffff"', '"a-b"', "-7"]
    flows = [f'{{"ph":"s","ts":{i},"id":{id_}}},{{"ph":"f","ts":{i},"id":{id_}}}' for i, id_ in enumerate(ids)]
    raw = columns(f"[{','.join(flows)}]")[0].raw
    assert raw.flows is not None
    assert len(raw.flows.id) == 2 * len(ids)
    assert raw.flows.id[::2].tolist() == raw.flows.id[1::2].tolist()
    assert len({*raw.flows.id.tolist()}) == len(ids) - 2  # 0x1f, 31 and "31" are one
    assert ABSENT not in raw.flows.id


def test_flows_of_both_versions_and_instants_of_all_scopes_are_kept() -> None:
    events: list[dict[str, Any]] = [
        {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "bind_id": "0x9", "flow_out": True},
        {"ph": "X", "name": "b", "pid": 1, "tid": 2, "ts": 7, "dur": 5, "bind_id": "0x9", "flow_in": True},
        {"ph": "s", "name": "f", "id": 3, "pid": 1, "tid": 1, "ts": 2},
        {"ph": "t", "name": "f", "id": 3, "pid": 1, "tid": 2, "ts": 8},
        {"ph": "f", "name": "f", "id": 3, "pid": 1, "tid": 2, "ts": 9, "bp": "e"},
        *({"ph": p, "name": p, "pid": 1, "tid": 1, "ts": 3, "s": s} for p in "iI" for s in "gpt"),
    ]
    built, scanned = columns(json.dumps(events))
    assert scanned.ledger.kept == len(events)
    assert built.raw.flows is not None
    assert built.raw.marks is not None
    assert (len(built.raw.slices.start_ns), len(built.raw.flows.id), len(built.raw.marks.time_ns)) == (2, 3, 6)


def test_absurd_durations_and_times_are_kept_or_rejected_by_name(tmp_path: Path) -> None:
    times = [(0, 4_611_686_018_427_387), (0, 9_223_372_036_854_775), (-5, 2), (4_611_686_018_427_387, 1)]
    events = [kernel(f"k{i}", ts, dur) for i, (ts, dur) in enumerate(times)]
    trace = open_one(tmp_path, write_json(tmp_path / "a.json", events))
    assert trace.meta.ledger.reasons == {"time-out-of-range": (1, trace.meta.ledger.reasons["time-out-of-range"][1])}
    assert codes(trace)["time-out-of-range"] == 1
    assert len(trace) == 3


def test_nesting_of_ten_thousand_is_bounded_everywhere(tmp_path: Path) -> None:
    deep = "[" * 10_000 + "]" * 10_000
    slice_ = f'{{"ph":"X","name":"a","ts":1,"dur":1,"args":{{"a":{deep},"correlation":7}}}}'
    counter = f'{{"ph":"C","name":"c","ts":1,"args":{{"a":{deep}}}}}'
    path = tmp_path / "a.json"
    path.write_text(f'{{"schemaVersion":1,"x":{deep},"traceEvents":[{slice_},{counter}]}}')
    trace = open_one(tmp_path, path)
    assert (trace.meta.ledger.kept, int(trace.slices.corr[0])) == (2, 7)
    assert trace.args(0) == {}
    assert codes(trace)["counter-unreadable"] == 1
    path = tmp_path / "b.json"
    path.write_text('[{"frame":{"name":"x"},"metrics":{},"children":' + deep + "}]")
    assert "nested too deeply" in problem(tmp_path, path).sentence()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize(("behind", "noted"), [(b"", False), (b"\0" * 600, False), (b"garbage", True)])
def test_bytes_behind_the_compressed_data_are_told(
    tmp_path: Path, pack: Callable[[bytes], bytes], behind: bytes, noted: bool
) -> None:
    text = json.dumps([kernel("a"), kernel("b", 5)]).encode()
    path = tmp_path / "a.json.gz"
    path.write_bytes(pack(text[:50]) + pack(text[50:]) + behind)
    trace = open_one(tmp_path, path)
    assert (trace.meta.ledger.kept, trace.meta.complete) == (2, True)
    assert ("bytes-behind-compressed" in codes(trace)) is noted


@pytest.mark.parametrize("chunk", [300, 1 << 20])
def test_bytes_of_arguments_that_are_no_text_are_counted_once_per_event(chunk: int) -> None:
    def event(ph: str, name: bytes, args: bytes) -> bytes:
        return b'{"ph":"%s","name":"%s","pid":1,"ts":1,"dur":1,"args":{"a":"%s","n":1}}' % (ph.encode(), name, args)

    events = [
        *(event("X", b"a", b"x"), event("X", b"a", "\u00e9\u4e16".encode()), event("X", b"a", b"\xff\xff"), b"{}"),
        *(
            event("i", b"a", b"\xe4"),
            event("X", b"\xff", b"\xff"),
            event("X", b"\xff", b"x"),
            event("X", b'q"q', b"\xff"),
        ),
        event("E", b"a", b"\xff"),
    ]
    ledger = columns(b"[" + b",".join(events) + b"]", chunk=chunk)[1].ledger
    assert {k: n for k, (n, _) in ledger.reasons.items()} == {
        "args-text": 3,
        "text": 1,
        "quotes-or-brackets": 1,
        "empty": 1,
        "end-without-begin": 1,
    }
    assert (ledger.read, ledger.kept, ledger.repaired, ledger.rejected) == (9, 2, 5, 2)
