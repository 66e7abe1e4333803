"""``rankscope render``: open the job, then paint its annotated picture; needs no display."""

from __future__ import annotations

from pathlib import Path

from viewer.app.analyze import check_writable, open_job, with_session
from viewer.app.console import complain
from viewer.app.options import JobOptions, RenderOptions


def render_command(paths: list[Path], options: JobOptions, wanted: RenderOptions) -> int:
    """Open the job and write the picture.

    Returns:
        0, or 2 when no input opened. What is wrong with the picture itself is raised as RankscopeError.
    """
    from viewer.app.themes import load_theme
    from viewer.exporters.picture import check_size, picture_format

    # What can be known to be wrong is said before a large job is read.
    check_size(*wanted.size, wanted.scale, picture_format(wanted.output))
    load_theme(wanted.theme)
    check_writable(wanted.output)
    paths, options, found = with_session(paths, options)
    title = found.path.stem if found is not None and wanted.title is None else wanted.title
    result = open_job(paths, options)
    if not result.session.inputs:
        return 2
    try:
        from viewer.app.render import render_file
    except ImportError as error:
        return no_qt(error)
    try:
        render_file(
            result.session,
            wanted.output,
            window=wanted.window,
            size=wanted.size,
            scale=wanted.scale,
            theme_name=wanted.theme,
            notes=wanted.notes,
            select=wanted.select,
            title=title,
            tell=complain,
            saved=found.document.content if found is not None else None,
        )
    except ImportError as error:
        return no_qt(error)
    return 0


def no_qt(error: ImportError) -> int:
    """Say why no picture can be painted; the exit status."""
    from viewer.app.display import ALL_PACKAGES, missing_library

    why = missing_library(error) or f"Qt cannot be loaded ({error}). On Debian: apt-get install {ALL_PACKAGES}"
    complain(f"no picture can be painted: {why}.")
    return 2
