"""The report's ``collectives``: communication by kind, group and size."""

from __future__ import annotations

from typing import Any

from viewer.analyses.collective.table import CommunicationRow, communication_table
from viewer.store.session import Session

Json = dict[str, Any]


def collectives_part(session: Session) -> list[Json]:
    """``collectives`` of the report; rank figures are summed (rank-ns), bandwidths are decimal GB/s."""
    return [_row(row) for row in communication_table(session)]


def _row(row: CommunicationRow) -> Json:
    group = row.group
    return {
        "kind": row.kind.text,
        "group": None if group is None else (group.name or group.label),
        "group_ranks": None if group is None or group.ranks is None else list(group.ranks),
        "group_kind": None if group is None else (group.purpose or None),
        "bytes": row.bytes,
        "count": row.count,
        "kernels": row.kernels,
        "rank_count": row.rank_count,
        "sum_ns": row.sum_ns,
        "wait_ns": row.wait_ns,
        "transfer_ns": row.transfer_ns,
        "exposed_ns": row.exposed_ns,
        "algbw_gbps": _rate(row.algbw_gbps),
        "busbw_gbps": _rate(row.busbw_gbps),
        "busbw_p50_gbps": _rate(row.busbw_p50_gbps),
        "busbw_p01_gbps": _rate(row.busbw_p01_gbps),
        "bound": row.bound,
    }


def _rate(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
