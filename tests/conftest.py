"""Fixtures for every test: sample traces, a demo job, private user folders, and checks that nothing is left behind."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import hypothesis
import pytest

# The first example compiles a kernel, and CI machines are noisy: how long an example takes says nothing.
hypothesis.settings.register_profile("rankscope", deadline=None, print_blob=True)
hypothesis.settings.load_profile("rankscope")

ROOT = Path(__file__).resolve().parent.parent
XDG = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
PATIENCE_S = 5.0
_held: list[IO[str]] = []


def _compiled_folder() -> Path:
    """A folder for compiled kernels that no other running test process uses, warm from earlier runs.

    numba's cache is not safe against two writers of one kernel with different types: so one folder per process, the
    lowest free slot.
    """
    top = ROOT / ".numba_cache"
    top.mkdir(exist_ok=True)
    for slot in range(1000):
        lock = (top / f"slot-{slot}.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        _held.append(lock)  # until the process ends
        folder = top / f"slot-{slot}"
        folder.mkdir(exist_ok=True)
        return folder
    raise RuntimeError(f"no free slot under {top}")


def _release() -> None:
    while _held:
        _held.pop().close()


def pytest_configure(config: pytest.Config) -> None:
    """Private folders before anything is imported; session fixtures see these, each test gets its own."""
    home = Path(tempfile.mkdtemp(prefix="rankscope-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    config.add_cleanup(_release)
    for variable in XDG:
        os.environ[variable] = str(home / variable.lower())
    if not os.environ.get("XDG_RUNTIME_DIR"):
        (home / "run").mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(home / "run")
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if "RANKSCOPE_TEST_NUMBA_CACHE" in os.environ:
        os.environ["NUMBA_CACHE_DIR"] = os.environ["RANKSCOPE_TEST_NUMBA_CACHE"]
    elif not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        pass  # the controller of a parallel run compiles nothing; each worker takes its own slot
    else:
        os.environ["NUMBA_CACHE_DIR"] = str(_compiled_folder())


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of sample traces: $RANKSCOPE_SHARED, else ``shared`` beside the repository; skips where there is none."""
    folder = Path(os.environ.get("RANKSCOPE_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        pytest.skip("no sample traces on this machine")
    return folder


class DemoJob(NamedTuple):
    """A generated job: its folder of trace files, and what is true of it."""

    folder: Path
    truth: dict[str, Any]


@pytest.fixture(scope="session")
def demo_job(tmp_path_factory: pytest.TempPathFactory) -> DemoJob:
    """The demo job as users get it; read only."""
    from viewer.app.demo.job import write_demo_job

    folder = tmp_path_factory.mktemp("demo")
    return DemoJob(folder, write_demo_job(folder))


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Settings, caches, data and state of each test are its own."""
    home = tmp_path_factory.mktemp("home")
    for variable in XDG:
        monkeypatch.setenv(variable, str(home / variable.lower()))


def _wait_until(done: Callable[[], bool], work: Callable[[], None]) -> bool:
    end = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > end:
            return False
        work()
    return True


@pytest.fixture(autouse=True)
def _nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread behind, or (with Qt) a top-level widget or a job of Qt's thread pool."""
    before = set(threading.enumerate())
    gui = bool({"qtbot", "qapp"} & set(request.fixturenames))
    widgets_before: set[int] = set()
    if gui:
        qapp = request.getfixturevalue("qapp")
        widgets_before = {id(w) for w in qapp.topLevelWidgets()}
    yield
    left: list[str] = []
    if gui:
        left += _qt_leftovers(widgets_before)

    def threads() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t not in before and t.is_alive()]

    def join() -> None:
        for thread in threads():
            thread.join(0.05)

    if not _wait_until(lambda: not threads(), join):
        left += [f"thread {t.name}" for t in threads()]
    if left:
        pytest.fail("left behind: " + "; ".join(left), pytrace=False)


def _qt_leftovers(widgets_before: set[int]) -> list[str]:
    from PySide6.QtCore import QCoreApplication, QEvent, QThreadPool
    from PySide6.QtWidgets import QApplication, QWidget

    def widgets() -> list[QWidget]:
        return [w for w in QApplication.topLevelWidgets() if id(w) not in widgets_before]

    def settle() -> None:
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)

    settle()
    if widgets():
        gc.collect()  # a widget whose last reference sits in a cycle is not a leak
        settle()
    left = [f"{type(w).__name__} {w.objectName()!r}" for w in widgets()]
    for widget in widgets():
        widget.close()
        widget.deleteLater()
    settle()
    pool = QThreadPool.globalInstance()
    if not pool.waitForDone(int(PATIENCE_S * 1000)):
        left.append(f"{pool.activeThreadCount()} jobs in Qt's thread pool")
    return left
