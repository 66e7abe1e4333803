"""Communication: exposed time taken apart, and the collectives by kind, group and size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_count, format_share
from viewer.exporters.html_parts import Markup, joined, name, note, table, tag

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Communication"
MOST: Final = 40
PARTS: Final = (
    ("waiting for other ranks", "wait_ns"),
    ("– of it receives along the pipeline", "pipeline_wait_ns"),
    ("volume beyond the plan", "volume_ns"),
    ("rate below the baseline", "rate_ns"),
    ("ideal transfer that nothing hid", "unhidden_ns"),
    ("not separable", "not_separable_ns"),
)


def section(page: Page) -> Markup | str | None:
    """Both tables; a sentence where there is none."""
    split, rows = page.data["communication"], page.data["collectives"]
    out: list[Markup] = []
    if split and split.get("exposed_ns"):
        total = split["exposed_ns"]
        parts = [
            (title, "–" if split.get(key) is None else format_duration(split[key], 1),
             "–" if split.get(key) is None else format_share(split[key], total))
            for title, key in PARTS
        ]  # fmt: skip
        out += [tag("h4", f"Exposed communication: {format_duration(total, 1)}, all ranks"),
                table(("part", "time", "of exposed"), parts)]  # fmt: skip
        out += [
            note(f"{word}: {split[key]}") for word, key in (("Rate", "baseline"), ("Volume", "plan")) if split.get(key)
        ]
    if rows:
        out += [tag("h4", "By kind, group and size"), _collectives(page)]
    if rows is None:
        out.append(note("Collectives are told for the whole job, not for a window."))
    return joined(out) if out else None


def _collectives(page: Page) -> Markup:
    rows = page.data["collectives"]
    headers = ("kind", "group", "size", "count", "time", "waiting", "transfer", "exposed", "busbw", "p50", "p01")
    shown = [
        (
            r["kind"],
            name(_group(r["group_kind"] or "", r["group"] or "–"), 120),
            "–" if r["bytes"] is None else format_bytes(r["bytes"]),
            format_count(r["count"]),
            *(format_duration(r[key], 1) for key in ("sum_ns", "wait_ns", "transfer_ns", "exposed_ns")),
            *(_rate(r[key]) for key in ("busbw_gbps", "busbw_p50_gbps", "busbw_p01_gbps")),
        )
        for r in rows[:MOST]
    ]
    more = f"The {MOST} largest of {len(rows)}. " if len(rows) > MOST else ""
    how = "Times are sums over ranks; bus bandwidths are decimal GB/s without waiting, as nccl-tests defines them."
    return joined((table(headers, shown, 2), note(more + how)))


def _group(kind: str, text: str) -> str:
    """What a group is for and what it is called; once where it is called so ("world [0, 1]")."""
    return text if not kind or text.split(" ", maxsplit=1)[0] == kind else f"{kind} {text}"


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:,.3g}"
