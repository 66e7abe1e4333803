"""The caching allocator with expandable_segments:True, as a FakeAllocator.

The rules are those of c10/cuda/CUDACachingAllocator.cpp: addresses are reserved once per stream, pool and size class;
pages of 2 MiB (small) or 20 MiB are mapped as they are needed and recorded as segment_map with the rounded range; a
free block is split where at least 512 bytes are left; what is unmapped are the whole pages inside of a free block; a
snapshot reports every stretch that is mapped in one piece as a segment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.support.memory import MIB, FakeAllocator, OutOfMemory, frames

SMALL_PAGE, LARGE_PAGE = 2 * MIB, 20 * MIB


@dataclass
class Part:
    """A stretch of reserved addresses: not mapped, free, in use, or waiting for its free."""

    address: int
    size: int
    state: str = "unmapped"
    requested: int = 0
    frames: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Area:
    """Reserved addresses of one stream, pool and size class."""

    stream: int
    pool: tuple[int, int]
    small: bool
    parts: list[Part]
    base: int

    @property
    def page(self) -> int:
        return SMALL_PAGE if self.small else LARGE_PAGE


class ExpandableAllocator(FakeAllocator):
    RESERVED = 1 << 38

    def __init__(self, capacity: int = 1 << 40, device: int = 0, start_us: int = 1_700_000_000_000_000) -> None:
        super().__init__(capacity, device, start_us)
        self.areas: list[Area] = []

    @property
    def total(self) -> int:
        return sum(p.size for a in self.areas for p in a.parts if p.state != "unmapped")

    def _event(self, action: str, address: int, size: int, stream: int, stack: Any, pool: tuple[int, int]) -> None:
        super()._event(action, address, size, stream, stack, pool)
        held = (p.size for a in self.areas for p in a.parts if p.state.startswith("active"))
        self.allocated[-1] = sum(held)

    def alloc(self, size: int, *stack: str, stream: int = 0, pool: tuple[int, int] = (0, 0)) -> int:
        told = self._stacks.setdefault(stack, frames(*stack))
        rounded = max(512, -(-size // 512) * 512)
        small = rounded <= MIB
        area = next((a for a in self.areas if (a.stream, a.pool, a.small) == (stream, pool, small)), None)
        if area is None:
            area = Area(stream, pool, small, [Part(self._next, self.RESERVED)], self._next)
            self._next += self.RESERVED
            self.areas.append(area)
        fits = [p for p in area.parts if p.state == "inactive" and p.size >= rounded]
        part = min(fits, key=lambda p: (p.size, p.address)) if fits else self._expand(area, rounded, size, told)
        if part.size - rounded >= 512:
            at = area.parts.index(part)
            area.parts.insert(at + 1, Part(part.address + rounded, part.size - rounded, "inactive"))
            part.size = rounded
        part.state, part.requested, part.frames = "active_allocated", size, told
        self._join(area)
        self._event("alloc", part.address, size, stream, told, pool)
        return part.address

    def _expand(self, area: Area, rounded: int, size: int, told: Any) -> Part:
        for again in (False, True):
            place = self._candidate(area, rounded)
            last = place[-1]
            missing = rounded - sum(p.size for p in place if p.state == "inactive")
            wanted = []
            for p in place:
                if p.state == "unmapped":
                    much = min(p.size, -(-missing // area.page) * area.page if p is last else p.size)
                    wanted.append((p, much))
                    missing -= much
            if self.total + self.others + sum(m for _, m in wanted) <= self.capacity:
                break
            if again:
                free = self.capacity - self.others - self.total
                self._event("oom", free, size, area.stream, told, area.pool)
                raise OutOfMemory
            self.release(told)
        for p, much in wanted:
            at = area.parts.index(p)
            if much < p.size:
                area.parts.insert(at + 1, Part(p.address + much, p.size - much))
                p.size = much
            p.state = "inactive"
            self._event("segment_map", p.address, p.size, area.stream, told, area.pool)
        begin = place[0].address
        self._join(area)
        return next(p for p in area.parts if p.address == begin)

    @staticmethod
    def _candidate(area: Area, rounded: int) -> list[Part]:
        """The first run of free and unmapped parts that is large enough."""
        run: list[Part] = []
        for p in area.parts:
            run = [*run, p] if p.state in ("inactive", "unmapped") else []
            if sum(r.size for r in run) >= rounded:
                return run
        raise AssertionError

    @staticmethod
    def _join(area: Area) -> None:
        joined: list[Part] = []
        for p in area.parts:
            if joined and p.state == joined[-1].state and p.state in ("inactive", "unmapped"):
                joined[-1].size += p.size
            else:
                joined.append(p)
        area.parts = joined

    def release(self, told: Any = ()) -> None:
        for area in self.areas:
            for p in [p for p in area.parts if p.state == "inactive"]:
                begin = area.base - (area.base - p.address) // area.page * area.page
                end = area.base + (p.address + p.size - area.base) // area.page * area.page
                if begin >= end:
                    continue
                at = area.parts.index(p)
                pieces = [Part(begin, end - begin)]
                if begin > p.address:
                    pieces.insert(0, Part(p.address, begin - p.address, "inactive"))
                if end < p.address + p.size:
                    pieces.append(Part(end, p.address + p.size - end, "inactive"))
                area.parts[at : at + 1] = pieces
                self._event("segment_unmap", begin, end - begin, area.stream, list(told), area.pool)
            self._join(area)

    def _part(self, address: int) -> tuple[Area, Part]:
        return next((a, p) for a in self.areas for p in a.parts if p.address == address and p.state.startswith("act"))

    def free(self, address: int, *, pending: bool = False) -> None:
        area, part = self._part(address)
        part.state = "active_pending_free"
        self._event("free_requested", address, part.requested, area.stream, part.frames, area.pool)
        if not pending:
            self.complete(address)

    def complete(self, address: int) -> None:
        area, part = self._part(address)
        requested, told = part.requested, part.frames
        part.state, part.requested, part.frames = "inactive", 0, []
        self._join(area)
        self._event("free_completed", address, requested, area.stream, told, area.pool)

    def mapped(self) -> list[tuple[int, int]]:
        """(address, bytes) of what is mapped in one piece."""
        return [(s["address"], s["total_size"]) for s in self.snapshot()["segments"]]

    def holes(self) -> list[tuple[int, int]]:
        """(address, bytes) of what is mapped and free, in one piece."""
        out: list[tuple[int, int]] = []
        for address, size in sorted((p.address, p.size) for a in self.areas for p in a.parts if p.state == "inactive"):
            if out and sum(out[-1]) == address:
                out[-1] = out[-1][0], out[-1][1] + size
            else:
                out.append((address, size))
        return out

    def snapshot(self, since: int = 0) -> dict[str, Any]:
        out = super().snapshot(since)
        segments: list[dict[str, Any]] = []
        for area in self.areas:
            last: dict[str, Any] | None = None
            for p in area.parts:
                if p.state == "unmapped":
                    last = None
                    continue
                if last is None:
                    last = {
                        "device": self.device, "address": p.address, "total_size": 0, "stream": area.stream,
                        "allocated_size": 0, "active_size": 0, "requested_size": 0, "is_expandable": True,
                        "segment_type": "small" if area.small else "large", "segment_pool_id": area.pool, "frames": [],
                        "blocks": [],
                    }  # fmt: skip
                    segments.append(last)
                last["total_size"] += p.size
                last["allocated_size"] += p.size if p.state == "active_allocated" else 0
                last["active_size"] += p.size if p.state != "inactive" else 0
                last["requested_size"] += p.requested if p.state == "active_allocated" else 0
                last["blocks"].append(
                    {"address": p.address, "size": p.size, "requested_size": p.requested or p.size, "state": p.state,
                     "frames": p.frames}
                )  # fmt: skip
        settings = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "expandable_segments": True}
        return out | {"segments": sorted(segments, key=lambda s: s["address"]), "allocator_settings": settings}
