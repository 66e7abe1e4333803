"""How the panels' view models write figures, cells and names: one voice for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewer.base.frames import Figure, Jump, TableFrame
from viewer.base.ids import ABSENT, Paint
from viewer.base.time import format_duration, format_exact
from viewer.base.units import format_count, format_share
from viewer.store.session import Input, Session
from viewer.store.trace import Lane
from viewer.views.text import one_line

NAME_LIMIT = 2_000
"""Characters of a name that are shown; template names can be longer than any screen."""
NONE = "–"

Cell = tuple[str, Any]
"""Text and sort key."""


def shown(name: str, limit: int = NAME_LIMIT) -> str:
    """A name from a trace as it is shown: control characters escaped, length bounded, never empty."""
    text = one_line(name[: limit + 1])
    return (text if len(text) <= limit else text[:limit] + "…") or "(no name)"


def exact(ns: int) -> str:
    """A duration to read and to the last nanosecond: ``"1.235 ms (1,234,567 ns)"``."""
    return format_duration(ns) if abs(ns) < 1_000 else f"{format_duration(ns)} ({format_exact(ns)})"


def clock(ns: int) -> str:
    """A time since the origin to the last nanosecond: ``"12.345678 ms"``."""
    whole, rest = divmod(abs(ns), 1_000_000)
    return f"{'−' if ns < 0 else ''}{whole:,}.{rest:06d} ms"


def since_origin(session: Session, session_ns: int) -> str:
    """A session time as displayed: since the session's origin."""
    return clock(session_ns - session.origin_ns())


def time_cell(session: Session, session_ns: int) -> Cell:
    """A cell with a time since the origin. Its key is no duration: it is a float of milliseconds."""
    since = session_ns - session.origin_ns()
    return clock(since), since / 1_000_000


def dur(ns: int | None) -> Cell:
    """A cell with a duration."""
    return format_duration(ns), ns


def num(n: int | None) -> Cell:
    """A cell with a count."""
    return (format_count(n) if n is not None else NONE), n


def word(text: str) -> Cell:
    """A cell with a text."""
    return text, text


def pct(part: int, whole: int) -> Cell:
    """A cell with a share in percent."""
    return (format_share(part, whole), part / whole) if whole else (NONE, None)


def share(part: int, whole: int) -> str:
    """A share in percent for a figure's text; number and sign stay on one line."""
    return format_share(part, whole).replace(" ", "\u00a0")


def part(label: str, ns: int, whole_ns: int, how: str, of: str = "") -> Figure:
    """A figure with a duration and its share of another; the exact nanoseconds stand before the explanation."""
    return Figure(label, f"{format_duration(ns)} · {share(ns, whole_ns)}{of}", f"{format_exact(ns)}. {how}")


class TableMaker:
    """Collects rows of a :class:`TableFrame`."""

    def __init__(self, columns: Sequence[tuple[str, str]]) -> None:
        """``columns`` are (header, how it was computed)."""
        self._headers = tuple(c[0] for c in columns)
        self._how = tuple(c[1] for c in columns)
        self._rows: list[tuple[str, ...]] = []
        self._keys: list[tuple[Any, ...]] = []
        self._jumps: list[Jump] = []
        self._paints: list[Paint | None] = []

    def add(self, *cells: Cell, jump: Jump = None, paint: Paint | None = None) -> None:
        """Add a row."""
        self._rows.append(tuple(c[0] for c in cells))
        self._keys.append(tuple(c[1] for c in cells))
        self._jumps.append(jump)
        self._paints.append(paint)

    def __len__(self) -> int:
        return len(self._rows)

    def frame(self) -> TableFrame | None:
        """The table; None without rows."""
        if not self._rows:
            return None
        return TableFrame(self._headers, self._rows, self._keys, self._jumps, self._how, self._paints)


def absent(label: str, why: str) -> Figure:
    """A figure that does not exist, with the reason instead of a blank."""
    return Figure(label, why, tone="muted")


def lane_name(lane: Lane) -> str:
    """A lane in a table: ``"stream 7"``, or the thread's name."""
    if lane.stream is not None:
        return f"stream {lane.stream}" if lane.stream != ABSENT else "stream not stated"
    return shown(lane.thread_name, 60) if lane.thread_name else f"thread {shown(lane.tid, 40)}"


def device_name(item: Input, device: int | None) -> str:
    """``"GPU 0 (NVIDIA H100)"``, as far as the file says."""
    if device is None or device == ABSENT:
        return "GPU (device not stated)"
    name = next((d.name for d in item.trace.meta.devices if d.id == device and d.name), "")
    return f"GPU {device} ({shown(name, 60)})" if name else f"GPU {device}"


def plural(n: int, what: str) -> str:
    """``"1 run"``, ``"2 runs"``."""
    return f"{format_count(n)} {what}" if n == 1 else f"{format_count(n)} {what}s"
