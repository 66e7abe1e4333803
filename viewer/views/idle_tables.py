"""Tables beside the gaps: launch-bound stretches, and streams that ran one after the other."""

from __future__ import annotations

from typing import Final

from viewer.analyses.idleness.launch_bound import LEAST_KERNELS, LONGEST_NS
from viewer.analyses.idleness.serial import SOON_NS, Serial, serial_streams
from viewer.analyses.steps import step_table
from viewer.base.ids import Paint
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.base.time import format_duration
from viewer.base.work import CancelToken
from viewer.store.session import Input, Session
from viewer.views.figures import NONE, TableMaker, dur, lane_name, num, pct, shown, time_cell, word
from viewer.views.gaps import GapsFrame, devices_of, rank_cell

MOST_ROWS: Final = 500
NAME_LIMIT: Final = 300
FORCED: Final = {
    "event": "a wait for an event",
    "synchronisation": "a synchronisation",
    "launch order": "launched afterwards",
    "same stream": "one stream for both",
    "queued wait": "a wait queued between (likely)",
    "unproven": "not recorded",
}
LAUNCHES_NOTE: Final = (
    f"Runs of at least {LEAST_KERNELS} kernels on computing streams of which each found the queue empty when the one "
    "before "
    f"began, and waited at most {format_duration(LONGEST_NS, 0)} for its launch. Launch fewer, larger kernels, or "
    "capture "
    "them in a graph."
)
SERIAL_NOTE: Final = (
    f"The second began within {format_duration(SOON_NS, 0)} after the first was over. Forced by: a recorded wait of "
    "its stream "
    "for an event; a synchronisation that held its launch back; a launch only afterwards; one stream for both "
    "(communication "
    "or copies beside compute); likely a wait that the host queued between both launches. What could hide is the "
    "shorter of "
    "each two: an upper bound, for kernels share the device."
)


def stretches_frame(session: Session, group: int | None, cancel: CancelToken | None = None) -> GapsFrame:
    """The launch-bound stretches of a rank (RankGroup id) or of all, most waiting first. Raises Cancelled."""
    found = list(devices_of(session, group, cancel or CancelToken()))
    rows = [(stretch, item) for item, idle in found for stretch in idle.stretches]
    rows.sort(key=lambda row: (-row[0].wait_ns, row[1].index, row[0].start_ns))
    if not rows:
        return GapsFrame(
            "No launch-bound stretch: kernels do not wait for their launches in long runs.", note=LAUNCHES_NOTE
        )
    table = TableMaker(
        (
            (
                "Waits",
                "How long its kernels waited for their launches: gaps of the computing streams. Leads to the stretch.",
            ),
            ("Of it", "Share of the stretch's length."),
            ("Kernels", "Kernels, copies and fills on computing streams in it."),
            ("Mean", "Their mean duration."),
            ("Idle", "Waiting with the whole device idle; else communication ran meanwhile."),
            ("Rank", "Whose device it is."),
            ("Step", "Step of its first kernel."),
            ("First kernel", "Name of the first one."),
            ("Start", "Since the first GPU start of the job."),
        )
    )
    for stretch, item in rows[:MOST_ROWS]:
        to = item.clock.to_session
        place = TimeRange(to(stretch.start_ns), to(stretch.end_ns))
        step = None if stretch.step is None else step_table(item.trace).steps[stretch.step].index
        table.add(
            dur(stretch.wait_ns),
            pct(stretch.wait_ns, place.length_ns),
            num(stretch.kernels),
            dur(stretch.busy_ns // stretch.kernels),
            dur(stretch.idle_ns),
            rank_cell(session, item, stretch.device),
            (NONE if step is None else str(step), step),
            word(shown(item.trace.name(stretch.first_row), NAME_LIMIT)),
            time_cell(session, place.start_ns),
            jump=Selection(range=place, group=session.group_of(item.index).id),
        )
    total = sum(stretch.wait_ns for stretch, _ in rows)
    kernels = sum(stretch.kernels for stretch, _ in rows)
    runs = f"{len(rows):,} stretch{'' if len(rows) == 1 else 'es'}"
    sentence = f"{kernels:,} kernels wait {format_duration(total, 1)} for their own launches, in {runs}."
    return GapsFrame(sentence, gaps=table.frame(), note=LAUNCHES_NOTE)


def serial_frame(session: Session, group: int | None, cancel: CancelToken | None = None) -> GapsFrame:
    """Streams that ran one after the other, of a rank or of all, most to hide first. Raises Cancelled."""
    found = list(devices_of(session, group, cancel or CancelToken()))
    rows = [(pair, item) for item, idle in found for pair in serial_streams(item.trace, idle.device)]
    rows.sort(key=lambda row: (-row[0].possible_ns, row[1].index))
    if not rows:
        return GapsFrame("No two streams ran one after the other.", note=SERIAL_NOTE)
    table = TableMaker(
        (
            ("Could hide", "Sum of the shorter one of each two works: an upper bound of what overlapping saves."),
            ("Times", "How often they followed each other."),
            ("Streams", "The stream of the first and of the second."),
            ("Forced by", "What put them in order, as far as the trace proves it."),
            (
                "First",
                "Work that ran first, of the two of which most could be hidden. A row leads to the second.",
            ),
            ("Then", "Work that followed it."),
            ("Rank", "Whose device it is."),
        )
    )
    for pair, item in rows[:MOST_ROWS]:
        table.add(
            dur(pair.possible_ns),
            num(pair.count),
            word(" → ".join(_stream(item, lane) for lane in (pair.first_lane, pair.second_lane))),
            word(FORCED[pair.forced]),
            word(shown(item.trace.name(pair.first_row), NAME_LIMIT)),
            word(shown(item.trace.name(pair.second_row), NAME_LIMIT)),
            rank_cell(session, item, pair.device),
            jump=SliceRef(item.index, pair.second_row),
            paint=Paint(int(item.trace.slices.paint[pair.second_row])),
        )
    return GapsFrame(_told(rows), gaps=table.frame(), note=SERIAL_NOTE)


def _stream(item: Input, lane: int) -> str:
    return lane_name(item.trace.lanes[lane]).removeprefix("stream ")


def _told(rows: list[tuple[Serial, Input]]) -> str:
    sums: dict[str, int] = {}
    for pair, _ in rows:
        sums[pair.forced] = sums.get(pair.forced, 0) + pair.possible_ns
    largest = max(sums, key=lambda name: sums[name])
    return (
        f"At most {format_duration(sum(sums.values()), 1)} could be hidden by overlapping streams; most of it was put "
        "in "
        f"order so: {FORCED[largest]}."
    )
