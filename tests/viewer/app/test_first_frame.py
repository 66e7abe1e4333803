from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from viewer.app.compile_ahead import mark_complete
from viewer.importers.opening import JobOpener
from viewer.jit.folder import code_folder, prepare
from viewer.jit.machine import native_file
from viewer.jit.native_build import build
from viewer.store.cache import Cache

ROOT = Path(__file__).resolve().parents[3]

LATER = ("numba", "pyarrow.compute", "pyqtgraph", "viewer.analyses.card_fill", "viewer.importers.registry")
"""What takes long to load and paints nothing."""

CHILD = """
import gc, sys
from PySide6.QtCore import QTimer
from viewer.app import cli, gui
from widgets.lanes_canvas import LanesCanvas

paint = LanesCanvas.paint
def first(canvas, painter):
    paint(canvas, painter)
    if canvas.has_shown:
        LanesCanvas.paint = paint
        print(*(name for name in sys.argv[1].split(",") if name in sys.modules), gc.isenabled(), flush=True)
LanesCanvas.paint = first

show = gui.Desktop.new_window
def new_window(*args, **options):
    window = show(*args, **options)
    timer = QTimer(window, interval=5)
    def end():
        if window.warm_up.is_done and LanesCanvas.paint is paint:
            loaded = {"numba", "pyqtgraph"} <= set(sys.modules)
            print(loaded, gc.isenabled(), gc.get_freeze_count() > 100_000, flush=True)
            timer.stop()
            window.close()
    timer.timeout.connect(end)
    timer.start()
    return window
gui.Desktop.new_window = new_window
print(cli.main(sys.argv[2:]), gc.get_freeze_count() > 1000)
"""


def test_what_panels_are_made_of_is_loaded_by_the_worker() -> None:
    """What it leaves out is loaded by the thread that turns the window."""
    code = (
        "import sys\nfrom viewer.app.features.registry import FEATURES\n"
        "from viewer.app.features.side_panels import load_panels\nload_panels()\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    wanted = {
        step.module
        for path in (ROOT / "viewer/app/features").glob("*.py")
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef) and function.name in ("attach", "attach_panel", "_make_files")
        for step in ast.walk(function)
        if isinstance(step, ast.ImportFrom)
    }
    assert len(wanted) > 8
    assert wanted <= set(done.stdout.split())


@pytest.fixture
def ready_code() -> None:
    """All is compiled, as after a first start."""
    from viewer.app.warm_up import warm_engine, warm_lanes

    warm_lanes()
    warm_engine()
    folder = code_folder()
    assert prepare(folder)
    if not native_file(folder).exists():
        build(folder)
    mark_complete(folder)


def test_the_first_frame_of_a_cached_job_waits_for_nothing_that_paints_none(ready_code: None, job_folder: Path) -> None:
    """And what was put off comes after it; so does the collector of cycles, which leaves alone what the start made."""
    JobOpener([job_folder], cache=Cache()).open()
    command = [sys.executable, "-c", CHILD, ",".join(LATER), str(job_folder)]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120, cwd=ROOT)
    assert done.stdout.splitlines() == ["False", "True True True", "0 False"], done.stdout + done.stderr
