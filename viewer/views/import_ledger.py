"""A ledger in words: what was read, kept, repaired and rejected, by which reason, how often and where first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from viewer.base.findings import Finding, Ledger
from viewer.base.frames import Figure, SourcePlace, TableFrame
from viewer.base.units import format_count
from viewer.views.figures import NONE, TableMaker, plural, shown

_WORDS: Final = {
    "text": "names with bytes or escapes that are no text: shown with replacement characters",
    "args-text": "arguments with bytes that are no text: shown with replacement characters",
    "quotes-or-brackets": "broken quotes or brackets: mended",
    "empty": "empty objects in the event list",
    "not-an-object": "entries that are no objects",
    "no-phase": "events that do not say what they are (no ph)",
    "no-time": "events without a time",
    "time-out-of-range": "times beyond 146 years",
    "unreadable": "what is there is no JSON and could not be mended",
    "untimed": "GPU work without a time (start 0, duration 0): it is in no count or figure",
    "end-without-begin": "end events whose begin is not in the file",
}
"""Where no finding of the file has a sentence of its own."""


def ledger_words(ledger: Ledger) -> str:
    """The ledger as a sentence: ``"14,245 events read: all kept"``."""
    read = plural(ledger.read, "event") + " read"
    if ledger.kept == ledger.read:
        return f"{read}: all kept" if ledger.read else "no events"
    parts = [f"{format_count(ledger.kept)} kept"]
    parts += [
        f"{format_count(n)} {what}" for n, what in ((ledger.repaired, "repaired"), (ledger.rejected, "rejected")) if n
    ]
    return f"{read}: {', '.join(parts)}"


def ledger_sum(ledgers: Sequence[Ledger]) -> Ledger:
    """Several ledgers as one; the places of reasons, which belong to files, are left out."""
    total = Ledger()
    for ledger in ledgers:
        total.read += ledger.read
        total.kept += ledger.kept
        total.repaired += ledger.repaired
        total.rejected += ledger.rejected
        for reason, (count, _) in ledger.reasons.items():
            total.reasons[reason] = (total.reasons.get(reason, (0, -1))[0] + count, -1)
    return total


def ledger_equation(ledger: Ledger) -> str:
    """``"10 read = 7 kept + 2 repaired + 1 rejected"``."""
    parts = " + ".join(f"{format_count(getattr(ledger, n))} {n}" for n in ("kept", "repaired", "rejected"))
    return f"{format_count(ledger.read)} read = {parts}"


def ledger_table(ledger: Ledger, index: int | None) -> TableFrame | None:
    """The ledger as a sum that can be checked: each reason below what it belongs to.

    ``index`` is the input whose bytes a row leads to; None for the sum of several.
    """
    if not ledger.read:
        return None
    table = TableMaker(
        (
            ("Events", "read = kept + repaired + rejected; repaired and rejected are the sums of their reasons."),
            ("Count", "Objects of the event array."),
            ("First at byte", "Of the file's text; choose the row to see the text there."),
        )
    )
    repairs, rejections = ledger.parts()

    def row(name: str, count: int, at: int = -1) -> None:
        jump = SourcePlace(index, at) if index is not None and at >= 0 else None
        table.add((name, name), (format_count(count), count), (format_count(at) if at >= 0 else NONE, at), jump=jump)

    row("read", ledger.read)
    row("= kept as written", ledger.kept)
    for title, count, reasons in (("repaired", ledger.repaired, repairs), ("rejected", ledger.rejected, rejections)):
        row(f"+ {title}", count)
        for reason, (n, at) in reasons.items():
            row(f"    {shown(reason, 60)}", n, at)
        if rest := count - sum(n for n, _ in reasons.values()):
            row("    without a stated reason", rest)
    return table.frame()


def reason_figures(ledger: Ledger, findings: Sequence[Finding], index: int) -> list[Figure]:
    """Each reason as a sentence with its count and first place, which it leads to."""
    said = {f.code: f.message for f in findings}
    said["text"] = said.get("bad-text", _WORDS["text"])
    figures = []
    for kind, reasons in zip(("repaired", "rejected"), ledger.parts(), strict=True):
        for reason, (count, first) in reasons.items():
            words = said.get(reason) or _WORDS.get(reason) or f"named {shown(reason, 60)} by the importer"
            place = f", first at byte {format_count(first)}" if first >= 0 else ""
            how = f"Reason {shown(reason, 60)} of the ledger." + (" Choose it to see the text there." if place else "")
            figures.append(
                Figure(
                    f"{kind}: {shown(reason, 60)}",
                    f"{format_count(count)} ×{place}: {shown(words, 400)}",
                    how,
                    jump=SourcePlace(index, first) if first >= 0 else None,
                    tone="warning" if kind == "rejected" else "",
                )
            )
    return figures
