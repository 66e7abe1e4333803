"""A demo job with known truth: traces of all ranks of a small training run, as PyTorch's profiler writes them.

Nothing here is measured: a fixed programme (viewer.app.demo.steps) is played on a simulated clock. The same arguments
give the same bytes. Two things are wrong with the job on purpose, and truth.json says so: one rank computes slower than
the others, and one rank waits for data in one step.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from viewer.app.demo.file import Done, Rank, trace_text
from viewer.app.demo.model import (
    AUTOGRAD,
    DEVICE,
    MAIN,
    PID,
    Block,
    Close,
    Drain,
    Fence,
    Item,
    Launch,
    Load,
    Open,
)
from viewer.app.demo.steps import FIRST_STEP, training_run
from viewer.app.demo.truth import job_truth

BASE_NS: Final = 1_711_964_646_000_000_000
BASE_PERIOD_NS: Final = 7_889_238_000_000_000
"""The profiler takes its base time in these strides: processes on two sides of a border write other numbers."""
FIRST_NS: Final = BASE_NS + 41_312_907_226
SLOW_PERMILLE: Final = 1110
LOAD_NS: Final = 420_000
LATE_LOAD_NS: Final = 19_000_000


def write_demo_job(folder: Path, ranks: int = 8, seed: int = 1, steps: int = 4, layers: int = 16) -> dict[str, Any]:
    """Write ``rank-<r>.pt.trace.json`` per rank and ``truth.json`` into ``folder``.

    Args:
        folder: made if it does not exist.
        ranks: of the job; in blocks of four if there are at least two such blocks, else in one block.
        seed: of the small differences between equal operations.
        steps: training steps.
        layers: transformer layers; with the defaults a rank has about 20,000 events.

    Returns:
        What truth.json holds, integers of ns. ``device``, ``steps`` and ``outside_steps`` of a rank mean
        what they mean in a report; times in ``collectives`` and ``faults`` are ns since 1970.

    Raises:
        OSError: the folder cannot be written.
        ValueError: an argument is below 1.
    """
    if min(ranks, steps, layers) < 1:
        raise ValueError("ranks, steps and layers are at least 1")
    block = 4 if ranks >= 8 and ranks % 4 == 0 else ranks
    job = _Job(ranks, seed, block, steps)
    job.play(training_run(seed, steps, layers, block, ranks // block))
    folder.mkdir(parents=True, exist_ok=True)
    for rank in job.ranks:
        (folder / rank.file_name).write_text(trace_text(rank), encoding="utf-8")
    truth = job_truth(job.ranks, job.faults(), job.collectives)
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    return truth


class _Job:
    """All ranks in lockstep: an item of the programme is played on every rank before the next."""

    def __init__(self, ranks: int, seed: int, block: int, steps: int) -> None:
        self.slow = 5 if ranks > 5 else ranks - 1
        self.late = (2 if ranks > 2 else 0, min(2, steps - 1))
        self.collectives: list[dict[str, Any]] = []
        self.ranks = []
        for r in range(ranks):
            first = r - r % block
            groups = {
                "world": list(range(ranks)),
                "shard": list(range(first, first + block)),
                "replica": list(range(r % block, ranks, block)),
            }
            own = random.Random(1_000 * seed + r)
            # The second half of the ranks started before the profiler's base time moved on.
            base = BASE_NS - (BASE_PERIOD_NS if 2 * r >= ranks > 1 else 0)
            permille = SLOW_PERMILLE if r == self.slow and ranks > 1 else 1000
            self.ranks.append(
                Rank(r, ranks, block, own, groups, base, permille, FIRST_NS, FIRST_NS + own.randrange(90_000))
            )

    # Playing

    def play(self, programme: Iterable[Item]) -> None:
        for item in programme:
            match item:
                case Block():
                    self._block(item)
                case Open():
                    for rank in self.ranks:
                        self._open(rank, item)
                case Close():
                    for rank in self.ranks:
                        self._close(rank)
                case Load():
                    for rank in self.ranks:
                        late = (rank.number, item.step) == self.late
                        start = rank.now
                        rank.now += (LATE_LOAD_NS if late else LOAD_NS) + rank.random.randrange(60_000)
                        if late:
                            rank.loads.append((start, rank.now))
                case Drain():
                    for rank in self.ranks:
                        start = rank.now
                        rank.now = max(start + 2_300, rank.ready[item.stream] + 3_100) + rank.random.randrange(900)
                        rank.slice(item.head, start, rank.now, item.tail)
                        rank.slice(item.mark_head, start + 700, rank.now - 600, item.mark_tail)
                        rank.now += 400

    def _open(self, rank: Rank, item: Open) -> None:
        if item.name.startswith("ProfilerStep#"):
            rank.step = len(rank.steps)
            rank.steps.append({"name": item.name, "start": rank.now})
        rank.open.append((item, rank.now, len(rank.work)))
        rank.now += rank.random.randrange(300, 1_500)

    def _close(self, rank: Rank) -> None:
        item, start, first = rank.open.pop()
        rank.now += rank.random.randrange(200, 900)
        rank.slice(item.head, start, rank.now, item.tail)
        if item.name.startswith("ProfilerStep#"):
            rank.steps[-1]["cpu_ns"] = rank.now - start
            rank.step = -1
        rank.now += 150
        if item.mark:
            self._mark(rank, item, rank.work[first:])

    def _mark(self, rank: Rank, item: Open, work: list[Done]) -> None:
        """The range once more on each stream that it launched work on; the profiler widens it by a nanosecond."""
        for stream in sorted({w.stream for w in work}):
            start = min(w.start for w in work if w.stream == stream)
            end = max(w.end for w in work if w.stream == stream)
            self._gpu_mark(rank, item.name, stream, start, end)

    def _gpu_mark(self, rank: Rank, name: str, stream: int, start: int, end: int) -> None:
        head = (
            f'  {{\n    "ph": "X", "cat": "gpu_user_annotation", "name": {json.dumps(name)}, "pid": {DEVICE}, '
            f'"tid": {stream},\n    "ts": '
        )
        rank.slice(head, start - 1, end + 1, ',\n    "args": {\n      "External id": 0\n    }\n  },\n')

    def _block(self, block: Block) -> None:
        starts = []
        for rank in self.ranks:
            starts.append(rank.now)
            base, text = rank.now - rank.base_ns, rank.text
            for at, head, tail in block.host:
                ns = base + at
                text.append(f"{head}{ns // 1000}.{ns % 1000:03d}{tail}")
            rank.now += block.length + rank.random.randrange(400, 2_400)
        for action in block.device:
            if isinstance(action, Fence):
                for rank in self.ranks:
                    held = rank.ready.get(action.stream, 0)
                    if action.action == "record":
                        rank.events[action.event] = held
                    else:
                        rank.ready[action.stream] = max(held, rank.events[action.event])
                continue
            begins = [self._begin(rank, action, start) for rank, start in zip(self.ranks, starts, strict=True)]
            ends = self._together(action, begins) if action.work.kind == "comm" else None
            for i, rank in enumerate(self.ranks):
                ns = action.work.ns * (rank.permille if action.work.kind == "compute" else 1000) // 1000
                end = ends[i] if ends else begins[i] + ns + rank.random.randrange(ns // 40 + 2)
                self._ran(rank, action, starts[i], begins[i], end)

    def _begin(self, rank: Rank, launch: Launch, block_start: int) -> int:
        """When the work starts: its launch has reached the device, and its stream is free."""
        arrives = block_start + launch.at + launch.dur + rank.random.randrange(900, 1_900)
        return max(arrives, rank.ready.get(launch.work.stream, 0) + rank.random.randrange(750, 1_500))

    def _together(self, launch: Launch, begins: list[int]) -> list[int]:
        """A collective ends at one instant on all members: when the last has come, and the transfer is done."""
        work = launch.work
        ends = list(begins)
        seen: set[int] = set()
        for rank in self.ranks:
            if rank.number in seen:
                continue
            members = rank.groups[work.group]
            seen.update(members)
            last = max(begins[m] for m in members)
            end = last + work.ns + self.ranks[members[0]].random.randrange(work.ns // 20 + 2)
            for m in members:
                ends[m] = end
            self.collectives.append(
                {
                    "name": work.name,
                    "group": rank.group_name(work.group),
                    "seq": work.sequence,
                    "ranks": members,
                    "start_ns": [begins[m] for m in members],
                    "end_ns": end,
                    "wait_ns": [last - begins[m] for m in members],
                    "transfer_ns": end - last,
                }
            )
        return ends

    def _ran(self, rank: Rank, launch: Launch, block_start: int, start: int, end: int) -> None:
        work, call = launch.work, block_start + launch.at
        rank.ready[work.stream] = end
        rank.work.append(Done(start, end, work.kind, work.stream, rank.step))
        rank.slice(launch.head, call, call + launch.dur, launch.tail)
        rank.slice(work.head, start, end, work.tail)
        n = launch.correlation
        thread = AUTOGRAD if f'"tid": {AUTOGRAD}' in launch.head else MAIN
        rank.text.append(
            f'  {{\n    "ph": "s", "id": {n}, "pid": {PID}, "tid": {thread}, "ts": {rank.ts(call)},\n'
            f'    "cat": "ac2g", "name": "ac2g"\n  }},\n'
            f'  {{\n    "ph": "f", "id": {n}, "pid": {DEVICE}, "tid": {work.stream}, "ts": {rank.ts(start)},\n'
            f'    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  }},\n'
        )
        if work.kind == "comm":
            self._gpu_mark(rank, launch.mark, work.stream, start, end)

    def faults(self) -> dict[str, Any]:
        """What is wrong with the job on purpose."""
        late, step = self.late
        start, end = self.ranks[late].loads[0]
        return {
            "slow_rank": {"rank": self.slow, "compute_permille": SLOW_PERMILLE} if len(self.ranks) > 1 else None,
            "late_data": {
                "rank": late,
                "step": step,
                "step_name": f"ProfilerStep#{FIRST_STEP + step}",
                "start_ns": start,
                "end_ns": end,
            },
        }
