"""The sections of the HTML report, in their order. Adding one is a file ``html_NAME.py`` and its name here.

A section's module has a ``TITLE`` and ``section(page)``, which gives its content as Markup, a plain sentence that says
why there is none, or None to be left out.
"""

from __future__ import annotations

from typing import Final

SECTIONS: Final[tuple[str, ...]] = (
    "moves",
    "findings",
    "time",
    "lanes",
    "idle",
    "communication",
    "stragglers",
    "pipeline",
    "fingerprint",
    "memory",
    "kernels",
    "clocks",
    "notes",
)
"""Names of modules ``viewer.exporters.html_NAME``; also the anchors of the page."""
