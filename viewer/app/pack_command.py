"""``rankscope pack``: the tables of a job in one file."""

from __future__ import annotations

from pathlib import Path

from viewer.app.console import TerminalProgress, one_line, say
from viewer.app.options import JobOptions
from viewer.base.errors import UsageError
from viewer.base.units import format_bytes
from viewer.base.work import Progress


def pack(paths: list[Path], options: JobOptions, output: Path) -> int:
    """Open a job and write its pack.

    Returns:
        0, or 2 when no input opened.

    Raises:
        UsageError: the pack cannot be written there.
    """
    from viewer.app.analyze import check_writable, open_job
    from viewer.exporters.pack import write_pack

    if str(output) == "-":
        raise UsageError("a pack cannot go to stdout: name a file, for example -o job.rankpack.")
    check_writable(output)
    if any(output.exists() and output.samefile(p) for p in paths if p.exists()):
        raise UsageError(f"{output} is one of the inputs: name another file to write.")
    result = open_job(paths, options)
    if not result.session.inputs:
        return 2
    with TerminalProgress() as progress:
        packed = write_pack(
            output,
            result.session,
            paths,
            lambda done, total, _: progress.sink(Progress(str(output), "pack", done, total, 0, 0.0)),
        )
    for name in packed.without_args:
        say(f"{one_line(name)}: its source is out of reach, the pack holds no arguments of its events.")
    count = f"{packed.inputs} file{'' if packed.inputs == 1 else 's'}"
    say(f"Packed {count} into {one_line(str(output))}, {format_bytes(packed.size)}.")
    return 0
