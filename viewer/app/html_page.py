"""``rankscope analyze --html``: the page, with pictures of the lanes painted without Qt and without a screen."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from viewer.app.render import job_title
from viewer.app.themes import load_theme
from viewer.base.selection import TimeRange
from viewer.exporters.html_page import html_report
from viewer.exporters.svg import svg_text
from viewer.store.session import Session
from viewer.views.picture.scene import PictureRequest, picture_scene

SIZE: Final = (1160, 620)
"""Logical px of the picture: the width of the page's text."""


def page_bytes(session: Session, data: dict[str, Any], title: str = "", dismissed: Collection[str] = ()) -> bytes:
    """The HTML report of a job as the bytes of a file.

    Args:
        session: the job.
        data: its report.
        title: "" for the name of the job's folder or file.
        dismissed: ids of findings that a person put aside.
    """

    def picture(window: TimeRange, theme: str) -> str:
        request = PictureRequest(
            window=window,
            width=SIZE[0],
            height=SIZE[1],
            theme=load_theme(theme),
            vector=True,
            subtitle="",
            footer=False,
        )
        return svg_text(picture_scene(session, request))

    name = title or job_title(session) or "Job"
    return html_report(session, data, name, picture, dismissed).encode("utf-8")
