"""Allocator snapshots: every field against a plain reading of the same pickle, and files that are traps."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.memory import MIB, FakeAllocator, OutOfMemory
from tests.support.memory_job import Planted, training
from tests.viewer.importers.texts import open_job, open_one
from viewer.analyses.memory.figures import memory_figures
from viewer.analyses.memory.parts import categories_at_peak
from viewer.analyses.memory.ranges import large_page
from viewer.base.allocator import BEFORE, NEVER, Action, BlockEnd
from viewer.base.errors import InputError
from viewer.base.ids import ABSENT
from viewer.importers.base import ImportJob
from viewer.importers.registry import importer_of
from viewer.importers.source import FileSource
from viewer.importers.torch_snapshot import TorchSnapshotImporter
from viewer.store.assemble import assemble
from viewer.store.pack import check_values
from viewer.store.rules import shipped_rules
from viewer.store.trace import Trace


def opened(tmp_path: Path, data: bytes, name: str = "snapshot.pickle") -> Trace:
    path = tmp_path / name
    path.write_bytes(data)
    result = open_job(tmp_path, path)
    if result.failures:
        raise result.failures[0]
    return result.session.inputs[0].trace


def busy(seed: int = 1, steps: int = 120) -> FakeAllocator:
    """An allocator after many random requests and frees, some of which are pending."""
    rng = random.Random(seed)
    a = FakeAllocator(capacity=400 * MIB)
    held: list[int] = []
    pending: list[int] = []
    for _ in range(steps):
        choice = rng.random()
        if choice < 0.55 or not held:
            try:
                stream = rng.choice((0, 0, 7))
                pool = rng.choice(((0, 0), (0, 0), (0, 3)))
                size = rng.choice((100, 4096, 3 * MIB, 12 * MIB))
                held.append(a.alloc(size, rng.choice(("a", "b")), "main", stream=stream, pool=pool))
            except OutOfMemory:
                a.free(held.pop(0))
        elif choice < 0.9:
            one = held.pop(rng.randrange(len(held)))
            late = rng.random() < 0.3
            a.free(one, pending=late)
            pending += [one] if late else []
        elif pending:
            a.complete(pending.pop(0))
    return a


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_events_and_state_are_as_a_plain_reading_gives_them(tmp_path: Path, protocol: int) -> None:
    a = busy()
    trace = opened(tmp_path, a.pickled(protocol))
    e, t = trace.tables["allocator_events"], a.snapshot()
    told = t["device_traces"][0]
    assert [Action(x).name.lower() for x in e.action.tolist()] == [x["action"] for x in told]
    assert e.address.tolist() == [x.get("addr", x.get("device_free")) for x in told]
    assert e.size.tolist() == [x["size"] for x in told]
    assert e.stream.tolist() == [x["stream"] for x in told]
    assert e.time_ns.tolist() == [x["time_us"] * 1000 for x in told]
    assert [trace.text(p) for p in e.pool.tolist()] == [str(x["pool_id"]) for x in told]
    assert [stack_of(trace, s) for s in e.stack.tolist()] == [
        [(f["name"], f["filename"], f["line"]) for f in x["frames"]] for x in told
    ]
    s = trace.tables["segments"]
    at_end = s.at_end == 1
    assert s.address[at_end].tolist() == [x["address"] for x in t["segments"]]
    assert s.size[at_end].tolist() == [x["total_size"] for x in t["segments"]]
    holes = trace.tables["holes"]
    free = [(b["address"], b["size"]) for x in t["segments"] for b in x["blocks"] if b["state"] == "inactive"]
    assert list(zip(holes.address.tolist(), holes.size.tolist(), strict=True)) == free
    active = {(b["address"], b["size"]) for x in t["segments"] for b in x["blocks"] if b["state"] != "inactive"}
    b = trace.tables["blocks"]
    there = np.isin(b.end, (BlockEnd.ALLOCATED, BlockEnd.PENDING))
    assert set(zip(b.address[there].tolist(), b.size[there].tolist(), strict=True)) == active
    assert trace.meta.ledger.balanced()


def stack_of(trace: Trace, number: int) -> list[tuple[str, str, int]]:
    if number < 0:
        return []
    s, f = trace.tables["stacks"], trace.tables["frames"]
    frames = trace.tables["stack_frames"].frame[s.begin[number] : s.end[number]]
    return [(trace.text(f.name[i]), trace.text(f.file[i]), int(f.line[i])) for i in frames]


@pytest.mark.parametrize("since", [0, 1, 17, 60, 150])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_levels_agree_with_the_allocator_itself_however_late_recording_began(
    tmp_path: Path, seed: int, since: int
) -> None:
    a = busy(seed)
    trace = opened(tmp_path, a.pickled(since=since))
    e, d = trace.tables["allocator_events"], trace.tables["memory_devices"]
    assert e.reserved.tolist() == a.reserved[since:]
    before = d.reserved_before[0]
    assert before == (a.reserved[since - 1] if since else 0)
    allocated, live = brute_levels(trace)
    assert e.allocated.tolist() == allocated
    assert e.live.tolist() == live
    assert int(d.final_allocated[0] + d.final_pending[0]) == a.allocated[-1] == allocated[-1]
    assert d.contradictions[0] == d.ghosts[0] == 0


def brute_levels(trace: Trace) -> tuple[list[int], list[int]]:
    """Bytes after each event, by looking at every block at every event."""
    b = trace.tables["blocks"]
    rows = range(len(trace.tables["allocator_events"]))
    made = [-1 if s == BEFORE else e for s, e in zip(b.start_ns.tolist(), b.made_event.tolist(), strict=True)]
    ends = []
    for when, event in ((b.end_ns, b.gone_event), (b.asked_ns, b.asked_event)):
        ends.append(
            [len(rows) if w == NEVER else (-1 if w == BEFORE else e)
             for w, e in zip(when.tolist(), event.tolist(), strict=True)]
        )  # fmt: skip
    gone, asked = ends
    sizes = b.size.tolist()
    allocated = [sum(s for s, m, g in zip(sizes, made, gone, strict=True) if m <= i < g) for i in rows]
    live = [sum(s for s, m, g in zip(sizes, made, asked, strict=True) if m <= i < g) for i in rows]
    return allocated, live


def test_late_recording_by_hand(tmp_path: Path) -> None:
    """A block freed that was never seen made, one in no event, one free that is asked for but not done."""
    base = 0x7F0000000000

    def event(action: str, address: int, size: int, us: int) -> dict[str, Any]:
        return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": us, "frames": []}

    def block(address: int, size: int, state: str) -> dict[str, Any]:
        return {"address": address, "size": size, "requested_size": size, "state": state, "frames": []}

    snapshot = {
        "segments": [
            {
                "device": 0, "address": base, "total_size": 1000, "stream": 0, "segment_type": "large",
                "segment_pool_id": (0, 0), "allocated_size": 350, "active_size": 450, "frames": [],
                "blocks": [
                    block(base, 300, "active_allocated"), block(base + 300, 50, "active_allocated"),
                    block(base + 350, 150, "inactive"), block(base + 500, 100, "active_pending_free"),
                    block(base + 600, 400, "inactive"),
                ],
            }
        ],
        "device_traces": [
            [
                event("free_requested", base + 300, 60, 10), event("free_completed", base + 300, 60, 11),
                event("alloc", base + 500, 100, 20), event("free_requested", base + 500, 100, 30),
                event("alloc", base + 300, 50, 40),
            ]
        ],
    }  # fmt: skip
    trace = opened(tmp_path, pickle.dumps(snapshot))
    e, d = trace.tables["allocator_events"], trace.tables["memory_devices"]
    assert e.allocated.tolist() == [360, 300, 400, 400, 450]
    assert e.live.tolist() == [300, 300, 400, 300, 350]
    named = {c: int(getattr(d, c)[0]) for c in ("allocated_before", "live_before", "final_allocated", "final_pending")}
    assert named == {"allocated_before": 360, "live_before": 360, "final_allocated": 350, "final_pending": 100}
    assert (d.final_inactive[0], d.unseen_frees[0], d.never_seen[0], d.final_reserved[0]) == (550, 1, 1, 1000)
    b = trace.tables["blocks"]
    rows = list(zip(b.size.tolist(), b.start_ns.tolist(), b.asked_ns.tolist(), b.end_ns.tolist(), strict=True))
    assert sorted(rows) == [
        (50, 40_000, NEVER, NEVER),
        (60, BEFORE, 10_000, 11_000),
        (100, 20_000, 30_000, NEVER),
        (300, BEFORE, NEVER, NEVER),
    ]
    assert {f.code for f in trace.meta.findings} >= {"memory-made-before", "memory-never-in-events"}


def test_schema_of_2023(tmp_path: Path) -> None:
    """No addresses of blocks, no times, requested bytes and stacks in a history; its list of segments alone as well."""
    told = [{"name": "f", "filename": "x.py", "line": 3}]
    segments = [
        {
            "device": 1, "address": 4096, "total_size": 2048, "allocated_size": 512, "active_size": 512, "stream": 0,
            "segment_type": "small",
            "blocks": [
                {"size": 1024, "state": "inactive"},
                {"size": 512, "state": "active_allocated",
                 "history": [{"addr": 5120, "real_size": 400, "frames": told}]},
                {"size": 512, "state": "inactive"},
            ],
        }
    ]  # fmt: skip
    events = [{"action": "alloc", "addr": 5120, "size": 400, "stream": 0, "frames": told}]
    both = {"segments": segments, "device_traces": [[], events]}
    for number, data in enumerate((both, segments)):
        trace = opened(tmp_path, pickle.dumps(data), f"{number}.pickle")
        b, d = trace.tables["blocks"], trace.tables["memory_devices"]
        assert (d.name[0].as_py(), d.final_allocated[0], d.final_reserved[0]) == ("cuda:1", 512, 2048)
        assert (b.address[0], b.size[0], b.requested[0]) == (5120, 512, 400)
        assert stack_of(trace, int(b.stack[0])) == [("f", "x.py", 3)]
        assert trace.meta.first_ns is None
        holes = trace.tables["holes"]
        assert list(zip(holes.address.tolist(), holes.size.tolist(), strict=True)) == [(4096, 1024), (5632, 512)]
    assert "memory-without-times" in {f.code for f in opened(tmp_path, pickle.dumps(both)).meta.findings}


def test_annotations_become_slices(tmp_path: Path) -> None:
    a = FakeAllocator()
    a.begin("ProfilerStep#1")
    a.alloc(100, "x")
    a.end("ProfilerStep#1")
    a.begin("never ends")
    trace = opened(tmp_path, a.pickled())
    assert [trace.name(i) for i in range(len(trace))] == ["ProfilerStep#1"]
    assert trace.slices.dur_ns.tolist() == [14_000]
    assert "annotation-without-end" in {f.code for f in trace.meta.findings}


def test_a_high_address_keeps_its_bits(tmp_path: Path) -> None:
    event = {"action": "alloc", "addr": 0xFF00_FFFF_FFE0_0000, "size": 5, "stream": 0, "time_us": 5, "frames": []}
    trace = opened(tmp_path, pickle.dumps({"segments": [], "device_traces": [[event]]}))
    assert int(trace.tables["blocks"].address.view(np.uint64)[0]) == event["addr"]


def test_devices_of_other_vendors_are_told_by_their_settings(tmp_path: Path) -> None:
    told = busy(1, 20).snapshot() | {"allocator_settings": {"PYTORCH_NPU_ALLOC_CONF": "x"}}
    trace = opened(tmp_path, pickle.dumps(told))
    assert trace.tables["memory_devices"].name[0].as_py() == "npu:0"
    assert trace.meta.facts == {"allocator_settings": {"PYTORCH_NPU_ALLOC_CONF": "x"}}


def test_devices_of_other_vendors_are_told_by_c_frames(tmp_path: Path) -> None:
    a = FakeAllocator()
    a.alloc(MIB, "malloc:XPUCachingAllocator.cpp", "step")
    for stack in a._stacks.values():
        stack[0]["name"] = "c10::xpu::XPUCachingAllocator::malloc(unsigned long)"
    found = a.snapshot()
    del found["allocator_settings"]
    for segment in found["segments"]:
        del segment["segment_pool_id"]  # there is none on XPU
    assert opened(tmp_path, pickle.dumps(found)).tables["memory_devices"].name.to_pylist() == ["xpu:0"]


def test_schema_of_2026(tmp_path: Path) -> None:
    """Frames with what torch.fx made of them, settings within settings, and keys that nobody knows yet."""
    a = training(Planted(steps=2))
    plain, found = opened(tmp_path, a.pickled()), a.snapshot()
    for frames in a._stacks.values():
        for frame in frames:
            frame |= {
                "fx_node_op": "output", "fx_node_name": "linear", "fx_original_trace": "m.py", "fx_node_info": {},
            }  # fmt: skip
    for event in found["device_traces"][0]:
        event |= {"compile_context": "0/1", "user_metadata": "warm", "forward_frames": ["a", "b"]}
    for segment in found["segments"]:
        segment["registration_counter"] = -1
    found["allocator_settings"] |= {
        "PYTORCH_ALLOC_CONF": "large_segment_size_mb:40", "roundup_power2_divisions": {"1": 0, "256": 4},
        "garbage_collection_threshold": 0.0, "max_cached_size": 2**64 - 1, "graph_capture_record_stream_reuse": False,
    }  # fmt: skip
    trace = opened(tmp_path, pickle.dumps(found))
    for name in ("allocated", "live", "reserved", "size", "address"):
        columns = (getattr(t.tables["allocator_events"], name).tolist() for t in (plain, trace))
        assert next(columns) == next(columns)
    assert len(trace.tables["stacks"]) == len(plain.tables["stacks"])
    assert {trace.text(n) for n in trace.tables["allocator_events"].note.tolist()} == {"warm"}
    assert large_page(trace) == 40 * MIB
    assert large_page(plain) == 20 * MIB


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("state", [False, True])
def test_a_recording_that_skips_completed_frees(tmp_path: Path, pending: bool, state: bool) -> None:
    """_record_memory_history(skip_actions=["free_completed"])."""
    a = busy(2)
    x = a.alloc(3 * MIB, "f")
    a.free(x, pending=pending)
    for p in [p for s in a.segments for p in s.pieces if p.state == "active_pending_free"]:
        if p.address != x:
            a.complete(p.address)
    want = opened(tmp_path, a.pickled()).tables["memory_devices"]
    found = a.snapshot()
    found["device_traces"][0] = [e for e in found["device_traces"][0] if e["action"] != "free_completed"]
    if not state:
        del found["segments"]
    trace = opened(tmp_path, pickle.dumps(found))
    d, e = trace.tables["memory_devices"], trace.tables["allocator_events"]
    assert d.contradictions[0] == d.ghosts[0] == 0
    assert (d.final_pending[0], d.final_allocated[0]) == (
        (want.final_pending[0], want.final_allocated[0]) if state else (0, e.allocated[-1])
    )
    assert "memory-frees-not-completed" in {f.code for f in trace.meta.findings}
    if state:
        requests = [k for k, x in enumerate(a.events) if x["action"] != "free_completed"]
        live = opened(tmp_path, a.pickled()).tables["allocator_events"].live[requests]
        assert (e.allocated[-2:] - live[-2:]).tolist() == [0, 3 * MIB if pending else 0]


def test_a_recording_without_allocations_says_so(tmp_path: Path) -> None:
    a = FakeAllocator()
    for _ in range(3):
        a.free(a.alloc(MIB, "f"))
    found = a.snapshot()
    found["device_traces"][0] = [e for e in found["device_traces"][0] if e["action"] != "alloc"]
    (told,) = (f for f in opened(tmp_path, pickle.dumps(found)).meta.findings if "left-out" in f.code)
    assert told.count == 2


def test_a_snapshot_of_a_profile_is_the_hosts_memory_with_its_categories(tmp_path: Path) -> None:
    """As torch.cuda._memory_viz.profile_plot makes it: the last device is the host, segments are spans of addresses."""
    frame = {"filename": "none", "line": 0}
    frames = [frame | {"name": "<built-in method empty>"}, frame | {"name": "train.py(12): keep"}]

    def event(action: str, address: int, size: int, **more: Any) -> dict[str, Any]:
        return {"action": action, "addr": address, "size": size, "stream": 0, "frames": frames} | more

    block = {"size": 100, "state": "active_allocated", "requested_size": 100, "frames": frames}
    found = {
        "device_traces": [
            [],
            [event("alloc", 5000, 100, category="parameter"), event("alloc", 9000, 50, category="activation"),
             event("free_requested", 9000, 50), event("free_completed", 9000, 50)],
        ],
        "segments": [
            {"device": 1, "address": 1000, "total_size": 4100, "stream": 0,
             "blocks": [block | {"frames": []}, {"size": 3900, "state": "inactive"}, block]},
        ],
    }  # fmt: skip
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps(found))
    session = open_job(tmp_path, path).session
    trace = session.inputs[0].trace
    (f,) = memory_figures(trace)
    assert (f.device, f.timed, f.peak_allocated, f.final_allocated, f.allocated_before) == ("cpu", False, 250, 200, 100)
    assert f.peak_reserved is f.final_reserved is f.inactive is f.pools is f.unused_reserve_at_peak is None
    parts = categories_at_peak(session, session.inputs[0], 0) or {}
    assert (parts["weights"], parts["activations"], sum(parts.values())) == (100, 50, 250)
    assert stack_of(trace, int(trace.tables["allocator_events"].stack[0])) == [
        ("<built-in method empty>", "", 0), ("keep", "train.py", 12)
    ]  # fmt: skip


def test_events_that_make_no_sense_are_rejected_and_counted(tmp_path: Path) -> None:
    good = {"action": "alloc", "addr": 1, "size": 5, "stream": 0, "time_us": 5, "frames": []}
    bad = [good | {"size": "five"}, good | {"addr": None}, good | {"time_us": 1 << 61}, {"action": "alloc"}]
    trace = opened(tmp_path, pickle.dumps({"segments": [], "device_traces": [[good, *bad]]}))
    ledger = trace.meta.ledger
    assert (ledger.read, ledger.kept, ledger.rejected) == (5, 1, 4)
    assert len(trace.tables["allocator_events"]) == 1


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch HARM",)


TEN_GB = (10 << 30).to_bytes(8, "little")
TRAPS = {
    "code": (pickle.dumps({"segments": [Evil()], "device_traces": []}), "asks to run code (posix.system)"),
    "code of protocol 2": (pickle.dumps({"segments": Evil()}, 2), "asks to run code (posix.system)"),
    "code first": (b"\x80\x02cos\nsystem\n(S'ls'\ntR.", "asks to run code (os.system)"),
    "deep": (b"\x80\x04\x8c\x08segments" + b"](" * 100_000, "nests deeper"),
    "claim of bytes": (b"\x80\x04\x8c\x08segments\x8e" + TEN_GB + b"x", "10,737,418,240 bytes"),
    "claim of text": (b"\x80\x04\x8c\x08segments\x8d" + TEN_GB + b"x", "10,737,418,240 bytes"),
    "negative claim": (b"\x80\x04\x8c\x08segments\x8d" + b"\xff" * 8, "bytes"),
    "claim of a frame": (b"\x80\x04\x8c\x08segments\x95" + TEN_GB + b"}", "cut off"),
    "far memo": (b"\x80\x04\x8c\x08segmentsr\xff\xff\xff\x7f.", "absurd number"),
    "lost memo": (b"\x80\x04\x8c\x08segmentsh\x09.", "never kept"),
    "nothing to take": (b"\x80\x04\x8c\x08segments0000.", "not there"),
    "wrong place": (b"\x80\x04\x8c\x08segments\x8c\x01aa.", "does not belong"),
    "unknown opcode": (b"\x80\x04\x8c\x08segments\xfe.", "opcode"),
    "persistent id": (b"\x80\x04\x8c\x08segmentsQ.", "asks to run code"),
    "future protocol": (b"\x80\x04\x8c\x08segments\x80\x09.", "protocol 9"),
    "cut": (busy(1, 20).pickled()[:-40], "cut off"),
    "another pickle": (pickle.dumps({"a": 1}), "without the segments"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_traps_are_refused_with_a_sentence_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    data, said = TRAPS[name]
    with pytest.raises(InputError) as caught:
        opened(tmp_path, data)
    assert said in caught.value.problem
    assert caught.value.next_step
    assert "\n" not in caught.value.sentence()
    assert not (tmp_path / "HARM").exists()


@pytest.mark.parametrize(
    "data",
    [pickle.dumps({"segments": []}, 0), pickle.dumps({"segments": []}, 1), pickle.dumps([[1]], 0), b"cos\nsystem\n."],
)
def test_pickles_of_old_protocols_are_called_that(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match="is a Python pickle of protocol 0 or 1; 2 to 5 are read"):
        opened(tmp_path, data)


def test_mutated_snapshots_open_or_are_refused(tmp_path: Path) -> None:
    whole = busy(4, 25).pickled(4)
    rng = random.Random(7)
    refused, path = 0, tmp_path / "mutated"
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(data))
            kind = rng.random()
            if kind < 0.6:
                data[at] = rng.randrange(256)
            elif kind < 0.8:
                del data[at : at + rng.randrange(1, 30)]
            else:
                data[at:at] = data[(start := rng.randrange(len(data))) : start + rng.randrange(1, 60)]
        path.write_bytes(data)
        source = FileSource(path)
        try:
            job = ImportJob(source, source.stamp(), shipped_rules(), lambda _: None)
            found = TorchSnapshotImporter().read(job)
        except InputError:
            refused += 1
        else:
            check_values(Trace.in_memory(found.meta, assemble(found.raw, shipped_rules())))
    assert 20 < refused < 300


def test_a_snapshot_is_known_under_any_name_and_compressed(tmp_path: Path) -> None:
    import gzip

    for name, data in (("x", busy().pickled(2)), ("y.bin", gzip.compress(busy().pickled(5)))):
        path = tmp_path / name
        path.write_bytes(data)
        importer, sure = importer_of(path)
        assert (importer.name, sure) == ("torch-snapshot", 3)
        assert len(open_one(tmp_path, path).tables["allocator_events"]) > 100


def test_samples_open_and_end_with_their_blocks(shared: Path, tmp_path: Path) -> None:
    paths = sorted((shared / "data" / "memory").glob("*.pickle"))
    assert paths
    for path in paths:
        trace = open_one(tmp_path, path)
        with path.open("rb") as file:
            told = _Plain(file).load()
        held = [b for s in told["segments"] for b in s["blocks"] if b["state"] != "inactive"]
        e, d = trace.tables["allocator_events"], trace.tables["memory_devices"]
        assert e.allocated[-1] == sum(b["size"] for b in held) == d.final_allocated[0] + d.final_pending[0]
        assert e.allocated.tolist() == replayed(told, held)
        assert ABSENT not in e.reserved.tolist()


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise AssertionError((module, name))


def replayed(told: dict[str, Any], held: list[dict[str, Any]]) -> list[int]:
    """Bytes after each event, worked back from the end; blocks of the end count as they lie there."""
    size = {b["address"]: b["size"] for b in held}
    level, out = sum(size.values()), []
    for event in reversed(told["device_traces"][0]):
        out.append(level)
        if event["action"] == "alloc":
            level -= size.pop(event["addr"], event["size"])
        elif event["action"] == "free_completed":
            size[event["addr"]] = event["size"]
            level += event["size"]
    return out[::-1]
