"""How an opening ended, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from viewer.app.message_bar import Message
from viewer.app.open_job import Ending
from viewer.app.start_page import job_title
from viewer.base.findings import Finding

MAX_NAMED: Final = 3


def ending_messages(ending: Ending) -> list[Message]:
    """One message per thing that a person should know, worst first."""
    out = [Message("error", failure.sentence()) for failure in ending.failures]
    if ending.error:
        out.append(Message("error", ending.error))
    if ending.session is not None:
        for item in ending.session.inputs:
            out += [_finding(f, item.path.name) for f in item.trace.meta.findings if f.severity != "info"]
        # Ranks that come twice because there are two jobs are no conflict once those are opened apart.
        known = "rank-conflict" if len(ending.jobs) > 1 else ""
        out += [_finding(f) for f in ending.session.findings if f.severity != "info" and f.code != known]
        inputs = ending.session.inputs
        if all(i.trace.meta.gpu_first_ns is None for i in inputs) and any(i.trace.meta.events for i in inputs):
            out.append(Message("info", "No file of the job holds GPU work: its GPU figures do not exist."))
    if ending.skipped:
        out.append(Message("info", _skipped(ending.skipped)))
    if ending.session is None and not out and not ending.cancelled:
        out.append(Message("error", "Nothing could be opened. Choose trace files, or a folder that holds some."))
    return out


def _finding(finding: Finding, name: str = "") -> Message:
    text = finding.message
    if name and name not in text:
        text = f"{name}: {text}"
    if finding.where and finding.where not in text:
        text = f"{text.rstrip('.')} ({finding.where})."
    return Message(finding.severity, text)


def _skipped(skipped: tuple[Finding, ...]) -> str:
    count = sum(f.count for f in skipped)
    names = [f.where for f in skipped if f.where][:MAX_NAMED]
    listed = f": {', '.join(names)}{' …' if count > len(names) else ''}" if names else ""
    are = "file is no trace" if count == 1 else "files are no traces"
    return f"{count} {are}, skipped{listed}."


def apart_message(
    found: Sequence[Sequence[Path]],
    open_here: Callable[[list[Path]], None],
    open_beside: Callable[[list[Path]], None],
) -> Message:
    """Files that look like several jobs: offer a window for each."""
    jobs = [list(job) for job in found]

    def apart() -> None:
        open_here(jobs[0])
        for job in jobs[1:]:
            open_beside(job)

    text = f"These files look like {len(jobs)} different jobs ({', '.join(job_title(j) for j in jobs[:4])})."
    return Message("warning", text, (("Open Apart", apart),))
