"""Carries a selection from one snapshot of a job to the next, in which inputs may have other indexes."""

from __future__ import annotations

from dataclasses import replace

from viewer.base.selection import EMPTY, GapRef, Selection, SliceRef
from viewer.store.session import Session


def remap_selection(selection: Selection, old: Session, new: Session) -> Selection:
    """The same slice, gap and group in ``new``, found by the path of their file; what is gone is dropped.

    A range stays as it is: it is session time. A gap keeps its range only while its file's clock did not move.
    """
    if selection == EMPTY:
        return EMPTY
    places = {item.path: item for item in new.inputs}

    def target(index: int) -> int | None:
        if index >= len(old.inputs):
            return None
        found = places.get(old.inputs[index].path)
        return None if found is None else found.index

    chosen, gap, group = selection.slice, selection.gap, selection.group
    if chosen is not None:
        to = target(chosen.input)
        chosen = None if to is None else SliceRef(to, chosen.index)
    if gap is not None:
        to = target(gap.input)
        same_clock = to is not None and old.inputs[gap.input].clock == new.inputs[to].clock
        gap = GapRef(to, gap.lane, gap.range) if to is not None and same_clock else None
    if group is not None:
        group = _group(group, old, new, target(_first_input(old, group)))
    return replace(selection, slice=chosen, gap=gap, group=group)


def _first_input(session: Session, group: int) -> int:
    return next((g.inputs[0] for g in session.groups if g.id == group), len(session.inputs))


def _group(group: int, old: Session, new: Session, to: int | None) -> int | None:
    if to is not None:
        return new.group_of(to).id
    rank = next((g.rank for g in old.groups if g.id == group), None)
    return next((g.id for g in new.groups if rank is not None and g.rank == rank), None)
