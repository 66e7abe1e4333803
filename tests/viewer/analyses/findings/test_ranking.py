"""The order of findings, what follows from what, and a total that adds no time twice."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from viewer.analyses.findings.base import Evidence, JobFinding
from viewer.analyses.findings.ranking import LEAST_SHARE, ranked, together


def finding(name: str, saving: int | None = None, **more: Any) -> JobFinding:
    facts: dict[str, Any] = {"kind": name.partition("/")[0], "title": name, "severity": "warning", **more}
    return JobFinding(
        id=name, saving_ns_per_step=saving, saving_how="", evidence=(Evidence("seen"),), next_step="try", how="how",
        **facts,
    )  # fmt: skip


def order(*findings: JobFinding) -> list[tuple[str, str]]:
    return [(r.finding.id, r.root) for r in ranked(findings)]


def test_errors_then_savings_then_information_then_doubt():
    found = order(
        finding("none"),
        finding("info", severity="info"),
        finding("small", 10),
        finding("doubtful", 99, confident=False),
        finding("unusable", severity="error"),
        finding("large", 50),
    )
    assert [name for name, _ in found] == ["unusable", "large", "small", "none", "info", "doubtful"]


def test_a_consequence_comes_after_its_root_though_it_is_larger():
    found = order(
        finding("wait/dp", 90, caused_by=("late-rank",)),
        finding("late-rank/rank 0", 80, caused_by=("data-loading",)),
        finding("data-loading/rank 0", 70),
        finding("bubble", 75),
    )
    assert found == [
        ("bubble", ""),
        ("data-loading/rank 0", ""),
        ("late-rank/rank 0", "data-loading/rank 0"),
        ("wait/dp", "late-rank/rank 0"),
    ]


def test_a_root_that_was_not_found_or_is_not_sure_is_none():
    doubtful = finding("data-loading/rank 0", 70, confident=False)
    found = order(
        finding("wait", 90, caused_by=("late-rank",)), finding("late", 80, caused_by=("data-loading",)), doubtful
    )
    assert found == [("wait", ""), ("late", ""), ("data-loading/rank 0", "")]


def test_findings_that_name_each_other_are_not_lost():
    found = order(finding("a", 9, caused_by=("b",)), finding("b", 8, caused_by=("a",)))
    assert sorted(name for name, _ in found) == ["a", "b"]


def test_a_saving_nobody_could_measure_is_information():
    (found,) = ranked([finding("tiny", 5, share=LEAST_SHARE / 2)])
    assert found.finding.severity == "info"
    (found,) = ranked([finding("some", 5, share=LEAST_SHARE)])
    assert found.finding.severity == "warning"


def test_ceilings_that_share_a_claim_do_not_add():
    found = ranked([
        finding("host", 50, overlaps=("idle",)),
        finding("drain", 40, overlaps=("idle",)),
        finding("late", 30, overlaps=("late", "exposed")),
        finding("slow link", 20, overlaps=("exposed",)),
        finding("fp32", 10, overlaps=("compute",)),
        finding("vague", 45),
        finding("doubt", 60, overlaps=("other",), confident=False),
        finding("follows", 25, overlaps=("own",), caused_by=("late",)),
    ])  # fmt: skip
    assert {r.finding.id for r in found if r.adds} == {"host", "late", "fp32"}
    assert together(found) == 90
    assert together(found, 70) == 70, "never more than the step"


def test_what_names_no_claim_counts_alone():
    found = ranked([finding("vague", 45), finding("host", 40, overlaps=("idle",))])
    assert together(found) == 45
    assert together(ranked([finding("none")])) is None


claims = st.lists(st.sampled_from("abcd"), max_size=3, unique=True).map(tuple)
some = st.lists(st.tuples(st.integers(0, 100), claims, st.booleans()), max_size=8)


@given(some)
def test_no_two_that_add_share_a_claim_and_nothing_is_lost(drawn):
    findings = [finding(f"f{i}", n, overlaps=c, confident=sure) for i, (n, c, sure) in enumerate(drawn)]
    found = ranked(findings)
    assert sorted(r.finding.id for r in found) == sorted(f.id for f in findings)
    adding = [r.finding for r in found if r.adds]
    if len(adding) > 1:
        named = [name for f in adding for name in f.overlaps]
        assert len(named) == len(set(named))
        assert all(f.overlaps for f in adding)
    best = max((f.saving_ns_per_step or 0 for f in findings if f.confident), default=0)
    assert (together(found) or 0) >= best
