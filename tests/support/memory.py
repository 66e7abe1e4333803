"""A small caching allocator that records what it does, as PyTorch's snapshots tell it: inputs with known truth.

    a = FakeAllocator(capacity=1 << 30)
    x = a.alloc(4 << 20, "forward")
    a.free(x)
    path.write_bytes(a.pickled())

It follows the public rules of the caching allocator: sizes are rounded to 512 bytes, requests up to 1 MiB come from
segments of 2 MiB, those below 10 MiB from segments of 20 MiB, larger ones from segments rounded to 2 MiB; the smallest
free block that fits is taken and split where the rest is worth it; free neighbours are joined.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

MIB = 1 << 20


class OutOfMemory(Exception):
    pass


@dataclass
class Piece:
    address: int
    size: int
    state: str = "inactive"
    requested: int = 0
    frames: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Held:
    address: int
    size: int
    stream: int
    pool: tuple[int, int]
    small: bool
    pieces: list[Piece]


def frames(*names: str) -> list[dict[str, Any]]:
    """Frames of a stack, innermost first; a name may say its file: "step:optimizer.py"."""
    out = []
    for name in names:
        function, _, file = name.partition(":")
        out.append({"name": function, "filename": f"/job/{file or 'train.py'}", "line": 10 + len(name)})
    return out


class FakeAllocator:
    def __init__(self, capacity: int = 1 << 40, device: int = 0, start_us: int = 1_700_000_000_000_000) -> None:
        self.capacity, self.device, self.now = capacity, device, start_us
        self.segments: list[Held] = []
        self.events: list[dict[str, Any]] = []
        self.annotations: list[dict[str, Any]] = []
        self.allocated: list[int] = []
        """Bytes in blocks (as they are occupied) after each event, until a free is completed."""
        self.reserved: list[int] = []
        self.others = 0
        """Bytes of the device that others hold."""
        self._next = 0x7F0000000000
        self._stacks: dict[tuple[str, ...], list[dict[str, Any]]] = {}

    def _event(self, action: str, address: int, size: int, stream: int, stack: Any, pool: tuple[int, int]) -> None:
        self.now += 7
        event = {
            "action": action, "addr": address, "size": size, "stream": stream, "time_us": self.now,
            "compile_context": "N/A", "user_metadata": "", "frames": stack, "pool_id": pool,
        }  # fmt: skip
        if action == "oom":
            event["device_free"] = event.pop("addr")
        self.events.append(event)
        self.allocated.append(sum(p.size for s in self.segments for p in s.pieces if p.state != "inactive"))
        self.reserved.append(self.total)

    @property
    def total(self) -> int:
        return sum(s.size for s in self.segments)

    def wait(self, us: int) -> None:
        self.now += us

    def begin(self, name: str) -> None:
        self.annotations.append({"stage": "START", "name": name, "device": self.device, "time_us": self.now})

    def end(self, name: str) -> None:
        self.annotations.append({"stage": "END", "name": name, "device": self.device, "time_us": self.now})

    def alloc(self, size: int, *stack: str, stream: int = 0, pool: tuple[int, int] = (0, 0)) -> int:
        told = self._stacks.setdefault(stack, frames(*stack))
        rounded = max(512, -(-size // 512) * 512)
        small = rounded <= MIB
        place = self._find(rounded, small, stream, pool)
        if place is None:
            self._grow(rounded, size, small, stream, pool, told)
            place = self._find(rounded, small, stream, pool)
            assert place is not None
        segment, piece = place
        rest = piece.size - rounded
        if rest >= 512 if small else rest > MIB:
            at = segment.pieces.index(piece)
            segment.pieces.insert(at + 1, Piece(piece.address + rounded, rest))
            piece.size = rounded
        piece.state, piece.requested, piece.frames = "active_allocated", size, told
        self._event("alloc", piece.address, size, stream, told, pool)
        return piece.address

    def _find(self, size: int, small: bool, stream: int, pool: tuple[int, int]) -> tuple[Held, Piece] | None:
        fits = [
            (p.size, p.address, s, p)
            for s in self.segments
            if (s.small, s.stream, s.pool) == (small, stream, pool)
            for p in s.pieces
            if p.state == "inactive" and p.size >= size
        ]
        return min(fits, key=lambda f: f[:2])[2:] if fits else None

    def _grow(self, rounded: int, size: int, small: bool, stream: int, pool: tuple[int, int], told: Any) -> None:
        wanted = 2 * MIB if small else (20 * MIB if rounded < 10 * MIB else -(-rounded // (2 * MIB)) * 2 * MIB)
        if self.total + self.others + wanted > self.capacity:
            self.release(told)
        if self.total + self.others + wanted > self.capacity:
            self._event("oom", self.capacity - self.others - self.total, size, stream, told, pool)
            raise OutOfMemory
        self.segments.append(Held(self._next, wanted, stream, pool, small, [Piece(self._next, wanted)]))
        self._next += wanted + 64 * MIB
        self._event("segment_alloc", self.segments[-1].address, wanted, stream, told, pool)

    def release(self, told: Any = ()) -> None:
        """Give segments that are free as a whole back to the device."""
        for segment in list(self.segments):
            if len(segment.pieces) == 1 and segment.pieces[0].state == "inactive":
                self.segments.remove(segment)
                self._event("segment_free", segment.address, segment.size, segment.stream, list(told), segment.pool)

    def _piece(self, address: int) -> tuple[Held, Piece]:
        return next((s, p) for s in self.segments for p in s.pieces if p.address == address and p.state != "inactive")

    def free(self, address: int, *, pending: bool = False) -> None:
        segment, piece = self._piece(address)
        piece.state = "active_pending_free"
        self._event("free_requested", address, piece.requested, segment.stream, piece.frames, segment.pool)
        if not pending:
            self.complete(address)

    def complete(self, address: int) -> None:
        segment, piece = self._piece(address)
        requested, told = piece.requested, piece.frames
        piece.state, piece.requested, piece.frames = "inactive", 0, []
        joined: list[Piece] = []
        for one in segment.pieces:
            if joined and one.state == joined[-1].state == "inactive":
                joined[-1].size += one.size
            else:
                joined.append(one)
        segment.pieces = joined
        self._event("free_completed", address, requested, segment.stream, told, segment.pool)

    def snapshot(self, since: int = 0) -> dict[str, Any]:
        """What a snapshot holds whose recording began after ``since`` events."""
        traces: list[list[dict[str, Any]]] = [[] for _ in range(self.device + 1)]
        traces[self.device] = self.events[since:]
        return {
            "segments": [
                {
                    "device": self.device, "address": s.address, "total_size": s.size, "stream": s.stream,
                    "allocated_size": sum(p.size for p in s.pieces if p.state == "active_allocated"),
                    "active_size": sum(p.size for p in s.pieces if p.state != "inactive"),
                    "requested_size": sum(p.requested for p in s.pieces if p.state == "active_allocated"),
                    "segment_type": "small" if s.small else "large", "segment_pool_id": s.pool,
                    "is_expandable": False, "frames": [],
                    "blocks": [
                        {"address": p.address, "size": p.size, "requested_size": p.requested or p.size,
                         "state": p.state, "frames": p.frames}
                        for p in s.pieces
                    ],
                }
                for s in self.segments
            ],
            "device_traces": traces,
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False},
            "external_annotations": list(self.annotations),
        }  # fmt: skip

    def pickled(self, protocol: int = 4, since: int = 0) -> bytes:
        return pickle.dumps(self.snapshot(since), protocol)


def profiler_events(a: FakeAllocator, pid: int = 100) -> list[dict[str, Any]]:
    """The same allocations as a profiler trace tells them: [memory] instants inside slices of who made them.

    Times are microseconds after the first event; steps are the annotations; totals count what is not freed yet.
    """
    zero = a.events[0]["time_us"] - 100
    out: list[dict[str, Any]] = []
    begun: dict[str, int] = {}
    for mark in a.annotations:
        if mark["stage"] == "START":
            begun[mark["name"]] = mark["time_us"]
            continue
        start = begun.pop(mark["name"])
        span = {"ph": "X", "cat": "user_annotation", "name": mark["name"], "pid": pid, "tid": 1}
        out.append(span | {"ts": start - zero, "dur": mark["time_us"] - start})
    sizes: dict[int, int] = {}
    level = 0
    for event, reserved in zip(a.events, a.reserved, strict=True):
        if event["action"] not in ("alloc", "free_requested"):
            continue
        at = event["time_us"] - zero
        size = -(-event["size"] // 512) * 512
        if event["action"] == "alloc":
            sizes[event["addr"]] = size
            names = [f"{f['filename'].removeprefix('/job/')}({f['line']}): {f['name']}" for f in event["frames"]]
            for depth, name in enumerate(reversed(names)):
                span = {"ph": "X", "cat": "python_function", "name": name, "pid": pid, "tid": 1}
                out.append(span | {"ts": at - 2 + 0.1 * depth, "dur": 3 - 0.2 * depth})
        else:
            size = -sizes.pop(event["addr"], size)
        level += size
        args = {"Total Reserved": reserved, "Total Allocated": level, "Bytes": size, "Addr": event["addr"]}
        args |= {"Device Id": a.device, "Device Type": 1}
        instant = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": pid, "tid": 1, "ts": at}
        out.append(instant | {"args": args})
    return out
