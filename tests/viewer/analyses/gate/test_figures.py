"""What a check keeps of a run, against the analyses it comes from."""

import statistics

from viewer.analyses.fingerprint.memory_peak import rank_peaks
from viewer.analyses.gate.figures import run_figures
from viewer.analyses.steps import step_table
from viewer.store.session import Session


def test_the_figures_of_a_job_are_medians_over_its_steps(demo_job):
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import default_cache

    session = JobOpener([demo_job.folder], cache=default_cache()).open(lambda _: None).session
    found = run_figures(session)
    by_step = {}
    for item in session.inputs:
        for step in step_table(item.trace).steps:
            by_step.setdefault(step.index, []).append(step)
    longest = [max(s.cpu_ns for s in steps) for steps in by_step.values()]
    assert found["step_ns"].value == statistics.median(longest)
    assert found["step_ns"].samples == longest
    assert found["step_ns"].gate
    assert 0.0 <= found["exposed_comm_share"].value <= 1.0
    assert 0.0 < found["idle_share"].value < 1.0
    assert not found["idle_share"].gate
    peaks = rank_peaks(session)
    assert ("memory_peak" in found) == bool(peaks)


def test_a_session_without_anything_has_no_figures():
    assert run_figures(Session()) == {}
