"""Findings as cards: saving with its share, what to try, evidence with its places, and how it was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from viewer.base.time import format_duration
from viewer.exporters.html_parts import Markup, bar, joined, note, tag
from viewer.exporters.report_findings import place_of

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page
    from viewer.views.findings import CardFrame

TITLE: Final = "What to change"
MOST: Final = 60
MOST_EVIDENCE: Final = 12


def section(page: Page) -> Markup | str | None:
    """The findings that are worth a change; then what is for information or not sure."""
    frame = page.frame
    out: list[Markup] = []
    if not frame.cards:
        out.append(note("No finding of this job is beyond its noise."))
    out += [_card(page, c) for c in frame.cards[:MOST]]
    if frame.together:
        out.append(note(frame.together))
    left = max(len(frame.cards) - MOST, 0)
    if left:
        out.append(note(f"and {left} more findings in the JSON report"))
    for title, cards in (("For information", frame.notes), ("Not beyond noise", frame.unsure)):
        if cards:
            out += [tag("h4", title), *(_card(page, c) for c in cards[:MOST])]
    if frame.dismissed:
        out.append(note("Put aside by a person: " + "; ".join(c.finding.title for c in frame.dismissed[:MOST])))
    return joined(out)


def _card(page: Page, card: CardFrame) -> Markup:
    f = card.finding
    saving = None
    if card.saving:
        share = card.share
        drawn = None
        if share is not None:
            # Most savings are some percent of a step: the bar is full at half of it, as in the window.
            amount = round(1000 * min(max(2 * share, 0.0), 1.0))
            drawn = Markup(bar((("accent", amount),), 1000).replace('class="bar"', 'class="bar share"'))
        saving = tag("div", drawn, tag("span", card.saving), class_="saving")
    evidence = [tag("li", e.text, _place(page, e.target)) for e in f.evidence[:MOST_EVIDENCE]]
    how = [
        tag("p", f.saving_how, class_="how") if f.saving_how else None,
        tag("p", f.how, class_="how") if f.how else None,
    ]
    return tag(
        "div",
        tag("h3", f.title),
        tag("p", f"Follows from: {card.follows}", class_="how") if card.follows else None,
        saving,
        tag("p", tag("b", "Try: "), f.next_step) if f.next_step else None,
        tag("ul", *evidence),
        tag("details", tag("summary", "How"), *how),
        class_=f"card {f.severity}{' follows' if card.follows else ''}",
    )


def _place(page: Page, target: Any) -> Markup | None:
    place = place_of(page.session, target)
    said = []
    if place["rank"] is not None:
        said.append(f"rank {place['rank']}")
    if place["start_ns"] is not None:
        said.append(
            f"at {format_duration(place['start_ns'])} for {format_duration(place['end_ns'] - place['start_ns'], 1)}"
        )
    return tag("span", f" ({', '.join(said)})", class_="place") if said else None
