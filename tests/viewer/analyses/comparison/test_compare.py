"""Two runs whose difference is known."""

import dataclasses

import pytest

from tests.support.build import annotation, call, kernel, make_session, make_trace, op
from tests.support.two_runs import ADD, ADD_NS, GEMM, GEMM_NS, REDUCE, REDUCE_NS, a_run
from viewer.analyses.comparison.compare import Comparison, compare
from viewer.analyses.comparison.rows import Change
from viewer.base.errors import Cancelled
from viewer.base.ids import Paint
from viewer.base.work import CancelToken


def row(rows: tuple[Change, ...], name: str) -> Change:
    (found,) = [r for r in rows if r.name == name]
    return found


def near(value: float, truth: float, share: float = 0.05) -> bool:
    return abs(value - truth) <= share * abs(truth)


def adds_up(found: Comparison) -> bool:
    fall = found.waterfall
    assert fall is not None
    assert found.figures is not None
    over = [found.figures.ranks[0].base, found.figures.ranks[0].test]
    parts = [i.compute_ns + i.comm_exposed_ns + i.memory_exposed_ns + i.idle_ns for i in over]
    return sum(c.delta_ns for c in fall.causes) == fall.delta_ns and parts == [i.span_ns for i in over]


def test_a_run_against_itself_is_identical():
    run = a_run()
    found = compare(run, run)
    assert found.comparable
    assert found.identical
    assert found.delta_ns == 0
    assert found.waterfall is not None
    assert found.waterfall.delta_ns == 0
    for rows in (found.kernels, found.operators, found.host, found.collectives, found.gaps):
        assert rows
        assert all(r.delta_ns == 0 and r.significant is False for r in rows)


def test_a_copy_of_a_run_is_identical_and_one_other_name_is_not():
    assert compare(a_run(), a_run()).identical
    assert not compare(a_run(), a_run(gemm_name="gemm_tn")).identical


@pytest.mark.parametrize("seed", range(2, 8))
def test_another_seed_has_no_change(seed: int):
    found = compare(a_run(), a_run(seed=seed))
    assert not found.identical
    for rows in (found.kernels, found.operators, found.host, found.collectives, found.gaps):
        assert not [r.name for r in rows if r.significant or r.rank_significant]
    assert found.waterfall is not None
    assert not any(c.significant for c in found.waterfall.causes)
    assert adds_up(found)


def test_a_slower_kernel_comes_first():
    found = compare(a_run(), a_run(gemm=1.2))
    first = found.kernels[0]
    assert first.name == GEMM
    assert first.significant
    assert first.status == "both"
    assert near(first.step_delta_ns, 0.2 * GEMM_NS)
    assert near(first.percent or 0, 20)
    assert near(first.delta_ns, 0.2 * GEMM_NS * 6 * 2)
    assert found.operators[0].name == "aten::mm in Linear"
    assert near(found.operators[0].step_delta_ns, 0.2 * GEMM_NS)
    assert found.waterfall is not None
    cause = found.waterfall.causes[0]
    assert cause.label == GEMM
    assert near(cause.delta_ns, 0.2 * GEMM_NS)
    assert cause.significant
    assert near(found.waterfall.delta_ns, 0.2 * GEMM_NS)
    assert adds_up(found)


def test_a_slow_rank_is_the_cause_and_the_waiting_of_its_peers_is_not():
    found = compare(a_run(ranks=4), a_run(ranks=4, gemm=1.5, slow_rank=2))
    first = found.kernels[0]
    assert first.name == GEMM
    assert first.where == 2
    assert near(first.step_delta_ns, 0.5 * GEMM_NS / 4)
    reduce = row(found.kernels, REDUCE)
    assert reduce.significant
    assert reduce.step_delta_ns > first.step_delta_ns
    assert not reduce.rank_significant
    assert found.waterfall is not None
    waits = [c.waits_for_others for c in found.waterfall.causes if c.significant]
    assert waits == sorted(waits)
    assert True in waits
    first_cause = found.waterfall.causes[0]
    assert (first_cause.label, first_cause.where) == (GEMM, 2)
    # Its peers' addition is over when the transfer begins at last: what hid it is gone, and it takes no longer itself.
    (transfer,) = [c for c in found.waterfall.causes if c.id == "communication/transfer"]
    assert transfer.significant
    assert transfer.waits_for_others


def test_transfers_that_take_longer_are_a_cause_of_their_own():
    found = compare(a_run(ranks=4), a_run(ranks=4, size=2 << 20))
    assert found.waterfall is not None
    assert found.waterfall.causes[0].id == "communication/transfer"
    assert not found.waterfall.causes[0].waits_for_others


def test_a_slow_rank_of_many_is_seen_although_the_mean_hides_it():
    base, test = a_run(ranks=6, noise=0.03, seed=5), a_run(ranks=6, noise=0.03, seed=6, gemm=1.3, slow_rank=4)
    found = compare(base, test)
    first = found.kernels[0]
    assert first.name == GEMM
    assert first.significant
    assert first.where == 4
    assert found.pairing.pairs[4].label == "rank 4"
    assert abs(first.step_delta_ns) > (first.band_ns or 0)


def test_more_and_smaller_reductions():
    found = compare(a_run(), a_run(messages=4, size=1 << 19))
    assert found.kernels[0].name == REDUCE
    assert found.kernels[0].test_count == 4 * found.kernels[0].base_count
    # Four halves of the data, and nothing else, in place of one whole.
    first = found.collectives[0]
    assert near(first.step_delta_ns, REDUCE_NS)
    assert first.detail["bytes"] == ([1 << 20], [1 << 19])
    assert adds_up(found)


def test_a_bigger_message():
    found = compare(a_run(), a_run(size=2 << 20))
    first = found.collectives[0]
    assert first.status == "both"
    assert first.detail["bytes"] == ([1 << 20], [2 << 20])
    assert near(first.step_delta_ns, REDUCE_NS)
    assert near(first.percent or 0, 100)
    assert found.waterfall is not None
    assert found.waterfall.causes[0].id == "communication/transfer"
    assert near(found.waterfall.causes[0].delta_ns, REDUCE_NS)


def test_lost_overlap():
    found = compare(a_run(), a_run(hidden=False))
    assert found.waterfall is not None
    first = found.waterfall.causes[0]
    assert first.id == "communication/transfer"
    assert near(first.delta_ns, ADD_NS)
    assert near(found.waterfall.delta_ns, ADD_NS)
    base, test = found.collectives[0].detail["exposed_step_ns"]
    assert found.collectives[0].key[0] == "allreduce"
    assert near(test - base, ADD_NS)


def test_a_host_gap():
    found = compare(a_run(hidden=False), a_run(hidden=False, gap_ns=3_000_000))
    # The reduction takes the first of the three milliseconds; then nothing runs.
    assert found.waterfall is not None
    first, gap = found.waterfall.causes[0], found.gaps[0]
    assert first.id == "idle/host: python"
    assert near(first.delta_ns, 2_000_000)
    assert gap.name == f"{REDUCE} → {ADD}"
    assert near(gap.step_delta_ns, 2_000_000)
    assert gap.detail["cause"][1] == "host: python"
    assert adds_up(found)


def test_a_kernel_under_another_name_is_replaced():
    found = compare(a_run(), a_run(gemm_name="gemm_fast", gemm=0.8))
    first = found.kernels[0]
    assert first.status == "replaced"
    assert (first.base_names, first.test_names) == ((GEMM,), ("gemm_fast",))
    assert near(first.percent or 0, -20)
    assert first.key == "operator, module and shapes"
    assert not [r for r in found.kernels if r.status in ("new", "vanished")]
    assert GEMM not in " ".join(r.name for r in found.gaps)


def test_without_operators_the_order_in_the_step_tells():
    found = compare(a_run(with_operators=False), a_run(with_operators=False, gemm_name="gemm_fast", gemm=0.8))
    assert found.kernels[0].status == "replaced"
    assert found.kernels[0].key == "order in the step"


def test_a_new_kernel_has_no_percent():
    base = make_session(make_trace(kernel("a", 0, 10), kernel("c", 20, 5)))
    test = make_session(make_trace(kernel("a", 0, 10), kernel("b", 12, 4), kernel("c", 20, 5)))
    found = compare(base, test)
    new = row(found.kernels, "b")
    assert (new.status, new.base_ns, new.test_ns, new.percent) == ("new", 0, 4, None)
    back = row(compare(test, base).kernels, "b")
    assert (back.status, back.base_ns, back.test_ns, back.percent) == ("vanished", 4, 0, -100)
    assert found.kernels[0] == new
    assert new.significant is None
    assert not found.noise_known


def test_a_launch_with_another_grid():
    found = compare(a_run(), a_run(grid=(16, 8, 1)))
    assert row(found.kernels, GEMM).detail == {"grid": (["[8, 8, 1]"], ["[16, 8, 1]"])}
    assert row(found.kernels, ADD).detail == {}


def test_whole_traces_by_hand():
    base = make_session(
        make_trace(kernel("a", 0, 100), kernel("nccl_AllReduce", 60, 100, stream=9), kernel("b", 200, 50))
    )
    test = make_session(
        make_trace(kernel("a", 0, 130), kernel("nccl_AllReduce", 60, 100, stream=9), kernel("b", 240, 50))
    )
    found = compare(base, test)
    fall = found.waterfall
    assert fall is not None
    assert (fall.base_ns, fall.test_ns, fall.significant) == (250, 290, None)
    # a covers 30 more of the reduction, which ends as before; the idle stretch is 40 longer.
    assert {c.id: c.delta_ns for c in fall.causes if c.delta_ns} == {
        "kernel/a": 30,
        "communication/not separable": -30,
        "idle/unknown": 40,
    }
    assert found.base_run is not None
    assert found.base_run.kernel_sum_ns == 250
    assert found.delta_ns == 30
    assert not found.pairing.by_step
    assert row(found.kernels, "a").paint is Paint.COMPUTE


def test_runs_that_cannot_be_compared_say_why():
    job, empty, idle = a_run(steps=2), make_session(), make_session(make_trace())
    assert compare(job, idle).reason == "the test run holds no GPU work"
    assert compare(empty, job).reason == "the base run has no trace"
    other = compare(job, a_run(steps=2, ranks=4))
    assert not other.comparable
    assert other.reason == "the base run has world size 2, the test run 4"
    assert other.waterfall is None
    assert other.kernels == ()
    assert other.delta_ns is None


def test_fewer_steps_are_paired_by_number_and_said():
    found = compare(a_run(steps=6), a_run(steps=4, first_step=1))
    assert not found.pairing.whole
    assert found.pairing.span_pairs == 8
    assert found.figures is not None
    assert [(s.base_number, s.test_number) for s in found.figures.steps] == [(k, k) for k in (1, 2, 3, 4)]
    assert "8 pairs of them are compared" in found.pairing.notes[-1]
    assert row(found.kernels, GEMM).base_count == 8
    # Step 1 is the first of the test run: the pause before it is known of the base alone, and not compared.
    assert found.waterfall is not None
    between = [c for c in found.waterfall.causes if c.id.startswith("idle/between steps")]
    assert between
    assert all(abs(c.delta_ns) < 20_000 for c in between)
    # Runs that share no number are paired from the end.
    apart = compare(a_run(steps=6), a_run(steps=4, first_step=40))
    assert apart.figures is not None
    assert [s.base_number for s in apart.figures.steps] == [2, 3, 4, 5]


def test_two_steps_are_too_few_to_know_the_noise():
    found = compare(a_run(steps=2), a_run(steps=2, gemm=1.2))
    assert found.kernels[0].name == GEMM
    assert found.kernels[0].significant is None
    assert not found.noise_known


def test_one_rank_of_a_job_against_another_of_it():
    job = a_run(ranks=2)
    alone = [make_session(job.inputs[k].trace) for k in (0, 1)]
    found = compare(*alone)
    assert found.comparable
    assert "rank 0 of the base is held against rank 1" in found.pairing.notes[0]
    assert found.pairing.pairs[0].label == "rank 0 / rank 1"


def test_ranks_that_only_one_run_opened_are_left_out():
    job = a_run(ranks=3)
    two = make_session(job.inputs[0].trace, job.inputs[2].trace)
    found = compare(job, two)
    assert [p.label for p in found.pairing.pairs] == ["rank 0", "rank 2"]
    assert "1 rank was opened of one run only and left out" in found.pairing.notes


def test_it_stops_on_request():
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        compare(a_run(steps=2), a_run(steps=2), token)


def test_neither_run_is_changed():
    base, test = a_run(), a_run(gemm=1.1)
    before = dataclasses.astuple(base.inputs[0].clock), base.groups
    compare(base, test)
    assert (dataclasses.astuple(base.inputs[0].clock), base.groups) == before


def test_what_lies_only_in_steps_without_a_partner_has_no_row():
    def run(steps: int):
        events = []
        for k in range(steps):
            name = "gemm" if k else "ncclDevKernel_AllReduce_first"
            events += [
                annotation(f"ProfilerStep#{k}", 1_000 * k, 990),
                op("aten::mm" if k else "aten::first", 1_000 * k + 5, 50),
                call("cudaLaunchKernel", 1_000 * k + 10, 5, corr=k + 1),
                kernel(name, 1_000 * k + 100, 50, corr=k + 1),
            ]
        return make_session(make_trace(*events))

    cut = compare(run(3), make_session(make_trace(*_only_gemms())))
    assert not cut.pairing.whole
    assert [r.name for r in cut.kernels] == ["gemm"]
    for rows in (cut.operators, cut.host, cut.collectives, cut.gaps):
        assert all(r.base_count or r.test_count for r in rows)
        assert not [r for r in rows if "first" in r.name]


def _only_gemms():
    for k in (1, 2):
        yield annotation(f"ProfilerStep#{k}", 1_000 * k, 990)
        yield op("aten::mm", 1_000 * k + 5, 50)
        yield call("cudaLaunchKernel", 1_000 * k + 10, 5, corr=k + 1)
        yield kernel("gemm", 1_000 * k + 100, 50, corr=k + 1)
