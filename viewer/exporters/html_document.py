"""The frame of every page: one file that needs nothing else, no script, light and dark, good on paper."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from viewer import __version__
from viewer.exporters.html_parts import Markup, joined, tag, text

Section = tuple[str, str, Markup | None]
"""(its id, its title, what it holds); one that holds nothing is left out."""


def document(title: str, header: Markup, sections: Sequence[Section]) -> str:
    """A whole page: the header, links to the sections, the sections, and who made it."""
    style = (resources.files("resources") / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    there = [(key, name, content) for key, name, content in sections if content is not None]
    body = joined(
        (
            header,
            tag("nav", *(tag("a", name, href=f"#{key}") for key, name, _ in there)),
            *(tag("section", tag("h2", name), content, id=key) for key, name, content in there),
            tag("footer", f"Made by Rankscope {__version__} from the files named above. Nothing in this page is loaded "
                "from anywhere else."),
        )
    )  # fmt: skip
    head = joined(
        (
            Markup('<meta charset="utf-8">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup('<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'),
            tag("title", f"{title} · Rankscope"),
            Markup(f"<style>{style}</style>"),
        )
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body><main>{body}</main></body></html>\n'


def themed_image(light: str, dark: str, alt: str) -> Markup:
    """Two SVG documents as one image of the page itself: which is shown follows the reader's theme."""
    one, other = (
        "data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8")).decode("ascii") for svg in (light, dark)
    )
    return tag(
        "picture",
        Markup(f'<source media="(prefers-color-scheme: dark)" srcset="{other}">'),
        Markup(f'<img class="lanes" src="{one}" alt="{text(alt)}">'),
    )
