"""The report: every figure of a job as plain data, and as JSON.

Integers are ns unless a key says otherwise; None stands where a figure does not exist. A window is given in ns after
the session's origin and mapped back into each file's raw clock, so alignment changes no duration. With a window,
``devices``, ``idle`` and ``kernels`` are cut to it and ``steps`` are those whose CPU mark touches it (their figures
stay whole, by launch); ``links`` always describe the whole file, and ``collectives`` are null.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from viewer.analyses.ahead import looking_ahead
from viewer.analyses.attribution import DeviceFigures, attribute
from viewer.analyses.collective.communication import communication
from viewer.analyses.collective.groups import job_groups
from viewer.analyses.gpu_work import gpu_work
from viewer.analyses.kernels import MOST_ROWS, KernelRow, LeftOut, kernel_rows
from viewer.analyses.links import links
from viewer.analyses.steps import Step, step_table
from viewer.base.errors import InputError
from viewer.base.findings import Finding
from viewer.base.ids import ABSENT, Paint
from viewer.base.json_text import encode_json
from viewer.exporters.report_clock import clock_part, late_rank_part, straggler_part
from viewer.exporters.report_collectives import collectives_part
from viewer.exporters.report_communication import communication_part, rank_communication_part
from viewer.exporters.report_findings import findings_part, saving_part
from viewer.exporters.report_fingerprint import card_part, fingerprint_part
from viewer.exporters.report_idle import idle_part
from viewer.exporters.report_memory import memory_over_ranks, memory_part
from viewer.exporters.report_operators import flops_part, operators_part
from viewer.exporters.report_pipeline import pipeline_part, with_pipeline
from viewer.store.meta import ProcessGroup
from viewer.store.session import Input, Session
from viewer.store.small_file import write_whole
from viewer.store.trace import Trace

SCHEMA = "rankscope.report/1"
MOST_MISSING = 100_000
"""World sizes beyond this get no list of missing ranks."""

Json = dict[str, Any]


def report(
    session: Session,
    failures: Sequence[InputError] = (),
    skipped: Sequence[Finding] = (),
    window: tuple[int, int] | None = None,
) -> Json:
    """The report of a job.

    Args:
        session: the opened inputs.
        failures: inputs that could not be opened.
        skipped: files that were no traces, as findings.
        window: [start, end) in ns after ``session.origin_ns()``; None for everything.
    """
    with looking_ahead(session) if window is None else nullcontext():
        return _report(session, failures, skipped, window)


def _report(
    session: Session, failures: Sequence[InputError], skipped: Sequence[Finding], window: tuple[int, int] | None
) -> Json:
    raw = _raw_windows(session, window)
    kernels, rest = kernel_rows(session, raw)
    split = communication(session, raw)
    return {
        "schema": SCHEMA,
        "window": _window(session, window),
        "inputs": [_input(session, item) for item in session.inputs],
        "failures": [
            {
                "path": error.path,
                "problem": error.problem,
                "where": error.where,
                "next_step": error.next_step,
                "message": error.sentence(),
            }
            for error in failures
        ],
        "job": _job(session) | {"card": card_part(session.card)},
        "clock": clock_part(session),
        "late_rank": late_rank_part(session),
        "ranks": with_pipeline(
            session,
            [
                _rank(session, item, None if raw is None else raw[item.index])
                | {"communication": rank_communication_part(split[item.index])}
                for item in session.inputs
            ],
        ),
        "pipeline": pipeline_part(session) if window is None else None,
        "kernels": [_kernel(row) for row in kernels],
        **operators_part(session, raw),
        "flops": flops_part(session) if window is None else None,
        "collectives": collectives_part(session) if window is None else None,
        "communication": communication_part(session, split),
        "memory": memory_over_ranks(session),
        "fingerprint": fingerprint_part(session) if window is None else {"training": None, "inference": None},
        "saving": saving_part(session),
        "findings": [
            *findings_part(session),
            *(_job_finding(f) for f in (*session.findings, *skipped, *_left_out(rest))),
        ],
    }


def encode_report(data: Json) -> bytes:
    """The report as readable JSON (UTF-8, ends with a line break)."""
    return encode_json(data)


def write_report(path: Path, data: Json) -> None:
    """Write the report; raises OSError."""
    write_whole(path, encode_report(data))


def _raw_windows(session: Session, window: tuple[int, int] | None) -> dict[int, tuple[int, int]] | None:
    if window is None:
        return None
    origin = session.origin_ns()
    return {i.index: (i.clock.to_raw(origin + window[0]), i.clock.to_raw(origin + window[1])) for i in session.inputs}


def _window(session: Session, window: tuple[int, int] | None) -> Json | None:
    if window is None:
        return None
    return {"start_ns": window[0], "end_ns": window[1], "origin_ns": session.origin_ns()}


def _finding(finding: Finding) -> Json:
    return asdict(finding)


def _job_finding(finding: Finding) -> Json:
    return {
        "id": finding.code,
        "kind": "input",
        "title": finding.message,
        "severity": finding.severity,
        "count": finding.count,
        "saving_ns_per_step": None,
        "confident": True,
        "evidence": [{"text": finding.where}] if finding.where else [],
        "change": None,
        "next_step": None,
    }


def _input(session: Session, item: Input) -> Json:
    meta = item.trace.meta
    found = [*meta.findings]
    # What the job says of this file: a conflict names all its files, a lone clock names one.
    found += [
        f
        for f in session.findings
        if f.where and item.path.name in f.where and (item.conflict or f.code != "rank-conflict")
    ]
    ledger = meta.ledger
    return {
        "path": str(item.path),
        "format": meta.format,
        "bytes": meta.imported.size,
        "digest": meta.imported.digest,
        "rank": item.rank,
        "rank_source": item.rank_source,
        "segment": item.segment,
        "complete": meta.complete,
        "base_ns": meta.base_ns,
        "events": meta.events,
        "ledger": {
            "read": ledger.read,
            "kept": ledger.kept,
            "repaired": ledger.repaired,
            "rejected": ledger.rejected,
            "reasons": {name: {"count": n, "first_byte": at} for name, (n, at) in ledger.reasons.items()},
        },
        "findings": [_finding(f) for f in (*found, *_own_findings(item.trace, found))],
    }


def _own_findings(trace: Trace, known: Sequence[Finding]) -> list[Finding]:
    """What the analyses found out about one file and its importer did not."""
    codes = {f.code for f in known}
    found, out = links(trace), []
    if found.ambiguous:
        out.append(
            Finding(
                "ambiguous-correlation",
                "warning",
                found.ambiguous,
                f"{found.ambiguous:,} GPU events carry a correlation id that several calls share, of several processes "
                "or too many of one to tell apart: the file does not say whose they are, so they are linked to none.",
            )
        )
    if found.started_before_call:
        out.append(
            Finding(
                "started-before-call",
                "warning",
                found.started_before_call,
                f"{found.started_before_call:,} GPU events start before the call that launched them: host and device "
                "clocks of this file disagree, launch delays leave these out.",
            )
        )
    untimed = gpu_work(trace).untimed
    if untimed and not any("untimed" in code for code in codes):
        out.append(
            Finding(
                "untimed-gpu-work",
                "warning",
                untimed,
                f"{untimed:,} GPU events have neither a time nor a duration: they are in no count and no figure.",
            )
        )
    return out


def _job(session: Session) -> Json:
    metas = [item.trace.meta for item in session.inputs]
    sizes = {m.world_size for m in metas if m.world_size is not None}
    size = sizes.pop() if len(sizes) == 1 else None
    ranks = sorted({item.rank for item in session.inputs if item.rank is not None})
    missing = sorted(set(range(size)) - set(ranks)) if size is not None and 0 < size <= MOST_MISSING else None
    purposes = {(g.name, g.description): g.purpose or None for g in job_groups(session).groups}
    groups: dict[tuple[str, str, int | None, tuple[int, ...]], ProcessGroup] = {}
    for meta in metas:
        for group in meta.groups:
            groups.setdefault((group.name, group.description, group.size, tuple(group.ranks)), group)
    return {
        "world_size": size,
        "ranks": ranks,
        "missing_ranks": missing,
        "groups": [
            {
                "name": g.name,
                "description": g.description,
                "size": g.size,
                "ranks": g.ranks or None,
                "ranks_complete": g.ranks_complete,
                "kind": purposes.get((g.name, g.description)),
            }
            for g in groups.values()
        ],
    }


def _rank(session: Session, item: Input, window: tuple[int, int] | None) -> Json:
    trace = item.trace
    devices = gpu_work(trace).devices
    rows = []
    for device in devices:
        found = attribute(trace, device, window)
        rows.append(_device(trace, device, found) | {"idle": idle_part(trace, device, window)})
    found_links, table = links(trace), step_table(trace)
    shown = [s for s in table.steps if window is None or (s.start_ns < window[1] and s.end_ns > window[0])]
    return {
        "input": item.index,
        "rank": item.rank,
        "host": trace.meta.host,
        "devices": rows,
        "device": {k: v for k, v in rows[0].items() if k != "idle"} if len(rows) == 1 else None,
        "idle": rows[0]["idle"] if len(rows) == 1 else None,
        "links": {
            "host_calls": len(found_links.calls),
            "host_call_ns": found_links.host_call_ns,
            "linked": found_links.linked,
            "gpu_without_call": found_links.gpu_without_call,
            "calls_without_gpu": found_links.calls_without_gpu,
            "started_before_call": found_links.started_before_call,
            "ambiguous": found_links.ambiguous,
        },
        "steps": [_step(trace, s) for s in shown],
        "outside_steps": {"kernels": table.outside_kernels, "sum_ns": table.outside_sum_ns} if table.steps else None,
        "communication": None,
        "memory": memory_part(session, item),
        "straggler": straggler_part(session, item),
    }


def _device(trace: Trace, device: int, found: DeviceFigures | None) -> Json:
    name = next((d.name for d in trace.meta.devices if d.id == device and d.name), None)
    row: Json = {"id": None if device == ABSENT else device, "name": name}
    return row | {key: None if found is None else getattr(found, key) for key in DeviceFigures.__dataclass_fields__}


def _step(trace: Trace, step: Step) -> Json:
    devices = [_device(trace, device, found) for device, found in step.devices]
    return {
        "index": step.index,
        "name": step.name,
        "source": step.source,
        "kernels": step.kernels,
        "start_ns": step.start_ns,
        "cpu_ns": step.cpu_ns,
        "gap_before_ns": step.gap_before_ns,
        "device": devices[0] if len(devices) == 1 else None,
        "devices": devices,
    }


def _left_out(rest: LeftOut | None) -> list[Finding]:
    if rest is None:
        return []
    message = (
        f"the job has more than {MOST_ROWS:,} kernel names: the table lists those with the largest sums; the others, "
        f"at most {rest.names:,} names, ran {rest.runs:,} times for {rest.sum_ns:,} ns and are in all other figures"
    )
    return [Finding("kernels-left-out", "info", rest.names, message)]


_CLASS_NAMES = {Paint.COMPUTE: "compute", Paint.COMM: "comm", Paint.MEMORY: "memory"}


def _kernel(row: KernelRow) -> Json:
    return {
        "name": row.name,
        "class": _CLASS_NAMES[row.paint],
        "rule": row.rule,
        "fused": row.fused,
        "count": row.count,
        "sum_ns": row.sum_ns,
        "min_ns": row.min_ns,
        "max_ns": row.max_ns,
        "mean_ns": row.mean_ns,
    }
