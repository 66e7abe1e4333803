"""The language of filters, and what it matches."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.build import call, kernel, make_session, make_trace, op, python
from viewer.analyses.query import FIELDS, Query, QueryError, Span, Term, Text, parse
from viewer.analyses.query_match import lane_matches, slice_mask
from viewer.base.errors import Cancelled
from viewer.base.ids import Paint
from viewer.base.work import CancelToken
from viewer.store.session import Session


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("   ", ()),
        ("nccl", (Term("name", (Text("nccl"),)),)),
        ("-nccl", (Term("name", (Text("nccl"),), True),)),
        ('"two words" -"a: b"', (Term("name", (Text("two words"),)), Term("name", (Text("a: b"),), True))),
        (r'"say \"hi\""', (Term("name", (Text('say "hi"'),)),)),
        ("aten::mm", (Term("name", (Text("aten::mm"),)),)),
        ("rank:0-3,7", (Term("rank", (Span(0, 3), Span(7, 7))),)),
        ("rank:>=4", (Term("rank", (Span(4, None),)),)),
        ("RANK:1 Device:2", (Term("rank", (Span(1, 1),)), Term("gpu", (Span(2, 2),)))),
        ("name:nccl,gemm", (Term("name", (Text("nccl"), Text("gemm"))),)),
        ("name:/^a b,c/", (Term("name", (Text("^a b,c", regex=True),)),)),
        ("/a/", (Term("name", (Text("a", regex=True),)),)),
        ("a/b", (Term("name", (Text("a/b"),)),)),
        ("-class:comm,memory", (Term("class", (Paint.COMM, Paint.MEMORY), True),)),
        ("dur:>1ms", (Term("dur", (Span(1_000_001, None),)),)),
        ("dur:>=1ms", (Term("dur", (Span(1_000_000, None),)),)),
        ("dur:<2.5us", (Term("dur", (Span(None, 2_499),)),)),
        ("dur:1us-1ms", (Term("dur", (Span(1_000, 1_000_000),)),)),
        ("dur:1-5ms", (Term("dur", (Span(1_000_000, 5_000_000),)),)),
        ("thread:main pid:100", (Term("thread", (Text("main"),)), Term("process", (Span(100, 100),)))),
        ("-", (Term("name", (Text("-"),)),)),
    ],
)
def test_what_is_written_is_what_is_meant(text: str, terms: tuple[Term, ...]) -> None:
    assert parse(text) == Query(terms)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("speed:3", 'no field "speed"'),
        ("rank:x", "x is no number"),
        ("rank:3-1", "ends before it begins"),
        ("rank:", "nothing to look for"),
        ("name:,", "nothing to look for"),
        ('name:""', "nothing to look for"),
        ("class:fast", "classes are other, compute"),
        ("dur:1ms", "write >1ms, <1ms or a range"),
        ("dur:>soon", "is no time"),
        ("dur:2ms-1ms", "ends before it begins"),
        ('a "b c', "quote is not closed"),
        ("name:/(/", "no regular expression"),
        ("x" * 3000, "at most 2,000 characters"),
    ],
)
def test_a_bad_term_is_named_with_what_to_write(text: str, part: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert part in str(caught.value)
    assert str(caught.value).startswith(caught.value.term)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_a_query_or_a_sentence(text: str) -> None:
    with contextlib.suppress(QueryError):
        assert all(t.values and t.field in FIELDS for t in parse(text).terms)


def job() -> Session:
    traces = [
        make_trace(
            op("aten::mm", 0, 100, tid=100),
            call("cudaLaunchKernel", 10, 5, corr=1, tid=100),
            python("train.py(1): step", 0, 900, tid=7),
            kernel("gemm_a", 100, 50, corr=1),
            kernel("Gemm_B", 200, 2_000),
            kernel("ncclDevKernel_AllReduce", 150, 300, stream=20, collective="allreduce"),
            rank=r,
            path=f"rank{r}.json",
        )
        for r in range(3)
    ]
    return make_session(*traces)


def names(text: str, rank: int = 0) -> list[str]:
    item = job().inputs[rank]
    return sorted(item.trace.name(int(i)) for i in np.flatnonzero(slice_mask(parse(text), item)))


ALL = sorted(["aten::mm", "cudaLaunchKernel", "train.py(1): step", "gemm_a", "Gemm_B", "ncclDevKernel_AllReduce"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ALL),
        ("gemm", ["Gemm_B", "gemm_a"]),
        ("gemm -_b", ["gemm_a"]),
        ("name:/^gemm_[ab]$/", ["Gemm_B", "gemm_a"]),
        ("class:comm", ["ncclDevKernel_AllReduce"]),
        ("-class:comm,compute", ["aten::mm", "cudaLaunchKernel", "train.py(1): step"]),
        ("dur:>100ns", ["Gemm_B", "ncclDevKernel_AllReduce", "train.py(1): step"]),
        ("dur:50ns-100ns,2us-3us", ["Gemm_B", "aten::mm", "gemm_a"]),
        ("stream:7", ["Gemm_B", "gemm_a"]),
        ("stream:0-19 gemm_a", ["gemm_a"]),
        ("gpu:0 stream:20", ["ncclDevKernel_AllReduce"]),
        ("thread:100", ["aten::mm", "cudaLaunchKernel"]),
        ("process:100 -thread:7", ["aten::mm", "cudaLaunchKernel"]),
        ("cat:python", ["train.py(1): step"]),
        ("rank:0", ALL),
        ("rank:1-2", []),
        ("-rank:0", []),
        ('lane:"stream 20"', ["ncclDevKernel_AllReduce"]),
        ("nccl gemm", []),
    ],
)
def test_slices_match_every_condition(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_groups_are_looked_for_by_name_and_description() -> None:
    session = job()
    item = session.inputs[0]
    c = item.trace.collectives
    strings = item.trace.strings.to_pylist()
    described = c.group_desc.copy()
    described[:] = strings.index("allreduce")  # any text of the dictionary will do
    c.replace("group_desc", described)
    found = np.flatnonzero(slice_mask(parse("group:ALLRED"), item))
    assert [item.trace.name(int(i)) for i in found] == ["ncclDevKernel_AllReduce"]
    assert not slice_mask(parse("group:tp"), item).any()


def test_lanes_match_by_place_alone() -> None:
    item = job().inputs[1]
    fits = [lane_matches(parse("rank:1 stream:20 name:nothing"), item, lane) for lane in item.trace.lanes]
    assert [item.trace.lanes[i].stream for i, fit in enumerate(fits) if fit] == [20]
    unknown = replace(item, rank=None)
    assert not any(lane_matches(parse("rank:1"), unknown, lane) for lane in item.trace.lanes)


def test_matching_stops_on_request() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        slice_mask(parse("gemm"), job().inputs[0], token)
