"""Jobs that a script makes, which writes what is true of them beside the traces."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any


def generated(generator: Path, folder: Path, options: tuple[str, ...]) -> dict[str, Any]:
    """Write a job in place of what ``folder`` holds; its truth."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, str(generator), "--out", str(folder), *options]
    subprocess.run(command, check=True, capture_output=True)
    truth: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return truth
