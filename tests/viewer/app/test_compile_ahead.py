from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from viewer.app import compile_ahead
from viewer.app.compile_ahead import Build, Shared, begin_build, helpers_for, is_complete, machine, mark_complete
from viewer.jit.table import Entry, load_table

PATIENCE = 30.0
OBEY = """
import os, sys
for line in sys.stdin:
    with open(sys.argv[1], "a") as file:
        file.write(f"{os.getpid()} {line}")
    print("ok", line.strip(), flush=True)
"""
DIE_ONCE = """
import os, sys
try:
    os.close(os.open(sys.argv[1] + ".dead", os.O_CREAT | os.O_EXCL))
except FileExistsError:
    pass
else:
    sys.stdin.readline()
    os._exit(9)
"""


def build(log: Path, program: str = OBEY, helpers: int = 2, **options: object) -> Build:
    made = Build(load_table(), helpers, (sys.executable, "-c", program, str(log)), **options)  # type: ignore[arg-type]
    made.start()
    return made


def asked(log: Path) -> list[str]:
    return [line.split()[1] for line in log.read_text().splitlines()]


def test_every_kernel_goes_to_one_helper_after_its_callees(tmp_path: Path) -> None:
    finished = threading.Event()
    made = build(tmp_path / "log", done=finished.set)
    assert made.wait("figures", PATIENCE)
    assert finished.wait(PATIENCE)
    made.stop(PATIENCE)
    names = asked(tmp_path / "log")
    assert sorted(names) == sorted(e.name for e in load_table())
    place = {name: k for k, name in enumerate(names)}
    for entry in load_table():
        assert all(place[need] < place[entry.name] for need in entry.needs)
    assert not made.failed


def test_how_far_it_is_counts_what_a_group_needs() -> None:
    entries = [Entry("a.a", "read", ()), Entry("a.b", "lanes", ()), Entry("a.c", "figures", ())]
    made = Build(entries, 1)
    assert made.share("lanes") == 0.0
    made._settle(entries[0], ok=True)
    assert [made.share(group) for group in ("read", "lanes")] == [1.0, 0.5]


def test_a_build_that_is_stopped_when_all_is_there_still_says_that_it_is_complete(tmp_path: Path) -> None:
    finished = threading.Event()
    made = build(tmp_path / "log", done=finished.set)
    assert made.wait("figures", PATIENCE)
    made.stop(PATIENCE)
    assert finished.is_set()


def test_what_reads_a_file_is_compiled_first(tmp_path: Path) -> None:
    made = build(tmp_path / "log", helpers=1)
    assert made.wait("figures", PATIENCE)
    made.stop(PATIENCE)
    groups = {e.name: e.group for e in load_table()}
    order = [groups[name] for name in asked(tmp_path / "log")]
    assert order == sorted(order, key=["read", "lanes", "figures"].index)


def test_when_one_helper_dies_the_others_go_on(tmp_path: Path) -> None:
    finished = threading.Event()
    made = build(tmp_path / "log", DIE_ONCE + OBEY, done=finished.set)
    assert made.wait("figures", PATIENCE)
    made.stop(PATIENCE)
    assert len(made.failed) == 1
    assert sorted([*asked(tmp_path / "log"), *made.failed]) == sorted(e.name for e in load_table())
    assert not finished.is_set()


@pytest.mark.parametrize("program", ["raise SystemExit(1)", "print('nonsense', flush=True); input(); input()"])
def test_when_all_helpers_die_nobody_waits_for_them(tmp_path: Path, program: str) -> None:
    made = build(tmp_path / "log", program)
    assert made.wait("read", PATIENCE)
    made.stop(PATIENCE)


def test_a_helper_that_cannot_be_started_is_no_error(tmp_path: Path) -> None:
    made = Build(load_table(), 2, (str(tmp_path / "nothing"),))
    made.start()
    assert made.wait("figures", PATIENCE)
    made.stop(PATIENCE)


def test_a_kernel_that_fails_holds_up_no_other(tmp_path: Path) -> None:
    program = "import sys\nfor line in sys.stdin: print('failed', line.strip(), 'X', flush=True)"
    made = build(tmp_path / "log", program)
    assert made.wait("figures", PATIENCE)
    made.stop(PATIENCE)
    assert made.failed == {e.name for e in load_table()}


def test_stopping_kills_the_helpers_at_once(tmp_path: Path) -> None:
    program = "import os, sys, time; open(sys.argv[1] + str(os.getpid()), 'w').close(); time.sleep(100)"
    made = build(tmp_path / "pid-", program)
    end = time.monotonic() + PATIENCE
    while len(list(tmp_path.glob("pid-*"))) < 2 and time.monotonic() < end:
        made.wait("read", 0.05)
    before = time.monotonic()
    made.stop(PATIENCE)
    assert time.monotonic() - before < 10
    for left in tmp_path.glob("pid-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(left.name.split("-")[1]), 0)


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="priorities of another kind")
def test_helpers_step_back(tmp_path: Path) -> None:
    program = "import os, sys, time; open(sys.argv[1] + str(os.getpid()), 'w').close(); time.sleep(100)"
    made = build(tmp_path / "pid-", program)
    end = time.monotonic() + PATIENCE
    while len(list(tmp_path.glob("pid-*"))) < 2 and time.monotonic() < end:
        made.wait("read", 0.05)
    made.step_back()
    helpers = [int(left.name.split("-")[1]) for left in tmp_path.glob("pid-*")]
    assert [os.getpriority(os.PRIO_PROCESS, helper) for helper in helpers] == [compile_ahead.BEHIND] * 2
    assert [os.getsid(helper) for helper in helpers] == [os.getsid(0)] * 2  # else priorities mean nothing on Linux
    assert os.getpgid(0) not in [os.getpgid(helper) for helper in helpers]  # nor does Ctrl+C reach them
    made.stop(PATIENCE)
    made.step_back()  # of what has ended


def test_waiting_for_one_group_does_not_wait_for_later_ones(tmp_path: Path) -> None:
    program = "import sys, time; print('ok', sys.stdin.readline().strip(), flush=True); time.sleep(100)"
    entries = [Entry("a.scan", "read", ()), Entry("a.paint", "lanes", ())]
    made = Build(entries, 1, (sys.executable, "-c", program))
    made.start()
    assert made.wait("read", PATIENCE)
    assert not made.wait("lanes", 0.05)
    made.stop(PATIENCE)


def test_nothing_is_begun_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert begin_build(tmp_path / "file" / "code") is None


def test_nothing_is_begun_where_all_is_compiled_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_complete(tmp_path)
    mark_complete(tmp_path)
    assert is_complete(tmp_path)
    assert begin_build(tmp_path) is None
    monkeypatch.setattr(compile_ahead, "machine", lambda: "another")
    assert not is_complete(tmp_path)
    assert machine() != "another"


@pytest.mark.parametrize(("cores", "helpers"), [(None, 1), (1, 1), (2, 2), (64, 4)])
def test_helpers_are_as_many_as_cores_up_to_a_few(cores: int | None, helpers: int) -> None:
    assert helpers_for(cores) == helpers


def test_windows_share_one_build_which_the_last_one_stops() -> None:
    begun: list[Build] = []

    def begin() -> Build:
        begun.append(Build([Entry("a.scan", "read", ())], 1, (sys.executable, "-c", "import time; time.sleep(100)")))
        begun[-1].start()
        return begun[-1]

    shared = Shared(begin)
    first, second = shared.acquire(), shared.acquire()
    assert first is second is begun[0]
    shared.release(PATIENCE)
    assert not begun[0].wait("read", 0.05)
    shared.release(PATIENCE)
    assert begun[0].wait("read", PATIENCE)
    assert len(begun) == 1
