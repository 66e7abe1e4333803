"""Logs of figures: tables, JSON lines, text."""

import pytest

from viewer.base.errors import InputError
from viewer.importers.metric_log import read_metric_log, time_of

MEGATRON = (
    " [2026-05-01 12:00:{:02}] iteration {:8d}/ 4000 | consumed samples: 512 | elapsed time per iteration (ms): {:.1f} "
    "| lm loss: 4.200000E+00 | global batch size:   512 |\n"
)


def write(tmp_path, text, name="log"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_lines_of_a_training_log(tmp_path):
    text = "world size = 8\nTraceback: none\n" + "".join(MEGATRON.format(i, i, 1200.5 + i) for i in range(3))
    log = read_metric_log(write(tmp_path, text))
    assert log.kind == "text"
    series = log.series["elapsed time per iteration (ms)"]
    assert series.values == [1200.5, 1201.5, 1202.5]
    assert series.times is not None
    assert series.times[1] - series.times[0] == 1.0
    assert log.series["lm loss"].values == [4.2] * 3
    assert log.series["global batch size"].values == [512.0] * 3
    assert log.series["world size"].times is None


def test_key_value_lines_without_times(tmp_path):
    log = read_metric_log(write(tmp_path, "step=1 step_time=0.5 loss=2\nstep=2 step_time=0.6 loss=1.5\n"))
    assert log.series["step_time"].values == [0.5, 0.6]
    assert log.series["step_time"].times is None
    assert log.series["loss"].values == [2.0, 1.5]


def test_tables_with_a_header(tmp_path):
    text = "timestamp,step_ms,note\n2026-05-01T00:00:00Z,10,a\n2026-05-01T00:00:01Z,nan,b\n2026-05-01T00:00:02Z,12,c\n"
    log = read_metric_log(write(tmp_path, text))
    assert (log.kind, log.series["step_ms"].values) == ("table", [10.0, 12.0])
    times = log.series["step_ms"].times
    assert times is not None
    assert times[1] - times[0] == 2.0
    assert list(log.series) == ["step_ms"]


def test_json_lines_skip_what_is_none(tmp_path):
    log = read_metric_log(
        write(tmp_path, '{"time": 1, "mfu": 0.4, "x": "7", "ok": true}\n{broken\n[]\n{"time": 2, "mfu": 0.5}\n')
    )
    assert log.series["mfu"].values == [0.4, 0.5]
    assert log.series["mfu"].times == [1.0, 2.0]
    assert (log.lines, log.used) == (4, 2)


def test_lines_that_go_back_in_time_are_counted(tmp_path):
    log = read_metric_log(write(tmp_path, '{"ts": 5, "a_ms": 1}\n{"ts": 4, "a_ms": 2}\n{"ts": 6, "a_ms": 3}\n'))
    assert log.unordered == 1
    assert log.series["a_ms"].values == [1.0, 3.0]


@pytest.mark.parametrize("data", [b"", b"no figures here\n", b"\x00\xff\xfe" * 1_000, b"a,b\nx,y\n", b"{" * 10_000])
def test_what_is_no_log_is_one_sentence(tmp_path, data):
    with pytest.raises(InputError, match="holds no figures"):
        read_metric_log(write(tmp_path, data))
    with pytest.raises(InputError, match="cannot be read"):
        read_metric_log(tmp_path / "none")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1_700_000_000, 1.7e9),
        (1_700_000_000_000, 1.7e9),
        (1_700_000_000_000_000, 1.7e9),
        (1_700_000_000_000_000_000, 1.7e9),
        ("2023-11-14T22:13:20Z", 1.7e9),
        ("2023/11/14 22:13:20,5", 1.7e9 + 0.5),
        ("2023-11-14T23:13:20+01:00", 1.7e9),
        ("yesterday", None),
        (True, None),
        (float("inf"), None),
        ("2023-99-99 10:00:00", None),
    ],
)
def test_times_are_told_by_their_form_and_size(value, seconds):
    assert time_of(value) == (None if seconds is None else pytest.approx(seconds))


def test_names_and_series_are_bounded(tmp_path):
    text = "\n".join(f"k{i}=1" for i in range(2_000))
    assert len(read_metric_log(write(tmp_path, text)).series) == 500
