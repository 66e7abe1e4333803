"""What groups that no name explains are for, from when in a step they are used."""

from __future__ import annotations

from collections import Counter

from tests.support.build import Event, annotation, call, kernel, make_session, make_trace
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.collective.roles import roles

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


EARLY = [0.02, 0.1, 0.2, 0.4, 0.6, 0.8]


def layout(sizes: dict[str, int], uses: dict[str, tuple[set[str], str, list[float]]]) -> tuple[Counter[str], set[int]]:
    """How often what a group is for is not seen, and sizes of the roles.

    ``sizes`` of the dimensions, the fastest first; ``uses``: purpose -> (dimensions of its groups, kind, begins).
    """
    world, numbers, traces = 1, {}, []
    for size in sizes.values():
        world *= size

    def place(rank: int, fixed: set[str]) -> tuple[int, ...]:
        out = []
        for name, size in sizes.items():
            out += [rank % size] if name in fixed else []
            rank //= size
        return tuple(out)

    for rank in range(world):
        events: list[Event] = []
        for step in range(3):
            begin = step * 2 * STEP
            events += [annotation(f"ProfilerStep#{step}", begin, 2 * STEP - 10)]
            for at in (1, STEP - 6):
                events += [call("cudaLaunchKernel", begin + at, 1, corr=begin + at)]
                events += [kernel("gemm", begin + at + 1, 5, corr=begin + at)]
            for purpose, (varies, kind, begins) in uses.items():
                fixed = set(sizes) - varies
                members = [r for r in range(world) if place(r, fixed) == place(rank, fixed)]
                name = numbers.setdefault((purpose, *members), str(10 + len(numbers)))
                for nth, share in enumerate(begins):
                    about = {"group": name, "group_size": len(members), "group_ranks": str(members)}
                    at = begin + int(share * STEP)
                    last = members[-1] == rank
                    sort = ("recv" if last else "send") if kind == "p2p" else kind
                    about |= {"seq": 100 * step + nth, "src" if last else "dst": members[0]} if kind == "p2p" else {}
                    events += [kernel("ncclDevKernel", at, 20, stream=20, collective=sort, about=about)]
        traces.append(make_trace(*events, path=f"r{rank}", rank=rank, rank_source="distributedInfo", world_size=world))
    session = make_session(*traces)
    meant = {number: key[0] for key, number in numbers.items()}
    wrong = Counter(meant[g.name] for g in job_groups(session).groups if meant[g.name] != g.purpose)
    return wrong, set(Counter(roles(session).values()).values())


def test_layouts_without_names() -> None:
    late = ({"dp"}, "reduce_scatter", [0.85, 0.9])
    assert layout(
        {"tp": 4, "dp": 4, "pp": 2},
        {"tp": ({"tp"}, "allreduce", EARLY), "dp": late, "pp": ({"pp"}, "p2p", [0.3, 0.5])},
    ) == (Counter(), {16})
    assert layout(
        {"ep": 4, "dp": 2, "pp": 4},
        {
            "ep": ({"ep"}, "all_to_allv", EARLY),
            "dp": ({"ep", "dp"}, "allreduce", [0.9]),
            "pp": ({"pp"}, "p2p", [0.3, 0.5]),
        },
    ) == (Counter(), {8})
