"""Manifests: what they may say, and what is said of wrong ones."""

import pytest

from viewer.app.gate.manifest import Metric, read_manifest
from viewer.base.errors import InputError

GOOD = """
[gate]
baseline = "store"
keep_traces = 5
history = 6

[[load]]
name = "step"
kind = "training step"
command = ["python", "step.py", "{out}"]
traces = ["{out}"]
time_limit = "2 min"
repeat = 3

[load.metrics.step_ns]
direction = "lower"
threshold = 0.02
gate = true

[[load]]
name = "decode"
kind = "decode"
figures = "decode.json"
"""


def test_a_whole_manifest(tmp_path):
    path = tmp_path / "loads.toml"
    path.write_text(GOOD)
    found = read_manifest(path)
    step, decode = found.loads
    assert (found.baseline, found.keep_traces, found.history) == (tmp_path / "store", 5, 6)
    assert (step.command, step.traces, step.seconds, step.repeat) == (
        ("python", "step.py", "{out}"),
        ("{out}",),
        120.0,
        3,
    )
    assert step.metrics == {"step_ns": Metric("lower", 0.02, True)}
    assert (decode.kind, decode.figures, decode.seconds) == ("decode", "decode.json", 1800.0)
    assert found.load("nothing") is None


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        ("x = 1", "x", "is not known"),
        ("", "load", "must be 1 to 500 tables"),
        ("load = 3", "load", "must be 1 to 500 tables"),
        ("[[load]]\ntraces = ['t']", "load[0].name", "needs a name"),
        ("[[load]]\nname = 'a'", "load[0]", "needs a command"),
        ("[[load]]\nname = 'a'\ntraces = 't'\n[[load]]\nname = 'a'\ntraces = 't'", "load", "two loads"),
        ("[[load]]\nname = 'a'\nkind = 'x'\ntraces = 't'", "load[0].kind", "none of training step"),
        ("[[load]]\nname = 'a'\ncommand = 3", "load[0].command", "list of texts"),
        ("[[load]]\nname = 'a'\ncommand = \"a 'b\"", "load[0].command", "split into words"),
        ("[[load]]\nname = 'a'\ntraces = 't'\ntime_limit = '5 days'", "load[0].time_limit", "seconds"),
        ("[[load]]\nname = 'a'\ntraces = 't'\ntime_limit = true", "load[0].time_limit", "seconds"),
        ("[[load]]\nname = 'a'\ntraces = 't'\nrepeat = 0", "load[0].repeat", "from 1 to 100"),
        ("[[load]]\nname = 'a'\ntraces = 't'\nmetrics = 3", "load[0].metrics", "must be a table"),
        ("[[load]]\nname='a'\ntraces='t'\n[load.metrics.s]\nthreshold = -1", "load[0].metrics.s.threshold", "share"),
        ("[[load]]\nname='a'\ntraces='t'\n[load.metrics.s]\ndirection='up'", "load[0].metrics.s.direction", "lower"),
        ("[[load]]\nname='a'\ntraces='t'\n[load.metrics.s]\ngate = 1", "load[0].metrics.s.gate", "true or false"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, where, problem):
    path = tmp_path / "loads.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_manifest(path)
    assert caught.value.where == where
    assert problem in caught.value.problem


@pytest.mark.parametrize("data", [b"[[", b"\xff\xfe", b"a = " + b"[" * 5_000, b"#" * ((1 << 20) + 1)])
def test_what_is_no_manifest_is_one_sentence(tmp_path, data):
    path = tmp_path / "loads.toml"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"is no TOML|is too large"):
        read_manifest(path)
    with pytest.raises(InputError, match="does not exist"):
        read_manifest(tmp_path / "none.toml")
