"""Pieces of HTML that are escaped by construction: a plain text can never become markup.

Names come from files. Control characters, text direction overrides and halves of surrogate pairs are shown as what they
are, and lengths are bounded.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final

from viewer.base.units import unbroken
from viewer.views.figures import shown

TEXT_LIMIT: Final = 1_000
"""Characters of one text that are written; a name can be longer than a page."""
PROSE: Final = frozenset({"p", "li", "h3", "span"})
"""Elements whose texts wrap: no number is torn from its unit in them."""


class Markup(str):
    """Text that is HTML already. Only this module's functions and our own literals make it."""

    __slots__ = ()


Child = str | Markup | int | None


def text(value: object, limit: int = TEXT_LIMIT) -> Markup:
    """A text as HTML that shows it."""
    return Markup(html.escape(shown(str(value), limit), quote=True)) if str(value) else Markup("")


def tag(name: str, *children: Child, **attributes: str | int | float | None) -> Markup:
    """An element; plain texts among the children are escaped. ``class_`` and ``a_b`` stand for ``class`` and ``a-b``.

    Attributes that are None are left out.
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(shown(str(value)) if value != "" else "", quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in PROSE:
        children = tuple(c if isinstance(c, Markup) or not isinstance(c, str) else unbroken(c) for c in children)
    return Markup(f"<{name}{said}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Children one after the other, plain texts escaped, None left out."""
    return Markup("".join(c if isinstance(c, Markup) else text(c) for c in children if c is not None))


def table(headers: Sequence[str], rows: Iterable[Sequence[Child]], numbers_from: int = 1, class_: str = "") -> Markup:
    """A table; columns from ``numbers_from`` on are set right. A negative one sets none right."""

    def cell(kind: str, i: int, child: Child) -> Markup:
        right = 0 <= numbers_from <= i
        return tag(kind, child, class_="n" if right else None)

    head = tag("tr", *(cell("th", i, h) for i, h in enumerate(headers)))
    body = [tag("tr", *(cell("td", i, c) for i, c in enumerate(row))) for row in rows]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body), class_=class_ or None), class_="scroll")


def bar(parts: Sequence[tuple[str, int]], total: int, tips: Sequence[str] = ()) -> Markup:
    """A stacked bar as inline SVG: (class, amount) per part; the parts add up to ``total`` at most."""
    out, x = [], 0.0
    for i, (kind, amount) in enumerate(parts):
        width = 1000.0 * amount / total if total > 0 else 0.0
        if width > 0:
            tip = tag("title", tips[i]) if i < len(tips) else None
            out.append(tag("rect", tip, x=f"{x:.2f}", y=0, width=f"{width:.2f}", height=10, class_=f"p-{kind}"))
        x += width
    return tag("svg", *out, viewBox="0 0 1000 10", preserveAspectRatio="none", class_="bar", role="img")


def note(value: str) -> Markup:
    """A quiet paragraph."""
    return tag("p", value, class_="note")


def name(value: str, limit: int = 300) -> Markup:
    """A name that may be long: it breaks anywhere instead of widening its column."""
    return tag("span", text(value, limit), class_="name")


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """(class, name) of the colours of bars."""
    return tag("p", *(joined((tag("span", tag("i", class_=f"c-{k}"), n),)) for k, n in entries), class_="legend")
