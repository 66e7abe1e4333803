"""The home page as plain data: the sentence, the moves, the cards, and copies of them."""

from __future__ import annotations

import re
from typing import Any

from tests.support.build import annotation, call, kernel, make_session, make_trace
from tests.support.memory_job import Planted, training
from tests.support.ranks import RankJob
from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.registry import DETECTORS
from viewer.app.clocks import settle_clocks
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
from viewer.store.session import Session
from viewer.views.change_words import CHANGES, change_of
from viewer.views.findings import (
    LOOK_THERE,
    LOOKING,
    NO_GPU,
    PROFILE_GPU,
    SEE_MEMORY,
    card_markdown,
    findings_frame,
    page_basis,
    page_markdown,
    page_text,
)
from viewer.views.three_moves import EXPOSED, job_totals, three_moves


def finding(name: str, saving: int | None = None, **more: Any) -> JobFinding:
    facts: dict[str, Any] = {
        "kind": name.partition("/")[0], "title": f"title of {name}", "severity": "warning", "saving_how": "a bound",
        "evidence": (Evidence("seen"),), "next_step": "try it", "how": "looked", **more,
    }  # fmt: skip
    return JobFinding(id=name, saving_ns_per_step=saving, **facts)


def stepped() -> Session:
    """Two steps of 1,000 ns: 600 ns of compute, 200 ns of communication of which 100 are hidden, 300 ns idle."""
    events = []
    for n in range(2):
        at = n * 1_000
        events += [
            annotation(f"ProfilerStep#{n}", at, 1_000),
            call("cudaLaunchKernel", at, 2, corr=2 * n + 1),
            call("cudaLaunchKernel", at + 3, 2, corr=2 * n + 2),
            kernel("gemm", at, 600, corr=2 * n + 1),
            kernel("ncclDevKernel_AllReduce", at + 500, 200, stream=20, corr=2 * n + 2),
        ]
    return make_session(make_trace(*events, kernel("gemm", 2_000, 1), rank=0))


def test_the_first_card_is_the_sentence_and_shares_are_of_the_step():
    found = [finding("late/rank 1", 250, overlaps=("late",)), finding("drain", 100, overlaps=("idle",))]
    frame = findings_frame(page_basis(stepped()), found)
    assert frame.sentence == "Change first: title of late/rank 1 – up to 250 ns per step · 29.4 % to gain."
    assert frame.tone == "warning"
    assert [c.finding.id for c in frame.cards] == ["late/rank 1", "drain"]
    assert frame.cards[1].share == 100 / 850
    assert frame.together.startswith("All of it together saves at most 350 ns of 850 ns (41.2 %)")


def test_a_title_with_the_share_is_not_told_it_twice():
    found = [finding("x", 250, title="Rank 1 is late by 250 ns (29.4 %)")]
    frame = findings_frame(page_basis(stepped()), found)
    assert frame.sentence == "Change first: Rank 1 is late by 250 ns (29.4 %)."


def test_the_sentence_says_what_to_do_and_the_card_what_is_wrong():
    frame = findings_frame(page_basis(stepped()), [finding("late-rank/rank 1", 250), finding("host-jitter", 100)])
    assert (
        frame.sentence == "Change first: bring rank 1 up to its peers' pace – up to 250 ns per step · 29.4 % to gain."
    )
    assert frame.cards[0].finding.title == "title of late-rank/rank 1"
    frame = findings_frame(page_basis(stepped()), [finding("memory-leak/rank 1")])
    assert frame.sentence.endswith("from step to step on rank 1 – title of memory-leak/rank 1.")
    frame = findings_frame(page_basis(stepped()), [finding("late-rank/rank 1", 250, severity="error")])
    assert frame.sentence.startswith("Figures cannot be used: title of late-rank/rank 1")


def test_every_kind_that_can_be_worth_a_change_says_what_to_do():
    kinds = {kind for found in DETECTORS.values() for kind in found}
    for_information = {
        *(
            "several-jobs",
            "cut-files",
            "missing-ranks",
            "clocks-not-aligned",
            "clocks-not-connected",
            "no-steps",
            "one-step",
        ),
        *("warm-up", "start-up", "no-shapes", "memory-overview", "profiler-overhead", "mfu"),
        *("bubble", "few-micro-batches"),
    }
    assert kinds - set(CHANGES) == for_information
    assert set(CHANGES) <= kinds
    for words in CHANGES.values():
        assert words[0].islower()
        assert not words.endswith(".")
    assert change_of(finding("slow-link", 1)) == "", "the place is not known"


def test_what_is_information_unsure_or_dismissed_stands_apart():
    found = [
        finding("root", 250),
        finding("note", severity="info"),
        finding("doubt", 900, confident=False),
        finding("aside", 500),
        finding("wait", 99, caused_by=("root",)),
    ]
    frame = findings_frame(page_basis(stepped()), found, dismissed={"aside", "gone"})
    ids = [[c.finding.id for c in part] for part in (frame.cards, frame.notes, frame.unsure, frame.dismissed)]
    assert ids == [["root", "wait"], ["note"], ["doubt"], ["aside"]]
    assert frame.cards[1].follows == "title of root"
    assert "root" in frame.sentence


def test_a_root_that_is_dismissed_lets_its_consequence_stand_by_itself():
    found = [finding("root", 250), finding("wait", 99, caused_by=("root",))]
    frame = findings_frame(page_basis(stepped()), found, dismissed={"root"})
    assert [(c.finding.id, c.follows) for c in frame.cards] == [("wait", "")]


def test_without_findings_the_time_is_said():
    assert findings_frame(page_basis(stepped()), [], busy=True).sentence == LOOKING
    steady = findings_frame(page_basis(stepped()), [])
    assert steady.tone == ""
    assert steady.sentence == f"No single cause stands out, but 30.0 % of the time is idle: {LOOK_THERE}."
    talks = make_session(make_trace(kernel("gemm", 0, 50), kernel("ncclDevKernel_AllReduce", 50, 50)))
    assert findings_frame(page_basis(talks), []).sentence.endswith(f"50.0 % of the time is {EXPOSED}: {LOOK_THERE}.")
    alone = findings_frame(page_basis(talks), [finding("missing-ranks", severity="info")])
    assert alone.sentence.endswith(": open the files of the other ranks as well, waiting for them is in it.")
    whole = make_session(make_trace(kernel("gemm", 0, 80), kernel("ncclDevKernel_AllReduce", 80, 20)))
    assert findings_frame(page_basis(whole), []).sentence == (
        "Nothing stands out from noise: the GPU computes 80.0 % of the time, 20.0 % is exposed communication."
    )
    cpu = make_session(make_trace(call("cudaLaunchKernel", 0, 5)))
    assert findings_frame(page_basis(cpu), []).sentence == NO_GPU + PROFILE_GPU
    assert three_moves(cpu) == ()


def test_what_is_not_sure_is_said_as_such():
    frame = findings_frame(page_basis(stepped()), [finding("doubt", 900, confident=False)])
    assert frame.sentence == "Nothing is sure; the most likely: title of doubt."
    assert frame.tone == ""


def test_totals_add_up_over_devices():
    session = stepped()
    totals = job_totals(session)
    assert totals is not None
    assert sum(ns for _, ns in totals.parts) == totals.span_ns == 2_001
    assert (totals.compute_ns, totals.comm_exposed_ns, totals.idle_ns) == (1_201, 200, 600)


def test_the_three_moves_have_their_figures_and_places():
    session = stepped()
    block, gaps, tail = three_moves(session)
    assert block.text == "compute, 60.0 % of the time; kernel gemm, 75.0 % of kernel time"
    assert block.detail == "2 of 2 kernels make 80 % of the kernel time"
    assert isinstance(block.jump, SliceRef)
    assert session.inputs[0].trace.name(block.jump.index) == "gemm"
    assert re.fullmatch(r"idle 30.0 %, most of it [a-z ]+; exposed communication 10.0 %; longest gap 300 ns", gaps.text)
    assert gaps.detail.startswith("compute hides 50.0 % of the communication; ")
    assert gaps.jump == Selection(range=TimeRange(700, 1_000), group=0)
    assert "one rank is open" in tail.text
    assert tail.jump is None


def test_the_tail_leads_to_the_late_rank():
    session = settle_clocks(RankJob(ranks=6, steps=12, late_ns={3: 4_000_000}).session(), "auto")
    tail = three_moves(session)[2]
    assert tail.text.startswith("rank 3 is late by 4.0 ms per step")
    assert isinstance(tail.jump, Selection)
    assert tail.jump.group == 3


def test_copies_hold_everything_and_escape_names():
    found = [finding("x", 250, title="kernel void f<T>(a*b) [x](y) | `z` & more_or\nless", caused_by=())]
    frame = findings_frame(page_basis(stepped()), found, three_moves(stepped()))
    text = page_text(frame)
    for part in ("Change first", "1. Largest block", "try: try it", "- seen", "how: looked", "up to 250 ns per step"):
        assert part in text
    marked = page_markdown(frame)
    assert r"kernel void f\<T\>(a\*b) \[x\](y) \| \`z\` \& more\_or less" in marked
    assert marked.startswith("## Change first")
    assert card_markdown(frame.cards[0]).startswith("### kernel")


def test_memory_without_gpu_work_points_to_its_panel(tmp_path):
    (tmp_path / "snapshot.pickle").write_bytes(training(Planted(steps=2)).pickled())
    session = JobOpener([tmp_path / "snapshot.pickle"], cache=Cache(tmp_path / "c")).open().session
    assert findings_frame(page_basis(session), []).sentence == NO_GPU + SEE_MEMORY
