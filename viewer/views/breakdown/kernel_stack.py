"""Who launched it: operator, input shapes, Python and module stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from viewer.analyses.host import stack_of
from viewer.base.frames import Figure, Section
from viewer.base.ids import ABSENT, Paint
from viewer.store.trace import Trace
from viewer.views.figures import TableMaker, dur, shown, word
from viewer.views.subject import Subject, value_text

STACK_ROWS = 200
INPUTS = 24
SAMPLES = 24
SHAPE_KEYS = frozenset(
    {"Input Dims", "Input type", "Concrete Inputs", "Input Strides", "Call stack", "Module Hierarchy"}
)


def operator_section(subject: Subject, call: int) -> list[Section]:
    """Operator, inputs and stack of a piece of GPU work (``call`` is its launch call, -1 without one)."""
    trace = subject.trace
    stack = stack_of(trace, call) if call >= 0 else None
    operator = stack.operator if stack is not None else -1
    how = "The innermost operator that encloses the launch call on its thread."
    if operator < 0:
        operator = _by_external_id(subject)
        how = "No operator encloses the launch; this one has the same External id."
    sections = []
    if operator >= 0:
        figures = [Figure("operator", subject.name(operator), how, jump=subject.ref(operator))]
        figures += input_figures(trace, operator)
        sections.append(Section("Operator", tuple(figures), note=shapes_note(trace, operator)))
    else:
        sections.append(Section("Operator", note=_no_operator(trace, call)))
    if stack is not None:
        sections.append(stack_section(subject, stack.rows, "launch call"))
    return sections


def _no_operator(trace: Trace, call: int) -> str:
    if call < 0:
        return "No operator and no stack: without a launch call it is not known who queued this work."
    if not bool((trace.slices.paint == Paint.OPERATOR).any()):
        return "The trace holds no operators: the profiler ran without CPU activity."
    return "No operator encloses the launch call: it came from outside PyTorch's operators (compiled code, a library)."


def _by_external_id(subject: Subject) -> int:
    s = subject.trace.slices
    ext = int(s.ext[subject.row])
    if ext in (ABSENT, 0):
        return -1
    rows = np.flatnonzero((s.ext == ext) & (s.paint == Paint.OPERATOR))
    return int(rows[int(np.argmin(s.dur_ns[rows]))]) if len(rows) else -1


def input_figures(trace: Trace, operator: int) -> list[Figure]:
    """Shapes, types and concrete values of an operator's inputs; [] when the trace has none."""
    args = trace.args(operator)
    dims, types, values = (args.get(k) for k in ("Input Dims", "Input type", "Concrete Inputs"))
    out = []
    lines = _inputs(dims, types, values)
    if lines:
        out.append(
            Figure(
                "inputs",
                "\n".join(lines),
                "“Input type”, “Input Dims” and “Concrete Inputs” of the operator's args, in order of its parameters.",
            )
        )
    for key, label in (("Module Hierarchy", "module"), ("Call stack", "call stack")):
        text = args.get(key)
        if isinstance(text, str) and text.strip():
            frames = [
                shown(f.strip(), 300) for f in text.replace("\\n", "\n").replace(";", "\n").split("\n") if f.strip()
            ]
            out.append(Figure(label, "\n".join(frames[:40]), f"“{key}” of the operator's args."))
    return out


def _inputs(dims: Any, types: Any, values: Any) -> list[str]:
    def entry(of: Any, i: int) -> Any:
        return of[i] if isinstance(of, Sequence) and not isinstance(of, str) and i < len(of) else None

    count = max((len(x) for x in (dims, types, values) if isinstance(x, list)), default=0)
    lines = []
    for i in range(min(count, INPUTS)):
        kind, shape, value = entry(types, i), entry(dims, i), entry(values, i)
        parts = [shown(str(kind), 60) if kind else "–"]
        if isinstance(shape, list) and shape:
            parts.append(value_text(shape, 120))
        if value not in (None, "", []):
            parts.append(f"= {value_text(value, 60)}")
        lines.append(f"{i}: " + " ".join(parts))
    if count > INPUTS:
        lines.append(f"… {count - INPUTS} more")
    return lines


def shapes_note(trace: Trace, operator: int) -> str:
    """Why an operator has no input shapes, in one sentence; "" when it has them."""
    args = trace.args(operator)
    if trace.args_problem:
        return shown(trace.args_problem)
    if _has_shapes(args):
        return ""
    if _switched_on(trace.meta.facts, "record_shapes") or trace.memo("shapes", lambda: _samples_have_shapes(trace)):
        return "No shapes for this operator: the profiler recorded shapes, but wrote none here."
    return "No shapes: the profiler ran without record_shapes."


def _has_shapes(args: Mapping[str, Any]) -> bool:
    return any(args.get(k) for k in ("Input Dims", "Input type", "Concrete Inputs"))


def _samples_have_shapes(trace: Trace) -> bool:
    """Whether some operators have shapes: older traces do not say how the profiler was set."""
    rows = np.flatnonzero(trace.slices.paint == Paint.OPERATOR)
    return any(_has_shapes(trace.args(int(r))) for r in rows[:: max(1, len(rows) // SAMPLES)])


def _switched_on(facts: Mapping[str, Any], key: str) -> bool:
    return facts.get(key) in (1, True, "1", "true")


def stack_section(subject: Subject, rows: Sequence[int], what: str) -> Section:
    """The slices that enclose one on its thread, innermost first."""
    trace = subject.trace
    table = TableMaker(
        (
            (
                f"Encloses the {what}",
                "Slices open on the thread at that time, innermost first: operators, frames, ranges.",
            ),
            ("Duration", "End − start of the slice on the host."),
        )
    )
    for row in list(reversed(rows))[:STACK_ROWS]:
        table.add(
            word(subject.name(row)),
            dur(int(trace.slices.dur_ns[row])),
            jump=subject.ref(row),
            paint=Paint(int(trace.slices.paint[row])),
        )
    has_python = any(trace.slices.paint[row] == Paint.PYTHON for row in rows)
    note = "" if has_python else _no_python(trace)
    return Section("Stack", table=table.frame(), note=note)


def _no_python(trace: Trace) -> str:
    if not bool((trace.slices.paint == Paint.PYTHON).any()):
        if _switched_on(trace.meta.facts, "with_stack"):
            return "No Python frames: the profiler ran with with_stack, but the trace holds none."
        return "No Python frames and no modules: the profiler ran without with_stack."
    return "No Python frame encloses it on its thread (backward runs on autograd's own threads)."
