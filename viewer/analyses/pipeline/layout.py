"""The pipelines of a job with all their passes, whatever the files are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from viewer.analyses.collective.rank_steps import rank_steps
from viewer.analyses.pipeline.gpu_passes import rank_passes, told_by
from viewer.analyses.pipeline.marks import marks
from viewer.analyses.pipeline.model import Layout, NoPipelineError, Passes, PassKind
from viewer.analyses.pipeline.schedule import chunks_by_order
from viewer.analyses.pipeline.span_passes import has_pass_spans, span_layout
from viewer.analyses.pipeline.stages import Ranks, along_line, by_numbers, find_ranks, opened_ranks, workers_of
from viewer.store.session import Session

I64 = NDArray[np.int64]


def layout(session: Session) -> Layout:
    """The pipelines of a job. Raises NoPipelineError, with a sentence, where there is none to speak of."""
    if not session.inputs:
        raise NoPipelineError("nothing is open")
    if any(has_pass_spans(i.trace) for i in session.inputs):
        return span_layout(session)
    ranks = _ranks(session)
    workers, lines = workers_of(session, ranks)
    opened = [w for w in workers if w.group is not None]
    inputs = {i for w in opened if w.group is not None for i in session.groups[w.group].inputs}
    told = {told_by(session.inputs[i].trace) for i in inputs}
    if told == {""}:
        raise NoPipelineError(
            "forward and backward passes cannot be told apart: needs CPU activity with autograd's operators, or ranges "
            "that name the passes"
        )
    passes: dict[tuple[int, int], Passes] = {}
    marked = 0
    for worker in opened:
        assert worker.group is not None
        group = session.groups[worker.group]
        marked += len(rank_steps(session, group))
        along = {i: along_line(session, ranks.lines[worker.line], i) for i in group.inputs}
        for step, mine in rank_passes(session, group, along).items():
            passes[worker.index, step] = mine
    if not marked:
        raise NoPipelineError("steps are not marked in the traces: the bubble is a figure of a step")
    if not passes:
        raise NoPipelineError("no step of the traces holds both a forward and a backward pass")
    stages = len(ranks.lines[0])
    found = Layout(
        stages,
        workers,
        lines,
        tuple(sorted({s for _, s in passes})),
        passes,
        ranks.source,
        "ranges that name passes" if "ranges" in told else "autograd threads, between sends and receives",
        "kernels",
    )
    return _partial(_chunked(found, session.card.plan.vpp))


def _ranks(session: Session) -> Ranks:
    try:
        return find_ranks(session)
    except NoPipelineError as error:
        numbers: dict[int, list[int]] = {}
        for rank, group in opened_ranks(session).items():
            for i in group.inputs:
                named = marks(session.inputs[i].trace)
                if named is not None and (named.stage >= 0).any():
                    numbers.setdefault(rank, []).extend(np.unique(named.stage[named.stage >= 0]).tolist())
        if session.card.plan.pp == 1 or (found := by_numbers(session, dict(numbers))) is None:
            raise error from None
        return found


def _chunked(found: Layout, card: int | None) -> Layout:
    """The same with model chunks: as annotations number them, else by their number in the usual order.

    The number is the card's, else what the warm-up of the order shows.

    Interleaved schedules run micro-batches in rounds of as many as there are stages, each through all chunks; backward
    passes go through the chunks the other way.
    """
    named = max((int(p.chunk.max(initial=0)) for p in found.passes.values()), default=0) + 1
    if card is None and named == 1:
        card = chunks_by_order([(found.workers[w].stage, p) for (w, _), p in found.passes.items()], found.stages)
    if named > 1 or card is None or card < 2:
        return replace(found, chunks=named)
    passes = {}
    for key, p in found.passes.items():
        chunk, micro = p.chunk.copy(), p.micro.copy()
        for kind in PassKind:
            mine = np.flatnonzero(p.kind == kind)
            if len(mine) % (card * found.stages):
                return found  # not whole rounds: which chunk a pass is of is not known
            at = np.arange(len(mine))
            each = at % (found.stages * card) // found.stages
            chunk[mine] = each if kind is PassKind.FORWARD else card - 1 - each
            micro[mine] = at // (found.stages * card) * found.stages + at % found.stages
        passes[key] = replace(p, chunk=chunk, micro=micro)
    return replace(found, passes=passes, chunks=card)


def _partial(found: Layout) -> Layout:
    missing = found.missing
    if not missing:
        return found
    text = f"{len(missing)} of {len(found.workers)} ranks of its pipelines are not open"
    return replace(found, partial=text)
