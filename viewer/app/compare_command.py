"""``rankscope compare``: open two runs, say what changed from one to the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from viewer.app.analyze import check_writable, open_job, with_session, write_file
from viewer.app.console import complain, say, say_bytes
from viewer.app.options import JobOptions

if TYPE_CHECKING:
    from viewer.analyses.comparison.compare import Comparison
    from viewer.store.session import Session

PICTURE_WIDTH: Final = 1280
PAGE_WIDTH: Final = 1160
PAGE_ROW: Final = 24
"""Logical px: the width of the page's text, the height of a bar with its share of the margin."""


def compare_command(
    base: Path,
    test: Path,
    options: JobOptions,
    json: str | None = None,
    picture: Path | None = None,
    html: str | None = None,
) -> int:
    """Open both runs and write what changed: a summary to stdout, or JSON or a page, and a picture.

    Args:
        base: the run that percentages are of: a file, folder, archive, pack or session.
        test: the other one.
        options: how files make a job; they hold for both.
        json: where the report goes ("-" for stdout); None for a summary.
        picture: where the waterfall is painted to (svg, png or pdf).
        html: where the page goes ("-" for stdout); None for none.

    Returns:
        0, also where the runs cannot be compared (which is said); 2 when one of them does not open.
    """
    for written in (json, html):
        if written not in (None, "-"):
            check_writable(Path(str(written)))
    if picture is not None:
        from viewer.exporters.picture import picture_format

        picture_format(picture)
        check_writable(picture)
    runs = []
    for path in (base, test):
        session = _open(path, options)
        if session is None:
            return 2
        runs.append(session)
    from viewer.analyses.comparison.compare import compare
    from viewer.exporters.compare_report import compare_report, encode_compare

    found = compare(runs[0], runs[1])
    data = compare_report(found)
    title = f"{_name(base)} → {_name(test)}"
    if html is not None:
        _write(html, _page(found, data, title))
    if json is not None:
        _write(json, encode_compare(data))
    elif html is None:
        from viewer.exporters.compare_summary import compare_summary

        say(compare_summary(data))
    if picture is not None:
        return _paint(found, picture, title)
    return 0


def _write(where: str, data: bytes) -> None:
    if where == "-":
        say_bytes(data)
    else:
        write_file(Path(where), data)


def _page(found: Comparison, data: dict[str, Any], title: str) -> bytes:
    """The comparison as a page; the waterfall is painted without Qt."""
    from viewer.app.themes import load_theme
    from viewer.exporters.html_compare import compare_page
    from viewer.exporters.svg import svg_text
    from viewer.views.comparison.waterfall import bars, waterfall_scene

    def waterfall(theme: str) -> str:
        size = PAGE_WIDTH, PAGE_ROW * (len(bars(found)) + 1)
        return svg_text(waterfall_scene(found, load_theme(theme), size))

    return compare_page(data, title, waterfall if found.waterfall is not None else None).encode("utf-8")


def _open(path: Path, options: JobOptions) -> Session | None:
    paths, used, _ = with_session([path], options)
    result = open_job(paths, used)
    if not result.session.inputs:
        return None
    from viewer.analyses.card_fill import with_filled_card

    return with_filled_card(result.session, used.card)


def _name(path: Path) -> str:
    return path.absolute().name


def _paint(found: Comparison, picture: Path, title: str) -> int:
    if not found.comparable:
        complain(f"no picture was painted: {found.reason}.")
        return 0
    from viewer.app.render_command import no_qt
    from viewer.app.themes import load_theme
    from viewer.exporters.picture import write_picture
    from viewer.views.comparison.waterfall import fitting_height, waterfall_scene

    try:
        from viewer.app.render import NO_FONT, ensure_application

        ensure_application()
        from widgets.picture_painter import encode, font_family, measure
    except ImportError as error:
        return no_qt(error)
    if not font_family():
        complain(NO_FONT)
        return 2
    size = PICTURE_WIDTH, fitting_height(found, PICTURE_WIDTH)
    scene = waterfall_scene(found, load_theme("light"), size, 2.0, title, measure)
    write_picture(scene, picture, encode, font_family())
    return 0
