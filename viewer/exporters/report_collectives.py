"""The report's ``collectives``: communication by kind, group and size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.baseline import ideal
from viewer.analyses.collective.exposed_kernels import exposed_of
from viewer.analyses.collective.exposed_parts import Hiding, Part
from viewer.analyses.collective.table import CommunicationRow, communication_table, kernel_keys
from viewer.store.session import Session

Json = dict[str, Any]
I64 = NDArray[np.int64]


def collectives_part(session: Session) -> list[Json]:
    """``collectives`` of the report; rank figures are summed (rank-ns), bandwidths are decimal GB/s."""
    keys, exposed = kernel_keys(session), exposed_of(session)
    sums = keys.sums(exposed.parts), keys.sums(exposed.transfers)
    return [_row(session, row, *(s[:, keys.of_row(row)] for s in sums)) for row in communication_table(session)]


def _row(session: Session, row: CommunicationRow, parts: I64, transfers: I64) -> Json:
    group = row.group
    told = ideal(session, row.kind, group, row.bytes)
    waited = row.wait_ns is not None
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
        "exposed_wait_ns": int(parts[Part.WAIT] + parts[Part.PIPELINE_WAIT]) if waited else None,
        "exposed_transfer": {
            "structural_ns": int(transfers[Hiding.STRUCTURAL]),
            "serialised_ns": int(transfers[Hiding.SERIALISED]),
            "unknown_ns": int(transfers[Hiding.UNKNOWN]),
        }
        if waited
        else None,
        "algbw_gbps": _rate(row.algbw_gbps),
        "busbw_gbps": _rate(row.busbw_gbps),
        "busbw_p50_gbps": _rate(row.busbw_p50_gbps),
        "busbw_p01_gbps": _rate(row.busbw_p01_gbps),
        "baseline_busbw_gbps": None if told is None else _rate(told.busbw_gbps),
        "baseline_source": None if told is None else told.source,
        "bound": row.bound,
        "estimated_transfer_ns": row.estimated_transfer_ns,
    }


def _rate(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
