from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from viewer.app.kernel_table import called, inner, kernels
from viewer.jit.table import dispatcher_of, load_table

ROOT = Path(__file__).resolve().parents[3]
ASKED = "lanes._equal", "lanes.number_keys"
TEXTS = "scan_text.inside_strings", "scan_text.escaped_bytes", "scan_text.strings_of", "scan_text.skip_container"

USES = """
import sys
import numpy as np
from viewer.jit import lanes
keys, out = np.array([[3, 1], [3, 1], [2, 1], [3, 1]], np.int64), np.zeros(4, np.int32)
first = lanes.number_keys(keys, out)
print(first.tolist(), out.tolist(), sum(lanes.number_keys.stats.cache_hits.values()))
if "part" in sys.argv:
    print(lanes._equal(keys, 0, 1), lanes._equal(keys, 0, 2), sum(lanes._equal.stats.cache_hits.values()))
"""


def run(code: str, folder: Path, text: str = "") -> str:
    """What a process prints whose compiled code is in ``folder``."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def kept(folder: Path) -> dict[str, list[str]]:
    """Kernels of which code is kept, by whether that is code of parts."""
    found: dict[str, list[str]] = {"whole": [], "parts": []}
    for index in folder.rglob("*.nbi"):
        found["parts" if "parts" in index.parts else "whole"].append(index.name.split("-")[0])
    return found


def test_parts_are_kernels_that_others_call_and_nothing_else_does() -> None:
    parts = {e.name for e in load_table() if e.part}
    for entry in load_table():
        dispatcher_of(entry.name)  # imports it
    assert parts == (inner(kernels()) - called()) & {e.name for e in load_table()}
    assert len(parts) > 20
    assert {"scan_events.scan_events", "row_search.first_from", "lanes.number_keys", "stamp.stamp"} <= called()


def test_helpers_make_of_parts_what_their_callers_need(tmp_path: Path) -> None:
    helper = "from viewer.jit.helper import main; main()"
    parts = {e.name: e for e in load_table()}
    assert parts[ASKED[0]].part
    assert not parts[ASKED[1]].part
    told = "".join(f"{name}\n" for name in ASKED)
    assert run(helper, tmp_path, told).split() == ["ok", ASKED[0], "ok", ASKED[1]]
    assert kept(tmp_path) == {"whole": [ASKED[1]], "parts": [ASKED[0]]}
    assert run(helper, tmp_path, told).split() == ["ok", ASKED[0], "ok", ASKED[1]]  # from what is kept


def test_what_helpers_made_runs_elsewhere_and_parts_are_compiled_whole_where_they_are_called(tmp_path: Path) -> None:
    """Code of a part has no entry for Python: a process that took it would end at the first call."""
    run("from viewer.jit.helper import main; main()", tmp_path, "".join(f"{name}\n" for name in ASKED))
    assert run(USES, tmp_path) == "[0, 2] [0, 0, 1, 0] 1\n"
    assert kept(tmp_path) == {"whole": [ASKED[1]], "parts": [ASKED[0]]}
    assert run(f"import sys; sys.argv.append('part')\n{USES}", tmp_path).splitlines()[1] == "True False 0"
    assert sorted(kept(tmp_path)["whole"]) == sorted(ASKED)


def test_parts_that_name_addresses_of_a_process_are_kept_for_other_helpers(tmp_path: Path) -> None:
    """Else each helper compiles them again."""
    run("from viewer.jit.helper import main; main()", tmp_path, "".join(f"{name}\n" for name in TEXTS))
    assert sorted(kept(tmp_path)["parts"]) == sorted(TEXTS)
