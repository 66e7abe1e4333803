"""One slice of a session as the panels' view models see it, and small questions about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viewer.base.frames import Figure, Section
from viewer.base.ids import Paint
from viewer.base.selection import SliceRef
from viewer.base.theme import PAINT_NAMES
from viewer.store.session import Input, RankGroup, Session
from viewer.store.trace import Lane, Trace
from viewer.views.figures import device_name, exact, lane_name, shown, since_origin

VALUE_LIMIT = 400
"""Characters of one value from args."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A slice: its session, input and row."""

    session: Session
    item: Input
    row: int

    @property
    def trace(self) -> Trace:
        """The file's tables."""
        return self.item.trace

    @property
    def start(self) -> int:
        """Start, raw ns of the file."""
        return int(self.trace.slices.start_ns[self.row])

    @property
    def dur(self) -> int:
        """Duration, ns."""
        return int(self.trace.slices.dur_ns[self.row])

    @property
    def end(self) -> int:
        """End, raw ns of the file."""
        return self.start + self.dur

    @property
    def lane(self) -> Lane:
        """Its lane."""
        return self.trace.lane_of(self.row)

    @property
    def group(self) -> RankGroup:
        """The rank group that shows it."""
        return self.session.group_of(self.item.index)

    @property
    def paint(self) -> Paint:
        """What it is drawn as."""
        return Paint(int(self.trace.slices.paint[self.row]))

    def ref(self, row: int) -> SliceRef:
        """Where a row of the same file is."""
        return SliceRef(self.item.index, row)

    def name(self, row: int) -> str:
        """A name of the same file as it is shown."""
        return shown(self.trace.name(row))

    def when(self, raw_ns: int) -> str:
        """A raw time of the file as displayed: since the session's origin."""
        return since_origin(self.session, self.item.clock.to_session(raw_ns))

    def where(self) -> str:
        """Rank, device and lane in one line."""
        lane = self.lane
        parts = [shown(self.group.label, 80)]
        if len(self.group.inputs) > 1:
            parts.append(f"segment {self.item.segment + 1}")
        if lane.device is not None:
            parts.append(device_name(self.item, lane.device))
        else:
            process = shown(lane.process_name, 60) if lane.process_name else f"process {shown(lane.pid, 40)}"
            parts.append(process)
        parts.append(lane_name(lane))
        return " · ".join(parts)


def time_figures(subject: Subject) -> list[Figure]:
    """Duration, place, start and end."""
    return [
        Figure("duration", exact(subject.dur), "As the trace writes it; times are read exactly, to the nanosecond."),
        Figure(
            "where",
            subject.where(),
            "Rank as the file, its name or you state it; device and stream from the event's args, else from its pid "
            "and tid.",
        ),
        Figure(
            "start",
            subject.when(subject.start),
            "Start on the rank's clock + base time of its file + clock correction − the first GPU start of the job.",
        ),
        Figure("end", subject.when(subject.end), "Start + duration, on the same axis."),
    ]


def class_figure(paint: Paint, why: str) -> Figure:
    """What kind of slice this is."""
    return Figure("kind", PAINT_NAMES[paint], why)


def value_text(value: Any, limit: int = VALUE_LIMIT) -> str:
    """A value from args in one line of bounded length."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        text = ", ".join(f"{k}: {value_text(v, 60)}" for k, v in list(value.items())[:20])
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        text = "[" + ", ".join(str(v) if isinstance(v, int) else value_text(v, 60) for v in value[:40])
        text += ", …]" if len(value) > 40 else "]"
    else:
        text = str(value)
    return shown(text, limit) if text else "(empty)"


def whole_number(args: Mapping[str, Any], key: str) -> int | None:
    """An integer from args, None when it is missing or of another type."""
    value = args.get(key)
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.strip().isdigit():
        return int(value) if len(value) < 20 else None
    return value if isinstance(value, int) else None


def real_number(args: Mapping[str, Any], key: str) -> float | None:
    """A finite number from args, None when it is missing or of another type."""
    value = args.get(key)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e300 else None


def args_section(args: Mapping[str, Any], used: frozenset[str], problem: str) -> list[Section]:
    """What else the trace says of the slice; folded knowledge, as written."""
    if problem:
        return [Section("Args", note=shown(problem))]
    rest = [(k, v) for k, v in args.items() if k not in used][:40]
    if not rest:
        return []
    figures = tuple(Figure(shown(k, 60), value_text(v), "As the trace writes it in the event's args.") for k, v in rest)
    return [Section("Other args", figures)]
