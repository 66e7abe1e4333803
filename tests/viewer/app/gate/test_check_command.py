"""``rankscope check`` from the command line: verdicts, exit statuses, outputs, what an alarm brings along."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.viewer.app.conftest import trace_text
from viewer.app.cli import main
from viewer.store.baseline import BaselineStore

GOOD = [100.0, 100.3, 99.8, 100.1, 99.9, 100.2, 99.7, 100.0, 100.1, 99.9]


def check(store, value, *words):
    return main(["check", "--load", "decode", "--baseline", str(store), "--figure", f"tpot_ms={value}", *words])


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store"
    for value in GOOD:
        assert check(folder, value, "--allow-new") == 0
    return folder


def test_statuses_say_new_pass_regression_and_improvement(tmp_path, store, capsys):
    assert check(tmp_path / "new", 100.0) == 2
    assert "not enough history" in capsys.readouterr().out
    assert check(store, 100.1) == 0
    assert check(store, 140.0) == 1
    out = capsys.readouterr().out
    assert "decode: REGRESSION" in out
    assert "tpot_ms" in out
    assert "first bad run: " in out
    assert check(store, 60.0, "--no-record") == 0
    assert "improvement" in capsys.readouterr().out


def test_nothing_is_recorded_with_no_record(store):
    assert check(store, 100.0, "--no-record") == 0
    assert len(BaselineStore(store).read("decode").runs) == len(GOOD)


def test_runs_of_another_machine_are_no_history(store, capsys):
    assert check(store, 100.0, "--machine", "elsewhere") == 2
    assert "not enough history" in capsys.readouterr().out


def test_all_outputs_say_the_same(tmp_path, store, capsys):
    paths = {kind: tmp_path / f"out.{kind}" for kind in ("json", "junit", "markdown")}
    words = [word for kind, path in paths.items() for word in (f"--{kind}", str(path))]
    assert check(store, 140.0, *words) == 1
    data = json.loads(paths["json"].read_bytes())
    assert (data["schema"], data["verdict"]) == ("rankscope.check/1", "regression")
    (figure,) = data["runs"][0]["figures"]
    assert figure["change"] == pytest.approx(0.4, abs=0.01)
    assert data["runs"][0]["alarm"]["first_bad"] == data["runs"][0]["id"]
    tree = ElementTree.fromstring(paths["junit"].read_bytes())
    assert (tree.get("tests"), tree.get("failures")) == ("1", "1")
    assert tree.find("testsuite/testcase/failure") is not None
    page = paths["markdown"].read_text()
    assert "| tpot\\_ms | 140 ms | +40" in page
    assert "REGRESSION" in capsys.readouterr().out
    assert check(store, 140.0, "--json", "-", "--no-record") == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "regression"


def test_a_hostile_name_stays_text_in_every_output(tmp_path, store, capsys):
    name = 'x</failure>|<script>\x1b[31m\n"&'
    paths = [tmp_path / "o.xml", tmp_path / "o.md"]
    words = ["--figure", f"{name}=1", "--junit", str(paths[0]), "--markdown", str(paths[1]), "--allow-new"]
    check(store, 100.0, *words)
    tree = ElementTree.fromstring(paths[0].read_bytes())
    assert len(tree.findall("testsuite/testcase")) == 2
    page = paths[1].read_text()
    assert "\x1b" not in page
    assert "<script>" not in page.replace("\\<", "")
    assert "\x1b" not in capsys.readouterr().out


def test_a_level_is_accepted(store, capsys):
    for value in (140.0, 140.2):
        assert check(store, value) == 1
    assert main(["check", "--accept", "last", "--load", "decode", "--baseline", str(store), "--reason", "why"]) == 0
    said = capsys.readouterr().out
    assert "the baseline begins with run" in said
    assert "1 run is at this level; a verdict needs 8" in said
    assert check(store, 140.1) == 2, "the new level has little history"
    assert "decode: no verdict yet: 1 earlier run; a verdict needs 8" in capsys.readouterr().err
    assert check(store, 140.1, "--keep-traces", "-1") == 2
    assert "--keep-traces" in capsys.readouterr().err
    assert main(["check", "--accept", "none", "--load", "decode", "--baseline", str(store)]) == 2


def test_a_trace_is_measured_and_its_pack_is_kept(tmp_path, capsys):
    trace = tmp_path / "rank0.json"
    trace.write_text(trace_text(0))
    folder = tmp_path / "store"
    words = ["check", str(trace), "--load", "train", "--baseline", str(folder), "--keep-traces", "1", "--allow-new"]
    assert main(words) == 0
    assert main(words) == 0
    stored = BaselineStore(folder).read("train").runs
    assert len(stored) == 2
    assert "gpu_busy_ns" in stored[0].figures
    kept = [BaselineStore(folder).kept_trace(r) is not None for r in stored]
    assert kept == [False, True], "only the last one's"
    assert "gpu_busy_ns" in capsys.readouterr().out


def test_a_benchmark_set_runs_and_one_that_fails_does_not_stop_the_others(tmp_path, capsys):
    code = "import json,sys;json.dump({'step_ms': 10}, open(sys.argv[1] + '/f.json', 'w'))"
    manifest = tmp_path / "loads.toml"
    manifest.write_text(
        f"[gate]\nbaseline = 'store'\n"
        f"[[load]]\nname = 'bad'\ncommand = [{sys.executable!r}, '-c', 'raise SystemExit(4)']\nfigures = 'x'\n"
        f"[[load]]\nname = 'good'\ncommand = [{sys.executable!r}, '-c', {json.dumps(code)}, '{{out}}']\n"
        f"figures = '{{out}}/f.json'\nrepeat = 2\n[load.metrics.step_ms]\nthreshold = 0.5\n"
    )
    assert main(["check", "--run", "--manifest", str(manifest), "--allow-new"]) == 2
    told = capsys.readouterr()
    assert "ended with status 4" in told.err
    assert "good: not enough history" in told.out
    (run,) = BaselineStore(tmp_path / "store").read("good").runs
    assert run.figures["step_ms"].least == 0.5


def test_a_fixed_limit_needs_no_store(tmp_path, capsys):
    words = ["check", "--load", "x", "--no-record", "--figure", "step_ms=12"]
    assert main([*words, "--limit", "step_ms=13"]) == 0
    assert main([*words, "--limit", "step_ms=11"]) == 1
    assert "beyond its limit 11" in capsys.readouterr().err
    assert main([*words, "--limit", "other=1"]) == 2


@pytest.mark.usefixtures("qapp")  # a picture makes a QGuiApplication where there is none
def test_an_alarm_compares_with_the_kept_trace_and_paints_the_place(tmp_path, capsys):
    trace = tmp_path / "t.json"
    manifest = tmp_path / "loads.toml"
    manifest.write_text(
        "[gate]\nbaseline = 'store'\nhistory = 3\nkeep_traces = 1\n[[load]]\nname = 'train'\ntraces = 't.json'\n"
        "[load.metrics.gpu_busy_ns]\ngate = true\n"
    )
    words = ["check", "--manifest", str(manifest), "--allow-new", "--alarm", str(tmp_path / "alarm")]
    for _ in range(4):
        trace.write_text(trace_text(0, kernels=8))
        assert main(words) == 0
    slow = json.loads(trace_text(0, kernels=8))
    for event in slow["traceEvents"]:
        if event["name"] == "gemm_0":
            event["dur"] += 400.0
    trace.write_text(json.dumps(slow))
    capsys.readouterr()
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "kernel gemm_0: " in out
    said = [line for line in out.splitlines() if "more per step and rank" in line]
    assert said[0].strip().startswith("cause: ")
    assert not [line for line in said if ": -" in line or ": −" in line], "what takes less explains no regression"
    assert "gemm_0" in (tmp_path / "alarm" / "train.comparison.txt").read_text()
    assert (tmp_path / "alarm" / "train.svg").read_text().startswith("<?xml")
    packs = [p.stem for p in (tmp_path / "store" / "traces" / "train").iterdir()]
    runs = BaselineStore(tmp_path / "store").read("train").runs
    assert sorted(packs) == sorted(r.id for r in runs[-2:]), "the last good run's and the first bad one's"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name the baseline store"),
        (["--baseline", "s"], "nothing to check"),
        (["--baseline", "s", "--run"], "--run needs --manifest"),
        (["--baseline", "s", "--figure", "a=1"], "say which load"),
        (["--baseline", "s", "--load", "a", "no-such-file.json"], "no-such-file.json"),
        (["--baseline", "s", "--load", "a", "--figure", "a"], "NAME=NUMBER"),
        (["--manifest", "none.toml", "--run"], "does not exist"),
    ],
)
def test_a_wrong_call_is_one_sentence(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert main(["check", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("qapp")
def test_an_alarm_says_commits_changes_and_writes_a_bisect_script(tmp_path, monkeypatch, capsys):
    repo = tmp_path / "repo"
    repo.mkdir()

    def git(*words):
        subprocess.run(["git", "-C", str(repo), *words], check=True, capture_output=True)

    git("init", "-q")
    git("config", "user.email", "a@b.c")
    git("config", "user.name", "n")

    def commit(text):
        (repo / "f").write_text(text)
        git("add", "f")
        git("commit", "-qm", text)

    figures = tmp_path / "f.json"
    manifest = tmp_path / "loads.toml"
    manifest.write_text("[gate]\nbaseline = 'store'\n[[load]]\nname = 'step'\nfigures = 'f.json'\n")
    words = ["check", "--manifest", str(manifest), "--repo", str(repo), "--allow-new"]
    commit("first")
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    monkeypatch.setenv("NCCL_AUTH_TOKEN", "secret")
    for value in GOOD:
        figures.write_text(json.dumps({"step_ms": value}))
        assert main(words) == 0
    commit("second")
    commit("slow\x1b one")
    monkeypatch.setenv("NCCL_ALGO", "Tree")
    figures.write_text(json.dumps({"step_ms": 150.0}))
    capsys.readouterr()
    assert main([*words, "--alarm", str(tmp_path / "alarm")]) == 1
    out = capsys.readouterr().out
    assert "2 commits between them" in out
    assert "second" in out
    assert "changed: NCCL_ALGO: Ring -> Tree" in out
    assert "secret" not in out
    assert "\x1b" not in out
    script = tmp_path / "alarm" / "step.bisect.sh"
    assert subprocess.run(["sh", "-n", str(script)], check=False).returncode == 0
    for value, status in ((100.0, 0), (150.0, 1)):
        figures.write_text(json.dumps({"step_ms": value}))
        assert subprocess.run(["sh", str(script)], check=False, capture_output=True).returncode == status
    figures.unlink()
    assert subprocess.run(["sh", str(script)], check=False, capture_output=True).returncode == 125
