"""A snapshot of five million allocator events: opening it, what is computed of it afterwards, and frames of it."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.bench.figure import at_most

EVENTS: Final = 5_000_000
FRAMES: Final = 3000
DEPTH: Final = 20
SLOTS: Final = 20_000
_TEXTS: Final = (
    "action", "addr", "size", "stream", "time_us", "compile_context", "user_metadata", "frames", "pool_id", "alloc",
    "free_requested", "free_completed", "N/A", "", "name", "filename", "line",
)  # fmt: skip


def write_snapshot(path: Path, events: int, seed: int = 1) -> None:
    """A snapshot as Python's pickler writes it: keys and frames are shared, every event has a stack of its own."""
    rng = random.Random(seed)
    out = bytearray(b"\x80\x04")
    place: dict[Any, int] = {}

    def keep(key: Any, code: bytes) -> None:
        """Make a value, put it into the memo under the next number, and drop it."""
        out.extend(code + b"\x940")
        place[key] = len(place)

    def text(value: str) -> bytes:
        return b"\x8c" + bytes([len(value)]) + value.encode()

    def get(key: Any) -> bytes:
        return b"j" + struct.pack("<I", place[key])

    for value in _TEXTS:
        keep(value, text(value))
    for i in range(FRAMES):
        members = get("name") + text(f"f{i}") + get("filename") + text(f"/x/{i % 50}.py") + get("line") + b"M"
        keep(i, b"}(" + members + struct.pack("<H", i) + b"u")
    stacks = [b"]\x94(" + b"".join(get((k + 7 * i) % FRAMES) for i in range(DEPTH)) + b"e" for k in range(2000)]
    fixed = get("stream") + b"K\0" + get("compile_context") + get("N/A") + get("user_metadata") + get("")
    fixed += get("pool_id") + b"K\0K\0\x86\x94" + get("time_us") + b"\x8a\x07"
    actions = [get("action") + get(a) for a in ("alloc", "free_requested", "free_completed")]
    free, live = [0x7F0000000000 + (k << 21) for k in range(SLOTS)], []
    size = {}
    now = 1_700_000_000_000_000
    out += b"}(" + text("device_traces") + b"](]("
    with path.open("wb") as file:
        done = 0
        while done < events:
            if len(live) < SLOTS * 3 // 4 and (rng.random() < 0.34 or len(live) < 10):
                address = free.pop(rng.randrange(len(free)))
                size[address] = rng.randrange(512, 2 << 20)
                live.append(address)
                kinds = actions[:1]
            else:
                at = rng.randrange(len(live))
                address, live[at] = live[at], live[-1]
                live.pop()
                free.append(address)
                kinds = actions[1:]
            for kind in kinds:
                now += 3
                done += 1
                where = (
                    b"\x8a\x06" + struct.pack("<q", address)[:6] + get("size") + b"J" + struct.pack("<i", size[address])
                )
                stack = stacks[rng.randrange(len(stacks))]
                out += b"}\x94(" + kind + get("addr") + where + fixed + struct.pack("<q", now)[:7]
                out += get("frames") + stack + b"u"
                if done % 1000 == 0:
                    out += b"e("
            if len(out) > 1 << 22:
                file.write(out)
                out.clear()
        out += b"ee" + text("segments") + b"](" + b"".join(_segment(a, size[a]) for a in sorted(live)) + b"eu."
        file.write(out)


def _segment(address: int, size: int) -> bytes:
    import pickle

    block = {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": []}
    rest = {"address": address + size, "size": (2 << 20) - size, "requested_size": 0, "state": "inactive", "frames": []}
    segment = {
        "device": 0, "address": address, "total_size": 2 << 20, "stream": 0, "segment_type": "large",
        "blocks": [block, rest],
    }  # fmt: skip
    return _without_memo(pickle.dumps(segment, 2)[2:-1])


def _without_memo(code: bytes) -> bytes:
    """A small pickle's opcodes without what it keeps and uses again."""
    import pickletools

    texts: dict[int, str] = {}
    out = bytearray()
    last = ""
    places = [*pickletools.genops(b"\x80\x02" + code + b".")]
    for (opcode, argument, position), (_, _, after) in zip(
        places[1:], [*places[2:], (None, None, len(code) + 2)], strict=True
    ):
        if opcode.name == "BINPUT":
            texts[int(str(argument))] = last
        elif opcode.name == "BINGET":
            value = texts[int(str(argument))].encode()
            out += b"X" + struct.pack("<I", len(value)) + value
        elif opcode.name != "STOP":
            out += code[int(position or 0) - 2 : int(after or 0) - 2]
            last = str(argument)
    return bytes(out)


_CHILD: Final = """
import json, resource, sys, time
from pathlib import Path
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.analyses.memory.categories import held_rows
from viewer.analyses.memory.parts import categories_at_peak
from viewer.analyses.memory.figures import memory_figures
small, large, folder = map(Path, sys.argv[1:4])
cache = Cache(folder / "cache")
JobOpener([small], cache=cache, workers=1).open()
told = {}
def timed(name, run):
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    told[name], told[name + " cpu"] = time.perf_counter() - wall, time.process_time() - cpu
    return found
result = timed("open", lambda: JobOpener([large], cache=cache, workers=1).open())
item = result.session.inputs[0]
told["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
told["events"] = len(item.trace.tables["allocator_events"])
timed("figures", lambda: memory_figures(item.trace))
timed("categories", lambda: categories_at_peak(result.session, item, 0))
timed("held", lambda: held_rows(item.trace, 0, told["events"] // 2))
timed("reopen", lambda: JobOpener([large], cache=cache, workers=1).open())
print(json.dumps(told))
"""


def figures(folder: Path, scale: float) -> Iterator[dict[str, Any]]:
    """Figures of one run in a process of its own, compiled code warm."""
    events = int(EVENTS * scale)
    small, large = folder / "small.pickle", folder / "large.pickle"
    write_snapshot(small, 2000)
    write_snapshot(large, events)
    command = [sys.executable, "-c", _CHILD, str(small), str(large), str(folder)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert told["events"] >= events
    what = f"a snapshot of {events:,} events, {large.stat().st_size / 2**20:,.0f} MiB"
    yield at_most(f"opening {what}", told["open"], "s", 10)
    yield at_most("its CPU time", told["open cpu"], "s", 10)
    yield at_most("its peak memory", told["peak"], "GiB", 1.5)
    yield at_most("opening it again", told["reopen"], "s", 2)
    yield at_most("its figures", told["figures"], "s", 1)
    yield at_most("its categories", told["categories"], "s", 2)
    yield at_most("what is held at an instant", told["held"], "s", 0.1)
    from tests.bench.memory_frames import lanes, maps

    yield from lanes(large, folder)
    large.unlink()
    twice = folder / "twice.pickle"
    write_snapshot(twice, 2 * events)
    yield from maps(twice, folder)
