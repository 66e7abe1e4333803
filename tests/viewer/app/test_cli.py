from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.app.conftest import trace_text
from viewer import __version__
from viewer.app import cli
from viewer.app.cli import SWITCH_SECONDS, main

Capture = pytest.CaptureFixture[str]


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


# The call itself


def test_threads_wait_for_each_other_a_millisecond_at_most(capsys: Capture) -> None:
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)
        assert main(["--version"]) == 0
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    finally:
        sys.setswitchinterval(before)


def test_version_and_help(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rankscope {__version__}\n"
    for words in (["--help"], ["analyze", "--help"], ["render", "--help"], ["cache", "--help"], ["demo", "--help"]):
        assert main(words) == 0
        out = capsys.readouterr().out
        assert "usage: rankscope" in out


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["analyze", "--help"], ["analyze"], ["nothing-here"]])
def test_the_quick_answers_load_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\nfrom viewer.app.cli import main\nmain(sys.argv[1:])\n"
        "heavy = {'PySide6', 'numba', 'pyarrow', 'numpy', 'pyqtgraph'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["analyze"],
        ["analyze", "x", "--align", "maybe"],
        ["analyze", "x", "--window", "5ms"],
        ["analyze", "x", "--window", "5ms:2ms"],
        ["analyze", "x", "--rank", "3"],
        ["analyze", "x", "--rank", "x=-1"],
        ["analyze", "x", "--rank", "x=９"],
        ["analyze", "x", "--no-such-option"],
        ["analyze", "x", "--rules", "/no/such/rules.toml"],
        ["analyze", "x", "--json", "/no/such/folder/out.json"],
        ["analyze", "x", "--json", "/"],
        ["analyze", "x", "--html", "/no/such/folder/out.html"],
        ["analyze", "x", "--html", "-", "--json", "-"],
        ["render", "x"],
        ["render", "x", "-o", "out.bmp"],
        ["render", "x", "-o", "/no/such/folder/out.png"],
        ["render", "x", "-o", "out.png", "--size", "big"],
        ["render", "x", "-o", "out.png", "--size", "10x10"],
        ["render", "x", "-o", "out.png", "--scale", "3"],
        ["render", "x", "-o", "out.png", "--theme", "pink"],
        ["cache", "burn"],
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(words: list[str], capsys: Capture) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(lines(said.err)) == 1
    assert said.err.startswith("rankscope: ")


def test_a_window_may_begin_before_the_first_kernel(job_folder: Path, capsys: Capture) -> None:
    for words in (["--window", "-1us:100us"], ["--window=-1us:100us"]):
        assert main(["analyze", str(job_folder), "--json", "-", *words]) == 0
        window = json.loads(capsys.readouterr().out)["window"]
        assert (window["start_ns"], window["end_ns"]) == (-1_000, 100_000)
    assert main(["analyze", str(job_folder), "--window", "1us:1us"]) == 2
    assert "is empty" in capsys.readouterr().err


def test_paths_and_options_mix(job_folder: Path, capsys: Capture) -> None:
    first, second = sorted(job_folder.iterdir())
    assert main(["analyze", str(first), "--json", "-", str(second)]) == 0
    assert len(json.loads(capsys.readouterr().out)["inputs"]) == 2


# Reports


def test_analyze_writes_a_page(job_folder: Path, tmp_path: Path, capsys: Capture) -> None:
    page, data = tmp_path / "out.html", tmp_path / "out.json"
    assert main(["analyze", str(job_folder), "--html", str(page), "--json", str(data)]) == 0
    assert capsys.readouterr().out == "", "nothing beside the files"
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert "a job é" in page.read_text("utf-8")
    assert json.loads(data.read_bytes())["schema"] == "rankscope.report/1"
    assert main(["analyze", str(job_folder), "--html", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")


def test_a_page_needs_no_qt(job_folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['PySide6'] = None; from viewer.app.cli import main; "
        f"sys.exit(main(['analyze', {str(job_folder)!r}, '--html', {str(tmp_path / 'p.html')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "image/svg+xml" in (tmp_path / "p.html").read_text("utf-8")


def test_analyze_prints_a_summary(job_folder: Path, capsys: Capture) -> None:
    assert main(["analyze", str(job_folder)]) == 0
    said = capsys.readouterr()
    assert "2 ranks" in said.out
    assert said.err == ""


def test_json_goes_to_stdout_or_to_a_file(job_folder: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["analyze", str(job_folder), "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["schema"] == "rankscope.report/1"
    assert printed["job"]["ranks"] == [0, 1]
    target = tmp_path / "out.json"
    assert main(["analyze", str(job_folder), "--json", str(target)]) == 0
    assert json.loads(target.read_text()) == printed
    assert capsys.readouterr().out == ""


def test_reports_of_files_whose_names_are_no_text(job_folder: Path, tmp_path: Path, capsys: Capture) -> None:
    """Two of one rank, so that sentences hold the names too."""
    for name in (b"b\xff.json", b"c\xfe.json"):
        (tmp_path / os.fsdecode(name)).write_text(trace_text(0))
    paths = [str(tmp_path / os.fsdecode(n)) for n in (b"b\xff.json", b"c\xfe.json")]
    assert main(["analyze", *paths, "--json", "-", "--html", str(tmp_path / "p.html")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert any("b\ufffd.json" in e["text"] for f in report["findings"] for e in f["evidence"])
    assert main(["compare", *paths, "--json", str(tmp_path / "c.json")]) == 0
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["schema"] == "rankscope.compare/1"


def test_a_window_cuts(job_folder: Path, capsys: Capture) -> None:
    def device(*words: str) -> Any:
        assert main(["analyze", str(job_folder / "rank 0.json"), "--json", "-", *words]) == 0
        return json.loads(capsys.readouterr().out)["ranks"][0]["device"]

    assert device()["compute_ns"] == 60_000 + 61_000 + 62_000
    cut = device("--window", "10us:110us")
    assert (cut["span_ns"], cut["compute_ns"], cut["idle_ns"]) == (100_000, 60_000, 40_000)


def test_ranks_can_be_given(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "x=y.json"
    path.write_text(trace_text(None))
    assert main(["analyze", str(path), "--json", "-", "--rank", f"{path}=12"]) == 0
    (item,) = json.loads(capsys.readouterr().out)["inputs"]
    assert (item["rank"], item["rank_source"]) == (12, "given")


def test_own_rules_go_before_the_shipped_ones(job_folder: Path, tmp_path: Path, capsys: Capture) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nid = "mine"\nclass = "memory"\nname = "^gemm_0"\nwhy = "a test"\n')
    assert main(["analyze", str(job_folder), "--json", "-", "--rules", str(rules)]) == 0
    kernels = {k["name"]: k for k in json.loads(capsys.readouterr().out)["kernels"]}
    assert (kernels["gemm_0"]["class"], kernels["gemm_0"]["rule"]) == ("memory", "mine")
    assert kernels["gemm_1"]["class"] == "compute"


@pytest.mark.parametrize(
    "text",
    [
        "[[rule",
        '[[rule]]\nid = "x"\n',
        '[[rule]]\nid="x"\nclass="pink"\nwhy="y"\n',
        '[[rule]]\nid="x"\nclass="comm"\nwhy="y"\nname="("\n',
    ],
)
def test_bad_rules_are_one_line(job_folder: Path, tmp_path: Path, text: str, capsys: Capture) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(text)
    assert main(["analyze", str(job_folder), "--rules", str(rules)]) == 2
    (line,) = lines(capsys.readouterr().err)
    assert str(rules) in line


# Bad input


def bad_file(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.json"
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "no-json":
        path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(range(256)))
    elif kind == "text":
        path.write_text("hello")
    elif kind == "other-json":
        path.write_text('{"a": [1, 2, 3]}')
    elif kind == "folder":
        path.mkdir()
        (path / "readme.txt").write_text("nothing")
    return path


@pytest.mark.parametrize("kind", ["empty", "no-json", "text", "other-json", "folder", "missing"])
def test_one_bad_input_is_one_line_and_status_2(tmp_path: Path, kind: str, capsys: Capture) -> None:
    path = bad_file(tmp_path, kind)
    assert main(["analyze", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = lines(said.err)
    assert str(path) in line
    assert line.endswith(".")
    assert "Traceback" not in line


@pytest.mark.parametrize("kind", ["empty", "no-json", "text", "other-json", "missing"])
def test_good_files_open_beside_bad_ones(job_folder: Path, tmp_path: Path, kind: str, capsys: Capture) -> None:
    path = bad_file(tmp_path, kind)
    assert main(["analyze", str(path), str(job_folder), "--json", "-"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)["inputs"]) == 2
    (line,) = lines(said.err)
    assert str(path) in line


def test_a_file_without_permission(job_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    path = job_folder / "rank 0.json"
    deny(monkeypatch, path)
    assert main(["analyze", str(path)]) == 2
    (line,) = lines(capsys.readouterr().err)
    assert str(path) in line
    assert "permission" in line.lower()


def deny(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Tests may run as root, who can read everything."""
    import builtins
    import io

    def refuse(real: Any) -> Any:
        def guarded(name: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(name, int) and Path(os.fsdecode(name)) == path:
                raise PermissionError(13, "Permission denied", str(path))
            return real(name, *args, **kwargs)

        return guarded

    for module in (builtins, io, os):
        monkeypatch.setattr(module, "open", refuse(module.open))


def test_valid_files_without_gpu_work_or_events_are_fine(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "none.json"
    path.write_text('{"schemaVersion": 1, "traceEvents": []}')
    assert main(["analyze", str(path), "--json", "-"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["inputs"][0]["ledger"]["read"] == 0
    assert said.err == ""


# What goes wrong on the way


def test_a_missing_path_gets_a_hint(capsys: Capture) -> None:
    assert main(["analyse"]) == 2
    assert "Did you mean the command 'rankscope analyze'?" in capsys.readouterr().err


def test_no_display_is_one_line(job_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main([str(job_folder)]) == 2
    (line,) = lines(capsys.readouterr().err)
    assert "no display" in line
    assert "rankscope render" in line


def test_a_file_named_like_a_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from viewer.app import launch

    opened: list[Path] = []
    monkeypatch.setattr(launch, "open_window", lambda paths, _options: opened.extend(paths) or 0)
    (tmp_path / "analyze").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert main(["./analyze"]) == 0
    assert opened == [Path("analyze")]
    assert main(["--", "analyze"]) == 0
    assert len(opened) == 2


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), 130), (BrokenPipeError(), 141), (ValueError("a\nb"), 70)]
)
def test_how_a_command_can_end(
    error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def fail(_: list[str]) -> int:
        raise error

    monkeypatch.setitem(cli.COMMANDS, "cache", fail)
    monkeypatch.delenv("RANKSCOPE_DEBUG", raising=False)
    if status == 141:
        monkeypatch.setattr(cli, "silence_stdout", lambda: None)
    try:
        assert main(["cache"]) == status
    finally:
        from viewer.app.logs import log_path, stop_logging

        stop_logging()
    said = capsys.readouterr().err
    if status != 70:
        assert said == ""
        return
    (line,) = lines(said)
    assert "defect" in line
    assert "a b" in line
    assert str(log_path()) in line
    assert "Traceback" in log_path().read_text()


def test_debug_shows_the_stack(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def fail(_: list[str]) -> int:
        raise ValueError("x")

    monkeypatch.setitem(cli.COMMANDS, "cache", fail)
    monkeypatch.setenv("RANKSCOPE_DEBUG", "1")
    assert main(["cache"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_goes_away_and_an_ascii_terminal(tmp_path: Path) -> None:
    path = tmp_path / "größe.json"
    path.write_text("")
    run = subprocess.run(
        [sys.executable, "-m", "viewer.app.cli", "analyze", str(path)],
        env={
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
            "HOME": str(tmp_path),
        },
        capture_output=True,
        timeout=120,
        check=False,
        cwd=Path(cli.__file__).parents[2],
    )
    assert run.returncode == 2
    assert run.stderr.count(b"\n") == 1
    assert b"Traceback" not in run.stderr
    run = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -m viewer.app.cli --help | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        timeout=60,
        check=False,
        cwd=Path(cli.__file__).parents[2],
    )
    assert run.stdout.strip() in (b"0", b"141")
    assert run.stderr == b""


def test_after_a_window_the_process_ends_at_once_and_tidily() -> None:
    code = (
        "import atexit, sys, threading\n"
        "import viewer.app.gui\n"
        "from viewer.app import cli\n"
        "threading.Thread(target=threading.Event().wait).start()\n"  # compiles for ever
        "atexit.register(lambda: print('tidied'))\n"
        "cli.COMMANDS['show'] = lambda words: 3\n"
        "sys.argv = ['rankscope', 'show']\n"
        "cli.main()\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (3, "tidied\n", "")


# The cache


def test_the_cache_lists_and_clears(
    job_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["cache"]) == 0
    assert "empty" in capsys.readouterr().out
    assert main(["analyze", str(job_folder)]) == 0
    capsys.readouterr()
    assert main(["cache", "list"]) == 0
    listed = capsys.readouterr().out
    assert str(tmp_path / "cache") in listed
    assert "rank 0.json" in listed
    assert "rank 1.json.gz" in listed
    assert main(["cache", "clear"]) == 0
    assert "2" in capsys.readouterr().out
    assert main(["cache"]) == 0
    assert "empty" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0


def test_an_empty_path_is_not_the_current_folder(
    job_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(job_folder)
    for words in ([""], ["analyze", ""], ["render", "", "-o", "a.png"]):
        assert main(words) == 2
        (line,) = lines(capsys.readouterr().err)
        assert "empty" in line


def test_a_closed_stdout_is_no_defect(job_folder: Path, tmp_path: Path) -> None:
    code = f"from viewer.app.cli import main; import sys; sys.exit(main(['analyze', {str(job_folder)!r}]))"
    shell = ["sh", "-c", 'exec "$0" -c "$1" >&-', sys.executable, code]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_behind_stdout_is_one_line(job_folder: Path) -> None:
    command = [sys.executable, "-m", "viewer.app.cli", "analyze", str(job_folder)]
    with open("/dev/full", "wb") as full:
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    assert run.returncode == 2
    (line,) = lines(run.stderr)
    assert "No space left" in line
    assert "defect" not in line


def test_an_error_of_ours_in_one_file_shows_no_stack(
    job_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    from viewer.app.logs import log_path, stop_logging
    from viewer.importers import single

    def fail(*_: object) -> None:
        raise RuntimeError("broken inside")

    monkeypatch.setattr(single, "importer_of", fail)
    stop_logging()
    try:
        for logged in (True, False):
            assert main(["analyze", *map(str, job_folder.iterdir())]) == 2
            err = lines(capsys.readouterr().err)
            assert len(err) == len(list(job_folder.iterdir()))
            assert all(line.startswith("rankscope: ") and "broken inside" in line for line in err)
            stop_logging()
            if logged:
                assert "Traceback" in log_path().read_text()
                log_path().unlink()
                log_path().mkdir()  # a log that cannot be written
    finally:
        stop_logging()


def test_help_that_nobody_reads_ends_like_any_closed_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

    silenced: list[bool] = []
    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(cli, "prepare_streams", lambda: None)
    monkeypatch.setattr(cli, "silence_stdout", lambda: silenced.append(True))
    assert main(["--help"]) == cli.BROKEN_PIPE
    assert silenced == [True]
