"""The report's parts on operators and FLOPs: the largest operators, and per file what shapes explain."""

from __future__ import annotations

from typing import Any, Final

from viewer.analyses.contention import contention
from viewer.analyses.findings.recompute import recomputed_ns
from viewer.analyses.flops.ledger import ledger
from viewer.analyses.flops.utilisation import file_hfu
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.optable.part import OPERATOR
from viewer.analyses.optable.table import op_table
from viewer.store.session import Input, Session

Json = dict[str, Any]
Windows = dict[int, tuple[int, int]]

MOST_OPERATORS: Final = 200
MOST_GAPS: Final = 20
_WHOLE: Final = 2**63


def operators_part(session: Session, windows: Windows | None) -> Json:
    """The operators with the most GPU time of their own, over all files; "" stands for work without an operator.

    Args:
        session: the job.
        windows: per input a window of its raw ns, None for everything.
    """
    inputs = tuple(i.index for i in session.inputs if windows is None or i.index in windows)
    table = op_table(session, inputs, windows or {}, OPERATOR)
    rates, speeds, means = table.tflops(), table.gbytes(), table.means()
    order = sorted(range(len(table)), key=lambda i: (-int(table.own[i]), -int(table.total[i]), table.keys[i]))
    order = [i for i in order if table.count[i] and (table.total[i] or table.cpu_total[i])]
    rows = [
        {
            "name": table.keys[i][0],
            "calls": int(table.count[i]),
            "gpu_total_ns": int(table.total[i]),
            "gpu_self_ns": int(table.own[i]),
            "cpu_total_ns": int(table.cpu_total[i]),
            "cpu_self_ns": int(table.cpu_own[i]),
            "gpu_mean_ns": means[i],
            "gpu_median_ns": int(table.median[i]),
            "gpu_max_ns": int(table.most[i]),
            "tflops_per_second": rates[i],
            "gbytes_per_second": speeds[i],
        }
        for i in order[:MOST_OPERATORS]
    ]
    return {"operators": rows, "operators_left_out": max(0, len(order) - MOST_OPERATORS)}


def flops_part(session: Session) -> list[Json]:
    """Per file its FLOPs, what explains them and what not, its HFU; and what recomputation and contention cost."""
    return [_file(session, item) for item in session.inputs]


def _file(session: Session, item: Input) -> Json:
    trace = item.trace
    found, beside = ledger(trace), contention(trace)
    value, how = file_hfu(trace, session.card)
    any_work = len(gpu_work(trace)) > 0
    return {
        "input": item.index,
        "rank": item.rank,
        "flops": _number(found.total) if found.costs else None,
        "by_family": {k: _number(v) for k, v in sorted(found.by_family().items())},
        "by_dtype": {k: _number(v) for k, v in sorted(found.by_dtype().items())},
        "coverage": found.coverage,
        "known_ns": found.known_ns,
        "unknown_ns": found.unknown_ns,
        "not_counted": [
            {"why": g.why, "operator": g.operator or None, "family": g.family, "kernels": g.kernels, "sum_ns": g.sum_ns}
            for g in found.gaps[:MOST_GAPS]
        ],
        "hfu": value,
        "hfu_how": how,
        "recomputed_ns": int(recomputed_ns(trace).sum()) if any_work else None,
        "contention": {
            "slowdown_ns": beside.total_ns if beside.compared else None,
            "compared": beside.compared,
            "uncompared": beside.uncompared,
            "with_shapes": beside.shaped,
            "noise_ns": beside.noise_ns if beside.compared else None,
        },
    }


def _number(value: int) -> int | float:
    """A whole number where JSON readers keep it whole."""
    return value if value < _WHOLE else float(value)
