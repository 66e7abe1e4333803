"""Running loads: without a shell, with a time limit, in a folder of their own."""

import json
import sys

import pytest

from viewer.app.gate.loads import given_figure, load_output, read_figures
from viewer.app.gate.manifest import Load, Manifest
from viewer.base.errors import InputError

WRITES = "import json, os, sys; json.dump({'ttft_ms': 12.5}, open(os.path.join(sys.argv[1], 'f.json'), 'w'))"


def manifest_of(folder, load):
    return Manifest(folder, (load,))


def test_a_command_writes_into_its_folder_which_goes_away(tmp_path):
    load = Load("a", command=(sys.executable, "-c", WRITES, "{out}"), figures="{out}/f.json", traces=("{out}/*.json",))
    with load_output(manifest_of(tmp_path, load), load, run=True) as ran:
        (path,) = ran.traces
        assert path.is_file()
        assert (ran.figures["ttft_ms"].value, ran.figures["ttft_ms"].unit) == (12.5, "ms")
    assert not path.exists()


def test_nothing_runs_unless_asked(tmp_path):
    load = Load("a", command=(sys.executable, "-c", "open('ran', 'w')"), traces=(".",))
    with load_output(manifest_of(tmp_path, load), load, run=False) as ran:
        assert ran.traces == (tmp_path / ".",)
    assert not (tmp_path / "ran").exists()


def test_no_shell_reads_the_command(tmp_path):
    load = Load("a", command=(sys.executable, "-c", "pass", "; touch", "$(touch x)"), traces=(".",))
    with load_output(manifest_of(tmp_path, load), load, run=True):
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ((sys.executable, "-c", "print('no GPU'); raise SystemExit(3)"), "status 3; it said last: no GPU"),
        ((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"), "ended by signal 9"),
        (("/no/such/program",), "cannot be started: No such file"),
    ],
)
def test_a_command_that_fails_is_one_sentence(tmp_path, command, said):
    load = Load("a", command=command, traces=(".",))
    with pytest.raises(InputError) as caught, load_output(manifest_of(tmp_path, load), load, run=True):
        pass
    assert said in str(caught.value)


def test_a_command_and_its_children_end_at_the_time_limit(tmp_path):
    import os
    import time

    code = (
        "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "open('pid', 'w').write(str(p.pid)); time.sleep(60)"
    )
    load = Load("slow", command=(sys.executable, "-c", code), traces=(".",), seconds=1.5)
    with (
        pytest.raises(InputError, match=r"took longer than its 1\.5 s"),
        load_output(manifest_of(tmp_path, load), load, run=True),
    ):
        pass
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        with open(f"/proc/{child}/stat") as file:
            if file.read().split()[2] == "Z":
                return
    pytest.fail("the child lives on")


def test_traces_that_are_missing_are_said(tmp_path):
    load = Load("a", traces=("none-*.json",))
    with pytest.raises(InputError, match="are not there"), load_output(manifest_of(tmp_path, load), load, run=False):
        pass


def test_figures_of_a_file_know_what_is_better(tmp_path):
    path = tmp_path / "f.json"
    path.write_text(
        json.dumps({"tokens_per_s": 900, "tpot_ms": {"samples": [3.0, 1.0, 2.0], "gate": False}, "x": {"value": 1}})
    )
    found = read_figures(path)
    assert (found["tokens_per_s"].better, found["tokens_per_s"].gate) == ("higher", True)
    assert (found["tpot_ms"].value, found["tpot_ms"].samples, found["tpot_ms"].gate) == (2.0, [3.0, 1.0, 2.0], False)
    assert found["x"].unit == ""


@pytest.mark.parametrize(
    "text",
    ["[]", "{", '{"a": "x"}', '{"a": NaN}', '{"a": {"value": 1, "odd": 2}}', '{"a": {"samples": 3}}', '{"a": true}',
     '{"a": {"value": 1, "better": "up"}}', '{"a": {}}', "[" * 50_000],
)  # fmt: skip
def test_wrong_figures_are_one_sentence(tmp_path, text):
    path = tmp_path / "f.json"
    path.write_text(text)
    with pytest.raises(InputError):
        read_figures(path)


def test_figures_of_the_command_line():
    name, figure = given_figure("mfu=0.45")
    assert (name, figure.value, figure.better) == ("mfu", 0.45, "higher")
    for wrong in ("mfu", "=3", "a=b", "a=nan", "a=inf"):
        with pytest.raises(InputError, match="NAME=NUMBER"):
            given_figure(wrong)
