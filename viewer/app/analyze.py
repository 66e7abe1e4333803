"""``rankscope analyze``: open the job, then write the report or a summary."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.app.clocks import settle_clocks
from viewer.app.console import TerminalProgress, complain, say, say_bytes
from viewer.app.logs import start_logging
from viewer.app.options import JobOptions
from viewer.base.errors import UsageError

if TYPE_CHECKING:
    from viewer.app.session_input import SessionInput
    from viewer.importers.opening import JobOpener, OpenResult


def opener_for(paths: list[Path], options: JobOptions) -> JobOpener:
    """The opener of a call, with the user's own rules in front of the shipped ones. Raises UsageError."""
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import default_cache
    from viewer.store.rules import load_rules

    return JobOpener(
        paths,
        cache=default_cache(),
        given_ranks=options.given_ranks,
        align=options.align,
        rules=load_rules(options.rules),
    )


def with_session(paths: list[Path], options: JobOptions) -> tuple[list[Path], JobOptions, SessionInput | None]:
    """The inputs of a command, with the traces of a session file in its place; says what is missing.

    Raises InputError when the session cannot be read or none of its traces is there.
    """
    from viewer.app.session_input import read_only_session, sessions_among

    if not sessions_among(paths)[0]:
        return paths, options, None
    found, others = read_only_session(paths)
    if found is None:
        return others, options, None
    for said in (found.missing_text(), found.changed_text()):
        if said:
            complain(said)
    return list(dict.fromkeys((*found.paths, *others))), found.options(options), found


def open_job(paths: list[Path], options: JobOptions) -> OpenResult:
    """Open a job for a command without a window: progress on a terminal, one line per failure on stderr.

    Its clocks are settled and its card is filled in.
    """
    from viewer.analyses.card_fill import with_filled_card

    start_logging()  # what fails in a thread is logged with its stack, which must not reach the terminal
    with TerminalProgress() as progress:
        result = opener_for(paths, options).open(progress.sink)
        result.session = settle_clocks(result.session, options.align, options.given_clocks)
        result.session = with_filled_card(result.session, options.card)
    for failure in result.failures:
        complain(failure.sentence())
    if not result.session.inputs and not result.failures:
        complain("nothing could be opened: name trace files, or a folder that holds some.")
    return result


def analyze(
    paths: list[Path],
    options: JobOptions,
    json: str | None,
    window: tuple[int, int] | None,
    html: str | None = None,
) -> int:
    """Open the job and write the report to the file ``json`` ("-" for stdout), the page ``html``, or a summary.

    Args:
        paths: files and folders, or a session file: then its traces, all of their time.
        options: how they make a job.
        json: where the report goes; None for none.
        window: ns after the session's origin.
        html: where the HTML report goes; None for none. Without either a summary goes to stdout.

    Returns:
        0, or 2 when no input opened.
    """
    for written in (json, html):
        if written not in (None, "-"):
            check_writable(Path(str(written)))
    paths, options, found = with_session(paths, options)
    result = open_job(paths, options)
    if not result.session.inputs:
        return 2
    from viewer.exporters.report import encode_report, report

    told = report(result.session, result.failures, result.skipped, window)
    if html is not None:
        from viewer.app.html_page import page_bytes

        page = page_bytes(result.session, told, dismissed=found.document.content.dismissed if found is not None else ())
        _write(html, page)
    if json is not None:
        _write(json, encode_report(told))
    elif html is None:
        from viewer.exporters.summary import summary

        say(summary(told))
    return 0


def _write(where: str, data: bytes) -> None:
    if where == "-":
        say_bytes(data)
    else:
        write_file(Path(where), data)


def check_writable(path: Path) -> None:
    """Find out before the work whether a file can be written there. Raises UsageError with the next step."""
    folder = path.parent
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file to write.")
    if not folder.is_dir():
        raise UsageError(f"{path} cannot be written: there is no folder {folder}. Make it first.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"{path} cannot be written: permission denied. Name another place.")


def write_file(path: Path, data: bytes) -> None:
    """Write a result. Raises UsageError when that fails (a full disk, a folder that went away)."""
    from viewer.store.small_file import write_whole

    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from None
