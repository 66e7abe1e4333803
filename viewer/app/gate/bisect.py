"""The script for ``git bisect run``: is a figure of a checked out commit nearer to the good level or to the bad one?"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from viewer.app.gate.environment import is_sha
from viewer.base.errors import on_one_line
from viewer.base.run_record import RunRecord


def bisect_script(manifest: Path, load: str, figure: str, good: RunRecord, bad: RunRecord, repository: Path) -> str:
    """A POSIX shell script that exits with 0 (good), 1 (bad) or 125 (cannot tell), as git bisect asks.

    The limit is in the middle between the figure of the last good run and that of the first bad one.
    """
    limit = (good.figures[figure].value + bad.figures[figure].value) / 2.0
    words = [sys.executable, "-m", "viewer.app.cli", "check", "--run", "--manifest", str(manifest.absolute())]
    words += ["--load", load, "--no-record", "--limit", f"{figure}={limit!r}"]
    shas = [r.commit.sha if r.commit and is_sha(r.commit.sha) else "" for r in (bad, good)]
    range_text = " ".join(shas) if all(shas) else "BAD GOOD"
    name = on_one_line(figure, 80)
    place, safe = shlex.quote(str(repository.absolute())), " ".join(shlex.quote(w) for w in words)
    return (
        "#!/bin/sh\n"
        f"# cd {place} && git bisect start {range_text} && git bisect run sh THIS_FILE\n"
        f"# Good: {name} on the side of {good.figures[figure].value:.6g}, bad: of {bad.figures[figure].value:.6g}.\n"
        "# Build what the load needs before the check, where that is not part of its command.\n"
        f"{safe}\n"
        "status=$?\n"
        '[ "$status" -le 1 ] || status=125\n'
        'exit "$status"\n'
    )
