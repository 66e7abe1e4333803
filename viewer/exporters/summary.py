"""The report as a short text for a terminal: per rank where the time went, top kernels, findings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from statistics import median_low
from typing import Any

from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_count, format_share
from viewer.exporters.report_communication import communication_lines
from viewer.exporters.report_fingerprint import fingerprint_lines
from viewer.exporters.summary_findings import advice_lines, input_lines
from viewer.exporters.summary_memory import memory_lines
from viewer.views.idle_words import words_of

Json = dict[str, Any]

MOST_RANKS = 16
"""Up to this many lines of ranks are shown in full; beyond it the ones with the least compute, and the median."""
SHOWN_OF_MANY = 10
TOP_KERNELS = 10
NAME_WIDTH = 64
MESSAGE_WIDTH = 160

_PARTS = (
    ("compute", "compute_ns"),
    ("exposed comm", "comm_exposed_ns"),
    ("exposed memory", "memory_exposed_ns"),
    ("idle", "idle_ns"),
)


def summary(report: Json) -> str:
    """Text of at most some 60 lines, each at most some 120 characters (findings may be longer)."""
    blocks = [
        _head(report),
        _ranks(report),
        [*_idle(report), *communication_lines(report)],
        [*_steps(report), *_late(report)],
        fingerprint_lines(report),
        memory_lines(report),
        _kernels(report),
        input_lines(report, printable),
        advice_lines(report, printable),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def printable(text: str, width: int = NAME_WIDTH) -> str:
    """A name on one line: control characters escaped, the middle of a long one left out."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    if len(shown) <= width:
        return shown
    tail = width // 4
    return f"{shown[: width - tail - 1]}…{shown[-tail:]}"


def _count(n: int, one: str) -> str:
    return f"{format_count(n)} {one}" if n == 1 else f"{format_count(n)} {one}s"


def _head(report: Json) -> list[str]:
    inputs, job = report["inputs"], report["job"]
    size = f", world size {job['world_size']}" if job["world_size"] else ""
    total = format_bytes(sum(i["bytes"] for i in inputs))
    events = sum(i["events"] for i in inputs)
    lines = [
        f"{_count(len(inputs), 'file')}, {_count(len(job['ranks']), 'rank')}{size}, {_count(events, 'event')}, {total}"
    ]
    missing = job["missing_ranks"]
    if missing:
        some = ", ".join(str(r) for r in missing[:12]) + (", …" if len(missing) > 12 else "")
        lines.append(f"no file of {_count(len(missing), 'rank')}: {some}")
    window = report["window"]
    if window is not None:
        start, end = format_duration(window["start_ns"]), format_duration(window["end_ns"])
        lines.append(f"window {start} to {end} after the first GPU start")
    lines += _clock(report["clock"], len(job["ranks"]))
    if any(not i["complete"] for i in inputs):
        lines.append("some files are cut off: their totals are floors")
    return lines


def _clock(told: Json, ranks: int) -> list[str]:
    """How the clocks were brought together, in one line; none for a single rank."""
    if ranks < 2:
        return []
    words = {
        "collectives": f"clocks aligned by collectives, reference rank {told['reference']}",
        "base": "clocks: base times",
        "none": "clocks: times as written",
        "given": "clocks: given offsets",
    }
    text = words.get(told["method"], f"clocks: {told['method']}")
    unsure = [r["uncertainty_ns"] for r in told["ranks"] if r["uncertainty_ns"] is not None]
    if unsure:
        text += f", ± {format_duration(max(unsure), 1)}"
    apart = sum(not r["connected"] for r in told["ranks"])
    if told["method"] == "collectives" and apart:
        text += f", {_count(apart, 'file')} not aligned"
    rate = told["match_rate"]
    return [text if rate is None else f"{text}; {100 * rate:.1f} % of shared communication kernels matched"]


def _label(report: Json, rank: Json) -> str:
    return (
        f"rank {rank['rank']}" if rank["rank"] is not None else PurePath(report["inputs"][rank["input"]]["path"]).name
    )


def _device_rows(report: Json) -> list[tuple[str, Json]]:
    rows = []
    for rank in report["ranks"]:
        name = printable(_label(report, rank), 28)
        shared = sum(r["rank"] == rank["rank"] for r in report["ranks"]) > 1 and rank["rank"] is not None
        if shared:
            name = printable(f"{name} ({PurePath(report['inputs'][rank['input']]['path']).name})", 36)
        for device in rank["devices"]:
            label = name if len(rank["devices"]) == 1 else f"{name} GPU {device['id']}"
            rows.append((label, device))
    return rows


def _ranks(report: Json) -> list[str]:
    rows = [(label, d) for label, d in _device_rows(report) if d["span_ns"] is not None]
    if not rows:
        return ["no GPU work: there are no device figures"]
    table = [("", "span", *(title for title, _ in _PARTS), "comm hidden", "GPU events")]
    note = []
    shown: Sequence[tuple[str, Json]] = rows
    if len(rows) > MOST_RANKS:
        shown = sorted(rows, key=lambda r: r[1]["compute_ns"] * 10**6 // max(1, r[1]["span_ns"]))[:SHOWN_OF_MANY]
        middle = {key: median_low([d[key] for _, d in rows]) for _, key in (*_PARTS, ("", "span_ns"))}
        middle |= {key: median_low([d[key] for _, d in rows]) for key in ("overlap_ns", "comm_ns", "gpu_events")}
        table.append(_rank_line("median of each", middle))
        note = [f"{SHOWN_OF_MANY} of {len(rows)}, those with the least compute first; all are in the JSON report"]
    table += [_rank_line(label, device) for label, device in shown]
    return [*_aligned(table), *note]


def _rank_line(label: str, d: Json) -> tuple[str, ...]:
    parts = (f"{format_duration(d[key], 1)} {format_share(d[key], d['span_ns']):>7}" for _, key in _PARTS)
    hidden = format_share(d["overlap_ns"], d["comm_ns"])
    return (label, format_duration(d["span_ns"], 1), *parts, hidden, format_count(d["gpu_events"]))


def _aligned(table: Sequence[tuple[str, ...]], left: tuple[int, ...] = (0,)) -> list[str]:
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return [
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def _idle(report: Json) -> list[str]:
    splits = [device["idle"] for rank in report["ranks"] for device in rank["devices"] if device["idle"]]
    total = sum(s[key] for s in splits for key in ("host_ns", "launch_ns", "dependency_ns", "unknown_ns"))
    if not total:
        return []
    parts = []
    for title, key, causes in (
        ("host late", "host_ns", "host_causes"),
        ("launch", "launch_ns", "launch_causes"),
        ("queued work waited", "dependency_ns", "dependency_causes"),
        ("unknown", "unknown_ns", None),
    ):
        ns = sum(s[key] for s in splits)
        if not ns:
            continue
        sums: dict[str, int] = {}
        for s in splits:
            for cause, part in (s[causes] if causes else {}).items():
                sums[cause] = sums.get(cause, 0) + part
        first = sorted(sums.items(), key=lambda item: -item[1])[:3]
        told = [f"{words_of(cause).label} {format_share(part, total)}" for cause, part in first if cause != title]
        inside = ", ".join(told)
        parts.append(f"{title} {format_share(ns, total)}" + (f" ({inside})" if inside else ""))
    return [f"idle by cause, all devices: {'; '.join(parts)}"]


def _steps(report: Json) -> list[str]:
    lines = []
    by_source: dict[str, list[list[int]]] = {}
    for rank in report["ranks"]:
        of_rank: dict[str, list[int]] = {}
        for step in rank["steps"]:
            of_rank.setdefault(step["source"], []).append(step["cpu_ns"])
        for source, lengths in of_rank.items():
            by_source.setdefault(source, []).append(lengths)
    for source, every in by_source.items():
        middle = format_duration(median_low([ns for lengths in every for ns in lengths]))
        counts = {len(lengths) for lengths in every}
        said = _count(min(counts), "step") if len(counts) == 1 else f"{min(counts)} to {_count(max(counts), 'step')}"
        ranks = f" on each of {len(every)} ranks" if len(every) > 1 else ""
        lines.append(f"{said}{ranks} by {source}, CPU mark {middle} in the median")
    return lines


def _late(report: Json) -> list[str]:
    late = report["late_rank"]
    if late is None:
        return []
    note = " (estimate by replay)" if late["verdict"] == "straggler" else ""
    return [f"late ranks{note}: {printable(late['text'], 2 * MESSAGE_WIDTH)}"]


def _kernels(report: Json) -> list[str]:
    kernels = report["kernels"]
    if not kernels:
        return []
    total = sum(k["sum_ns"] for k in kernels)
    table = [
        (
            "sum",
            "share",
            "count",
            "mean",
            "class",
            f"kernel (the {min(TOP_KERNELS, len(kernels))} largest of {len(kernels)})",
        )
    ]
    table += [
        (
            format_duration(k["sum_ns"], 1),
            format_share(k["sum_ns"], total),
            format_count(k["count"]),
            format_duration(k["mean_ns"], 1),
            k["class"],
            printable(k["name"]),
        )
        for k in kernels[:TOP_KERNELS]
    ]
    return _aligned(table, left=(4, 5))
