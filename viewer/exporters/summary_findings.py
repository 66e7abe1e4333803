"""The findings of the report as lines for a terminal: what to change first, with savings, then what the files say."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Final

from viewer.base.time import format_duration
from viewer.base.units import format_share

Json = dict[str, Any]
Printable = Callable[[str, int], str]

MOST_JOB: Final = 6
MOST_INPUT: Final = 8
WIDTH: Final = 160
LONGEST: Final = 800
"""Letters of what to try: it is read as a whole, so it is wrapped and not cut."""


def advice_lines(report: Json, printable: Printable) -> list[str]:
    """What to change, the largest saving first; [] where the report has no findings about the job."""
    found = [f for f in report["findings"] if f["kind"] != "input"]
    savers = [f for f in found if f["confident"] and f["severity"] != "info"]
    others = [f for f in found if f not in savers]
    if not found:
        return []
    step = report["saving"]["step_ns"]
    lines = [_heading(report["saving"]) if savers else "what to change: nothing stands out from noise"]
    for f in savers[:MOST_JOB]:
        mark = "  follows: " if f["follows"] else "  "
        lines.append(f"{mark}{saving_text(f, step)}{printable(f['title'], WIDTH)}")
        lines += _wrapped("      try: ", printable(f["next_step"] or "", LONGEST))
    if len(savers) > MOST_JOB:
        lines.append(f"  and {len(savers) - MOST_JOB} more in the JSON report")
    lines += [f"  {'note' if f['confident'] else 'unsure'}: {printable(f['title'], WIDTH)}" for f in others[:MOST_JOB]]
    return lines


def _wrapped(head: str, text: str) -> list[str]:
    """A text in lines of at most WIDTH letters, the further ones below the first; no option is torn at its hyphens."""
    wrapped = textwrap.wrap(text, WIDTH - len(head), break_on_hyphens=False)
    return [(head if i == 0 else " " * len(head)) + line for i, line in enumerate(wrapped)] or [head.rstrip()]


def _heading(saving: Json) -> str:
    total, step = saving["together_ns_per_step"], saving["step_ns"]
    if total is None:
        return "what to change"
    of = f" of {format_duration(step, 1)}" if step else ""
    return f"what to change (savings per step are upper bounds; together at most {format_duration(total, 1)}{of})"


def saving_text(finding: Json, step_ns: int | None) -> str:
    """As in: ``up to 3.6 ms (6.4 %): ``; "" where no saving is said."""
    saving = finding["saving_ns_per_step"]
    if saving is None:
        return ""
    share = f" ({format_share(saving, step_ns)})" if step_ns else ""
    return f"up to {format_duration(saving, 1)}{share}: "


def _with_name(finding: Json) -> str:
    """A finding of the job's make-up, with the name of the file that it is about."""
    title: str = finding["title"]
    where = PurePath(finding["evidence"][0]["text"]).name if finding["evidence"] else ""
    return title if not where or where in title else f"{where}: {title}"


def input_lines(report: Json, printable: Printable) -> list[str]:
    """What the files and the job's make-up say, errors first."""
    order = {"error": 0, "warning": 1, "info": 2}
    found = [(f["severity"], _with_name(f)) for f in report["findings"] if f["kind"] == "input"]
    # What the job says of single files is already among its findings.
    said = {f["title"] for f in report["findings"] if f["kind"] == "input"}
    for item in report["inputs"]:
        name = PurePath(item["path"]).name
        found += [(f["severity"], f"{name}: {f['message']}") for f in item["findings"] if f["message"] not in said]
    if not found:
        return []
    found.sort(key=lambda f: order.get(f[0], 3))
    lines = ["findings", *(f"  {severity}: {printable(text, WIDTH)}" for severity, text in found[:MOST_INPUT])]
    if len(found) > MOST_INPUT:
        lines.append(f"  and {len(found) - MOST_INPUT} more in the JSON report")
    return lines
