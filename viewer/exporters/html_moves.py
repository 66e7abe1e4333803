"""The three moves of reading a timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from viewer.exporters.html_parts import Markup, tag

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Three moves of reading the timeline"


def section(page: Page) -> Markup | str | None:
    """One line for each move, its explanation behind it."""
    if not page.frame.moves:
        return "There is no GPU work in the files."
    return tag(
        "ol",
        *(tag("li", tag("b", f"{m.title}: "), m.full, tag("div", m.how, class_="how")) for m in page.frame.moves),
        class_="moves",
    )
