"""A picture of the lanes: of the window, else of one steady step, else of everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from viewer.analyses.findings.steady import length_of, steady_of
from viewer.base.selection import TimeRange
from viewer.base.time import format_duration
from viewer.exporters.html_document import themed_image
from viewer.exporters.html_parts import Markup, joined, note

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page
    from viewer.store.session import Session

TITLE: Final = "Lanes"


def section(page: Page) -> Markup | str | None:
    """The picture in both themes, as images of the page itself."""
    if page.picture is None:
        return page.left_out or None
    found = window_of(page)
    if found is None:
        return "The files hold no event with a time."
    window, said = found
    light, dark = (page.picture(window, theme) for theme in ("light", "dark"))
    picture = themed_image(light, dark, "Lanes of the job in the window that is named below")
    return joined((picture, note(said)))


def window_of(page: Page) -> tuple[TimeRange, str] | None:
    """What the picture shows (session time), and that in words; None without events."""
    session = page.session
    origin, extent = session.origin_ns(), session.extent()
    told = page.data["window"]
    if told is not None:
        return TimeRange(origin + told["start_ns"], origin + told["end_ns"]), "The window of this report."
    step = _usual_step(session)
    if step is not None:
        span, number = step
        margin = max(1, span.length_ns // 50)
        start = format_duration(span.start_ns - origin, 1)
        said = f"Step {number}, the one of median length, {format_duration(span.length_ns, 1)} from {start} on."
        return TimeRange(span.start_ns - margin, span.end_ns + margin), said
    if extent is None or extent.length_ns <= 0:
        return None
    return extent, f"Everything, {format_duration(extent.length_ns, 1)}: no steps are marked."


def _usual_step(session: Session) -> tuple[TimeRange, int] | None:
    """The step of median length of the first rank that has steps: its time and its number."""
    for group in session.groups:
        steps = steady_of(session, group.id)
        if steps:
            chosen = sorted(steps, key=length_of)[len(steps) // 2]
            to = session.inputs[chosen.input].clock.to_session
            return TimeRange(to(chosen.start_ns), to(chosen.end_ns)), chosen.number
    return None
