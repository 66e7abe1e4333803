"""Outputs of nccl-tests and rccl-tests of all ages; what is none is refused in one sentence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.base.errors import InputError
from viewer.store.nccl_tests import Measured, NcclTest, parse_nccl_tests, read_nccl_tests

HEAD = """\
# Collective test starting: all_gather_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1
#
# Using devices
#  Rank  0 Group  0 Pid   6899 on   node-a device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6900 on   node-b device  0 [0000:05:00] NVIDIA H100 80GB HBM3
#
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
ROWS = """\
           0             0     float    none      -1     4.10    0.00    0.00      0     4.00    0.00    0.00      0
     1048576        131072     float    none      -1    50.00   20.97   10.49      0    40.00   26.21   13.11    N/A
        2048           256     float    none      -1    25.00    0.08    0.04      0    24.00    0.09    0.04      0
"""


def test_a_text_gives_kind_members_hosts_device_and_sizes_in_order() -> None:
    (run,) = parse_nccl_tests(HEAD + ROWS, "out.log")
    assert (run.kind, run.members, run.hosts, run.gpu) == ("all_gather", 2, 2, "NVIDIA H100 80GB HBM3")
    assert run.rows == (
        Measured(2048, 25_000.0, 0.04, 24_000.0, 0.04),
        Measured(1048576, 50_000.0, 10.49, 40_000.0, 13.11),
    )


def test_old_rows_have_no_root_and_say_na() -> None:
    row = "     1024   256   float     sum    36.07    0.03    0.05    N/A    35.77  0.03  0.05    N/A\n"
    text = "# nThread 1 nGpus 8 minBytes 1\n" + row
    (run,) = parse_nccl_tests(text, "superbench_nccl_allreduce.log")
    assert run == NcclTest("superbench_nccl_allreduce.log", "allreduce", 8, None, "", run.rows)
    assert run.rows == (Measured(1024, 36_070.0, 0.05, 35_770.0, 0.05),)


def test_debug_lines_between_the_pieces_of_a_row_are_no_part_of_it() -> None:
    debug = "node-a:64904:64904 [1] NCCL INFO AllReduce: opCount 0 count 2097152 datatype 7"
    text = f"{HEAD}     8388608       2097152     float     sum      -1{debug}\n{debug}\n"
    text += f"    83.33  100.66  100.66      0{debug}\n"
    text += "    80.98  103.59  103.59      0\n"
    (run,) = parse_nccl_tests(text, "x")
    assert run.rows == (Measured(8388608, 83_330.0, 100.66, 80_980.0, 103.59),)


def test_several_runs_in_one_text_stay_apart() -> None:
    runs = parse_nccl_tests(HEAD + ROWS + HEAD.replace("all_gather", "all_reduce") + ROWS, "x")
    assert [(r.kind, len(r.rows)) for r in runs] == [("all_gather", 2), ("all_reduce", 2)]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("all-reduce.log", "all_reduce"), ("reduce_scatter_perf.txt", "reduce_scatter"), ("nccl.log", "")],
)
def test_a_head_that_was_cut_off_leaves_the_files_name(name: str, kind: str) -> None:
    (run,) = parse_nccl_tests(ROWS, name)
    assert (run.kind, run.members) == (kind, None)


def test_without_any_name_the_ratio_of_the_bandwidths_tells_an_all_reduce() -> None:
    row = "  1000000  250000  float  sum  -1  100.0  10.00  17.50  0  100.0  10.00  17.50  0\n"
    (run,) = parse_nccl_tests("# nThread 1 nGpus 8\n" + row, "x")
    assert run.kind == "all_reduce"


def test_json_of_nccl_tests() -> None:
    devices = [{"rank": r, "group": 0, "hostname": "a", "device_info": "NVIDIA H200"} for r in range(4)]
    side = {"time": 30.0, "alg_bw": 1.0, "bus_bw": 1.5, "nwrong": None}
    data = {
        "version": 2,
        "args": ["./build/reduce_scatter_perf", "-b", "8"],
        "config": {"devices": devices},
        "results": [{"size": 4096, "out_of_place": side, "in_place": None}, {"size": "x"}, 3],
    }
    (run,) = parse_nccl_tests(json.dumps(data), "out.json")
    assert run == NcclTest(
        "out.json", "reduce_scatter", 4, 1, "NVIDIA H200", (Measured(4096, 30_000.0, 1.5, None, None),)
    )


def test_json_of_rccl_tests_has_one_entry_per_placement() -> None:
    entry = {"name": "AllReduce", "nodes": 2, "ranks": 16, "size": 4096, "time": 20.0, "busBw": 2.5}
    data = [entry | {"inPlace": 0}, entry | {"inPlace": 1, "time": "18.5"}]
    (run,) = parse_nccl_tests(json.dumps(data), "out.json")
    assert (run.kind, run.members, run.hosts) == ("allreduce", 16, 2)
    assert run.rows == (Measured(4096, 20_000.0, 2.5, 18_500.0, 2.5),)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[1]", "null", "1 2 3\n", '{"results": [{}]}', "# nThread 1 nGpus 8\n"]
)
def test_what_is_none_gives_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.log"
    path.write_text(text)
    assert parse_nccl_tests(text, "x") == []
    with pytest.raises(InputError, match="holds no measured sizes"):
        read_nccl_tests(path)


def test_a_folder_is_all_of_its_files_and_a_missing_one_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(HEAD + ROWS)
    (tmp_path / "b.log").write_text(HEAD.replace("all_gather", "all_reduce") + ROWS)
    (tmp_path / "notes.txt").write_text("nothing")
    assert [r.kind for r in read_nccl_tests(tmp_path)] == ["all_gather", "all_reduce"]
    with pytest.raises(InputError, match="Correct its path"):
        read_nccl_tests(tmp_path / "none.log")


def test_shared_outputs(shared: Path) -> None:
    folder = shared / "data" / "nccl"
    found = {p.name: parse_nccl_tests(p.read_text("utf-8", "replace"), p.name) for p in sorted(folder.iterdir())}
    told = {n: [(r.kind, r.members, r.hosts, len(r.rows)) for r in runs] for n, runs in found.items() if runs}
    assert told == {
        "superbench_nccl_allreduce.log": [("allreduce", 8, 1, 32)],
        "superbench_nccl_reduce.log": [("reduce", 8, 1, 32)],
        "timez_a100x2_nccl_debug_allreduce.log": [("all_reduce", 2, 1, 11)],
    }


PIECES = (
    *("8", "1024", "9" * 5_000, "float", "sum", "none", "-1", "1.5e3", "1e999", "nan", "N/A", "0", "\n", " "),
    *("# nThread 1 nGpus 8", "#  Rank 0 Group 0 Pid 1 on a device 0 [0x0] X", "a:1:2 [0] NCCL INFO x"),
    *("Collective test starting: all_reduce_perf", "{", "[", '"results"', ":", "}"),
)
NAMES = "results size out_of_place time bus_bw busBw inPlace config devices hostname group args ranks nodes name data"
LEAVES = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5)


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES.split()), inner, max_size=5)


@given(st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join))
def test_any_text_is_runs_or_none(text: str) -> None:
    for run in parse_nccl_tests(text, "x"):
        assert run.rows
        assert [r.bytes for r in run.rows] == sorted({r.bytes for r in run.rows})


@given(st.recursive(LEAVES, nested, max_leaves=25))
def test_any_json_is_runs_or_none(data: object) -> None:
    for run in parse_nccl_tests(json.dumps(data), "x"):
        assert run.rows


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no regular file"):
        read_nccl_tests(tmp_path / "pipe")
