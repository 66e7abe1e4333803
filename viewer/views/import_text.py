"""The import of a whole job in words: the sums at the top of the panel, a part of a source, and all of it as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from viewer.base.errors import InputError
from viewer.base.findings import Finding
from viewer.base.frames import PanelFrame, Section
from viewer.base.units import format_bytes, format_count, format_rate
from viewer.store.session import Session
from viewer.views.figures import plural, shown
from viewer.views.files import failure_section, file_frame, files_table, findings_of, findings_words, seconds
from viewer.views.files import skipped_section as left_out
from viewer.views.import_ledger import ledger_equation, ledger_sum

if TYPE_CHECKING:
    from viewer.importers.excerpt import Excerpt

PLACE_TITLE: Final = "Source"
MARK: Final = "▸"


def job_words(session: Session, failures: Sequence[InputError] = (), skipped: Sequence[Finding] = ()) -> list[str]:
    """The job's import in a few lines."""
    metas = [i.trace.meta for i in session.inputs]
    total = ledger_sum([m.ledger for m in metas])
    head = f"{plural(len(metas), 'file')}, {format_bytes(sum(m.source.size for m in metas))}"
    for items, what in ((failures, "not opened"), (skipped, "left out")):
        head += f", {format_count(len(items))} {what}" if items else ""
    lines = [head, f"Events: {ledger_equation(total)}"]
    came = [(i.trace.came, i.trace.meta.imported.size) for i in session.inputs if i.trace.came is not None]
    now = [(c.seconds, size) for c, size in came if not c.cached]
    cached = len(came) - len(now)
    parts = [f"{plural(cached, 'file')} from the cache"] if cached else []
    if now:
        # Files are read side by side: the longest is a lower bound of the wall time, so no rate of the job is made up.
        rates = sorted(size / spent for spent, size in now if spent)
        rate = f" at {format_rate(rates[len(rates) // 2])} each (median)" if rates else ""
        parts.insert(0, f"{plural(len(now), 'file')} read now{rate}, the longest in {seconds(max(s for s, _ in now))}")
    disk = sum(c.table_bytes or 0 for c, _ in came)
    parts += [f"tables {format_bytes(disk)}"] if disk else []
    lines += ["; ".join(parts)] if parts else []
    found = findings_words([f for i in session.inputs for f in findings_of(session, i)])
    lines.append(f"Findings: {found if any(c.isdigit() for c in found) else 'none'}")
    return lines


def place_section(part: Excerpt | None, problem: str = "", offset: int = 0) -> Section:
    """The text around a byte of a source, the byte marked; while it is awaited, or why it cannot be shown."""
    if part is None:
        return Section(PLACE_TITLE, note=problem or f"Reading the text at byte {format_count(offset)} …")
    before = ("" if part.begins else "… ") + shown(part.before, 2_000) if part.before else ""
    after = shown(part.after, 2_000) + ("" if part.ends else " …") if part.after else "(the text ends here)"
    return Section(PLACE_TITLE, note=f"At byte {format_count(part.offset)} ({MARK}):\n{before} {MARK}{after}")


def frame_text(frame: PanelFrame) -> str:
    """A panel's content as plain text."""
    lines = [frame.title, *([frame.subtitle] if frame.subtitle else [])]
    for section in frame.sections:
        lines += ["", section.title]
        for figure in section.figures:
            lines.append(f"  {figure.label}: " + figure.value.replace("\n", " "))
        if section.table is not None:
            lines += ["  " + "\t".join(row) for row in (section.table.headers, *section.table.rows)]
        if section.note:
            lines += [f"  {line}" for line in section.note.splitlines()]
    return "\n".join(lines)


def job_text(session: Session, failures: Sequence[InputError] = (), skipped: Sequence[Finding] = ()) -> str:
    """Everything that the panel can show, as plain text: sums, the table of files, each file."""
    blocks = ["\n".join(job_words(session, failures, skipped))]
    table = files_table(session)
    if table is not None:
        blocks.append("\n".join("\t".join(row) for row in (table.headers, *table.rows)))
    blocks += [frame_text(file_frame(session, i.index)) for i in session.inputs]
    rest = PanelFrame("Files that are not open", sections=(*failure_section(failures), *left_out(skipped)))
    if rest.sections:
        blocks.append(frame_text(rest))
    return "\n\n".join(blocks) + "\n"
