"""Why a device did nothing: the host was late, the launch took its time, or queued work had to wait."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from viewer.analyses.attribution import Gap, attribute, device_gaps, device_span
from viewer.analyses.gpu_work import gpu_work, unions
from viewer.analyses.host_time import HostSlice, blocks_host, draining_call, host_activity
from viewer.analyses.idleness.parts import CAUSES, HOST, LAUNCH, SLOW_START, Parts, gap_parts, idle_parts
from viewer.analyses.idleness.split import DEPENDENCY_CAUSES, Split, device_split, has_sync_events, lane_split
from viewer.base.ids import ABSENT, LaneKind
from viewer.jit.intervals import clip, total
from viewer.store.trace import Trace

__all__ = ["GapCause", "HostSlice", "IdleSplit", "blocks_host", "gap_cause", "host_activity", "idle", "lane_gap_cause"]


@dataclass(frozen=True, slots=True)
class IdleSplit:
    """Idle time of one device by cause, ns; the four parts sum to idle, the causes to their part (asserted).

    For a gap [a, b) with L = begin of the call of the first GPU work that starts at b: host = [a, min(L, b)); launch =
    [L, b) when L > a; dependency = all of it when L <= a (the work was already queued); unknown = no link, or no next
    work. ``host_causes`` charges host time to what the launching thread did (its deepest open slice). Data loading,
    garbage collection, recompilation and allocator calls are everything inside their ranges; of the rest, a gap that
    began while a blocking call waited is "sync-drain". See :mod:`viewer.analyses.idleness.parts`.
    ``dependency_causes``: see :data:`DEPENDENCY_CAUSES`; without sync events in the file they are inferred.
    """

    host_ns: int
    launch_ns: int
    dependency_ns: int
    unknown_ns: int
    host_causes: dict[str, int] = field(default_factory=dict)
    dependency_causes: dict[str, int] = field(default_factory=dict)
    launch_causes: dict[str, int] = field(default_factory=dict)
    has_sync_events: bool = False

    @property
    def idle_ns(self) -> int:
        """The sum of the parts."""
        return self.host_ns + self.launch_ns + self.dependency_ns + self.unknown_ns


def idle(trace: Trace, device: int, window: tuple[int, int] | None = None) -> IdleSplit | None:
    """The idle time of a device over a window of raw ns (or its whole span) by cause; None without GPU work."""
    figures = attribute(trace, device, window)
    if figures is None:
        return None
    if window is None:
        split, parts = idle_parts(trace, device)
    else:
        split = device_split(trace, device, *device_gaps(trace, device, window))
        parts = gap_parts(trace, device, split)
    host_causes, dependency, launch = _causes(parts)
    result = IdleSplit(
        int(split.host.sum()),
        int(split.launch.sum()),
        int(split.dependency.sum()),
        int(split.unknown.sum()),
        host_causes,
        dependency,
        launch,
        has_sync_events(trace),
    )
    if (
        result.idle_ns != figures.idle_ns
        or sum(host_causes.values()) != result.host_ns
        or sum(dependency.values()) != result.dependency_ns
        or sum(launch.values()) != result.launch_ns
    ):
        raise AssertionError(f"the causes of idle time add up to {result.idle_ns}, not to {figures.idle_ns} ns")
    return result


def _causes(parts: Parts) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Host, dependency and launch time by cause."""
    sums = dict(zip(CAUSES, parts.sums().tolist(), strict=True))
    host, dependency, launch = (
        {c: sums[c] for c in names if sums[c]} for names in (HOST, DEPENDENCY_CAUSES, (LAUNCH, SLOW_START))
    )
    return host, dependency, launch


@dataclass(frozen=True, slots=True)
class GapCause:
    """Why one gap of a device was idle. Raw ns of the file.

    ``gap`` has the neighbours; ``call_row`` is the call that launched the work after it (-1: not linked), on ``lane``
    (-1: unknown). ``drained_by`` is the blocking call that was waiting when the device ran dry (-1: none).
    ``host``: what the launching thread did from the gap's start to its end, longest own time first.
    ``dependency_cause`` is "" unless the next work was already queued; ``inferred`` says that no sync events back it.
    """

    gap: Gap
    split: IdleSplit
    call_row: int
    lane: int
    call_start_ns: int | None
    drained_by: int
    dependency_cause: str
    inferred: bool
    host: tuple[HostSlice, ...]
    busy_elsewhere_ns: int
    """How long the device ran work inside the range: 0 for a gap of the device, not for a gap of one stream."""


def gap_cause(trace: Trace, device: int, start_ns: int, end_ns: int, top: int = 12) -> GapCause | None:
    """Why a device did nothing in [start, end) of raw ns; None when it has work there or the range is empty.

    The range may be a part of a gap (a window cut it).
    """
    lo, hi = device_gaps(trace, device, (start_ns, end_ns))
    if len(lo) != 1 or int(lo[0]) != start_ns or int(hi[0]) != end_ns or device_span(trace, device) is None:
        return None
    return _cause(trace, device, device_split(trace, device, lo, hi), top)


def lane_gap_cause(trace: Trace, lane: int, start_ns: int, end_ns: int, top: int = 12) -> GapCause | None:
    """Why one stream did nothing in [start, end) of raw ns: as :func:`gap_cause` for the stream's own next work.

    The device may run other streams meanwhile: ``busy_elsewhere_ns`` says how long. None when the lane is no stream or
    the range is empty.
    """
    item = trace.lanes[lane]
    if item.kind is not LaneKind.STREAM or end_ns <= start_ns or not (gpu_work(trace).lane == lane).any():
        return None
    one = np.array([start_ns], np.int64), np.array([end_ns], np.int64)
    device = ABSENT if item.device is None else item.device
    return _cause(trace, device, lane_split(trace, lane, *one), top)


def _drained_by(trace: Trace, split: Split) -> int:
    """The blocking call that had drained the queue before the only gap of a split."""
    call = int(split.call[0])
    began = trace.slices.start_ns[call : call + 1]
    return int(draining_call(trace, trace.lane_of(call).id, split.whole_start, began)[0])


def _cause(trace: Trace, device: int, split: Split, top: int) -> GapCause:
    work = gpu_work(trace)
    start_ns, end_ns = int(split.start[0]), int(split.end[0])
    call, before, after = int(split.call[0]), int(split.before[0]), int(split.after[0])
    host_causes, dependency, launch = _causes(gap_parts(trace, device, split))
    kind = next(iter(dependency), "")
    parts = IdleSplit(
        int(split.host[0]),
        int(split.launch[0]),
        int(split.dependency[0]),
        int(split.unknown[0]),
        host_causes,
        dependency,
        launch,
        has_sync_events(trace),
    )
    lane = trace.lane_of(call).id if call >= 0 else -1
    return GapCause(
        gap=Gap(
            start_ns,
            end_ns,
            int(work.index[before]) if before >= 0 else -1,
            int(work.index[after]) if after >= 0 else -1,
            int(split.whole_start[0]),
            int(work.start_ns[after]) if after >= 0 else end_ns,
        ),
        split=parts,
        call_row=call,
        lane=lane,
        call_start_ns=int(trace.slices.start_ns[call]) if call >= 0 else None,
        drained_by=_drained_by(trace, split) if parts.host_ns else -1,
        dependency_cause=kind,
        inferred=bool(kind) and not parts.has_sync_events,
        host=host_activity(trace, lane, start_ns, end_ns, top) if lane >= 0 else (),
        busy_elsewhere_ns=total(*clip(*unions(trace, device).busy, start_ns, end_ns)),
    )
