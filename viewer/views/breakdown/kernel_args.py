"""What args say of a piece of GPU work: launch configuration, copy, collective."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from viewer.analyses.host import stack_of
from viewer.base.dtypes import element_bytes
from viewer.base.frames import Figure, Section
from viewer.base.ids import ABSENT, Paint
from viewer.base.units import format_bytes, format_count, format_rate
from viewer.store.meta import DeviceInfo
from viewer.views.figures import absent, plural, shown
from viewer.views.subject import Subject, real_number, value_text, whole_number

CONFIGURATION_KEYS = frozenset(
    {
        "grid",
        "block",
        "registers per thread",
        "shared memory",
        "blocks per SM",
        "warps per SM",
        "est. achieved occupancy %",
        "occupancy",
        "graph id",
        "graph node id",
        "bytes",
        "memory bandwidth (GB/s)",
        "device",
        "stream",
        "Collective name",
        "In msg nelems",
        "Out msg nelems",
        "Group size",
        "dtype",
        "Process Group Name",
        "Process Group Description",
        "Process Group Ranks",
        "Seq",
        "Comms Id",
    }
)
"""Args that have a figure of their own."""

_WRITTEN = "As the profiler writes it in the event's args."


def configuration_section(subject: Subject, args: Mapping[str, Any]) -> list[Section]:
    """Grid, block, registers, shared memory and occupancy of a kernel; [] for copies and fills."""
    if subject.paint is Paint.MEMORY or "mem" in subject.trace.cat(subject.row).lower():
        return []
    figures: list[Figure] = []
    blocks = _dimensions(args.get("grid"))
    threads = _dimensions(args.get("block"))
    if blocks:
        figures.append(_size("grid", blocks, "block", "Blocks of the launch: x × y × z."))
    if threads:
        figures.append(_size("block", threads, "thread", "Threads of one block: x × y × z."))
    registers = whole_number(args, "registers per thread")
    if registers is not None:
        figures.append(Figure("registers", f"{registers} per thread", _WRITTEN))
    shared = whole_number(args, "shared memory")
    if shared is not None:
        figures.append(Figure("shared memory", f"{format_bytes(shared)} per block", _WRITTEN + " Static + dynamic."))
    figures += _occupancy(args)
    device = next((d for d in subject.trace.meta.devices if d.id == subject.lane.device), None)
    if blocks and threads and device is not None:
        figures += _limits(device, prod(blocks), prod(threads))
    for key in ("graph id", "graph node id"):
        value = whole_number(args, key)
        if value:
            figures.append(Figure(key, str(value), _WRITTEN + " Kernels of one graph launch share the graph id."))
    if not figures:
        note = "This trace states no grid, block or occupancy for the kernel: its profiler did not write them."
        return [Section("Launch configuration", note=subject.trace.args_problem or note)]
    note = (
        ""
        if registers is not None
        else "Registers and shared memory are not stated: this profiler wrote the grid only."
    )
    return [Section("Launch configuration", tuple(figures), note=note)]


def _dimensions(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= 3:
        return ()
    return tuple(value) if all(isinstance(v, int) and not isinstance(v, bool) and v >= 0 for v in value) else ()


def _size(label: str, dims: tuple[int, ...], what: str, how: str) -> Figure:
    count = prod(dims)
    shape = " × ".join(format_count(d) for d in dims)
    return Figure(label, f"{shape} = {format_count(count)} {what}{'' if count == 1 else 's'}", f"{_WRITTEN} {how}")


def _occupancy(args: Mapping[str, Any]) -> list[Figure]:
    figures = []
    percent = real_number(args, "est. achieved occupancy %")
    if percent is not None:
        figures.append(
            Figure(
                "occupancy",
                f"{percent:.4g} % (estimate)",
                "“est. achieved occupancy %” of the profiler: warps per SM ÷ the most that registers, shared memory "
                "and block size allow, at most 100 %. It is computed from the launch, not measured.",
            )
        )
    for key, label in (("blocks per SM", "blocks per SM"), ("warps per SM", "warps per SM")):
        value = real_number(args, key)
        if value is not None:
            figures.append(
                Figure(label, f"{value:.4g}", f"{_WRITTEN} All {key.split()[0]} of the launch ÷ the device's SMs.")
            )
    limits = args.get("occupancy")
    if isinstance(limits, Mapping):
        for key, value in list(limits.items())[:10]:
            figures.append(Figure(shown(str(key), 60), value_text(value), _WRITTEN + " Theoretical occupancy limits."))
    return figures


def _limits(device: DeviceInfo, blocks: int, threads: int) -> list[Figure]:
    """What the device's properties say of the launch."""
    out = []
    sms = device.properties.get("numSms")
    if isinstance(sms, int) and sms > 0:
        used = min(blocks, sms)
        out.append(
            Figure(
                "SMs with a block",
                f"at most {format_count(used)} of {format_count(sms)}",
                "min(blocks of the grid, SMs of the device): a grid smaller than the device leaves SMs empty.",
                tone="warning" if blocks < sms else "",
            )
        )
    warp, most = device.properties.get("warpSize"), device.properties.get("maxThreadsPerMultiprocessor")
    if isinstance(warp, int) and isinstance(most, int) and warp > 0 and threads > 0:
        per_block = -(-threads // warp)
        out.append(
            Figure(
                "an SM holds at most",
                f"{format_count(most // warp)} warps, {plural((most // warp) // per_block, 'such block')}",
                "maxThreadsPerMultiprocessor ÷ warpSize of the device; registers and shared memory may allow fewer.",
            )
        )
    return out


def copy_section(subject: Subject, args: Mapping[str, Any]) -> list[Section]:
    """Bytes and bandwidth of a copy or fill; [] for kernels."""
    if "mem" not in subject.trace.cat(subject.row).lower():
        return []
    size = whole_number(args, "bytes")
    if size is None:
        return [Section("Copy", note="The trace states no bytes for it, so there is no bandwidth.")]
    figures = [Figure("bytes", f"{format_bytes(size)} ({format_count(size)})", _WRITTEN)]
    if subject.dur > 0:
        figures.append(
            Figure(
                "bandwidth",
                format_rate(size * 1e9 / subject.dur),
                "Bytes ÷ duration, recomputed here; decimal units (1 GB/s = 10⁹ bytes per second).",
            )
        )
    else:
        figures.append(absent("bandwidth", "none: the duration is 0 ns"))
    written = real_number(args, "memory bandwidth (GB/s)")
    if written is not None:
        figures.append(Figure("as written", f"{written:.4g} GB/s", "“memory bandwidth (GB/s)” of the profiler."))
    return [Section("Copy", tuple(figures))]


def collective_section(subject: Subject, args: Mapping[str, Any]) -> list[Section]:
    """Collective metadata of a communication kernel, its own or that of the operator that launched it."""
    if subject.paint is not Paint.COMM:
        return []
    trace, source = subject.trace, "the kernel's own args"
    at = _described(subject, subject.row)
    if at < 0:
        stack = stack_of(trace, subject.row)
        for row in reversed(stack.rows if stack else ()):
            at = _described(subject, row)
            if at >= 0:
                source = "the args of the record_param_comms range that encloses its launch"
                break
    if at < 0:
        note = (
            "No collective metadata: neither the kernel nor the operator around its launch states a collective "
            "(coalesced operations and older profilers write none). Size and group are unknown."
        )
        return [Section("Collective", note=note)]
    c = trace.collectives
    how = f"From {source}."
    figures = [Figure("collective", shown(trace.text(int(c.kind[at]))), how)]
    dtype = trace.text(int(c.dtype[at]))
    figures += _messages(int(c.in_elems[at]), int(c.out_elems[at]), dtype, how)
    group, described = trace.text(int(c.group[at])), trace.text(int(c.group_desc[at]))
    if group or described:
        told = f"{shown(group, 80)} ({shown(described, 80)})" if group and described else shown(group or described, 80)
        figures.append(Figure("group", told, how))
    if c.group_size[at] != ABSENT:
        figures.append(Figure("group size", f"{int(c.group_size[at]):,} ranks", how))
    ranks = trace.text(int(c.group_ranks[at]))
    if ranks:
        cut = " The profiler cuts lists at 30 entries." if "..." in ranks else ""
        figures.append(Figure("ranks", shown(ranks, 400), how + cut))
    for label, column in (("sequence", c.seq), ("comms id", c.comms_id)):
        if column[at] != ABSENT:
            figures.append(Figure(label, str(int(column[at])), how))
    if c.seq[at] == ABSENT and isinstance(args.get("Seq"), (int, str)):
        figures.append(Figure("sequence", value_text(args["Seq"], 40), "From the kernel's own args."))
    return [Section("Collective", tuple(figures))]


def _messages(sent: int, received: int, dtype: str, how: str) -> list[Figure]:
    size = element_bytes(dtype) if dtype else None
    out = []
    for label, count in (("in", sent), ("out", received)):
        if count == ABSENT:
            continue
        text = f"{count:,} × {shown(dtype, 40)}" if dtype else f"{count:,} elements"
        if size is not None:
            text += f" = {format_bytes(count * size)} ({count * size:,})"
        explained = "Elements × bytes per element. " if size is not None else "The size of this dtype is not known. "
        out.append(Figure(f"message {label}", text, explained + how))
    return out


def _described(subject: Subject, row: int) -> int:
    """Where a slice lies in the collectives table, -1 when it does not."""
    rows = subject.trace.collectives.slice
    at = int(np.searchsorted(rows, row))
    return at if at < len(rows) and int(rows[at]) == row else -1
