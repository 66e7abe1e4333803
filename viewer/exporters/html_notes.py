"""What the importer and the analyses said of the files: findings that are no advice."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from viewer.exporters.html_parts import Markup, joined, note, tag

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "What the files say"
MOST: Final = 60


def section(page: Page) -> Markup | str | None:
    """Errors first; left out where the files say nothing."""
    found = [(f["severity"], f["title"]) for f in page.data["findings"] if f["kind"] == "input"]
    for item in page.data["inputs"]:
        name = PurePath(item["path"]).name
        found += [(f["severity"], f"{name}: {f['message']}") for f in item["findings"]]
    if not found:
        return None
    found.sort(key=lambda f: ("error", "warning", "info").index(f[0]))
    more = note(f"and {len(found) - MOST} more in the JSON report") if len(found) > MOST else None
    return joined((tag("ul", *(tag("li", tag("b", f"{s}: "), t) for s, t in found[:MOST])), more))
