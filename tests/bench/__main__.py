"""``python -m tests.bench ingest|frames [--json FILE] [--scale S]``: figures with their limits.

The exit code is 1 where one fails.
Runtime dependencies only. Timings are ratios of what the machine gives at the moment: the load is printed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run one set of figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("set", choices=["ingest", "frames"])
    parser.add_argument("--json", type=Path, help="where the list of figures is written")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the jobs, 1 is what the limits mean")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as folder:
        if options.set == "ingest":
            os.environ["NUMBA_CACHE_DIR"] = str(Path(folder) / "code")
            from tests.bench.ingest import figures
        else:
            from tests.bench.frames import figures

        say(f"load {os.getloadavg()}, {os.cpu_count()} cores")
        found = []
        for figure in figures(Path(folder), options.scale):
            found.append(figure)
            state = {True: "holds", False: "FAILS", None: "-"}[figure["holds"]]  # type: ignore[index]
            say(f"{state:13} {figure['figure']}: {figure['value']} {figure['unit']} ({figure['limit']})")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(f["holds"] is False for f in found))


if __name__ == "__main__":
    sys.exit(main())
