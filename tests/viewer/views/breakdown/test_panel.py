from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.build import call, copy, kernel, make_session, make_trace, op, rows_named
from tests.support.panel_frames import figure, section, table, titles, unexplained, values
from tests.support.panel_job import job, of
from viewer.base.dtypes import element_bytes
from viewer.base.ids import Paint
from viewer.base.selection import Selection, SliceRef
from viewer.base.work import CancelToken
from viewer.store.session import Session
from viewer.views.breakdown.kernel_runs import histogram_of
from viewer.views.breakdown.panel import breakdown, prepare


@pytest.fixture(scope="module")
def session() -> Session:
    return job()


def test_a_kernel_says_what_and_where_it_is(session: Session) -> None:
    frame = of(session, "gemm")
    assert frame.title == "gemm"
    assert frame.subtitle == "rank 0 · GPU 0 (H100) · stream 7"
    assert frame.paint is Paint.COMPUTE
    assert values(frame, "Slice") == {
        "duration": "300 ns",
        "class": "compute · rule “default-compute”",
        "where": "rank 0 · GPU 0 (H100) · stream 7",
        "start": "0.000000 ms",
        "end": "0.000300 ms",
    }
    assert "beats any name" in figure(frame, "Slice", "class").how


def test_metadata_gives_the_class_before_the_name(session: Session) -> None:
    assert values(of(session, "ncclDevKernel_AllReduce"), "Slice")["class"] == (
        "communication · rule “collective-metadata”"
    )


def test_launch_delay_and_queue_time(session: Session) -> None:
    frame = of(session, "gemm")
    assert values(frame, "Launch") == {
        "call": "cudaLaunchKernel",
        "thread": "thread 1",
        "call start": "−0.000080 ms",
        "call duration": "10 ns",
        "launch delay": "80 ns",
        "queue time": "70 ns",
        "behind other work": "0 ns · 0.0 %",
    }
    trace = session.inputs[0].trace
    assert figure(frame, "Launch", "call").jump == SliceRef(0, rows_named(trace, "cudaLaunchKernel")[0])


def test_a_kernel_without_a_call_says_why_there_is_no_delay(session: Session) -> None:
    launch = section(of(session, "gemm", 1), "Launch")
    assert launch.figures == ()
    assert "no call with its correlation" in launch.note


def test_correlation_zero_links_nothing() -> None:
    session = make_session(make_trace(call("hipLaunchKernel", 0, 5, corr=0), kernel("k", 10, 5, corr=0)))
    assert "correlation id is 0" in section(of(session, "k"), "Launch").note


def test_a_kernel_before_its_call_is_reported_and_has_no_delay() -> None:
    session = make_session(make_trace(call("cudaLaunchKernel", 50, 5, corr=1), kernel("k", 10, 100, corr=1)))
    early = figure(of(session, "k"), "Launch", "starts before call")
    assert (early.value, early.tone) == ("by 40 ns", "warning")
    assert not {"launch delay", "queue time"} & set(values(of(session, "k"), "Launch"))
    assert values(of(session, "cudaLaunchKernel"), "GPU work it launched")["starts before call"] == "by 40 ns"


def test_only_the_first_kernel_of_a_graph_has_a_launch_delay() -> None:
    session = make_session(
        make_trace(call("cudaGraphLaunch", 0, 20, corr=1), kernel("a", 30, 10, corr=1), kernel("b", 45, 10, corr=1))
    )
    assert values(of(session, "a"), "Launch")["launch delay"] == "30 ns"
    later = figure(of(session, "b"), "Launch", "launch delay")
    assert (later.tone, values(of(session, "b"), "Launch")["queue time"]) == ("muted", "25 ns")
    assert values(of(session, "b"), "Launch")["behind other work"] == "10 ns · 40.0 %"
    launched = of(session, "cudaGraphLaunch")
    assert values(launched, "GPU work it launched")["GPU work"] == "2 pieces"
    assert [r[2:] for r in table(launched, "GPU work it launched").rows] == [("30 ns", "10 ns"), ("45 ns", "10 ns")]


def test_neighbours_on_the_stream_with_their_gaps(session: Session) -> None:
    frame = of(session, "gemm", 1)
    rows = rows_named(session.inputs[0].trace, "gemm")
    assert values(frame, "On stream 7") == {
        "previous": "gemm",
        "gap before it": "100 ns",
        "next": "gemm",
        "gap after it": "300 ns",
    }
    assert figure(frame, "On stream 7", "previous").jump == SliceRef(0, rows[0])
    assert figure(frame, "On stream 7", "next").jump == SliceRef(0, rows[2])
    assert figure(of(session, "gemm"), "On stream 7", "previous").tone == "muted"


def test_an_overlap_on_one_stream_is_called_one() -> None:
    session = make_session(make_trace(kernel("a", 0, 100), kernel("b", 90, 50)))
    assert values(of(session, "b"), "On stream 7")["overlap before it"] == "10 ns (gap \u221210 ns)"
    assert values(of(session, "a"), "On stream 7")["overlap after it"] == "10 ns (gap \u221210 ns)"


def test_what_ran_at_the_same_time_and_what_is_exposed(session: Session) -> None:
    comm = of(session, "ncclDevKernel_AllReduce")
    assert values(comm, "At the same time") == {"exposed": "50 ns · 16.7 % of it", "alone": "0 ns · 0.0 % of it"}
    found = table(comm, "At the same time")
    assert found.rows == [("gemm", "7", "250 ns", "1"), ("Memcpy HtoD", "9", "60 ns", "1")]
    assert found.paints == [Paint.COMPUTE, Paint.MEMORY]
    assert found.jumps[0] == SliceRef(0, rows_named(session.inputs[0].trace, "gemm")[0])
    assert values(of(session, "Memcpy HtoD"), "At the same time")["exposed"] == "0 ns · 0.0 % of it"
    assert figure(of(session, "gemm"), "At the same time", "exposed").tone == "muted"


def test_launch_configuration(session: Session) -> None:
    found = values(of(session, "gemm"), "Launch configuration")
    assert found == {
        "grid": "2 × 3 × 1 = 6 blocks",
        "block": "128 × 1 × 1 = 128 threads",
        "registers": "32 per thread",
        "shared memory": "2 KiB per block",
        "occupancy": "12 % (estimate)",
        "blocks per SM": "0.06",
        "warps per SM": "0.24",
        "activeBlocksPerMultiprocessor": "4",
        "limitingFactors": "registers",
        "SMs with a block": "at most 6 of 100",
        "an SM holds at most": "64 warps, 16 such blocks",
        "graph node id": "17",
    }
    assert "no grid" in section(of(session, "gemm", 1), "Launch configuration").note


@pytest.mark.parametrize(
    "args",
    [
        {"grid": "x", "block": None},
        {"grid": [1, 2, 3, 4]},
        {"grid": [True, 1, 1], "registers per thread": "?"},
        {"bytes": []},
    ],
)
def test_odd_args_are_no_figures_and_no_errors(args: dict[str, Any]) -> None:
    frame = of(make_session(make_trace(kernel("k", 0, 5, args=args))), "k")
    assert section(frame, "Launch configuration").figures == ()


def test_a_copy_has_bytes_and_both_bandwidths(session: Session) -> None:
    frame = of(session, "Memcpy HtoD")
    assert values(frame, "Copy") == {"bytes": "600 B (600)", "bandwidth": "10 GB/s", "as written": "9.5 GB/s"}
    assert "Launch configuration" not in titles(frame)
    bare = of(make_session(make_trace(copy("Memcpy DtoD", 0, 5))), "Memcpy DtoD")
    assert "no bytes" in section(bare, "Copy").note


def test_collective_of_the_enclosing_operator_and_none_at_all() -> None:
    session = make_session(
        make_trace(
            op("record_param_comms", 0, 50, collective="allgather"),
            call("cudaLaunchKernel", 10, 5, corr=1),
            kernel("ncclDevKernel_AllGather", 60, 10, corr=1),
            kernel("ncclDevKernel_Broadcast", 80, 10),
        )
    )
    known = figure(of(session, "ncclDevKernel_AllGather"), "Collective", "collective")
    assert known.value == "allgather"
    assert "record_param_comms" in known.how
    assert "No collective metadata" in section(of(session, "ncclDevKernel_Broadcast"), "Collective").note


def test_element_sizes() -> None:
    assert [element_bytes(d) for d in ("BFloat16", "c10::Half", "Float8_e4m3fn", "Long", "Strange")] == [
        2,
        2,
        1,
        8,
        None,
    ]


def test_operator_inputs_and_stack_innermost_first(session: Session) -> None:
    frame = of(session, "gemm")
    assert values(frame, "Operator") == {"operator": "aten::mm", "inputs": "0: float [4, 8]\n1: Scalar = 2"}
    assert [r[0] for r in table(frame, "Stack").rows] == ["aten::mm", "train.py(1): step", "ProfilerStep#3"]
    assert section(frame, "Stack").note == ""


def test_what_the_profiler_did_not_record_is_said_in_a_sentence() -> None:
    session = make_session(
        make_trace(op("aten::mm", 0, 50), call("cudaLaunchKernel", 10, 5, corr=1), kernel("k", 60, 10, corr=1))
    )
    frame = of(session, "k")
    assert section(frame, "Operator").note == "No shapes: the profiler ran without record_shapes."
    assert section(frame, "Stack").note == "No Python frames and no modules: the profiler ran without with_stack."
    assert section(of(session, "aten::mm"), "Inputs").note == "No shapes: the profiler ran without record_shapes."
    bare = of(make_session(make_trace(call("cudaLaunchKernel", 10, 5, corr=1), kernel("k", 60, 10, corr=1))), "k")
    assert "without CPU activity" in section(bare, "Operator").note


def test_an_operator_is_found_by_external_id_when_no_call_is_linked() -> None:
    session = make_session(make_trace(op("aten::mm", 0, 50, ext=7), kernel("k", 60, 10, ext=7)))
    found = figure(of(session, "k"), "Operator", "operator")
    assert found.value == "aten::mm"
    assert "External id" in found.how


def test_all_runs_on_this_rank(session: Session) -> None:
    frame = of(session, "gemm", 1)
    assert values(frame, "All runs on this rank") == {
        "runs": "3",
        "this one": "100 ns, 1 run of 3 is slower",
        "minimum": "50 ns",
        "median": "100 ns",
        "maximum": "300 ns",
        "mean": "150 ns",
        "total": "450 ns",
        "share of busy time": "90.0 % of 500 ns",
    }
    rows = [SliceRef(0, r) for r in rows_named(session.inputs[0].trace, "gemm")]
    assert dict(section(frame, "All runs on this rank").actions) == {
        "Previous run": rows[0],
        "Next run": rows[2],
        "Slowest run": rows[0],
        "Fastest run": rows[2],
    }
    histogram = section(frame, "All runs on this rank").histogram
    assert histogram is not None
    assert (histogram.counts.sum(), histogram.marker, histogram.unit) == (3, 100.0, "ns")


def test_the_median_of_an_even_number_is_rounded_half_to_even() -> None:
    trace = make_trace(*(kernel("k", 100 * i, d) for i, d in enumerate((3, 4, 1, 9))))
    assert values(of(make_session(trace), "k"), "All runs on this rank")["median"] == "4 ns"


def test_runs_on_two_segments_of_one_rank_are_one_list() -> None:
    a = make_trace(kernel("k", 0, 10), rank=0, path="a.json")
    b = make_trace(kernel("k", 100, 30), rank=0, path="b.json")
    session = make_session(a, b)
    frame = of(session, "k", item=1)
    assert values(frame, "All runs on this rank")["runs"] == "2"
    assert dict(section(frame, "All runs on this rank").actions)["Previous run"] == SliceRef(0, 0)
    assert "segment 2" in frame.subtitle


def test_a_single_run_and_equal_runs_have_no_histogram() -> None:
    assert "only run" in section(of(make_session(make_trace(kernel("k", 0, 5))), "k"), "All runs on this rank").note
    equal = of(make_session(make_trace(kernel("k", 0, 5), kernel("k", 10, 5))), "k")
    assert section(equal, "All runs on this rank").histogram is None
    assert "same time" in section(equal, "All runs on this rank").note


@pytest.mark.parametrize("durations", [[1, 2], [5, 6, 7, 1_000_000], [0, 5, 900], list(range(1, 4_000))])
def test_histograms_count_every_run_once(durations: list[int]) -> None:
    found = histogram_of(np.array(durations, np.int64), durations[0])
    assert found is not None
    assert found.counts.sum() == len(durations)
    assert np.all(np.diff(found.edges) > 0)
    assert len(found.edges) == len(found.counts) + 1
    assert found.marker is not None
    assert found.edges[0] <= found.marker <= found.edges[-1]


def test_the_same_kernel_on_all_ranks(session: Session) -> None:
    frame = of(session, "gemm")
    found = table(frame, "Same kernel on all ranks")
    assert found.rows == [
        ("rank 0 (this)", "100 ns", "300 ns", "50 ns", "3", "450 ns"),
        ("rank 1", "250 ns", "350 ns", "150 ns", "2", "500 ns"),
    ]
    assert found.jumps[1] == SliceRef(1, rows_named(session.inputs[1].trace, "gemm")[0])
    assert "does not run on rank 1" in section(of(session, "Memcpy HtoD"), "Same kernel on all ranks").note


def test_names_are_shown_as_text_of_bounded_length() -> None:
    name = "<b>k</b>\n\x1b[31m" + "x" * 5_000
    frame = of(make_session(make_trace(kernel(name, 0, 5))), name)
    assert frame.title.startswith("<b>k</b> \\x1b[31m")
    assert len(frame.title) < 2_100


def test_a_slice_that_is_gone_is_no_error(session: Session) -> None:
    for ref in (SliceRef(9, 0), SliceRef(0, 10**6), SliceRef(0, -1)):
        assert breakdown(session, Selection(slice=ref)).title == "Nothing is selected"
    assert breakdown(session, Selection()).sections[0].note


def test_every_figure_of_every_slice_says_how_it_was_computed(session: Session) -> None:
    for item in session.inputs:
        for row in range(len(item.trace)):
            frame = breakdown(session, Selection(slice=SliceRef(item.index, row)))
            assert unexplained(frame) == []
            assert all(s.figures or s.table or s.note for s in frame.sections)


def test_preparing_ahead_stops_when_cancelled(session: Session) -> None:
    from viewer.base.errors import Cancelled

    token = CancelToken()
    prepare(session, token)
    token.cancel()
    with pytest.raises(Cancelled):
        prepare(session, token)
