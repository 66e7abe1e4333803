"""Small trace files, and windows that are closed when a test ends."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


def trace_events(rank: int = 0, kernels: int = 4) -> list[dict[str, Any]]:
    """A few launches and their kernels, one of them a collective."""
    events: list[dict[str, Any]] = []
    for k in range(kernels):
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if k % 4 == 3 else f"gemm_{k % 2}"
        at = 1000.0 + 100 * k + rank
        events.append(
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 50, "tid": 50, "ts": at, "dur": 5.0}
            | {"args": {"correlation": k + 1}}
        )
        events.append(
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 10, "dur": 60.0 + k}
            | {"args": {"device": 0, "stream": 7, "correlation": k + 1}}
        )
    return events


def trace_text(rank: int | None = 0, kernels: int = 4, world: int = 2) -> str:
    """A whole trace file."""
    data: dict[str, Any] = {"schemaVersion": 1, "traceEvents": trace_events(rank or 0, kernels)}
    if rank is not None:
        data["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world}
    return json.dumps(data)


@pytest.fixture
def job_folder(tmp_path: Path) -> Path:
    """A job of two ranks, one of them compressed; the folder's name needs escapes in a URI."""
    folder = tmp_path / "a job é"
    folder.mkdir()
    (folder / "rank 0.json").write_text(trace_text(0))
    (folder / "rank 1.json.gz").write_bytes(gzip.compress(trace_text(1).encode()))
    return folder


@pytest.fixture(scope="session")
def engine() -> None:
    """Compiled loops: a test that opens something must not wait for them, nor leave a thread that compiles."""
    from viewer.app.compile_ahead import mark_complete
    from viewer.app.warm_up import warm_engine, warm_lanes
    from viewer.jit.folder import code_folder

    warm_lanes()
    warm_engine()
    mark_complete(code_folder())  # or each window would start helpers


@pytest.fixture
def windows(qtbot: Any, engine: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Makes main windows with settings in the test's own folder; closes them at the end without saving anything."""
    from PySide6.QtCore import QCoreApplication, QEvent
    from PySide6.QtWidgets import QApplication

    from viewer.app import dialogs
    from viewer.app.main_window import MainWindow
    from viewer.app.palette import Appearance

    monkeypatch.setattr(dialogs, "ask_save", lambda *_: "discard")
    made: list[Any] = []
    palette = QApplication.palette()

    def make(theme: str = "light", **options: Any) -> MainWindow:
        window = MainWindow(Appearance(theme), **options)
        made.append(window)
        window.show()
        return window

    yield make
    for window in made:
        window.close()
        window.deleteLater()
    made.clear()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    QApplication.setPalette(palette)
