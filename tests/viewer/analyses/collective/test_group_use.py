"""What groups that no name explains are for, from when in a step they are used."""

from __future__ import annotations

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace
from viewer.analyses.collective.groups import job_groups

STEP = 1_000_000


def job(uses: dict[str, tuple[str, list[float]]]) -> dict[str, tuple[str, str]]:
    """Purpose and its source by mark; ``uses``: mark of a group -> (kind, begins as shares of a step)."""
    events: list[Event] = []
    number = 0
    for step in range(4):
        begin = step * 2 * STEP
        events.append(annotation(f"ProfilerStep#{step}", begin, 2 * STEP - 10))
        for start, length in ((1, 5), (STEP - 6, 5)):
            number += 1
            events += [call("cudaLaunchKernel", begin + start, 1, corr=number)]
            events += [kernel("gemm", begin + start + 1, length, corr=number)]
        for mark, (kind, begins) in uses.items():
            for share in begins:
                number += 1
                at = begin + int(share * STEP)
                about = {"group": mark, "group_size": 2, "group_ranks": "[0, 1]", "seq": number}
                events.append(call("cudaLaunchKernel", begin + 3, 1, corr=number))
                events.append(
                    kernel("ncclDevKernel", at, 20, stream=20, corr=number, collective=kind, about=about)
                )  # fmt: skip
    session = make_session(make_trace(*events, rank=0, rank_source="distributedInfo", world_size=8))
    return {g.name: (g.purpose, g.purpose_source) for g in job_groups(session).groups}


def test_late_reductions_are_of_gradients_and_early_ones_of_layers() -> None:
    early = [0.02, 0.1, 0.2, 0.4, 0.6, 0.8]
    assert job(
        {
            "11": ("allreduce", [0.9, 0.95]),
            "12": ("allreduce", early),
            "13": ("allreduce", [0.1]),
            "14": ("all_to_allv", [0.3, 0.6]),
            "15": ("broadcast", [0.9]),
        }
    ) == {
        "11": ("dp", "operations"),
        "12": ("tp", "operations"),
        "13": ("", ""),
        "14": ("ep", "operations"),
        "15": ("", ""),
    }


def test_names_go_before_the_use() -> None:
    assert job({"tensor_parallel": ("allreduce", [0.9])})["tensor_parallel"] == ("tp", "description")
