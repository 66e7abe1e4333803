"""What each block of memory is for: as its source says, else by the rules of resources/rules/memory.toml.

A rule sees who made the block (its stack, or the slices around it), in which phase of the step that was, and how long
the block was held: beyond the phase, over the borders of steps, or the whole recording.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.memory.figures import device_blocks, device_events
from viewer.analyses.memory.makers import maker_slices, slice_bits, stack_bits
from viewer.analyses.memory.steps import memory_steps
from viewer.base.allocator import BEFORE, NEVER, NOT_GIVEN, Category
from viewer.store.memory_rules import BlockRule, MemoryRules, shipped_memory_rules
from viewer.store.session import Input, Session
from viewer.store.trace import Trace

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

GIVEN: Final = "given"
NO_RULE: Final = "no-rule"
UNSEEN: Final = "not-in-blocks"
_RESIDENT, _KEPT, _OUTLIVES, _BRIEF = range(4)  # places in LIVES of viewer.store.memory_rules


@dataclass(frozen=True, eq=False)
class BlockCategories:
    """Of every row of ``blocks``: ``category`` (Category), ``rule`` (index into ``rules``), ``life`` (into LIVES).

    ``tags`` has a bit for each tag of the table that a frame of the maker matches.
    ``rest`` is the category of what a source's total has beyond its blocks. ``rules`` are (id, why): those of the
    table, then one for what the source says and one for what no rule names.
    """

    category: U8
    rule: NDArray[np.int16]
    life: U8
    phase: U8
    tags: NDArray[np.uint64]
    rules: tuple[tuple[str, str], ...]
    training: bool
    rest: Category

    def why(self, block: int) -> tuple[str, str]:
        """(id, why) of the rule that decided."""
        return self.rules[int(self.rule[block])]


def block_categories(session: Session, item: Input, rules: MemoryRules | None = None) -> BlockCategories:
    """The categories of all blocks of an input. Built once per clocks (steps may be those of another file)."""
    table = rules or shipped_memory_rules()
    if rules is not None:
        return _build(session, item, table)
    return session.clocked_memo(("memory categories", item.index), lambda: _build(session, item, table))


def _build(session: Session, item: Input, table: MemoryRules) -> BlockCategories:
    trace = item.trace
    b = trace.tables["blocks"]
    patterns = (*table.phases, *table.tags)
    bits = _bits_of_blocks(trace, patterns)
    phase = _phase_of(bits, len(table.phases))
    phase = _without_frames(trace, table, phase)
    steps = memory_steps(session, item)
    life = np.full(len(b), _BRIEF, np.uint8)
    for device in range(len(trace.tables["memory_devices"])):
        rows = device_blocks(trace, device)
        edges = steps.edges() if steps is not None else None
        life[rows] = _lives(trace, device, rows, phase, edges, table.phase("optimizer"))
    training = bool(np.isin(phase, [table.phase("backward"), table.phase("optimizer")]).any())
    tags = bits >> np.uint64(len(table.phases))
    private = _private(trace)
    category = np.full(len(b), Category.UNKNOWN, np.uint8)
    number = np.full(len(b), len(table.rules) + 1, np.int16)
    open_ = b.category == NOT_GIVEN
    told = b.category != NOT_GIVEN
    category[told], number[told] = b.category[told], len(table.rules)
    for k, rule in enumerate(table.rules):
        if not _applies(trace, table, rule, training, told=bool(phase.any())):
            continue
        hit = open_ & _holds(rule, tags, phase, life, private)
        category[hit], number[hit] = rule.category, k
        open_ &= ~hit
    names = tuple((r.id, r.why) for r in table.rules)
    ends = ((GIVEN, "as the source says"), (NO_RULE, "no rule names it"))
    rest = next(
        (r.category for r in table.rules if r.category == Category.WEIGHTS and not r.tags and not r.phases
         and _applies(trace, table, r, training, told=bool(phase.any()))),
        Category.UNKNOWN,
    )  # fmt: skip
    return BlockCategories(category, number, life, phase, tags, names + ends, training, rest)


def _applies(trace: Trace, table: MemoryRules, rule: BlockRule, training: bool, *, told: bool) -> bool:
    """Whether a rule is for this recording; ``told``: some block says in which phase it was made."""
    if rule.training is not None and (rule.training != training or not told):
        return False  # where no block says so, nobody knows what ran
    return not any(_mentioned(trace, table.tags[t][1]) for t in rule.absent)


def _mentioned(trace: Trace, pattern: re.Pattern[str]) -> bool:
    """Whether any name or file of the recording matches."""

    def build() -> bool:
        import pyarrow.compute as pc

        return bool(pc.any(pc.match_substring_regex(trace.strings, pattern.pattern, ignore_case=True)).as_py())

    return trace.memo(("mentioned", pattern.pattern), build)


def _holds(
    rule: BlockRule, tags: NDArray[np.uint64], phase: U8, life: U8, private: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    hit = np.ones(len(tags), np.bool_)
    if rule.tags:
        hit &= (tags & np.uint64(sum(1 << t for t in rule.tags))) != 0
    if rule.phases:
        hit &= _among(phase, rule.phases)
    if rule.lives:
        hit &= _among(life, rule.lives)
    if rule.private is not None:
        hit &= private == rule.private
    return hit


def _among(values: U8, wanted: Sequence[int]) -> NDArray[np.bool_]:
    table = np.zeros(256, np.bool_)
    table[list(wanted)] = True
    found: NDArray[np.bool_] = table[values]
    return found


def _bits_of_blocks(trace: Trace, patterns: tuple) -> NDArray[np.uint64]:  # type: ignore[type-arg]
    b = trace.tables["blocks"]
    out = np.zeros(len(b), np.uint64)
    if len(trace.tables["stacks"]):
        of_stack = np.append(stack_bits(trace, patterns), np.uint64(0))
        out |= of_stack[b.stack]
    made = np.flatnonzero(b.made_event >= 0)
    makers = maker_slices(trace)[b.made_event[made]]
    if (makers >= 0).any():
        out[made] |= slice_bits(trace, makers, patterns)
    return out


def _phase_of(bits: NDArray[np.uint64], phases: int) -> U8:
    phase = np.zeros(len(bits), np.uint8)
    for k in reversed(range(phases)):
        phase[(bits >> np.uint64(k)) & np.uint64(1) != 0] = k + 1
    return phase


def _without_frames(trace: Trace, table: MemoryRules, phase: U8) -> U8:
    """Autograd's own threads have no Python frame: where others have one, what has none was made in the backward pass.

    Only where frames of the program show a phase at all, and no more than four fifths of the blocks have no stack: a
    recording without stacks says nothing.
    """
    b = trace.tables["blocks"]
    backward = table.phase("backward")
    made = b.made_event >= 0
    empty = made & (b.stack < 0)
    if backward < 0 or not len(trace.tables["stacks"]) or not phase.any():
        return phase
    if not empty.any() or (made & (b.stack >= 0)).sum() < empty.sum() // 4:
        return phase
    return np.where(empty & (phase == 0), backward, phase).astype(np.uint8)


def _private(trace: Trace) -> NDArray[np.bool_]:
    b = trace.tables["blocks"]
    codes = np.unique(b.pool)
    common = [c for c in codes.tolist() if c < 0 or trace.text(c) in ("(0, 0)", "")]
    out: NDArray[np.bool_] = ~np.isin(b.pool, common)
    return out


def _lives(trace: Trace, device: int, rows: slice, phase: U8, edges: I64 | None, optimizer: int) -> U8:
    """How long each block of a device was held."""
    b = trace.tables["blocks"]
    events = device_events(trace, device)
    start, end, made, gone = b.start_ns[rows], b.end_ns[rows], b.made_event[rows], b.gone_event[rows]
    n = len(start)
    life = np.full(n, _BRIEF, np.uint8)
    own = phase[rows]
    # A phase is over with the first block that is made in another one.
    of_event = np.zeros(events.stop - events.start, np.uint8)
    known = made >= 0
    of_event[made[known] - events.start] = own[known]
    when = np.where(made >= 0, made - events.start, 0)
    until = np.where(gone >= 0, gone - events.start, len(of_event))
    for p in np.unique(own).tolist():
        if not p:
            continue
        others = np.flatnonzero((of_event != 0) & (of_event != p))
        mine = np.flatnonzero(known & (own == p))
        at = np.searchsorted(others, when[mine], "right")
        over = np.append(others, len(of_event))[at]
        life[mine[until[mine] > over]] = _OUTLIVES
    held = end == NEVER
    if edges is not None and len(edges) > 1:
        crossed = np.searchsorted(edges, end, "left") - np.searchsorted(edges, start, "right")
        held |= known & (crossed >= 2)
    elif optimizer > 0:  # runs of the optimizer stand for steps
        runs = np.flatnonzero((of_event == optimizer) & (np.concatenate([[0], of_event[:-1]]) != optimizer))
        crossed = np.searchsorted(runs, until, "left") - np.searchsorted(runs, when, "right")
        held |= known & (crossed >= 2)
    life[held & known] = _KEPT
    life[~known & (end == NEVER)] = _RESIDENT
    life[~known & (end != NEVER)] = _KEPT
    return life


def held_rows(trace: Trace, device: int, event: int | None, *, live: bool = False) -> I64:
    """Rows of the blocks that are held after an event (row of allocator_events), in order; None: before the first one.

    ``live``: until their free is requested, else until it is completed.
    """
    b = trace.tables["blocks"]
    rows = device_blocks(trace, device)
    made, start = b.made_event[rows], b.start_ns[rows]
    gone = b.asked_event[rows] if live else b.gone_event[rows]
    end = b.asked_ns[rows] if live else b.end_ns[rows]
    at = device_events(trace, device).start - 1 if event is None else event
    there = (start == BEFORE) | ((made >= 0) & (made <= at))
    there &= (end == NEVER) | ((gone >= 0) & (gone > at))
    held: I64 = np.flatnonzero(there) + rows.start
    return held


def held_at(trace: Trace, device: int, time_ns: int, *, live: bool = False) -> I64:
    """As :func:`held_rows` for the state after all events up to an instant (raw ns of the file)."""
    e, rows = trace.tables["allocator_events"], device_events(trace, device)
    count = int(np.searchsorted(e.time_ns[rows], time_ns, "right"))
    return held_rows(trace, device, rows.start + count - 1 if count else None, live=live)
