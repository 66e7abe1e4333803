"""A comparison as a short text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from viewer.base.time import format_duration
from viewer.base.units import format_bytes, format_count, format_share, with_minus
from viewer.exporters.summary import printable
from viewer.views.text import bare_name

Json = dict[str, Any]

TOP: Final = 8
MOST_RANKS: Final = 8
NAME: Final = 60
FIGURES: Final = (
    ("step", "span_ns"),
    ("compute", "compute_ns"),
    ("exposed comm", "comm_exposed_ns"),
    ("exposed memory", "memory_exposed_ns"),
    ("idle", "idle_ns"),
)
TABLES: Final = (
    ("kernels", "kernel"),
    ("collectives", "operation"),
    ("operators", "operator (GPU time it launched)"),
    ("gaps", "idle between"),
    ("host", "operator (the host's own time)"),
)


def compare_summary(report: Json) -> str:
    """Text of some 60 lines of ``compare_report``'s data."""
    if not report["comparable"]:
        return f"not comparable: {report['reason']}\n"
    blocks = [head_lines(report), _identity(report), _causes(report), _fingerprint(report), _ranks(report)]
    blocks += [_table(report, key, title) for key, title in TABLES]
    blocks += [_surroundings(report), _findings(report), _notes(report)]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def signed(ns: int, digits: int = 2) -> str:
    """A change with its sign."""
    return f"{'+' if ns > 0 else '−' if ns < 0 else '±'}{format_duration(abs(ns), digits)}"


def in_percent(value: float | None) -> str:
    """A change in percent with its sign, "" where there is none."""
    return "" if not value else f"{'−' if value < 0 else '+'}{abs(value):.1f} %"


def head_lines(report: Json) -> list[str]:
    """The outcome in sentences: what was compared, the step, the kernels' time."""
    base, test, step = report["base"], report["test"], report["step"]
    files = tuple(len(report[s]["inputs"]) for s in ("base", "test"))
    by = "steps" if report["part"]["by"] == "step" else "traces"
    pairs = report["part"]["pairs"]
    lines = [
        f"base {_files(files[0])}, test {_files(files[1])}: {pairs:,} {'pair' if pairs == 1 else 'pairs'} of {by} "
        f"on {base['ranks']:,} {'rank' if base['ranks'] == 1 else 'ranks'}"
    ]
    if report["identical"]:
        return [*lines, "identical: both runs hold the same events"]
    noise = {True: "beyond noise", False: "within noise", None: "noise unknown, too few steps"}[step["significant"]]
    band = f" (± {format_duration(step['band_ns'], 2)})" if step["band_ns"] is not None else ""
    change = " ".join(t for t in (signed(step["delta_ns"]), in_percent(step["pct"])) if t)
    name = "step" if report["part"]["by"] == "step" else "trace"
    lines.append(
        f"{name} {format_duration(step['base_ns'])} → {format_duration(step['test_ns'])}: {change}, {noise}{band}"
    )
    change = " ".join(t for t in (signed(report["delta_ns"]), in_percent(report["delta_pct"])) if t)
    lines.append(
        f"kernel time {format_duration(base['compared_sum_ns'])} → {format_duration(test['compared_sum_ns'])}: "
        f"{change} (sum over all)"
    )
    if not any(differing(report, key) for key, _ in TABLES):
        lines.append("no kernel, operation, operator or gap differs")
    return lines


def _files(n: int) -> str:
    return f"{format_count(n)} file" if n == 1 else f"{format_count(n)} files"


def _identity(report: Json) -> list[str]:
    found = report["identity"]
    if not found:
        return []
    by_step = report["part"]["by"] == "step"
    table = [("median over steps" if by_step else "whole trace", "base", "", "test", "", "change")]
    whole = [found["span_ns"][side]["median_ns"] for side in ("base", "test")]
    for title, key in FIGURES:
        one, other = found[key]["base"], found[key]["test"]
        table.append(
            (
                title if by_step or key != "span_ns" else "span",
                with_spread(one),
                format_share(one["median_ns"], whole[0]),
                with_spread(other),
                format_share(other["median_ns"], whole[1]),
                signed(other["median_ns"] - one["median_ns"]),
            )
        )
    return aligned(table)


def with_spread(scatter: Json) -> str:
    """A median with its spread, where it has one."""
    text = format_duration(scatter["median_ns"], 2)
    return text if not scatter["spread_ns"] else f"{text} ± {format_duration(scatter['spread_ns'], 2)}"


def _causes(report: Json) -> list[str]:
    moved = [c for c in report["causes"] if c["delta_ns"]]
    if not moved:
        return []
    table = [("adds per step", "of base step", "", "cause (they add up to the change)")]
    base = report["step"]["base_ns"]
    for cause in moved[:TOP]:
        text = printable(bare_name(cause["label"]), NAME)
        text += f", mostly on {printable(cause['mostly_on'], 30)}" if cause["mostly_on"] else ""
        table.append((signed(cause["delta_ns"]), in_percent(share_of(cause["delta_ns"], base)), sure(cause), text))
    rest = sum(c["delta_ns"] for c in moved[TOP:])
    if len(moved) > TOP:
        count = len(moved) - TOP
        table.append((signed(rest), in_percent(share_of(rest, base)), "", f"{count} further cause{'s'[: count > 1]}"))
    return aligned(table, (2, 3))


def _fingerprint(report: Json) -> list[str]:
    known = [f for f in report["fingerprint"] if f["delta"] is not None]
    if not known:
        return []
    table: list[tuple[str, ...]] = [("", "base", "test", "", "")]
    for f in known:
        points = with_minus(f"{100 * f['delta']:+.1f} points")
        table.append((f["title"], f"{100 * f['base']:.1f} %", f"{100 * f['test']:.1f} %", points, sure(f)))
    lines = aligned(table, (0, 4))
    peaks = [(m["base_allocated_bytes"], m["test_allocated_bytes"]) for m in report["memory"]]
    if peaks:
        one, other = (max(p[i] for p in peaks) for i in (0, 1))
        change = f", {'+' if other > one else '−'}{format_bytes(abs(other - one))}" if other != one else ""
        lines.append(f"memory peak of the fullest rank {format_bytes(one)} → {format_bytes(other)}{change}")
    return lines


def share_of(part: int, whole: int) -> float | None:
    """A part in percent of a whole; None without one."""
    return 100 * part / whole if whole else None


def sure(row: Json) -> str:
    """What a row says of noise, in a word."""
    return {True: "", False: "noise", None: "?"}[row["significant"]]


def _ranks(report: Json) -> list[str]:
    rows = report["ranks"]
    if len(rows) < 2:
        return []
    table: list[tuple[str, ...]] = [("", "base step", "test step", "change", "compute", "exposed comm", "idle")]
    shown = sorted(rows, key=lambda r: -abs(r["delta_ns"]))[:MOST_RANKS] if len(rows) > MOST_RANKS else rows
    for row in shown:
        parts = (signed(row["test"][k] - row["base"][k]) for k in ("compute_ns", "comm_exposed_ns", "idle_ns"))
        steps = (format_duration(row[side]["span_ns"], 2) for side in ("base", "test"))
        table.append((printable(row["label"], 30), *steps, signed(row["delta_ns"]), *parts))
    note = [f"{len(shown)} of {len(rows)}, those that changed most"] if len(shown) < len(rows) else []
    return [*aligned(table), *note]


def _table(report: Json, key: str, title: str) -> list[str]:
    rows = differing(report, key)
    certain = [r for r in rows if r["own_significant"] or r["significant"]]
    if report["part"]["noise_known"] and key in ("operators", "host", "gaps"):
        rows = certain
    if not rows or report["identical"]:
        return []
    of = f"{len(rows[:TOP])} of {len(rows)}" if len(rows) > TOP else f"{len(rows)}"
    table = [("per step", "base", "test", "count", "", f"{title} ({of} that differ)")]
    for row in rows[:TOP]:
        counts = (
            f"{row['base_count']:,}"
            if row["base_count"] == row["test_count"]
            else (f"{row['base_count']:,} → {row['test_count']:,}")
        )
        table.append(
            (
                f"{signed(row['step_delta_ns'])} {in_percent(row['pct']):>8}",
                format_duration(row["step_base_ns"], 2) if row["base_count"] else "–",
                format_duration(row["step_test_ns"], 2) if row["test_count"] else "–",
                counts,
                sure({"significant": row["significant"] or row["own_significant"]}),
                row_words(row),
            )
        )
    return aligned(table, (4, 5))


def differing(report: Json, key: str) -> list[Json]:
    """The rows of a table that are not the same in both runs."""

    def differs(row: Json) -> bool:
        told = {name for name, pair in row["changed"].items() if pair["base"] != pair["test"]}
        return row["base_ns"] != row["test_ns"] or row["status"] != "both" or bool(told)

    return [r for r in report[key] if differs(r)]


def row_words(row: Json) -> str:
    """A row's name, and what else changed about it."""
    text = printable(short(row["name"]), NAME)
    if row["status"] == "replaced":
        text += f" in place of {printable(' + '.join(bare_name(n) for n in row['base_names']), NAME)}"
    elif row["status"] != "both":
        text += f" ({row['status']})"
    told = [*_waiting(row)]
    if row["mostly_on"]:
        told.append(f"mostly on {printable(row['mostly_on'], 30)}")
    for name, pair in row["changed"].items():
        if name == "cause":
            told.append(" → ".join(dict.fromkeys(str(c) for c in (pair["base"], pair["test"]) if c is not None)))
        elif name == "exposed_step_ns":
            told.append(f"exposed {signed(pair['test'] - pair['base'])}")
        else:
            told.append(f"{name} {_values(pair['base'])} → {_values(pair['test'])}")
    return text + (f"; {', '.join(told)}" if told else "")


def short(name: str) -> str:
    """A name without parameter lists; of a gap both names."""
    return " → ".join(bare_name(part) for part in name.split(" → "))


def _waiting(row: Json) -> Sequence[str]:
    if row["base_wait_ns"] is None and row["test_wait_ns"] is None:
        return ()
    own = row["step_own_delta_ns"]
    return (f"without waiting {signed(own)}",) if own != row["step_delta_ns"] else ()


def _values(values: Any) -> str:
    some = values if isinstance(values, list) else [values]
    return printable(" / ".join(str(v) for v in some[:2]) + (" …" if len(some) > 2 else ""), 40)


def _surroundings(report: Json) -> list[str]:
    rows = report["surroundings"]
    if not rows:
        return []
    shown = [
        f"{printable(d['name'], 40)} {printable(d['base'] or 'not stated', 60)} → "
        f"{printable(d['test'] or 'not stated', 60)}"
        for d in rows[:TOP]
    ]
    more = f"; {len(rows) - TOP} more in the JSON report" if len(rows) > TOP else ""
    return [f"the runs also differ in {'; '.join(shown)}{more}"]


def _findings(report: Json) -> list[str]:
    lines = [f"gained: {printable(f['title'], 160)}" for f in report["findings"]["gained"][:TOP]]
    return [*lines, *(f"lost: {printable(f['title'], 160)}" for f in report["findings"]["lost"][:TOP])]


def _notes(report: Json) -> list[str]:
    return [f"note: {printable(n, 200)}" for n in report["notes"]]


def aligned(table: Sequence[tuple[str, ...]], left: tuple[int, ...] = (0,)) -> list[str]:
    """Rows of texts as lines with columns of one width."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return [
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
