"""Memory by rank: peaks, what is held at the peak, theory, growth and failed requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from viewer.base.allocator import CATEGORY_NAMES
from viewer.base.units import format_bytes
from viewer.exporters.html_parts import Child, Markup, bar, joined, legend, name, note, table, tag

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Memory"
MOST: Final = 64
MOST_LISTED: Final = 12
KINDS: Final = {
    "weights": "host",
    "optimizer": "compute",
    "gradients": "comm",
    "activations": "memory",
    "buffers": "accent",
}
"""The colours of the bars; all other categories share one."""

Json = dict[str, Any]


def section(page: Page) -> Markup | str | None:
    """Peaks and categories of every rank, then what stands out; a sentence where nothing was recorded."""
    told = [(page.rank_name(r), d) for r in page.data["ranks"] for d in _devices(r["memory"])]
    if not told:
        return "No allocator events are in the files: record them with profile_memory=True, or open a memory snapshot."
    parts = (make(told) for make in (_peaks, _bars, _theory, _growth, _failed))
    return joined([one for one in parts if one is not None])


def _devices(memory: Json | None) -> list[Json]:
    """The accelerators of a rank; the host where there is none."""
    devices = memory["devices"] if memory else []
    return [d for d in devices if d["device"] != "cpu"] or devices


def _peaks(told: list[tuple[str, Json]]) -> Markup:
    headers = ("rank", "device", "peak allocated", "peak reserved", "unused reserve there", "at the end", "capacity",
               "failed requests")  # fmt: skip
    rows: list[tuple[Child, ...]] = [
        (
            who,
            name(d["device"], 40),
            *(
                _size(d[key])
                for key in ("peak_allocated", "peak_reserved", "unused_reserve_at_peak", "final_allocated")
            ),
            _size(d["capacity"]),
            str(d["ooms"]),
        )
        for who, d in told[:MOST]
    ]
    more = note(f"The first {MOST} of {len(told)} devices.") if len(told) > MOST else None
    return joined([x for x in (table(headers, rows, 2), more) if x is not None])


def _bars(told: list[tuple[str, Json]]) -> Markup | None:
    known = [(who, d["categories_at_peak"]) for who, d in told[:MOST] if d["categories_at_peak"]]
    if not known:
        return None
    largest = max(sum(v for v in parts.values() if v > 0) for _, parts in known)
    rows: list[tuple[Child, ...]] = []
    for who, parts in known:
        held = [(c, parts[c]) for c in (*KINDS, *(c for c in CATEGORY_NAMES if c not in KINDS)) if parts.get(c, 0) > 0]
        tips = [f"{c}: {format_bytes(v)}" for c, v in held]
        words = ", ".join(f"{c} {format_bytes(v)}" for c, v in sorted(held, key=lambda p: -p[1])[:4])
        rows.append((who, bar([(KINDS.get(c, "other"), v) for c, v in held], largest, tips), words))
    colours = [(kind, category) for category, kind in KINDS.items()]
    return joined(
        (
            tag("h4", "Held at the peak"),
            table(("rank", "", "the largest"), rows, -1, "wide"),
            legend([*colours, ("other", "other and unknown")]),
        )
    )


def _theory(told: list[tuple[str, Json]]) -> Markup | None:
    rows: list[tuple[Child, ...]] = []
    for who, d in told:
        for t in d["theory"]:
            if t["low"] is not None and t["high"] is not None:
                span = format_bytes(t["low"]) + (f" to {format_bytes(t['high'])}" if t["high"] != t["low"] else "")
                off = t["unexplained"]
                sign = "−" if off is not None and off < 0 else ""
                beyond = "–" if off is None else sign + format_bytes(abs(off))
                rows.append((who, t["category"], _size(t["measured"]), span, beyond, name(t["how"], 200)))
    if not rows:
        return note("Not held against theory: the job card names no parameters.")
    headers = ("rank", "category", "at the peak", "theory", "unexplained", "how")
    return joined((tag("h4", "Peak against theory"), table(headers, rows[: 4 * MOST_LISTED], 2)))


def _growth(told: list[tuple[str, Json]]) -> Markup | None:
    rows: list[tuple[Child, ...]] = []
    for who, d in told:
        rows += [
            (who, name(m["maker"], 200), m["category"], _size(m["bytes_per_step"]), _size(m["held"]))
            for m in (d["growth"] or {}).get("makers", ())
        ]
    if not rows:
        return None
    headers = ("rank", "made by", "category", "per step", "held at the end")
    return joined((tag("h4", "Grows from step to step"), table(headers, rows[:MOST_LISTED], 3)))


def _failed(told: list[tuple[str, Json]]) -> Markup | None:
    rows: list[tuple[Child, ...]] = [
        (
            who,
            *(_size(f[key]) for key in ("requested", "free", "cached", "largest", "outside")),
            "fragmentation" if f["fragmented"] else "too little memory" if f["missing"] else "–",
        )
        for who, d in told
        for f in d["failed_requests"]
    ]
    if not rows:
        return None
    headers = ("rank", "asked for", "free on the device", "cached", "largest hole", "others held", "because of")
    return joined((tag("h4", "Requests that failed"), table(headers, rows[:MOST_LISTED])))


def _size(value: int | None) -> str:
    return "–" if value is None else format_bytes(value)
