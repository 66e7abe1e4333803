"""``python -m tests.bench SET [--json FILE] [--scale S]``: figures and limits of one set of them.

The exit code is 1 where one fails.
Runtime dependencies only. Timings are ratios of what the machine gives at the moment: the load is printed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _figures(options: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    if options.set == "fuzz" and options.deep:
        from tests.bench.fuzz_commands import figures as commands

        options.count = options.count or 2_000
        return commands(options)
    if options.set == "fuzz":
        from tests.bench.fuzz import figures as fuzzing

        options.count = options.count or 200_000
        return fuzzing(options)
    if options.set == "kills":
        from tests.bench.kills import figures as kills

        return kills(folder, options.scale, options.count or 100)
    if options.set == "history":
        from tests.bench.history import figures as history

        return history(options.scale, write=options.write)
    if options.set == "memory":
        from tests.bench.memory import figures as memory

        return memory(folder, options.scale)
    if options.set == "clocks":
        from tests.bench.clocks import figures as clocks

        return clocks(options.scale)
    if options.set == "sweep":
        from tests.bench.sweep import figures as sweep

        sizes = [int(size) for size in options.ranks.split(",")]
        return sweep(
            folder,
            options.generator,
            sizes,
            range(options.seed, options.seed + options.seeds),
            options.state,
            options.only,
        )
    if options.set == "findings":
        from tests.bench.findings import figures as findings

        return findings(folder, options.generator, options.only, options.scale)
    if options.set == "analyses":
        from tests.bench.analyses import figures as analyses
        from tests.bench.analyses import job_figures

        return analyses(folder, options.scale) if options.folder is None else job_figures(folder, options.folder)
    if options.set == "frames":
        from tests.bench.frames import figures as frames

        return frames(folder, options.scale)
    os.environ["NUMBA_CACHE_DIR"] = str(folder / "code")
    from tests.bench.ingest import figures

    return figures(folder, options.scale)


def main() -> int:
    """Run one set of figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument(
        "set",
        choices=["ingest", "frames", "analyses", "clocks", "fuzz", "kills", "history", "memory", "findings", "sweep"],
    )
    parser.add_argument("--json", type=Path, help="where the list of figures is written")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the jobs, 1 is what the limits mean")
    parser.add_argument("--count", type=int, help="fuzz: inputs (200,000); kills: imports (100)")
    parser.add_argument("--seed", type=int, default=1, help="fuzz: which inputs; sweep: the first seed")
    parser.add_argument("--seconds", type=float, default=0, help="fuzz: stop after this time, 0 = at the count")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="fuzz: processes")
    parser.add_argument("--save", type=Path, default=Path("fuzz-failures"), help="fuzz: where failing inputs go")
    parser.add_argument("--deep", action="store_true", help="fuzz: every command on whole jobs (2,000), one process")
    parser.add_argument("--first", type=int, default=0, help="fuzz --deep: the number to begin with")
    parser.add_argument("--loud", action="store_true", help="fuzz --deep: each job's time on stderr")
    parser.add_argument("--write", action="store_true", help="history: put the table into the help page")
    parser.add_argument("--generator", type=Path, help="findings, sweep: a script that makes jobs with truth.json")
    parser.add_argument("--folder", type=Path, help="analyses: a job that is measured instead of made ones")
    parser.add_argument("--ranks", default="8,64", help="sweep: sizes of the jobs")
    parser.add_argument("--seeds", type=int, default=3, help="sweep: jobs of each kind")
    parser.add_argument("--state", type=Path, help="sweep: what was measured is kept here and not measured again")
    parser.add_argument("--only", default="", help='findings: one fault, or "clean"; sweep: text that a job must have')
    options = parser.parse_args()
    if options.set == "sweep" and options.generator is None:
        parser.error("sweep needs --generator")
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as folder:
        say(f"load {os.getloadavg()}, {os.cpu_count()} cores")
        found = []
        for figure in _figures(options, Path(folder)):
            found.append(figure)
            state = {True: "holds", False: "FAILS", None: "-"}[figure["holds"]]
            say(f"{state:13} {figure['figure']}: {figure['value']} {figure['unit']} ({figure['limit']})")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(f["holds"] is False for f in found))


if __name__ == "__main__":
    sys.exit(main())
